/* fastalloc probe: try out what a file system supports. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "map.h"
#include "place.h"
#include "sys.h"

static const char help_text[] = "probe [-J] DIR\n\n"
				"Tries out, in a temporary file in DIR that is removed again, what its file\n"
				"system supports of what the library uses. What cannot be tried out without\n"
				"filling the disk is told by the type of the file system: TRIED is \"no\" then.\n\n"
				"  -J, --json  print JSON\n"
				"  -h, --help\n";

/* At most a few of these are allocated at a time. */
enum { PROBE_SIZE = 1 << 20, PROBE_ROOM = 4 * PROBE_SIZE };

/* What is tried out, and where its results go. */
struct probe {
	const char *directory;
	int fd;           /* of the temporary file, which has no name any more */
	struct file file; /* what policy_of said when it was created */
	int fault_allocates;
	int failed; /* a trial met an error that says nothing of what is supported */
	struct libscols_table *table;
};

/* Rows */

enum how { TRIED, BY_TYPE };

static void add(const struct probe *p, const char *feature, const char *result, enum how how, const char *detail)
{
	struct libscols_line *line = output_line(p->table);

	output_text(line, 0, feature);
	output_text(line, 1, result);
	output_text(line, 2, how == TRIED ? "yes" : "no");
	output_text(line, 3, detail);
}

/* "no" where the file system does not support it, "failed" for any other reason. */
static void add_error(struct probe *p, const char *feature, int error)
{
	int unsupported = error == EOPNOTSUPP || error == ENOTTY || error == ENOSYS || error == EINVAL;

	add(p, feature, unsupported ? "no" : "failed", TRIED, strerror(error));
	p->failed |= !unsupported;
}

/* Each trial begins with an empty file. Returns 0, or a positive errno. */
static int empty(const struct probe *p)
{
	return -sys_ftruncate(p->fd, 0);
}

static unsigned long long allocated(const struct probe *p)
{
	struct file file;

	return policy_of(p->fd, NULL, &file) ? 0 : (unsigned long long)file.allocated;
}

/* A byte in each page from start to end. Returns 0, or a positive errno. */
static int put_data(int fd, off64_t start, off64_t end)
{
	static const char data[4096] = {1};

	for (off64_t at = start; at < end; at += (off64_t)sizeof(data)) {
		ssize_t put = sys_pwrite(fd, data, sizeof(data), at);

		if (put != (ssize_t)sizeof(data))
			return put < 0 ? (int)-put : ENOSPC;
	}
	return 0;
}

/* Trials */

static void try_fallocate(struct probe *p, const char *feature, int mode)
{
	int error = empty(p);
	char detail[80], text[SIZE_TEXT_MAX];

	if (!error)
		error = -sys_fallocate(p->fd, mode, 0, PROBE_SIZE);
	if (error) {
		add_error(p, feature, error);
		return;
	}
	snprintf(detail, sizeof(detail), "%s allocated for 1 MiB", size_text(text, allocated(p)));
	add(p, feature, "yes", TRIED, detail);
}

static void try_punch(struct probe *p)
{
	unsigned long long before;
	int error = empty(p);

	if (!error)
		error = put_data(p->fd, 0, PROBE_SIZE);
	if (!error)
		error = -sys_fdatasync(p->fd);
	before = allocated(p);
	if (!error)
		error = -sys_fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PROBE_SIZE / 2);
	if (error)
		add_error(p, "PUNCH_HOLE", error);
	else
		add(p, "PUNCH_HOLE", "yes", TRIED,
		    allocated(p) < before ? "gives blocks back" : "gives no blocks back");
}

/* Growing by ftruncate: does it allocate? */
static void try_sparse(struct probe *p)
{
	int error = empty(p);
	char detail[80], text[SIZE_TEXT_MAX];
	unsigned long long bytes;

	if (!error)
		error = -sys_ftruncate(p->fd, PROBE_SIZE);
	if (error) {
		add_error(p, "sparse growth", error);
		return;
	}
	bytes = allocated(p);
	if (bytes >= PROBE_SIZE && !(p->file.traits & TRAIT_DENSE)) {
		/* minix computes it from the size. */
		add(p, "sparse growth", "unknown", TRIED, "st_blocks may count holes");
		return;
	}
	snprintf(detail, sizeof(detail), "ftruncate to 1 MiB allocates %s", size_text(text, bytes));
	add(p, "sparse growth", bytes < PROBE_SIZE ? "yes" : "no", TRIED, detail);
}

/* The file is a hole and, at its end, data. */
static void try_seek_hole(struct probe *p)
{
	int error = empty(p);
	off64_t data;

	if (!error)
		error = put_data(p->fd, PROBE_SIZE - 4096, PROBE_SIZE);
	if (!error)
		error = -sys_fdatasync(p->fd);
	data = error ? -1 : lseek64(p->fd, 0, SEEK_DATA);
	if (data < 0)
		add_error(p, "SEEK_HOLE", error ? error : errno);
	else
		add(p, "SEEK_HOLE", data > 0 ? "yes" : "no", TRIED,
		    data > 0 ? "holes are found" : "all is taken for data");
}

static void try_map(struct probe *p)
{
	int error = empty(p);
	struct file file;
	struct map map;

	if (!error)
		error = put_data(p->fd, 0, 4096);
	if (!error)
		error = policy_of(p->fd, NULL, &file);
	if (!error)
		error = map_read(p->fd, p->directory, &file, &map);
	if (error == EPERM)
		add(p, "FIEMAP", "no", TRIED, "FIBMAP may do, but is for root");
	else if (error)
		add_error(p, "FIEMAP", error);
	if (error)
		return;
	add(p, "FIEMAP", strcmp(map.source, "FIEMAP") == 0 ? "yes" : "no", TRIED,
	    strcmp(map.source, "FIEMAP") == 0 ? "tells where a file lies" : "FIBMAP tells where a file lies");
	map_free(&map);
}

/* Is it of the family "nfs" or "fuse"? */
static int is_remote(const struct probe *p, const char *family)
{
	return strncmp(p->file.fstype, family, strlen(family)) == 0;
}

/* Is there room for a page as soon as it is written to through a mapping? */
static void try_fault(struct probe *p)
{
	static const char feature[] = "fault allocates";
	int error = empty(p);
	unsigned long long before;
	void *page;

	if (is_remote(p, "nfs") || is_remote(p, "fuse")) {
		/* Asking these for the blocks may write the page out. */
		add(p, feature, "no", BY_TYPE, "only when the page is written out");
		return;
	}
	if (!error)
		error = -sys_ftruncate(p->fd, PROBE_SIZE);
	before = allocated(p);
	page = error ? NULL : sys_mmap(PROBE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (error || sys_map_failed(page)) {
		add_error(p, feature, error ? error : (int)-(long)page);
		return;
	}
	/* Not a write to memory: where there is no room, that would be SIGBUS. */
	error = -sys_madvise(page, PROBE_SIZE, MADV_POPULATE_WRITE);
	p->fault_allocates = !error && allocated(p) > before;
	if (error)
		add_error(p, feature, error);
	else if (p->fault_allocates)
		add(p, feature, "yes", TRIED, "with the first write to a mapped page");
	else if (before == 0)
		add(p, feature, "no", TRIED, "only when the page is written out");
	else if (p->file.traits & TRAIT_DENSE)
		add(p, feature, "yes", BY_TYPE, "there are no holes");
	else
		add(p, feature, p->file.traits & TRAIT_FAULT_ALLOCATES ? "yes" : "no", BY_TYPE, NULL);
	sys_munmap(page, PROBE_SIZE);
}

static void try_lease(const struct probe *p)
{
	int error = -sys_fcntl(p->fd, F_SETLEASE, (const void *)(long)F_WRLCK);

	if (error) {
		add(p, "write lease", "no", TRIED, error == EAGAIN ? "refused, with no other opener" : strerror(error));
		return;
	}
	sys_fcntl(p->fd, F_SETLEASE, (const void *)(long)F_UNLCK);
	add(p, "write lease", "yes", TRIED, "tells if others here have a file open");
}

/* ENOSPC: without filling the disk it can only be told */

static void tell_no_space(const struct probe *p)
{
	if (is_remote(p, "fuse"))
		add(p, "ENOSPC, written", "write", BY_TYPE, "with writeback_cache, fsync or close");
	else if (is_remote(p, "nfs"))
		add(p, "ENOSPC, written", "fsync", BY_TYPE, "or close, or a write that comes later");
	else
		add(p, "ENOSPC, written", "write", BY_TYPE, "also where blocks are allocated later");
	if (p->file.traits & TRAIT_DENSE)
		add(p, "ENOSPC, mapped", "ftruncate", BY_TYPE, "there are no holes");
	else if (p->fault_allocates || p->file.traits & TRAIT_FAULT_ALLOCATES)
		add(p, "ENOSPC, mapped", "SIGBUS", BY_TYPE, "at the first write to a page");
	else
		add(p, "ENOSPC, mapped", "fsync", BY_TYPE, "or msync; data is lost");
}

/* The file */

/* With a name: what is allocated past EOF by one open, and found there by the next. */
static void try_past_end(struct probe *p, const char *path)
{
	static const char feature[] = "past EOF after close";
	int error = put_data(p->fd, 0, 4096);

	if (!error)
		error = -sys_fallocate(p->fd, FALLOC_FL_KEEP_SIZE, 0, PROBE_SIZE);
	if (error) {
		add_error(p, feature, error);
		return;
	}
	sys_close(p->fd);
	p->fd = sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (p->fd < 0)
		add_error(p, feature, -p->fd);
	else if (allocated(p) < PROBE_SIZE)
		add(p, feature, "no", TRIED, "close gives it back");
	else
		add(p, feature, "yes", TRIED,
		    p->file.traits & TRAIT_CHAIN ? "until the inode leaves memory"
						 : "until it is cut off (fastalloc trim)");
}

/* A new file that goes when we do. Its name, for remove_name, is put into the template path.
 * Returns 0, or a positive errno. */
static int create(struct probe *p, char *path)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	p->fd = mkostemp(path, O_CLOEXEC);
	error = p->fd < 0 ? errno : 0;
	if (!error)
		guard_temporary(path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

static void remove_name(const char *path)
{
	unlink(path);
	release_temporary();
}

/* A full disk is no place for trials. Returns 0, or 1 after complaining. */
static int check_room(const char *directory)
{
	char text[SIZE_TEXT_MAX];
	struct statfs sfs;

	if (statfs(directory, &sfs)) {
		complain_errno(directory, errno);
		return 1;
	}
	/* Some do not count. */
	if (sfs.f_blocks == 0 || (unsigned long long)sfs.f_bavail * (unsigned long long)sfs.f_bsize >= PROBE_ROOM)
		return 0;
	complain(directory, "only %s free, the trials need 4 MiB",
		 size_text(text, (unsigned long long)sfs.f_bavail * (unsigned long long)sfs.f_bsize));
	return 1;
}

/* The first row */
static void tell_type(const struct probe *p)
{
	struct libscols_line *line = output_line(p->table);
	struct mount mount;

	output_text(line, 0, "file system");
	output_text(line, 1, *p->file.fstype ? p->file.fstype : "unknown");
	if (!place_mount(p->fd, "", &mount))
		output_text(line, 3, mount.point);
}

static void try_all(struct probe *p)
{
	try_fallocate(p, "fallocate", 0);
	try_fallocate(p, "KEEP_SIZE", FALLOC_FL_KEEP_SIZE);
	try_punch(p);
	try_seek_hole(p);
	try_map(p);
	try_sparse(p);
	try_fault(p);
	try_lease(p);
	tell_no_space(p);
}

/* Returns the status, or -1 after complaining where there is nothing to show. */
static int probe(struct probe *p)
{
	char path[PATH_MAX];
	int error = ENAMETOOLONG;

	if (snprintf(path, sizeof(path), "%s/.fastalloc-XXXXXX", p->directory) < (int)sizeof(path))
		error = create(p, path);
	if (!error) {
		error = policy_of(p->fd, NULL, &p->file);
		if (!error) {
			tell_type(p);
			try_past_end(p, path);
		}
		remove_name(path);
		if (!error && p->fd >= 0)
			try_all(p);
		if (p->fd >= 0)
			sys_close(p->fd);
	}
	if (!error)
		return p->failed;
	complain_errno(p->directory, error);
	return -1;
}

int probe_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"json", no_argument, NULL, 'J'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct probe p = {0};
	int option, json = 0, status;

	while ((option = getopt_long(argc, argv, "Jh", long_options, NULL)) != -1) {
		switch (option) {
		case 'J':
			json = 1;
			break;
		case 'h':
			return print_help(help_text);
		default:
			return usage_error("probe");
		}
	}
	if (optind + 1 != argc) {
		complain("probe", "one directory is to be named");
		return usage_error("probe");
	}
	p.directory = argv[optind];
	if (check_room(p.directory))
		return 1;
	p.table = output_table("features", json);
	output_column(p.table, "FEATURE", SCOLS_JSON_STRING, 0);
	output_column(p.table, "RESULT", SCOLS_JSON_STRING, 0);
	output_column(p.table, "TRIED", SCOLS_JSON_BOOLEAN, 0);
	output_column(p.table, "DETAIL", SCOLS_JSON_STRING, SCOLS_FL_WRAP);
	status = probe(&p);
	if (status < 0) {
		scols_unref_table(p.table);
		return finish(1);
	}
	status |= output_print(p.table);
	return finish(status);
}
