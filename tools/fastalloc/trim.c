/* fastalloc trim: give back blocks past the end of files. */
#include <errno.h>
#include <getopt.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "command.h"
#include "cut.h"
#include "files.h"
#include "map.h"
#include "sys.h"

static const char help_text[] = "trim [OPTION...] PATH...\n\n"
				"Gives back what is allocated behind the end of files, in directories too, on the\n"
				"same file system. Contents and times stay. What was allocated there on purpose\n"
				"(fallocate --keep-size) is given back as well: look with --dry-run first.\n\n"
				"  -n, --dry-run  only show what would be given back\n"
				"  -J, --json     print JSON, sizes in bytes\n"
				"  -h, --help\n\n"
				"Files that somebody has open are left alone, which only their owner or root can\n"
				"find out; so are set-user-ID files and those with capabilities, which would\n"
				"lose them.\n";

struct trim {
	int dry_run, json;
	unsigned long long looked_at, files, bytes;
	void *seen; /* a tree of struct seen (tsearch(3)) */
	struct libscols_table *table;
};

/* Why a file must not be cut, or NULL */

static const char *lease_error(int error)
{
	switch (error) {
	case EAGAIN:
		return "somebody has it open";
	case EACCES:
		return "only its owner or root can tell whether somebody has it open";
	case EINVAL:
	case EOPNOTSUPP:
		return "its file system cannot tell whether somebody has it open";
	default:
		return strerror(error);
	}
}

static const char *cut_error_text(int error)
{
	return error == ETIME ? "took too long, somebody may have it open by now" : strerror(error);
}

static const char *forbidden(int fd, const struct file *file)
{
	struct statx stx = {.stx_attributes = 0};

	if (file->mode & (S_ISUID | S_ISGID))
		return "set-user-ID or set-group-ID, which it would lose";
	if (fgetxattr(fd, "security.capability", NULL, 0) >= 0)
		return "has capabilities, which it would lose";
	if (sys_statx(fd, "", AT_EMPTY_PATH, 0, &stx) == 0) {
		if (stx.stx_attributes & STATX_ATTR_IMMUTABLE)
			return "immutable (chattr -i)";
		if (stx.stx_attributes & STATX_ATTR_APPEND)
			return "append-only (chattr -a)";
	}
	/* To open it for writing would copy it, and who has it open in a layer is not seen. */
	if (strcmp(file->fstype, "overlay") == 0)
		return "on an overlay, only its layers can be trimmed";
	/* Over a network, which FUSE may be, others have files open that no lease here knows of. */
	if (strcmp(file->fstype, "fuse") == 0 || strncmp(file->fstype, "fuse.", 5) == 0)
		return lease_error(EOPNOTSUPP);
	return NULL;
}

/* Under the lease */

/* What lay past the end of a file, and what became of it, in bytes. */
struct past_end {
	uint64_t before, given, left;
};

/* Returns 0, or a positive errno: ETIME as of cut.h. */
static int cut(int fd, int64_t leased)
{
	struct statx stx;
	int error = -sys_statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_MTIME, &stx);

	return error ? error : abs(cut_past_end(fd, &stx, leased));
}

static int cut_and_measure(int fd, const struct file *before, struct past_end *past, int64_t leased)
{
	struct file after = *before;
	int error = cut(fd, leased);

	if (error)
		return error;
	if (policy_of(fd, NULL, &after) || map_past_end(fd, &after, &past->left))
		past->left = past->before;
	past->given = before->allocated > after.allocated ? (uint64_t)(before->allocated - after.allocated) : 0;
	return 0;
}

/* Nobody else has fd open, and whoever wants to waits until this returns: do it. No signal
 * comes in between cutting and setting the time again. Returns why not, or NULL. */
static const char *cut_if_sole(int fd, int dry_run, const struct file *before, struct past_end *past)
{
	int64_t leased = cut_clock();
	sigset_t all, mask;
	int error;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	error = -sys_fcntl(fd, F_SETLEASE, (const void *)(long)F_WRLCK);
	if (!error) {
		int cut_error = dry_run ? 0 : cut_and_measure(fd, before, past, leased);

		sys_fcntl(fd, F_SETLEASE, (const void *)(long)F_UNLCK);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return cut_error ? cut_error_text(cut_error) : NULL;
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return lease_error(error);
}

/* One file */

static void add_row(const struct trim *t, const char *path, const struct file *file, const struct past_end *past)
{
	struct libscols_line *line = output_line(t->table);

	output_text(line, 0, path);
	output_size(line, 1, (uint64_t)file->size);
	output_size(line, 2, past->before);
	if (!t->dry_run)
		output_size(line, 3, past->given);
}

/* fd is open as the cut needs it; there is something past the end. */
static int trim_open(struct trim *t, const char *path, int fd, const struct file *before, uint64_t past_end)
{
	struct past_end past = {.before = past_end, .given = t->dry_run ? past_end : 0};
	const char *reason = cut_if_sole(fd, t->dry_run, before, &past);

	if (reason) {
		complain(path, "%s", reason);
		return 1;
	}
	add_row(t, path, before, &past);
	t->files++;
	t->bytes += past.given;
	if (past.left)
		complain(path, "the file system gave back only part of it");
	return past.left != 0;
}

/* Look at fd, open for reading. Returns the status, or -1 where there is something to do. */
static int look(const char *path, int fd, struct file *file, uint64_t *past_end)
{
	int error = policy_of(fd, NULL, file);
	const char *reason;

	if (!error)
		error = map_past_end(fd, file, past_end);
	if (error == EOPNOTSUPP)
		complain(path, "its file system cannot tell what lies past the end");
	else if (error)
		complain_errno(path, error);
	if (error || *past_end == 0)
		return error != 0;
	reason = forbidden(fd, file);
	if (reason)
		complain(path, "%s", reason);
	return reason ? 1 : -1;
}

static int open_to_cut(const struct trim *t, const char *path, const struct stat *st)
{
	if (!t->dry_run)
		return files_open(path, st, O_WRONLY);
	/* Not for writing: xfs may give back blocks when that is closed. */
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? -errno : files_open(path, st, O_RDONLY);
}

/* Files with several names, which are visited once. */
struct seen {
	dev_t device;
	ino_t inode;
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static int was_seen(struct trim *t, const struct stat *st)
{
	struct seen *key = st->st_nlink > 1 ? malloc(sizeof(*key)) : NULL, **found;

	if (!key)
		return 0;
	*key = (struct seen){st->st_dev, st->st_ino};
	found = (struct seen **)tsearch(key, &t->seen, compare_seen);
	if (found && *found == key)
		return 0;
	free(key);
	return found != NULL;
}

static int trim_file(const char *path, const struct stat *st, void *data)
{
	struct trim *t = data;
	struct file file;
	uint64_t past_end = 0;
	int fd, status;

	if (was_seen(t, st))
		return 0;
	t->looked_at++;
	fd = files_open(path, st, O_RDONLY);
	if (fd >= 0) {
		status = look(path, fd, &file, &past_end);
		sys_close(fd); /* or it is we who have it open */
		if (status >= 0)
			return status;
		fd = open_to_cut(t, path, st);
	}
	if (fd == -EAGAIN) { /* it is leased, and we did not wait */
		complain(path, "%s", lease_error(EAGAIN));
		return 1;
	}
	if (fd < 0)
		return fd;
	status = trim_open(t, path, fd, &file, past_end);
	sys_close(fd);
	return status;
}

/* The result */

static int print_result(const struct trim *t)
{
	char text[SIZE_TEXT_MAX];
	int failed = 0;

	if (t->json || t->files)
		failed = output_print(t->table);
	else
		scols_unref_table(t->table);
	if (!t->json)
		printf("%llu of %llu files: %s %s\n", t->files, t->looked_at, size_text(text, t->bytes),
		       t->dry_run ? "to give back" : "given back");
	return failed;
}

int trim_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"dry-run", no_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'J'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct trim t = {0};
	int option, status;

	while ((option = getopt_long(argc, argv, "nJh", long_options, NULL)) != -1) {
		switch (option) {
		case 'n':
			t.dry_run = 1;
			break;
		case 'J':
			t.json = 1;
			break;
		case 'h':
			return print_help(help_text);
		default:
			return usage_error("trim");
		}
	}
	if (optind == argc) {
		complain("trim", "a path is missing");
		return usage_error("trim");
	}
	signal(SIGIO, SIG_IGN); /* somebody waits for the lease */
	t.table = output_table("files", t.json);
	output_column(t.table, "FILE", SCOLS_JSON_STRING, SCOLS_FL_WRAP);
	output_column(t.table, "SIZE", SCOLS_JSON_NUMBER, 0);
	output_column(t.table, "PAST-EOF", SCOLS_JSON_NUMBER, 0);
	if (!t.dry_run)
		output_column(t.table, "GIVEN-BACK", SCOLS_JSON_NUMBER, 0);
	status = files_visit(argv + optind, DIRECTORIES_ENTERED, trim_file, &t);
	tdestroy(t.seen, free);
	status |= print_result(&t);
	return finish(status);
}
