#include "owed.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int a_file(void)
{
	FILE *stream = tmpfile();

	cr_assert_not_null(stream);
	return fileno(stream);
}

Test(owed, nothing_at_first)
{
	int fd = a_file();

	cr_expect_not(owed_any());
	cr_expect_eq(owed_take(fd), 0);
	cr_expect_eq(owed_take(-1), 0);
}

Test(owed, paid_once)
{
	int fd = a_file();

	owed_note(fd, EIO);
	cr_expect(owed_any());
	cr_expect_eq(owed_take(fd), EIO);
	cr_expect_eq(owed_take(fd), 0);
	cr_expect_not(owed_any());
}

Test(owed, not_to_another_descriptor)
{
	int fd = a_file(), other = a_file();

	owed_note(fd, EIO);
	cr_expect_eq(owed_take(other), 0);
	cr_expect_eq(owed_take(-1), 0);
	cr_expect_eq(owed_take(fd), EIO);
}

Test(owed, two_debts_of_one_descriptor_are_paid_together)
{
	int fd = a_file();

	owed_note(fd, EIO);
	owed_note(fd, EDQUOT);
	cr_expect_eq(owed_take(fd), EIO);
	cr_expect_eq(owed_take(fd), 0);
	cr_expect_not(owed_any());
}

Test(owed, not_to_another_file_under_the_same_number)
{
	int fd = a_file(), other = a_file();

	owed_note(fd, EIO);
	cr_assert_eq(dup2(other, fd), fd);
	cr_expect_eq(owed_take(fd), 0);
	cr_expect_not(owed_any(), "the debt is dropped");
}

Test(owed, not_to_a_closed_descriptor)
{
	int fd = a_file();

	owed_note(fd, EIO);
	close(fd);
	cr_expect_eq(owed_take(fd), 0);
}

Test(owed, noting_for_a_closed_descriptor_does_nothing)
{
	owed_note(-1, EIO);
	owed_note(1000000, EIO);
	cr_expect_not(owed_any());
}

Test(owed, more_than_32_keeps_32)
{
	int fds[40], paid = 0;

	for (int i = 0; i < 40; i++) {
		fds[i] = memfd_create("owed", MFD_CLOEXEC);
		cr_assert_geq(fds[i], 0);
		owed_note(fds[i], EIO);
	}
	for (int i = 0; i < 40; i++)
		paid += owed_take(fds[i]) == EIO;
	cr_expect_eq(paid, 32, "%d paid", paid);
	cr_expect_not(owed_any());
	owed_note(fds[39], ENOSPC);
	cr_expect_eq(owed_take(fds[39]), ENOSPC, "slots are used again");
}

Test(owed, errno_is_not_touched)
{
	int fd = a_file();

	errno = 77;
	owed_note(-1, EIO);
	owed_note(fd, EIO);
	close(fd);
	errno = 77;
	owed_take(fd);
	cr_expect_eq(errno, 77);
}
