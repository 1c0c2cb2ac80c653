#include "room.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/quota.h>

#include "sys.h"

/* ext4 and others keep some blocks (f_bfree - f_bavail in statfs(2)) for whoever has CAP_SYS_RESOURCE,
 * and for root without it. That is by the fsuid, which only setfsuid(2) tells, and filters kill for. */
static int may_use_reserve(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uid_t real, effective, saved;

	if (sys_getresuid(&real, &effective, &saved) < 0 || effective == 0)
		return 1;
	memset(data, 0, sizeof(data));
	if (SYS2(SYS_capget, &header, data) < 0)
		return 1; /* not knowing, do not refuse */
	return !!(data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective & CAP_TO_MASK(CAP_SYS_RESOURCE));
}

/* Bytes of holes in want, exactly. Returns -1 where the file system cannot tell. */
static off64_t holes_in(int fd, struct extent want)
{
	off64_t missing = 0;
	struct extent hole;

	while (want.start < want.end) {
		if (extent_next_hole(fd, want, &hole))
			return -1;
		missing += extent_length(hole);
		want.start = hole.end;
	}
	return missing;
}

/* Without a map of the file: below EOF everything allocated may lie in the
 * range, past it only what is allocated beyond the size. */
static off64_t least_missing(struct extent want, const struct file *file)
{
	struct extent below = {want.start, extent_min(want.end, file->size)};
	struct extent past = {extent_max(want.start, file->size), want.end};

	if (file->traits & TRAIT_DENSE)
		return extent_max(want.end - file->allocated, 0);
	return extent_max(extent_length(below) - file->allocated, 0) +
	       extent_max(extent_length(past) - extent_max(file->allocated - file->size, 0), 0);
}

int room_for(int fd, struct extent want, const struct file *file)
{
	off64_t need = extent_length(want), missing;
	struct statfs64 fs;
	uint64_t unit;

	if (file->traits & TRAIT_DENSE)
		need = extent_max(want.end - file->allocated, 0);
	if (sys_fstatfs(fd, &fs) < 0 || fs.f_blocks == 0)
		return 0;
	unit = (uint64_t)(fs.f_frsize ? fs.f_frsize : fs.f_bsize);
	if (unit == 0) /* a FUSE server may say anything */
		return 0;
	if ((uint64_t)need / unit < fs.f_bavail)
		return 0;
	missing = holes_in(fd, want);
	if (missing < 0)
		missing = least_missing(want, file);
	if ((uint64_t)missing <= (may_use_reserve() ? fs.f_bfree : fs.f_bavail) * unit)
		return 0;
	return ENOSPC;
}

int room_quota_reached(int fd)
{
#ifdef SYS_quotactl_fd /* Linux 5.14 */
	static const int kinds[] = {USRQUOTA, GRPQUOTA};
	struct statx stx;
	struct dqblk quota;

	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_GID, &stx) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		unsigned id = kinds[i] == USRQUOTA ? stx.stx_uid : stx.stx_gid;

		if (SYS4(SYS_quotactl_fd, fd, QCMD((unsigned)Q_GETQUOTA, kinds[i]), id, &quota) < 0)
			continue;
		/* The limit counts blocks of 1 KiB, the use bytes (quotactl(2)). The last
		 * block may not have fitted, so within a page of it is reached. */
		if (quota.dqb_bhardlimit && quota.dqb_curspace + 65536 >= quota.dqb_bhardlimit * 1024)
			return 1;
	}
#else
	(void)fd;
#endif
	return 0;
}
