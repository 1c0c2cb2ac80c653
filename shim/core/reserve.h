/* reserve.h: "make [offset, offset + length) allocated": the contract of posix_fallocate. */
#ifndef FASTALLOC_RESERVE_H
#define FASTALLOC_RESERVE_H

#include <sys/types.h>

#include "extent.h"
#include "policy.h"
#include "report.h"

/* Not an errno: nothing was done, and the hook hands the call to libc. */
#define RESERVE_PASS (-1)

/* What posix_fallocate(fd, offset, length) is to return, or RESERVE_PASS.
 * Arguments as of posix_fallocate(3). *answer says how it came about.
 *
 *   auto    fallocate(fd, 0, ...), whose answer stands unless it is EOPNOTSUPP or
 *           ENOSYS; then fill() of fill.h, with its errors. EINTR: goes on.
 *           ENOSPC at once, before the kernel is asked, where a fallocate that
 *           fails would keep part of the space (ext4, f2fs, vfat, NFS 4.2).
 *   sparse  only the size; EBADF, EINVAL, ESPIPE, ENODEV, EFBIG as the kernel's
 *   refuse  EOPNOTSUPP
 * errno is not touched. Async-signal-safe. */
int reserve_posix_fallocate(int fd, off64_t offset, off64_t length, enum answer *answer);

/* The errno of fallocate(fd, 0, offset, length), 0, or RESERVE_PASS; as above
 * where the policy's fallocate is auto. */
int reserve_fallocate(int fd, off64_t offset, off64_t length, enum answer *answer);

/* The heart of both: reserve want in a file that policy_of described. */
int reserve(int fd, struct extent want, const struct file *file, enum answer *answer);

/* Whether the kernel would take fallocate(fd, 0, want) at all: its own checks,
 * in its own order, without an effect. Returns 0, or its errno. For file systems with TRAIT_LEAKS. */
int reserve_vet(int fd, struct extent want);

#endif
