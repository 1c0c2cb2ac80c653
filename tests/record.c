/*
 * Writes several files side by side in one process, a piece to each in turn, as recorders and
 * downloads do: the order is this program's, not the scheduler's.
 *
 * Timed: open, METHOD, fsync, close. With --verify: reading them one after the other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_FILES = 256,
	DUPLICATES = 400,     /* numbers that dup uses: clear of those that open returns */
	PERIOD = 1048573,     /* of the content: a prime */
	STEP = 65537,         /* by which the content of one file is ahead of another's */
	READ_SIZE = 64 << 10, /* of --verify */
};

static const char usage_text[] =
	"usage: record METHOD WRITE_SIZE FILE_SIZE DIR COUNT [--fsync-every N] [--allocate] [--verify]\n"
	"  writes DIR/0 to DIR/COUNT-1; sizes take K M G\n"
	"  METHOD: write pwrite writev pwritev pwritev2 append dup threads\n"
	"          fwrite fprintf putc sendfile copy_file_range splice\n"
	"    append            O_APPEND\n"
	"    dup               on a duplicate, the first descriptor is closed\n"
	"    threads           a thread per file, all write a piece, then wait for each other\n"
	"    sendfile ...      from a source in DIR, prepared before\n"
	"  --fsync-every N     each file after N pieces\n"
	"  --allocate          fallocate(2) for each piece before it is written\n"
	"  --verify            reads instead; exit status 1 when a file is not as written\n"
	"prints seconds=\n";

struct file {
	int number, fd;
	FILE *stream; /* of the methods of stdio */
	uint64_t done, pieces;
};

enum kind {
	DESCRIPTOR,
	APPEND,
	DUP,
	THREADS,
	STREAM,
	SOURCE,
};

struct method {
	const char *name;
	enum kind kind;
	ssize_t (*put)(struct file *file, unsigned char *bytes, size_t n); /* writes up to n */
};

static struct {
	const struct method *method;
	size_t write_size;
	uint64_t file_size, fsync_every;
	const char *dir;
	int count, allocate, verify;
} options;

static struct file files[MOST_FILES];
static unsigned char *content; /* a period, and as much again as a piece or a read is long */
static size_t content_size;
static int source, source_pipe[2]; /* source: content as a file */
static pthread_barrier_t all_wrote;

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "record: %s\n%s", what, usage_text);
	exit(2);
}

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "record: %s: %s\n", what, strerror(errno));
	exit(3);
}

static ssize_t put_write(struct file *file, unsigned char *bytes, size_t n)
{
	return write(file->fd, bytes, n);
}

static ssize_t put_pwrite(struct file *file, unsigned char *bytes, size_t n)
{
	return pwrite(file->fd, bytes, n, (off_t)file->done);
}

/* For one call at a time. */
static const struct iovec *halves(unsigned char *bytes, size_t n)
{
	static struct iovec parts[2];

	parts[0] = (struct iovec){bytes, n / 2};
	parts[1] = (struct iovec){bytes + n / 2, n - n / 2};
	return parts;
}

static ssize_t put_writev(struct file *file, unsigned char *bytes, size_t n)
{
	return writev(file->fd, halves(bytes, n), 2);
}

static ssize_t put_pwritev(struct file *file, unsigned char *bytes, size_t n)
{
	return pwritev(file->fd, halves(bytes, n), 2, (off_t)file->done);
}

static ssize_t put_pwritev2(struct file *file, unsigned char *bytes, size_t n)
{
	return pwritev2(file->fd, halves(bytes, n), 2, (off_t)file->done, 0);
}

static ssize_t put_fwrite(struct file *file, unsigned char *bytes, size_t n)
{
	return (ssize_t)fwrite(bytes, 1, n, file->stream);
}

/* No byte of the content is 0. */
static ssize_t put_fprintf(struct file *file, unsigned char *bytes, size_t n)
{
	return fprintf(file->stream, "%.*s", (int)n, (char *)bytes);
}

static ssize_t put_putc(struct file *file, unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (putc(bytes[i], file->stream) == EOF)
			return -1;
	return (ssize_t)n;
}

static ssize_t put_sendfile(struct file *file, unsigned char *bytes, size_t n)
{
	off_t at = bytes - content;

	return sendfile(file->fd, source, &at, n);
}

static ssize_t put_copy_file_range(struct file *file, unsigned char *bytes, size_t n)
{
	off64_t at = bytes - content;

	return copy_file_range(source, &at, file->fd, NULL, n, 0);
}

static ssize_t put_splice(struct file *file, unsigned char *bytes, size_t n)
{
	off64_t at = bytes - content;
	ssize_t in_pipe = splice(source, &at, source_pipe[1], NULL, n, 0), total = in_pipe;

	while (in_pipe > 0) {
		ssize_t out = splice(source_pipe[0], NULL, file->fd, NULL, (size_t)in_pipe, 0);

		if (out <= 0)
			return -1;
		in_pipe -= out;
	}
	return total;
}

static const struct method methods[] = {
	{"write", DESCRIPTOR, put_write},
	{"pwrite", DESCRIPTOR, put_pwrite},
	{"writev", DESCRIPTOR, put_writev},
	{"pwritev", DESCRIPTOR, put_pwritev},
	{"pwritev2", DESCRIPTOR, put_pwritev2},
	{"append", APPEND, put_write},
	{"dup", DUP, put_write},
	{"threads", THREADS, put_write},
	{"fwrite", STREAM, put_fwrite},
	{"fprintf", STREAM, put_fprintf},
	{"putc", STREAM, put_putc},
	{"sendfile", SOURCE, put_sendfile},
	{"copy_file_range", SOURCE, put_copy_file_range},
	{"splice", SOURCE, put_splice},
};

static unsigned char *bytes_of(const struct file *file)
{
	return content + (file->done + (uint64_t)file->number * STEP) % PERIOD;
}

/* Pseudo-random, the same in every run, no zeros. */
static void make_content(void)
{
	uint32_t state = 1;

	content_size = PERIOD + (options.write_size > READ_SIZE ? options.write_size : READ_SIZE);
	content = malloc(content_size);
	if (!content)
		die("memory");
	for (size_t i = 0; i < content_size; i++) {
		state = state * 1103515245 + 12345;
		content[i] = i < PERIOD ? (unsigned char)(1 + (state >> 16) % 255) : content[i - PERIOD];
	}
}

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", options.dir, name);
	return path;
}

static const char *path_of_file(const struct file *file)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", file->number);
	return path_of(name);
}

/* Nothing of it is left when the program ends. */
static void make_source(void)
{
	source = open(path_of("source"), O_RDWR | O_CREAT | O_EXCL, 0666);
	if (source < 0 || unlink(path_of("source")) < 0 || pipe(source_pipe) < 0)
		die("source");
	for (size_t done = 0; done < content_size;) {
		ssize_t n = write(source, content + done, content_size - done);

		if (n <= 0)
			die("source");
		done += (size_t)n;
	}
	if (fsync(source) < 0)
		die("source");
}

static void open_file(struct file *file)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | (options.method->kind == APPEND ? O_APPEND : 0);

	if (options.method->kind == STREAM) {
		file->stream = fopen(path_of_file(file), "w");
		if (!file->stream)
			die(path_of_file(file));
		file->fd = fileno(file->stream);
		return;
	}
	file->fd = open(path_of_file(file), flags, 0666);
	if (file->fd < 0)
		die(path_of_file(file));
	if (options.method->kind == DUP) {
		int first = file->fd;

		file->fd = dup2(first, DUPLICATES + file->number);
		if (file->fd < 0 || close(first) < 0)
			die("dup2");
	}
}

static void flush_file(struct file *file)
{
	if ((file->stream && fflush(file->stream)) || fsync(file->fd) < 0)
		die("fsync");
}

static void close_file(struct file *file)
{
	if (file->stream ? fclose(file->stream) : close(file->fd))
		die("close");
}

static void write_piece(struct file *file)
{
	uint64_t end = file->done + options.write_size;

	if (end > options.file_size)
		end = options.file_size;
	if (options.allocate && fallocate(file->fd, 0, (off_t)file->done, (off_t)(end - file->done)) < 0)
		die("fallocate");
	while (file->done < end) {
		ssize_t n = options.method->put(file, bytes_of(file), end - file->done);

		if (n <= 0)
			die(options.method->name);
		file->done += (uint64_t)n;
	}
	file->pieces++;
	if (options.fsync_every && file->pieces % options.fsync_every == 0)
		flush_file(file);
}

static void *write_whole(void *file)
{
	for (uint64_t at = 0; at < options.file_size; at += options.write_size) {
		write_piece(file);
		pthread_barrier_wait(&all_wrote);
	}
	return NULL;
}

static void write_in_threads(void)
{
	pthread_t threads[MOST_FILES];

	pthread_barrier_init(&all_wrote, NULL, (unsigned int)options.count);
	for (int i = 0; i < options.count; i++)
		if (pthread_create(&threads[i], NULL, write_whole, &files[i]))
			die("pthread_create");
	for (int i = 0; i < options.count; i++)
		pthread_join(threads[i], NULL);
}

static void write_in_turn(void)
{
	for (uint64_t at = 0; at < options.file_size; at += options.write_size)
		for (int i = 0; i < options.count; i++)
			write_piece(&files[i]);
}

static void for_each_file(void (*act)(struct file *file))
{
	for (int i = 0; i < options.count; i++)
		act(&files[i]);
}

static void record(void)
{
	for_each_file(open_file);
	if (options.method->kind == THREADS)
		write_in_threads();
	else
		write_in_turn();
	for_each_file(flush_file);
	for_each_file(close_file);
}

static void __attribute__((noreturn)) differs(const struct file *file, const char *what, uint64_t is)
{
	fprintf(stderr, "record: %s: %s %" PRIu64 "\n", path_of_file(file), what, is);
	exit(1);
}

static void verify_bytes(const struct file *file, const unsigned char *is, size_t n)
{
	const unsigned char *wanted = bytes_of(file);

	if (!memcmp(is, wanted, n))
		return;
	for (size_t i = 0; i < n; i++)
		if (is[i] != wanted[i])
			differs(file, "differs at", file->done + i);
}

static void verify_file(struct file *file)
{
	static unsigned char is[READ_SIZE];
	struct stat status;
	ssize_t n;

	file->fd = open(path_of_file(file), O_RDONLY);
	if (file->fd < 0 || fstat(file->fd, &status) < 0)
		die(path_of_file(file));
	if ((uint64_t)status.st_size != options.file_size)
		differs(file, "has a size of", (uint64_t)status.st_size);
	while ((n = read(file->fd, is, sizeof(is))) > 0) {
		verify_bytes(file, is, (size_t)n);
		file->done += (uint64_t)n;
	}
	if (n < 0)
		die(path_of_file(file));
	if (file->done != options.file_size)
		differs(file, "ends at", file->done);
	close(file->fd);
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
	options.write_size = parse_size(argv[2]);
	options.file_size = parse_size(argv[3]);
	options.dir = argv[4];
	options.count = atoi(argv[5]);
	if (options.count < 1 || options.count > MOST_FILES)
		usage(argv[5]);
	for (char **at = argv + 6; *at; at++) {
		if (!strcmp(*at, "--verify"))
			options.verify = 1;
		else if (!strcmp(*at, "--allocate"))
			options.allocate = 1;
		else if (!strcmp(*at, "--fsync-every") && at[1])
			options.fsync_every = parse_size(*++at);
		else
			usage(*at);
	}
}

int main(int argc, char **argv)
{
	double start;

	parse_options(argc, argv);
	make_content();
	for (int i = 0; i < options.count; i++)
		files[i].number = i;
	if (options.method->kind == SOURCE && !options.verify)
		make_source();
	start = now();
	if (options.verify)
		for_each_file(verify_file);
	else
		record();
	printf("seconds=%.4f\n", now() - start);
	return 0;
}
