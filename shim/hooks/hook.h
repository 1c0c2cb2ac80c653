/* hook.h: what every file of hooks needs. A hook asks the core, then calls the
 * real function; it keeps errno unless it fails. Only hooks are exported
 * (shim.map), and the core's own calls never come back here (sys.h). */
#ifndef FASTALLOC_HOOK_H
#define FASTALLOC_HOOK_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "active.h"
#include "real.h"

#define HOOK __attribute__((visibility("default")))

/* Behind a declaration: another name, by which libc exports the same. */
#if __has_attribute(copy)
#define SAME_AS(name) __attribute__((alias(#name), copy(name)))
#else
#define SAME_AS(name) __attribute__((alias(#name)))
#endif

/* The same, by the name that programs use with -D_TIME_BITS=64 where long has 32 bits. No header
 * declares it then. */
#if defined(__GLIBC__) && !defined(__LP64__)
#define WITH_TIME64(declaration, name) HOOK declaration SAME_AS(name);
#else
#define WITH_TIME64(declaration, name)
#endif

/* Not every name that libc exports is in its headers. */
#define HOOK_DECLARE(type, name, parameters) HOOK type name parameters;
REAL_FUNCTIONS(HOOK_DECLARE)
#undef HOOK_DECLARE

static inline int may_have_threads(void)
{
	return !*real.single_threaded;
}

/* For functions that return -1 and set errno. */
static inline int hook_fail(int error)
{
	errno = error;
	return -1;
}

#endif
