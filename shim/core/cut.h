/* cut.h: give back what lies past the end of a file, in the hands of its sole writer. */
#ifndef FASTALLOC_CUT_H
#define FASTALLOC_CUT_H

#include <stdint.h>

struct statx;

/* CLOCK_MONOTONIC, in milliseconds. Async-signal-safe. */
int64_t cut_clock(void);

/* Truncate fd to the size that it has anyway, by stx (STATX_SIZE, STATX_MTIME), which frees
 * what lies behind it, and set its time of modification again. To be called under a write
 * lease that was taken after cut_clock said `leased`, with no writer of this process about.
 * Returns 0; a positive errno where nothing was cut: ETIME where we stood still for so long
 * since that the kernel may have given the lease to others; or a negative one where only the
 * time could not be set. Async-signal-safe. */
int cut_past_end(int fd, const struct statx *stx, int64_t leased);

#endif
