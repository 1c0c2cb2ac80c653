/* mounts.h: /proc/self/mountinfo: mount id -> type, NFS version, options. */
#ifndef FASTALLOC_MOUNTS_H
#define FASTALLOC_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

#define MOUNT_POINT_MAX 512

struct mount {
	uint64_t id;                 /* as in statx's stx_mnt_id (without STATX_MNT_ID_UNIQUE) */
	unsigned major, minor;       /* of the file system's device */
	int synchronous;             /* mounted with "sync" */
	char fstype[40];             /* the finest name: "ext4", "nfs4.2", "fuse.sshfs" */
	const char *family;          /* the wider name, "nfs" or "fuse", or NULL */
	char point[MOUNT_POINT_MAX]; /* empty where it is longer than that */
};

/* Parse one line of mountinfo (proc_pid_mountinfo(5)), without its newline.
 * Returns 0, or EINVAL. */
int mounts_parse(const char *line, size_t length, struct mount *mount);

/* Find the mount with this id or, where by_id is 0 (kernels before 5.8 do not
 * tell it), the first on that device. Returns 0, or a positive errno: ENOENT
 * where there is none, as for memfd, or what reading /proc answered.
 * Async-signal-safe. Other mounts are not touched, so a dead server in the
 * list cannot hang us. */
int mounts_find(uint64_t id, int by_id, unsigned major, unsigned minor, struct mount *mount);

#endif
