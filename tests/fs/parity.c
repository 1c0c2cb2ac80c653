/*
 * Calls x descriptors x arguments, a line each: what the call returned, and what the file
 * is like afterwards. Run without the library and with it, the lines are to be the same but for
 * what parity-compare lists. See usage().
 *
 * A case has a file of its own; what it is like is looked at after a syncfs, for many at once.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SENTINEL   12345 /* no errno */
#define BATCH      64    /* files that wait to be looked at */
#define NOBODY     65534
#define OLD        1000000000 /* the time of modification before the call */
#define FSIZE      30000      /* RLIMIT_FSIZE */
#define BUFFER     (1 << 20)  /* what follows it cannot be read */
#define DATA_END   5000       /* a file: data, a hole, and data again */
#define DATA_AGAIN 20000
#define SIZE       21000
#define LARGE      ((off_t)1 << 30)
#define READ_MOST  (1 << 20) /* at each end of a large file that tells no holes */
#define ELSEWHERE  100       /* a descriptor that is closed */

enum feature {
	OWN_PATH = 1 << 0, /* a file of its own, in the directory */
	GROWN = 1 << 1,    /* new, and written in small pieces: it may have a window */
	EMPTY = 1 << 2,
	SUID = 1 << 3,
	IMMUTABLE = 1 << 4, /* after it was opened */
	APPEND_ONLY = 1 << 5,
	LIMITED = 1 << 6, /* RLIMIT_FSIZE, SIGXFSZ handled */
	IGNORED = 1 << 7, /* the same, SIGXFSZ ignored */
	FULL = 1 << 8,    /* the file system is */
	NOBODYS = 1 << 9, /* may be over quota */
	UNLINKED = 1 << 10,
	TWICE = 1 << 11, /* dup */
	DIRECTORY = 1 << 12,
	NO_FILE = 1 << 13, /* made by its function */
	ON_REQUEST = 1 << 14,
};

struct kind {
	const char *name;
	int flags;
	unsigned features;
	int (*make)(const struct kind *kind);
	int argument;
};

/* Descriptors that are no file of this file system */

static const char *block_device, *swap_file;
static int other_end = -1;

static int make_closed(const struct kind *kind)
{
	return kind->argument;
}

static int make_device(const struct kind *kind)
{
	static const char *const names[] = {"/dev/null", "/dev/full"};

	return open(names[kind->argument], O_RDWR);
}

static int make_pipe(const struct kind *kind)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK))
		return -1;
	other_end = ends[!kind->argument];
	return ends[kind->argument];
}

static int make_broken_pipe(const struct kind *kind)
{
	int fd = make_pipe(kind);

	close(other_end);
	other_end = -1;
	return fd;
}

static int make_socket(const struct kind *kind)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		return -1;
	other_end = ends[1];
	if (kind->argument) {
		close(other_end);
		other_end = -1;
	}
	return ends[0];
}

static int make_terminal(const struct kind *kind)
{
	(void)kind;
	other_end = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (other_end < 0 || unlockpt(other_end))
		return -1;
	return open(ptsname(other_end), O_RDWR | O_NOCTTY | O_NONBLOCK);
}

static int make_eventfd(const struct kind *kind)
{
	(void)kind;
	return eventfd(0, EFD_NONBLOCK);
}

static int make_block_device(const struct kind *kind)
{
	return block_device ? open(block_device, kind->flags) : -1;
}

static int make_swap_file(const struct kind *kind)
{
	return swap_file ? open(swap_file, kind->flags) : -1;
}

static void fill_file(int fd);

static int make_memfd(const struct kind *kind)
{
	int fd = memfd_create("parity", MFD_ALLOW_SEALING);

	fill_file(fd);
	if (kind->argument && fcntl(fd, F_ADD_SEALS, kind->argument)) {
		close(fd);
		return -1;
	}
	return fd;
}

static const struct kind kinds[] = {
	{"rdonly", O_RDONLY, OWN_PATH, NULL, 0},
	{"wronly", O_WRONLY, OWN_PATH, NULL, 0},
	{"rdwr", O_RDWR, OWN_PATH, NULL, 0},
	{"append", O_RDWR | O_APPEND, OWN_PATH, NULL, 0},
	{"wronly-append", O_WRONLY | O_APPEND, OWN_PATH, NULL, 0},
	{"direct", O_RDWR | O_DIRECT, OWN_PATH, NULL, 0},
	{"dsync", O_RDWR | O_DSYNC, OWN_PATH, NULL, 0},
	{"empty", O_RDWR, OWN_PATH | EMPTY, NULL, 0},
	{"grown", O_RDWR, OWN_PATH | GROWN, NULL, 0},
	{"grown-wronly", O_WRONLY, OWN_PATH | GROWN, NULL, 0},
	{"grown-dup", O_RDWR, OWN_PATH | GROWN | TWICE, NULL, 0},
	{"o_path", O_PATH, OWN_PATH, NULL, 0},
	{"directory", O_RDONLY | O_DIRECTORY, OWN_PATH | DIRECTORY, NULL, 0},
	{"suid", O_RDWR, OWN_PATH | SUID, NULL, 0},
	{"unlinked", O_RDWR, OWN_PATH | UNLINKED, NULL, 0},
	{"immutable", O_RDWR, OWN_PATH | IMMUTABLE, NULL, 0},
	{"append-only", O_RDWR, OWN_PATH | APPEND_ONLY, NULL, 0},
	{"append-only+a", O_RDWR | O_APPEND, OWN_PATH | APPEND_ONLY, NULL, 0},
	{"limited", O_RDWR, OWN_PATH | LIMITED, NULL, 0},
	{"limited-append", O_RDWR | O_APPEND, OWN_PATH | LIMITED, NULL, 0},
	{"limited-ignored", O_RDWR, OWN_PATH | IGNORED, NULL, 0},
	{"full", O_RDWR, OWN_PATH | FULL | ON_REQUEST, NULL, 0},
	{"nobody", O_RDWR, OWN_PATH | NOBODYS | ON_REQUEST, NULL, 0},

	{"closed", 0, NO_FILE, make_closed, ELSEWHERE},
	{"minus-one", 0, NO_FILE, make_closed, -1},
	{"int-min", 0, NO_FILE, make_closed, INT_MIN},
	{"null", 0, NO_FILE, make_device, 0},
	{"dev-full", 0, NO_FILE, make_device, 1},
	{"pipe", 0, NO_FILE, make_pipe, 1},
	{"pipe-read-end", 0, NO_FILE, make_pipe, 0},
	{"broken-pipe", 0, NO_FILE, make_broken_pipe, 1},
	{"socket", 0, NO_FILE, make_socket, 0},
	{"broken-socket", 0, NO_FILE, make_socket, 1},
	{"terminal", 0, NO_FILE, make_terminal, 0},
	{"eventfd", 0, NO_FILE, make_eventfd, 0},
	{"block-device", O_RDWR, NO_FILE, make_block_device, 0},
	{"block-device-ro", O_RDONLY, NO_FILE, make_block_device, 0},
	{"swap-file", O_RDWR, NO_FILE, make_swap_file, 0},
	{"memfd", 0, NO_FILE, make_memfd, 0},
	{"memfd-seal", 0, NO_FILE, make_memfd, F_SEAL_SEAL},
	{"memfd-shrink", 0, NO_FILE, make_memfd, F_SEAL_SHRINK},
	{"memfd-grow", 0, NO_FILE, make_memfd, F_SEAL_GROW},
	{"memfd-write", 0, NO_FILE, make_memfd, F_SEAL_WRITE},
	{"memfd-future", 0, NO_FILE, make_memfd, F_SEAL_FUTURE_WRITE},
	{"memfd-all", 0, NO_FILE, make_memfd, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE},
};

/* Arguments: an offset and a length, where `largest` and LLONG_MAX may be what they count from */

enum from { ZERO, LARGEST, MOST, LEAST };

static const struct argument {
	const char *name;
	enum from offset_from;
	off_t offset;
	enum from length_from;
	off_t length;
} arguments[] = {
	{"0,0", ZERO, 0, ZERO, 0},
	{"0,1", ZERO, 0, ZERO, 1},
	{"0,4096", ZERO, 0, ZERO, 4096},
	{"0,21000", ZERO, 0, ZERO, SIZE},
	{"4096,4096", ZERO, 4096, ZERO, 4096},
	{"5000,300", ZERO, 5000, ZERO, 300},
	{"8192,8192", ZERO, 8192, ZERO, 8192},
	{"20999,1", ZERO, SIZE - 1, ZERO, 1},
	{"21000,1", ZERO, SIZE, ZERO, 1},
	{"21000,70000", ZERO, SIZE, ZERO, 70000},
	{"29999,1", ZERO, FSIZE - 1, ZERO, 1},
	{"30000,1", ZERO, FSIZE, ZERO, 1},
	{"40000,1", ZERO, 40000, ZERO, 1},
	{"65536,4096", ZERO, 65536, ZERO, 4096},
	{"0,300000", ZERO, 0, ZERO, 300000},
	{"0,1048576", ZERO, 0, ZERO, 1048576},
	{"-1,1", ZERO, -1, ZERO, 1},
	{"0,-1", ZERO, 0, ZERO, -1},
	{"-1,-1", ZERO, -1, ZERO, -1},
	{"-1,0", ZERO, -1, ZERO, 0},
	{"8192,-4096", ZERO, 8192, ZERO, -4096},
	{"LARGEST-8192,4096", LARGEST, -8192, ZERO, 4096},
	{"LARGEST-4096,4096", LARGEST, -4096, ZERO, 4096},
	{"LARGEST-4096,4097", LARGEST, -4096, ZERO, 4097},
	{"LARGEST-1,1", LARGEST, -1, ZERO, 1},
	{"LARGEST,1", LARGEST, 0, ZERO, 1},
	{"0,MOST", ZERO, 0, MOST, 0},
	{"1,MOST", ZERO, 1, MOST, 0},
	{"4096,MOST-4096", ZERO, 4096, MOST, -4096},
	{"MOST,0", MOST, 0, ZERO, 0},
	{"MOST,1", MOST, 0, ZERO, 1},
	{"MOST-1,1", MOST, -1, ZERO, 1},
	{"MOST-4096,4095", MOST, -4096, ZERO, 4095},
	{"MOST,MOST", MOST, 0, MOST, 0},
	{"LEAST,1", LEAST, 0, ZERO, 1},
	{"1,LEAST", ZERO, 1, LEAST, 0},
};

static off_t largest;

static off_t value_of(enum from from, off_t number)
{
	static const off_t most = LLONG_MAX, least = LLONG_MIN;

	return from == ZERO ? number : (from == LARGEST ? largest : from == MOST ? most : least) + number;
}

/* Calls */

static char *buffer;
static int source_fd; /* to copy from */

struct range {
	off_t offset, length;
};

enum answers { BY_ERRNO, BY_RESULT };

typedef ssize_t call_function(int fd, const char *path, struct range r, int argument);

static ssize_t do_posix_fallocate(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	return argument ? posix_fallocate64(fd, r.offset, r.length) : posix_fallocate(fd, r.offset, r.length);
}

static ssize_t do_fallocate(int fd, const char *path, struct range r, int mode)
{
	(void)path;
	return fallocate(fd, mode, r.offset, r.length);
}

static ssize_t do_fallocate64(int fd, const char *path, struct range r, int mode)
{
	(void)path;
	return fallocate64(fd, mode, r.offset, r.length);
}

static ssize_t do_ftruncate(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	return argument ? ftruncate64(fd, r.offset) : ftruncate(fd, r.offset);
}

static ssize_t do_truncate(int fd, const char *path, struct range r, int argument)
{
	(void)fd;
	return argument ? truncate64(path, r.offset) : truncate(path, r.offset);
}

static ssize_t do_write(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	return write(fd, argument ? NULL : buffer, (size_t)r.length);
}

static ssize_t do_pwrite(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	return argument ? pwrite64(fd, buffer, (size_t)r.length, r.offset)
			: pwrite(fd, buffer, (size_t)r.length, r.offset);
}

static ssize_t do_seek_write(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	(void)argument;
	return lseek(fd, r.offset, SEEK_SET) < 0 ? -1 : write(fd, buffer, (size_t)r.length);
}

/* As the buffer is split, each half can be read. */
static const struct iovec *vector(off_t length)
{
	static struct iovec iov[3];
	size_t half = length > 0 ? (size_t)length / 2 : 0;

	iov[0] = (struct iovec){buffer, half};
	iov[1] = (struct iovec){buffer, (size_t)length - half};
	return iov;
}

static ssize_t do_writev(int fd, const char *path, struct range r, int count)
{
	(void)path;
	return writev(fd, count == INT_MAX ? NULL : vector(r.length), count == INT_MAX ? 1 : count);
}

static ssize_t do_pwritev(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	return argument ? pwritev64(fd, vector(r.length), 2, r.offset) : pwritev(fd, vector(r.length), 2, r.offset);
}

static ssize_t do_pwritev2(int fd, const char *path, struct range r, int flags)
{
	(void)path;
	return pwritev2(fd, vector(r.length), 2, r.offset, flags);
}

static ssize_t do_dup_write(int fd, const char *path, struct range r, int argument)
{
	int copy = argument ? dup2(fd, ELSEWHERE + 1) : dup(fd), error;
	ssize_t result;

	(void)path;
	if (copy < 0)
		return -1;
	result = write(copy, buffer, (size_t)r.length);
	error = errno;
	if (close(copy))
		return -2;
	errno = error;
	return result;
}

static ssize_t do_append(int fd, const char *path, struct range r, int argument)
{
	int flags = fcntl(fd, F_GETFL);

	(void)path;
	(void)argument;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_APPEND))
		return -1;
	return write(fd, buffer, (size_t)r.length);
}

static ssize_t do_sync(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	(void)r;
	return argument ? fsync(fd) : fdatasync(fd);
}

static ssize_t do_close(int fd, const char *path, struct range r, int times)
{
	int result = 0;

	(void)path;
	(void)r;
	while (times--)
		result = close(fd);
	return result;
}

static ssize_t do_close_range(int fd, const char *path, struct range r, int argument)
{
	(void)path;
	(void)r;
	(void)argument;
	return close_range((unsigned)fd, (unsigned)fd, 0);
}

static ssize_t do_copy_file_range(int fd, const char *path, struct range r, int argument)
{
	off64_t from = 0, to = r.offset;

	(void)path;
	return copy_file_range(source_fd, &from, fd, &to, (size_t)r.length, (unsigned)argument);
}

static ssize_t do_sendfile(int fd, const char *path, struct range r, int argument)
{
	off_t from = r.offset;

	(void)path;
	(void)argument;
	return sendfile(fd, source_fd, &from, (size_t)r.length);
}

static ssize_t do_splice(int fd, const char *path, struct range r, int argument)
{
	off64_t to = r.offset;
	int ends[2], error;
	ssize_t result;

	(void)path;
	if (pipe2(ends, O_NONBLOCK) || write(ends[1], buffer, 4096) != 4096)
		return -2;
	errno = SENTINEL;
	result = splice(ends[0], NULL, fd, &to, (size_t)r.length, (unsigned)argument);
	error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return result;
}

enum takes { RANGE, OFFSET, LENGTH, NOTHING };

static const struct call {
	const char *name;
	call_function *function;
	int argument;
	enum takes takes;
	enum answers answers;
} calls[] = {
	{"posix_fallocate", do_posix_fallocate, 0, RANGE, BY_RESULT},
	{"posix_fallocate64", do_posix_fallocate, 1, RANGE, BY_RESULT},
	{"fallocate", do_fallocate, 0, RANGE, BY_ERRNO},
	{"fallocate64", do_fallocate64, 0, RANGE, BY_ERRNO},
	{"fallocate:keep", do_fallocate, FALLOC_FL_KEEP_SIZE, RANGE, BY_ERRNO},
	{"fallocate64:keep", do_fallocate64, FALLOC_FL_KEEP_SIZE, RANGE, BY_ERRNO},
	{"fallocate:punch", do_fallocate, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RANGE, BY_ERRNO},
	{"fallocate:punch-alone", do_fallocate, FALLOC_FL_PUNCH_HOLE, RANGE, BY_ERRNO},
	{"fallocate:zero", do_fallocate, FALLOC_FL_ZERO_RANGE, RANGE, BY_ERRNO},
	{"fallocate:zero-keep", do_fallocate, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, RANGE, BY_ERRNO},
	{"fallocate:collapse", do_fallocate, FALLOC_FL_COLLAPSE_RANGE, RANGE, BY_ERRNO},
	{"fallocate:insert", do_fallocate, FALLOC_FL_INSERT_RANGE, RANGE, BY_ERRNO},
	{"fallocate:unshare", do_fallocate, FALLOC_FL_UNSHARE_RANGE, RANGE, BY_ERRNO},
	{"fallocate:invalid", do_fallocate, 0x4000, RANGE, BY_ERRNO},
	{"fallocate:all", do_fallocate, -1, RANGE, BY_ERRNO},
	{"ftruncate", do_ftruncate, 0, OFFSET, BY_ERRNO},
	{"ftruncate64", do_ftruncate, 1, OFFSET, BY_ERRNO},
	{"truncate", do_truncate, 0, OFFSET, BY_ERRNO},
	{"truncate64", do_truncate, 1, OFFSET, BY_ERRNO},
	{"write", do_write, 0, LENGTH, BY_ERRNO},
	{"write:null", do_write, 1, LENGTH, BY_ERRNO},
	{"pwrite", do_pwrite, 0, RANGE, BY_ERRNO},
	{"pwrite64", do_pwrite, 1, RANGE, BY_ERRNO},
	{"writev", do_writev, 2, LENGTH, BY_ERRNO},
	{"writev:none", do_writev, 0, NOTHING, BY_ERRNO},
	{"writev:negative", do_writev, -1, NOTHING, BY_ERRNO},
	{"writev:many", do_writev, IOV_MAX + 1, NOTHING, BY_ERRNO},
	{"writev:null", do_writev, INT_MAX, NOTHING, BY_ERRNO},
	{"pwritev", do_pwritev, 0, RANGE, BY_ERRNO},
	{"pwritev64", do_pwritev, 1, RANGE, BY_ERRNO},
	{"pwritev2", do_pwritev2, 0, RANGE, BY_ERRNO},
	{"pwritev2:append", do_pwritev2, RWF_APPEND, RANGE, BY_ERRNO},
	{"pwritev2:dsync", do_pwritev2, RWF_DSYNC, RANGE, BY_ERRNO},
	{"pwritev2:invalid", do_pwritev2, 0x40000000, RANGE, BY_ERRNO},
	{"lseek+write", do_seek_write, 0, RANGE, BY_ERRNO},
	{"dup+write", do_dup_write, 0, LENGTH, BY_ERRNO},
	{"dup2+write", do_dup_write, 1, LENGTH, BY_ERRNO},
	{"O_APPEND+write", do_append, 0, LENGTH, BY_ERRNO},
	{"copy_file_range", do_copy_file_range, 0, RANGE, BY_ERRNO},
	{"copy_file_range:invalid", do_copy_file_range, 0x4000, NOTHING, BY_ERRNO},
	{"sendfile", do_sendfile, 0, RANGE, BY_ERRNO},
	{"splice", do_splice, 0, RANGE, BY_ERRNO},
	{"splice:invalid", do_splice, 0x4000, NOTHING, BY_ERRNO},
	{"fsync", do_sync, 1, NOTHING, BY_ERRNO},
	{"fdatasync", do_sync, 0, NOTHING, BY_ERRNO},
	{"close", do_close, 1, NOTHING, BY_ERRNO},
	{"close-twice", do_close, 2, NOTHING, BY_ERRNO},
	{"close_range", do_close_range, 0, NOTHING, BY_ERRNO},
};

/* A case */

static struct waiting {
	char path[64], text[512];
} waiting[BATCH];
static size_t waiting_count;
static unsigned case_number;
static int directory_fd;

static volatile sig_atomic_t pipe_signals, size_signals;

static void count_signal(int signal)
{
	if (signal == SIGPIPE)
		pipe_signals++;
	else
		size_signals++;
}

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static const char *name_of(int error)
{
	static char number[16];
	const char *name = strerrorname_np(error);

	if (error == SENTINEL)
		return "kept";
	snprintf(number, sizeof(number), "%d", error);
	return name ? name : number;
}

static uint64_t hash_block(uint64_t hash, const unsigned char *block, size_t count, off_t at)
{
	while (count > 0 && !block[count - 1])
		count--;
	if (count == 0)
		return hash;
	hash = (hash ^ (uint64_t)at) * 1099511628211U;
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ block[i]) * 1099511628211U;
	return hash;
}

/* What is read, whether zeros are allocated or not; how many there are at the end, the size tells. */
static uint64_t hash_range(int fd, uint64_t hash, off_t from, off_t end)
{
	static unsigned char block[4096];
	ssize_t got;

	for (from -= from % 4096; from < end; from += got) {
		got = pread(fd, block, sizeof(block), from);
		if (got <= 0)
			return got < 0 ? hash + (uint64_t)errno : hash;
		hash = hash_block(hash, block, (size_t)got, from);
	}
	return hash;
}

static uint64_t hash_file(int fd, off_t size)
{
	uint64_t hash = 14695981039346656037U;
	off_t data = 0, hole;

	while ((data = lseek(fd, data, SEEK_DATA)) >= 0 && data < size) {
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			break;
		if (hole - data > 64 * READ_MOST) {
			hash = hash_range(fd, hash, data, data + READ_MOST);
			data = hole - READ_MOST;
		}
		hash = hash_range(fd, hash, data, hole);
		data = hole;
	}
	return hash;
}

/* Allocated units of 512 bytes: by FIEMAP, as what a file system needs to remember them depends on
 * where they happened to be free. */
static intmax_t blocks_of(int fd, const struct stat *status)
{
	static union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + 256 * sizeof(struct fiemap_extent)];
	} query;
	uint64_t bytes = 0, at = 0;

	do {
		memset(&query, 0, sizeof(query));
		query.map.fm_start = at;
		query.map.fm_length = FIEMAP_MAX_OFFSET;
		query.map.fm_extent_count = 256;
		if (ioctl(fd, FS_IOC_FIEMAP, &query.map))
			return status->st_blocks;
		for (unsigned i = 0; i < query.map.fm_mapped_extents; i++) {
			bytes += query.map.fm_extents[i].fe_length;
			at = query.map.fm_extents[i].fe_logical + query.map.fm_extents[i].fe_length;
		}
	} while (query.map.fm_mapped_extents == 256);
	return (intmax_t)(bytes / 512);
}

static void describe(int fd, const char *path, char *to, size_t size)
{
	struct stat status;
	int flags = 0;

	if (fstat(fd, &status)) {
		snprintf(to, size, "gone=%s", name_of(errno));
		return;
	}
	if (!S_ISREG(status.st_mode)) {
		snprintf(to, size, "mode=%o", status.st_mode);
		return;
	}
	ioctl(fd, FS_IOC_GETFLAGS, &flags);
	snprintf(to, size, "size=%jd hash=%" PRIx64 " blocks=%jd mode=%o flags=%x mtime=%s", (intmax_t)status.st_size,
		 hash_file(fd, status.st_size), blocks_of(fd, &status), status.st_mode, flags,
		 path && status.st_mtim.tv_sec != OLD ? "new" : "old");
}

static void look_at_all(void)
{
	char after[256];

	if (!waiting_count)
		return;
	syncfs(directory_fd);
	for (size_t i = 0; i < waiting_count; i++) {
		struct waiting *w = &waiting[i];
		int fd = -1, none = 0;

		if (*w->path) {
			fd = open(w->path, O_RDONLY);
			describe(fd, w->path, after, sizeof(after));
			ioctl(fd, FS_IOC_SETFLAGS, &none);
			close(fd);
			if (unlink(w->path) && rmdir(w->path))
				die(w->path);
		}
		printf("%s%s%s\n", w->text, *w->path ? " " : "", *w->path ? after : "");
	}
	waiting_count = 0;
}

static void write_all(int fd, size_t count, off_t at)
{
	if (pwrite(fd, buffer, count, at) != (ssize_t)count)
		die("write");
}

static void fill_file(int fd)
{
	write_all(fd, DATA_END, 0);
	write_all(fd, SIZE - DATA_AGAIN, DATA_AGAIN);
}

/* 280 KiB, and two bytes; a window, where there are any, is larger. */
static void grow_file(int fd)
{
	for (int i = 0; i < 70; i++)
		if (write(fd, buffer, 4096) != 4096)
			die("write");
	if (write(fd, buffer, 2) != 2)
		die("write");
}

static void set_flag(int fd, int flag)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0)
		flags |= flag;
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags))
		die("FS_IOC_SETFLAGS");
}

/* Fill what is left of the file system. Filling it to the last byte where a case has its own
 * few blocks is quick, as the filler stays. */
static void fill_file_system(const char *directory)
{
	static int filler = -1;
	static off_t end;
	char path[64];
	size_t piece = BUFFER;

	snprintf(path, sizeof(path), "%s/filler", directory);
	if (filler < 0)
		filler = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	while (piece) {
		ssize_t wrote = pwrite(filler, buffer, piece, end);

		if (wrote > 0)
			end += wrote;
		else
			piece /= 2;
	}
	fsync(filler);
}

static int open_file(const struct kind *kind, const char *directory, const char *path)
{
	struct timespec times[2] = {{OLD, 0}, {OLD, 0}};
	int fd;

	if (kind->features & DIRECTORY) {
		if (mkdir(path, 0700))
			die(path);
		return open(path, kind->flags);
	}
	fd = open(path, (kind->features & GROWN ? kind->flags : O_RDWR) | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		die(path);
	if (kind->features & GROWN) {
		grow_file(fd);
	} else {
		if (!(kind->features & EMPTY))
			fill_file(fd);
		close(fd);
		fd = open(path, kind->flags);
	}
	if (kind->features & SUID && chmod(path, 06777))
		die("chmod");
	if (kind->features & NOBODYS && chown(path, NOBODY, NOBODY))
		die("chown");
	if (kind->features & FULL)
		fill_file_system(directory);
	if (kind->features & IMMUTABLE)
		set_flag(fd, FS_IMMUTABLE_FL);
	else if (kind->features & APPEND_ONLY)
		set_flag(fd, FS_APPEND_FL);
	else if (!(kind->features & FULL))
		utimensat(AT_FDCWD, path, times, 0);
	if (kind->features & TWICE)
		dup2(fd, ELSEWHERE + 2);
	if (!(kind->features & GROWN))
		lseek(fd, 7, SEEK_SET);
	return fd;
}

static void limit_size(rlim_t most)
{
	struct rlimit limit = {most, RLIM_INFINITY};

	if (setrlimit(RLIMIT_FSIZE, &limit))
		die("setrlimit");
}

static void become(uid_t uid)
{
	if (seteuid(0) || setegid(uid) || seteuid(uid))
		die("seteuid");
}

static void enter_kind(const struct kind *kind)
{
	if (kind->features & (LIMITED | IGNORED))
		limit_size(FSIZE);
	if (kind->features & IGNORED)
		signal(SIGXFSZ, SIG_IGN);
	if (kind->features & (SUID | NOBODYS) && geteuid() == 0)
		become(NOBODY);
}

static void leave_kind(const struct kind *kind)
{
	if (kind->features & (SUID | NOBODYS) && getuid() == 0)
		become(0);
	if (kind->features & (LIMITED | IGNORED))
		limit_size(RLIM_INFINITY);
	signal(SIGXFSZ, count_signal);
}

static void run(const char *directory, const struct kind *kind, const struct call *call, const struct argument *a)
{
	struct range r = {value_of(a->offset_from, a->offset), value_of(a->length_from, a->length)};
	struct waiting *w = &waiting[waiting_count++];
	char path[64], now[256] = "";
	struct stat status;
	ssize_t result;
	off_t position;
	int fd, error;

	pipe_signals = size_signals = 0;
	*w->path = '\0';
	if (kind->features & OWN_PATH) {
		snprintf(w->path, sizeof(w->path), "%s/%u", directory, case_number++);
		snprintf(path, sizeof(path), "%s", w->path);
		fd = open_file(kind, directory, path);
	} else {
		fd = kind->make(kind);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (kind->features & UNLINKED) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		unlink(w->path);
		*w->path = '\0';
	}
	enter_kind(kind);
	errno = SENTINEL;
	result = call->function(fd, path, r, call->argument);
	error = errno;
	leave_kind(kind);
	if (kind->make == make_terminal && result > 4096) /* as much as there happened to be room for */
		result = 4096;
	position = lseek(fd, 0, SEEK_CUR);
	if (fstat(fd, &status))
		status.st_size = -1;
	if (!*w->path && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		if (kind->features & UNLINKED)
			syncfs(directory_fd);
		describe(fd, NULL, now, sizeof(now));
	}
	snprintf(w->text, sizeof(w->text), "%s %s %s | ret=%s errno=%s sigpipe=%d sigxfsz=%d pos=%jd fl=%x now=%jd %s",
		 kind->name, call->name, call->takes == NOTHING ? "-" : a->name,
		 call->answers == BY_RESULT ? (result ? name_of((int)result) : "0") : "", name_of(error), pipe_signals,
		 size_signals, (intmax_t)position, fcntl(fd, F_GETFL), (intmax_t)status.st_size, now);
	if (call->answers == BY_ERRNO) {
		char text[sizeof(w->text)], *value = strstr(w->text, "ret=") + 4;

		snprintf(text, sizeof(text), "%s", value);
		snprintf(value, (size_t)(w->text + sizeof(w->text) - value), "%zd%s", result, text);
	}
	close(fd);
	if (kind->features & TWICE)
		close(ELSEWHERE + 2);
	if (other_end >= 0)
		close(other_end);
	other_end = -1;
	if (waiting_count == BATCH || r.offset >= LARGE || r.length >= LARGE || kind->features & FULL)
		look_at_all();
}

/* Which cases */

static const char *only_kind, *only_call;
static int files = 1, others = 1, every = 1;
static int has_fallocate, tells_size;

static int changes_with_length(const struct call *call, const struct argument *a)
{
	/* Of arguments that differ only in what the call does not take, the first. */
	for (const struct argument *b = arguments; b < a; b++)
		if ((call->takes == OFFSET && a->offset_from == b->offset_from && a->offset == b->offset) ||
		    (call->takes == LENGTH && a->length_from == b->length_from && a->length == b->length) ||
		    call->takes == NOTHING)
			return 0;
	return 1;
}

/* Would the kernel take all memory for a memfd; libc, or the library on an O_APPEND descriptor of
 * a file system that does not say how large it is, write for ever? */
static int endless(const struct kind *kind, const struct call *call, const struct argument *a)
{
	off_t offset = value_of(a->offset_from, a->offset), length = value_of(a->length_from, a->length);

	if (kind->make == make_swap_file)
		return offset > LARGE; /* it would stay as large for what comes next */
	if (kind->features & NO_FILE)
		return kind->make == make_memfd && length > LARGE && strstr(call->name, "fallocate");
	if (call->answers != BY_RESULT || has_fallocate || offset < 0 || offset > LLONG_MAX - length)
		return 0;
	return length > LARGE || (kind->flags & O_APPEND && !tells_size && offset > LARGE);
}

/* Whatever takes all memory all the same, it is this program that is to be killed for it. */
static void die_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd < 0 || write(fd, "1000", 4) != 4)
		die("/proc/self/oom_score_adj");
	close(fd);
}

static int is_picked(const struct kind *kind, const struct call *call, const struct argument *a)
{
	if (!changes_with_length(call, a) || endless(kind, call, a))
		return 0;
	return (a - arguments + 7 * (call - calls) + 3 * (kind - kinds)) % every == 0 || call->takes == NOTHING;
}

/* Can a descriptor of this kind be had here? */
static int is_possible(const struct kind *kind, const char *directory)
{
	char path[64];
	int fd, flag = kind->features & IMMUTABLE ? FS_IMMUTABLE_FL : FS_APPEND_FL, flags = 0, possible = 1, none = 0;

	if (kind->features & NO_FILE) {
		fd = kind->make(kind);
		possible = fd >= 0 || kind->make == make_closed;
		if (kind->make != make_closed)
			close(fd);
		if (other_end >= 0)
			close(other_end);
		other_end = -1;
		return possible;
	}
	snprintf(path, sizeof(path), "%s/possible", directory);
	close(open(path, O_RDWR | O_CREAT, 0600));
	fd = open(path, kind->features & DIRECTORY ? O_RDONLY : kind->flags);
	if (fd >= 0 && kind->features & (IMMUTABLE | APPEND_ONLY)) {
		possible =
			ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && !(flags |= flag, ioctl(fd, FS_IOC_SETFLAGS, &flags));
		ioctl(fd, FS_IOC_SETFLAGS, &none);
	}
	if (kind->features & (SUID | NOBODYS | IMMUTABLE | APPEND_ONLY) && geteuid() != 0)
		possible = 0;
	if (kind->features & SUID && (fchmod(fd, 06777) || chown(path, 1, 1)))
		possible = 0; /* vfat has neither */
	if (fd < 0)
		possible = 0;
	close(fd);
	unlink(path);
	return possible;
}

/* lseek(2) goes as far as the largest file does. */
static void probe(const char *directory)
{
	off_t low = 0, high = LLONG_MAX;
	struct statfs fs;
	char path[64];
	int fd;

	directory_fd = open(directory, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/probe", directory);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		die(path);
	while (low < high) {
		off_t middle = low + (high - low) / 2 + (high - low) % 2;

		if (lseek(fd, middle, SEEK_SET) == middle)
			low = middle;
		else
			high = middle - 1;
	}
	largest = low;
	has_fallocate = syscall(SYS_fallocate, fd, 0, (off_t)0, (off_t)4096) == 0;
	tells_size = fstatfs(fd, &fs) == 0 && fs.f_blocks > 0;
	close(fd);
	unlink(path);
	snprintf(path, sizeof(path), "%s/source", directory);
	source_fd = open(path, O_RDWR | O_CREAT, 0600);
	fill_file(source_fd);
	printf("# largest=%jd\n", (intmax_t)largest);
}

static void make_buffer(void)
{
	buffer = mmap(NULL, BUFFER + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED || mprotect(buffer + BUFFER, 4096, PROT_NONE))
		die("mmap");
	for (size_t i = 0; i < BUFFER; i++)
		buffer[i] = (char)(1 + i % 251);
}

static void run_kind(const char *directory, const struct kind *kind)
{
	if (!is_possible(kind, directory)) {
		printf("# %s: none here\n", kind->name);
		return;
	}
	for (size_t c = 0; c < sizeof(calls) / sizeof(*calls); c++)
		for (size_t a = 0; a < sizeof(arguments) / sizeof(*arguments); a++)
			if ((!only_call || !strcmp(only_call, calls[c].name)) &&
			    is_picked(kind, &calls[c], &arguments[a])) {
				alarm(60);
				run(directory, kind, &calls[c], &arguments[a]);
			}
	look_at_all();
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: parity [OPTION...] DIRECTORY\n"
	      "  -f          only files of DIRECTORY; -o: only other descriptors\n"
	      "  -k KIND     only this kind of descriptor (the only way to get full, nobody)\n"
	      "  -c CALL     only this call\n"
	      "  -e N        every Nth argument only\n"
	      "  -b DEVICE   a block device that may be overwritten\n"
	      "  -s FILE     a swap file in use\n",
	      stderr);
	exit(2);
}

static const char *parse(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "fok:c:e:b:s:")) != -1)
		switch (option) {
		case 'f':
			others = 0;
			break;
		case 'o':
			files = 0;
			break;
		case 'k':
			only_kind = optarg;
			break;
		case 'c':
			only_call = optarg;
			break;
		case 'e':
			every = atoi(optarg);
			break;
		case 'b':
			block_device = optarg;
			break;
		case 's':
			swap_file = optarg;
			break;
		default:
			usage();
		}
	if (optind != argc - 1 || every < 1)
		usage();
	return argv[optind];
}

int main(int argc, char **argv)
{
	const char *directory = parse(argc, argv);

	umask(0);
	die_first();
	signal(SIGPIPE, count_signal);
	signal(SIGXFSZ, count_signal);
	make_buffer();
	probe(directory);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		const struct kind *kind = &kinds[k];

		if (only_kind ? !strcmp(only_kind, kind->name)
			      : !(kind->features & ON_REQUEST) && (kind->features & OWN_PATH ? files : others))
			run_kind(directory, kind);
	}
	return 0;
}
