/* close and fclose: report a write error that our own flush met first (owed.h). */
#include "hook.h"
#include "owed.h"

HOOK int close(int fd)
{
	int owed = library_is_active() ? owed_take(fd) : 0;

	if (!owed)
		return real.close(fd);
	real.close(fd);
	return hook_fail(owed);
}

/* glibc closes the descriptor by an internal name that no other hook sees. */
HOOK int fclose(FILE *stream)
{
	int owed = library_is_active() && owed_any() ? owed_take(fileno_unlocked(stream)) : 0;

	if (!owed)
		return real.fclose(stream);
	real.fclose(stream);
	hook_fail(owed);
	return EOF;
}
