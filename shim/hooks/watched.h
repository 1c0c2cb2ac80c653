/* watched.h: a call that is only observed (watch.h). */
#ifndef FASTALLOC_WATCHED_H
#define FASTALLOC_WATCHED_H

#include "hook.h"
#include "watch.h"

/* While watching, return what call returns, which may make the file of fd, or at path,
 * grow; it can have added `most` bytes, an expression with what it returned, `did`. */
#define RETURN_IF_WATCHED(how, fd, path, most, call)         \
	do {                                                 \
		if (watch_is_on()) {                         \
			struct watch watch;                  \
			ssize_t did;                         \
                                                             \
			watch_before(&watch, how, fd, path); \
			did = (call);                        \
			watch_after(&watch, how, (most));    \
			return (__typeof__(call))did;        \
		}                                            \
	} while (0)

#endif
