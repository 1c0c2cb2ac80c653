#include "mounts.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mount mount;

/* From a copy without a byte to spare, so that reading on behind it is seen. */
static int parse(const char *line)
{
	size_t length = strlen(line);
	char *copy = malloc(length ? length : 1);
	int error;

	cr_assert_not_null(copy);
	memcpy(copy, line, length);
	memset(&mount, 0x55, sizeof(mount));
	error = mounts_parse(copy, length, &mount);
	free(copy);
	return error;
}

static void parses(const char *line, const char *fstype, const char *family)
{
	cr_assert_eq(parse(line), 0, "%s", line);
	cr_expect_str_eq(mount.fstype, fstype, "%s: %s, not %s", line, mount.fstype, fstype);
	if (family) {
		cr_assert_not_null(mount.family, "%s: no family", line);
		cr_expect_str_eq(mount.family, family);
	} else {
		cr_expect_null(mount.family, "%s: family", line);
	}
}

Test(parse, id_device_and_point)
{
	cr_assert_eq(parse("36 35 98:17 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"), 0);
	cr_expect_eq(mount.id, 36);
	cr_expect_eq(mount.major, 98);
	cr_expect_eq(mount.minor, 17);
	cr_expect_str_eq(mount.point, "/mnt2");
	cr_expect_str_eq(mount.fstype, "ext3");
	cr_expect_null(mount.family);
	cr_expect_eq(mount.synchronous, 0);
}

Test(parse, large_mount_id)
{
	cr_assert_eq(parse("2147483648 35 4095:1048575 / / rw - ext4 /dev/root rw"), 0);
	cr_expect_eq(mount.id, 2147483648);
	cr_expect_eq(mount.major, 4095);
	cr_expect_eq(mount.minor, 1048575);
}

Test(parse, nfs_versions)
{
	parses("40 1 0:50 / /n rw - nfs server:/ rw,vers=3,rsize=1048576", "nfs3", "nfs");
	parses("40 1 0:50 / /n rw - nfs server:/ rw,vers=2", "nfs2", "nfs");
	parses("40 1 0:50 / /n rw - nfs4 server:/ rw,vers=4.0,rsize=1048576", "nfs4.0", "nfs");
	parses("40 1 0:50 / /n rw - nfs4 server:/ rw,relatime,vers=4.1", "nfs4.1", "nfs");
	parses("40 1 0:50 / /n rw - nfs4 server:/ rw,relatime,vers=4.2,proto=tcp", "nfs4.2", "nfs");
	parses("40 1 0:50 / /n rw - nfs4 server:/ vers=4,rw", "nfs4.0", "nfs");
}

Test(parse, nfs_version_is_not_mountvers_or_nfsvers_suffix)
{
	parses("40 1 0:50 / /n rw - nfs server:/ rw,mountvers=1,vers=3,mountproto=tcp", "nfs3", "nfs");
}

Test(parse, nfs_without_version)
{
	parses("40 1 0:50 / /n rw - nfs server:/ rw", "nfs", "nfs");
	parses("40 1 0:50 / /n rw - nfs4 server:/ rw", "nfs4", "nfs");
}

Test(parse, nfsd_is_not_nfs)
{
	parses("40 1 0:50 / /proc/fs/nfsd rw - nfsd nfsd rw", "nfsd", NULL);
}

Test(parse, overlong_nfs_version_is_cut)
{
	cr_assert_eq(parse("40 1 0:50 / /n rw - nfs s:/ vers=4.2222222222222222222222222222222222222222222222222"), 0);
	cr_expect_eq(strlen(mount.fstype), sizeof(mount.fstype) - 1);
}

Test(parse, fuse_family)
{
	parses("40 1 0:50 / /f rw - fuse program rw,user_id=0", "fuse", "fuse");
	parses("40 1 0:50 / /f rw - fuse.sshfs host: rw,user_id=0", "fuse.sshfs", "fuse");
	parses("40 1 8:1 / /f rw - fuseblk /dev/sda1 rw,user_id=0", "fuseblk", "fuse");
	parses("40 1 0:50 / /sys/fs/fuse/connections rw - fusectl fusectl rw", "fusectl", NULL);
}

Test(parse, version_option_of_others_is_not_theirs)
{
	parses("40 1 0:50 / /c rw - cifs //server/share rw,vers=3.0", "cifs", NULL);
	parses("40 1 0:50 / /9 rw - 9p share rw,version=9p2000.L", "9p", NULL);
}

Test(parse, escapes_in_the_mount_point)
{
	cr_assert_eq(parse("36 35 98:0 / /with\\040blank rw - ext4 /dev/root rw"), 0);
	cr_expect_str_eq(mount.point, "/with blank");
	cr_assert_eq(parse("36 35 98:0 / /a\\011b\\012c\\134d rw - ext4 /dev/root rw"), 0);
	cr_expect_str_eq(mount.point, "/a\tb\nc\\d");
	cr_assert_eq(parse("36 35 98:0 / /end\\040 rw - ext4 /dev/root rw"), 0);
	cr_expect_str_eq(mount.point, "/end ");
}

Test(parse, a_backslash_without_three_octal_digits_is_itself)
{
	cr_assert_eq(parse("36 35 98:0 / /a\\9z\\04\\/// rw - ext4 /dev/root rw"), 0);
	cr_expect_str_eq(mount.point, "/a\\9z\\04\\///");
	cr_assert_eq(parse("36 35 98:0 / /b\\04 rw - ext4 /dev/root rw"), 0);
	cr_expect_str_eq(mount.point, "/b\\04");
}

Test(parse, optional_fields_none_one_several)
{
	parses("36 35 98:0 / / rw - ext4 /dev/root rw", "ext4", NULL);
	parses("36 35 98:0 / / rw shared:1 - ext4 /dev/root rw", "ext4", NULL);
	parses("36 35 98:0 / / rw shared:1 master:2 propagate_from:3 unbindable - ext4 /dev/root rw", "ext4", NULL);
}

Test(parse, source_missing_or_a_dash)
{
	parses("36 35 98:0 / / rw - tmpfs - rw", "tmpfs", NULL);
	/* A source that is the empty string stands as nothing between two blanks. */
	parses("36 35 98:0 / / rw - tmpfs  rw,sync", "tmpfs", NULL);
	cr_expect_eq(mount.synchronous, 1);
}

Test(parse, sync_among_mount_or_super_options)
{
	parses("36 35 98:0 / / rw,sync,noatime - ext4 /dev/root rw", "ext4", NULL);
	cr_expect_eq(mount.synchronous, 1);
	parses("36 35 98:0 / / rw - vfat /dev/root rw,sync", "vfat", NULL);
	cr_expect_eq(mount.synchronous, 1);
	parses("36 35 98:0 / / sync - vfat /dev/root rw", "vfat", NULL);
	cr_expect_eq(mount.synchronous, 1);
}

Test(parse, dirsync_async_and_the_like_are_not_sync)
{
	parses("36 35 98:0 / / rw,dirsync,async - ext4 /dev/root rw,dirsync,async,nosync,synchronous", "ext4", NULL);
	cr_expect_eq(mount.synchronous, 0);
}

static void long_point(size_t length, char *line, size_t size)
{
	char point[8192];

	memset(point, 'x', length);
	point[0] = '/';
	point[length] = '\0';
	snprintf(line, size, "36 35 98:0 / %s rw - ext4 /dev/root rw", point);
}

Test(parse, longest_mount_point)
{
	char line[9000];

	long_point(MOUNT_POINT_MAX - 1, line, sizeof(line));
	cr_assert_eq(parse(line), 0);
	cr_expect_eq(strlen(mount.point), MOUNT_POINT_MAX - 1);
}

Test(parse, too_long_mount_point_is_empty_and_the_rest_is_right)
{
	char line[9000];

	for (size_t length = MOUNT_POINT_MAX; length < 4200; length += 513) {
		long_point(length, line, sizeof(line));
		parses(line, "ext4", NULL);
		cr_expect_str_empty(mount.point);
		cr_expect_eq(mount.id, 36);
	}
}

Test(parse, malformed_lines)
{
	static const char *const lines[] = {
		"",
		" ",
		"-",
		"36",
		"36 35",
		"36 35 98:0",
		"36 35 98",
		"x 35 98:0 / / rw - ext4 /dev/root rw",
		"36 35 98 / / rw - ext4 /dev/root rw",
		"36 35 98: / / rw - ext4 /dev/root rw",
		"36 35 :0 / / rw - ext4 /dev/root rw",
		"36 35 a:b / / rw - ext4 /dev/root rw",
		"36 35 98:0 / / rw",
		"36 35 98:0 / / rw shared:1",
		"36 35 98:0 / / rw -",
		"36 35 98:0 / / rw - ",
		" 36 35 98:0 / / rw - ext4 /dev/root rw",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_eq(parse(lines[i]), EINVAL, "accepted: '%s'", lines[i]);
}

/* Whatever is cut off, and wherever: no crash, and nothing read beyond. */
Test(parse, every_prefix_of_a_line)
{
	const char *line = "36 35 98:0 /r\\040 /p\\040q\\134 rw,sync shared:1 - nfs4 server:/ rw,vers=4.2";
	char prefix[128];

	for (size_t length = 0; length <= strlen(line); length++) {
		memcpy(prefix, line, length);
		prefix[length] = '\0';
		parse(prefix);
	}
}

static void find_by_path(const char *path, int *error, struct statx *stx)
{
	cr_assert_eq(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_MNT_ID, stx), 0);
	*error = mounts_find(stx->stx_mnt_id, 1, stx->stx_dev_major, stx->stx_dev_minor, &mount);
}

Test(find, root_by_id)
{
	struct statx stx;
	int error;

	find_by_path("/", &error, &stx);
	cr_assert_eq(error, 0);
	cr_expect_eq(mount.id, stx.stx_mnt_id);
	cr_expect_str_eq(mount.point, "/");
	cr_expect_str_not_empty(mount.fstype);
}

Test(find, proc_by_id)
{
	struct statx stx;
	int error;

	find_by_path("/proc/self/mountinfo", &error, &stx);
	cr_assert_eq(error, 0);
	cr_expect_str_eq(mount.fstype, "proc");
	cr_expect_str_eq(mount.point, "/proc");
}

Test(find, by_device_where_there_is_no_id)
{
	struct statx stx;

	cr_assert_eq(statx(AT_FDCWD, "/proc", 0, STATX_BASIC_STATS, &stx), 0);
	cr_assert_eq(mounts_find(0, 0, stx.stx_dev_major, stx.stx_dev_minor, &mount), 0);
	cr_expect_str_eq(mount.fstype, "proc");
}

Test(find, memfd_is_on_no_mount)
{
	int fd = memfd_create("find", MFD_CLOEXEC);
	struct statx stx;

	cr_assert_geq(fd, 0);
	cr_assert_eq(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &stx), 0);
	cr_expect_eq(mounts_find(stx.stx_mnt_id, 1, stx.stx_dev_major, stx.stx_dev_minor, &mount), ENOENT);
}

Test(find, neither_leaks_a_descriptor_nor_touches_errno)
{
	int before = open("/", O_RDONLY), after;
	struct statx stx;
	int error;

	close(before);
	errno = 77;
	mounts_find(UINT64_MAX, 1, 0, 0, &mount);
	cr_expect_eq(errno, 77);
	find_by_path("/", &error, &stx);
	after = open("/", O_RDONLY);
	cr_expect_eq(after, before);
	close(after);
}
