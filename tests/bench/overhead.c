/* overhead [OPTION]... CASE FILE: what a system call costs, with whatever is preloaded. Prints
 * ns=, for a call (with -t: in each thread) or a pair of open and close; us=, for a start.
 *
 *   write        a byte, at the position       open        open for reading, close
 *   pwrite       4 KiB, at 0                   open-write  open for writing, close
 *   exec         start FILE, wait for it       rewrite     open, write a byte, close
 *   memory       nothing; prints rss= and dirty= (KiB)
 *
 *   -n COUNT     so many calls, and print nothing: for valgrind and strace
 *   -m MS        at least so long (default 200)
 *   -t THREADS   in so many threads, each with a descriptor of its own, on any processor; prints
 *                rate=, too: calls a second
 *   -1           all threads have one descriptor
 *   -d OTHERS    so many other descriptors are open for writing
 *   -w FILE      the process has FILE open, with blocks past its end; CASE uses that
 *                descriptor if it is the same FILE
 *
 * Exit status 77: no such blocks, or not so many descriptors. */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIP        77
#define THREADS_MAX 64
#define BLOCK       4096

static char block[BLOCK];
static const char *path;
static pthread_barrier_t together;

static void call_write(int fd, long count)
{
	while (count-- > 0)
		if (write(fd, block, 1) != 1)
			err(1, "write");
}

static void call_pwrite(int fd, long count)
{
	while (count-- > 0)
		if (pwrite(fd, block, BLOCK, 0) != BLOCK)
			err(1, "pwrite");
}

static void open_and_close(int flags, long count)
{
	while (count-- > 0) {
		int fd = open(path, flags);

		if (fd < 0 || close(fd))
			err(1, "%s", path);
	}
}

static void call_open(int fd, long count)
{
	(void)fd;
	open_and_close(O_RDONLY, count);
}

static void call_open_write(int fd, long count)
{
	(void)fd;
	open_and_close(O_WRONLY, count);
}

static void call_rewrite(int fd, long count)
{
	while (count-- > 0) {
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, block, 1) != 1 || close(fd))
			err(1, "%s", path);
	}
}

extern char **environ;

static void call_exec(int fd, long count)
{
	char *arguments[] = {(char *)path, NULL};
	pid_t child;

	(void)fd;
	while (count-- > 0)
		if (posix_spawn(&child, path, NULL, NULL, arguments, environ) || waitpid(child, NULL, 0) < 0)
			err(1, "%s", path);
}

static const struct {
	const char *name;
	void (*call)(int fd, long count);
	int opens; /* it needs no descriptor */
} cases[] = {
	/* clang-format off */
	{"write", call_write, 0},
	{"pwrite", call_pwrite, 0},
	{"open", call_open, 1},
	{"open-write", call_open_write, 1},
	{"rewrite", call_rewrite, 1},
	{"exec", call_exec, 1},
	/* clang-format on */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct thread {
	pthread_t id;
	void (*call)(int fd, long count);
	int fd;
	long count;
	double begin, end;
} threads[THREADS_MAX];

static void *run(void *argument)
{
	struct thread *t = argument;

	pthread_barrier_wait(&together);
	t->begin = now();
	t->call(t->fd, t->count);
	t->end = now();
	return NULL;
}

/* How many nanoseconds it takes that all threads make `count` calls each. */
static double run_all(int number, long count)
{
	double begin, end;

	if (number == 0) {
		begin = now();
		threads[0].call(threads[0].fd, count);
		return now() - begin;
	}
	pthread_barrier_init(&together, NULL, (unsigned)number);
	for (int i = 0; i < number; i++) {
		threads[i].count = count;
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			errx(1, "pthread_create");
	}
	for (int i = 0; i < number; i++)
		pthread_join(threads[i].id, NULL);
	begin = threads[0].begin;
	end = threads[0].end;
	for (int i = 1; i < number; i++) {
		begin = threads[i].begin < begin ? threads[i].begin : begin;
		end = threads[i].end > end ? threads[i].end : end;
	}
	pthread_barrier_destroy(&together);
	return end - begin;
}

/* The last processor that we may use: the first one has the interrupts. */
static void pin(void)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && !CPU_COUNT(&one); cpu--)
		if (CPU_ISSET(cpu, &allowed))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void open_others(long others)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "getrlimit");
	if (limit.rlim_cur < (rlim_t)others + 100) {
		limit.rlim_cur = (rlim_t)others + 100;
		if (limit.rlim_max < limit.rlim_cur)
			limit.rlim_max = limit.rlim_cur;
		if (setrlimit(RLIMIT_NOFILE, &limit)) {
			warn("%ld descriptors", others);
			exit(SKIP);
		}
	}
	while (others-- > 0)
		if (open("/dev/null", O_WRONLY) < 0)
			err(1, "/dev/null");
}

/* By writev, which nothing puts a stub in the place of. */
static int make_windowed(const char *file)
{
	struct iovec vectors[16];
	struct stat st;
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		err(1, "%s", file);
	for (int i = 0; i < 16; i++)
		vectors[i] = (struct iovec){block, BLOCK};
	for (int i = 0; i < 32; i++)
		if (writev(fd, vectors, 16) != 16 * BLOCK)
			err(1, "%s", file);
	if (fsync(fd) || fstat(fd, &st))
		err(1, "%s", file);
	if (st.st_blocks * 512 < st.st_size + BLOCK) {
		warnx("%s: no blocks past its end", file);
		exit(SKIP);
	}
	return fd;
}

static void print_memory(void)
{
	FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
	long rss = -1, dirty = -1;
	char line[256];

	if (!rollup)
		err(1, "/proc/self/smaps_rollup");
	while (fgets(line, sizeof(line), rollup)) {
		sscanf(line, "Rss: %ld", &rss);
		sscanf(line, "Private_Dirty: %ld", &dirty);
	}
	fclose(rollup);
	printf("rss=%ld dirty=%ld\n", rss, dirty);
}

int main(int argc, char **argv)
{
	int option, number = 0, one = 0, fd = -1, opens = 1;
	long count = 0, others = 0, milliseconds = 200;
	const char *windowed = NULL;
	double took, least;

	while ((option = getopt(argc, argv, "n:m:t:1d:w:")) != -1) {
		switch (option) {
		case 'n':
			count = atol(optarg);
			break;
		case 'm':
			milliseconds = atol(optarg);
			break;
		case 't':
			number = atoi(optarg);
			break;
		case '1':
			one = 1;
			break;
		case 'd':
			others = atol(optarg);
			break;
		case 'w':
			windowed = optarg;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2 || number > THREADS_MAX)
		return 2;
	path = argv[optind + 1];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(cases[i].name, argv[optind]) == 0) {
			opens = cases[i].opens;
			for (int j = 0; j < THREADS_MAX; j++)
				threads[j].call = cases[i].call;
		}
	if (!threads[0].call && strcmp(argv[optind], "memory") != 0)
		return 2;

	if (number == 0)
		pin();
	if (windowed)
		fd = make_windowed(windowed);
	if (!opens) {
		for (int i = 0; i < (number && !one ? number : 1); i++) {
			threads[i].fd = windowed && strcmp(path, windowed) == 0 ? fd : open(path, O_WRONLY);
			if (threads[i].fd < 0)
				err(1, "%s", path);
		}
		for (int i = 1; one && i < number; i++)
			threads[i].fd = threads[0].fd;
	}
	open_others(others);
	if (!threads[0].call) {
		print_memory();
		return 0;
	}
	if (count) {
		run_all(number, count);
		return 0;
	}

	/* The first rounds warm everything up, and tell how many calls there have to be. */
	least = (double)milliseconds * 1e6;
	for (count = threads[0].call == call_exec ? 1 : 256; (took = run_all(number, count)) < least / 16;)
		count *= 2;
	count = (long)((double)count * least / took * 1.05);
	took = run_all(number, count);
	if (threads[0].call == call_exec)
		printf("us=%.1f", took / (double)count / 1e3);
	else
		printf("ns=%.2f", took / (double)count);
	if (number)
		printf(" rate=%.0f", (double)count * number / took * 1e9);
	putchar('\n');
	return 0;
}
