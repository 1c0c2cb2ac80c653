/* fchown, fchmod, ioctl; setuid, setreuid, setresuid, capset: what changes a file, or who we are, so
 * that a window must be given back before (window.h), or changes its size or blocks unseen. */
#include "change.h"

#include "hook.h"

#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "sys.h"
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

/* Only a file's owner, and root, can take a lease on it. What the process can have back it does not
 * give up: servers change to a user and back for every request. */
void change_user(uid_t uid, uid_t euid, uid_t suid)
{
	const uid_t stays = (uid_t)-1;
	uid_t after[3], now;

	if (!window_any() || sys_getresuid(&after[0], &after[1], &after[2]) < 0)
		return;
	now = after[1];
	after[0] = uid == stays ? after[0] : uid;
	after[1] = euid == stays ? after[1] : euid;
	after[2] = suid == stays ? after[2] : suid;
	for (int i = 0; i < 3; i++)
		if (after[i] == 0 || after[i] == now)
			return;
	window_end_range(0, UINT32_MAX);
}

HOOK int setuid(uid_t uid)
{
	change_user(uid, uid, uid);
	return real.setuid(uid);
}

HOOK int setreuid(uid_t uid, uid_t euid)
{
	change_user(uid, euid, euid);
	return real.setreuid(uid, euid);
}

HOOK int setresuid(uid_t uid, uid_t euid, uid_t suid)
{
	change_user(uid, euid, suid);
	return real.setresuid(uid, euid, suid);
}

/* Programs call it once, to give something up. */
HOOK int capset(void *header, const void *data)
{
	window_end_range(0, UINT32_MAX);
	return real.capset(header, data);
}
