/* policy.h: a file -> what preload.conf says to do with it. */
#ifndef FASTALLOC_POLICY_H
#define FASTALLOC_POLICY_H

#include <sys/types.h>

#include "config.h"
#include "mounts.h"

/* What kinds of file system do, as far as it decides anything; a table in policy.c. */
enum trait {
	TRAIT_KNOWN = 1 << 0,           /* the file lies on a mount we found (a memfd does not) */
	TRAIT_SYNCHRONOUS = 1 << 1,     /* mounted with "sync" */
	TRAIT_FAULT_ALLOCATES = 1 << 2, /* a write fault on a hole allocates, or fails, at once */
	TRAIT_LEAKS = 1 << 3,           /* a fallocate that fails keeps part of what it allocated */
	TRAIT_DENSE = 1 << 4,           /* no holes: growing allocates everything */
	TRAIT_MEMORY = 1 << 5,          /* allocating takes memory, not disk */
	TRAIT_CHAIN = 1 << 6,           /* after a crash, clusters past EOF make an append an error */
	TRAIT_WINDOWS = 1 << 7,         /* local, with FALLOC_FL_KEEP_SIZE and leases that count all openers */
};

/* What one call needs to know of its file. */
struct file {
	mode_t mode;
	off64_t size;          /* st_size */
	off64_t allocated;     /* st_blocks, in bytes */
	size_t block_size;     /* st_blksize */
	uint32_t major, minor; /* st_dev */
	uint64_t inode;        /* st_ino */
	unsigned traits;       /* enum trait */
	char fstype[40];       /* as in struct mount; "" where unknown */
	struct policy policy;
};

/* Use this configuration and program name from now on; both must stay. */
void policy_init(const struct config *config, const char *program);

/* Could any file have another value than this for key? Says no without a system call. */
int policy_may_differ(enum key key, uint64_t value);

/* The smallest value that any file can have for key, a size. */
uint64_t policy_least(enum key key);

/* The path of fd, for [path] rules; empty where /proc does not tell. Async-signal-safe. */
void policy_path(int fd, char *path, size_t size);

/* The traits of files on mount. */
unsigned policy_traits(const struct mount *mount);
/* The value for this program, of a key that files have no part in. */
uint64_t policy_of_program(enum key key);

/* Look up fd, or path if fd is AT_FDCWD. Returns 0, or the errno of statx (EBADF, ENOENT...).
 * A mount that cannot be found is no error: the [default] and [program] rules apply.
 * Async-signal-safe; one statx where the mount has been seen within the last second. */
int policy_of(int fd, const char *path, struct file *file);

#endif
