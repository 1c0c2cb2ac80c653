/*
 * Random operations on files, each compared with a model of the file in memory.
 *
 *   operations DIR seed=N count=N [files=N] [workers=N] [threads] [shared] [full] [verbose]
 *
 * A seed always gives the same operations. Each worker, a process or with `threads` a
 * thread, has files of its own; with `shared` all work on one file, each in a range of
 * its own, which only the last one's may grow: threads by one description, processes come
 * and go. `full`: the disk is, or will be.
 *
 * Prints the operations done and a digest of what they returned, or, where file and model
 * differ, the last operations and how to repeat them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCK = 4096,
	LARGEST = 1536 << 10, /* file */
	LONGEST = 384 << 10,  /* operation */
	RANGE = 256 << 10,    /* of each worker, when they share a file */
	MAX_FILES = 8,
	MAX_WORKERS = 8,
	MAX_DESCRIPTORS = 3,
	LOGGED = 40,
	LINE = 160,
	PIPE = 64 << 10, /* what a pipe holds */
};

static struct {
	const char *directory;
	uint64_t seed, count;
	unsigned files, workers;
	int threads, shared, full, verbose;
} options = {.files = 1, .workers = 1};

struct file {
	char path[256];
	int named; /* not unlinked */
	int fd[MAX_DESCRIPTORS], fds;
	int flags;
	FILE *stream;                    /* owns fd[0] */
	int keeps;                       /* the program itself may have blocks past the end */
	unsigned char *map;              /* of the first LARGEST bytes, or NULL */
	off_t base, limit;               /* where its worker works */
	off_t position;                  /* of fd, without a stream */
	off_t size;                      /* of the file, as far as its worker knows */
	unsigned char contents[LARGEST]; /* up to size */
};

struct worker {
	unsigned number;
	uint64_t state, digest, done;
	struct file *files; /* shared between processes */
	unsigned char *buffer, *direct;
	char log[LOGGED][LINE];
	unsigned file; /* that is worked on */
	uint64_t logged;
	int failed;
	pthread_t thread;
	pid_t process;
};

static long filesystem;
static int has_fallocate;

/* That threads have begun to make, and made. */
static unsigned forks_begun, forks_ended;

/* Numbers and bytes */

static uint64_t number(struct worker *worker)
{
	uint64_t x = worker->state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* From 0 to below. */
static off_t below(struct worker *worker, off_t limit)
{
	return limit > 0 ? (off_t)(number(worker) % (uint64_t)limit) : 0;
}

static int one_in(struct worker *worker, off_t times)
{
	return below(worker, times) == 0;
}

/* No byte is zero: a hole, or any zero written over it, shows. */
static void fill(struct worker *worker, unsigned char *bytes, size_t count)
{
	uint64_t x = number(worker);

	for (size_t i = 0; i < count; i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		bytes[i] = (unsigned char)(1 + (x >> 33) % 255);
	}
}

static void digest(struct worker *worker, int64_t value)
{
	worker->digest = (worker->digest ^ (uint64_t)value) * 0x100000001b3;
}

/* Log and failure */

static void note(struct worker *worker, const char *format, ...)
{
	char *line = worker->log[worker->logged++ % LOGGED];
	int used = snprintf(line, LINE, "%u: ", worker->file);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + used, (size_t)(LINE - used), format, arguments);
	va_end(arguments);
	if (options.verbose)
		fprintf(stderr, "%u: %s\n", worker->number, line);
}

static void fail(struct worker *worker, const char *format, ...)
{
	uint64_t from = worker->logged > LOGGED ? worker->logged - LOGGED : 0;
	va_list arguments;

	worker->failed = 1;
	flockfile(stderr);
	fprintf(stderr, "operations: worker %u, after %" PRIu64 " operations: ", worker->number, worker->done);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nrepeat: operations DIR seed=%" PRIu64 " count=%" PRIu64 " files=%u workers=%u%s%s%s\n",
		options.seed, options.count, options.files, options.workers, options.threads ? " threads" : "",
		options.shared ? " shared" : "", options.full ? " full" : "");
	for (uint64_t i = from; i < worker->logged; i++)
		fprintf(stderr, "  %s\n", worker->log[i % LOGGED]);
	funlockfile(stderr);
}

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "operations: %s: %s\n", what, strerror(errno));
	exit(3);
}

/* Note what a call returned, and return it: -1 where it is not supported, or without space. */
static int64_t told(struct worker *worker, int64_t result, const char *format, ...)
{
	int error = result < 0 ? errno : 0;
	char what[LINE / 2];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	note(worker, "%s = %" PRId64 "%s%s", what, result, error ? " " : "", error ? strerrorname_np(error) : "");
	digest(worker, error ? -error : result);
	if (error && error != EOPNOTSUPP && error != ENOSYS && error != EXDEV && error != ENOTTY &&
	    !(options.full && (error == ENOSPC || error == EDQUOT)))
		fail(worker, "%s: %s", what, strerror(error));
	return result;
}

/* The model */

static void model_size(struct file *file, off_t size)
{
	if (size > file->size)
		memset(file->contents + file->size, 0, (size_t)(size - file->size));
	if (size < file->size)
		file->keeps = 0;
	file->size = size;
}

static void model_write(struct file *file, off_t at, const unsigned char *bytes, int64_t count)
{
	if (count <= 0)
		return;
	if (at + count > file->size)
		model_size(file, at + count);
	if (bytes)
		memmove(file->contents + at, bytes, (size_t)count);
	else
		memset(file->contents + at, 0, (size_t)count);
}

static int may_grow(const struct file *file)
{
	return file->limit == LARGEST;
}

/* After a call that failed without space the file may have any size up to this one. */
static void model_failed(struct worker *worker, struct file *file, off_t most)
{
	struct stat status;

	file->keeps = 1;
	if (fstat(file->fd[0], &status) < 0)
		fail(worker, "fstat: %s", strerror(errno));
	else if (status.st_size > file->size && status.st_size <= most)
		model_size(file, status.st_size);
}

/* Where, and how much */

static int any(struct worker *worker, const struct file *file)
{
	return file->fd[below(worker, file->fds)];
}

static off_t length(struct worker *worker)
{
	switch (below(worker, 8)) {
	case 0:
		return 1 + below(worker, 100);
	case 1:
		return BLOCK * (1 + below(worker, 32));
	case 2:
		return 1 + below(worker, LONGEST);
	default:
		return 1 + below(worker, 12 << 10);
	}
}

struct range {
	off_t at, count;
};

/* Often at the end, and at times past it. Empty when there is no room. */
static struct range pick(struct worker *worker, const struct file *file, int within)
{
	struct range range = {file->size, length(worker)};
	off_t end = within || !may_grow(file) ? file->size : file->limit;
	int how = (int)below(worker, 10);

	if (within || !may_grow(file) || how >= 5)
		range.at = file->base + below(worker, file->size - file->base + 1);
	else if (how == 4)
		range.at = file->size + below(worker, 64 << 10);
	if (range.at > end)
		range.at = end;
	if (range.at + range.count > end)
		range.count = end - range.at;
	return range;
}

static struct range align(const struct file *file, struct range range)
{
	struct range aligned = {range.at / BLOCK * BLOCK, 0};

	if (aligned.at < file->base)
		aligned.at += BLOCK;
	aligned.count = (range.at + range.count - aligned.at) / BLOCK * BLOCK;
	return aligned.count < 0 ? (struct range){aligned.at, 0} : aligned;
}

/* Comparing */

static int ready(struct file *file)
{
	return !file->stream || fflush(file->stream) == 0 || (options.full && errno == ENOSPC);
}

static void compare(struct worker *worker, struct file *file, const unsigned char *bytes)
{
	off_t at = file->base, last = file->size - 1;

	if (!memcmp(bytes + at, file->contents + at, (size_t)(file->size - at)))
		return;
	while (bytes[at] == file->contents[at])
		at++;
	while (bytes[last] == file->contents[last])
		last--;
	fail(worker, "%s: bytes %jd to %jd differ, the first is %02x, should be %02x", strrchr(file->path, '/') + 1,
	     (intmax_t)at, (intmax_t)last, bytes[at], file->contents[at]);
}

static int read_whole(int fd, unsigned char *bytes, off_t from, off_t to)
{
	while (from < to) {
		ssize_t got = pread(fd, bytes + from, (size_t)(to - from), from);

		if (got <= 0)
			return -1;
		from += got;
	}
	return 0;
}

static void check(struct worker *worker, struct file *file)
{
	int fd = file->fd[0], reader = -1;
	struct stat status;

	if (!ready(file))
		fail(worker, "fflush: %s", strerror(errno));
	else if (fstat(fd, &status) < 0)
		fail(worker, "fstat: %s", strerror(errno));
	else if (options.shared ? status.st_size < file->size : status.st_size != file->size)
		fail(worker, "%s: st_size is %jd, should be %jd", strrchr(file->path, '/') + 1,
		     (intmax_t)status.st_size, (intmax_t)file->size);
	else if (!file->stream && !options.shared && lseek(fd, 0, SEEK_CUR) != file->position)
		fail(worker, "the position is %jd, should be %jd", (intmax_t)lseek(fd, 0, SEEK_CUR),
		     (intmax_t)file->position);
	if (worker->failed)
		return;
	if ((file->flags & O_ACCMODE) == O_WRONLY) {
		if (!file->named)
			return;
		fd = reader = open(file->path, O_RDONLY);
	}
	if (read_whole(fd, worker->buffer, file->base, file->size) < 0)
		fail(worker, "reading: %s", strerror(errno));
	else
		compare(worker, file, worker->buffer);
	if (reader >= 0)
		close(reader);
}

/* Blocks past the end of a file that nobody has open. Its last page may be in blocks of its own. */
static void check_blocks(struct worker *worker, struct file *file)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent;
	} past = {.map = {.fm_start = (uint64_t)(file->size + BLOCK - 1) / BLOCK * BLOCK,
			  .fm_length = FIEMAP_MAX_OFFSET / 2,
			  .fm_flags = FIEMAP_FLAG_SYNC,
			  .fm_extent_count = 1}};
	struct stat status;
	struct statfs fs;
	int fd;

	if (file->keeps || !file->named || file->map)
		return;
	if (filesystem == EXT4_SUPER_MAGIC) {
		fd = open(file->path, O_RDONLY);
		if (ioctl(fd, FS_IOC_FIEMAP, &past) == 0 && past.map.fm_mapped_extents)
			fail(worker, "blocks past the end, from %ju, of %jd bytes", (uintmax_t)past.extent.fe_logical,
			     (intmax_t)file->size);
		close(fd);
	} else if (filesystem == MSDOS_SUPER_MAGIC && stat(file->path, &status) == 0 && statfs(file->path, &fs) == 0 &&
		   status.st_blocks * 512 > (file->size + fs.f_bsize - 1) / fs.f_bsize * fs.f_bsize) {
		fail(worker, "%jd bytes of blocks, of %jd bytes", (intmax_t)status.st_blocks * 512,
		     (intmax_t)file->size);
	}
}

/* Opening */

static int open_file(struct file *file, int flags)
{
	return open(file->path, flags | O_CLOEXEC, 0666);
}

static void unmap(struct file *file)
{
	if (file->map)
		munmap(file->map, LARGEST);
	file->map = NULL;
}

static void close_all(struct worker *worker, struct file *file)
{
	int result = 0, first = 0;

	if (file->stream) {
		result = fclose(file->stream);
		first = 1;
	}
	file->stream = NULL;
	for (int i = first; i < file->fds; i++)
		result |= close(file->fd[i]);
	file->fds = 0;
	told(worker, result, "close");
}

static void open_stream(struct worker *worker, struct file *file)
{
	static const int modes[] = {_IOFBF, _IOLBF, _IONBF};
	const char *mode = one_in(worker, 4) ? "a+" : "r+";

	file->stream = fopen(file->path, mode);
	if (!file->stream)
		die(file->path);
	file->flags = O_RDWR | (mode[0] == 'a' ? O_APPEND : 0);
	file->fd[0] = fileno(file->stream);
	if (one_in(worker, 2))
		setvbuf(file->stream, NULL, modes[below(worker, 3)], 1 + (size_t)below(worker, 20000));
	note(worker, "fopen %s", mode);
}

static void open_again(struct worker *worker, struct file *file)
{
	static const int more[] = {0, 0, 0, O_APPEND, O_SYNC, O_DSYNC, O_CREAT, O_CREAT | O_TRUNC, O_CREAT | O_TRUNC};
	int flags = more[below(worker, sizeof(more) / sizeof(*more))];

	file->position = 0;
	file->fds = 1;
	if (one_in(worker, 4) && !options.full) {
		open_stream(worker, file);
		return;
	}
	file->flags = flags | (one_in(worker, 5) ? O_WRONLY : O_RDWR);
	file->fd[0] = open_file(file, file->flags);
	if (file->fd[0] < 0)
		die(file->path);
	if (flags & O_TRUNC) {
		model_size(file, 0);
		file->keeps = 0;
	}
	note(worker, "open %#o", file->flags);
}

/* Operations. Each returns whether it did something. */

#define FITS(range)   ((range).count > 0)
#define APPENDS(file) ((file)->flags & O_APPEND)

static off_t target(const struct file *file, off_t at)
{
	return APPENDS(file) ? file->size : at;
}

/* An O_APPEND write begins at the end, wherever it was to be. */
static struct range pick_write(struct worker *worker, const struct file *file)
{
	struct range range = pick(worker, file, 0);

	if (APPENDS(file) && file->size + range.count > file->limit)
		range.count = 0;
	fill(worker, worker->buffer, (size_t)(range.count > 0 ? range.count : 0));
	return range;
}

static int do_write(struct worker *worker, struct file *file)
{
	struct range range = {file->position, length(worker)};
	off_t at = target(file, file->position);
	int64_t done;

	if (file->stream || at + range.count > file->limit)
		return 0;
	fill(worker, worker->buffer, (size_t)range.count);
	done = told(worker, write(any(worker, file), worker->buffer, (size_t)range.count), "write %jd",
		    (intmax_t)range.count);
	model_write(file, at, worker->buffer, done);
	if (done > 0)
		file->position = at + done;
	return 1;
}

static int do_pwrite(struct worker *worker, struct file *file)
{
	struct range range = pick_write(worker, file);
	int64_t done;

	if (!FITS(range))
		return 0;
	done = told(worker, pwrite(any(worker, file), worker->buffer, (size_t)range.count, range.at), "pwrite %jd+%jd",
		    (intmax_t)range.at, (intmax_t)range.count);
	model_write(file, target(file, range.at), worker->buffer, done);
	return 1;
}

static int split(struct worker *worker, struct iovec *vectors, off_t count)
{
	size_t first = (size_t)below(worker, count + 1), second = (size_t)below(worker, count + 1 - (off_t)first);

	vectors[0] = (struct iovec){worker->buffer, first};
	vectors[1] = (struct iovec){worker->buffer + first, second};
	vectors[2] = (struct iovec){worker->buffer + first + second, (size_t)count - first - second};
	return 3;
}

static int do_writev(struct worker *worker, struct file *file)
{
	off_t count = length(worker), at = target(file, file->position);
	struct iovec vectors[3];
	int64_t done;
	int parts;

	if (file->stream || at + count > file->limit)
		return 0;
	fill(worker, worker->buffer, (size_t)count);
	parts = split(worker, vectors, count);
	done = told(worker, writev(any(worker, file), vectors, parts), "writev %jd", (intmax_t)count);
	model_write(file, at, worker->buffer, done);
	if (done > 0)
		file->position = at + done;
	return 1;
}

static int do_pwritev(struct worker *worker, struct file *file)
{
	struct range range = pick_write(worker, file);
	int flags = one_in(worker, 3) ? RWF_DSYNC : 0, fd = any(worker, file), parts;
	int append = !options.shared && one_in(worker, 6);
	struct iovec vectors[3];
	int64_t done;

	if (!FITS(range) || (append && file->size + range.count > file->limit))
		return 0;
	parts = split(worker, vectors, range.count);
	if (append) {
		done = told(worker, pwritev2(fd, vectors, parts, range.at, RWF_APPEND), "pwritev2 append %jd",
			    (intmax_t)range.count);
		range.at = file->size;
	} else if (one_in(worker, 2)) {
		done = told(worker, pwritev2(fd, vectors, parts, range.at, flags), "pwritev2 %jd+%jd",
			    (intmax_t)range.at, (intmax_t)range.count);
	} else {
		done = told(worker, pwritev(fd, vectors, parts, range.at), "pwritev %jd+%jd", (intmax_t)range.at,
			    (intmax_t)range.count);
	}
	model_write(file, target(file, range.at), worker->buffer, done);
	return 1;
}

/* By another descriptor, that appends. */
static int do_append(struct worker *worker, struct file *file)
{
	off_t count = length(worker);
	int64_t done;
	int fd;

	if (!file->named || file->size + count > file->limit)
		return 0;
	fd = open_file(file, O_WRONLY | O_APPEND);
	fill(worker, worker->buffer, (size_t)count);
	done = told(worker, write(fd, worker->buffer, (size_t)count), "append %jd", (intmax_t)count);
	model_write(file, file->size, worker->buffer, done);
	told(worker, close(fd), "close");
	return 1;
}

static int do_direct(struct worker *worker, struct file *file)
{
	struct range range = align(file, pick(worker, file, 0));
	int64_t done;
	int fd;

	if (!file->named || !FITS(range) || file->map)
		return 0;
	fd = open_file(file, O_RDWR | O_DIRECT);
	if (fd < 0)
		return 0; /* tmpfs */
	fill(worker, worker->direct, (size_t)range.count);
	done = told(worker, pwrite(fd, worker->direct, (size_t)range.count, range.at), "direct %jd+%jd",
		    (intmax_t)range.at, (intmax_t)range.count);
	model_write(file, range.at, worker->direct, done);
	told(worker, close(fd), "close");
	return 1;
}

/* By the file's own stream, or one of its own on a duplicate, or on a descriptor of its own. */
static void stream_out(struct worker *worker, struct file *file, FILE *stream)
{
	off_t at = APPENDS(file) ? file->size : file->base + below(worker, file->size + 1);
	unsigned pieces = 1 + (unsigned)below(worker, 20);

	if (fseeko(stream, at, SEEK_SET) < 0)
		fail(worker, "fseeko: %s", strerror(errno));
	for (unsigned i = 0; i < pieces; i++) {
		off_t count = 1 + below(worker, one_in(worker, 6) ? LONGEST : 5000);

		if (at + count > file->limit)
			break;
		fill(worker, worker->buffer, (size_t)count);
		if (one_in(worker, 5)) {
			count = 1;
			putc(worker->buffer[0], stream);
		} else if (fwrite(worker->buffer, 1, (size_t)count, stream) != (size_t)count) {
			fail(worker, "fwrite: %s", strerror(errno));
		}
		if (one_in(worker, 10))
			fflush(stream);
		model_write(file, at, worker->buffer, count);
		at += count;
		note(worker, "fwrite %jd+%jd", (intmax_t)(at - count), (intmax_t)count);
	}
}

static int do_stream(struct worker *worker, struct file *file)
{
	FILE *stream = file->stream;

	if (options.full) /* what a stream holds when it fails, nobody knows */
		return 0;
	if (stream) {
		stream_out(worker, file, stream);
		return 1;
	}
	if (file->named && one_in(worker, 2))
		stream = fopen(file->path, APPENDS(file) ? "a" : "r+");
	else
		stream = fdopen(dup(any(worker, file)), APPENDS(file) ? "a" : "w");
	if (!stream)
		die("a stream");
	stream_out(worker, file, stream);
	told(worker, fclose(stream), "fclose");
	lseek(file->fd[0], file->position, SEEK_SET);
	return 1;
}

/* The stream goes on, on another description of its file. */
static int do_redirect(struct worker *worker, struct file *file)
{
	int flags = O_RDWR | (APPENDS(file) ? O_APPEND : 0), fd, result;

	if (!file->stream || !file->named || file->fds > 1)
		return 0;
	if (!ready(file))
		fail(worker, "fflush: %s", strerror(errno));
	switch (below(worker, 3)) {
	case 0:
		fd = open_file(file, flags);
		file->keeps = 1; /* no window is given back while somebody else has the file open */
		result = dup2(fd, file->fd[0]) < 0 ? -1 : close(fd);
		told(worker, result, "dup2 onto the stream's");
		break;
	case 1:
		file->stream = freopen(file->path, APPENDS(file) ? "a+" : "r+", file->stream);
		told(worker, file->stream ? 0 : -1, "freopen");
		break;
	default:
		file->stream = freopen(NULL, APPENDS(file) ? "a+" : "r+", file->stream);
		told(worker, file->stream ? 0 : -1, "freopen NULL");
	}
	if (!file->stream)
		die("freopen");
	file->fd[0] = fileno(file->stream);
	return 1;
}

/* The mapping stays, at times, beyond close. */
static int do_map(struct worker *worker, struct file *file)
{
	struct range range = pick(worker, file, 1);
	int keep = one_in(worker, 3);

	if (!FITS(range) || options.full || (file->flags & O_ACCMODE) == O_WRONLY)
		return 0;
	if (!file->map) {
		file->map = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_SHARED, any(worker, file), 0);
		if (file->map == MAP_FAILED) {
			file->map = NULL;
			told(worker, errno == ENODEV ? 0 : -1, "mmap");
			return 1;
		}
	}
	fill(worker, worker->buffer, (size_t)range.count);
	memcpy(file->map + range.at, worker->buffer, (size_t)range.count);
	model_write(file, range.at, worker->buffer, range.count);
	note(worker, "store %jd+%jd%s", (intmax_t)range.at, (intmax_t)range.count, keep ? "" : ", unmap");
	if (one_in(worker, 2))
		told(worker, msync(file->map, (size_t)file->size, MS_SYNC), "msync");
	if (!keep)
		unmap(file);
	return 1;
}

static int do_truncate(struct worker *worker, struct file *file)
{
	off_t size = file->base + below(worker, (one_in(worker, 3) ? file->limit : file->size) - file->base);
	int64_t result;

	if (!may_grow(file) || (options.full && size > file->size))
		return 0;
	if (file->named && one_in(worker, 3))
		result = told(worker, truncate(file->path, size), "truncate %jd", (intmax_t)size);
	else
		result = told(worker, ftruncate(any(worker, file), size), "ftruncate %jd", (intmax_t)size);
	if (result == 0)
		model_size(file, size);
	return 1;
}

/* Without holes, in the range: the blocks, where a file system counts no others. */
static void check_reserved(struct worker *worker, struct file *file, struct range range)
{
	struct stat status;

	if (range.at == 0 && range.count == file->size && fstat(file->fd[0], &status) == 0 &&
	    (filesystem == EXT4_SUPER_MAGIC || filesystem == TMPFS_MAGIC || filesystem == XFS_SUPER_MAGIC ||
	     filesystem == MSDOS_SUPER_MAGIC) &&
	    status.st_blocks * 512 < file->size)
		fail(worker, "reserved, but in %jd bytes of blocks", (intmax_t)status.st_blocks * 512);
}

static int do_reserve(struct worker *worker, struct file *file)
{
	struct range range = pick(worker, file, 0);
	off_t until;

	if (one_in(worker, 4) && !options.shared)
		range = (struct range){0, file->size};
	/* Without fallocate, libc refuses what appends or cannot be read, and we do not. */
	if (!FITS(range) || (!has_fallocate && file->flags & (O_APPEND | O_WRONLY)))
		return 0;
	until = range.at + range.count;
	errno = posix_fallocate(any(worker, file), range.at, range.count);
	if (told(worker, errno ? -1 : 0, "posix_fallocate %jd+%jd", (intmax_t)range.at, (intmax_t)range.count) < 0) {
		model_failed(worker, file, until);
		return 1;
	}
	if (until > file->size)
		model_size(file, until);
	check_reserved(worker, file, range);
	return 1;
}

static int do_fallocate(struct worker *worker, struct file *file)
{
	static const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				    FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE};
	int mode = modes[below(worker, sizeof(modes) / sizeof(*modes))];
	struct range range = pick(worker, file, 0);
	off_t until = range.at + range.count, end;

	if (!FITS(range) || (mode == FALLOC_FL_KEEP_SIZE && !one_in(worker, 4)))
		return 0;
	/* It ends windows for good, and there is only the one description. */
	if (options.shared && options.threads && mode & FALLOC_FL_KEEP_SIZE && !(mode & FALLOC_FL_PUNCH_HOLE))
		return 0;
	if (told(worker, fallocate(any(worker, file), mode, range.at, range.count), "fallocate %d %jd+%jd", mode,
		 (intmax_t)range.at, (intmax_t)range.count) < 0) {
		if (errno == ENOSPC)
			model_failed(worker, file, until);
		return 1;
	}
	if (!(mode & FALLOC_FL_KEEP_SIZE) && until > file->size)
		model_size(file, until);
	else if (mode & FALLOC_FL_KEEP_SIZE && !(mode & FALLOC_FL_PUNCH_HOLE) && until > file->size)
		file->keeps = 1;
	end = until < file->size ? until : file->size;
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE) && range.at < end)
		memset(file->contents + range.at, 0, (size_t)(end - range.at));
	return 1;
}

static int do_shift(struct worker *worker, struct file *file)
{
	struct range range = align(file, pick(worker, file, 1));
	int insert = one_in(worker, 2);
	unsigned char *at = file->contents + range.at;
	off_t behind = file->size - range.at;

	/* To the end, and in a mapping, are refused. */
	if (!FITS(range) || range.at + range.count >= file->size || (insert && file->size + range.count > file->limit))
		return 0;
	if (told(worker,
		 fallocate(any(worker, file), insert ? FALLOC_FL_INSERT_RANGE : FALLOC_FL_COLLAPSE_RANGE, range.at,
			   range.count),
		 "%s %jd+%jd", insert ? "insert" : "collapse", (intmax_t)range.at, (intmax_t)range.count) < 0) {
		if (errno == ENOSPC)
			model_failed(worker, file, file->size);
		return 1;
	}
	if (insert) {
		memmove(at + range.count, at, (size_t)behind);
		memset(at, 0, (size_t)range.count);
		file->size += range.count;
	} else {
		memmove(at, at + range.count, (size_t)(behind - range.count));
		file->size -= range.count;
	}
	return 1;
}

static int64_t copy_by_pipe(struct file *file, off_t from, int out, off_t *to, size_t count)
{
	int ends[2];
	int64_t done;

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	done = splice(file->fd[0], &from, ends[1], NULL, count, 0);
	if (done > 0)
		done = splice(ends[0], NULL, out, to, (size_t)done, 0);
	close(ends[0]);
	close(ends[1]);
	return done;
}

/* Within the file, by whoever copies in the kernel. */
static int do_copy(struct worker *worker, struct file *file)
{
	struct range from = pick(worker, file, 1), to = pick(worker, file, 0);
	off_t count = from.count < to.count ? from.count : to.count, in = from.at, out = to.at;
	int fd = any(worker, file);
	int64_t done;

	if (count <= 0 || APPENDS(file) || (file->flags & O_ACCMODE) == O_WRONLY ||
	    (from.at < to.at + count && to.at < from.at + count))
		return 0;
	switch (below(worker, options.shared || file->stream ? 2 : 3)) {
	case 0:
		done = told(worker, copy_file_range(fd, &in, fd, &out, (size_t)count, 0),
			    "copy_file_range %jd to %jd+%jd", (intmax_t)from.at, (intmax_t)to.at, (intmax_t)count);
		break;
	case 1:
		count = count > PIPE ? PIPE : count;
		done = told(worker, copy_by_pipe(file, in, fd, &out, (size_t)count), "splice %jd to %jd+%jd",
			    (intmax_t)from.at, (intmax_t)to.at, (intmax_t)count);
		break;
	default:
		if (lseek(fd, out, SEEK_SET) < 0)
			die("lseek");
		done = told(worker, sendfile(fd, fd, &in, (size_t)count), "sendfile %jd to %jd+%jd", (intmax_t)from.at,
			    (intmax_t)to.at, (intmax_t)count);
		file->position = to.at + (done > 0 ? done : 0);
	}
	model_write(file, to.at, file->contents + from.at, done);
	return 1;
}

/* Blocks that two ranges then share. The last may be one that the file ends in. */
static int do_clone(struct worker *worker, struct file *file)
{
	struct range from = align(file, pick(worker, file, 1)), to = align(file, pick(worker, file, 0));
	off_t count = from.count < to.count ? from.count : to.count;
	struct file_clone_range clone = {any(worker, file), (uint64_t)from.at, (uint64_t)count, (uint64_t)to.at};

	if (count <= 0 || APPENDS(file) || (file->flags & O_ACCMODE) == O_WRONLY ||
	    (from.at < to.at + count && to.at < from.at + count))
		return 0;
	if (told(worker, ioctl(any(worker, file), FICLONERANGE, &clone), "clone %jd to %jd+%jd", (intmax_t)from.at,
		 (intmax_t)to.at, (intmax_t)count) == 0)
		model_write(file, to.at, file->contents + from.at, count);
	return 1;
}

/* Another of the worker's files becomes what this one is, or by a copy its beginning. */
static int do_clone_whole(struct worker *worker, struct file *file)
{
	struct file *other = &worker->files[below(worker, options.files)];
	int clone = one_in(worker, 2);
	off_t in = 0, out = 0;
	int64_t done;

	/* Over more than it has, a file that ends within a block is no clone (fs/remap_range.c). */
	if (other == file || APPENDS(other) || (file->flags & O_ACCMODE) == O_WRONLY || !file->size ||
	    (file->size % BLOCK && file->size < other->size))
		return 0;
	if (!ready(other) || !ready(file))
		fail(worker, "fflush: %s", strerror(errno));
	if (clone)
		done = told(worker, ioctl(other->fd[0], FICLONE, file->fd[0]), "clone all of it") < 0 ? -1 : file->size;
	else
		done = told(worker, copy_file_range(file->fd[0], &in, other->fd[0], &out, (size_t)file->size, 0),
			    "copy_file_range of all to another");
	model_write(other, 0, file->contents, done);
	return 1;
}

static int do_seek(struct worker *worker, struct file *file)
{
	off_t from = below(worker, file->size), hole, data;

	if (file->stream || !file->size)
		return 0;
	hole = lseek(file->fd[0], from, SEEK_HOLE);
	data = lseek(file->fd[0], hole, SEEK_DATA);
	if (hole > file->size)
		fail(worker, "a hole at %jd, in %jd bytes", (intmax_t)hole, (intmax_t)file->size);
	/* Not on ext4 without extents, which names holes where there is data, without the library too. */
	for (off_t at = hole; has_fallocate && hole >= 0 && at < (data < 0 ? file->size : data); at++)
		if (file->contents[at]) {
			fail(worker, "a hole at %jd, where data is", (intmax_t)at);
			break;
		}
	file->position = below(worker, file->size + 1);
	if (one_in(worker, 3))
		file->position = file->size;
	note(worker, "lseek %jd", (intmax_t)file->position);
	lseek(file->fd[0], file->position, SEEK_SET);
	return 1;
}

static int do_duplicate(struct worker *worker, struct file *file)
{
	int fd = any(worker, file), last = file->fds - 1;

	if (file->fds == MAX_DESCRIPTORS || (file->fds > 1 && one_in(worker, 2))) {
		told(worker, close(file->fd[last]), "close a duplicate");
		file->fds--;
		return 1;
	}
	switch (below(worker, 3)) {
	case 0:
		fd = dup(fd);
		break;
	case 1:
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 20);
		break;
	default:
		last = open("/dev/null", O_WRONLY);
		fd = dup3(fd, last, O_CLOEXEC);
	}
	if (fd < 0)
		die("dup");
	note(worker, "duplicate");
	file->fd[file->fds++] = fd;
	return 1;
}

static int do_reopen(struct worker *worker, struct file *file)
{
	if (!file->named)
		return 0;
	close_all(worker, file);
	check_blocks(worker, file);
	file->keeps |= file->map != NULL; /* and a mapping has it open */
	if (one_in(worker, 2))
		unmap(file);
	open_again(worker, file);
	return 1;
}

/* A child writes with what it inherited. */
static int do_child(struct worker *worker, struct file *file)
{
	struct range range = pick_write(worker, file);
	int fd = any(worker, file), status;
	pid_t child;

	if (!FITS(range))
		return 0;
	if (!ready(file))
		fail(worker, "fflush: %s", strerror(errno));
	__atomic_add_fetch(&forks_begun, 1, __ATOMIC_SEQ_CST);
	child = fork();
	if (child == 0)
		_exit(pwrite(fd, worker->buffer, (size_t)range.count, range.at) != range.count);
	__atomic_add_fetch(&forks_ended, 1, __ATOMIC_SEQ_CST);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		die("fork");
	note(worker, "a child's pwrite %jd+%jd = %d", (intmax_t)range.at, (intmax_t)range.count, status);
	if (status)
		fail(worker, "a child: %x", status);
	model_write(file, target(file, range.at), worker->buffer, range.count);
	return 1;
}

static int do_rename(struct worker *worker, struct file *file)
{
	char path[sizeof(file->path)];
	size_t end = strlen(file->path) - 1;

	if (!file->named)
		return 0;
	strcpy(path, file->path);
	path[end] = path[end] == 'a' ? 'b' : 'a';
	if (told(worker, rename(file->path, path), "rename") == 0)
		strcpy(file->path, path);
	return 1;
}

/* The file goes on without a name, or a new one has it. */
static int do_unlink(struct worker *worker, struct file *file)
{
	if (file->named) {
		told(worker, unlink(file->path), "unlink");
		file->named = 0;
		return 1;
	}
	close_all(worker, file);
	unmap(file);
	model_size(file, 0);
	file->keeps = 0;
	file->flags = O_RDWR | O_CREAT | O_EXCL;
	file->fd[0] = open_file(file, file->flags);
	if (file->fd[0] < 0)
		die(file->path);
	file->fds = file->named = 1;
	file->position = 0;
	note(worker, "create");
	return 1;
}

static int do_sync(struct worker *worker, struct file *file)
{
	int fd = any(worker, file);

	if (!ready(file))
		fail(worker, "fflush: %s", strerror(errno));
	switch (below(worker, 4)) {
	case 0:
		told(worker, fsync(fd), "fsync");
		break;
	case 1:
		told(worker, fdatasync(fd), "fdatasync");
		break;
	case 2:
		told(worker, sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), "sync_file_range");
		break;
	default: /* what is compared next was on the disk */
		told(worker, fdatasync(fd), "fdatasync");
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return 1;
}

static const struct operation {
	int (*run)(struct worker *worker, struct file *file);
	int weight, shared;
	int once; /* it never has a file open once more */
} operations[] = {
	{do_write, 16, 0, 1}, {do_pwrite, 10, 1, 1},   {do_writev, 5, 0, 1},  {do_pwritev, 6, 1, 1},
	{do_append, 2, 0, 0}, {do_direct, 2, 1, 0},    {do_stream, 10, 0, 0}, {do_redirect, 4, 0, 0},
	{do_map, 5, 1, 1},    {do_truncate, 6, 1, 0},  {do_reserve, 4, 1, 1}, {do_fallocate, 5, 1, 1},
	{do_shift, 3, 0, 1},  {do_copy, 6, 1, 1},      {do_clone, 3, 1, 1},   {do_clone_whole, 1, 0, 0},
	{do_seek, 4, 0, 1},   {do_duplicate, 4, 0, 1}, {do_reopen, 9, 0, 1},  {do_child, 1, 0, 1},
	{do_rename, 1, 0, 1}, {do_unlink, 1, 0, 1},    {do_sync, 4, 1, 1},
};

static const struct operation *pick_operation(struct worker *worker)
{
	const size_t count = sizeof(operations) / sizeof(*operations);
	int all = 0, at;

	for (size_t i = 0; i < count; i++)
		all += operations[i].weight;
	at = (int)below(worker, all);
	for (size_t i = 0; i < count; i++)
		if ((at -= operations[i].weight) < 0)
			return &operations[i];
	return operations;
}

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A fork in another thread gives windows back, but not that of a file which is open once more,
 * and waits for a write, but not for one that takes longer than this (hold_when_idle). */
#define WAITED_FOR 25

static int may_stay_behind(const struct operation *operation, const struct file *file, unsigned forks, int64_t began)
{
	return forks != __atomic_load_n(&forks_begun, __ATOMIC_SEQ_CST) &&
	       (!operation->once || (file->flags & O_ACCMODE) == O_WRONLY || milliseconds() - began > WAITED_FOR);
}

/* Away from the file for a while, so that another is alone with it. */
static void come_and_go(struct worker *worker, struct file *file)
{
	if (!one_in(worker, 3))
		return;
	unmap(file);
	close(file->fd[0]);
	if (!may_grow(file))
		usleep((useconds_t)below(worker, 2000));
	file->fd[0] = open_file(file, O_RDWR);
	if (file->fd[0] < 0)
		die(file->path);
}

static void step(struct worker *worker)
{
	unsigned forks = __atomic_load_n(&forks_ended, __ATOMIC_SEQ_CST);
	const struct operation *operation = pick_operation(worker);
	int64_t began = milliseconds();
	struct file *file;

	worker->file = options.shared ? 0 : (unsigned)below(worker, options.files);
	file = &worker->files[worker->file];
	if (options.shared && !operation->shared)
		return;
	if (options.shared && !options.threads)
		come_and_go(worker, file);
	/* All but streams themselves work on what they have written. */
	if (operation->run != do_stream && !ready(file))
		fail(worker, "fflush: %s", strerror(errno));
	if (operation->run(worker, file))
		worker->done++;
	if (one_in(worker, 3) && !worker->failed)
		check(worker, file);
	for (unsigned i = 0; options.threads && i < options.files; i++)
		if (i == worker->file || !operation->once)
			worker->files[i].keeps |= may_stay_behind(operation, &worker->files[i], forks, began);
}

static void create(struct file *file, unsigned worker, unsigned i)
{
	snprintf(file->path, sizeof(file->path), "%s/operations.%u.%u.a", options.directory, worker, i);
	file->named = file->fds = 1;
	file->flags = O_RDWR | O_CREAT | O_TRUNC;
	file->limit = LARGEST;
	file->fd[0] = open_file(file, file->flags);
	if (file->fd[0] < 0)
		die(file->path);
}

static void *work(void *data)
{
	struct worker *worker = data;

	for (unsigned i = 0; i < options.files && !options.shared; i++)
		create(&worker->files[i], worker->number, i);
	if (options.shared && !options.threads)
		worker->files->fd[0] = open_file(worker->files, O_RDWR);
	while (worker->done < options.count && !worker->failed)
		step(worker);
	for (unsigned i = 0; i < (options.shared ? 1 : options.files) && !worker->failed; i++)
		check(worker, &worker->files[i]);
	return NULL;
}

/* Set up and end */

static void *allocate(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("memory");
	return memory;
}

/* Threads have one description for all, as with another there would be no window. */
static void share(struct worker *worker, const struct file *whole)
{
	struct file *file = worker->files;

	strcpy(file->path, whole->path);
	file->named = file->fds = 1;
	file->flags = O_RDWR;
	if (options.threads)
		file->fd[0] = worker->number % 2 ? dup(whole->fd[0]) : whole->fd[0];
	file->base = (off_t)worker->number * RANGE;
	file->size = file->base + RANGE;
	file->limit = worker->number == options.workers - 1 ? LARGEST : file->size;
}

static void set_up(struct worker *worker, unsigned i, const struct file *whole)
{
	worker->number = i;
	worker->state = options.seed * 1000003 + i;
	worker->files = allocate(sizeof(struct file) * options.files);
	worker->buffer = allocate(LARGEST);
	worker->direct = allocate(LARGEST);
	if (options.shared)
		share(worker, whole);
}

static void start(struct worker *worker)
{
	if (options.workers == 1) {
		work(worker);
	} else if (options.threads) {
		errno = pthread_create(&worker->thread, NULL, work, worker);
		if (errno)
			die("a thread");
	} else {
		pid_t process = fork();

		if (process < 0)
			die("fork");
		if (process == 0) {
			work(worker);
			for (unsigned i = 0; i < (options.shared ? 1 : options.files); i++)
				if (worker->files[i].stream)
					fclose(worker->files[i].stream);
			exit(worker->failed); /* which writes statistics */
		}
		worker->process = process;
	}
}

static void join(struct worker *worker)
{
	int status;

	if (options.workers == 1)
		return;
	if (options.threads)
		pthread_join(worker->thread, NULL);
	else if (waitpid(worker->process, &status, 0) < 0 || status)
		worker->failed = 1;
}

/* All is closed; what is in the files now? */
static void check_again(struct worker *worker, struct file *file)
{
	if (!file->named)
		return;
	file->stream = NULL;
	file->flags = O_RDONLY;
	file->position = 0;
	file->fd[0] = open_file(file, O_RDONLY);
	if (file->fd[0] < 0)
		die(file->path);
	check(worker, file);
	close(file->fd[0]);
}

static void end(struct worker *worker)
{
	for (unsigned i = 0; i < (options.shared ? 1 : options.files) && !worker->failed; i++) {
		struct file *file = &worker->files[i];

		if (options.workers > 1 && !options.threads) {
			check_again(worker, file); /* a process has closed them */
		} else if (!options.shared) {
			close_all(worker, file);
			check_blocks(worker, file);
			check_again(worker, file);
		} else {
			unmap(file);
			if (worker->number == 0 || worker->number % 2)
				close(file->fd[0]);
			if (may_grow(file)) /* the last */
				check_blocks(worker, file);
			check_again(worker, file);
		}
		if (!options.shared)
			unlink(file->path);
	}
}

static void parse(char *const *arguments)
{
	for (options.directory = *arguments++; *arguments; arguments++) {
		const char *value = strchr(*arguments, '=');
		uint64_t parsed = value ? strtoull(value + 1, NULL, 0) : 1;

		switch ((*arguments)[0]) {
		case 'c':
			options.count = parsed;
			break;
		case 'f':
			if (value)
				options.files = (unsigned)parsed;
			else
				options.full = 1;
			break;
		case 's':
			if (value)
				options.seed = parsed;
			else
				options.shared = 1;
			break;
		case 't':
			options.threads = 1;
			break;
		case 'v':
			options.verbose = 1;
			break;
		case 'w':
			options.workers = (unsigned)parsed;
			break;
		default:
			fprintf(stderr, "operations: what is %s?\n", *arguments);
			exit(2);
		}
	}
	if (options.files > MAX_FILES || options.workers > MAX_WORKERS - 1U ||
	    (options.shared && options.workers * RANGE >= LARGEST)) {
		fprintf(stderr, "operations: too many\n");
		exit(2);
	}
}

static void probe(void)
{
	int fd = open(options.directory, O_TMPFILE | O_RDWR, 0600);

	if (fd < 0) {
		char path[sizeof(((struct file *)0)->path)];

		snprintf(path, sizeof(path), "%s/probe", options.directory);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		unlink(path);
	}
	if (fd < 0)
		die(options.directory);
	has_fallocate = fallocate(fd, 0, 0, 1) == 0;
	close(fd);
}

int main(int argc, char **argv)
{
	struct worker *workers = allocate(sizeof(*workers) * MAX_WORKERS);
	struct file *whole = allocate(sizeof(*whole));
	uint64_t done = 0, all = 0;
	struct statfs fs;
	int failed = 0;

	if (argc < 2)
		return 2;
	parse(argv + 1);
	if (statfs(options.directory, &fs) < 0)
		die(options.directory);
	filesystem = fs.f_type;
	probe();
	if (options.shared) {
		create(whole, 0, 0);
		if (ftruncate(whole->fd[0], (off_t)options.workers * RANGE) < 0)
			die("ftruncate");
		if (!options.threads)
			close(whole->fd[0]);
	}
	for (unsigned i = 0; i < options.workers; i++)
		set_up(&workers[i], i, whole);
	for (unsigned i = 0; i < options.workers; i++)
		start(&workers[i]);
	for (unsigned i = 0; i < options.workers; i++)
		join(&workers[i]);
	for (unsigned i = 0; i < options.workers; i++) {
		end(&workers[i]);
		failed |= workers[i].failed;
		done += workers[i].done;
		all = all * 31 + workers[i].digest;
	}
	if (options.shared)
		unlink(whole->path);
	printf("operations=%" PRIu64 " failed=%d digest=%016" PRIx64 "\n", done, failed, all);
	return failed;
}
