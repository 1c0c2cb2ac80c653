/* files.h: the regular files that a command's arguments name. */
#ifndef FASTALLOC_FILES_H
#define FASTALLOC_FILES_H

#include <sys/stat.h>

/* What a subcommand does with one file; st is its stat. Returns 0, 1 after complaining, or the
 * -errno of files_open, which files_visit complains of. */
typedef int visit_file(const char *path, const struct stat *st, void *data);

/* What is done with a directory that is an argument. */
enum directories { DIRECTORIES_REFUSED, DIRECTORIES_ENTERED };

/* Visit each regular file that the NULL-terminated paths name: in their order, what is in
 * directories sorted by name. Symbolic links are followed where they are arguments, other file
 * systems are not entered. What cannot be visited is complained of, but for what vanishes from a
 * directory meanwhile. Returns 0, or 1 after that. */
int files_visit(char *const *paths, enum directories directories, visit_file *visit, void *data);

/* Open what was visited, with these flags of open(2). Returns a descriptor, or -errno;
 * -ESTALE where another file is there now. */
int files_open(const char *path, const struct stat *st, int flags);

#endif
