#include "report.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], name[128], text[8192];

static void make_directory(void)
{
	strcpy(directory, "/tmp/fastalloc-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
	snprintf(name, sizeof(name), "%s/out", directory);
}

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(report, .init = make_directory, .fini = remove_directory);

static const char *read_text(const char *from)
{
	int fd = open(from, O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

/* Runs body in a process of its own, which ends as a program with the library does. */
static pid_t in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		body();
		report_statistics();
		_exit(0);
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	return pid;
}

static void call(enum call which, off64_t length, enum answer answer, int error)
{
	report_call(which, 3, (struct extent){0, length}, answer, error, report_clock());
}

static void several_calls(void)
{
	report_init(NULL, name, "program");
	call(CALL_POSIX_FALLOCATE, 100, ANSWER_POPULATED, 0);
	call(CALL_POSIX_FALLOCATE, 50, ANSWER_FALLOCATE, 0);
	call(CALL_POSIX_FALLOCATE, 7, ANSWER_REFUSED, ENOSPC);
	call(CALL_FTRUNCATE, 9, ANSWER_PASSED, -1);
}

Test(report, statistics_are_one_line_of_json)
{
	pid_t pid = in_child(several_calls);
	char start[64];

	snprintf(start, sizeof(start), "{\"pid\":%d,\"program\":\"program\",", pid);
	read_text(name);
	cr_expect_eq(strncmp(text, start, strlen(start)), 0, "%s", text);
	cr_expect_not_null(
		strstr(text, "\"posix_fallocate\":{\"seen\":3,\"passed\":0,\"fallocate\":1,\"populated\":1,"
			     "\"written\":0,\"sparse\":0,\"refused\":1,\"truncated\":0,\"failed\":1,\"bytes\":150,"));
	cr_expect_not_null(
		strstr(text, "\"ftruncate\":{\"seen\":1,\"passed\":1,\"fallocate\":0,\"populated\":0,"
			     "\"written\":0,\"sparse\":0,\"refused\":0,\"truncated\":0,\"failed\":0,\"bytes\":0,"));
	cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1);
}

static void awkward_name(void)
{
	report_init(NULL, name, "a\"b\\c\nd\x7f\u00e9"); /* the last one in UTF-8, as JSON is */
}

Test(report, names_are_escaped)
{
	in_child(awkward_name);
	cr_expect_not_null(strstr(read_text(name), "\"program\":\"a\\u0022b\\u005cc\\u000ad\\u007f\u00e9\""), "%s",
			   text);
}

static void large_numbers(void)
{
	report_init(NULL, name, "a-program-whose-name-is-longer-than-sixty-three-characters-which-is-cut-off-here");
	for (enum call which = 0; which < CALL_COUNT; which++)
		for (int i = 0; i < 10; i++)
			report_call(which, 3, (struct extent){0, INT64_MAX / 11}, ANSWER_POPULATED, 0, 1);
}

Test(report, the_longest_line_is_written)
{
	in_child(large_numbers);
	cr_expect_str_not_empty(read_text(name));
}

static void by_pid(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%%p-%%%%", directory);
	report_init(NULL, path, "program");
}

Test(report, percent_p_is_the_pid)
{
	char path[160];
	pid_t pid = in_child(by_pid);

	snprintf(path, sizeof(path), "%s/%d-%%", directory, pid);
	cr_expect_str_not_empty(read_text(path));
}

static void forks(void)
{
	several_calls();
	if (fork() == 0) {
		report_statistics();
		_exit(0);
	}
	wait(NULL);
}

Test(report, a_forked_child_counts_from_zero)
{
	const char *second;

	in_child(forks);
	read_text(name);
	cr_expect_not_null(strstr(text, "\"posix_fallocate\":{\"seen\":0,"), "%s", text);
	second = strchr(text, '\n');
	cr_expect(second && strstr(second, "\"posix_fallocate\":{\"seen\":3,"), "%s", text);
}

static void logs(void)
{
	char log[160];

	snprintf(log, sizeof(log), "info:%s", name);
	report_init(log, NULL, "program");
	call(CALL_POSIX_FALLOCATE, 100, ANSWER_POPULATED, 0);
	call(CALL_POSIX_FALLOCATE, 100, ANSWER_REFUSED, ENOSPC);
	call(CALL_FTRUNCATE, 5, ANSWER_PASSED, -1);
	report_message(LOG_DEBUG, "too fine");
	report_message(LOG_INFO, "hello");
}

Test(report, log_of_calls_at_its_level)
{
	char start[80];
	pid_t pid = in_child(logs);

	snprintf(start, sizeof(start), "fastalloc[%d]: posix_fallocate fd 3 [0, 100): populated, ", pid);
	read_text(name);
	cr_expect_eq(strncmp(text, start, strlen(start)), 0, "%s", text);
	cr_expect_not_null(strstr(text, ": posix_fallocate fd 3 [0, 100): refused, errno 28, "));
	cr_expect_null(strstr(text, "ftruncate"), "passed on is for debug");
	cr_expect_null(strstr(text, "too fine"));
	cr_expect_not_null(strstr(text, ": hello\n"));
}

static void symbolic_link(void)
{
	char target[160], log[160];

	snprintf(target, sizeof(target), "%s/target", directory);
	cr_assert_eq(symlink(target, name), 0);
	snprintf(log, sizeof(log), "debug:%s", name);
	report_init(log, name, "program");
	report_message(LOG_ERROR, "not there");
}

Test(report, symbolic_links_are_not_followed)
{
	in_child(symbolic_link);
	cr_expect_str_empty(read_text(name));
}

static void leaves_and_counts(void)
{
	cr_assert_eq(chdir(directory), 0);
	report_init("debug:out", NULL, "program");
	cr_assert_eq(chdir("/"), 0);
	report_message(LOG_ERROR, "here");
}

Test(report, relative_names_mean_where_the_program_started)
{
	in_child(leaves_and_counts);
	cr_expect_not_null(strstr(read_text(name), "here"));
}

static void replaces_stderr(void)
{
	int fd;

	report_init("debug", NULL, "program");
	close(2);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd != 2)
		_exit(1);
	report_message(LOG_ERROR, "into a file of the program");
}

Test(report, a_file_that_became_number_2_is_not_written)
{
	in_child(replaces_stderr);
	cr_expect_str_empty(read_text(name));
}

static void starts_without_stderr(void)
{
	int fd;

	close(2);
	report_init("debug", NULL, "program");
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd != 2)
		_exit(1);
	report_message(LOG_ERROR, "into a file of the program");
}

Test(report, started_without_stderr_nothing_is_written_there)
{
	in_child(starts_without_stderr);
	cr_expect_str_empty(read_text(name));
}

static void bad_words(void)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	dup2(fd, 2);
	report_init("verbose", "", "program");
	report_message(LOG_ERROR, "not asked for");
	report_init("", "", "program");
	report_message(LOG_ERROR, "not asked for");
}

Test(report, an_unknown_level_logs_nothing)
{
	in_child(bad_words);
	cr_expect_str_empty(read_text(name));
}

Test(report, nobody_asked_so_no_clock_is_read)
{
	report_init(NULL, NULL, "program");
	cr_expect_eq(report_clock(), 0);
	report_statistics();
}
