/* open and its kin: what this process opens for writing is known from then on (window.h). */
#include "hook.h"
#include "streams.h"
#include "window.h"

/* Of stdout and its like, which are streams already, only what is seen can be known. */
static int is_for_unseen(int fd, int flags)
{
	return fd <= STDERR_FILENO && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_APPEND) && !streams_seen();
}

static int opened(int fd, int flags, unsigned before)
{
	if (fd >= 0 && window_possible() && ((flags & O_ACCMODE) != O_RDONLY || window_of(fd)))
		window_opened(fd, is_for_unseen(fd, flags) ? O_RDONLY : flags, before);
	return fd;
}

/* The mode is passed on whether there is one or not, as the kernel ignores it without need. */
#define OPEN(name)                                                          \
	HOOK int name(const char *path, int flags, ...)                     \
	{                                                                   \
		unsigned before = window_moment();                          \
		va_list arguments;                                          \
		int mode;                                                   \
                                                                            \
		va_start(arguments, flags);                                 \
		mode = va_arg(arguments, int);                              \
		va_end(arguments);                                          \
		return opened(real.name(path, flags, mode), flags, before); \
	}
OPEN(open)
OPEN(open64)

HOOK int __open(const char *path, int flags, ...) SAME_AS(open);
HOOK int __open64(const char *path, int flags, ...) SAME_AS(open64);

#define OPENAT(name)                                                                   \
	HOOK int name(int directory, const char *path, int flags, ...)                 \
	{                                                                              \
		unsigned before = window_moment();                                     \
		va_list arguments;                                                     \
		int mode;                                                              \
                                                                                       \
		va_start(arguments, flags);                                            \
		mode = va_arg(arguments, int);                                         \
		va_end(arguments);                                                     \
		return opened(real.name(directory, path, flags, mode), flags, before); \
	}
OPENAT(openat)
OPENAT(openat64)

#define CREAT(name)                                                                         \
	HOOK int name(const char *path, mode_t mode)                                        \
	{                                                                                   \
		unsigned before = window_moment();                                          \
                                                                                            \
		return opened(real.name(path, mode), O_CREAT | O_WRONLY | O_TRUNC, before); \
	}
CREAT(creat)
CREAT(creat64)

/* What -D_FORTIFY_SOURCE makes of open without a mode (bits/fcntl2.h). */
#define OPEN_2(name)                                                  \
	HOOK int name(const char *path, int flags)                    \
	{                                                             \
		unsigned before = window_moment();                    \
                                                                      \
		return opened(real.name(path, flags), flags, before); \
	}
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                           \
	HOOK int name(int directory, const char *path, int flags)                \
	{                                                                        \
		unsigned before = window_moment();                               \
                                                                                 \
		return opened(real.name(directory, path, flags), flags, before); \
	}
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

HOOK int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	unsigned before = window_moment();

	return opened(real.open_by_handle_at(mount, handle, flags), flags, before);
}
