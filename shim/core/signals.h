/* signals.h: no signal handler, and no cancellation, in between.
 *
 * A handler may jump out of a write, and what was half done then stays so. */
#ifndef FASTALLOC_SIGNALS_H
#define FASTALLOC_SIGNALS_H

#include <signal.h>
#include <stdint.h>

#include "sys.h"

/* All of them, libc's own as well. Returns 0 where a sandbox forbids it. */
static inline int block_signals(uint64_t *before)
{
	const uint64_t all = UINT64_MAX;

	return SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof(all)) == 0;
}

static inline void restore_signals(const uint64_t *before)
{
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof(*before));
}

#endif
