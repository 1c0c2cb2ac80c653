#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "config.h"
#include "source.h"

/* The file as it is. */
struct target {
	char path[PATH_MAX]; /* symbolic links followed */
	int exists;
	struct stat status; /* valid where it exists */
	char *text;         /* else the stock configuration; terminated */
	size_t length;
};

/* The file that the library would read, or where the system's is to be. */
static void default_path(char path[PATH_MAX])
{
	const struct source_environment environment = {getenv("FASTALLOC_CONFIG"), getenv("XDG_CONFIG_HOME"),
						       getenv("HOME")};
	struct source source;

	source_find(&source, &environment);
	snprintf(path, PATH_MAX, "%s", source.path ? source.path : SYSCONFDIR "/fastalloc/preload.conf");
}

static void say_error(void *path, const struct config_error *error)
{
	complain(path, "line %u, column %u: %s", error->line, error->column, error->message);
}

/* Returns whether the text is in order; says what is not. */
static int parses(const char *path, const char *text, size_t length)
{
	static struct config config;

	return config_parse(&config, text, length, say_error, (void *)path) == 0;
}

/* Returns 0, or a positive errno. */
static int read_text(int fd, struct target *target)
{
	size_t size = (size_t)target->status.st_size;
	ssize_t n = 1;

	target->text = malloc(size + 1);
	if (!target->text)
		return ENOMEM;
	for (target->length = 0; target->length < size && n > 0; target->length += (size_t)n) {
		n = read(fd, target->text + target->length, size - target->length);
		if (n < 0)
			return errno;
	}
	target->text[target->length] = '\0';
	return 0;
}

/* Returns 0, or a positive errno. */
static int read_target(struct target *target)
{
	int fd = open(target->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
	struct source stock;

	target->exists = fd >= 0;
	if (fd < 0 && errno != ENOENT)
		return errno;
	if (fd < 0) {
		source_built_in(&stock);
		target->text = strndup(stock.text, stock.length);
		target->length = stock.length;
		return target->text ? 0 : ENOMEM;
	}
	if (fstat(fd, &target->status) < 0)
		error = errno;
	else if (!S_ISREG(target->status.st_mode))
		error = S_ISDIR(target->status.st_mode) ? EISDIR : EINVAL;
	else if (target->status.st_size > CONFIG_MAX_BYTES)
		error = EFBIG;
	else
		error = read_text(fd, target);
	close(fd);
	return error;
}

/* The directory of path, which may be missing if it is to be made: then the one above. */
static int is_writable_beside(const char *path)
{
	char directory[PATH_MAX], above[PATH_MAX];
	const char *name;

	snprintf(directory, sizeof(directory), "%s", path);
	name = dirname(directory);
	if (access(name, F_OK) == 0)
		return access(name, W_OK | X_OK) == 0;
	snprintf(above, sizeof(above), "%s", name);
	return access(dirname(above), W_OK | X_OK) == 0;
}

/* Returns 0, or 1 after saying why not. */
static int find_target(const char *file, struct target *target)
{
	char named[PATH_MAX];
	struct stat link;
	int error = 0;

	target->text = NULL;
	if (file)
		snprintf(named, sizeof(named), "%s", file);
	else
		default_path(named);
	if (!realpath(named, target->path)) {
		error = errno;
		if (error == ENOENT && lstat(named, &link) < 0) {
			snprintf(target->path, sizeof(target->path), "%s", named);
			error = 0;
		}
	}
	if (!error)
		error = read_target(target);
	if (!error && !is_writable_beside(target->path))
		error = errno;
	if (error)
		complain_errno(named, error);
	return error || !parses(named, target->text, target->length);
}

int apply_check(const char *file)
{
	struct target target;
	int failed = find_target(file, &target);

	free(target.text);
	return failed;
}

/* The line after at, or the end. */
static const char *next_line(const char *at)
{
	const char *newline = strchr(at, '\n');

	return newline ? newline + 1 : at + strlen(at);
}

static int starts_with(const char *at, const char *what)
{
	while (*what && *at == *what)
		at++, what++;
	return !*what;
}

/* What tune found before: from the line that is head up to the end it marked, or to the next section. */
static int find_tuned(const char *text, const char *head, const char **start, const char **end)
{
	for (const char *at = text; *at; at = next_line(at)) {
		if (!starts_with(at, head) || !starts_with(next_line(at), TUNED_BEGIN))
			continue;
		*start = at;
		*end = next_line(at);
		while (**end && **end != '[') {
			int last = starts_with(*end, TUNED_END);

			*end = next_line(*end);
			if (last)
				break;
		}
		return 1;
	}
	return 0;
}

/* The text with the section in it, or NULL where memory is short. */
static char *with_section(const char *text, const char *head, const char *section)
{
	const char *start = text + strlen(text), *end = start, *gap = "";
	char *whole;

	if (!find_tuned(text, head, &start, &end) && start > text)
		gap = start[-1] == '\n' ? "\n" : "\n\n";
	if (asprintf(&whole, "%.*s%s%s%s", (int)(start - text), text, gap, section, end) < 0)
		return NULL;
	return whole;
}

/* An open file with this text, and no name; -1 with errno. */
static int memory_file(const char *text)
{
	int fd = memfd_create("difference", 0);

	if (fd >= 0 && (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void __attribute__((noreturn)) become_diff(const struct target *target, const char *text)
{
	const char *before = target->exists ? target->path : "built-in configuration";
	char old[32], new[32];

	snprintf(old, sizeof(old), "/dev/fd/%d", memory_file(target->text));
	snprintf(new, sizeof(new), "/dev/fd/%d", memory_file(text));
	execlp("diff", "diff", "-u", output_has_colour() ? "--color=always" : "--color=never", "--label", before,
	       "--label", target->path, old, new, NULL);
	complain_errno("diff", errno);
	_exit(2);
}

/* Returns 0 when it was shown, -1 when there is none, 1 after a failure (that is said). */
static int show_difference(const struct target *target, const char *text)
{
	int status;
	pid_t pid;

	if (!strcmp(target->text, text) && target->exists)
		return -1;
	if (finish(0))
		return 1;
	pid = fork();
	if (pid == 0)
		become_diff(target, text);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		complain_errno("diff", errno);
		return 1;
	}
	return !WIFEXITED(status) || WEXITSTATUS(status) > 1;
}

static int is_agreed(const char *path)
{
	char *answer = NULL;
	size_t size = 0;
	int yes;

	printf("Write %s? [y/N] ", path);
	fflush(stdout);
	yes = getline(&answer, &size, stdin) > 0 && (answer[0] == 'y' || answer[0] == 'Y');
	free(answer);
	return yes;
}

/* Did somebody change the file while we measured and asked? */
static int is_unchanged(const struct target *target)
{
	struct stat now;

	if (stat(target->path, &now) < 0)
		return !target->exists;
	return target->exists && now.st_ino == target->status.st_ino && now.st_size == target->status.st_size &&
	       now.st_mtim.tv_sec == target->status.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == target->status.st_mtim.tv_nsec;
}

static int write_text(int fd, const struct target *target, const char *text)
{
	size_t left = strlen(text);
	ssize_t n;

	for (; left > 0; text += n, left -= (size_t)n) {
		n = write(fd, text, left);
		if (n < 0)
			return errno;
	}
	/* The owner first, as changing it drops bits of the mode. */
	if (target->exists && fchown(fd, target->status.st_uid, target->status.st_gid) < 0)
		return errno;
	if (fchmod(fd, target->exists ? target->status.st_mode & 07777 : 0644) < 0 || fsync(fd) < 0)
		return errno;
	return 0;
}

static void sync_directory(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/* Write a new file beside it and rename that: it is the old or the new one at every instant. */
static int replace(const struct target *target, const char *text)
{
	char copy[PATH_MAX], temporary[PATH_MAX + 16];
	const char *directory;
	int fd, error;

	snprintf(copy, sizeof(copy), "%s", target->path);
	directory = dirname(copy);
	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		return errno;
	snprintf(temporary, sizeof(temporary), "%s/.tuned-XXXXXX", directory);
	guard_temporary(temporary);
	fd = mkostemp(temporary, O_CLOEXEC);
	error = fd < 0 ? errno : write_text(fd, target, text);
	if (fd >= 0 && close(fd) < 0 && !error)
		error = errno;
	if (!error && rename(temporary, target->path) < 0)
		error = errno;
	if (error && fd >= 0)
		unlink(temporary);
	release_temporary();
	if (!error)
		sync_directory(directory);
	return error;
}

static int change(const struct target *target, const char *text, int agreed)
{
	int shown = show_difference(target, text), error;

	if (shown < 0)
		printf("%s: has it already\n", target->path);
	if (shown)
		return shown > 0;
	if (!agreed && !is_agreed(target->path)) {
		printf("Nothing is changed.\n");
		return 0;
	}
	if (!is_unchanged(target)) {
		complain(target->path, "changed meanwhile: not written");
		return 1;
	}
	error = replace(target, text);
	if (error)
		complain_errno(target->path, error);
	else
		printf("Written.\n");
	return error != 0;
}

int apply(const char *file, const char *head, const char *section, int agreed)
{
	struct target target;
	char *text = NULL;
	int status = 1;

	if (!find_target(file, &target)) {
		text = with_section(target.text, head, section);
		if (!text)
			complain_errno(target.path, ENOMEM);
		else if (parses(target.path, text, strlen(text)))
			status = change(&target, text, agreed);
	}
	free(text);
	free(target.text);
	return status;
}
