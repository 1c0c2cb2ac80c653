/* fchown, fchmod, ioctl: what changes a file so that its window must be given back before
 * (window.h), or changes its size or blocks unseen. */
#include "hook.h"

#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "window.h"

/* Whoever is not the owner any more gets no lease. */
HOOK int fchown(int fd, uid_t owner, gid_t group)
{
	window_end(fd);
	return real.fchown(fd, owner, group);
}

/* These bits would be lost with a trim. */
HOOK int fchmod(int fd, mode_t mode)
{
	if (mode & (S_ISUID | S_ISGID))
		window_end(fd);
	return real.fchmod(fd, mode);
}

/* cp tries to clone first; that grows the file, or does nothing. */
static int is_clone(unsigned request)
{
	return request == FICLONE || request == FICLONERANGE || request == FIDEDUPERANGE;
}

/* FS_IOC_RESVSP preallocates, FS_IOC_SETFLAGS forbids to truncate: all others end windows
 * but those of type T, which ask for a terminal (isatty, FIONREAD). */
HOOK int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	unsigned known;
	void *argument;
	int result;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (is_clone((unsigned)request)) { /* the kernel takes 32 bits, musl an int */
		known = window_changing(fd);
		result = real.ioctl(fd, request, argument);
		window_changed(known);
		return result;
	}
	if (_IOC_TYPE(request) != 'T')
		window_end(fd);
	return real.ioctl(fd, request, argument);
}
WITH_TIME64(int __ioctl_time64(int fd, unsigned long request, ...), ioctl)
