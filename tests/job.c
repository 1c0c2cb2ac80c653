/*
 * job DIRECTORY [FILE [local|deep]]: a little of everything that libfastalloc.so hooks, in a
 * directory. What is printed, and the files, are the same each time, with the library or
 * without. Of FILE, which is this very source as a library, job() is called in its place;
 * with JOB=constructor or destructor in the environment it calls itself then, for $JOB_DIRECTORY.
 * Compiled by hand, too: for other ABIs and with sanitizers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((visibility("default"))) int job(const char *directory);

enum { PIECE = 700, PIECES = 120, THREADS = 3, BLOCKS = 200 };
static const off_t MIB = 1 << 20;
static int failed;

static void check(const char *what, long result)
{
	int error = result < 0 ? errno : 0;

	printf("%s %ld %d\n", what, result, error);
	failed |= error != 0;
}

/* Several sizes, as an allocator and those that replace it care. */
static void use_memory(unsigned seed)
{
	void *blocks[BLOCKS] = {NULL};

	for (unsigned i = 0; i < 4 * BLOCKS; i++) {
		unsigned at = (i * 7919 + seed) % BLOCKS;

		free(blocks[at]);
		blocks[at] = malloc(i * 97 % 5000 + 1);
		if (blocks[at])
			memset(blocks[at], (int)i, i * 97 % 5000 + 1);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static void fill(char *bytes, size_t count, unsigned seed)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (char)('a' + (i + seed) % 26);
}

static void *write_pieces(void *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	char piece[PIECE];
	long done = 0;

	for (unsigned i = 0; i < PIECES; i++) {
		fill(piece, sizeof(piece), i);
		if (i % 40 == 0)
			use_memory(i);
		done += write(fd, piece, sizeof(piece)) == (ssize_t)sizeof(piece);
	}
	done += close(fd) == 0;
	return (void *)done;
}

static void in_threads(void)
{
	static char names[THREADS][8];
	pthread_t threads[THREADS];
	void *done;

	for (int i = 0; i < THREADS; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		if (pthread_create(&threads[i], NULL, write_pieces, names[i]))
			abort();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &done);
		check("thread", (long)done);
	}
}

static long file_size(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? -1 : (long)status.st_size;
}

static void calls(void)
{
	char piece[PIECE], half[PIECE / 2];
	struct iovec both[2] = {{piece, sizeof(piece)}, {half, sizeof(half)}};
	int fd = open("calls", O_RDWR | O_CREAT | O_TRUNC, 0644), copy, other;

	fill(piece, sizeof(piece), 1);
	fill(half, sizeof(half), 2);
	check("posix_fallocate", posix_fallocate(fd, 0, MIB / 8));
	check("size", file_size(fd));
	check("ftruncate", ftruncate(fd, 1000));
	check("pwrite", pwrite(fd, piece, sizeof(piece), 5000));
	check("lseek", (long)lseek(fd, 0, SEEK_END));
	check("writev", writev(fd, both, 2));
	copy = dup(fd);
	check("write", write(copy, piece, 100));
	check("close", close(copy));
	other = open("other", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0644);
	check("fcntl", fcntl(other, F_GETFL) & (O_APPEND | O_ACCMODE));
	for (int i = 0; i < 50; i++)
		if (write(other, piece, sizeof(piece)) != (ssize_t)sizeof(piece))
			failed = 1;
	check("fchmod", fchmod(other, 0600));
	check("fsync", fsync(other));
	check("dup2", dup2(other, fd) == fd);
	check("write", write(fd, half, sizeof(half)));
	check("size", file_size(other));
	check("close", close(fd) | close(other));
	check("truncate", truncate("calls", MIB));
	check("truncate", truncate("calls", MIB / 4));
}

static void errors(void)
{
	const int was_failed = failed;

	check("write to none", write(-1, "", 1));
	check("ftruncate of none", ftruncate(-1, 0));
	check("close of none", close(-1));
	check("open of none", open("none/none", O_RDWR));
	check("posix_fallocate of none", posix_fallocate(-1, 0, 1));
	check("fopen of none", fopen("none/none", "w") ? 0 : -1);
	failed = was_failed;
}

static void streams(void)
{
	FILE *stream = fopen("stream", "w");

	for (int i = 0; stream && i < 3000; i++)
		fprintf(stream, "line %d\n", i);
	check("fclose", fclose(stream));
	stream = fopen("stream", "a");
	fputs("the end\n", stream);
	check("fclose", fclose(stream));
}

static void children(void)
{
	int fd = open("children", O_RDWR | O_CREAT | O_TRUNC, 0644), status = 0;
	char piece[PIECE];
	pid_t child;

	fill(piece, sizeof(piece), 3);
	for (int i = 0; i < 40; i++) {
		if (write(fd, piece, sizeof(piece)) != (ssize_t)sizeof(piece))
			failed = 1;
		if (i != 20)
			continue;
		fflush(stdout);
		child = fork();
		if (child == 0)
			_exit(write(fd, piece, 300) != 300);
		waitpid(child, &status, 0);
		check("fork", status);
	}
	check("size", file_size(fd));
	check("close", close(fd));
	fflush(stdout);
	check("system", system("echo 'by a shell' >>children; echo said"));
}

/* Past 4 GiB, by the 64-bit names where off_t has 32. */
#if defined(__GLIBC__)
#define WIDE(name) name##64
typedef off64_t wide;
#else
#define WIDE(name) name
typedef off_t wide;
#endif
static void large(void)
{
	const wide at = (wide)5 << 30;
	int fd = WIDE(open)("large", O_RDWR | O_CREAT | O_TRUNC, 0644);
	char got[4] = "";

	check("pwrite", WIDE(pwrite)(fd, "abc", 3, at));
	check("size", WIDE(lseek)(fd, 0, SEEK_END) == at + 3);
	check("write", write(fd, "def", 3));
	check("ftruncate", WIDE(ftruncate)(fd, at + 10000));
	check("size", WIDE(lseek)(fd, 0, SEEK_END) == at + 10000);
	check("posix_fallocate", WIDE(posix_fallocate)(fd, at + 8000, 10000));
	check("size", WIDE(lseek)(fd, 0, SEEK_END) == at + 18000);
	check("truncate", WIDE(truncate)("large", at + 20000));
	check("size", WIDE(lseek)(fd, 0, SEEK_END) == at + 20000);
	check("pread", WIDE(pread)(fd, got, 3, at + 3));
	printf("%s\n", got);
	check("pread", WIDE(pread)(fd, got, 3, at - ((wide)1 << 32)) == 3 && !got[0] && !got[1] && !got[2]);
	check("ftruncate", ftruncate(fd, 0));
	check("close", close(fd));
}

int job(const char *directory)
{
	if (chdir(directory) < 0) {
		perror(directory);
		return 1;
	}
	umask(022);
	use_memory(0);
	calls();
	errors();
	streams();
	in_threads();
	children();
	large();
	puts(failed ? "failed" : "done");
	fflush(stdout);
	return failed;
}

#ifdef LIBRARY
static void job_at(const char *moment)
{
	const char *when = getenv("JOB"), *directory = getenv("JOB_DIRECTORY");

	if (!when || !directory || strcmp(when, moment) != 0)
		return;
	unsetenv("JOB"); /* not in the shell that it starts, too */
	job(directory);
}

__attribute__((constructor)) static void constructor(void)
{
	job_at("constructor");
}

__attribute__((destructor)) static void destructor(void)
{
	job_at("destructor");
}
#else
int main(int argc, char **argv)
{
	int (*opened)(const char *) = job;
	int mode = RTLD_NOW, result;
	void *library;

	if (argc < 2)
		return 2;
	if (argc < 3)
		return job(argv[1]);
	if (argc > 3 && !strcmp(argv[3], "local"))
		mode = RTLD_LAZY | RTLD_LOCAL;
#ifdef RTLD_DEEPBIND
	if (argc > 3 && !strcmp(argv[3], "deep"))
		mode |= RTLD_DEEPBIND;
#endif
	library = dlopen(argv[2], mode);
	if (!library) {
		puts(dlerror());
		return 1;
	}
	*(void **)&opened = dlsym(library, "job");
	result = opened(argv[1]);
	return dlclose(library) || result;
}
#endif
