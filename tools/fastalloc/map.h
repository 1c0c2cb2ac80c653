/* map.h: which blocks of the device a file has: FIEMAP, where there is none FIBMAP. */
#ifndef FASTALLOC_MAP_H
#define FASTALLOC_MAP_H

#include <linux/fiemap.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"

/* A run of blocks that lies in one piece, all in bytes. */
struct map_extent {
	uint64_t logical;  /* where in the file */
	uint64_t physical; /* where on the device; nowhere unless map_is_placed */
	uint64_t length;
	unsigned flags; /* FIEMAP_EXTENT_... */
};

struct map {
	struct map_extent *extent; /* in the order of the file */
	size_t count;
	const char *source; /* "FIEMAP" or "FIBMAP" */
};

/* Has the extent its place on the device yet? Not if it is delayed, or lies within the inode. */
static inline int map_is_placed(const struct map_extent *e)
{
	return !(e->flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE));
}

/* Runs that lie one behind the other on the device, and bytes of the largest, and bytes that have no
 * place yet. A hole in the file makes no piece more where the device goes on. */
struct pieces {
	uint64_t count, largest, delayed;
};

struct pieces map_pieces(const struct map *map);

/* Read the map of fd, which policy_of described, for map_free to free. Nothing is flushed, so
 * delayed allocation shows as such. FIBMAP needs CAP_SYS_RAWIO, and a call for each block: the
 * progress is shown as that of `path`. Returns 0, or a positive errno: EPERM where FIBMAP is
 * refused, EOPNOTSUPP where there is neither. */
int map_read(int fd, const char *path, const struct file *file, struct map *map);
void map_free(struct map *map);

/* Bytes in blocks past the end of fd, by FIEMAP, or by st_blocks where that counts nothing but
 * the file's content. Returns 0, or a positive errno: EOPNOTSUPP where neither can tell. */
int map_past_end(int fd, const struct file *file, uint64_t *bytes);

#endif
