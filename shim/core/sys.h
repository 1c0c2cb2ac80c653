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

#else
#error "fastalloc: no system call sequence for this architecture yet (x86-64 and aarch64 have one)"
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

static inline int sys_fallocate(int fd, int mode, off64_t offset, off64_t length)
{
	return (int)SYS4(SYS_fallocate, fd, mode, offset, length);
}

static inline int sys_ftruncate(int fd, off64_t length)
{
	return (int)SYS2(SYS_ftruncate, fd, length);
}

static inline ssize_t sys_pread(int fd, void *buffer, size_t count, off64_t offset)
{
	return SYS4(SYS_pread64, fd, buffer, count, offset);
}

static inline ssize_t sys_pwrite(int fd, const void *buffer, size_t count, off64_t offset)
{
	return SYS4(SYS_pwrite64, fd, buffer, count, offset);
}

static inline ssize_t sys_pwritev2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	/* The kernel takes the offset in two halves and, on 64-bit, ignores the upper (fs/read_write.c). */
	return SYS6(SYS_pwritev2, fd, iov, count, offset, 0, flags);
}

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)SYS4(SYS_openat, AT_FDCWD, path, flags, mode);
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

static inline int sys_fcntl(int fd, int command, const void *argument)
{
	return (int)SYS3(SYS_fcntl, fd, command, argument);
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

static inline int sys_fstatfs(int fd, struct statfs64 *sfs)
{
	return (int)SYS2(SYS_fstatfs, fd, sfs);
}

static inline int sys_fdatasync(int fd)
{
	return (int)SYS1(SYS_fdatasync, fd);
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
