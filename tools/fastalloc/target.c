#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "policy.h"

int target_look(const char *dir, struct target *target)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;
	struct statvfs space;
	struct statx stx;
	struct file file;

	if (fd < 0)
		return errno;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0 || fstatvfs(fd, &space) < 0)
		error = errno;
	else if (mounts_find(stx.stx_mnt_id, !!(stx.stx_mask & STATX_MNT_ID), stx.stx_dev_major, stx.stx_dev_minor,
			     &target->mount))
		target->mount = (struct mount){.point = ""};
	if (!error)
		error = policy_of(fd, NULL, &file);
	close(fd);
	if (error)
		return error;
	target->traits = file.traits;
	target->size = (unsigned long long)space.f_blocks * space.f_frsize;
	target->free = (unsigned long long)space.f_bavail * space.f_frsize;
	return space.f_flag & ST_RDONLY ? EROFS : 0;
}

static int is_supported(int fd, int mode)
{
	return fallocate(fd, mode, 0, 4096) == 0 || (errno != EOPNOTSUPP && errno != ENOSYS);
}

int target_try(int directory, struct target *target)
{
	int fd = openat(directory, "try", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	target->has_keep_size = is_supported(fd, FALLOC_FL_KEEP_SIZE);
	target->has_fallocate = is_supported(fd, 0);
	close(fd);
	return unlinkat(directory, "try", 0) < 0 ? errno : 0;
}

const char *target_unfit(const struct target *target)
{
	if (target->traits & TRAIT_MEMORY)
		return "files are in memory here: there is nothing to tune";
	if (target->size == 0)
		return "it does not tell how much space is free";
	if (target->mount.point[0] == '\0')
		return "its mount is not listed in /proc/self/mountinfo, or has too long a path for preload.conf";
	for (const char *at = target->mount.point; *at; at++)
		if (*at == '"' || *at == '\n')
			return "its mount point has a quote or a newline, which preload.conf cannot name";
	return NULL;
}
