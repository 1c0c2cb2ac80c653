/*
 * recorder: programs that record on a card, moments at which the card is pulled, and
 * programs that append to what it then holds. For yank.sh.
 *
 *   recorder record DIR SYNCED FIRST MS RATE SEGMENT SYNC none|window|trim|grow
 *       WRITERS processes record in DIR, each RATE bytes a second in writes of 4 KiB, a new
 *       file every SEGMENT bytes (numbered from FIRST), fsync every SYNC writes (0: never),
 *       for MS milliseconds. window: allocates ahead of itself with FALLOC_FL_KEEP_SIZE;
 *       trim: and frees what is left before it closes; grow: extends the file by ftruncate, GROWTH
 *       bytes ahead, and cuts it to what it wrote before it closes. SYNCED tells what is owed.
 *   recorder cut CUTS MS IMAGE SYNCED PREFIX
 *       CUTS times: sleep 0 to 2 * MS, copy IMAGE to PREFIX<n> and SYNCED to PREFIX<n>.synced,
 *       with nothing else running meanwhile (on a single processor).
 *   recorder append end|seek DIR LOG
 *       Append some bytes to each file, through O_APPEND or after a seek; syncfs. Prints
 *       FILES FAILED READ_ONLY. LOG tells what was appended.
 *   recorder verify DIR SYNCED [LOG]
 *       Prints how many files lack bytes they owe.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WRITERS = 4,
	FILES = 1024, /* of each writer, at most */
	BLOCK = 4096,
	FIRST_WINDOW = 64 << 10,
	LAST_WINDOW = 16 << 20,
	GROWTH = 256 << 10,
	APPEND_MAX = 3 * BLOCK,
	APPENDED = 0xa5, /* what appended bytes are */
};

/* For each file, how many bytes of it were flushed. */
static uint64_t *synced;

static unsigned char buffer[1 << 20], expected[BLOCK];

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int must(int result, const char *what)
{
	if (result < 0)
		die(what);
	return result;
}

static const char *file_name(int file)
{
	static char name[16];

	snprintf(name, sizeof(name), "w%d-%04d", file / FILES, file % FILES);
	return name;
}

static void map_synced(const char *path)
{
	size_t size = WRITERS * FILES * sizeof(*synced);
	int fd = must(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), path);

	must(ftruncate(fd, (off_t)size), path);
	synced = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (synced == MAP_FAILED)
		die(path);
	close(fd);
}

/* What a file holds in its block at offset. */
static void fill_block(unsigned char *block, int file, off_t offset)
{
	uint64_t words[BLOCK / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = ((uint64_t)file << 48) + (uint64_t)offset + i;
	memcpy(block, words, BLOCK);
}

static struct timespec later(struct timespec from, int64_t nanoseconds)
{
	nanoseconds += from.tv_nsec;
	from.tv_sec += nanoseconds / 1000000000;
	from.tv_nsec = nanoseconds % 1000000000;
	return from;
}

static int is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

struct recording {
	struct timespec next, end; /* of the next write, of all */
	int64_t pause;             /* nanoseconds between two writes */
	off_t segment;
	int sync;
	int window, trim, grow;
};

static void record_file(struct recording *r, int dir, int file)
{
	int fd = must(openat(dir, file_name(file), O_WRONLY | O_CREAT | O_EXCL, 0666), file_name(file));
	off_t size = 0, allocated = r->grow ? 0 : FIRST_WINDOW;

	while (size < r->segment && is_before(r->next, r->end)) {
		if (r->window && size == allocated) {
			off_t window = size < LAST_WINDOW ? size : LAST_WINDOW;

			must(fallocate(fd, FALLOC_FL_KEEP_SIZE, size, window), "fallocate");
			allocated += window;
		}
		if (r->grow && size == allocated)
			must(ftruncate(fd, allocated += GROWTH), "ftruncate");
		fill_block(expected, file, size);
		if (write(fd, expected, BLOCK) != BLOCK)
			die("write");
		size += BLOCK;
		if (r->sync && size / BLOCK % r->sync == 0) {
			must(fsync(fd), "fsync");
			synced[file] = (uint64_t)size;
		}
		r->next = later(r->next, r->pause);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &r->next, NULL);
	}
	if (r->trim)
		must(ftruncate(fd, size), "ftruncate");
	must(close(fd), "close");
}

static void record(char **argument)
{
	int dir = must(open(argument[0], O_RDONLY | O_DIRECTORY), argument[0]), first = atoi(argument[2]);
	struct recording r = {
		.pause = 1000000000LL * BLOCK / atoll(argument[4]),
		.segment = atoll(argument[5]),
		.sync = atoi(argument[6]),
		.window = !strcmp(argument[7], "window") || !strcmp(argument[7], "trim"),
		.trim = !strcmp(argument[7], "trim") || !strcmp(argument[7], "grow"),
		.grow = !strcmp(argument[7], "grow"),
	};
	int status;

	map_synced(argument[1]);
	clock_gettime(CLOCK_MONOTONIC, &r.next);
	r.end = later(r.next, atoll(argument[3]) * 1000000);
	for (int writer = 0; writer < WRITERS; writer++) {
		if (must(fork(), "fork"))
			continue;
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		for (int n = first; n < FILES && is_before(r.next, r.end); n++)
			record_file(&r, dir, writer * FILES + n);
		exit(0);
	}
	while (wait(&status) > 0)
		if (status)
			exit(1);
}

static void copy(const char *from, const char *to)
{
	int in = must(open(from, O_RDONLY), from), out = must(open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666), to);
	off_t end = lseek(in, 0, SEEK_END), data = 0, hole;

	must(ftruncate(out, end), to);
	while ((data = lseek(in, data, SEEK_DATA)) >= 0) {
		hole = lseek(in, data, SEEK_HOLE);
		while (data < hole) {
			size_t length = hole - data < (off_t)sizeof(buffer) ? (size_t)(hole - data) : sizeof(buffer);

			if (pread(in, buffer, length, data) != (ssize_t)length ||
			    pwrite(out, buffer, length, data) != (ssize_t)length)
				die(to);
			data += (off_t)length;
		}
	}
	close(in);
	close(out);
}

static void cut(char **argument)
{
	int cuts = atoi(argument[0]), mean = atoi(argument[1]);
	struct sched_param first = {.sched_priority = 1};
	char name[PATH_MAX];

	must(sched_setscheduler(0, SCHED_FIFO, &first), "sched_setscheduler");
	for (int i = 0; i < cuts; i++) {
		usleep((useconds_t)(drand48() * 2000 * mean));
		snprintf(name, sizeof(name), "%s%d.synced", argument[4], i);
		copy(argument[3], name);
		snprintf(name, sizeof(name), "%s%d", argument[4], i);
		copy(argument[2], name);
	}
}

static int append_file(int dir, const char *name, int by_seek, FILE *log)
{
	int fd = openat(dir, name, O_WRONLY | (by_seek ? 0 : O_APPEND));
	size_t length = 1 + (size_t)(drand48() * APPEND_MAX);
	off_t size;
	int ok;

	if (fd < 0)
		return -1;
	size = lseek(fd, 0, SEEK_END);
	ok = write(fd, buffer, length) == (ssize_t)length;
	fprintf(log, "%s %jd %zu\n", name, (intmax_t)size, length);
	return close(fd) == 0 && ok ? 0 : -1;
}

static void append(char **argument)
{
	DIR *files = opendir(argument[1]);
	FILE *log = fopen(argument[2], "we");
	int count = 0, failed = 0, by_seek = !strcmp(argument[0], "seek"), read_only, fd;

	if (!files || !log)
		die("append");
	memset(buffer, APPENDED, sizeof(buffer));
	for (struct dirent *entry; (entry = readdir(files));) {
		if (entry->d_name[0] != 'w')
			continue;
		count++;
		if (append_file(dirfd(files), entry->d_name, by_seek, log))
			failed++;
	}
	if (syncfs(dirfd(files)))
		failed++;
	fd = openat(dirfd(files), "touched", O_WRONLY | O_CREAT, 0666);
	read_only = fd < 0 && errno == EROFS;
	/* Nothing is owed then. */
	fflush(log);
	if (failed || read_only)
		must(ftruncate(fileno(log), 0), "log");
	printf("%d %d %d\n", count, failed, read_only);
}

static int holds_synced(int dir, int file)
{
	int fd = openat(dir, file_name(file), O_RDONLY);
	uint64_t offset;

	for (offset = 0; fd >= 0 && offset < synced[file]; offset += BLOCK) {
		fill_block(expected, file, (off_t)offset);
		if (read(fd, buffer, BLOCK) != BLOCK || memcmp(buffer, expected, BLOCK) != 0)
			break;
	}
	close(fd);
	return offset >= synced[file];
}

static int holds_appended(int dir, const char *name, off_t offset, size_t length)
{
	int fd = openat(dir, name, O_RDONLY);
	ssize_t n = pread(fd, buffer, sizeof(buffer), offset);

	for (ssize_t i = 0; i < n; i++)
		if (buffer[i] != APPENDED)
			n = -1;
	close(fd);
	return n == (ssize_t)length;
}

static void verify(char **argument)
{
	int dir = must(open(argument[0], O_RDONLY | O_DIRECTORY), argument[0]), lost = 0;
	FILE *log = argument[2] ? fopen(argument[2], "re") : NULL;
	char name[16];
	intmax_t offset;
	size_t length;

	map_synced(argument[1]);
	for (int file = 0; file < WRITERS * FILES; file++)
		if (synced[file] && !holds_synced(dir, file))
			lost++;
	while (log && fscanf(log, "%15s %jd %zu", name, &offset, &length) == 3)
		if (!holds_appended(dir, name, (off_t)offset, length))
			lost++;
	printf("%d\n", lost);
}

static const struct command {
	const char *name;
	int least, most; /* arguments */
	void (*run)(char **argument);
} commands[] = {
	{"record", 8, 8, record},
	{"cut", 5, 5, cut},
	{"append", 3, 3, append},
	{"verify", 2, 3, verify},
};

int main(int argc, char **argv)
{
	srand48(getpid());
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *c = &commands[i];

		if (!strcmp(argv[1], c->name) && argc - 2 >= c->least && argc - 2 <= c->most) {
			c->run(argv + 2);
			return 0;
		}
	}
	fputs("recorder: wrong usage, see recorder.c\n", stderr);
	return 2;
}
