/* window.h: preallocation ahead of extending writes, and the descriptors it concerns.
 *
 * An open file description that this process opened for writing is *known* from
 * its open to its last close. Its writes are counted in and out, so that what lies
 * past EOF is only ever cut off while none of them is in flight, and while a lease
 * shows that nobody else has the file open. Whatever might hide a writer (fork,
 * a descriptor passed on, io_uring...) makes it unknown, which costs windows, never
 * data. See "The yank" in docs/writes.md.
 *
 * Nothing here allocates, locks or touches errno; all of it is async-signal-safe. */
#ifndef FASTALLOC_WINDOW_H
#define FASTALLOC_WINDOW_H

#include <stdatomic.h>
#include <sys/types.h>

#include "active.h"

/* Decide, from the configuration, whether any file can have a window. Once, at load. */
void window_init(void);

/* Can files have windows in this process, now? */
extern INTERNAL atomic_int window_is_possible;
static inline int window_possible(void)
{
	return atomic_load(&window_is_possible);
}

/* Is, or was, any descriptor known? */
int window_any(void);

/* Was there ever a window? */
extern INTERNAL atomic_int window_was_made;
static inline int window_made(void)
{
	return __builtin_expect(atomic_load_explicit(&window_was_made, memory_order_relaxed), 0);
}

/* Descriptors below this are looked up without a call. */
#define WINDOW_NEAR 1024
extern INTERNAL atomic_ushort window_near[WINDOW_NEAR];
unsigned window_far(int fd);

/* What is known of fd: a number for window_enter, 0 for nothing. */
static inline unsigned window_of(int fd)
{
	if (__builtin_expect((unsigned)fd < WINDOW_NEAR, 1))
		return atomic_load_explicit(&window_near[fd], memory_order_relaxed);
	return window_far(fd);
}

/* From now on window_of returns a number for every descriptor, and nothing else here has an
 * effect. Once, at load, instead of window_init: for watch.h. */
void window_show_all(void);

/* Where a write goes that takes the file position. */
#define WINDOW_AT_POSITION (-(off64_t)1)

/* A write of count bytes at offset `at` of fd, which is `known`, is about to be made:
 * preallocate if it is time to. window_leave follows the write. A count that is not
 * known before (count 0) is told to window_leave instead. */
void window_enter(unsigned known, int fd, off64_t at, size_t count);
void window_leave(unsigned known, ssize_t uncounted);

/* The same before a write that a FILE stream makes. */
void window_enter_stream(unsigned known, int fd, size_t count);

/* What window_opened needs from before the open: how often a suspension began or ended. */
extern INTERNAL atomic_uint window_moments;
static inline unsigned window_moment(void)
{
	return atomic_load(&window_moments);
}

/* fd was just opened with these flags of open(2), and nobody else knows it yet. A file
 * that an append could make the file system turn read-only is healed here where it
 * was opened with O_APPEND, else before the first write that extends it. */
void window_opened(int fd, int flags, unsigned before);

/* fd is about to be duplicated: what window_duplicated then needs, with the new
 * descriptor, or -1 where there is none. */
unsigned window_duplicate(int fd);
void window_duplicated(unsigned known, int fd);

/* fd is about to be closed: blocks past EOF go with it. */
void window_closing_known(int fd);
static inline void window_closing(int fd)
{
	if (window_of(fd))
		window_closing_known(fd);
}

/* A write found no space: give back what other windows hold. Says whether there was any. */
int window_relieve(void);

/* Around a change of the file's size or blocks that is no write, as a writer's. */
unsigned window_changing(int fd);
void window_changed(unsigned known);

/* As window_changing, where the file may be about to grow up to `until`, by a call that has
 * the file system allocate: one that grows in steps gets a window. *allocated: it has blocks
 * up to there already. */
unsigned window_growing(int fd, off64_t until, int *allocated);

/* From now on fd (all from first to last) may be written to unseen, or be another file. */
void window_end(int fd);
void window_end_range(unsigned first, unsigned last);

/* Other processes are about to share every descriptor: all windows end, and none
 * begins before window_resume. */
void window_suspend(void);
void window_resume(void);
void window_resume_in_child(void);

/* The same, for good. */
void window_off(void);

#endif
