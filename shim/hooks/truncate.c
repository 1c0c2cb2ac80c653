/* ftruncate and truncate: allocate what is about to be added, then grow. */
#include "hook.h"
#include "resize.h"
#include "space.h"
#include "watched.h"
#include "window.h"

static int answer_ftruncate(int fd, off64_t length)
{
	uint64_t started = report_clock();
	enum answer answer;
	int result;

	do
		result = resize_prepare(fd, length, &answer);
	while (is_about_space(result) && window_relieve());
	report_call(CALL_FTRUNCATE, fd, (struct extent){0, length}, answer, result, started);
	return result;
}

static int answer_truncate(const char *path, off64_t length)
{
	uint64_t started = report_clock();
	enum answer answer;
	int result;

	do
		result = resize_prepare_path(path, length, &answer);
	while (is_about_space(result) && window_relieve());
	report_call(CALL_TRUNCATE, -1, (struct extent){0, length}, answer, result, started);
	return result;
}

HOOK int ftruncate(int fd, off_t length)
{
	int allocated, result;
	unsigned known;

	RETURN_IF_WATCHED(GROWTH_FTRUNCATE, fd, NULL, did < 0 ? -1 : length, real.ftruncate(fd, length));
	known = window_growing(fd, length, &allocated);
	result = library_is_active() && !allocated ? answer_ftruncate(fd, length) : RESIZE_GO_ON;
	if (result == RESIZE_GO_ON)
		result = WITH_SPACE(int, real.ftruncate(fd, length));
	else
		result = result > 0 ? hook_fail(result) : 0;
	window_changed(known);
	return result;
}

HOOK int ftruncate64(int fd, off64_t length)
{
	int allocated, result;
	unsigned known;

	RETURN_IF_WATCHED(GROWTH_FTRUNCATE, fd, NULL, did < 0 ? -1 : length, real.ftruncate64(fd, length));
	known = window_growing(fd, length, &allocated);
	result = library_is_active() && !allocated ? answer_ftruncate(fd, length) : RESIZE_GO_ON;
	if (result == RESIZE_GO_ON)
		result = WITH_SPACE(int, real.ftruncate64(fd, length));
	else
		result = result > 0 ? hook_fail(result) : 0;
	window_changed(known);
	return result;
}

HOOK int truncate(const char *path, off_t length)
{
	int result;

	RETURN_IF_WATCHED(GROWTH_FTRUNCATE, AT_FDCWD, path, did < 0 ? -1 : length, real.truncate(path, length));
	result = library_is_active() ? answer_truncate(path, length) : RESIZE_GO_ON;
	if (result == RESIZE_GO_ON)
		return WITH_SPACE(int, real.truncate(path, length));
	return result > 0 ? hook_fail(result) : 0;
}

HOOK int truncate64(const char *path, off64_t length)
{
	int result;

	RETURN_IF_WATCHED(GROWTH_FTRUNCATE, AT_FDCWD, path, did < 0 ? -1 : length, real.truncate64(path, length));
	result = library_is_active() ? answer_truncate(path, length) : RESIZE_GO_ON;
	if (result == RESIZE_GO_ON)
		return WITH_SPACE(int, real.truncate64(path, length));
	return result > 0 ? hook_fail(result) : 0;
}
