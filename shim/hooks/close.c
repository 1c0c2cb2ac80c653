/* close and its kin: give back what lies past EOF (window.h), and report a write
 * error that our own flush met first (owed.h). */
#include "hook.h"
#include "owed.h"
#include "streams.h"
#include "window.h"

#include <linux/close_range.h>
#include <stdint.h>

static __attribute__((noinline)) int slow_close(int fd)
{
	int owed = library_is_active() && owed_any() ? owed_take(fd) : 0;

	window_closing(fd);
	if (!owed)
		return real.close(fd);
	real.close(fd);
	return hook_fail(owed);
}

HOOK int close(int fd)
{
	if (window_of(fd) || owed_any())
		return slow_close(fd);
	return real.close(fd);
}

HOOK int __close(int fd) SAME_AS(close);

HOOK int close_range(unsigned first, unsigned last, int flags)
{
	if (flags & CLOSE_RANGE_UNSHARE)
		window_off(); /* our table is of one set of descriptors */
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		window_end_range(first, last);
	return real.close_range(first, last, flags);
}

HOOK void closefrom(int first)
{
	window_end_range(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
	real.closefrom(first);
}

/* glibc closes the descriptor by an internal name: streams.c sees that. */
HOOK int fclose(FILE *stream)
{
	int owed = library_is_active() && owed_any() ? owed_take(streams_number(stream)) : 0;

	if (!owed)
		return real.fclose(stream);
	real.fclose(stream);
	hook_fail(owed);
	return EOF;
}
HOOK int _IO_fclose(FILE *stream) SAME_AS(fclose);
