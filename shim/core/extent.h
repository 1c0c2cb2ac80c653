/* extent.h: ranges of a file, and which of them are holes. */
#ifndef FASTALLOC_EXTENT_H
#define FASTALLOC_EXTENT_H

#include <sys/types.h>

/* Bytes [start, end) of a file. */
struct extent {
	off64_t start, end;
};

static inline off64_t extent_length(struct extent e)
{
	return e.end > e.start ? e.end - e.start : 0;
}

static inline off64_t extent_min(off64_t a, off64_t b)
{
	return a < b ? a : b;
}

static inline off64_t extent_max(off64_t a, off64_t b)
{
	return a > b ? a : b;
}

/* The first hole in `in`, by FIEMAP; empty (start == end == in.end) where all
 * of it is allocated, unwritten extents included. Returns 0, or a positive
 * errno: EOPNOTSUPP, ENOTTY... where the file system has no FIEMAP.
 * Works on O_WRONLY descriptors. Async-signal-safe.
 *
 * Not lseek(SEEK_HOLE): it moves the offset that the program's other threads,
 * and processes sharing the description, are writing at. */
int extent_next_hole(int fd, struct extent in, struct extent *hole);

#endif
