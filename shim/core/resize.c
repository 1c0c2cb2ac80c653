#include "resize.h"

#include <linux/falloc.h>
#include <stdatomic.h>
#include <string.h>

#include "bytes.h"
#include "delay.h"
#include "policy.h"
#include "reserve.h"
#include "room.h"
#include "sys.h"

static atomic_int restricted;

void resize_restricted(void)
{
	atomic_store(&restricted, 1);
}

static int is_nfs(const struct file *file)
{
	return bytes_behind("nfs", file->fstype) != NULL;
}

/* Is this growth one that the policy wants allocated? */
static int concerns(const struct file *file, off64_t length)
{
	return file->policy.value[KEY_FTRUNCATE] != FTRUNCATE_NATIVE && S_ISREG(file->mode) && length > file->size &&
	       (uint64_t)(length - file->size) <= file->policy.value[KEY_FTRUNCATE_MAX] &&
	       (file->traits & (TRAIT_KNOWN | TRAIT_SYNCHRONOUS | TRAIT_MEMORY)) == TRAIT_KNOWN &&
	       (uint64_t)length <= sys_file_size_limit();
}

static int preallocate(int fd, struct extent growth, const struct file *file, enum answer *answer)
{
	int error;

	if (room_for(fd, growth, file)) {
		/* Without holes it cannot fit: say so before clusters are taken, unless
		 * the kernel has another reason to refuse (EFBIG past 4 GiB - 1). */
		if (file->traits & TRAIT_DENSE && !reserve_vet(fd, growth)) {
			*answer = ANSWER_REFUSED;
			return ENOSPC;
		}
		return RESIZE_GO_ON;
	}
	DELAY();
	error = -sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, growth.start, growth.end - growth.start);
	/* The NFS client has no KEEP_SIZE, in any version (fs/nfs/nfs4file.c). */
	if (error == EOPNOTSUPP && is_nfs(file))
		error = -sys_fallocate(fd, 0, growth.start, growth.end - growth.start);
	*answer = error ? ANSWER_PASSED : ANSWER_FALLOCATE;
	return RESIZE_GO_ON;
}

static int allocate(int fd, struct extent growth, const struct file *file, enum answer *answer)
{
	/* Where it may be forbidden that comes first, or what was allocated for it would stay. */
	int is_resized = atomic_load(&restricted), error;
	unsigned interrupted = 0;

	if (room_for(fd, growth, file)) {
		*answer = ANSWER_REFUSED;
		return ENOSPC;
	}
	if (is_resized) {
		error = -sys_ftruncate(fd, growth.end);
		if (error)
			return error;
	}
	DELAY();
	do
		error = -sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, growth.start, growth.end - growth.start);
	while (sys_interrupted(-error, &interrupted));
	*answer = ANSWER_FALLOCATE;
	if (error != EOPNOTSUPP && error != ENOSYS)
		return error ? error : is_resized ? RESIZE_DONE : RESIZE_GO_ON;
	DELAY();
	/* This also sets the size; setting it again, later, could cut off what was
	 * appended behind it meanwhile. */
	error = reserve(fd, growth, file, answer);
	return error ? (error == RESERVE_PASS ? EOPNOTSUPP : error) : RESIZE_DONE;
}

static int prepare(int fd, off64_t length, const struct file *file, enum answer *answer)
{
	struct extent growth = {file->size, length};
	int flags = sys_fcntl(fd, F_GETFL, NULL);

	if (flags < 0 && file->policy.value[KEY_FTRUNCATE] == FTRUNCATE_ALLOCATE)
		return -flags; /* not knowing, do not leave it sparse */
	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return RESIZE_GO_ON; /* to the kernel's EINVAL or EBADF */
	if (file->policy.value[KEY_FTRUNCATE] == FTRUNCATE_PREALLOCATE)
		return atomic_load(&restricted) ? RESIZE_GO_ON : preallocate(fd, growth, file, answer);
	return allocate(fd, growth, file, answer);
}

int resize_prepare(int fd, off64_t length, enum answer *answer)
{
	struct file file;

	*answer = ANSWER_PASSED;
	if (length <= 0 || !policy_may_differ(KEY_FTRUNCATE, FTRUNCATE_NATIVE) || policy_of(fd, NULL, &file) ||
	    !concerns(&file, length))
		return RESIZE_GO_ON;
	return prepare(fd, length, &file, answer);
}

/* A line of /proc/locks, "7: POSIX  ADVISORY  WRITE 737 08:01:1234 0 9": does it name
 * this process? The device is no help, as overlayfs and btrfs show another there; a range
 * that happens to be our number is taken for it, in doubt. */
static int names_process(const char *line, size_t length, int pid)
{
	const char *at = line, *end = line + length;

	if (!bytes_find(line, length, "POSIX")) /* closing drops no flock and no OFD lock */
		return 0;
	while (at < end) {
		int value = 0;

		while (at < end && *at == ' ')
			at++;
		while (at < end && *at >= '0' && *at <= '9')
			value = value * 10 + (*at++ - '0');
		if ((at == end || *at == ' ') && value == pid)
			return 1;
		while (at < end && *at != ' ')
			at++;
	}
	return 0;
}

#define LOCKS_BUFFER (64 << 10)

/* Does this process hold any record lock? Closing a descriptor drops its own on that
 * file (fcntl(2)), even one that was only opened to ask. Yes in doubt. */
static int holds_locks(void)
{
	char *buffer = sys_mmap(LOCKS_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, locked = 0, pid = sys_getpid();
	size_t used = 0;
	ssize_t got;

	if (sys_map_failed(buffer))
		return 1;
	fd = sys_open("/proc/locks", O_RDONLY | O_CLOEXEC, 0);
	while (fd >= 0 && !locked && used < LOCKS_BUFFER &&
	       (got = sys_read(fd, buffer + used, LOCKS_BUFFER - used)) > 0) {
		char *at = buffer, *newline;

		used += (size_t)got;
		for (; (newline = memchr(at, '\n', used - (size_t)(at - buffer))); at = newline + 1)
			locked |= names_process(at, (size_t)(newline - at), pid);
		used -= (size_t)(at - buffer);
		memmove(buffer, at, used);
	}
	if (fd >= 0)
		sys_close(fd);
	sys_munmap(buffer, LOCKS_BUFFER);
	return fd < 0 || locked || used == LOCKS_BUFFER;
}

int resize_prepare_path(const char *path, off64_t length, enum answer *answer)
{
	struct file file;
	int fd, result;

	*answer = ANSWER_PASSED;
	if (length <= 0 || !path || !policy_may_differ(KEY_FTRUNCATE, FTRUNCATE_NATIVE) ||
	    policy_of(AT_FDCWD, path, &file) || !concerns(&file, length))
		return RESIZE_GO_ON;
	if (holds_locks())
		return file.policy.value[KEY_FTRUNCATE] == FTRUNCATE_ALLOCATE ? EBUSY : RESIZE_GO_ON;
	fd = sys_open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return RESIZE_GO_ON;
	result = prepare(fd, length, &file, answer);
	sys_close(fd);
	return result;
}
