/* fill.h: reserving space where fallocate(2) is not supported.
 *
 * Look, populate, append, sync: no byte that a buffered writer on this machine
 * put into the range is written over, but for the single bytes that fill.c names. */
#ifndef FASTALLOC_FILL_H
#define FASTALLOC_FILL_H

#include "extent.h"
#include "policy.h"
#include "report.h"

/* Make want allocated, and flushed as the policy says, so that success means
 * reserved; a size below want.end becomes want.end. fd is a regular file and
 * file what policy_of told of it. Takes time in proportion to what is missing;
 * memory: 16 MiB mapped at a time, 128 MiB dirty or under write-back.
 *
 * *answer becomes ANSWER_POPULATED or ANSWER_WRITTEN, or ANSWER_REFUSED where nothing
 * was touched. Returns 0, or a positive errno:
 *   ENOSPC  no room; seen beforehand (nothing is touched) or while filling
 *   EDQUOT  the quota is reached
 *   EOPNOTSUPP  longer than the policy's zero_fill_max
 *   EFBIG   past RLIMIT_FSIZE (no SIGXFSZ is sent) or the largest file
 *   EBADF   fd is not open for writing; or cannot tell what is allocated (an
 *           O_WRONLY descriptor below EOF, on a file system without FIEMAP)
 *   others  what writing or flushing answered
 * The size ends at max(size, want.end), unless others extend the file meanwhile:
 * then it may end beyond.
 * After an error past the look, the size stays as reached, since shrinking
 * could cut off what others wrote. Signals: continues. Async-signal-safe. */
int fill(int fd, struct extent want, const struct file *file, enum answer *answer);

/* Make the size at least end without allocating what lies before, by writing
 * one zero byte at end - 1, or appending zeros to an O_APPEND descriptor.
 * Never shrinks. Returns 0, or a positive errno as above. */
int fill_claim(int fd, off64_t end);

#endif
