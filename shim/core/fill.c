/* The order, and why nothing is lost:
 *
 * look      If what is missing certainly exceeds what is free, nothing is touched.
 * populate  Below EOF, MADV_POPULATE_WRITE on a shared mapping dirties the pages that
 *           may be holes, without changing their content, whoever writes meanwhile.
 * append    Past EOF, zeros are appended: an append cannot overwrite (RWF_APPEND
 *           takes the size under the inode's lock). Setting the size first, with
 *           one zero byte at the end of the range, and populating would keep others'
 *           appends out of it; but that byte was lost by other writers in 5 of 275
 *           rounds of tests/fs/stress.c, as the write may wait milliseconds for the
 *           lock, and is slower on NFS, where every page is read before it is dirtied.
 * sync      Several file systems accept dirty pages they have no room for.
 *
 * Where there can be no mapping, glibc's way is left below EOF: a byte in every
 * block that is, looked at just before, a hole or zeros. That byte, and one where a
 * range begins past EOF, are the only ones that could hit another writer's. */
#include "fill.h"

#include <string.h>
#include <unistd.h>

#include "delay.h"
#include "owed.h"
#include "room.h"
#include "sys.h"
#include "layout.h"

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
/* Bytes appended at a time: more and more while nobody else extends the file. */
#define PIECE_LEAST ((off64_t)64 << 10)
#define PIECE_MOST  (ZERO_IOVS * (off64_t)ZEROS)
/* Milliseconds to wait, in all, for others to stop extending it; and after how many
 * without a change they have. */
#define PATIENCE  100
#define QUIET     20
#define ZEROS     ((size_t)64 << 10)
#define ZERO_IOVS 64
/* Large enough for a network file system to be read in requests of its own size. */
#define SCRATCH ((size_t)1 << 20)
/* Blocks are taken to be at most this large (glibc assumes the same). */
#define BLOCK_MOST 4096

TABLE_OF_CONSTANTS static const char zeros[ZEROS] __attribute__((aligned(BLOCK_MOST)));

struct filler {
	int fd;
	int flags; /* F_GETFL: access mode, O_APPEND, O_DIRECT */
	int syncs; /* flush before saying "reserved"; older write errors are already told */
	const struct file *file;
	enum answer answer;
	uint64_t limit;  /* RLIMIT_FSIZE */
	off64_t page;    /* size of one */
	off64_t block;   /* of the file system, BLOCK_MOST at most: what a byte written allocates */
	off64_t window;  /* bytes to map at a time; 0: there is no mapping to be had */
	off64_t started; /* write-back is started up to here */
	off64_t waited;  /* and has ended up to here */
	off64_t eof;     /* where it is, as long as only we extend the file */
	int disturbed;   /* others extended the file while we appended, maybe leaving holes */
	int truncated;   /* the file was cut below where we are: nothing is left to do */
	char *scratch;   /* SCRATCH bytes to read into, or small */
	size_t scratch_size;
	char small[BLOCK_MOST];
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

/* Where the unit that offset lies in ends; the largest offset where that is beyond it. */
static off64_t unit_end(off64_t offset, off64_t unit)
{
	offset = round_down(offset, unit);
	return offset > INT64_MAX - unit ? INT64_MAX : offset + unit;
}

/* The kernel tells a write error only once: what may be about the program's data,
 * rather than the space we asked for, is owed to it. Returns error. */
static int owe(const struct filler *f, int error)
{
	if (error && !(f->syncs && is_about_space(error)))
		owed_note(f->fd, error);
	return error;
}

static int flush(struct filler *f)
{
	unsigned interrupted = 0;
	int error;

	do
		error = -sys_fdatasync(f->fd);
	while (sys_interrupted(-error, &interrupted));
	if (error == EINVAL || error == EROFS) /* the file cannot be flushed (fdatasync(2)) */
		return 0;
	/* A sandbox forbids it, again and again; an error of the file is told once. */
	if (error == ENOSYS || (error == EPERM && sys_fdatasync(f->fd) == -EPERM))
		return error;
	return owe(f, error);
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
	return owe(f, error);
}

/* Write count zeros at offset, or at EOF with RWF_APPEND in rwf. Returns bytes, or -errno. */
static ssize_t write_zeros(int fd, size_t count, off64_t offset, int rwf)
{
	struct iovec iov[ZERO_IOVS];
	unsigned interrupted = 0;
	int used = 0;
	ssize_t wrote;

	for (; count > 0 && used < ZERO_IOVS; used++) {
		iov[used].iov_base = (void *)zeros;
		iov[used].iov_len = count < ZEROS ? count : ZEROS;
		count -= iov[used].iov_len;
	}
	do
		wrote = sys_pwritev2(fd, iov, used, offset, rwf);
	while (sys_interrupted(wrote, &interrupted));
	return wrote;
}

/* Write count zeros although the descriptor's O_DIRECT asks for a multiple of the
 * block size: drop the flag for this one write. Other writers on the same
 * description are served through the page cache meanwhile, which is coherent. */
static ssize_t write_unaligned(struct filler *f, size_t count, off64_t offset, int rwf)
{
	ssize_t wrote;

	sys_fcntl(f->fd, F_SETFL, (void *)(long)(f->flags & ~O_DIRECT));
	wrote = write_zeros(f->fd, count, offset, rwf);
	sys_fcntl(f->fd, F_SETFL, (void *)(long)f->flags);
	return wrote;
}

static ssize_t append_some(struct filler *f, off64_t size, off64_t count)
{
	ssize_t wrote;

	DELAY();
	wrote = write_zeros(f->fd, (size_t)count, 0, RWF_APPEND);
	if (wrote == -EINVAL && f->flags & O_DIRECT) {
		if (size % BLOCK_MOST == 0 && count > BLOCK_MOST)
			wrote = write_zeros(f->fd, (size_t)round_down(count, BLOCK_MOST), 0, RWF_APPEND);
		if (wrote == -EINVAL)
			wrote = write_unaligned(f, (size_t)extent_min(count, BLOCK_MOST - size % BLOCK_MOST), 0,
						RWF_APPEND);
	}
	return wrote;
}

/* One zero byte at offset, which an O_APPEND descriptor would put elsewhere. */
static int write_byte(struct filler *f, off64_t offset)
{
	int rwf = f->flags & O_APPEND ? RWF_NOAPPEND : 0;
	ssize_t wrote;

	if ((uint64_t)offset >= f->limit)
		return EFBIG;
	wrote = write_zeros(f->fd, 1, offset, rwf);
	if (wrote == -EINVAL && f->flags & O_DIRECT)
		wrote = write_unaligned(f, 1, offset, rwf);
	if (wrote > 0)
		return 0;
	if (wrote == -EOPNOTSUPP)
		return f->flags & O_APPEND ? EBADF : EOPNOTSUPP;
	return wrote < 0 ? (int)-wrote : ENOSPC;
}

static int claim(struct filler *f, off64_t end)
{
	off64_t size = size_of(f->fd);

	if (size < 0)
		return (int)-size;
	DELAY();
	return size < end ? write_byte(f, end - 1) : 0;
}

/* Is this block still to be allocated? Somebody may have been here since we looked. Returns
 * 1, 0 or -errno. */
static int is_missing(struct filler *f, struct extent block)
{
	unsigned interrupted = 0;
	struct extent hole;
	ssize_t got;
	char byte;

	if (extent_next_hole(f->fd, block, &hole) == 0)
		return hole.start == block.start;
	if ((f->flags & O_ACCMODE) != O_RDWR || f->flags & O_DIRECT)
		return 1;
	do
		got = sys_pread(f->fd, &byte, 1, block.end - 1);
	while (sys_interrupted(got, &interrupted));
	return got < 0 ? (int)got : got == 1 && byte == 0;
}

/* glibc's way, for a run below EOF that is all zeros: a byte in every block. */
static int write_blocks(struct filler *f, struct extent run)
{
	int error = 0;

	while (!error && run.start < run.end) {
		struct extent block = {run.start, extent_min(unit_end(run.start, f->block), run.end)};
		off64_t size = size_of(f->fd);
		int missing;

		if (size < 0)
			return (int)-size;
		if (size < block.end) {
			f->truncated = 1;
			return 0;
		}
		missing = is_missing(f, block);
		DELAY();
		if (missing)
			error = missing < 0 ? -missing : write_byte(f, block.end - 1);
		if (!error)
			f->answer = ANSWER_WRITTEN;
		run.start = block.end;
	}
	return error;
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
	DELAY();
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

/* Does madvise do what it is asked to? qemu's user mode, by which programs are run on other
 * processors, says 0 to any advice, and follows none. */
static int is_advice_taken(char *pages, size_t length)
{
	return sys_madvise(pages, length, -1) != 0;
}

/* Dirty these mapped pages, which end at `end` in the file. */
static int populate_pages(struct filler *f, char *pages, size_t length, off64_t end)
{
	unsigned interrupted = 0;
	int error;

	DELAY();
	if (f->answer != ANSWER_POPULATED && !is_advice_taken(pages, length))
		return ENOMEM;
	read_ahead(f, pages, length);
	if (f->answer == ANSWER_REFUSED)
		f->answer = ANSWER_POPULATED;
	do
		error = -sys_madvise(pages, length, MADV_POPULATE_WRITE);
	while (sys_interrupted(-error, &interrupted));
	if (error == EINTR)
		return EINTR;
	if (error == EFAULT)
		return fault_error(f, (struct extent){end - (off64_t)length, end});
	if (error == EHWPOISON)
		return EIO;
	return error ? ENOMEM : 0;
}

/* When EOF lies in the page that end - 1 is in, extend the file to end by writing
 * that byte onto itself, through a mapping: the kernel reads it under the inode's
 * lock, so that nothing is overwritten and the size is exact. Should the file have
 * been cut, the mapping has no page there, and the write fails with EFAULT. The
 * page's other blocks are allocated too. Returns 0, a positive errno, or NOT_EXTENDED. */
#define NOT_EXTENDED (-1)
static int extend_within_page(struct filler *f, off64_t size, off64_t end)
{
	off64_t page = round_down(end - 1, f->page);
	int error = NOT_EXTENDED;
	char *map;

	if (size <= page || (f->flags & O_ACCMODE) != O_RDWR || f->flags & (O_APPEND | O_DIRECT))
		return NOT_EXTENDED;
	map = map_window(f, page, (size_t)f->page);
	if (!map)
		return NOT_EXTENDED;
	DELAY();
	if (sys_pwrite(f->fd, map + (end - 1 - page), 1, end - 1) == 1)
		error = populate_pages(f, map, (size_t)(end - page), end);
	sys_munmap(map, (size_t)f->page);
	if (error == ENOMEM) /* before Linux 5.14, for one; the last block is there */
		error = write_blocks(f, (struct extent){size, extent_max(size, round_down(end - 1, f->block))});
	return error;
}

/* Others are extending the file. Wait until they are done with it, or we are: the
 * size has reached end, or nearly so, or stays; or they go on for too long. Then
 * f->eof is the size. Returns 0, or a positive errno. */
static int wait_for_others(struct filler *f, off64_t end, int *patience)
{
	int quiet = 0, error;
	off64_t size;

	while ((size = size_of(f->fd)) >= 0 && size < end) {
		error = extend_within_page(f, size, end);
		if (error != NOT_EXTENDED)
			return error;
		if (size < f->eof)
			break;
		quiet = size == f->eof ? quiet + 1 : 0;
		f->eof = size;
		if (quiet == QUIET || *patience == 0)
			return 0;
		--*patience;
		sys_sleep_millisecond();
	}
	return size < 0 ? (int)-size : 0;
}

/* Append zeros until the size is at least end, from f->eof on. When others extend
 * the file between our look at its size and the append, the size ends beyond end:
 * so we begin with a single byte, which shows whether others are at it, and wait
 * for them first; and a piece never exceeds half of what is missing. What others
 * append counts as theirs. */
static int append_zeros(struct filler *f, off64_t end)
{
	off64_t piece = f->flags & O_DIRECT ? PIECE_LEAST : 1, count, size;
	int patience = PATIENCE, error = 0;
	ssize_t wrote;

	while (!error && (size = size_of(f->fd)) < end) {
		if (size < 0)
			return (int)-size;
		if (size < f->eof) { /* cut by somebody: that came after us, so to speak */
			f->truncated = 1;
			return 0;
		}
		f->disturbed |= size != f->eof;
		error = extend_within_page(f, size, end);
		if (error != NOT_EXTENDED)
			return error;
		if (size != f->eof) {
			piece = 1;
			error = wait_for_others(f, end, &patience);
			size = size_of(f->fd);
			if (error || patience > 0 || size < f->eof || size >= end)
				continue;
			f->eof = size; /* they go on: what they add now counts as theirs */
		}
		count = end - size;
		if (count > PIECE_LEAST)
			count = extent_max(count / 2, PIECE_LEAST);
		count = extent_min(count, piece - size % piece);
		wrote = append_some(f, size, count);
		if (wrote <= 0)
			return wrote < 0 ? (int)-wrote : ENOSPC;
		f->answer = ANSWER_WRITTEN;
		f->eof = size + wrote;
		piece = extent_max(extent_min(2 * piece, PIECE_MOST), PIECE_LEAST);
		error = f->flags & O_DIRECT ? 0 : write_back(f, f->eof);
	}
	f->disturbed |= size != f->eof;
	return error;
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
		end = extent_min(unit_end(at, STEP), run.end);
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
		part.end = extent_min(run.end, unit_end(run.start, f->window));
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
	unsigned interrupted = 0;

	while (at < in.end) {
		size_t want = (size_t)extent_min(in.end - at, (off64_t)f->scratch_size - at % (off64_t)f->scratch_size);
		size_t done = 0;
		ssize_t got = sys_pread(f->fd, f->scratch, want, at);

		if (sys_interrupted(got, &interrupted))
			continue;
		if (got < 0)
			return (int)-got;
		interrupted = 0;
		if (got == 0) { /* the file was cut here */
			f->truncated = 1;
			break;
		}
		while (done < (size_t)got) {
			off64_t here = at + (off64_t)done;
			size_t block = (size_t)extent_min(f->block - here % f->block, got - (ssize_t)done);

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

/* What lies past EOF as we found it. */
static int fill_past(struct filler *f, struct extent past)
{
	int error;

	if (f->truncated)
		return 0;
	/* An append begins at EOF: bring that to where the range starts. This byte alone
	 * could hit another writer's. */
	if (past.start > f->file->size && !(f->flags & O_APPEND)) {
		error = claim(f, past.start + 1);
		if (error)
			return error;
		f->eof = past.start + 1;
		f->answer = ANSWER_WRITTEN;
	}
	error = append_zeros(f, past.end);
	if (error || !f->disturbed)
		return error;
	DELAY();
	error = fill_below(f, past);
	/* What others put there cannot be read through an O_WRONLY descriptor. */
	return error == EBADF ? 0 : error;
}

/* Is a file that ends at `end` too large? vfs_fallocate has asked the limit of the mount; that of
 * an ext4 file without extents, which is mapped by three levels of indirect blocks, is less. */
static int is_too_large(const struct filler *f, off64_t end)
{
	struct statfs64 fs;
	off64_t each;

	if (memcmp(f->file->fstype, "ext", 3) != 0 || sys_fstatfs(f->fd, &fs) < 0)
		return 0;
	each = (off64_t)fs.f_bsize / 4;
	return end > (12 + each + each * each + each * each * each) * (off64_t)fs.f_bsize;
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

static off64_t block_size(int fd)
{
	struct statfs64 fs;

	if (sys_fstatfs(fd, &fs) < 0 || fs.f_bsize <= 0 || fs.f_bsize > BLOCK_MOST)
		return BLOCK_MOST;
	return (off64_t)fs.f_bsize;
}

static void start(struct filler *f, int fd, const struct file *file, off64_t from)
{
	f->fd = fd;
	f->file = file;
	f->flags = sys_fcntl(fd, F_GETFL, NULL);
	f->limit = sys_file_size_limit();
	f->page = (off64_t)sys_page_size();
	f->block = block_size(fd);
	f->syncs = 0;
	f->eof = file->size;
	f->disturbed = 0;
	f->truncated = 0;
	f->answer = ANSWER_REFUSED;
	f->window = (f->flags & O_ACCMODE) == O_RDWR && !(f->flags & O_DIRECT) ? WINDOW : 0;
	f->started = f->waited = round_down(from, f->page);
}

int fill_claim(int fd, off64_t end)
{
	struct file unused = {0};
	struct filler f;

	start(&f, fd, &unused, 0);
	if ((uint64_t)end > f.limit)
		return EFBIG;
	f.eof = size_of(fd);
	return f.flags & O_APPEND ? append_zeros(&f, end) : claim(&f, end);
}

int fill(int fd, struct extent want, const struct file *file, enum answer *answer)
{
	struct extent below, past, hole;
	struct filler f;
	int error;

	*answer = ANSWER_REFUSED;
	start(&f, fd, file, extent_min(want.start, file->size));
	if (f.flags < 0)
		return ENOSYS;
	if ((f.flags & O_ACCMODE) == O_RDONLY)
		return EBADF;
	if (f.flags & O_APPEND) /* can only begin at EOF */
		want.start = extent_min(want.start, file->size);
	if ((uint64_t)extent_length(want) > file->policy.value[KEY_ZERO_FILL_MAX])
		return EOPNOTSUPP;
	below = (struct extent){want.start, extent_min(want.end, file->size)};
	past = (struct extent){extent_max(want.start, file->size), want.end};
	if (extent_length(past) && ((uint64_t)want.end > f.limit || is_too_large(&f, want.end)))
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
	if (extent_length(below))
		error = fill_below(&f, below);
	if (!error && extent_length(past)) {
		error = fill_past(&f, past);
		/* A sandbox forbids to append: nothing has been written yet, and libc's way may be open. */
		if ((error == EPERM || error == ENOSYS) && f.answer == ANSWER_POPULATED)
			f.answer = ANSWER_REFUSED;
	}
	if (!error && f.syncs)
		error = flush(&f);
	close_scratch(&f);
	if (error || f.answer != ANSWER_REFUSED)
		*answer = f.answer;
	else
		*answer = ANSWER_POPULATED; /* nothing was missing */
	return error;
}
