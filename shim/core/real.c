#include "real.h"

#include <dlfcn.h>
#include <stdarg.h>

#include "sys.h"

/* The bare calls: what a hook does before our constructor has run, or where
 * libc lacks a name. They follow the libc convention: -1 and errno. */

static long with_errno(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

static int bare_posix_fallocate64(int fd, off64_t offset, off64_t length)
{
	return -sys_fallocate(fd, 0, offset, length);
}

static int bare_posix_fallocate(int fd, off_t offset, off_t length)
{
	return bare_posix_fallocate64(fd, offset, length);
}

static int bare_fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	return (int)with_errno(sys_fallocate(fd, mode, offset, length));
}

static int bare_fallocate(int fd, int mode, off_t offset, off_t length)
{
	return bare_fallocate64(fd, mode, offset, length);
}

static int bare_ftruncate64(int fd, off64_t length)
{
	return (int)with_errno(sys_ftruncate(fd, length));
}

static int bare_ftruncate(int fd, off_t length)
{
	return bare_ftruncate64(fd, length);
}

static int bare_truncate64(const char *path, off64_t length)
{
	return (int)with_errno(SYS2(SYS_truncate, path, length));
}

static int bare_truncate(const char *path, off_t length)
{
	return bare_truncate64(path, length);
}

static int bare_fsync(int fd)
{
	return (int)with_errno(SYS1(SYS_fsync, fd));
}

static int bare_fdatasync(int fd)
{
	return (int)with_errno(sys_fdatasync(fd));
}

static int bare_close(int fd)
{
	return (int)with_errno(sys_close(fd));
}

/* A stream cannot be closed by a system call. Constructors that run before
 * ours do call fclose, so look it up there and then. */
static int bare_fclose(FILE *stream)
{
	int (*next)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");

	return next ? next(stream) : EOF;
}

static int bare_prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list arguments;

	va_start(arguments, option);
	a = va_arg(arguments, unsigned long);
	b = va_arg(arguments, unsigned long);
	c = va_arg(arguments, unsigned long);
	d = va_arg(arguments, unsigned long);
	va_end(arguments);
	return (int)with_errno(SYS5(SYS_prctl, option, a, b, c, d));
}

static long bare_syscall(long number, ...)
{
	long a, b, c, d, e, f;
	va_list arguments;

	va_start(arguments, number);
	a = va_arg(arguments, long);
	b = va_arg(arguments, long);
	c = va_arg(arguments, long);
	d = va_arg(arguments, long);
	e = va_arg(arguments, long);
	f = va_arg(arguments, long);
	va_end(arguments);
	return with_errno(sys_call(number, a, b, c, d, e, f));
}

#define REAL_BARE(type, name, parameters) .name = bare_##name,
struct real real = {REAL_FUNCTIONS(REAL_BARE)};
#undef REAL_BARE

static void *next_definition(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

void real_resolve(void)
{
	void *next;

	/* The build knows which names libc has (HAVE_name): dlsym allocates memory
	 * when it does not find one. */
#define REAL_RESOLVE(type, name, parameters)                \
	if (HAVE_##name && (next = next_definition(#name))) \
		real.name = (type(*) parameters)next;
	REAL_FUNCTIONS(REAL_RESOLVE)
#undef REAL_RESOLVE
}
