/* active.h: from when on the library makes no system call of its own. */
#ifndef FASTALLOC_ACTIVE_H
#define FASTALLOC_ACTIVE_H

#include <stdatomic.h>

/* For data of other files, which is then reached without a detour by the table of symbols. */
#define INTERNAL __attribute__((visibility("hidden")))

/* Set once the constructor has configured the library, and cleared for good when
 * the program installs a seccomp filter: a strict one kills on any call that the
 * program would not have made. While it is clear every hook is its real function. */
extern INTERNAL atomic_int library_active;

static inline int library_is_active(void)
{
	return __builtin_expect(atomic_load_explicit(&library_active, memory_order_relaxed), 1);
}

#endif
