/* sys.h: the system calls the library makes for itself.
 *
 * They go straight to the kernel: errno is not touched, no call is a
 * cancellation point, and nothing the program or another preloaded library
 * wraps is entered. All of them are therefore async-signal-safe. Each returns
 * what the kernel returns: a value, or -errno. */
#ifndef FASTALLOC_SYS_H
#define FASTALLOC_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#if defined(__x86_64__) && !defined(__ILP32__)

static inline long sys_call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

static inline long sys_call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory");
	return x0;
}

#elif defined(__i386__)

/* A function of its own (sys-i386.S): six arguments leave no register to the code around it, nor
 * can what is pushed be told to unwinders there. */
long sys_call(long n, long a, long b, long c, long d, long e, long f) __attribute__((visibility("hidden")));

#else
#error "fastalloc: no system call sequence for this architecture yet (x86-64, i386 and aarch64 have one)"
#endif

/* Was a call interrupted that is to be made again? Signals come to an end; a file system that
 * answers nothing else does not. Count from 0 in *interrupted. */
static inline int sys_interrupted(long result, unsigned *interrupted)
{
	return result == -EINTR && ++*interrupted < 10000;
}

#define SYS0(n)                   sys_call((n), 0, 0, 0, 0, 0, 0)
#define SYS1(n, a)                sys_call((n), (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b)             sys_call((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c)          sys_call((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d)       sys_call((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS5(n, a, b, c, d, e)    sys_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS6(n, a, b, c, d, e, f) sys_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

struct sys_time {
	int64_t seconds, nanoseconds;
};

#ifdef __LP64__

static inline int sys_fallocate(int fd, int mode, off64_t offset, off64_t length)
{
	return (int)SYS4(SYS_fallocate, fd, mode, offset, length);
}

static inline int sys_ftruncate(int fd, off64_t length)
{
	return (int)SYS2(SYS_ftruncate, fd, length);
}

static inline int sys_truncate(const char *path, off64_t length)
{
	return (int)SYS2(SYS_truncate, path, length);
}

static inline off64_t sys_lseek(int fd, off64_t offset, int whence)
{
	return (off64_t)SYS3(SYS_lseek, fd, offset, whence);
}

static inline ssize_t sys_pread(int fd, void *buffer, size_t count, off64_t offset)
{
	return SYS4(SYS_pread64, fd, buffer, count, offset);
}

static inline ssize_t sys_pwrite(int fd, const void *buffer, size_t count, off64_t offset)
{
	return SYS4(SYS_pwrite64, fd, buffer, count, offset);
}

/* The kernel takes the offset of these two in two halves and, on 64-bit, ignores the upper (fs/read_write.c). */
static inline ssize_t sys_pwritev(int fd, const struct iovec *iov, int count, off64_t offset)
{
	return SYS5(SYS_pwritev, fd, iov, count, offset, 0);
}

static inline ssize_t sys_pwritev2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	return SYS6(SYS_pwritev2, fd, iov, count, offset, 0, flags);
}

static inline ssize_t sys_sendfile64(int out, int in, off64_t *offset, size_t count)
{
	return SYS4(SYS_sendfile, out, in, offset, count);
}

static inline int sys_fcntl(int fd, int command, const void *argument)
{
	return (int)SYS3(SYS_fcntl, fd, command, argument);
}

static inline int sys_fchown(int fd, uid_t owner, gid_t group)
{
	return (int)SYS3(SYS_fchown, fd, owner, group);
}

static inline int sys_setuid(uid_t uid)
{
	return (int)SYS1(SYS_setuid, uid);
}

static inline int sys_getresuid(uid_t *uid, uid_t *euid, uid_t *suid)
{
	return (int)SYS3(SYS_getresuid, uid, euid, suid);
}

static inline int sys_fstatfs(int fd, struct statfs64 *sfs)
{
	return (int)SYS2(SYS_fstatfs, fd, sfs);
}

static inline int sys_sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags)
{
	return (int)SYS4(SYS_sync_file_range, fd, offset, length, flags);
}

/* On success the address; on failure -errno, as MAP_FAILED has no room for it. */
static inline void *sys_mmap(size_t length, int protection, int flags, int fd, off64_t offset)
{
	return (void *)SYS6(SYS_mmap, 0, length, protection, flags, fd, offset);
}

static inline int sys_clock(int clock, struct sys_time *now)
{
	return (int)SYS2(SYS_clock_gettime, clock, now);
}

static inline int sys_set_times(int fd, const struct sys_time times[2])
{
	return (int)SYS4(SYS_utimensat, fd, NULL, times, 0);
}

#else /* i386: 64 bits are two arguments, the lower half first */

#define SYS_HALVES(value) (long)(value), (long)((value) >> 32)

static inline int sys_fallocate(int fd, int mode, off64_t offset, off64_t length)
{
	return (int)sys_call(SYS_fallocate, fd, mode, SYS_HALVES(offset), SYS_HALVES(length));
}

static inline int sys_ftruncate(int fd, off64_t length)
{
	return (int)sys_call(SYS_ftruncate64, fd, SYS_HALVES(length), 0, 0, 0);
}

static inline int sys_truncate(const char *path, off64_t length)
{
	return (int)sys_call(SYS_truncate64, (long)path, SYS_HALVES(length), 0, 0, 0);
}

static inline off64_t sys_lseek(int fd, off64_t offset, int whence)
{
	off64_t result;
	long error = SYS5(SYS__llseek, fd, offset >> 32, offset, &result, whence);

	return error ? error : result;
}

static inline ssize_t sys_pread(int fd, void *buffer, size_t count, off64_t offset)
{
	return sys_call(SYS_pread64, fd, (long)buffer, (long)count, SYS_HALVES(offset), 0);
}

static inline ssize_t sys_pwrite(int fd, const void *buffer, size_t count, off64_t offset)
{
	return sys_call(SYS_pwrite64, fd, (long)buffer, (long)count, SYS_HALVES(offset), 0);
}

static inline ssize_t sys_pwritev(int fd, const struct iovec *iov, int count, off64_t offset)
{
	return sys_call(SYS_pwritev, fd, (long)iov, count, SYS_HALVES(offset), 0);
}

static inline ssize_t sys_pwritev2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	return sys_call(SYS_pwritev2, fd, (long)iov, count, SYS_HALVES(offset), flags);
}

static inline ssize_t sys_sendfile64(int out, int in, off64_t *offset, size_t count)
{
	return SYS4(SYS_sendfile64, out, in, offset, count);
}

static inline int sys_fcntl(int fd, int command, const void *argument)
{
	return (int)SYS3(SYS_fcntl64, fd, command, argument);
}

static inline int sys_fchown(int fd, uid_t owner, gid_t group)
{
	return (int)SYS3(SYS_fchown32, fd, owner, group);
}

static inline int sys_setuid(uid_t uid)
{
	return (int)SYS1(SYS_setuid32, uid);
}

static inline int sys_getresuid(uid_t *uid, uid_t *euid, uid_t *suid)
{
	return (int)SYS3(SYS_getresuid32, uid, euid, suid);
}

static inline int sys_fstatfs(int fd, struct statfs64 *sfs)
{
	return (int)SYS3(SYS_fstatfs64, fd, sizeof(*sfs), sfs);
}

static inline int sys_sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags)
{
	return (int)sys_call(SYS_sync_file_range, fd, SYS_HALVES(offset), SYS_HALVES(length), (long)flags);
}

/* In units of 4 KiB, which reaches up to 16 TiB. */
static inline void *sys_mmap(size_t length, int protection, int flags, int fd, off64_t offset)
{
	if (offset >> 12 > UINT32_MAX)
		return (void *)-EOVERFLOW;
	return (void *)SYS6(SYS_mmap2, 0, length, protection, flags, fd, offset >> 12);
}

/* The calls with 64 bits are those of Linux 5.1. */
static inline int sys_clock(int clock, struct sys_time *now)
{
	long words[2];
	int error = (int)SYS2(SYS_clock_gettime64, clock, now);

	if (!error)
		return 0;
	error = (int)SYS2(SYS_clock_gettime, clock, words);
	if (!error)
		*now = (struct sys_time){words[0], words[1]};
	return error;
}

static inline int sys_set_times(int fd, const struct sys_time times[2])
{
	const long words[4] = {(long)times[0].seconds, (long)times[0].nanoseconds, (long)times[1].seconds,
			       (long)times[1].nanoseconds};
	int error = (int)SYS4(SYS_utimensat_time64, fd, NULL, times, 0);

	if (error != -ENOSYS || words[0] != times[0].seconds || words[2] != times[1].seconds)
		return error;
	return (int)SYS4(SYS_utimensat, fd, NULL, words, 0);
}

#endif

/* Is this one of the signals pending? Takes it off then, and returns it; never waits. */
static inline int sys_take_signal(const uint64_t *signals, void *info)
{
	static const long at_once[2] = {0, 0};

	return (int)SYS4(SYS_rt_sigtimedwait, signals, info, at_once, sizeof(*signals));
}

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)SYS4(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

static inline int sys_close(int fd)
{
	return (int)SYS1(SYS_close, fd);
}

static inline ssize_t sys_read(int fd, void *buffer, size_t count)
{
	return SYS3(SYS_read, fd, buffer, count);
}

static inline ssize_t sys_write(int fd, const void *buffer, size_t count)
{
	return SYS3(SYS_write, fd, buffer, count);
}

static inline ssize_t sys_readlink(const char *path, char *buffer, size_t size)
{
	return SYS4(SYS_readlinkat, AT_FDCWD, path, buffer, size);
}

static inline int sys_ioctl(int fd, unsigned long request, void *argument)
{
	return (int)SYS3(SYS_ioctl, fd, request, argument);
}

static inline int sys_statx(int fd, const char *path, int flags, unsigned mask, struct statx *stx)
{
	unsigned interrupted = 0;
	int error;

	do /* a FUSE server may say EINTR */
		error = (int)SYS5(SYS_statx, fd, path, flags, mask, stx);
	while (sys_interrupted(error, &interrupted));
	return error;
}

static inline int sys_fdatasync(int fd)
{
	return (int)SYS1(SYS_fdatasync, fd);
}

static inline int sys_map_failed(const void *address)
{
	return (unsigned long)address >= -4095UL;
}

static inline void sys_munmap(void *address, size_t length)
{
	SYS2(SYS_munmap, address, length);
}

static inline int sys_madvise(void *address, size_t length, int advice)
{
	return (int)SYS3(SYS_madvise, address, length, advice);
}

/* Read size bytes of our own memory. Returns 0, or EFAULT where nothing is mapped; what the
 * program hands to a call may be nonsense, which is the kernel's to refuse. */
static inline int sys_read_memory(void *to, const void *from, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)from, size};
	long got = SYS6(SYS_process_vm_readv, SYS0(SYS_getpid), &local, 1, &remote, 1, 0);

	if (got >= 0 || got == -EFAULT)
		return got == (long)size ? 0 : EFAULT;
	memcpy(to, from, size); /* a sandbox forbids that call */
	return 0;
}

/* RLIMIT_FSIZE in bytes: where a write would raise SIGXFSZ. */
static inline uint64_t sys_file_size_limit(void)
{
	struct {
		uint64_t soft, hard;
	} limit;

	if (SYS4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0)
		return UINT64_MAX;
	return limit.soft;
}

static inline void sys_sleep_millisecond(void)
{
	const struct {
		long seconds, nanoseconds;
	} time = {0, 1000000};

	SYS2(SYS_nanosleep, &time, NULL);
}

/* Always a power of two. */
static inline uintptr_t sys_page_size(void)
{
	return getauxval(AT_PAGESZ);
}

static inline int sys_getpid(void)
{
	return (int)SYS0(SYS_getpid);
}

#endif
