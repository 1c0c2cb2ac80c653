/* real.h: the next definitions of what we hook.
 *
 * Each pointer starts at a bare system call and, once real_resolve() has run,
 * holds what the program would have called without us. So none is ever NULL,
 * also in constructors that run before ours, and no call needs a check. Functions
 * that are not async-signal-safe anyway are looked up when first called: dlsym
 * costs a program a third of a microsecond each. */
#ifndef FASTALLOC_REAL_H
#define FASTALLOC_REAL_H

#include <aio.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <wordexp.h>

#include "active.h"

struct file_handle;

/* Every hooked function once: return type, name, parameters. */
#define REAL_AT_LOAD(X)                                                                                               \
	X(int, posix_fallocate, (int fd, off_t offset, off_t length))                                                 \
	X(int, posix_fallocate64, (int fd, off64_t offset, off64_t length))                                           \
	X(int, fallocate, (int fd, int mode, off_t offset, off_t length))                                             \
	X(int, fallocate64, (int fd, int mode, off64_t offset, off64_t length))                                       \
	X(int, ftruncate, (int fd, off_t length))                                                                     \
	X(int, ftruncate64, (int fd, off64_t length))                                                                 \
	X(int, truncate, (const char *path, off_t length))                                                            \
	X(int, truncate64, (const char *path, off64_t length))                                                        \
	X(int, fsync, (int fd))                                                                                       \
	X(int, fdatasync, (int fd))                                                                                   \
	X(ssize_t, write, (int fd, const void *buffer, size_t count))                                                 \
	X(ssize_t, __write, (int fd, const void *buffer, size_t count))                                               \
	X(ssize_t, pwrite, (int fd, const void *buffer, size_t count, off_t offset))                                  \
	X(ssize_t, pwrite64, (int fd, const void *buffer, size_t count, off64_t offset))                              \
	X(ssize_t, __pwrite64, (int fd, const void *buffer, size_t count, off64_t offset))                            \
	X(ssize_t, writev, (int fd, const struct iovec *iov, int count))                                              \
	X(ssize_t, pwritev, (int fd, const struct iovec *iov, int count, off_t offset))                               \
	X(ssize_t, pwritev64, (int fd, const struct iovec *iov, int count, off64_t offset))                           \
	X(ssize_t, pwritev2, (int fd, const struct iovec *iov, int count, off_t offset, int flags))                   \
	X(ssize_t, pwritev64v2, (int fd, const struct iovec *iov, int count, off64_t offset, int flags))              \
	X(ssize_t, copy_file_range,                                                                                   \
	  (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags))                  \
	X(ssize_t, sendfile, (int out, int in, off_t *offset, size_t count))                                          \
	X(ssize_t, sendfile64, (int out, int in, off64_t *offset, size_t count))                                      \
	X(ssize_t, splice, (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags)) \
	X(int, open, (const char *path, int flags, ...))                                                              \
	X(int, open64, (const char *path, int flags, ...))                                                            \
	X(int, openat, (int directory, const char *path, int flags, ...))                                             \
	X(int, openat64, (int directory, const char *path, int flags, ...))                                           \
	X(int, creat, (const char *path, mode_t mode))                                                                \
	X(int, creat64, (const char *path, mode_t mode))                                                              \
	X(int, __open_2, (const char *path, int flags))                                                               \
	X(int, __open64_2, (const char *path, int flags))                                                             \
	X(int, __openat_2, (int directory, const char *path, int flags))                                              \
	X(int, __openat64_2, (int directory, const char *path, int flags))                                            \
	X(int, open_by_handle_at, (int mount, struct file_handle *handle, int flags))                                 \
	X(int, close, (int fd))                                                                                       \
	X(int, close_range, (unsigned first, unsigned last, int flags))                                               \
	X(void, closefrom, (int first))                                                                               \
	X(int, dup, (int fd))                                                                                         \
	X(int, dup2, (int fd, int to))                                                                                \
	X(int, __dup2, (int fd, int to))                                                                              \
	X(int, dup3, (int fd, int to, int flags))                                                                     \
	X(int, fcntl, (int fd, int command, ...))                                                                     \
	X(int, fcntl64, (int fd, int command, ...))                                                                   \
	X(int, __fcntl, (int fd, int command, ...))                                                                   \
	X(int, ioctl, (int fd, unsigned long request, ...))                                                           \
	X(int, fchown, (int fd, uid_t owner, gid_t group))                                                            \
	X(int, fchmod, (int fd, mode_t mode))                                                                         \
	X(int, setuid, (uid_t uid))                                                                                   \
	X(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags))                                        \
	X(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags))                               \
	X(pid_t, vfork, (void))                                                                                       \
	X(pid_t, _Fork, (void))                                                                                       \
	X(void *, dlopen, (const char *file, int mode))                                                               \
	X(void *, dlmopen, (Lmid_t namespace, const char *file, int mode))                                            \
	X(int, prctl, (int option, ...))                                                                              \
	X(long, syscall, (long number, ...))
#define REAL_WHEN_CALLED(X)                                                                              \
	X(FILE *, fopen, (const char *path, const char *mode))                                           \
	X(FILE *, fopen64, (const char *path, const char *mode))                                         \
	X(FILE *, freopen, (const char *path, const char *mode, FILE *stream))                           \
	X(FILE *, freopen64, (const char *path, const char *mode, FILE *stream))                         \
	X(FILE *, fdopen, (int fd, const char *mode))                                                    \
	X(int, vdprintf, (int fd, const char *format, va_list arguments))                                \
	X(int, __vdprintf_chk, (int fd, int flag, const char *format, va_list arguments))                \
	X(int, fclose, (FILE * stream))                                                                  \
	X(int, aio_write, (struct aiocb * request))                                                      \
	X(int, aio_write64, (struct aiocb64 * request))                                                  \
	X(int, lio_listio, (int mode, struct aiocb *const *list, int count, struct sigevent *event))     \
	X(int, lio_listio64, (int mode, struct aiocb64 *const *list, int count, struct sigevent *event)) \
	X(int, unshare, (int flags))                                                                     \
	X(int, setreuid, (uid_t uid, uid_t euid))                                                        \
	X(int, setresuid, (uid_t uid, uid_t euid, uid_t suid))                                           \
	X(int, capset, (void *header, const void *data))                                                 \
	X(int, clone, (int (*function)(void *), void *stack, int flags, void *argument, ...))            \
	X(int, system, (const char *command))                                                            \
	X(FILE *, popen, (const char *command, const char *mode))                                        \
	X(int, wordexp, (const char *words, wordexp_t *expansion, int flags))                            \
	X(int, posix_spawn,                                                                              \
	  (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,                     \
	   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]))                 \
	X(int, posix_spawnp,                                                                             \
	  (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,                     \
	   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]))                 \
	X(int, pidfd_spawn,                                                                              \
	  (int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,                      \
	   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]))                 \
	X(int, pidfd_spawnp,                                                                             \
	  (int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,                      \
	   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]))                 \
	X(int, pidfd_getfd, (int pidfd, int fd, unsigned flags))                                         \
	X(void, backtrace_symbols_fd, (void *const *addresses, int count, int fd))
#define REAL_FUNCTIONS(X)                   REAL_AT_LOAD(X) REAL_WHEN_CALLED(X)

#define REAL_MEMBER(type, name, parameters) type(*name) parameters;
struct real {
	REAL_FUNCTIONS(REAL_MEMBER)
	const char *single_threaded; /* points to 0 where there may be several (sys/single_threaded.h) */
};
#undef REAL_MEMBER

extern INTERNAL struct real real;

/* Look the next definitions up. Called once, from the constructor. With auditors (LD_AUDIT,
 * rtld-audit(7)) it is dlsym that does it, which asks them. */
void real_resolve(int audited);

/* As dlsym(RTLD_NEXT), which not every program has: glibc before 2.34 has it in libdl. Returns NULL
 * where there is none. Other threads must not be loading libraries. */
void *real_find(const char *name);

/* Is an object loaded in whose path this is? Other threads must not be loading libraries. */
int real_has_object(const char *name);

#endif
