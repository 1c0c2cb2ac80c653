/* real.h: the next definitions of what we hook.
 *
 * Each pointer starts at a bare system call and, once real_resolve() has run,
 * holds what the program would have called without us. So none is ever NULL,
 * also in constructors that run before ours, and no call needs a check. */
#ifndef FASTALLOC_REAL_H
#define FASTALLOC_REAL_H

#include <stdio.h>
#include <sys/types.h>

/* Every hooked function once: return type, name, parameters. */
#define REAL_FUNCTIONS(X)                                                       \
	X(int, posix_fallocate, (int fd, off_t offset, off_t length))           \
	X(int, posix_fallocate64, (int fd, off64_t offset, off64_t length))     \
	X(int, fallocate, (int fd, int mode, off_t offset, off_t length))       \
	X(int, fallocate64, (int fd, int mode, off64_t offset, off64_t length)) \
	X(int, ftruncate, (int fd, off_t length))                               \
	X(int, ftruncate64, (int fd, off64_t length))                           \
	X(int, truncate, (const char *path, off_t length))                      \
	X(int, truncate64, (const char *path, off64_t length))                  \
	X(int, fsync, (int fd))                                                 \
	X(int, fdatasync, (int fd))                                             \
	X(int, close, (int fd))                                                 \
	X(int, fclose, (FILE * stream))                                         \
	X(int, prctl, (int option, ...))                                        \
	X(long, syscall, (long number, ...))

#define REAL_MEMBER(type, name, parameters) type(*name) parameters;
struct real {
	REAL_FUNCTIONS(REAL_MEMBER)
};
#undef REAL_MEMBER

extern struct real real;

/* Look the next definitions up. Called once, from the constructor. */
void real_resolve(void);

#endif
