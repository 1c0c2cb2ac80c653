/* write.h: a write to a file that is known (window.h). */
#ifndef FASTALLOC_WRITE_H
#define FASTALLOC_WRITE_H

#include "space.h"
#include "watched.h"

/* Return what call returns, which writes to fd at offset `at`; count is 0 where it is not
 * known before. (No cleanup handler: a cancelled write stays counted, which forbids the trim.) */
#define RETURN_KNOWN_WRITE(known, fd, at, count, call)                \
	do {                                                          \
		RETURN_IF_WATCHED(GROWTH_WRITE, fd, NULL, did, call); \
		const size_t expected = (count);                      \
		ssize_t result;                                       \
                                                                      \
		window_enter(known, fd, at, expected);                \
		result = WITH_SPACE(ssize_t, call);                   \
		window_leave(known, expected ? 0 : result);           \
		return result;                                        \
	} while (0)

#endif
