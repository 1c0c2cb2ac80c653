/* place.h: a file, or where one may come to lie: its mount, and what the rules say of it. */
#ifndef FASTALLOC_PLACE_H
#define FASTALLOC_PLACE_H

#include <libmount.h>
#include <limits.h>

#include "config.h"
#include "mounts.h"

/* Does the file system have fallocate(2)? What it depends on. */
enum support { SUPPORT_UNKNOWN, SUPPORT_YES, SUPPORT_NO, SUPPORT_SERVER, SUPPORT_DAEMON, SUPPORT_LOWER };

/* The mount of an open file, where path is "", or of what is at path, seen from the directory fd (or
 * AT_FDCWD). Returns 0, or the errno of statx(2), or of mounts_find. */
int place_mount(int fd, const char *path, struct mount *mount);

/* Zeroed but for what it is given by. */
struct place {
	const char *given;
	char path[PATH_MAX + sizeof("/(any file)")]; /* as rules see it */
	char looked_at[PATH_MAX];                    /* what is there: it, or the directory it will lie in */
	int exists, is_directory;
	unsigned traits; /* enum trait; the next three need TRAIT_KNOWN */
	struct mount mount;
	enum support support;
	struct libmnt_fs *details; /* or NULL */
	struct policy policy;
	const struct rule *decided[KEY_COUNT]; /* as of config_explain */
};

/* Look at place->given: a regular file, one that is not there yet in a directory that is, or a
 * directory, which stands for the files in it. Returns 0, or 1 where there is none (that is said). */
int place_look(struct place *place, struct libmnt_table *mounts);

/* What config says of it, to a program of that name (NULL: to none). */
void place_decide(struct place *place, const struct config *config, const char *program);

int place_is_nfs(const struct place *place);

#endif
