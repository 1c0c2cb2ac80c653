#include "map.h"

#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "sys.h"

enum { BATCH = 256 };

union query {
	struct fiemap map;
	char room[sizeof(struct fiemap) + BATCH * sizeof(struct fiemap_extent)];
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* In what units files are allocated. Of FAT and others with clusters it is not FIGETBSZ that tells. */
static uint64_t unit_of(int fd)
{
	struct statfs64 sfs;

	return sys_fstatfs(fd, &sfs) == 0 && sfs.f_bsize > 0 ? (uint64_t)sfs.f_bsize : 1;
}

/* Up to BATCH extents that lie at `from` or behind it. Returns 0, or a positive errno. */
static int ask(int fd, uint64_t from, union query *query)
{
	memset(query, 0, sizeof(*query)); /* all of it: valgrind does not know what the call fills */
	query->map.fm_start = from;
	query->map.fm_length = FIEMAP_MAX_OFFSET - from;
	query->map.fm_extent_count = BATCH;
	return -sys_ioctl(fd, FS_IOC_FIEMAP, &query->map);
}

/* Where the next batch begins, or 0 after the last one. */
static uint64_t next_batch(const union query *query, uint64_t from)
{
	const struct fiemap_extent *last = query->map.fm_extents + query->map.fm_mapped_extents - 1;

	if (query->map.fm_mapped_extents == 0 || last->fe_flags & FIEMAP_EXTENT_LAST)
		return 0;
	return last->fe_logical + last->fe_length > from ? last->fe_logical + last->fe_length : 0;
}

static int append(struct map *map, struct map_extent extent)
{
	/* Grows at powers of two. */
	if (!map->extent || (map->count & (map->count - 1)) == 0) {
		void *grown = reallocarray(map->extent, map->count ? 2 * map->count : 1, sizeof(extent));

		if (!grown)
			return ENOMEM;
		map->extent = grown;
	}
	map->extent[map->count++] = extent;
	return 0;
}

static int read_fiemap(int fd, struct map *map)
{
	union query query;
	uint64_t from = 0;
	int error;

	do {
		error = ask(fd, from, &query);
		for (unsigned i = 0; !error && i < query.map.fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &query.map.fm_extents[i];

			error = append(map,
				       (struct map_extent){e->fe_logical, e->fe_physical, e->fe_length, e->fe_flags});
		}
	} while (!error && (from = next_batch(&query, from)));
	return error;
}

/* The blocks from logical on, which lie in one piece. An extent ends at the end of the file. */
static int append_block(struct map *map, uint64_t logical, uint64_t physical, uint64_t length, uint64_t size)
{
	struct map_extent *last = map->count ? &map->extent[map->count - 1] : NULL;

	if (!last || logical == size || last->logical + last->length != logical ||
	    last->physical + last->length != physical)
		return append(map, (struct map_extent){logical, physical, length, 0});
	last->length += length;
	return 0;
}

static int read_fibmap(int fd, const char *path, const struct file *file, struct map *map)
{
	uint64_t size = (uint64_t)file->size, end = size, step;
	int block_size = 0, error = 0;

	/* On no device: that FIBMAP is for root would be no answer. */
	if (file->major == 0 || sys_ioctl(fd, FIGETBSZ, &block_size) < 0 || block_size <= 0)
		return EOPNOTSUPP;
	step = (uint64_t)block_size;
	if (file->traits & TRAIT_DENSE) {
		/* What is allocated has no holes, past the end of the file or not; the first block
		 * of a cluster tells where all of it is. */
		end = (uint64_t)file->allocated;
		step = unit_of(fd);
		size = round_up(size, step);
	}
	for (uint64_t at = 0; !error && at < end; at += step) {
		int block = (int)(at / (unsigned)block_size);

		if (at / (unsigned)block_size > INT_MAX)
			return EFBIG;
		error = -sys_ioctl(fd, FIBMAP, &block);
		if (!error && block != 0)
			error = append_block(map, at, (uint64_t)(unsigned)block * (unsigned)block_size, step, size);
		if (at / step % 65536 == 65535)
			progress(path, (double)at / (double)end);
	}
	progress_end();
	if (!error && map->count == 0 && file->allocated > 0) /* FUSE says 0 for every block */
		return EOPNOTSUPP;
	return error == EINVAL || error == ENOTTY ? EOPNOTSUPP : error;
}

int map_read(int fd, const char *path, const struct file *file, struct map *map)
{
	int error;

	*map = (struct map){.source = "FIEMAP"};
	error = read_fiemap(fd, map);
	if (error == EOPNOTSUPP || error == ENOTTY) {
		map->source = "FIBMAP";
		error = read_fibmap(fd, path, file, map);
	}
	if (error)
		map_free(map);
	return error;
}

void map_free(struct map *map)
{
	free(map->extent);
	map->extent = NULL;
	map->count = 0;
}

struct pieces map_pieces(const struct map *map)
{
	struct pieces pieces = {0, 0, 0};
	uint64_t next = 0, length = 0;

	for (size_t i = 0; i < map->count; i++) {
		const struct map_extent *e = &map->extent[i];

		if (e->flags & FIEMAP_EXTENT_DELALLOC)
			pieces.delayed += e->length;
		if (!map_is_placed(e))
			continue;
		if (!length || e->physical != next) {
			pieces.count++;
			length = 0;
		}
		length += e->length;
		next = e->physical + e->length;
		if (length > pieces.largest)
			pieces.largest = length;
	}
	return pieces;
}

/* By FIEMAP. */
static int sum_past_end(int fd, uint64_t end, uint64_t *bytes)
{
	union query query;
	uint64_t from = end;
	int error;

	*bytes = 0;
	do {
		error = ask(fd, from, &query);
		for (unsigned i = 0; !error && i < query.map.fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &query.map.fm_extents[i];
			uint64_t start = e->fe_logical > end ? e->fe_logical : end;

			if (e->fe_logical + e->fe_length > start)
				*bytes += e->fe_logical + e->fe_length - start;
		}
	} while (!error && (from = next_batch(&query, from)));
	return error;
}

int map_past_end(int fd, const struct file *file, uint64_t *bytes)
{
	uint64_t end = round_up((uint64_t)file->size, unit_of(fd)), allocated = (uint64_t)file->allocated;
	int error = sum_past_end(fd, end, bytes);

	if (error != EOPNOTSUPP && error != ENOTTY)
		return error;
	*bytes = allocated > end ? allocated - end : 0;
	/* Elsewhere the file system's own blocks may be counted too: no more than needed is proof of nothing. */
	return *bytes == 0 || file->traits & (TRAIT_DENSE | TRAIT_MEMORY) ? 0 : EOPNOTSUPP;
}
