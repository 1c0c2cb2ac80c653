#include "extent.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <string.h>

#include "sys.h"

int extent_next_hole(int fd, struct extent in, struct extent *hole)
{
	/* One extent per call: runs of neighbours are rare enough, and so is the stack. */
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} query;
	const struct fiemap_extent *found = query.map.fm_extents;
	int error;

	while (in.start < in.end) {
		memset(&query, 0, sizeof(query));
		query.map.fm_start = (uint64_t)in.start;
		query.map.fm_length = (uint64_t)(in.end - in.start);
		query.map.fm_extent_count = 1;
		error = -sys_ioctl(fd, FS_IOC_FIEMAP, &query.map);
		if (error)
			return error;
		if (query.map.fm_mapped_extents == 0 || (off64_t)found->fe_logical >= in.end)
			break;
		if ((off64_t)found->fe_logical > in.start) {
			in.end = (off64_t)found->fe_logical;
			break;
		}
		if (found->fe_length == 0) /* never happens; never loop on it */
			return EIO;
		in.start = (off64_t)(found->fe_logical + found->fe_length);
	}
	if (in.start > in.end)
		in.start = in.end;
	*hole = in;
	return 0;
}
