#include "room.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TERA ((off64_t)1 << 40)

#define GIGA ((off64_t)1 << 30)

static struct file file;

/* What is kept for the privileged (f_bfree - f_bavail) is then not ours to count. */
static void give_up_the_reserve(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};

	if (geteuid() == 0)
		cr_assert_eq(setuid(65534), 0);
	syscall(SYS_capset, &header, data);
}

TestSuite(room, .init = give_up_the_reserve);

static int a_file(void)
{
	char path[] = "/var/tmp/fastalloc-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	return fd;
}

static int room(int fd, off64_t start, off64_t end)
{
	cr_assert_eq(policy_of(fd, NULL, &file), 0);
	return room_for(fd, (struct extent){start, end}, &file);
}

Test(room, small_requests_fit)
{
	cr_expect_eq(room(a_file(), 0, 1), 0);
	cr_expect_eq(room(a_file(), 0, 1 << 20), 0);
}

Test(room, huge_requests_do_not)
{
	int fd = a_file();

	cr_expect_eq(room(fd, 0, 4096 * TERA), ENOSPC);
	cr_expect_eq(room(fd, 0, INT64_MAX), ENOSPC);
}

Test(room, far_out_but_small_is_small)
{
	cr_expect_eq(room(a_file(), 4096 * TERA, 4096 * TERA + 4096), 0);
}

/* Bytes that may be allocated besides; others on the machine change it. */
static off64_t available(int fd)
{
	struct statvfs fs;

	cr_assert_eq(fstatvfs(fd, &fs), 0);
	return (off64_t)(fs.f_bavail * fs.f_frsize);
}

static off64_t prepare(int fd, int mode)
{
	off64_t size = extent_min(2 * GIGA, available(fd) / 4);

	if (fallocate(fd, mode, 0, size) < 0)
		cr_skip_test("no fallocate under /var/tmp");
	return size;
}

Test(room, what_is_allocated_costs_nothing)
{
	int fd = a_file();
	off64_t size = prepare(fd, 0);

	cr_expect_eq(room(fd, 0, available(fd) + size / 2), 0);
	cr_expect_eq(room(fd, 0, available(fd) + 2 * size), ENOSPC);
	cr_expect_eq(room(fd, size, 2 * size + available(fd)), ENOSPC);
}

Test(room, allocated_past_eof_costs_nothing)
{
	int fd = a_file();
	off64_t size = prepare(fd, FALLOC_FL_KEEP_SIZE);

	cr_expect_eq(room(fd, 0, available(fd) + size / 2), 0);
	cr_expect_eq(room(fd, 0, available(fd) + 2 * size), ENOSPC);
}

Test(room, the_reserve_is_for_the_privileged)
{
	int fd = a_file();
	struct statvfs fs;

	cr_assert_eq(fstatvfs(fd, &fs), 0);
	if ((fs.f_bfree - fs.f_bavail) * fs.f_frsize < (unsigned long)GIGA)
		cr_skip_test("nothing reserved under /var/tmp");
	cr_expect_eq(room(fd, 0, available(fd) + GIGA / 2), ENOSPC);
}

Test(room, no_sizes_no_refusal)
{
	int fd = open("/proc/self/status", O_RDONLY);

	file.mode = 0;
	cr_expect_eq(room_for(fd, (struct extent){0, INT64_MAX}, &file), 0);
	cr_expect_eq(room_for(-1, (struct extent){0, INT64_MAX}, &file), 0);
}

/* Those have no FIEMAP, like tmpfs. */
Test(room, dense_files_need_all_up_to_the_end)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	off64_t end;

	if (fd < 0 || available(fd) == 0)
		cr_skip_test("no tmpfs in /dev/shm");
	cr_assert_eq(policy_of(fd, NULL, &file), 0);
	end = available(fd) + GIGA;
	file.traits = TRAIT_DENSE;
	cr_expect_eq(room_for(fd, (struct extent){end - 4096, end}, &file), ENOSPC);
	file.allocated = 2 * GIGA;
	cr_expect_eq(room_for(fd, (struct extent){end - 4096, end}, &file), 0);
	file.traits = 0;
	file.allocated = 0;
	cr_expect_eq(room_for(fd, (struct extent){end - 4096, end}, &file), 0);
}

Test(room, quota_is_not_reached_without_one)
{
	int fd = a_file(), reached, after;

	errno = 77;
	reached = room_quota_reached(fd) || room_quota_reached(-1);
	after = errno;
	cr_expect_not(reached);
	cr_expect_eq(after, 77);
}
