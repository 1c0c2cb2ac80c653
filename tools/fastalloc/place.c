#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "policy.h"

/* As Linux is; what is not listed is not known. */
static const struct {
	const char *fstype;
	enum support support;
} supports[] = {
	{"btrfs", SUPPORT_YES},     {"ext4", SUPPORT_YES},      {"f2fs", SUPPORT_YES},    {"gfs2", SUPPORT_YES},
	{"hugetlbfs", SUPPORT_YES}, {"msdos", SUPPORT_YES},     {"ocfs2", SUPPORT_YES},   {"tmpfs", SUPPORT_YES},
	{"vfat", SUPPORT_YES},      {"xfs", SUPPORT_YES},       {"9p", SUPPORT_NO},       {"affs", SUPPORT_NO},
	{"ext2", SUPPORT_NO},       {"ext3", SUPPORT_NO},       {"hfs", SUPPORT_NO},      {"hfsplus", SUPPORT_NO},
	{"jffs2", SUPPORT_NO},      {"jfs", SUPPORT_NO},        {"minix", SUPPORT_NO},    {"nfs2", SUPPORT_NO},
	{"nfs3", SUPPORT_NO},       {"nfs4.0", SUPPORT_NO},     {"nfs4.1", SUPPORT_NO},   {"nilfs2", SUPPORT_NO},
	{"ramfs", SUPPORT_NO},      {"reiserfs", SUPPORT_NO},   {"ubifs", SUPPORT_NO},    {"udf", SUPPORT_NO},
	{"cifs", SUPPORT_SERVER},   {"nfs4.2", SUPPORT_SERVER}, {"smb3", SUPPORT_SERVER}, {"overlay", SUPPORT_LOWER},
};

/* The directory that given is to be made in, to looked_at; and its path. Returns 0 or an errno. */
static int find_parent(struct place *place)
{
	size_t length = strlen(place->given);
	char directory[PATH_MAX], name[PATH_MAX];
	struct stat st;

	if (length >= sizeof(name))
		return ENAMETOOLONG;
	if (!length || place->given[length - 1] == '/' || !lstat(place->given, &st))
		return ENOENT;                       /* also where a symbolic link leads nowhere */
	memcpy(directory, place->given, length + 1); /* dirname and basename change theirs */
	memcpy(name, place->given, length + 1);
	if (!realpath(dirname(directory), place->looked_at))
		return errno;
	snprintf(place->path, sizeof(place->path), "%s/%s", strcmp(place->looked_at, "/") ? place->looked_at : "",
		 basename(name));
	return 0;
}

static int find_path(struct place *place)
{
	if (!realpath(place->given, place->looked_at))
		return errno == ENOENT ? find_parent(place) : errno;
	place->exists = 1;
	memcpy(place->path, place->looked_at, sizeof(place->looked_at));
	return 0;
}

/* Rules see a file; any that no glob has in mind will do. */
static void stand_for_files(struct place *place)
{
	place->is_directory = 1;
	snprintf(place->path, sizeof(place->path), "%s/(any file)",
		 strcmp(place->looked_at, "/") ? place->looked_at : "");
}

static struct libmnt_fs *find_details(struct libmnt_table *table, uint64_t id)
{
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs = NULL;

	while (table && iterator && mnt_table_next_fs(table, iterator, &fs) == 0)
		if ((uint64_t)mnt_fs_get_id(fs) == id)
			break;
		else
			fs = NULL;
	mnt_free_iter(iterator);
	return fs;
}

static enum support support_of(const struct mount *mount)
{
	for (size_t i = 0; i < sizeof(supports) / sizeof(*supports); i++)
		if (!strcmp(mount->fstype, supports[i].fstype))
			return supports[i].support;
	return mount->family && !strcmp(mount->family, "fuse") ? SUPPORT_DAEMON : SUPPORT_UNKNOWN;
}

int place_mount(int fd, const char *path, struct mount *mount)
{
	struct statx stx;

	if (statx(fd, path, *path ? 0 : AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return errno;
	return mounts_find(stx.stx_mnt_id, !!(stx.stx_mask & STATX_MNT_ID), stx.stx_dev_major, stx.stx_dev_minor,
			   mount);
}

int place_look(struct place *place, struct libmnt_table *mounts)
{
	struct stat st;
	int error = find_path(place);

	if (!error && stat(place->looked_at, &st) < 0)
		error = errno;
	if (error) {
		complain_errno(place->given, error);
		return 1;
	}
	if (place->exists && S_ISDIR(st.st_mode)) {
		stand_for_files(place);
	} else if (place->exists && !S_ISREG(st.st_mode)) {
		complain(place->given, "is neither a regular file nor a directory");
		return 1;
	}
	if (place_mount(AT_FDCWD, place->looked_at, &place->mount))
		return 0;
	place->traits = policy_traits(&place->mount);
	place->support = support_of(&place->mount);
	place->details = find_details(mounts, place->mount.id);
	return 0;
}

void place_decide(struct place *place, const struct config *config, const char *program)
{
	struct subject subject = {.path = place->path, .program = program};

	if (place->traits & TRAIT_KNOWN) {
		subject.fstype = place->mount.fstype;
		subject.family = place->mount.family;
		subject.mount = place->mount.point;
	}
	config_explain(config, &subject, &place->policy, place->decided);
}

int place_is_nfs(const struct place *place)
{
	return place->mount.family && !strcmp(place->mount.family, "nfs");
}
