/* fastalloc watch: run a program with the library only observing, and report how its files grew. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "growth.h"
#include "preload.h"

enum { SHOWN = 20 };

static const char help[] = "watch [-a] [-J] [-o FILE] [--] PROGRAM [ARGUMENT...]\n\n"
			   "Runs PROGRAM, changes nothing about what it does, and reports how its files\n"
			   "grew: in which writes, by which calls, and in how many pieces they lie now. Says\n"
			   "what the library would improve, and what would have to be in preload.conf for\n"
			   "that.\n\n"
			   "  -o, --output FILE  the report goes to FILE, not to stderr\n"
			   "  -a, --all          show all files, not only the 20 in the most pieces\n"
			   "  -J, --json         the report as JSON\n"
			   "  -h, --help\n\n"
			   "PROGRAM's children are watched, too, until PROGRAM ends. Not seen: static and\n"
			   "set-user-ID programs, those started as another user or in a container, and\n"
			   "writes that libc does not make (io_uring, memory mappings). At the end the files\n"
			   "are written out, to see where they lie; on FAT only root can see that.\n\n"
			   "TURNS: before how many of its writes another file of the device had grown.\n\n"
			   "The exit status is PROGRAM's; 127 where it is not found, 126 where it cannot be\n"
			   "run, 1 where the report cannot be written, 2 for wrong usage.\n";

struct options {
	const char *output; /* NULL: stderr */
	unsigned shown;
	int json;
};

/* What processes count into. It has no name, so that nothing is left behind. */
static struct watch_table *make_table(int *fd)
{
	struct watch_table *table = MAP_FAILED;

	*fd = memfd_create("fastalloc-watch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd >= 0 && ftruncate(*fd, sizeof(*table)) == 0 &&
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (table == MAP_FAILED) {
		complain_errno("memory", errno);
		return NULL;
	}
	table->magic = WATCH_MAGIC;
	return table;
}

/* The environment of the program, in ours. Returns 0, or the exit status; that is said then. */
static int set_environment(const char *program, int table)
{
	char path[PATH_MAX], name[64];
	int status = library_prepare(program, path);

	if (status)
		return status;
	snprintf(name, sizeof(name), "/proc/%ld/fd/%d", (long)getpid(), table);
	if (setenv("FASTALLOC_WATCH", name, 1) == 0 && unsetenv("FASTALLOC_DISABLE") == 0)
		return 0;
	complain_errno("FASTALLOC_WATCH", errno);
	return 1;
}

/* Opened before PROGRAM runs, so that what is wrong with it shows; emptied when it has run. */
static int open_output(const char *path, int *is_new)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	*is_new = fd >= 0;
	return fd < 0 && errno == EEXIST ? open(path, O_WRONLY | O_CLOEXEC) : fd;
}

/* From here on stdout is where the report goes, with all that is printed there. */
static int redirect(int output, const struct options *options)
{
	if (options->output && ftruncate(output, 0) < 0 && errno != EINVAL) /* of a pipe or device */
		return errno;
	return dup2(output, STDOUT_FILENO) < 0 ? errno : 0;
}

/* Returns 0, or 1 where the report cannot be written; that nobody reads it is no error. */
static int report(const struct observation *seen, int output, const struct options *options)
{
	int error = redirect(output, options);

	signal(SIGPIPE, SIG_IGN);
	if (!error) {
		growth_report(seen, options->shown, options->json);
		error = fflush(stdout) ? errno : 0;
	}
	if (!error || error == EPIPE)
		return 0;
	complain_errno(options->output ? options->output : "standard error", error);
	return 1;
}

static int watch(char **command, const struct options *options)
{
	struct observation seen = {.command = command};
	int output = STDERR_FILENO, is_new = 0, fd, error, status;
	struct watch_table *table = make_table(&fd);

	if (!table)
		return 1;
	status = set_environment(command[0], fd);
	if (status)
		return status;
	if (options->output)
		output = open_output(options->output, &is_new);
	if (output < 0) {
		complain_errno(options->output, errno);
		return 1;
	}
	error = child_run(command, &seen.status);
	if (error) {
		if (is_new)
			unlink(options->output);
		complain_errno(command[0], error);
		return child_exec_status(error);
	}
	if (table->processes == 0)
		complain(command[0], "no process of it could be watched");
	seen.table = table;
	error = report(&seen, output, options);
	status = child_end_like(seen.status);
	return status ? status : error;
}

int watch_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"all", no_argument, NULL, 'a'},
		{"help", no_argument, NULL, 'h'},
		{"json", no_argument, NULL, 'J'},
		{"output", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	struct options options = {.shown = SHOWN};
	int option;

	/* '+': options end where PROGRAM begins. */
	while ((option = getopt_long(argc, argv, "+ao:Jh", long_options, NULL)) >= 0)
		switch (option) {
		case 'a':
			options.shown = WATCH_FILES;
			break;
		case 'h':
			return print_help(help);
		case 'J':
			options.json = 1;
			break;
		case 'o':
			options.output = optarg;
			break;
		default:
			return usage_error("watch");
		}
	if (optind == argc) {
		complain("watch", "a program is missing");
		return usage_error("watch");
	}
	return watch(argv + optind, &options);
}
