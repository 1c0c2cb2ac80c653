/* The order, and why nothing is lost:
 *
 * look      If what is missing certainly exceeds what is free, nothing is touched.
 * claim     One zero byte at the end of the range gives the file its size, so that
 *           appenders go behind it, as after the kernel's own fallocate. It is the
 *           only byte we write; glibc writes one in every block.
 * populate  MADV_POPULATE_WRITE on a shared mapping dirties the pages without
 *           changing their content, whoever writes to them meanwhile.
 * sync      Several file systems accept dirty pages they have no room for.
 *
 * Where there can be no mapping, zeros are appended: an append cannot overwrite.
 * Below EOF that leaves only glibc's way, a byte in every block of zeros. */
#include "fill.h"

#include <string.h>
#include <unistd.h>

#include "owed.h"
#include "room.h"
#include "sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef RWF_APPEND
#define RWF_APPEND 0x10 /* Linux 4.16 */
#endif
#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20 /* Linux 6.9 */
#endif

/* How much is mapped at a time, and how much of that is populated in one call: a
 * longer one stalls other threads' mmap for milliseconds. */
#define WINDOW     ((off64_t)16 << 20)
#define STEP       ((off64_t)2 << 20)
#define WINDOW_MIN ((off64_t)64 << 10)
/* Write-back starts when this much is dirty (every start can cost an NFS server
 * a COMMIT), and is waited for when another such batch has been dirtied behind it. */
#define BATCH (64 << 20)
/* Where growing means writing out all before, one claim covers this much. */
#define CLAIM_STEP (64 << 20)
#define ZEROS      ((size_t)64 << 10)
#define ZERO_IOVS  64
#define SCRATCH    ((size_t)128 << 10)
/* Where fallocate is unsupported, blocks are at most this large (glibc assumes the same). */
#define BLOCK 4096

static const char zeros[ZEROS] __attribute__((aligned(BLOCK)));

struct filler {
	int fd;
	int flags; /* F_GETFL: access mode, O_APPEND, O_DIRECT */
	int syncs; /* flush before saying "reserved"; older write errors are already told */
	const struct file *file;
	enum fill_how how;
	uint64_t limit;  /* RLIMIT_FSIZE */
	off64_t page;    /* size of one */
	off64_t window;  /* bytes to map at a time; 0: there is no mapping to be had */
	off64_t started; /* write-back is started up to here */
	off64_t waited;  /* and has ended up to here */
	int truncated;   /* the file was cut below where we are: nothing is left to do */
	char *scratch;   /* SCRATCH bytes to read into, or small */
	size_t scratch_size;
	char small[BLOCK];
};

static int is_about_space(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

/* The current size, or -errno. */
static off64_t size_of(int fd)
{
	struct statx stx;
	int error = sys_statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &stx);

	return error < 0 ? error : (off64_t)stx.stx_size;
}

static off64_t round_down(off64_t offset, off64_t unit)
{
	return offset - offset % unit;
}

/* fdatasync, whose answer the kernel gives only once: what may be about the
 * program's data is owed to it. */
static int flush(struct filler *f)
{
	int error;

	do
		error = -sys_fdatasync(f->fd);
	while (error == EINTR);
	if (error == EINVAL || error == EROFS) /* the file cannot be flushed (fdatasync(2)) */
		return 0;
	if (error && !(f->syncs && is_about_space(error)))
		owed_note(f->fd, error);
	return error;
}

/* Bound what is dirty, as all up to `end` now is: start write-back of a full batch
 * and, where we flush anyway, wait for the one before. Starting does not consume
 * write errors; waiting does (mm/filemap.c, file_check_and_advance_wb_err). */
static int write_back(struct filler *f, off64_t end)
{
	off64_t behind = f->started;
	int error;

	if (end - f->started < BATCH)
		return 0;
	sys_sync_file_range(f->fd, f->started, end - f->started, SYNC_FILE_RANGE_WRITE);
	f->started = end;
	if (!f->syncs || behind == f->waited)
		return 0;
	error = -sys_sync_file_range(f->fd, f->waited, behind - f->waited, SYNC_FILE_RANGE_WAIT_BEFORE);
	f->waited = behind;
	if (error == EINTR || error == EINVAL || error == ENOSYS || error == EPERM)
		return 0;
	if (error && !is_about_space(error))
		owed_note(f->fd, error);
	return error;
}

/* Write count zeros at offset, or at EOF with RWF_APPEND in rwf. Returns bytes, or -errno. */
static ssize_t write_zeros(int fd, size_t count, off64_t offset, int rwf)
{
	struct iovec iov[ZERO_IOVS];
	int used = 0;
	ssize_t wrote;

	for (; count > 0 && used < ZERO_IOVS; used++) {
		iov[used].iov_base = (void *)zeros;
		iov[used].iov_len = count < ZEROS ? count : ZEROS;
		count -= iov[used].iov_len;
	}
	do
		wrote = sys_pwritev2(fd, iov, used, offset, rwf);
	while (wrote == -EINTR);
	return wrote;
}

/* Append count zeros although the descriptor's O_DIRECT asks for a multiple of
 * the block size: drop the flag for this one write. Other writers on the same
 * description are served through the page cache meanwhile, which is coherent. */
static ssize_t append_unaligned(struct filler *f, size_t count)
{
	ssize_t wrote;

	sys_fcntl(f->fd, F_SETFL, (void *)(long)(f->flags & ~O_DIRECT));
	wrote = write_zeros(f->fd, count, 0, RWF_APPEND);
	sys_fcntl(f->fd, F_SETFL, (void *)(long)f->flags);
	return wrote;
}

static ssize_t append_some(struct filler *f, off64_t size, off64_t count)
{
	ssize_t wrote;

	count = extent_min(count, ZERO_IOVS * (off64_t)ZEROS);
	wrote = write_zeros(f->fd, (size_t)count, 0, RWF_APPEND);
	if (wrote == -EINVAL && f->flags & O_DIRECT) {
		if (size % BLOCK == 0 && count > BLOCK)
			wrote = write_zeros(f->fd, (size_t)round_down(count, BLOCK), 0, RWF_APPEND);
		if (wrote == -EINVAL)
			wrote = append_unaligned(f, (size_t)extent_min(count, BLOCK - size % BLOCK));
	}
	return wrote;
}

/* Append zeros until the size is at least end. What others append meanwhile
 * counts as theirs, so the size may end beyond. */
static int append_zeros(struct filler *f, off64_t end)
{
	off64_t size;
	ssize_t wrote;
	int error;

	f->how = FILL_WRITTEN;
	while ((size = size_of(f->fd)) < end) {
		if (size < 0)
			return (int)-size;
		wrote = append_some(f, size, end - size);
		if (wrote <= 0)
			return wrote < 0 ? (int)-wrote : ENOSPC;
		error = f->flags & O_DIRECT ? 0 : write_back(f, size + wrote);
		if (error)
			return error;
	}
	return 0;
}

/* One zero byte at offset, which an O_APPEND descriptor would put elsewhere. */
static int write_byte(struct filler *f, off64_t offset)
{
	ssize_t wrote;

	if ((uint64_t)offset >= f->limit)
		return EFBIG;
	wrote = write_zeros(f->fd, 1, offset, f->flags & O_APPEND ? RWF_NOAPPEND : 0);
	if (wrote == -EINVAL && f->flags & O_DIRECT)
		wrote = write_zeros(f->fd, BLOCK, round_down(offset, BLOCK), 0);
	if (wrote > 0)
		return 0;
	if (wrote == -EOPNOTSUPP || wrote == -ENOSYS)
		return f->flags & O_APPEND ? EBADF : EOPNOTSUPP;
	return wrote < 0 ? (int)-wrote : ENOSPC;
}

static int claim(struct filler *f, off64_t end)
{
	off64_t size = size_of(f->fd);

	if (size < 0)
		return (int)-size;
	return size < end ? write_byte(f, end - 1) : 0;
}

/* glibc's way, for a run below EOF that is all zeros: a byte in every block. */
static int write_blocks(struct filler *f, struct extent run)
{
	int readable = (f->flags & O_ACCMODE) == O_RDWR && !(f->flags & O_DIRECT), error;
	off64_t at = run.start;
	char byte;

	f->how = FILL_WRITTEN;
	while (at < run.end) {
		off64_t next = extent_min(round_down(at, BLOCK) + BLOCK, run.end);

		/* Somebody may have been here since we looked. */
		if (!readable || (sys_pread(f->fd, &byte, 1, next - 1) == 1 && byte == 0)) {
			error = write_byte(f, next - 1);
			if (error)
				return error;
		}
		at = next;
	}
	return 0;
}

static void *map_window(struct filler *f, off64_t start, size_t length)
{
	void *map = sys_mmap(length, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, start);

	if (sys_map_failed(map))
		return NULL;
	sys_madvise(map, length, MADV_DONTFORK);
	return map;
}

/* A page fault failed; madvise says EFAULT for every reason (madvise(2)). */
static int fault_error(struct filler *f, struct extent window)
{
	off64_t size = size_of(f->fd);
	ssize_t got;
	char byte;
	int error;

	if (size < 0)
		return (int)-size;
	if (size < window.end) {
		f->truncated = 1;
		return 0;
	}
	got = sys_pread(f->fd, &byte, 1, window.start);
	if (got < 0 && got != -EINTR)
		return (int)-got;
	error = flush(f);
	if (error)
		return error;
	return room_quota_reached(f->fd) ? EDQUOT : ENOSPC;
}

/* No mapping of this size is to be had: try a smaller one, then none. Reasons
 * are many (ENODEV, EAGAIN under mlockall, ENOMEM under RLIMIT_AS, EACCES), and
 * none is the caller's concern. */
static void shrink_window(struct filler *f)
{
	f->window = f->window > WINDOW_MIN ? f->window / 2 : 0;
}

/* Dirtying a page reads it first, and a network file system's default readahead
 * asks for 128 KiB at a time, whatever the server would give: ask for the pages
 * in pieces of the transfer size, which is what st_blksize tells there. */
static void read_ahead(const struct filler *f, char *pages, size_t length)
{
	size_t piece = f->file->block_size;

	if (piece <= (128 << 10))
		return;
	for (size_t at = 0; at < length; at += piece)
		sys_madvise(pages + at, length - at < piece ? length - at : piece, MADV_WILLNEED);
}

/* Dirty these mapped pages, which end at `end` in the file. */
static int populate_pages(struct filler *f, char *pages, size_t length, off64_t end)
{
	int error;

	read_ahead(f, pages, length);
	do
		error = -sys_madvise(pages, length, MADV_POPULATE_WRITE);
	while (error == EINTR);
	if (error == EFAULT)
		return fault_error(f, (struct extent){end - (off64_t)length, end});
	if (error == EHWPOISON)
		return EIO;
	return error ? ENOMEM : 0;
}

/* Dirty the pages of run, which lies within one window. */
static int populate_window(struct filler *f, struct extent run)
{
	off64_t start = round_down(run.start, f->page), at = start, end;
	char *map = map_window(f, start, (size_t)(run.end - start));
	int error = 0;

	if (!map)
		return ENOMEM;
	for (; at < run.end && !error && !f->truncated; at = end) {
		end = extent_min(round_down(at, STEP) + STEP, run.end);
		error = populate_pages(f, map + (at - start), (size_t)(end - at), end);
	}
	sys_munmap(map, (size_t)(run.end - start));
	return error;
}

/* Dirty the pages of run, a window at a time; windows end at multiples of their
 * size, so that they do not split what goes to a server in one request. */
static int populate(struct filler *f, struct extent run)
{
	int error = 0;

	while (run.start < run.end && !f->truncated) {
		struct extent part = run;

		if (f->window == 0)
			return write_blocks(f, run);
		part.end = extent_min(run.end, round_down(run.start, f->window) + f->window);
		error = populate_window(f, part);
		if (error == ENOMEM) {
			shrink_window(f);
			continue;
		}
		if (!error)
			error = write_back(f, part.end);
		if (error)
			return error;
		run.start = part.end;
	}
	return 0;
}

static int all_zero(const char *bytes, size_t count)
{
	return count == 0 || (bytes[0] == 0 && !memcmp(bytes, bytes + 1, count - 1));
}

/* The first run of blocks in `in` that read as zero, up to where a window ends;
 * empty where there is none. A byte that is not zero proves its block allocated. */
static int next_zero_run(struct filler *f, struct extent in, struct extent *run)
{
	struct extent found = {in.end, in.end};
	off64_t at = in.start;

	while (at < in.end) {
		size_t want = (size_t)extent_min(in.end - at, (off64_t)f->scratch_size - at % (off64_t)f->scratch_size);
		size_t done = 0;
		ssize_t got = sys_pread(f->fd, f->scratch, want, at);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return (int)-got;
		if (got == 0) { /* the file was cut here */
			f->truncated = 1;
			break;
		}
		while (done < (size_t)got) {
			off64_t here = at + (off64_t)done;
			size_t block = (size_t)extent_min(BLOCK - here % BLOCK, got - (ssize_t)done);

			if (all_zero(f->scratch + done, block)) {
				if (found.start == in.end)
					found.start = here;
				found.end = here + (off64_t)block;
			} else if (found.start < in.end) {
				*run = found;
				return 0;
			}
			done += block;
		}
		at += got;
		if (found.start < in.end && at % WINDOW == 0)
			break;
	}
	*run = found;
	return 0;
}

/* What lies below EOF: only what may be missing is touched. */
static int fill_below(struct filler *f, struct extent below)
{
	int maps_holes = 1, error;
	struct extent run;

	while (below.start < below.end && !f->truncated) {
		error = maps_holes ? extent_next_hole(f->fd, below, &run) : next_zero_run(f, below, &run);
		if (error && maps_holes && (f->flags & O_ACCMODE) == O_RDWR) {
			maps_holes = 0;
			continue;
		}
		if (error)
			return maps_holes ? EBADF : error;
		error = populate(f, run);
		if (error)
			return error;
		below.start = run.end;
	}
	return 0;
}

static int populate_past(struct filler *f, struct extent past)
{
	off64_t step = f->file->traits & TRAIT_GROWS_BY_WRITING ? CLAIM_STEP : past.end - past.start;
	struct extent part = {past.start, past.start};
	int error = 0;

	while (!error && part.end < past.end && !f->truncated) {
		part.start = part.end;
		part.end = extent_min(round_down(part.start, step) + step, past.end);
		if (step == past.end - past.start)
			part.end = past.end;
		error = claim(f, part.end);
		if (!error)
			error = populate(f, part);
	}
	return error;
}

/* Is the part past EOF claimed and populated, rather than appended? */
static int appends_nothing(const struct filler *f)
{
	return f->window && !(f->flags & O_APPEND);
}

/* What lies past EOF as we found it. */
static int fill_past(struct filler *f, struct extent past)
{
	int error;

	if (appends_nothing(f))
		return populate_past(f, past);
	/* Appending goes to EOF: first bring that to where the range starts. */
	if (past.start > f->file->size && !(f->flags & O_APPEND)) {
		error = claim(f, past.start);
		if (error)
			return error;
	}
	return append_zeros(f, past.end);
}

/* Can pages of this file be dirtied through a mapping? Found out before
 * anything is claimed, since what is claimed can no longer be appended. */
static void try_mapping(struct filler *f, off64_t start)
{
	void *map;

	f->window = 0;
	if ((f->flags & O_ACCMODE) != O_RDWR || f->flags & O_DIRECT)
		return;
	/* Does the kernel know the advice? Anonymous memory tells without a file. */
	if (f->scratch == f->small || sys_madvise(f->scratch, SCRATCH, MADV_POPULATE_WRITE) < 0)
		return;
	for (f->window = WINDOW; f->window; shrink_window(f)) {
		map = map_window(f, round_down(start, f->window), (size_t)f->window);
		if (map) {
			sys_munmap(map, (size_t)f->window);
			return;
		}
	}
}

static void open_scratch(struct filler *f)
{
	f->scratch = sys_mmap(SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->scratch_size = SCRATCH;
	if (sys_map_failed(f->scratch)) {
		f->scratch = f->small;
		f->scratch_size = sizeof(f->small);
	}
}

static void close_scratch(struct filler *f)
{
	if (f->scratch != f->small)
		sys_munmap(f->scratch, SCRATCH);
}

static int wants_sync(const struct file *file)
{
	switch (file->policy.value[KEY_SYNC]) {
	case SYNC_ALWAYS:
		return 1;
	case SYNC_NEVER:
		return 0;
	default:
		return !(file->traits & TRAIT_FAULT_ALLOCATES);
	}
}

static void start(struct filler *f, int fd, const struct file *file, off64_t from)
{
	f->fd = fd;
	f->file = file;
	f->flags = sys_fcntl(fd, F_GETFL, NULL);
	f->limit = sys_file_size_limit();
	f->page = (off64_t)sysconf(_SC_PAGESIZE);
	f->syncs = 0;
	f->truncated = 0;
	f->how = FILL_POPULATED;
	f->started = f->waited = round_down(from, f->page);
}

int fill_claim(int fd, off64_t end)
{
	struct file unused = {0};
	struct filler f;

	start(&f, fd, &unused, 0);
	if ((uint64_t)end > f.limit)
		return EFBIG;
	return f.flags & O_APPEND ? append_zeros(&f, end) : claim(&f, end);
}

int fill(int fd, struct extent want, const struct file *file, enum fill_how *how)
{
	struct extent below = {want.start, extent_min(want.end, file->size)};
	struct extent past = {extent_max(want.start, file->size), want.end};
	struct extent hole;
	struct filler f;
	int error;

	start(&f, fd, file, extent_min(want.start, file->size));
	if (f.flags < 0 || (f.flags & O_ACCMODE) == O_RDONLY)
		return EBADF;
	if (extent_length(past) && (uint64_t)want.end > f.limit)
		return EFBIG;
	if (extent_length(below) && (f.flags & O_ACCMODE) == O_WRONLY && extent_next_hole(fd, below, &hole))
		return EBADF;
	error = room_for(fd, want, file);
	if (error)
		return error;
	/* Take the errors of older writes first, so that a later one about space is ours. */
	if (wants_sync(file)) {
		error = flush(&f);
		if (error)
			return error;
		f.syncs = 1;
	}
	open_scratch(&f);
	try_mapping(&f, want.start);
	/* The size first, so that appenders go behind the range from now on. */
	if (extent_length(past) && appends_nothing(&f) && !(file->traits & TRAIT_GROWS_BY_WRITING))
		error = claim(&f, want.end);
	if (!error && extent_length(below))
		error = fill_below(&f, below);
	if (!error && extent_length(past))
		error = fill_past(&f, past);
	if (!error && f.syncs)
		error = flush(&f);
	close_scratch(&f);
	*how = f.how;
	return error;
}
