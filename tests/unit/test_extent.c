#include "extent.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file with a block at 0 and one at 64K, 128K long; -1 where there is no FIEMAP. */
static int sparse_file(char *path)
{
	char block[4096];
	struct extent hole;
	int fd;

	strcpy(path, "/var/tmp/fastalloc-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	unlink(path);
	memset(block, 'x', sizeof(block));
	cr_assert_eq(ftruncate(fd, 128 << 10), 0);
	cr_assert_eq(pwrite(fd, block, sizeof(block), 0), 4096);
	cr_assert_eq(pwrite(fd, block, sizeof(block), 64 << 10), 4096);
	cr_assert_eq(fsync(fd), 0);
	if (extent_next_hole(fd, (struct extent){0, 4096}, &hole)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void hole_is(int fd, off64_t start, off64_t end, off64_t hole_start, off64_t hole_end)
{
	struct extent hole = {-1, -1};

	cr_assert_eq(extent_next_hole(fd, (struct extent){start, end}, &hole), 0);
	cr_expect(hole.start == hole_start && hole.end == hole_end, "[%ld, %ld): [%ld, %ld), not [%ld, %ld)",
		  (long)start, (long)end, (long)hole.start, (long)hole.end, (long)hole_start, (long)hole_end);
}

Test(next_hole, of_a_sparse_file)
{
	char path[64];
	int fd = sparse_file(path);

	if (fd < 0)
		cr_skip_test("no FIEMAP under /var/tmp");
	hole_is(fd, 0, 4096, 4096, 4096);                      /* allocated: empty, at the end */
	hole_is(fd, 0, 128 << 10, 4096, 64 << 10);             /* between the blocks */
	hole_is(fd, 64 << 10, 128 << 10, 68 << 10, 128 << 10); /* up to the end of the range */
	hole_is(fd, 8192, 16384, 8192, 16384);                 /* wholly inside a hole */
	hole_is(fd, 5000, 6000, 5000, 6000);                   /* bytes, not blocks */
	hole_is(fd, 100, 5000, 4096, 5000);
	hole_is(fd, 128 << 10, 256 << 10, 128 << 10, 256 << 10); /* past EOF */
	hole_is(fd, 4096, 4096, 4096, 4096);                     /* nothing at all */
}

Test(next_hole, unwritten_extents_are_allocated)
{
	char path[64];
	int fd = sparse_file(path);

	if (fd < 0)
		cr_skip_test("no FIEMAP under /var/tmp");
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 256 << 10) < 0)
		cr_skip_test("no fallocate under /var/tmp");
	hole_is(fd, 0, 256 << 10, 256 << 10, 256 << 10);
}

Test(next_hole, the_offset_stays)
{
	char path[64];
	int fd = sparse_file(path);
	struct extent hole;

	if (fd < 0)
		cr_skip_test("no FIEMAP under /var/tmp");
	cr_assert_eq(lseek(fd, 1234, SEEK_SET), 1234);
	extent_next_hole(fd, (struct extent){0, 128 << 10}, &hole);
	cr_expect_eq(lseek(fd, 0, SEEK_CUR), 1234);
}

Test(next_hole, write_only_descriptors)
{
	char name[] = "/var/tmp/fastalloc-XXXXXX", path[64];
	int probe = sparse_file(path), fd;
	struct extent hole;

	if (probe < 0)
		cr_skip_test("no FIEMAP under /var/tmp");
	fd = mkstemp(name);
	close(fd);
	fd = open(name, O_WRONLY);
	unlink(name);
	cr_assert_eq(ftruncate(fd, 65536), 0);
	cr_expect_eq(extent_next_hole(fd, (struct extent){0, 65536}, &hole), 0);
	cr_expect_eq(hole.start, 0);
	cr_expect_eq(hole.end, 65536);
}

Test(next_hole, no_fiemap_is_an_errno)
{
	int fd = open("/proc/self/status", O_RDONLY);
	struct extent hole;

	errno = 77;
	cr_expect_gt(extent_next_hole(fd, (struct extent){0, 4096}, &hole), 0);
	cr_expect_eq(extent_next_hole(-1, (struct extent){0, 4096}, &hole), EBADF);
	cr_expect_eq(errno, 77);
}
