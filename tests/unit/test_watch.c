#include "watch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

atomic_int library_active; /* load.c defines it in the library */

static struct watch_table *table;
static char name[64];
static int fd;

/* A table as the command makes it: without a name, reached through /proc. */
static void make_table(void)
{
	fd = memfd_create("table", 0);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, sizeof(*table)), 0);
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(table, MAP_FAILED);
	table->magic = WATCH_MAGIC;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
}

TestSuite(watch, .init = make_table);

static struct watched *entry(uint64_t inode, int64_t born)
{
	const struct statx stx = {
		.stx_ino = inode, .stx_dev_major = 8, .stx_dev_minor = 1, .stx_btime = {.tv_sec = born}};

	return watch_entry(table, &stx, fd, NULL);
}

Test(watch, a_file_has_one_entry)
{
	struct watched *file = entry(5, 100);

	cr_assert_not_null(file);
	cr_assert_eq(entry(5, 100), file);
	cr_assert_eq(file->state, WATCHED_FILE);
	cr_assert_eq(file->inode, 5);
	cr_assert(strstr(file->path, "table") != NULL, "%s", file->path);
}

Test(watch, a_number_that_is_used_again_is_another_file)
{
	cr_assert_neq(entry(5, 100), entry(5, 101));
}

Test(watch, an_entry_that_was_never_filled_in_is_passed_over)
{
	struct watched *file = entry(5, 100);

	file->state = WATCHED_NEW;
	cr_assert_neq(entry(5, 100), file);
}

Test(watch, a_full_table_has_no_room)
{
	for (unsigned i = 0; i < WATCH_FILES; i++)
		table->file[i].state = WATCHED_NEW;
	cr_assert_null(entry(5, 100));
}

Test(watch, what_grows_is_counted)
{
	char path[] = "/tmp/fastalloc-XXXXXX";
	int grows = mkstemp(path);
	const struct watched *file = NULL;
	struct watch watch;

	cr_assert_geq(grows, 0);
	cr_assert_eq(watch_init(name), 0);
	for (int i = 0; i < 3; i++) {
		watch_before(&watch, GROWTH_WRITE, grows, NULL);
		cr_assert_eq(pwrite(grows, "abcdef", 6, 3 * i), 6);
		watch_after(&watch, GROWTH_WRITE, 6);
	}
	watch_before(&watch, GROWTH_WRITE, grows, NULL);
	cr_assert_eq(pwrite(grows, "abcdef", 6, 0), 6);
	watch_after(&watch, GROWTH_WRITE, 6);
	for (unsigned i = 0; i < WATCH_FILES; i++)
		if (table->file[i].state == WATCHED_FILE)
			file = &table->file[i];
	cr_assert_not_null(file);
	cr_assert_str_eq(file->path, path);
	cr_assert_eq(file->grew[GROWTH_WRITE].calls, 3, "an overwriting one is none");
	cr_assert_eq(file->grew[GROWTH_WRITE].bytes, 12);
	cr_assert_eq(file->sizes[2], 3);
	cr_assert_eq(file->least, 6);
	cr_assert_eq(file->most, 6);
	cr_assert_eq(table->processes, 1);
	cr_assert_eq(unlink(path), 0);
}

Test(watch, what_is_no_table_is_refused)
{
	table->magic = 0;
	cr_assert_eq(watch_init(name), EINVAL);
	cr_assert_eq(ftruncate(fd, 100), 0);
	cr_assert_eq(watch_init(name), EINVAL);
	cr_assert_eq(watch_init("/nonexistent"), ENOENT);
	cr_assert_eq(watch_init("/"), EISDIR);
	cr_assert_not(watch_is_on());
}
