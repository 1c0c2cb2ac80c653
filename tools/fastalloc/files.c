#include "files.h"

#include <errno.h>
#include <fts.h>
#include <string.h>

#include "command.h"
#include "sys.h"

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* What vanishes while directories are read was not asked for by name. */
static int complain_of_entry(const FTSENT *entry, int error)
{
	if (entry->fts_level != FTS_ROOTLEVEL && (error == ENOENT || error == ESTALE))
		return 0;
	complain_errno(entry->fts_path, error);
	return 1;
}

static int visit_entry(FTS *tree, FTSENT *entry, enum directories directories, visit_file *visit, void *data)
{
	int is_argument = entry->fts_level == FTS_ROOTLEVEL, status;

	switch (entry->fts_info) {
	case FTS_F:
		status = visit(entry->fts_path, entry->fts_statp, data);
		return status < 0 ? complain_of_entry(entry, -status) : status;
	case FTS_D:
		if (directories == DIRECTORIES_ENTERED)
			return 0;
		fts_set(tree, entry, FTS_SKIP);
		complain(entry->fts_path, "is a directory (-r enters it)");
		return 1;
	case FTS_SLNONE:
		complain_errno(entry->fts_path, ENOENT);
		return 1;
	case FTS_DEFAULT:
		if (is_argument)
			complain(entry->fts_path, "is not a regular file");
		return is_argument;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return complain_of_entry(entry, entry->fts_errno);
	default:
		return 0;
	}
}

static int visit_tree(char *path, enum directories directories, visit_file *visit, void *data)
{
	char *const paths[] = {path, NULL};
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_XDEV, by_name);
	FTSENT *entry;
	int failed = 0;

	if (!tree) {
		complain_errno(path, errno);
		return 1;
	}
	while (errno = 0, (entry = fts_read(tree)))
		failed |= visit_entry(tree, entry, directories, visit, data);
	if (errno) {
		complain_errno(path, errno);
		failed = 1;
	}
	fts_close(tree);
	return failed;
}

int files_visit(char *const *paths, enum directories directories, visit_file *visit, void *data)
{
	int failed = 0;

	for (; *paths; paths++)
		failed |= visit_tree(*paths, directories, visit, data);
	return failed;
}

int files_open(const char *path, const struct stat *st, int flags)
{
	struct stat opened;
	/* O_NONBLOCK: a FIFO that took the file's place must not hold us. */
	int fd = sys_open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	if (fstat(fd, &opened) == 0 && opened.st_dev == st->st_dev && opened.st_ino == st->st_ino &&
	    S_ISREG(opened.st_mode))
		return fd;
	sys_close(fd);
	return -ESTALE;
}
