#include "reserve.h"

#include <linux/falloc.h>

#include "delay.h"
#include "fill.h"
#include "room.h"
#include "sys.h"

int reserve_vet(int fd, struct extent want)
{
	/* vfs_fallocate makes every check on descriptor and range before the file
	 * system is asked, and none of those with TRAIT_LEAKS knows UNSHARE_RANGE. */
	unsigned interrupted = 0;
	int error;

	do
		error = -sys_fallocate(fd, FALLOC_FL_UNSHARE_RANGE, want.start, want.end - want.start);
	while (sys_interrupted(-error, &interrupted));
	return error == EOPNOTSUPP ? 0 : error;
}

/* fallocate(2), mode 0, going on after signals: smaller steps keep what was
 * reached, since some file systems (tmpfs) undo an interrupted call. */
static int native(int fd, struct extent want)
{
	const off64_t least = 1 << 20;
	off64_t step = want.end - want.start;
	unsigned interrupted = 0;
	int error;

	do {
		struct extent part = {want.start, want.start + extent_min(step, want.end - want.start)};

		error = -sys_fallocate(fd, 0, part.start, part.end - part.start);
		if (error == EINTR)
			step = step / 2 > least ? step / 2 : extent_min(step, least);
		else
			want.start = part.end, interrupted = 0;
	} while (sys_interrupted(-error, &interrupted) || (!error && want.start < want.end));
	return error;
}

int reserve(int fd, struct extent want, const struct file *file, enum answer *answer)
{
	int error;

	*answer = ANSWER_FALLOCATE;
	if (file->traits & TRAIT_LEAKS && S_ISREG(file->mode) && room_for(fd, want, file)) {
		error = reserve_vet(fd, want);
		*answer = ANSWER_REFUSED;
		if (error != EPERM) /* of immutable files, but of append-only ones too, which mode 0 may extend */
			return error ? error : ENOSPC;
		*answer = ANSWER_FALLOCATE;
	}
	DELAY();
	error = native(fd, want);
	if (error != EOPNOTSUPP && error != ENOSYS)
		return error;
	if (!S_ISREG(file->mode)) /* block devices, for one: libc says ENODEV */
		return RESERVE_PASS;
	DELAY();
	error = fill(fd, want, file, answer);
	/* A sandbox forbids our calls, with either; libc's way may be open. A file system that
	 * means EPERM says it again. */
	if ((error == EPERM || error == ENOSYS) && *answer == ANSWER_REFUSED)
		return RESERVE_PASS;
	return error;
}

/* The checks of vfs_fallocate (fs/open.c), in its order, for where it is not asked. */
static int check(int fd, off64_t offset, off64_t length, const struct file *file)
{
	int flags = sys_fcntl(fd, F_GETFL, NULL);

	if (flags < 0)
		return RESERVE_PASS;
	if (flags & O_PATH)
		return EBADF;
	if (offset < 0 || length <= 0)
		return EINVAL;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return EBADF;
	if (S_ISFIFO(file->mode))
		return ESPIPE;
	if (S_ISDIR(file->mode))
		return EISDIR;
	if (!S_ISREG(file->mode))
		return ENODEV;
	return length > INT64_MAX - offset ? EFBIG : 0;
}

static int extend_only(int fd, off64_t offset, off64_t length, const struct file *file)
{
	int error = check(fd, offset, length, file);

	return error ? error : fill_claim(fd, offset + length);
}

/* A range that the kernel would not take is handed to it all the same, for its errno. */
static int reserve_range(int fd, off64_t offset, off64_t length, const struct file *file, enum answer *answer)
{
	struct extent want;

	if (offset < 0 || length <= 0 || length > INT64_MAX - offset)
		return RESERVE_PASS;
	want.start = offset;
	want.end = offset + length;
	return reserve(fd, want, file, answer);
}

int reserve_posix_fallocate(int fd, off64_t offset, off64_t length, enum answer *answer)
{
	struct file file;

	*answer = ANSWER_PASSED;
	if (policy_of(fd, NULL, &file))
		return RESERVE_PASS;
	switch (file.policy.value[KEY_POSIX_FALLOCATE]) {
	case POSIX_FALLOCATE_REFUSE:
		*answer = ANSWER_REFUSED;
		return EOPNOTSUPP;
	case POSIX_FALLOCATE_SPARSE:
		*answer = ANSWER_SPARSE;
		return extend_only(fd, offset, length, &file);
	case POSIX_FALLOCATE_NATIVE:
		return RESERVE_PASS;
	default:
		return reserve_range(fd, offset, length, &file, answer);
	}
}

int reserve_fallocate(int fd, off64_t offset, off64_t length, enum answer *answer)
{
	struct file file;

	*answer = ANSWER_PASSED;
	if (!policy_may_differ(KEY_FALLOCATE, FALLOCATE_NATIVE) || policy_of(fd, NULL, &file) ||
	    file.policy.value[KEY_FALLOCATE] == FALLOCATE_NATIVE)
		return RESERVE_PASS;
	return reserve_range(fd, offset, length, &file, answer);
}
