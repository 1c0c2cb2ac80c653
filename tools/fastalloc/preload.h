/* preload.h: where the library is, and how a program gets it. */
#ifndef FASTALLOC_PRELOAD_H
#define FASTALLOC_PRELOAD_H

#include <limits.h>

/* The library that belongs to this command. */
struct library {
	char path[PATH_MAX];    /* absolute */
	char preload[PATH_MAX]; /* as LD_PRELOAD names it: with $LIB (ld.so(8)) where that means path, so that
				 * each program finds the library of its own ABI */
};

/* Find it: beside the installed command, or in the build tree that the command lies in. Returns 0,
 * or 1 where there is none, or one that LD_PRELOAD cannot name; that is said. */
int library_find(struct library *library);

/* Put it in front of LD_PRELOAD, in place of any libfastalloc.so there; the rest stays. Returns 0,
 * or 1 where memory is short; that is said. */
int library_preload(const struct library *library);

/* Can the program at path be run with it? Says so where the library has no effect on it, and why.
 * Returns 0, or 1 where it must not be run, as its loader could not load the library; that is said. */
int library_suits(const struct library *library, const char *path);

/* All of these for a program that is found as execvp(3) does; path receives where. Returns 0, or
 * the exit status, as of child_exec_status; that is said. */
int library_prepare(const char *program, char path[PATH_MAX]);

#endif
