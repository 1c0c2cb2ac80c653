/* worker.c: the process that reserves, writes and reads what tune measures. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "measure.h"
#include "map.h"

enum { BULK = 16 << 20, READ_SIZE = 1 << 20 };

static struct job job;
static char buffer[BULK] __attribute__((aligned(4096)));

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int write_all(int fd, unsigned long long at, unsigned long long end, size_t piece)
{
	while (at < end) {
		ssize_t n = write(fd, buffer, end - at < piece ? end - at : piece);

		if (n < 0)
			return errno;
		at += (unsigned long long)n;
	}
	return 0;
}

static int reserve_file(int fd)
{
	off_t bytes = (off_t)job.bytes;

	switch (job.method) {
	case METHOD_POSIX_FALLOCATE:
		return posix_fallocate(fd, 0, bytes);
	case METHOD_FALLOCATE:
		return fallocate(fd, 0, 0, bytes) < 0 ? errno : 0;
	case METHOD_KEEP_SIZE:
		return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) < 0 || ftruncate(fd, bytes) < 0 ? errno : 0;
	case METHOD_FTRUNCATE:
		return ftruncate(fd, bytes) < 0 ? errno : 0;
	case METHOD_ZEROS:
		return write_all(fd, 0, job.bytes, BULK);
	default:
		return EINVAL;
	}
}

static int append_in_turn(const int *files)
{
	int error = 0;

	for (unsigned long long at = 0, end; !error && at < job.bytes; at = end) {
		end = job.bytes - at < job.record ? job.bytes : at + job.record;
		for (unsigned i = 0; !error && i < job.files; i++) {
			error = write_all(files[i], at, end, job.record);
			if (!error && job.flushed && fsync(files[i]) < 0)
				error = errno;
		}
	}
	return error;
}

static int open_file(unsigned number, int flags)
{
	char name[12];

	snprintf(name, sizeof(name), "%u", number);
	return open(name, flags | O_CLOEXEC, 0600);
}

/* What is timed. */
static int work(int *files)
{
	int error = 0;

	for (unsigned i = 0; i < job.files; i++) {
		files[i] = open_file(i, O_RDWR | O_CREAT | O_EXCL);
		if (files[i] < 0)
			return errno;
	}
	error = job.method == METHOD_APPEND ? append_in_turn(files) : reserve_file(files[0]);
	for (unsigned i = 0; !error && i < job.files; i++)
		if (fsync(files[i]) < 0 || close(files[i]) < 0)
			error = errno;
	return error;
}

static int reopen(int *files)
{
	for (unsigned i = 0; i < job.files; i++) {
		files[i] = open_file(i, O_RDONLY);
		if (files[i] < 0)
			return errno;
	}
	return 0;
}

/* 0 where that cannot be told; FUSE has the call, but no blocks to tell. */
static uint64_t pieces_of(int fd)
{
	uint64_t pieces;
	struct file file;
	struct map map;

	if (policy_of(fd, NULL, &file) || map_read(fd, "", &file, &map))
		return 0;
	pieces = map_pieces(&map).count;
	map_free(&map);
	return pieces;
}

static double most_pieces(const int *files)
{
	uint64_t most = 0, pieces;

	for (unsigned i = 0; i < job.files; i++) {
		pieces = pieces_of(files[i]);
		if (!pieces)
			return NAN;
		most = pieces > most ? pieces : most;
	}
	return (double)most;
}

/* Has the page cache really let go of the file, but for a tenth? */
static int is_dropped(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (job.bytes + page - 1) / page, cached = 0;
	unsigned char *in_core = malloc(pages);
	void *map = mmap(NULL, job.bytes, PROT_READ, MAP_SHARED, fd, 0);
	int known = in_core && map != MAP_FAILED && mincore(map, job.bytes, in_core) == 0;

	for (size_t i = 0; known && i < pages; i++)
		cached += in_core[i] & 1;
	if (map != MAP_FAILED)
		munmap(map, job.bytes);
	free(in_core);
	return known && cached <= pages / 10;
}

static double cold_read(const int *files)
{
	double start;
	ssize_t n = 0;

	for (unsigned i = 0; i < job.files; i++)
		posix_fadvise(files[i], 0, 0, POSIX_FADV_DONTNEED);
	for (unsigned i = 0; i < job.files; i++)
		if (!is_dropped(files[i]))
			return NAN;
	start = now();
	for (unsigned i = 0; i < job.files && n == 0; i++)
		while ((n = read(files[i], buffer, READ_SIZE)) > 0)
			;
	return n < 0 ? NAN : now() - start;
}

/* Zeros for METHOD_ZEROS, else bytes that no file system stores smaller. In any case its pages are
 * the process's own before time starts: faults in it would be charged to whoever writes from it. */
static void make_content(void)
{
	unsigned state = 1;

	memset(buffer, 0, sizeof(buffer));
	for (size_t i = 0; job.method == METHOD_APPEND && i < BULK; i++) {
		state = state * 1103515245 + 12345;
		buffer[i] = (char)(state >> 16);
	}
}

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)unused;
	return slash && !strcmp(slash, "/libfastalloc.so");
}

static int measure(struct outcome *outcome)
{
	int files[MEASURE_FILES_MAX] = {0}, error, root;
	double start;

	make_content();
	/* What earlier runs left to be written does not count as ours. */
	root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		syncfs(root);
	start = now();
	error = work(files);
	if (error)
		return error;
	outcome->figure[FIGURE_TIME] = now() - start;
	error = reopen(files);
	if (error)
		return error;
	outcome->figure[FIGURE_PIECES] = most_pieces(files);
	if (job.method == METHOD_APPEND)
		outcome->figure[FIGURE_READ] = cold_read(files);
	return 0;
}

int worker_main(int library_wanted)
{
	struct outcome outcome = {0, {NAN, NAN, NAN}};

	if (read(STDIN_FILENO, &job, sizeof(job)) != sizeof(job) || job.files < 1 || job.files > MEASURE_FILES_MAX)
		return usage_error("tune");
	signal(SIGXFSZ, SIG_IGN); /* EFBIG says the same */
	if (library_wanted && !dl_iterate_phdr(find_library, NULL))
		outcome.error = ELIBACC;
	else
		outcome.error = measure(&outcome);
	return write(STDOUT_FILENO, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1;
}
