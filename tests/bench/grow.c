/*
 * Grows files in one process: each by one step in turn, until all have their size. Where the step is the size,
 * that is one call for each file.
 *
 * Timed: open, METHOD, close, syncfs. With --verify: reading them one after the other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_FILES = 256,
	READ_SIZE = 64 << 10, /* of --verify */
};

static const char usage_text[] =
	"usage: grow METHOD STEP FILE_SIZE DIR COUNT [--only N] [--verify]\n"
	"  grows DIR/0 to DIR/COUNT-1; sizes take K M G\n"
	"  METHOD: ftruncate posix_fallocate fallocate (mode 0)\n"
	"  --only N    DIR/N alone\n"
	"  --verify    reads instead; exit status 1 when a file has another size, or a byte that is not 0\n"
	"prints seconds=\n";

struct method {
	const char *name;
	int (*grow)(int fd, off_t from, off_t to); /* returns an errno, or 0 */
};

static struct {
	const struct method *method;
	uint64_t step, file_size;
	const char *dir;
	int first, end, verify; /* files from first, before end */
} options;

static int files[MOST_FILES];

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "grow: %s\n%s", what, usage_text);
	exit(2);
}

static void __attribute__((noreturn)) die(const char *what, int error)
{
	fprintf(stderr, "grow: %s: %s\n", what, strerror(error));
	exit(3);
}

static int grow_ftruncate(int fd, off_t from, off_t to)
{
	(void)from;
	return ftruncate(fd, to) < 0 ? errno : 0;
}

static int grow_posix_fallocate(int fd, off_t from, off_t to)
{
	return posix_fallocate(fd, from, to - from);
}

static int grow_fallocate(int fd, off_t from, off_t to)
{
	return fallocate(fd, 0, from, to - from) < 0 ? errno : 0;
}

static const struct method methods[] = {
	{"ftruncate", grow_ftruncate},
	{"posix_fallocate", grow_posix_fallocate},
	{"fallocate", grow_fallocate},
};

static const char *path_of(int number)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%d", options.dir, number);
	return path;
}

static void grow_all(uint64_t from)
{
	uint64_t to = from + options.step;

	if (to > options.file_size)
		to = options.file_size;
	for (int i = options.first; i < options.end; i++) {
		int error = options.method->grow(files[i], (off_t)from, (off_t)to);

		if (error)
			die(options.method->name, error);
	}
}

static void grow(void)
{
	int dir = open(options.dir, O_RDONLY | O_DIRECTORY);

	for (int i = options.first; i < options.end; i++) {
		files[i] = open(path_of(i), O_RDWR | O_CREAT | O_TRUNC, 0666);
		if (files[i] < 0)
			die(path_of(i), errno);
	}
	for (uint64_t at = 0; at < options.file_size; at += options.step)
		grow_all(at);
	for (int i = options.first; i < options.end; i++)
		if (close(files[i]) < 0)
			die("close", errno);
	if (syncfs(dir) < 0)
		die(options.dir, errno);
	close(dir);
}

static void __attribute__((noreturn)) differs(int number, const char *what, uint64_t is)
{
	fprintf(stderr, "grow: %s: %s %" PRIu64 "\n", path_of(number), what, is);
	exit(1);
}

static void verify_file(int number)
{
	static unsigned char is[READ_SIZE], zeros[READ_SIZE];
	int fd = open(path_of(number), O_RDONLY);
	uint64_t done = 0;
	ssize_t n;

	if (fd < 0)
		die(path_of(number), errno);
	while ((n = read(fd, is, sizeof(is))) > 0) {
		if (memcmp(is, zeros, (size_t)n))
			differs(number, "is not all zeros near", done);
		done += (uint64_t)n;
	}
	if (n < 0)
		die(path_of(number), errno);
	if (done != options.file_size)
		differs(number, "ends at", done);
	close(fd);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMG";
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end != text && *end && strchr(units, *end))
		value <<= 10 * (strchr(units, *end++) - units + 1);
	if (end == text || *end || !value)
		usage(text);
	return value;
}

static const struct method *parse_method(const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	usage(name);
}

static void parse_options(int argc, char **argv)
{
	if (argc < 6)
		usage("arguments missing");
	options.method = parse_method(argv[1]);
	options.step = parse_size(argv[2]);
	options.file_size = parse_size(argv[3]);
	options.dir = argv[4];
	options.end = atoi(argv[5]);
	if (options.end < 1 || options.end > MOST_FILES)
		usage(argv[5]);
	for (char **at = argv + 6; *at; at++) {
		if (!strcmp(*at, "--verify")) {
			options.verify = 1;
		} else if (!strcmp(*at, "--only") && at[1]) {
			options.first = atoi(*++at);
			if (options.first < 0 || options.first >= options.end)
				usage(*at);
			options.end = options.first + 1;
		} else {
			usage(*at);
		}
	}
}

int main(int argc, char **argv)
{
	double start;

	parse_options(argc, argv);
	start = now();
	if (options.verify)
		for (int i = options.first; i < options.end; i++)
			verify_file(i);
	else
		grow();
	printf("seconds=%.4f\n", now() - start);
	return 0;
}
