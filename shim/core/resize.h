/* resize.h: allocating what ftruncate and truncate are about to add to a file. */
#ifndef FASTALLOC_RESIZE_H
#define FASTALLOC_RESIZE_H

#include "report.h"

#include <sys/types.h>

/* What the hook is to do now. */
enum resize {
	RESIZE_GO_ON = 0, /* call the real function */
	RESIZE_DONE = -1, /* the file has its size: return 0 */
			  /* positive:          fail with this errno; size and content are as before, except
			   *                    as fill.h says, and after resize_restricted: the size may be
			   *                    what was asked for */
};

/* Before fd, or the file at path, grows to length bytes, as the policy's
 * ftruncate and ftruncate_max say. Shrinking, other than regular files, memfd,
 * tmpfs, and sync mounts are never touched. Returns enum resize, or ENOSPC,
 * EDQUOT, EIO... (allocate), or ENOSPC (preallocate, on FAT, where growing
 * could not succeed either).
 * A path is opened for a moment, unless this process holds a record lock on any file
 * (/proc/locks), which closing could drop (fcntl(2)); then preallocate goes on
 * without, and allocate fails with EBUSY. A lock that another thread takes in that
 * very moment may be dropped. errno is not touched. Async-signal-safe. */
int resize_prepare(int fd, off64_t length, enum answer *answer);
int resize_prepare_path(const char *path, off64_t length, enum answer *answer);

/* From now on the resizing itself may be forbidden (Landlock): what was preallocated for it would stay. */
void resize_restricted(void);

#endif
