/* The core under ThreadSanitizer: threads that open, write, duplicate, close, fill, resize
 * and ask for policies at the same time, on shared files and their own. It knows system
 * calls only by what they are given, so what is found is between the library's own threads.
 *
 *   tsan ROUNDS DIRECTORY */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "active.h"
#include "config.h"
#include "owed.h"
#include "policy.h"
#include "reserve.h"
#include "resize.h"
#include "source.h"
#include "sys.h"
#include "watch.h"
#include "window.h"

#define THREADS 4
#define NAME    4200

atomic_int library_active; /* load.c's */

static const char text[] = "[default]\nwrite = preallocate\nftruncate = allocate\nfallocate = auto\n";
static struct config config;

/* More mounts than the cache has room for, or some that share a place there. */
static const char *const places[] = {"/", "/proc", "/sys", "/dev", "/dev/pts", "/dev/shm", "/sys/fs/cgroup", NULL};
static const char *directory;
static int rounds, shared;
static struct watch_table *table;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void write_to(int fd, int times)
{
	static const char bytes[4096];

	for (int i = 0; i < times; i++) {
		unsigned known = window_of(fd);

		if (known)
			window_enter(known, fd, WINDOW_AT_POSITION, i % 2 ? sizeof(bytes) : 0);
		if (write(fd, bytes, sizeof(bytes)) < 0)
			fail("write");
		if (known)
			window_leave(known, i % 2 ? 0 : (ssize_t)sizeof(bytes));
	}
}

static void duplicate(int fd)
{
	unsigned known = window_duplicate(fd);
	int copy = dup(fd);

	window_duplicated(known, copy);
	write_to(copy, 2);
	window_closing(copy);
	close(copy);
}

static void watch_file(int fd)
{
	struct watched *entry;
	struct statx stx;

	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME, &stx) < 0)
		fail("statx");
	entry = watch_entry(table, &stx, fd, NULL);
	if (entry)
		atomic_fetch_add(&entry->turns, 1);
}

static void one_round(int thread, int round)
{
	unsigned before = window_moment(), known;
	enum answer answer;
	struct file file;
	char path[NAME];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", directory, thread);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(path);
	window_opened(fd, O_RDWR | O_CREAT | O_TRUNC, before);
	write_to(fd, 40);
	duplicate(fd);
	known = window_changing(fd);
	resize_prepare(fd, 300000, &answer);
	reserve_posix_fallocate(fd, 100000, 300000 + round % 7 * 4096, &answer);
	window_changed(known);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		policy_of(AT_FDCWD, places[i] ? places[i] : directory, &file);
	watch_file(fd);
	owed_note(fd, EIO);
	owed_take(fd);
	write_to(shared, 3);
	if (round % 8 == thread)
		window_relieve();
	if (round % 16 == thread) {
		window_suspend();
		window_resume();
	}
	window_closing(fd);
	close(fd);
}

static void *run(void *thread)
{
	for (int round = 0; round < rounds; round++)
		one_round((int)(size_t)thread, round);
	return NULL;
}

static void start(const char *statistics)
{
	if (config_parse(&config, text, strlen(text), NULL, NULL))
		fail("configuration");
	policy_init(&config, "program");
	report_init(NULL, statistics, "program");
	window_init();
	atomic_store(&library_active, 1);
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		fail("mmap");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char path[NAME];
	unsigned before;

	if (argc != 3)
		return 2;
	rounds = atoi(argv[1]);
	directory = argv[2];
	start("/dev/null");
	snprintf(path, sizeof(path), "%s/shared", directory);
	before = window_moment();
	shared = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (shared < 0)
		fail(path);
	window_opened(shared, O_RDWR | O_CREAT | O_TRUNC, before);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			fail("pthread_create");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	report_statistics();
	puts("done");
	return 0;
}
