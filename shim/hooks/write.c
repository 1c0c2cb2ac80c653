/* write, pwrite, writev, pwritev: preallocate ahead of writes that extend a file.
 * A write to anything that is not known (window.h) is the real one at once, until there is a
 * window that might be in its way. What comes then is in functions of its own, so that the
 * hooks need no registers. */
#include "write.h"

#define SLOW static __attribute__((noinline)) ssize_t

#define WRITE(name)                                                                                     \
	SLOW slow_##name(int fd, const void *buffer, size_t count, unsigned known)                      \
	{                                                                                               \
		if (!known || !count)                                                                   \
			return WITH_SPACE(ssize_t, real.name(fd, buffer, count));                       \
		RETURN_KNOWN_WRITE(known, fd, WINDOW_AT_POSITION, count, real.name(fd, buffer, count)); \
	}                                                                                               \
	HOOK ssize_t name(int fd, const void *buffer, size_t count)                                     \
	{                                                                                               \
		unsigned known = window_of(fd);                                                         \
                                                                                                        \
		if (!known && !window_made())                                                           \
			return real.name(fd, buffer, count);                                            \
		return slow_##name(fd, buffer, count, known);                                           \
	}
WRITE(write)
WRITE(__write)

#define PWRITE(name, offset_type)                                                                      \
	SLOW slow_##name(int fd, const void *buffer, size_t count, offset_type offset, unsigned known) \
	{                                                                                              \
		if (!known || !count || offset < 0)                                                    \
			return WITH_SPACE(ssize_t, real.name(fd, buffer, count, offset));              \
		RETURN_KNOWN_WRITE(known, fd, offset, count, real.name(fd, buffer, count, offset));    \
	}                                                                                              \
	HOOK ssize_t name(int fd, const void *buffer, size_t count, offset_type offset)                \
	{                                                                                              \
		unsigned known = window_of(fd);                                                        \
                                                                                                       \
		if (!known && !window_made())                                                          \
			return real.name(fd, buffer, count, offset);                                   \
		return slow_##name(fd, buffer, count, offset, known);                                  \
	}
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
PWRITE(__pwrite64, off64_t)

/* The vectors are the kernel's to read, or to refuse: what they hold is known afterwards. */
SLOW slow_writev(int fd, const struct iovec *iov, int count, unsigned known)
{
	if (!known)
		return WITH_SPACE(ssize_t, real.writev(fd, iov, count));
	RETURN_KNOWN_WRITE(known, fd, WINDOW_AT_POSITION, 0, real.writev(fd, iov, count));
}

HOOK ssize_t writev(int fd, const struct iovec *iov, int count)
{
	unsigned known = window_of(fd);

	if (!known && !window_made())
		return real.writev(fd, iov, count);
	return slow_writev(fd, iov, count, known);
}

#define PWRITEV(name, offset_type)                                                                       \
	SLOW slow_##name(int fd, const struct iovec *iov, int count, offset_type offset, unsigned known) \
	{                                                                                                \
		if (!known || offset < 0)                                                                \
			return WITH_SPACE(ssize_t, real.name(fd, iov, count, offset));                   \
		RETURN_KNOWN_WRITE(known, fd, offset, 0, real.name(fd, iov, count, offset));             \
	}                                                                                                \
	HOOK ssize_t name(int fd, const struct iovec *iov, int count, offset_type offset)                \
	{                                                                                                \
		unsigned known = window_of(fd);                                                          \
                                                                                                         \
		if (!known && !window_made())                                                            \
			return real.name(fd, iov, count, offset);                                        \
		return slow_##name(fd, iov, count, offset, known);                                       \
	}
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

/* Offset -1 is the file position (pwritev2(2)). */
#define PWRITEV2(name, offset_type)                                                                                 \
	SLOW slow_##name(int fd, const struct iovec *iov, int count, offset_type offset, int flags, unsigned known) \
	{                                                                                                           \
		if (!known || offset < -1)                                                                          \
			return WITH_SPACE(ssize_t, real.name(fd, iov, count, offset, flags));                       \
		RETURN_KNOWN_WRITE(known, fd, offset, 0, real.name(fd, iov, count, offset, flags));                 \
	}                                                                                                           \
	HOOK ssize_t name(int fd, const struct iovec *iov, int count, offset_type offset, int flags)                \
	{                                                                                                           \
		unsigned known = window_of(fd);                                                                     \
                                                                                                                    \
		if (!known && !window_made())                                                                       \
			return real.name(fd, iov, count, offset, flags);                                            \
		return slow_##name(fd, iov, count, offset, flags, known);                                           \
	}
PWRITEV2(pwritev2, off_t)
PWRITEV2(pwritev64v2, off64_t)

/* libc writes these lines by a call that we do not see. */
HOOK void backtrace_symbols_fd(void *const *addresses, int count, int fd)
{
	window_end(fd);
	real.backtrace_symbols_fd(addresses, count, fd);
}
HOOK void __backtrace_symbols_fd(void *const *addresses, int count, int fd) SAME_AS(backtrace_symbols_fd);
