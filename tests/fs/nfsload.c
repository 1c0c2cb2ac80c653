/*
 * An NFS client in user space that writes several files side by side, each with the same number of
 * WRITEs on their way at any time, as one connection of a kernel's client does.
 *
 * Timed: from the first WRITE to the last reply (with --unstable: and a COMMIT each). Given the directory
 * itself instead of a URL, reads the files there from the disk, one after the other, and checks them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nfsc/libnfs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_FILES = 256,
	READ_SIZE = 1 << 20,
};

static const char usage_text[] = "usage: nfsload nfs://SERVER/DIR COUNT SIZE WRITE_SIZE [OPTION...]\n"
				 "       nfsload DIR COUNT SIZE\n"
				 "  writes files 0 to COUNT-1, or reads them; sizes take K M G\n"
				 "  --depth N    WRITEs of a file at a time (default 1)\n"
				 "  --unstable   UNSTABLE and a COMMIT at the end, not FILE_SYNC\n"
				 "prints seconds=\n";

struct file {
	int number;
	struct nfsfh *handle; /* where the server is asked */
	int fd;               /* where the directory is read */
	uint64_t sent;        /* up to where WRITEs have been sent */
};

/* A place for a WRITE, used again for the next one of its file. */
struct slot {
	struct file *file;
	size_t n;
	uint64_t bytes[];
};

static struct {
	int count, depth, unstable;
	uint64_t size, write_size;
} options = {.depth = 1};

static struct nfs_context *nfs;
static struct file files[MOST_FILES];
static int on_their_way;

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "nfsload: %s\n%s", what, usage_text);
	exit(2);
}

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "nfsload: %s: %s\n", what, why);
	exit(3);
}

static void check(int status, const char *what)
{
	if (status < 0)
		die(what, nfs_get_error(nfs));
}

/* Every word of a file tells the file and where it is. */
static uint64_t word_at(const struct file *file, uint64_t offset)
{
	return offset | (uint64_t)(file->number + 1) << 48;
}

static void wrote(int status, struct nfs_context *context, void *data, void *slot);

static void send_next(struct slot *slot)
{
	struct file *file = slot->file;
	uint64_t left = options.size - file->sent;

	slot->n = left < options.write_size ? left : options.write_size;
	if (!slot->n) {
		free(slot);
		return;
	}
	for (size_t i = 0; i < slot->n / 8; i++)
		slot->bytes[i] = word_at(file, file->sent + i * 8);
	check(nfs_pwrite_async(nfs, file->handle, file->sent, slot->n, slot->bytes, wrote, slot), "WRITE");
	file->sent += slot->n;
	on_their_way++;
}

static void wrote(int status, struct nfs_context *context, void *data, void *slot)
{
	(void)context;
	if (status < 0)
		die("WRITE", data);
	if ((size_t)status != ((struct slot *)slot)->n)
		die("WRITE", "short");
	on_their_way--;
	send_next(slot);
}

static void serve_replies(void)
{
	while (on_their_way) {
		struct pollfd ready = {.fd = nfs_get_fd(nfs), .events = (short)nfs_which_events(nfs)};

		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			die("poll", strerror(errno));
		check(nfs_service(nfs, ready.revents), "connection");
	}
}

static void for_each_file(void (*act)(struct file *file))
{
	for (int i = 0; i < options.count; i++)
		act(&files[i]);
}

static void create_file(struct file *file)
{
	char name[16];

	snprintf(name, sizeof(name), "/%d", file->number);
	check(nfs_create(nfs, name, O_WRONLY | (options.unstable ? 0 : O_SYNC), 0644, &file->handle), name);
}

static void start_file(struct file *file)
{
	for (int i = 0; i < options.depth; i++) {
		struct slot *slot = malloc(sizeof(*slot) + options.write_size);

		if (!slot)
			die("memory", strerror(errno));
		slot->file = file;
		send_next(slot);
	}
}

static void commit_file(struct file *file)
{
	check(nfs_fsync(nfs, file->handle), "COMMIT");
}

static void close_file(struct file *file)
{
	check(nfs_close(nfs, file->handle), "close");
}

static void connect_to(const char *text)
{
	struct nfs_url *url;

	nfs = nfs_init_context();
	url = nfs ? nfs_parse_url_dir(nfs, text) : NULL;
	if (!url)
		usage(text);
	check(nfs_mount(nfs, url->server, url->path), text);
	nfs_destroy_url(url);
}

static void write_files(void)
{
	for_each_file(start_file);
	serve_replies();
	if (options.unstable)
		for_each_file(commit_file);
}

static void verify_words(const struct file *file, uint64_t offset, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n / 8; i++)
		if (words[i] != word_at(file, offset + i * 8)) {
			fprintf(stderr, "nfsload: %d differs at %" PRIu64 "\n", file->number, offset + i * 8);
			exit(1);
		}
}

/* No page of it is in memory then. */
static void open_cold(struct file *file)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", file->number);
	file->fd = open(name, O_RDONLY);
	if (file->fd < 0 || fsync(file->fd) < 0)
		die(name, strerror(errno));
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void verify_file(struct file *file)
{
	static uint64_t words[READ_SIZE / 8];
	uint64_t offset = 0;
	ssize_t n;

	while ((n = read(file->fd, words, sizeof(words))) > 0) {
		verify_words(file, offset, words, (size_t)n);
		offset += (uint64_t)n;
	}
	if (n < 0)
		die("read", strerror(errno));
	if (offset != options.size) {
		fprintf(stderr, "nfsload: %d ends at %" PRIu64 "\n", file->number, offset);
		exit(1);
	}
}

static void verify_files(void)
{
	for_each_file(verify_file);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* In whole words. */
static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMG";
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end != text && *end && strchr(units, *end))
		value <<= 10 * (strchr(units, *end++) - units + 1);
	if (end == text || *end || !value || value % 8)
		usage(text);
	return value;
}

static void parse_options(char **arguments)
{
	for (; *arguments; arguments++) {
		if (!strcmp(*arguments, "--unstable"))
			options.unstable = 1;
		else if (!strcmp(*arguments, "--depth") && arguments[1])
			options.depth = atoi(*++arguments);
		else
			usage(*arguments);
	}
	if (options.depth < 1)
		usage("--depth");
}

static double timed(void (*act)(void))
{
	double start = now();

	act();
	return now() - start;
}

int main(int argc, char **argv)
{
	int remote = argc > 1 && !strncmp(argv[1], "nfs://", 6);
	double seconds;

	if (argc < (remote ? 5 : 4))
		usage("too few arguments");
	options.count = atoi(argv[2]);
	if (options.count < 1 || options.count > MOST_FILES)
		usage(argv[2]);
	options.size = parse_size(argv[3]);
	for (int i = 0; i < options.count; i++)
		files[i].number = i;
	if (remote) {
		options.write_size = parse_size(argv[4]);
		parse_options(argv + 5);
		connect_to(argv[1]);
		for_each_file(create_file);
		seconds = timed(write_files);
		for_each_file(close_file);
		nfs_destroy_context(nfs);
	} else {
		if (chdir(argv[1]) < 0)
			die(argv[1], strerror(errno));
		for_each_file(open_cold);
		seconds = timed(verify_files);
	}
	printf("seconds=%.6f\n", seconds);
	return 0;
}
