/* space.h: windows are given back to whoever needs the space. */
#ifndef FASTALLOC_SPACE_H
#define FASTALLOC_SPACE_H

#include "hook.h"
#include "window.h"

static inline int is_about_space(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

/* The result of a call, made again if it found no space but windows had some. */
#define WITH_SPACE(type, call)                                                  \
	({                                                                      \
		const int errno_before = errno;                                 \
		type outcome = (call);                                          \
                                                                                \
		if (outcome < 0 && is_about_space(errno) && window_relieve()) { \
			errno = errno_before;                                   \
			outcome = (call);                                       \
		}                                                               \
		outcome;                                                        \
	})

#endif
