/*
 * How long does reserving a file take, until it is durable?
 *
 * Timed: open, METHOD, fsync, close. What an option prepares is not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BULK = 16 << 20,
	HOLE = 4096,
	DATA = 0x5a,
};

static const char usage_text[] =
	"usage: fill FILE BYTES posix_fallocate|pwrite16m [lock] [truncated] [dsync] [hole] [memory]\n"
	"  lock       holds an OFD lock on the first byte\n"
	"  truncated  the file has its size already, and a byte of data in the middle\n"
	"  dsync      opens with O_DSYNC\n"
	"  hole       the file is written, but for 4 KiB in the middle, and not cached\n"
	"  memory     reports the most KiB of dirty and of cached pages meanwhile, over those before\n";

static struct {
	const char *file;
	uint64_t size;
	int (*fill)(int fd);
	int lock, truncated, dsync, hole, memory;
} options;

static unsigned char buffer[BULK] __attribute__((aligned(4096)));

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "fill: %s\n%s", what, usage_text);
	exit(2);
}

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "fill: %s: %s\n", what, strerror(errno));
	exit(3);
}

static int write_range(int fd, uint64_t at, uint64_t end)
{
	while (at < end) {
		size_t part = end - at < BULK ? (size_t)(end - at) : BULK;
		ssize_t n = pwrite(fd, buffer, part, (off_t)at);

		if (n < 0)
			return errno;
		at += (uint64_t)n;
	}
	return 0;
}

static int fill_posix_fallocate(int fd)
{
	return posix_fallocate(fd, 0, (off_t)options.size);
}

static int fill_pwrite(int fd)
{
	return write_range(fd, 0, options.size);
}

static uint64_t middle(void)
{
	return options.size / 2 / HOLE * HOLE;
}

static void prepare_truncated(int fd)
{
	static const unsigned char data = DATA;

	if (ftruncate(fd, (off_t)options.size) < 0 || pwrite(fd, &data, 1, (off_t)middle()) != 1)
		die("preparing");
}

static void prepare_hole(int fd)
{
	memset(buffer, DATA, sizeof(buffer));
	errno = write_range(fd, 0, middle());
	if (!errno)
		errno = write_range(fd, middle() + HOLE, options.size);
	if (errno)
		die("preparing");
	memset(buffer, 0, sizeof(buffer));
}

/* fadvise for this file; the other for servers and daemons here, if we may. */
static void drop_caches(int fd)
{
	int all = open("/proc/sys/vm/drop_caches", O_WRONLY);

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	sync();
	if (all < 0 || write(all, "3", 1) != 1)
		fprintf(stderr, "fill: only the file's own cache dropped\n");
	if (all >= 0)
		close(all);
}

/* A file that nothing is prepared for does not exist when time starts. */
static void prepare(void)
{
	int fd;

	unlink(options.file);
	if (!options.truncated && !options.hole)
		return;
	fd = open(options.file, O_RDWR | O_CREAT | O_EXCL, 0666);
	if (fd < 0)
		die(options.file);
	if (options.truncated)
		prepare_truncated(fd);
	if (options.hole)
		prepare_hole(fd);
	if (fsync(fd) < 0)
		die("fsync");
	if (options.hole)
		drop_caches(fd);
	close(fd);
}

static void take_lock(int fd)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	if (fcntl(fd, F_OFD_SETLK, &range) < 0)
		die("lock");
}

static int run(void)
{
	int fd = open(options.file, O_RDWR | O_CREAT | (options.dsync ? O_DSYNC : 0), 0666);
	int error;

	if (fd < 0)
		return errno;
	if (options.lock)
		take_lock(fd);
	error = options.fill(fd);
	if (fsync(fd) < 0 && !error)
		error = errno;
	if (close(fd) < 0 && !error)
		error = errno;
	return error;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What the whole machine has, in KiB: nothing tells whose pages they are. */
struct memory {
	long dirty, cached;
};

static struct {
	struct memory *most; /* shared with the child that looks every 10 ms */
	struct memory before;
	pid_t child;
} sampler;

static long meminfo(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? atol(at + strlen(name)) : 0;
}

static struct memory look(int fd)
{
	struct memory is = {0, 0};
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		is.dirty = meminfo(text, "\nDirty:") + meminfo(text, "\nWriteback:");
		is.cached = meminfo(text, "\nCached:");
	}
	return is;
}

static void sampler_start(void)
{
	struct timespec pause = {0, 10000000};
	int fd = open("/proc/meminfo", O_RDONLY);

	sampler.most = mmap(NULL, sizeof(*sampler.most), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || sampler.most == MAP_FAILED)
		die("meminfo");
	sampler.before = *sampler.most = look(fd);
	sampler.child = fork();
	while (sampler.child == 0) {
		struct memory is = look(fd);

		if (is.dirty > sampler.most->dirty)
			sampler.most->dirty = is.dirty;
		if (is.cached > sampler.most->cached)
			sampler.most->cached = is.cached;
		nanosleep(&pause, NULL);
	}
	if (sampler.child < 0)
		die("fork");
	close(fd);
}

static void sampler_stop(void)
{
	kill(sampler.child, SIGKILL);
	waitpid(sampler.child, NULL, 0);
}

/* Bulk writes destroy what is there, which is why they are only for comparison. */
static const char *data_state(void)
{
	unsigned char is[2] = {0, 0};
	uint64_t at = options.hole ? middle() - 1 : middle();
	int fd = open(options.file, O_RDONLY);

	if (!options.truncated && !options.hole)
		return "none";
	if (fd < 0 || pread(fd, is, sizeof(is), (off_t)at) < 1)
		return "unreadable";
	close(fd);
	return is[0] == DATA && is[1] == 0 ? "kept" : "lost";
}

static void report(double seconds, int error)
{
	struct stat status = {0};
	const char *name = error ? strerrorname_np(error) : "0";

	stat(options.file, &status);
	printf("seconds=%.6f ret=%s size=%" PRId64 " allocated=%" PRId64 " data=%s", seconds, name ? name : "unknown",
	       (int64_t)status.st_size, (int64_t)status.st_blocks * 512, data_state());
	if (options.memory)
		printf(" dirty=%ld cached=%ld", sampler.most->dirty - sampler.before.dirty,
		       sampler.most->cached - sampler.before.cached);
	putchar('\n');
}

static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end != text && *end && strchr(units, *end))
		value <<= 10 * (strchr(units, *end++) - units + 1);
	if (end == text || *end)
		usage(text);
	return value;
}

static void parse_options(int argc, char **argv)
{
	if (argc < 4)
		usage("arguments missing");
	options.file = argv[1];
	options.size = parse_size(argv[2]);
	if (!strcmp(argv[3], "posix_fallocate"))
		options.fill = fill_posix_fallocate;
	else if (!strcmp(argv[3], "pwrite16m"))
		options.fill = fill_pwrite;
	else
		usage(argv[3]);
	for (char **at = argv + 4; *at; at++) {
		if (!strcmp(*at, "lock"))
			options.lock = 1;
		else if (!strcmp(*at, "truncated"))
			options.truncated = 1;
		else if (!strcmp(*at, "dsync"))
			options.dsync = 1;
		else if (!strcmp(*at, "hole"))
			options.hole = 1;
		else if (!strcmp(*at, "memory"))
			options.memory = 1;
		else
			usage(*at);
	}
	if (options.truncated && options.hole)
		usage("truncated or hole, not both");
	if (options.hole && options.size < 4 * HOLE)
		usage("too small for a hole");
}

int main(int argc, char **argv)
{
	double start, seconds;
	int error;

	parse_options(argc, argv);
	prepare();
	memset(buffer, 0, sizeof(buffer)); /* pages of its own, before time starts */
	if (options.memory)
		sampler_start();
	start = now();
	error = run();
	seconds = now() - start;
	if (options.memory)
		sampler_stop();
	report(seconds, error);
	return 0;
}
