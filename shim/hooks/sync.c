/* fsync and fdatasync: report a write error that our own flush met first (owed.h). */
#include "hook.h"
#include "owed.h"

HOOK int fsync(int fd)
{
	int owed = library_is_active() ? owed_take(fd) : 0;

	if (!owed)
		return real.fsync(fd);
	real.fsync(fd);
	return hook_fail(owed);
}

HOOK int fdatasync(int fd)
{
	int owed = library_is_active() ? owed_take(fd) : 0;

	if (!owed)
		return real.fdatasync(fd);
	real.fdatasync(fd);
	return hook_fail(owed);
}
