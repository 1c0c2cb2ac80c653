/* folder.h: the folder that is tuned, and what its file system can do. */
#ifndef FASTALLOC_FOLDER_H
#define FASTALLOC_FOLDER_H

#include "mounts.h"

struct folder {
	struct mount mount;
	unsigned traits;               /* enum trait of policy.h */
	unsigned long long size, free; /* bytes of the file system; 0 where it does not tell */
	int has_fallocate;             /* mode 0 is supported... */
	int has_keep_size;             /* ... FALLOC_FL_KEEP_SIZE */
};

/* Look, without touching anything: the mount, the free space. Returns 0, or a positive errno. */
int folder_look(const char *dir, struct folder *folder);

/* Try it out with a file in the folder, which is removed. Returns 0, or a positive errno. */
int folder_try(int directory, struct folder *folder);

/* Why nothing can be tuned there, or NULL. */
const char *folder_unfit(const struct folder *folder);

#endif
