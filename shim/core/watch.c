#include "watch.h"

#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "delay.h"
#include "policy.h"
#include "sys.h"
#include "window.h"

#define MASK (STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME)

atomic_int watch_active;

static struct watch_table *table;

/* Regular files that were open as 0, 1 and 2 when the process began: somebody else's. */
static struct {
	uint32_t major, minor;
	uint64_t inode;
} inherited[STDERR_FILENO + 1];

static void remember_inherited(void)
{
	struct statx stx;

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &stx) < 0 || !S_ISREG(stx.stx_mode))
			continue;
		inherited[fd].major = stx.stx_dev_major;
		inherited[fd].minor = stx.stx_dev_minor;
		inherited[fd].inode = stx.stx_ino;
	}
}

static int is_inherited(const struct watched *file)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (inherited[fd].inode && inherited[fd].inode == file->inode && inherited[fd].major == file->major &&
		    inherited[fd].minor == file->minor)
			return 1;
	return 0;
}

int watch_init(const char *path)
{
	struct watch_table *mapped;
	struct statx stx;
	int error, fd = sys_open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

	if (fd < 0)
		return -fd;
	error = -sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &stx);
	if (!error && (!S_ISREG(stx.stx_mode) || stx.stx_size != sizeof(*mapped)))
		error = EINVAL;
	mapped = error ? NULL : sys_mmap(sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sys_close(fd);
	if (error)
		return error;
	if (sys_map_failed(mapped))
		return ENOMEM;
	if (atomic_load(&mapped->magic) != WATCH_MAGIC) {
		sys_munmap(mapped, sizeof(*mapped));
		return EINVAL;
	}
	table = mapped;
	atomic_fetch_add(&table->processes, 1);
	remember_inherited();
	window_show_all();
	atomic_store(&watch_active, 1);
	return 0;
}

void watch_off(void)
{
	atomic_store(&watch_active, 0);
}

/* Entries */

static int is_entry_of(const struct watched *file, const struct statx *stx)
{
	return file->inode == stx->stx_ino && file->major == stx->stx_dev_major && file->minor == stx->stx_dev_minor &&
	       file->born_second == (uint64_t)stx->stx_btime.tv_sec && file->born_nanosecond == stx->stx_btime.tv_nsec;
}

static void fill_in(struct watched *file, const struct statx *stx, int fd, const char *path)
{
	/* Closing an O_PATH descriptor drops no record lock. */
	int opened = path ? sys_open(path, O_PATH | O_CLOEXEC, 0) : fd;

	file->major = stx->stx_dev_major;
	file->minor = stx->stx_dev_minor;
	file->inode = stx->stx_ino;
	file->born_second = (uint64_t)stx->stx_btime.tv_sec;
	file->born_nanosecond = stx->stx_btime.tv_nsec;
	file->least = UINT64_MAX;
	policy_path(opened, file->path, sizeof(file->path));
	if (path && opened >= 0)
		sys_close(opened);
}

/* An entry that another is filling in is passed over, not waited for: whoever does it may
 * have been killed. At worst a file has two. */
struct watched *watch_entry(struct watch_table *in, const struct statx *stx, int fd, const char *path)
{
	uint64_t first = stx->stx_ino * 31 + stx->stx_dev_minor;

	for (unsigned i = 0; i < WATCH_FILES; i++) {
		struct watched *file = &in->file[(first + i) % WATCH_FILES];
		unsigned state = WATCHED_NONE;

		if (atomic_compare_exchange_strong(&file->state, &state, WATCHED_NEW)) {
			DELAY();
			fill_in(file, stx, fd, path);
			atomic_store(&file->state, WATCHED_FILE);
			return file;
		}
		if (state == WATCHED_FILE && is_entry_of(file, stx))
			return file;
	}
	return NULL;
}

/* Counting */

static void add(_Atomic uint64_t *counter, uint64_t value)
{
	atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static void lower_to(_Atomic uint64_t *least, uint64_t value)
{
	uint64_t now = atomic_load(least);

	while (value < now && !atomic_compare_exchange_weak(least, &now, value))
		;
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t now = atomic_load(most);

	while (value > now && !atomic_compare_exchange_weak(most, &now, value))
		;
}

static void count_write(struct watched *file, const struct watch *watch, uint64_t size)
{
	atomic_uint *last = &table->last[file->minor % WATCH_DEVICES];
	unsigned power = 63 - (unsigned)__builtin_clzll(size), me = (unsigned)(file - table->file) + 1;
	unsigned before = atomic_exchange(last, me);

	add(&file->sizes[power < WATCH_SIZES ? power : WATCH_SIZES - 1], 1);
	lower_to(&file->least, size);
	raise_to(&file->most, size);
	if (before && before != me)
		add(&file->turns, 1);
	if (is_inherited(file) || sys_fcntl(watch->fd, F_GETFL, NULL) & O_APPEND)
		add(&file->unfit, 1);
}

/* Write calls of this thread (proc_pid_io(5)), or 0 where that is not known. */
static uint64_t writes_made(void)
{
	int fd = sys_open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC, 0);
	static const char name[] = "syscw: ";
	char text[512];
	const char *at;
	uint64_t value = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	got = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	if (got < 0)
		return 0;
	text[got] = '\0';
	at = bytes_find(text, (size_t)got, name);
	for (at = at ? at + strlen(name) : text + got; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

/* The size as this client of a network file system knows it: to ask the server, or for the
 * times, would write an NFS file's dirty pages out. */
static int look(const struct watch *watch, struct statx *stx)
{
	return watch->path ? sys_statx(AT_FDCWD, watch->path, AT_STATX_DONT_SYNC, MASK, stx) == 0
			   : sys_statx(watch->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, MASK, stx) == 0;
}

void watch_before(struct watch *watch, enum growth how, int fd, const char *path)
{
	struct statx stx;

	watch->fd = fd;
	watch->path = path;
	watch->is_file = look(watch, &stx) && S_ISREG(stx.stx_mode);
	watch->size = watch->is_file ? stx.stx_size : 0;
	watch->written = watch->is_file && how == GROWTH_POSIX_FALLOCATE ? writes_made() : 0;
}

void watch_after(const struct watch *watch, enum growth how, int64_t most)
{
	uint64_t grown, written;
	struct watched *file;
	struct statx stx;

	if (!watch->is_file || most < 0 || !look(watch, &stx))
		return;
	grown = stx.stx_size > watch->size ? stx.stx_size - watch->size : 0;
	if (grown > (uint64_t)most && how <= GROWTH_STREAM)
		grown = (uint64_t)most;
	if (grown == 0 && how != GROWTH_POSIX_FALLOCATE)
		return;
	if (!(stx.stx_mask & STATX_BTIME))
		memset(&stx.stx_btime, 0, sizeof(stx.stx_btime));
	file = watch_entry(table, &stx, watch->fd, watch->path);
	if (!file) {
		add(&table->left_out, 1);
		return;
	}
	add(&file->grew[how].calls, 1);
	add(&file->grew[how].bytes, grown);
	if (how <= GROWTH_STREAM)
		count_write(file, watch, (uint64_t)most);
	if (how != GROWTH_POSIX_FALLOCATE)
		return;
	written = writes_made() - watch->written;
	if (written > 0) {
		add(&file->emulated_calls, 1);
		add(&file->emulated_bytes, (uint64_t)most);
		add(&file->emulated_writes, written);
	}
}
