/* The table of descriptors in window.c. Numbers that are not open do, but where a write is made. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "active.h"
#include "config.h"
#include "policy.h"
#include "window.h"

atomic_int library_active; /* load.c's */

static const char text[] = "[default]\nwrite = preallocate\n";
static struct config config;

static void set_up(void)
{
	cr_assert_eq(config_parse(&config, text, strlen(text), NULL, NULL), 0);
	policy_init(&config, "program");
	window_init();
	atomic_store(&library_active, 1);
}

TestSuite(window, .init = set_up);

#define FRESH (O_WRONLY | O_CREAT | O_TRUNC)

static void opened(int fd, int flags)
{
	window_opened(fd, flags, window_moment());
}

Test(window, nothing_is_known_at_first)
{
	for (int fd = -1; fd < 3000; fd++)
		cr_assert_eq(window_of(fd), 0);
	cr_expect_eq(window_of(INT_MAX), 0);
	cr_expect_eq(window_of(INT_MIN), 0);
	cr_expect_eq(window_any(), 0);
}

Test(window, what_is_opened_for_writing_is_known_until_it_is_closed)
{
	opened(500, FRESH);
	cr_expect_neq(window_of(500), 0);
	cr_expect_neq(window_any(), 0);
	window_closing(500);
	cr_expect_eq(window_of(500), 0);
}

Test(window, other_opens_are_not)
{
	opened(500, O_RDONLY);
	opened(501, FRESH | O_APPEND);
	opened(502, O_PATH);
	opened(-1, FRESH);
	for (int fd = 500; fd < 503; fd++)
		cr_expect_eq(window_of(fd), 0);
}

Test(window, an_open_replaces_what_was_known)
{
	opened(500, FRESH);
	opened(500, O_RDONLY);
	cr_expect_eq(window_of(500), 0);
}

Test(window, duplicates_are_the_same)
{
	unsigned known;

	opened(500, FRESH);
	known = window_duplicate(500);
	window_duplicated(known, 2500);
	cr_expect_eq(window_of(2500), window_of(500));
	window_closing(500);
	cr_expect_eq(window_of(2500), known);
	opened(500, FRESH);
	cr_expect_neq(window_of(500), known, "still in use");
	window_closing(2500);
	cr_expect_eq(window_of(2500), 0);
}

Test(window, a_duplication_that_failed_changes_nothing)
{
	opened(500, FRESH);
	window_duplicated(window_duplicate(500), -1);
	cr_expect_neq(window_of(500), 0);
	cr_expect_eq(window_duplicate(600), 0);
}

Test(window, hundred_thousand_duplicates)
{
	opened(500, FRESH);
	for (int fd = 1000; fd < 101000; fd++)
		window_duplicated(window_duplicate(500), fd);
	cr_expect_eq(window_of(100999), window_of(500));
	window_end_range(0, UINT_MAX);
	cr_expect_eq(window_of(500), 0);
	cr_expect_eq(window_of(100999), 0);
}

Test(window, descriptions_are_used_again)
{
	for (int i = 0; i < 20000; i++) {
		opened(500, FRESH);
		cr_assert_neq(window_of(500), 0, "%d", i);
		window_closing(500);
	}
}

Test(window, too_many_are_not_known)
{
	int known = 0;

	for (int fd = 0; fd < 100000; fd++) {
		opened(fd, FRESH);
		known += window_of(fd) != 0;
	}
	cr_expect_eq(known, 4095);
	window_closing(10);
	opened(100000, FRESH);
	cr_expect_neq(window_of(100000), 0, "one was free again");
}

Test(window, numbers_past_the_table_are_not_known)
{
	opened(INT_MAX, FRESH);
	cr_expect_eq(window_of(INT_MAX), 0);
	opened(500, FRESH);
	window_duplicated(window_duplicate(500), INT_MAX);
	cr_expect_eq(window_of(INT_MAX), 0);
}

Test(window, a_range_is_closed_and_no_more)
{
	for (int fd = 10; fd < 3000; fd += 10)
		opened(fd, FRESH);
	window_end_range(20, 2980);
	cr_expect_neq(window_of(10), 0);
	cr_expect_eq(window_of(20), 0);
	cr_expect_eq(window_of(1030), 0);
	cr_expect_eq(window_of(2980), 0);
	cr_expect_neq(window_of(2990), 0);
}

Test(window, a_suspension_ends_all_and_lets_none_begin)
{
	opened(500, FRESH);
	opened(2500, FRESH);
	window_suspend();
	cr_expect_eq(window_of(500), 0);
	cr_expect_eq(window_of(2500), 0);
	opened(600, FRESH);
	cr_expect_eq(window_of(600), 0);
	window_suspend();
	window_resume();
	opened(600, FRESH);
	cr_expect_eq(window_of(600), 0, "they nest");
	window_resume();
	opened(600, FRESH);
	cr_expect_neq(window_of(600), 0);
}

Test(window, a_fork_between_an_open_and_its_record_has_shared_it)
{
	unsigned before = window_moment(), amid;

	window_suspend();
	amid = window_moment();
	window_resume();
	window_opened(500, FRESH, before);
	cr_expect_eq(window_of(500), 0);
	window_opened(501, FRESH, amid);
	cr_expect_eq(window_of(501), 0, "it may have been opened before the fork itself");
	opened(502, FRESH);
	cr_expect_neq(window_of(502), 0);
}

Test(window, a_child_starts_anew)
{
	window_suspend();
	window_suspend(); /* another thread's, which the child does not have */
	window_resume_in_child();
	opened(600, FRESH);
	cr_expect_neq(window_of(600), 0);
}

Test(window, off_is_for_good)
{
	opened(500, FRESH);
	window_off();
	cr_expect_eq(window_of(500), 0);
	cr_expect_eq(window_possible(), 0);
	opened(500, FRESH);
	cr_expect_eq(window_of(500), 0);
}

Test(window, none_where_no_rule_wants_them)
{
	static const char other[] = "[default]\nwrite = native\n";

	cr_assert_eq(config_parse(&config, other, strlen(other), NULL, NULL), 0);
	window_init();
	cr_expect_eq(window_possible(), 0);
	opened(500, FRESH);
	cr_expect_eq(window_of(500), 0);
}

Test(window, a_filter_ends_knowing)
{
	atomic_store(&library_active, 0);
	opened(500, FRESH);
	cr_expect_eq(window_of(500), 0);
}

static int64_t allocated(int fd)
{
	struct stat status;

	cr_assert_eq(fstat(fd, &status), 0);
	return status.st_blocks * 512;
}

/* A file that has a window; none are where that file system has none. */
static int open_windowed(void)
{
	static char bytes[1 << 20], path[] = "/var/tmp/fastalloc-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	opened(fd, FRESH);
	window_enter(window_of(fd), fd, 0, sizeof(bytes));
	cr_assert_eq(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	window_leave(window_of(fd), 0);
	if (allocated(fd) == sizeof(bytes))
		cr_skip_test("no windows in /var/tmp");
	return fd;
}

Test(window, nothing_is_cut_off_while_a_write_is_in_flight)
{
	int fd = open_windowed();
	int64_t before = allocated(fd);
	unsigned known = window_of(fd);

	window_enter(known, fd, 1 << 20, 4096);
	cr_expect_eq(window_relieve(), 0);
	cr_expect_eq(allocated(fd), before);
	window_closing(fd);
	cr_expect_eq(allocated(fd), before);
	window_leave(known, 0);
}

Test(window, what_is_left_is_given_back_once_it_has_ended)
{
	int fd = open_windowed();

	window_enter(window_of(fd), fd, 1 << 20, 4096);
	window_leave(window_of(fd), 0);
	cr_expect_neq(window_relieve(), 0);
	cr_expect_eq(allocated(fd), 1 << 20);
}
