/* posix_fallocate and fallocate. Where a hook adds nothing the last thing it does
 * is to call the real function, so that cancellation and unwinding are libc's. */
#include "hook.h"
#include "reserve.h"
#include "space.h"
#include "watched.h"
#include "window.h"

#include <linux/falloc.h>

/* The file is about to be given this range, its size with it. */
static unsigned growing(int fd, off64_t offset, off64_t length)
{
	int unused;

	return window_growing(fd, offset < 0 || length <= 0 || length > INT64_MAX - offset ? 0 : offset + length,
			      &unused);
}

static struct extent range_of(off64_t offset, off64_t length)
{
	return (struct extent){offset, (off64_t)((unsigned long long)offset + (unsigned long long)length)};
}

/* The errno to return, or RESERVE_PASS. */
static int answer_posix_fallocate(int fd, off64_t offset, off64_t length)
{
	uint64_t started = report_clock();
	enum answer answer;
	int error;

	do
		error = reserve_posix_fallocate(fd, offset, length, &answer);
	while (is_about_space(error) && window_relieve());
	report_call(CALL_POSIX_FALLOCATE, fd, range_of(offset, length), error < 0 ? ANSWER_PASSED : answer, error,
		    started);
	return error;
}

HOOK int posix_fallocate(int fd, off_t offset, off_t length)
{
	unsigned known;
	int error;

	RETURN_IF_WATCHED(GROWTH_POSIX_FALLOCATE, fd, NULL, did ? -1 : length,
			  real.posix_fallocate(fd, offset, length));
	known = growing(fd, offset, length);
	error = library_is_active() ? answer_posix_fallocate(fd, offset, length) : RESERVE_PASS;
	if (error == RESERVE_PASS)
		error = real.posix_fallocate(fd, offset, length);
	window_changed(known);
	return error;
}

HOOK int posix_fallocate64(int fd, off64_t offset, off64_t length)
{
	unsigned known;
	int error;

	RETURN_IF_WATCHED(GROWTH_POSIX_FALLOCATE, fd, NULL, did ? -1 : length,
			  real.posix_fallocate64(fd, offset, length));
	known = growing(fd, offset, length);
	error = library_is_active() ? answer_posix_fallocate(fd, offset, length) : RESERVE_PASS;
	if (error == RESERVE_PASS)
		error = real.posix_fallocate64(fd, offset, length);
	window_changed(known);
	return error;
}

/* What the program preallocates past EOF is not ours to trim: our own blocks go before it does.
 * An insertion would move them behind where we know them. */
static unsigned changing(int fd, int mode, off64_t offset, off64_t length)
{
	if (mode == 0)
		return growing(fd, offset, length);
	if ((mode & FALLOC_FL_KEEP_SIZE && !(mode & FALLOC_FL_PUNCH_HOLE)) || mode & FALLOC_FL_INSERT_RANGE)
		window_end(fd);
	return window_changing(fd);
}

static int answer_fallocate(int fd, int mode, off64_t offset, off64_t length)
{
	uint64_t started = report_clock();
	enum answer answer = ANSWER_PASSED;
	int error;

	do
		error = mode == 0 ? reserve_fallocate(fd, offset, length, &answer) : RESERVE_PASS;
	while (is_about_space(error) && window_relieve());
	report_call(CALL_FALLOCATE, fd, range_of(offset, length), error < 0 ? ANSWER_PASSED : answer, error, started);
	return error;
}

HOOK int fallocate(int fd, int mode, off_t offset, off_t length)
{
	unsigned known;
	int error;

	RETURN_IF_WATCHED(GROWTH_FALLOCATE, fd, NULL, did < 0 ? -1 : length, real.fallocate(fd, mode, offset, length));
	known = changing(fd, mode, offset, length);
	error = library_is_active() ? answer_fallocate(fd, mode, offset, length) : RESERVE_PASS;
	if (error == RESERVE_PASS)
		error = WITH_SPACE(int, real.fallocate(fd, mode, offset, length));
	else if (error)
		error = hook_fail(error);
	window_changed(known);
	return error;
}

HOOK int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	unsigned known;
	int error;

	RETURN_IF_WATCHED(GROWTH_FALLOCATE, fd, NULL, did < 0 ? -1 : length,
			  real.fallocate64(fd, mode, offset, length));
	known = changing(fd, mode, offset, length);
	error = library_is_active() ? answer_fallocate(fd, mode, offset, length) : RESERVE_PASS;
	if (error == RESERVE_PASS)
		error = WITH_SPACE(int, real.fallocate64(fd, mode, offset, length));
	else if (error)
		error = hook_fail(error);
	window_changed(known);
	return error;
}
