#include "window.h"

#include <linux/falloc.h>
#include <signal.h>
#include <string.h>

#include "active.h"
#include "cut.h"
#include "delay.h"
#include "extent.h"
#include "policy.h"
#include "report.h"
#include "signals.h"
#include "sys.h"
#include "layout.h"

/* Enough that windows begin before a file is in many pieces, and late enough that
 * small files, which are written in few calls, never have one. */
#define WRITES_BEFORE_WINDOW 8

/* A write that deserves one all by itself: others' writes come between its pages. */
#define LARGE_WRITE (1 << 20)

/* So large a window is worth the proof that nobody else has the file open by now. */
#define LARGE_WINDOW (8 << 20)

/* A window takes at most this part of what is free: others record, too. */
#define PART_OF_FREE  16

#define FAT_MAX_SIZE  0xffffffffLL
#define MAX_RW_COUNT  0x7ffff000UL /* the kernel writes no more in one call (linux/fs.h) */
#define LEAST_UNKNOWN 512          /* the size of a write that does not tell */

/* How often to look whether others are done: at once, then every millisecond; and how often
 * in all for writes that may never end. */
#define QUICK_ROUNDS 100
#define PATIENCE     150

/* Open file descriptions. */
#define DESCRIPTIONS 4096

enum {
	KNOWN_FRESH = 1 << 0,    /* created or emptied by its open, or healed: nothing past EOF */
	KNOWN_POLICY = 1 << 1,   /* the fields below are filled in */
	KNOWN_CHAIN = 1 << 2,    /* on FAT (TRAIT_CHAIN) */
	KNOWN_STREAMS = 1 << 3,  /* stdio = auto */
	KNOWN_WINDOWED = 1 << 4, /* there may be blocks of ours past EOF */
	KNOWN_ENDED = 1 << 5,    /* no window, heal or trim any more */
	KNOWN_SOLE = 1 << 6,     /* nobody else had it open when a window was made */
	KNOWN_GROWN = 1 << 7,    /* by a call that is no write */
};

/* description.state: free when 0, so that the last to leave is the one who frees it. */
#define WRITER    1ULL
#define WRITERS   0xffffffULL
#define REFERENCE (1ULL << 24)
#define HELD      (1ULL << 63) /* one thread works on the file; nobody writes */

TABLE static struct description {
	_Atomic uint64_t state; /* HELD, descriptors in units of REFERENCE, writes in flight */
	atomic_uint flags;
	atomic_int process;     /* that opened it; no other may hold it */
	_Atomic int64_t budget; /* bytes to write until we look again */
	_Atomic int64_t early;  /* what that was in all, as long as we did not look at all */
	_Atomic int64_t usual;  /* the size of the last write whose size was not known before */
	/* The rest is its holder's. */
	uint32_t major, minor;
	uint64_t inode;
	off64_t end; /* of the last window */
	uint64_t window, window_max, window_after;
} description[DESCRIPTIONS];

TABLE atomic_ushort window_near[WINDOW_NEAR];

/* Descriptors from WINDOW_NEAR on, a page of them for each pointer. */
#define FAR_PAGE  1024
#define FAR_PAGES 1024 /* up to the kernel's default limit (fs/file.c, sysctl_nr_open) */
TABLE static _Atomic(atomic_ushort *) far_page[FAR_PAGES];

/* Files that were healed last: their inodes' numbers, with the device's. */
#define HEALED 64
TABLE static _Atomic uint64_t healed[HEALED];

atomic_int window_was_made;
atomic_int window_is_possible; /* some file may have a window */
atomic_uint window_moments;
static atomic_int suspended; /* calls of window_suspend without window_resume */
static atomic_int full;      /* no description was free, and none has become so */
static atomic_int live;      /* descriptions that are in use, or were */
static uint64_t earliest;    /* the smallest window_after of any file */
static unsigned shows_all;   /* what window_of returns for every descriptor, or 0 */
static atomic_int process;   /* this one, if it was not forked unseen; 0: not asked yet */

/* The table of descriptors */

static atomic_ushort *far_entry(int fd, int make)
{
	unsigned far = (unsigned)fd - WINDOW_NEAR, number = far / FAR_PAGE;
	atomic_ushort *page, *others = NULL;

	if (number >= FAR_PAGES)
		return NULL;
	page = atomic_load(&far_page[number]);
	if (!page && make) {
		page = sys_mmap(FAR_PAGE * sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (sys_map_failed(page))
			return NULL;
		if (!atomic_compare_exchange_strong(&far_page[number], &others, page)) {
			sys_munmap(page, FAR_PAGE * sizeof(*page));
			page = others;
		}
	}
	return page ? page + far % FAR_PAGE : NULL;
}

static atomic_ushort *entry_of(int fd, int make)
{
	if (fd < 0 || shows_all)
		return NULL;
	return fd < WINDOW_NEAR ? &window_near[fd] : far_entry(fd, make);
}

unsigned window_far(int fd)
{
	atomic_ushort *entry = entry_of(fd, 0);

	return entry ? atomic_load_explicit(entry, memory_order_relaxed) : shows_all;
}

void window_show_all(void)
{
	shows_all = 1;
	for (int fd = 0; fd < WINDOW_NEAR; fd++)
		atomic_store_explicit(&window_near[fd], shows_all, memory_order_relaxed);
}

/* Holding a description */

static void wait_a_little(unsigned *rounds)
{
	if (++*rounds < QUICK_ROUNDS)
		SYS0(SYS_sched_yield);
	else
		sys_sleep_millisecond();
}

/* Wait until nobody holds it. Who held it when we were forked unseen never lets go here. */
static void wait_while_held(struct description *d)
{
	unsigned rounds = 0;

	while (atomic_load(&d->state) & HELD) {
		wait_a_little(&rounds);
		if (atomic_load(&d->process) != sys_getpid())
			atomic_fetch_and(&d->state, ~HELD);
	}
}

static void enter(struct description *d)
{
	DELAY();
	while (atomic_fetch_add(&d->state, WRITER) & HELD) {
		atomic_fetch_sub(&d->state, WRITER);
		wait_while_held(d);
	}
}

/* Take this, a REFERENCE or a WRITER, off the state. */
static void leave(struct description *d, uint64_t what)
{
	if (atomic_fetch_sub(&d->state, what) == what && atomic_load_explicit(&full, memory_order_relaxed))
		atomic_store(&full, 0);
}

/* Hold d while exactly that many writes are in flight, all of them the caller's. No signal
 * handler may find it held by the thread it interrupted: it could write to it, and would wait
 * for ever. Returns 0 where a sandbox forbids to block signals, too. */
static int hold(struct description *d, unsigned writers, uint64_t *signals)
{
	uint64_t state;

	if (!block_signals(signals))
		return 0;
	DELAY();
	state = atomic_load(&d->state);
	while (!(state & HELD) && (state & WRITERS) == writers && atomic_load(&d->process) == sys_getpid())
		if (atomic_compare_exchange_weak(&d->state, &state, state | HELD))
			return 1;
	restore_signals(signals);
	return 0;
}

static void let_go(struct description *d, const uint64_t *signals)
{
	DELAY();
	atomic_fetch_and(&d->state, ~HELD);
	restore_signals(signals);
}

/* Hold d once no write is in flight, nor anybody else at work on it: writes that come wait. One that
 * does not end, as it was cancelled or is what a signal handler interrupted, is not waited for any
 * longer. Not for who holds another: two would wait for each other. */
static int hold_when_idle(struct description *d, uint64_t *signals)
{
	uint64_t state;

	if (!block_signals(signals))
		return 0;
	while (atomic_load(&d->process) == sys_getpid()) {
		wait_while_held(d);
		DELAY();
		state = atomic_load(&d->state);
		if (state & HELD || !atomic_compare_exchange_weak(&d->state, &state, state | HELD))
			continue;
		for (unsigned rounds = 0; rounds < PATIENCE; wait_a_little(&rounds))
			if (!(atomic_load(&d->state) & WRITERS))
				return 1;
		let_go(d, signals);
		return 0;
	}
	restore_signals(signals);
	return 0;
}

/* The lease: nobody else has the file open */

/* A break sends this one, which queues, to the thread that took the lease: ours can be
 * told from the program's own. */
#define BREAK_SIGNAL       64
#define SIGNAL_SET(signal) (1ULL << (-1 + (signal)))

static void disown(int fd)
{
	const struct f_owner_ex nobody = {F_OWNER_TID, 0};

	sys_fcntl(fd, F_SETSIG, NULL);
	sys_fcntl(fd, F_SETOWN_EX, &nobody);
}

/* Returns 0, or why there is no lease. Signals are blocked. The file has no owner, signal
 * or lease yet: it was opened here, and F_SETOWN and the like end it (hooks/duplicate.c). */
static int take_lease(int fd)
{
	const struct f_owner_ex me = {F_OWNER_TID, (int)SYS0(SYS_gettid)};
	int error = -sys_fcntl(fd, F_SETOWN_EX, &me);

	if (error)
		return error;
	sys_fcntl(fd, F_SETSIG, (const void *)(long)BREAK_SIGNAL);
	error = -sys_fcntl(fd, F_SETLEASE, (const void *)(long)F_WRLCK);
	if (error)
		disown(fd);
	return error;
}

static int next_pending(int signal, siginfo_t *info)
{
	const uint64_t set = SIGNAL_SET(signal);

	return sys_take_signal(&set, info) == signal;
}

static int send_again(int signal, const siginfo_t *info)
{
	return (int)SYS4(SYS_rt_tgsigqueueinfo, sys_getpid(), SYS0(SYS_gettid), signal, info);
}

/* A reader that opens the file breaks the lease, and a writer after it once more. The
 * program's signals before theirs go to the end of the queue, up to a mark that we put
 * there, so that all keep their order. Returns whether there was any of a break. */
static int take_queued_signals(int fd)
{
	siginfo_t info, mark = {.si_code = SI_QUEUE};
	int taken = 0, marked;

	mark.si_ptr = &mark;
	marked = send_again(BREAK_SIGNAL, &mark) == 0; /* not where the queue is full */
	for (int i = 0; (marked || i < 1000) && next_pending(BREAK_SIGNAL, &info); i++) {
		if (info.si_code == SI_QUEUE && info.si_ptr == &mark)
			break;
		if (info.si_code != POLL_MSG || info.si_fd != fd) {
			send_again(BREAK_SIGNAL, &info);
			continue;
		}
		taken = 1;
		if (!marked)
			break;
	}
	return taken;
}

/* Take the signals of a break off again. Where the queue is full (RLIMIT_SIGPENDING) the
 * kernel sends a plain SIGIO instead (fs/fcntl.c, send_sigio_to_task). */
static void take_signals_of_break(int fd, int broken)
{
	uint64_t pending = 0;
	siginfo_t info;

	SYS2(SYS_rt_sigpending, &pending, sizeof(pending));
	if (pending & SIGNAL_SET(BREAK_SIGNAL) && take_queued_signals(fd))
		return;
	if (broken && pending & SIGNAL_SET(SIGIO) && next_pending(SIGIO, &info) && info.si_code != SI_KERNEL)
		send_again(SIGIO, &info);
}

static void return_lease(int fd)
{
	int broken = sys_fcntl(fd, F_GETLEASE, NULL) != F_WRLCK;

	sys_fcntl(fd, F_SETLEASE, (const void *)(long)F_UNLCK);
	disown(fd);
	take_signals_of_break(fd, broken);
}

/* Cutting what lies past EOF (cut.h) */

static int is_same(const struct description *d, const struct statx *stx)
{
	return stx->stx_ino == d->inode && stx->stx_dev_major == d->major && stx->stx_dev_minor == d->minor;
}

/* Does truncating take something from the file (inode(7), capabilities(7))? */
static int is_privileged(int fd, const struct statx *stx)
{
	return stx->stx_mode & (S_ISUID | S_ISGID) || SYS4(SYS_fgetxattr, fd, "security.capability", NULL, 0) > 0;
}

/* d is NULL where fd was just opened. Returns 0, or the errno of what prevented it. */
static int cut_if_sole(int fd, const struct description *d, enum call call)
{
	struct extent beyond = {0, 0};
	uint64_t started = report_clock();
	struct statx stx = {.stx_mask = 0};
	int64_t leased = cut_clock();
	int error = take_lease(fd);

	if (!error) {
		error = -sys_statx(fd, "", AT_EMPTY_PATH, STATX_MODE | STATX_SIZE | STATX_INO | STATX_MTIME, &stx);
		if (!error && d && !is_same(d, &stx))
			error = EBADF;
		if (!error && is_privileged(fd, &stx))
			error = EPERM;
		if (!error && (error = cut_past_end(fd, &stx, leased)) && (error == EACCES || error == EPERM))
			/* We were started in a sandbox that forbids it: what there is stays, no more is made. */
			atomic_store(&window_is_possible, 0);
		if (error < 0) /* cut, but for the time */
			error = 0;
		return_lease(fd);
		beyond.start = beyond.end = error ? 0 : (off64_t)stx.stx_size;
	}
	if (d && d->end > beyond.end)
		beyond.end = d->end;
	report_call(call, fd, beyond, ANSWER_TRUNCATED, error, started);
	return error;
}

/* On FAT, give back what lies past EOF since before the inode was read. What came later shows in the
 * file's blocks. Its number is that of the inode in memory, and while the machine is up no other gets it
 * (iunique in fs/fat/inode.c), so once is enough. d as for cut_if_sole, as is what is returned. */
static int heal(int fd, const struct description *d)
{
	_Atomic uint64_t *last;
	uint64_t signals, inode;
	struct file file;
	int error = policy_of(fd, NULL, &file);

	if (error || !S_ISREG(file.mode) || !(file.traits & TRAIT_CHAIN) || file.traits & TRAIT_SYNCHRONOUS ||
	    file.policy.value[KEY_WRITE] != WRITE_PREALLOCATE)
		return error;
	inode = (uint64_t)file.major << 52 ^ (uint64_t)file.minor << 32 ^ file.inode;
	last = &healed[file.inode % HEALED];
	if (atomic_load(last) == inode && file.allocated < file.size + (off64_t)file.block_size)
		return 0;
	if (!block_signals(&signals))
		return EAGAIN;
	error = cut_if_sole(fd, d, CALL_HEAL);
	restore_signals(&signals);
	if (!error)
		atomic_store(last, inode);
	return error;
}

static int is_windowed(struct description *d)
{
	return (atomic_load(&d->flags) & (KNOWN_WINDOWED | KNOWN_ENDED)) == KNOWN_WINDOWED;
}

/* The window of d, held, is no longer wanted. */
static void trim(struct description *d, int fd)
{
	struct statx stx;

	if (!is_windowed(d))
		return;
	DELAY();
	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_INO, &stx) < 0 || !is_same(d, &stx))
		return;
	if ((off64_t)stx.stx_size < d->end && cut_if_sole(fd, d, CALL_TRIM))
		return;
	atomic_fetch_and(&d->flags, ~(unsigned)KNOWN_WINDOWED);
	d->end = 0;
}

/* Knowing and forgetting */

static void drop(unsigned known)
{
	if (known)
		leave(&description[known], REFERENCE);
}

/* The number is about to be another file's, or is by now. Who works on d by that number is
 * waited for; who comes later sees that it is not d's any more (is_entry). Else that file,
 * were it the same one opened again, could be cut while d does not count who writes to it. */
static void clear(atomic_ushort *entry, unsigned short known)
{
	DELAY();
	if (!atomic_compare_exchange_strong(entry, &known, 0))
		return;
	wait_while_held(&description[known]);
	drop(known);
}

/* To be asked once d is held. */
static int is_entry(atomic_ushort *entry, const struct description *d)
{
	return &description[atomic_load(entry)] == d;
}

/* fd is another file now, or none. */
static void forget(int fd)
{
	atomic_ushort *entry = entry_of(fd, 0);
	unsigned short known = entry ? atomic_load(entry) : 0;

	if (known)
		clear(entry, known);
}

/* End d: a thread that works on it is waited for; one that writes, where there is to be a trim,
 * for which fd is its number by the entry. */
static void end(struct description *d, int fd, atomic_ushort *trimming)
{
	uint64_t signals;

	wait_while_held(d);
	if (trimming && is_windowed(d) && hold_when_idle(d, &signals)) {
		if (is_entry(trimming, d))
			trim(d, fd);
		atomic_fetch_or(&d->flags, KNOWN_ENDED);
		let_go(d, &signals);
	} else {
		atomic_fetch_or(&d->flags, KNOWN_ENDED);
		wait_while_held(d);
	}
}

static void end_entry(atomic_ushort *entry, int fd, int trimming)
{
	unsigned short known = entry ? atomic_load(entry) : 0;

	if (!known)
		return;
	/* While it is trimmed it stays known, or a write would not wait. */
	end(&description[known], fd, trimming ? entry : NULL);
	DELAY();
	if (atomic_compare_exchange_strong(entry, &known, 0))
		drop(known);
}

static unsigned allocate(void)
{
	static atomic_uint next;
	unsigned first;

	if (atomic_load_explicit(&full, memory_order_relaxed))
		return 0;
	first = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
	for (unsigned i = 0; i < DESCRIPTIONS; i++) {
		unsigned known = (first + i) % DESCRIPTIONS;
		uint64_t unused = 0;

		/* Held, until the fields are set. */
		if (known && atomic_load_explicit(&description[known].state, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong(&description[known].state, &unused, REFERENCE | HELD))
			return known;
	}
	/* One may have become free meanwhile: then it takes another to go on. */
	atomic_store(&full, 1);
	return 0;
}

static int may_be_known(void)
{
	return atomic_load(&window_is_possible) && !atomic_load(&suspended) && library_is_active();
}

void window_opened(int fd, int flags, unsigned before)
{
	int fresh = flags & O_TRUNC || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	struct description *d;
	atomic_ushort *entry;
	unsigned known;

	forget(fd);
	if (fd < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & (O_PATH | O_DIRECTORY) || !may_be_known())
		return;
	if (flags & O_APPEND) {
		if (!fresh && before == window_moment())
			heal(fd, NULL);
		return;
	}
	entry = entry_of(fd, 1);
	known = entry ? allocate() : 0;
	if (!known)
		return;
	d = &description[known];
	/* Nobody reads them before it is let go. */
	atomic_store_explicit(&d->flags, fresh ? KNOWN_FRESH : 0, memory_order_relaxed);
	atomic_store_explicit(&d->budget, 0, memory_order_relaxed);
	atomic_store_explicit(&d->usual, LEAST_UNKNOWN, memory_order_relaxed);
	atomic_store_explicit(&d->early, 0, memory_order_relaxed);
	atomic_store_explicit(&d->process, atomic_load(&process), memory_order_relaxed);
	d->end = 0;
	DELAY();
	atomic_fetch_and(&d->state, ~HELD);
	if (!atomic_load(&live))
		atomic_store(&live, 1);
	DELAY();
	atomic_store(entry, (unsigned short)known);
	/* A suspension that began meanwhile may have looked before this entry was there,
	 * and one that has ended may have shared the descriptor. */
	if (!may_be_known() || before != window_moment())
		end_entry(entry, fd, 0);
}

unsigned window_duplicate(int fd)
{
	unsigned known = window_of(fd);

	DELAY();
	if (known)
		atomic_fetch_add(&description[known].state, REFERENCE);
	return known;
}

void window_duplicated(unsigned known, int fd)
{
	atomic_ushort *entry;

	if (fd < 0) {
		drop(known);
		return;
	}
	forget(fd);
	if (!known)
		return;
	entry = entry_of(fd, 1);
	DELAY();
	if (entry) {
		atomic_store(entry, (unsigned short)known);
	} else {
		end(&description[known], fd, NULL); /* it could be written to unseen */
		drop(known);
	}
}

static void close_entry(atomic_ushort *entry, int fd)
{
	unsigned short known = entry ? atomic_load(entry) : 0;
	struct description *d = &description[known];
	uint64_t signals;

	if (!known)
		return;
	if (atomic_load(&d->flags) & KNOWN_WINDOWED && atomic_load(&d->state) < 2 * REFERENCE && hold(d, 0, &signals)) {
		trim(d, fd);
		let_go(d, &signals);
	}
	clear(entry, known);
}

void window_closing_known(int fd)
{
	close_entry(entry_of(fd, 0), fd);
}

/* Call visit for every known descriptor from first to last. */
static void each(unsigned first, unsigned last, void (*visit)(atomic_ushort *entry, int fd))
{
	if (!atomic_load(&live))
		return;
	for (unsigned fd = first; fd < WINDOW_NEAR && fd <= last; fd++)
		if (atomic_load_explicit(&window_near[fd], memory_order_relaxed))
			visit(&window_near[fd], (int)fd);
	for (unsigned i = 0; i < FAR_PAGES; i++) {
		unsigned fd = WINDOW_NEAR + i * FAR_PAGE;
		atomic_ushort *page = atomic_load_explicit(&far_page[i], memory_order_relaxed);

		for (unsigned j = 0; page && j < FAR_PAGE; j++)
			if (fd + j >= first && fd + j <= last && atomic_load(&page[j]))
				visit(&page[j], (int)(fd + j));
	}
}

static atomic_int given_back;

static void give_back(atomic_ushort *entry, int fd)
{
	struct description *d = &description[atomic_load(entry)];
	uint64_t signals;

	if (!(atomic_load(&d->flags) & KNOWN_WINDOWED) || !hold(d, 0, &signals))
		return;
	if (is_entry(entry, d))
		trim(d, fd);
	if (!(atomic_load(&d->flags) & KNOWN_WINDOWED)) {
		atomic_store(&d->budget, 0);
		atomic_store(&given_back, 1);
	}
	let_go(d, &signals);
}

int window_relieve(void)
{
	atomic_store(&given_back, 0);
	each(0, UINT32_MAX, give_back);
	return atomic_load(&given_back);
}

void window_end(int fd)
{
	if (window_of(fd))
		end_entry(entry_of(fd, 0), fd, 1);
}

static void share_entry(atomic_ushort *entry, int fd)
{
	end_entry(entry, fd, 1);
}

void window_end_range(unsigned first, unsigned last)
{
	each(first, last, share_entry);
}

void window_suspend(void)
{
	atomic_fetch_add(&suspended, 1);
	atomic_fetch_add(&window_moments, 1);
	DELAY();
	each(0, UINT32_MAX, share_entry);
}

void window_resume(void)
{
	atomic_fetch_add(&window_moments, 1);
	atomic_fetch_sub(&suspended, 1);
}

void window_resume_in_child(void)
{
	atomic_store(&process, sys_getpid());
	atomic_store(&suspended, 0);
}

AT_LOAD void window_off(void)
{
	if (atomic_exchange(&window_is_possible, 0))
		each(0, UINT32_MAX, share_entry);
}

int window_any(void)
{
	return atomic_load_explicit(&live, memory_order_relaxed);
}

AT_LOAD void window_init(void)
{
	atomic_store(&process, sys_getpid());
	earliest = policy_least(KEY_WINDOW_AFTER);
	atomic_store(&window_is_possible, policy_may_differ(KEY_WRITE, WRITE_NATIVE));
}

/* Extending */

static int64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	value = value < low ? low : value;
	value = value > high ? high : value;
	return value > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)value;
}

/* The file size from which windows begin, for one that is written in such pieces. */
static int64_t begins(uint64_t window_after, int64_t count)
{
	if (count >= LARGE_WRITE)
		return 0;
	return window_after < (uint64_t)(WRITES_BEFORE_WINDOW * count) ? (int64_t)window_after
								       : WRITES_BEFORE_WINDOW * count;
}

/* Returns whether windows can be had there at all. */
static int learn_policy(int fd, struct file *file)
{
	/* A trim would take those bits (is_privileged). */
	return !policy_of(fd, NULL, file) && S_ISREG(file->mode) && !(file->mode & (S_ISUID | S_ISGID)) &&
	       file->policy.value[KEY_WRITE] == WRITE_PREALLOCATE &&
	       (file->traits & (TRAIT_WINDOWS | TRAIT_SYNCHRONOUS)) == TRAIT_WINDOWS;
}

/* The same, and fill in d, held. */
static int learn(struct description *d, int fd, off64_t *size)
{
	struct file file;

	if (!learn_policy(fd, &file))
		return 0;
	*size = file.size;
	d->major = file.major;
	d->minor = file.minor;
	d->inode = file.inode;
	d->window = file.policy.value[KEY_WINDOW];
	d->window_max = file.policy.value[KEY_WINDOW_MAX];
	d->window_after = file.policy.value[KEY_WINDOW_AFTER];
	atomic_fetch_or(&d->flags, KNOWN_POLICY | (file.traits & TRAIT_CHAIN ? KNOWN_CHAIN : 0) |
					   (file.policy.value[KEY_STDIO] == STDIO_AUTO ? KNOWN_STREAMS : 0));
	return 1;
}

static int look(struct description *d, int fd, off64_t *size)
{
	struct statx stx;

	if (!(atomic_load(&d->flags) & KNOWN_POLICY))
		return learn(d, fd, size);
	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_BLOCKS | STATX_INO, &stx) < 0 || !is_same(d, &stx))
		return 0;
	*size = (off64_t)stx.stx_size;
	/* FAT has no holes: what was cut off took the window with it. */
	if (atomic_load(&d->flags) & KNOWN_CHAIN)
		d->end = extent_min(d->end, (off64_t)stx.stx_blocks * 512);
	return 1;
}

/* The largest that is not above value. */
static int64_t power_of_two(int64_t value)
{
	return value > 0 ? INT64_C(1) << (63 - __builtin_clzll((unsigned long long)value)) : 1;
}

/* How far a window may reach that is to begin at `start` and hold the write up to `until`. */
static off64_t reach(const struct description *d, int fd, off64_t start, off64_t until, unsigned flags)
{
	/* Half of the size: what is too much is allocated, and freed, for nothing. */
	int64_t length = clamp((uint64_t)start / 2, d->window, d->window_max), room = INT64_MAX;
	uint64_t limit = sys_file_size_limit();
	struct statfs64 sfs;

	if (sys_fstatfs(fd, &sfs) == 0 && sfs.f_blocks)
		room = (int64_t)(sfs.f_bavail * (uint64_t)sfs.f_bsize);
	if (until - start > room) /* others' windows have what it needs: it is to be written whole */
		window_relieve();
	if (until - start > room / PART_OF_FREE)
		return 0;
	length = extent_min(length, room / PART_OF_FREE);
	until += length;
	if (d->window < d->window_max) /* many a file ends where a round number does */
		until -= until % power_of_two(length);
	if (limit < (uint64_t)until) /* vfat's fallocate does not look at it */
		until = (off64_t)limit;
	return flags & KNOWN_CHAIN ? extent_min(until, FAT_MAX_SIZE) : until;
}

/* Blocks behind EOF that are not ours belong to a preallocation that is to stay. */
static int is_preallocated(const struct description *d, int fd, off64_t start, off64_t until)
{
	const off64_t page = 64 << 10; /* no block is larger */
	struct extent behind = {(start + page - 1) / page * page, until}, hole;

	if (d->end || behind.start >= behind.end || extent_next_hole(fd, behind, &hole))
		return 0;
	return hole.start > behind.start || hole.end < behind.end;
}

/* Whoever else has the file open could keep us from giving the window back. */
static int prove_sole(struct description *d, int fd, off64_t length)
{
	int error;

	if (atomic_load(&d->flags) & KNOWN_SOLE && length < LARGE_WINDOW)
		return 0;
	error = take_lease(fd);
	if (error)
		return error;
	return_lease(fd);
	DELAY();
	atomic_fetch_or(&d->flags, KNOWN_SOLE);
	return 0;
}

/* From `start`, at or behind the end of file. Returns 0, EAGAIN when it may work later, or
 * another errno when it will not. */
static int preallocate(struct description *d, int fd, off64_t start, off64_t until)
{
	uint64_t started = report_clock();
	off64_t target = reach(d, fd, start, until, atomic_load(&d->flags));
	int error;

	if (target <= start || !atomic_load(&window_is_possible))
		return EAGAIN;
	if (is_preallocated(d, fd, start, target))
		return EEXIST;
	error = prove_sole(d, fd, target - start);
	if (error)
		return error;
	DELAY();
	error = -sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, start, target - start);
	report_call(CALL_WINDOW, fd, (struct extent){start, target}, ANSWER_FALLOCATE, error, started);
	atomic_fetch_or(&d->flags, KNOWN_WINDOWED);
	atomic_store(&window_was_made, 1);
	d->end = target;
	if (error) /* FAT keeps what it had got so far */
		trim(d, fd);
	return error;
}

/* How far past the end a write may begin that has a window. On FAT the gap is allocated
 * anyway; elsewhere it is a hole, which stays one, and a sparse file is to have more of them. */
static off64_t farthest(const struct description *d, off64_t size, unsigned flags)
{
	return clamp(flags & KNOWN_CHAIN ? (uint64_t)size : 0, d->window, d->window_max);
}

/* Look at the file of d, held, and set the budget. Growth that is no write has count 0, and
 * ends at `at`. Returns 0 to forget about it. */
static int consider(struct description *d, int fd, off64_t at, int64_t count)
{
	unsigned flags = atomic_load(&d->flags);
	off64_t size, until;
	int error;

	if (flags & KNOWN_ENDED || !look(d, fd, &size))
		return 0;
	flags = atomic_load(&d->flags);
	if (at == WINDOW_AT_POSITION)
		at = sys_lseek(fd, 0, SEEK_CUR);
	if (at < 0 || at > INT64_MAX / 4)
		return 0;
	until = at + count;
	if (until <= size || until <= d->end) {
		atomic_store(&d->budget, (size > d->end ? size : d->end) - until);
		return 1;
	}
	if (count == 0 && !(flags & KNOWN_CHAIN))
		return 1;
	if (!(flags & KNOWN_FRESH)) {
		/* The first write that extends a file that was there before. */
		if (flags & KNOWN_CHAIN && (heal(fd, d) || size > 0))
			return 0;
		atomic_fetch_or(&d->flags, KNOWN_FRESH);
	}
	error = EAGAIN;
	if (size >= begins(d->window_after, count) && (count == 0 || at <= size + farthest(d, size, flags)))
		error = preallocate(d, fd, flags & KNOWN_CHAIN ? size : extent_max(size, at), until);
	if (!error)
		atomic_store(&d->budget, d->end - until);
	else if (size < begins(d->window_after, count))
		atomic_store(&d->budget, begins(d->window_after, count) - until);
	else
		atomic_store(&d->budget, WRITES_BEFORE_WINDOW * count);
	return !error || error == EAGAIN || error == ENOSPC;
}

/* Not worth a system call before so many writes, or bytes: most files end before. */
static int is_early(struct description *d, int64_t count)
{
	int64_t written, more;

	if ((atomic_load(&d->flags) & (KNOWN_FRESH | KNOWN_POLICY)) != KNOWN_FRESH)
		return 0;
	written = atomic_load(&d->early) - atomic_load(&d->budget);
	more = begins(earliest, count) - written;
	if (more <= 0)
		return 0;
	atomic_store(&d->budget, more);
	atomic_store(&d->early, written + more);
	return 1;
}

/* Returns where the window ends, if it was looked at. */
static off64_t extend(unsigned known, int fd, off64_t at, int64_t count, int stream)
{
	struct description *d = &description[known];
	off64_t window_end;
	struct file file;
	uint64_t signals;
	int go_on;

	DELAY();
	/* Counted, it can be no other file's any more; but it may have been another's before. */
	if (window_of(fd) != known || is_early(d, count))
		return 0;
	/* Most files are where there are no windows: that takes one system call, to hold it four. */
	if (!(atomic_load(&d->flags) & KNOWN_POLICY) && !learn_policy(fd, &file)) {
		end_entry(entry_of(fd, 0), fd, 0);
		return 0;
	}
	if (!hold(d, 1, &signals)) { /* others write now: no time for it */
		atomic_store(&d->budget, WRITES_BEFORE_WINDOW * count);
		return 0;
	}
	go_on = consider(d, fd, at, count) && (!stream || atomic_load(&d->flags) & KNOWN_STREAMS);
	window_end = go_on ? d->end : 0;
	if (!go_on) /* now, as closing it will know nothing of a window */
		trim(d, fd);
	let_go(d, &signals);
	if (!go_on)
		end_entry(entry_of(fd, 0), fd, 0);
	return window_end;
}

static void enter_with(unsigned known, int fd, off64_t at, size_t count, int stream)
{
	struct description *d = &description[known];
	int64_t bytes = count > MAX_RW_COUNT ? (int64_t)MAX_RW_COUNT : (int64_t)count;

	enter(d);
	if (!library_is_active())
		return;
	if (count == 0) {
		bytes = atomic_load_explicit(&d->usual, memory_order_relaxed);
		if (atomic_load_explicit(&d->budget, memory_order_relaxed) >= bytes)
			return;
		atomic_fetch_sub_explicit(&d->budget, bytes, memory_order_relaxed);
	} else if (atomic_fetch_sub_explicit(&d->budget, bytes, memory_order_relaxed) >= bytes) {
		return;
	}
	extend(known, fd, at, bytes, stream);
	if (count == 0)
		atomic_fetch_add_explicit(&d->budget, bytes, memory_order_relaxed); /* window_leave subtracts */
}

unsigned window_changing(int fd)
{
	unsigned known = window_of(fd);

	if (known)
		enter(&description[known]);
	return known;
}

unsigned window_growing(int fd, off64_t until, int *allocated)
{
	unsigned known = window_changing(fd);
	struct description *d = &description[known];

	*allocated = 0;
	/* A file that grows once needs no window. */
	if (!known || until <= 0 || !library_is_active() || !(atomic_fetch_or(&d->flags, KNOWN_GROWN) & KNOWN_GROWN))
		return known;
	*allocated = extend(known, fd, until, 0, 0) >= until;
	return known;
}

void window_changed(unsigned known)
{
	if (!known)
		return;
	atomic_store(&description[known].budget, 0);
	leave(&description[known], WRITER);
}

void window_enter(unsigned known, int fd, off64_t at, size_t count)
{
	enter_with(known, fd, at, count, 0);
}

void window_enter_stream(unsigned known, int fd, size_t count)
{
	enter_with(known, fd, WINDOW_AT_POSITION, count, 1);
}

void window_leave(unsigned known, ssize_t uncounted)
{
	struct description *d = &description[known];

	if (uncounted > 0) {
		atomic_store_explicit(&d->usual, uncounted, memory_order_relaxed);
		atomic_fetch_sub_explicit(&d->budget, uncounted, memory_order_relaxed);
	}
	leave(d, WRITER);
}
