#include "policy.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct config config;
static struct file file;

static void configure(const char *text, const char *program)
{
	cr_assert_eq(config_parse(&config, text, strlen(text), NULL, NULL), 0, "%s", text);
	policy_init(&config, program);
}

static char path[256];

static int a_file(void)
{
	const char *directory = "/var/tmp";
	int fd;

	snprintf(path, sizeof(path), "%s/fastalloc-XXXXXX", directory);
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	return fd;
}

static uint64_t value(int fd, enum key key)
{
	cr_assert_eq(policy_of(fd, NULL, &file), 0);
	return file.policy.value[key];
}

TestSuite(policy);

Test(policy, without_a_configuration_the_built_in_values)
{
	int fd = a_file();

	cr_expect_eq(value(fd, KEY_POSIX_FALLOCATE), POSIX_FALLOCATE_AUTO);
	cr_expect_eq(value(fd, KEY_FALLOCATE), FALLOCATE_NATIVE);
	cr_expect_eq(value(fd, KEY_FTRUNCATE), FTRUNCATE_NATIVE);
	cr_expect_eq(value(fd, KEY_FTRUNCATE_MAX), SIZE_UNLIMITED);
	cr_expect_eq(value(fd, KEY_ZERO_FILL_MAX), SIZE_UNLIMITED);
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_AUTO);
	unlink(path);
}

Test(policy, default_section)
{
	int fd = a_file();

	configure("[default]\nposix_fallocate = sparse\n", "program");
	cr_expect_eq(value(fd, KEY_POSIX_FALLOCATE), POSIX_FALLOCATE_SPARSE);
	unlink(path);
}

Test(policy, path_rule_by_descriptor)
{
	int fd = a_file(), other;

	configure("[path /var/tmp/fastalloc-*]\nsync = always\n", "program");
	other = open("/proc/self/status", O_RDONLY);
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_ALWAYS);
	cr_expect_eq(value(other, KEY_SYNC), SYNC_AUTO);
	unlink(path);
}

Test(policy, path_rule_by_path)
{
	a_file();
	configure("[path /var/tmp/fastalloc-*]\nsync = always\n", "program");
	cr_assert_eq(policy_of(AT_FDCWD, path, &file), 0);
	cr_expect_eq(file.policy.value[KEY_SYNC], SYNC_ALWAYS);
	unlink(path);
}

/* preload.conf: "the file's path". truncate("x", n) in /var/tmp is a file there. */
Test(policy, path_rule_by_relative_path)
{
	a_file();
	configure("[path /var/tmp/fastalloc-*]\nsync = always\n", "program");
	cr_assert_eq(chdir("/var/tmp"), 0);
	cr_assert_eq(policy_of(AT_FDCWD, strrchr(path, '/') + 1, &file), 0);
	cr_expect_eq(file.policy.value[KEY_SYNC], SYNC_ALWAYS);
	unlink(path);
}

Test(policy, path_rule_by_path_with_dots)
{
	char dotted[300];

	a_file();
	snprintf(dotted, sizeof(dotted), "/var/../var/tmp/./%s", strrchr(path, '/') + 1);
	configure("[path /var/tmp/fastalloc-*]\nsync = always\n", "program");
	cr_assert_eq(policy_of(AT_FDCWD, dotted, &file), 0);
	cr_expect_eq(file.policy.value[KEY_SYNC], SYNC_ALWAYS);
	unlink(path);
}

Test(policy, mount_and_fstype_rules)
{
	int fd = open("/proc/self/status", O_RDONLY);

	configure("[fstype proc]\nsync = never\n", "program");
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_NEVER);
	cr_expect_str_eq(file.fstype, "proc");
	configure("[fstype proc]\nsync = never\n[mount /proc]\nsync = always\n", "program");
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_ALWAYS);
}

Test(policy, program_rule_beats_path_beats_default)
{
	int fd = a_file();

	configure("[program mine]\nsync = never\n[path /var/tmp/**]\nsync = always\nzero_fill_max = 1M\n"
		  "[default]\nsync = auto\nzero_fill_max = 2M\nftruncate_max = 3M\n",
		  "mine");
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_NEVER);
	cr_expect_eq(value(fd, KEY_ZERO_FILL_MAX), 1 << 20);
	cr_expect_eq(value(fd, KEY_FTRUNCATE_MAX), 3 << 20);
	policy_init(&config, "other");
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_ALWAYS);
	unlink(path);
}

Test(policy, memfd_gets_default_and_program_rules)
{
	int fd = memfd_create("policy", MFD_CLOEXEC);

	configure("[default]\nsync = always\n[fstype tmpfs]\nsync = never\n[program mine]\nftruncate = allocate\n",
		  "mine");
	cr_expect_eq(value(fd, KEY_SYNC), SYNC_ALWAYS);
	cr_expect_eq(value(fd, KEY_FTRUNCATE), FTRUNCATE_ALLOCATE);
	cr_expect_not(file.traits & TRAIT_KNOWN);
	cr_expect_str_empty(file.fstype);
}

Test(policy, facts_of_the_file)
{
	int fd = a_file();

	cr_assert_eq(ftruncate(fd, 12345), 0);
	value(fd, KEY_SYNC);
	cr_expect(S_ISREG(file.mode));
	cr_expect_eq(file.size, 12345);
	cr_expect(file.traits & TRAIT_KNOWN);
	unlink(path);
}

Test(policy, errors_of_statx)
{
	cr_expect_eq(policy_of(-1, NULL, &file), EBADF);
	cr_expect_eq(policy_of(AT_FDCWD, "/nowhere/at/all", &file), ENOENT);
}

Test(policy, the_second_look_up_says_the_same)
{
	int fd = a_file();

	configure("[default]\nsync = never\n[fstype proc]\nsync = always\n", "program");
	for (int i = 0; i < 3; i++) {
		int other = open("/proc/self/status", O_RDONLY);

		cr_expect_eq(value(fd, KEY_SYNC), SYNC_NEVER);
		cr_expect_eq(value(other, KEY_SYNC), SYNC_ALWAYS);
		close(other);
	}
	unlink(path);
}

Test(policy, another_configuration_counts_at_once)
{
	int fd = a_file();

	configure("[default]\nwindow_after = 8K\n[program pax]\nwindow_after = 16K\n", "tar");
	cr_expect_eq(value(fd, KEY_WINDOW_AFTER), 8 << 10);
	policy_init(&config, "pax");
	cr_expect_eq(value(fd, KEY_WINDOW_AFTER), 16 << 10);
	unlink(path);
}

Test(policy, may_differ)
{
	configure("[default]\nftruncate = native\n", "program");
	cr_expect_not(policy_may_differ(KEY_FTRUNCATE, FTRUNCATE_NATIVE));
	configure("[fstype vfat]\nftruncate = preallocate\n", "program");
	cr_expect(policy_may_differ(KEY_FTRUNCATE, FTRUNCATE_NATIVE));
	cr_expect_not(policy_may_differ(KEY_FALLOCATE, FALLOCATE_NATIVE));
}

Test(policy, errno_and_descriptors_stay)
{
	int before = a_file(), after;

	close(before);
	unlink(path);
	configure("[path /**]\nsync = never\n", "program");
	errno = 77;
	policy_of(0, NULL, &file);
	policy_of(-1, NULL, &file);
	policy_of(AT_FDCWD, "/nowhere", &file);
	cr_expect_eq(errno, 77);
	after = open("/", O_RDONLY);
	cr_expect_eq(after, before);
}
