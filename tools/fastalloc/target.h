/* target.h: the directory that is tuned, and what its file system can do. */
#ifndef FASTALLOC_TARGET_H
#define FASTALLOC_TARGET_H

#include "mounts.h"

struct target {
	struct mount mount;
	unsigned traits;               /* enum trait of policy.h */
	unsigned long long size, free; /* bytes of the file system; 0 where it does not tell */
	int has_fallocate;             /* mode 0 is supported... */
	int has_keep_size;             /* ... FALLOC_FL_KEEP_SIZE */
};

/* Look, without touching anything: the mount, the free space. Returns 0, or a positive errno. */
int target_look(const char *dir, struct target *target);

/* Try it out with a file in the directory, which is removed. Returns 0, or a positive errno. */
int target_try(int directory, struct target *target);

/* Why nothing can be tuned there, or NULL. */
const char *target_unfit(const struct target *target);

#endif
