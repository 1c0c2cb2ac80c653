/* watch.h: how files grow, observed without changing anything (fastalloc watch).
 *
 * The counts are in a table that the command makes and that every process below it
 * maps, shared. So nothing is written at exit, and a process that is killed, or ends
 * by _exit or exec, leaves what it did. While a process watches, the library does
 * nothing else: every call is libc's own, with a look at the file's size before and
 * after. Nothing here allocates, locks or touches errno; all of it is async-signal-safe. */
#ifndef FASTALLOC_WATCH_H
#define FASTALLOC_WATCH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* By what a file grows. */
enum growth {
	GROWTH_WRITE,  /* write and its kin, copy_file_range, sendfile, splice */
	GROWTH_STREAM, /* what FILE streams write */
	GROWTH_FTRUNCATE,
	GROWTH_FALLOCATE,
	GROWTH_POSIX_FALLOCATE,
	GROWTH_COUNT
};

#define WATCH_FILES   4096
#define WATCH_DEVICES 64
#define WATCH_SIZES   32 /* [2^i, 2^(i+1)) bytes; the kernel writes less than 2 GiB at once */
#define WATCH_PATH    1024

/* A file that grew, or that posix_fallocate was called for. It is one and the same while
 * device, inode number and time of birth are (0 where there is none): numbers are reused. */
struct watched {
	atomic_uint state; /* enum watched_state */
	uint32_t major, minor, born_nanosecond;
	_Atomic uint64_t inode, born_second;
	/* Calls by which it grew, and by how many bytes; of posix_fallocate every call. */
	struct {
		_Atomic uint64_t calls, bytes;
	} grew[GROWTH_COUNT];
	/* Of writes that extended it, streams' too: how large they were, in powers of two. */
	_Atomic uint64_t sizes[WATCH_SIZES], least, most;
	_Atomic uint64_t turns; /* of those, how many came after another file of the device had grown */
	_Atomic uint64_t unfit; /* of those, with O_APPEND, or to a file that was stdout already: never a window */
	/* posix_fallocate that libc made up from writes: calls, their lengths, writes. */
	_Atomic uint64_t emulated_calls, emulated_bytes, emulated_writes;
	char path[WATCH_PATH]; /* when it was first seen to grow; empty where /proc does not tell */
};

enum watched_state { WATCHED_NONE, WATCHED_NEW /* being filled in */, WATCHED_FILE };

#define WATCH_MAGIC (0x68637461576600ULL << 8 ^ sizeof(struct watched))

struct watch_table {
	_Atomic uint64_t magic;          /* WATCH_MAGIC */
	_Atomic uint64_t processes;      /* that were watched */
	_Atomic uint64_t left_out;       /* growths of files that the table had no room for */
	atomic_uint last[WATCH_DEVICES]; /* by device number: who grew last, as an index + 1 */
	struct watched file[WATCH_FILES];
};

/* Count into the table in this file from now on, which holds a struct watch_table.
 * Returns 0, or a positive errno: then nothing is watched. Once, at load. */
int watch_init(const char *table);

/* No more: a seccomp filter kills on calls that the program would not make. */
void watch_off(void);

extern atomic_int watch_active;

static inline int watch_is_on(void)
{
	return atomic_load_explicit(&watch_active, memory_order_relaxed);
}

/* A call that may make a file grow: of a descriptor, or, where path is not NULL, of a name. */
struct watch {
	int fd;
	const char *path;
	int is_file; /* a regular file, whose size was: */
	uint64_t size;
	uint64_t written; /* write calls that this thread had made (of posix_fallocate) */
};

void watch_before(struct watch *watch, enum growth how, int fd, const char *path);

/* It is done. It can have added `most` bytes at most, itself; what is more was others.
 * Negative: it failed. For posix_fallocate: the length. */
void watch_after(const struct watch *watch, enum growth how, int64_t most);

/* The entry of a file, for which one is made where there is none. NULL where the table is
 * full. */
struct statx;
struct watched *watch_entry(struct watch_table *table, const struct statx *stx, int fd, const char *path);

#endif
