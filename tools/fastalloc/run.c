/* fastalloc run: run a program with the library. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "configuration.h"
#include "preload.h"
#include "stats.h"

static const char help[] = "run [-c FILE] [-s FILE] [-v] [--] PROGRAM [ARGUMENT...]\n"
			   "       fastalloc [OPTION...] PROGRAM [ARGUMENT...]\n\n"
			   "Runs a program, and all that it starts, with libfastalloc.so.\n\n"
			   "  -c, --config FILE  the configuration, in place of the user's and the system's\n"
			   "  -s, --stats FILE   append statistics of each process to FILE (JSON lines; see\n"
			   "                     'fastalloc stats'), and print their sum at the end (stderr)\n"
			   "  -v, --verbose      tell what is set, and what the library does (stderr)\n"
			   "  -h, --help\n\n"
			   "The exit status is the program's; 126 if it cannot be executed, 127 if it is\n"
			   "not found, 1 if it is not run for another reason. Programs on which the\n"
			   "library has no effect (static, set-user-ID, Go) are named, and run; those that\n"
			   "cannot load it (musl, 32-bit without a 32-bit library) are named, and not run.\n";

struct request {
	const char *config, *stats;
	int verbose;
	char **program; /* with its arguments */
};

/* The environment */

/* Returns 0, or 1 where memory is short (that is said). */
static int set_variable(const struct request *request, const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0) {
		complain_errno(name, errno);
		return 1;
	}
	if (request->verbose)
		complain(name, "%s", value);
	return 0;
}

/* Open a regular file; others could hang us or the library. Returns -1 where that fails; that is said. */
static int open_regular(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
	struct stat file;

	if (fd < 0) {
		complain_errno(path, errno);
		return -1;
	}
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
		return fd;
	complain(path, "is not a regular file");
	close(fd);
	return -1;
}

static int set_config(const struct request *request)
{
	static struct configuration configuration;
	char path[PATH_MAX];

	if (!realpath(request->config, path)) {
		complain_errno(request->config, errno);
		return 1;
	}
	return configuration_load(&configuration, request->config) || set_variable(request, "FASTALLOC_CONFIG", path);
}

/* FASTALLOC_STATS takes % as a directive. */
static void double_percents(const char *from, char *to)
{
	for (; *from; *to++ = *from++)
		if (*from == '%')
			*to++ = '%';
	*to = '\0';
}

/* Make the file of statistics where it is missing, and name it to the library. Returns a stream that reads
 * what will be appended, or NULL; that is said. */
static FILE *open_stats(const struct request *request)
{
	char path[PATH_MAX], value[2 * PATH_MAX];
	int fd = open_regular(request->stats, O_WRONLY | O_CREAT | O_APPEND);
	FILE *stream;

	if (fd < 0)
		return NULL;
	close(fd);
	stream = realpath(request->stats, path) ? fopen(path, "re") : NULL;
	if (!stream || fseeko(stream, 0, SEEK_END) < 0) {
		complain_errno(request->stats, errno);
		if (stream)
			fclose(stream);
		return NULL;
	}
	double_percents(path, value);
	if (!set_variable(request, "FASTALLOC_STATS", value))
		return stream;
	fclose(stream);
	return NULL;
}

static int set_environment(const struct request *request)
{
	if (request->verbose)
		complain("LD_PRELOAD", "%s", getenv("LD_PRELOAD"));
	if (request->config && set_config(request))
		return 1;
	return request->verbose && !getenv("FASTALLOC_LOG") && set_variable(request, "FASTALLOC_LOG", "info");
}

/* Execution */

static void print_summary(const char *name, FILE *file)
{
	struct stats stats;

	stats_init(&stats);
	stats_read(&stats, file, name);
	if (stats.count) {
		fputs("fastalloc: ", stderr);
		stats_print(&stats, stderr);
	} else if (!stats.errors) {
		complain(name, "no process wrote statistics (each does that when it ends by exit%s)",
			 getenv("FASTALLOC_DISABLE") ? "; FASTALLOC_DISABLE is set" : "");
	}
	stats_free(&stats);
}

static int run_with_stats(const struct request *request)
{
	int is_new = access(request->stats, F_OK) < 0;
	FILE *file = open_stats(request);
	int status, error;

	if (!file)
		return 1;
	error = child_run(request->program, &status);
	if (error) {
		fclose(file);
		complain_errno(request->program[0], error);
		if (is_new)
			unlink(request->stats);
		return child_exec_status(error);
	}
	signal(SIGPIPE, SIG_IGN); /* nobody may read it; we end as the program did */
	print_summary(request->stats, file);
	fclose(file);
	return child_end_like(status);
}

static int run(const struct request *request)
{
	char path[PATH_MAX];
	int error = library_prepare(request->program[0], path);

	if (error)
		return error;
	if (set_environment(request))
		return 1;
	if (request->verbose)
		complain(path, "is executed");
	if (request->stats)
		return run_with_stats(request);
	execvp(request->program[0], request->program);
	error = errno;
	complain_errno(request->program[0], error);
	return child_exec_status(error);
}

int run_main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"stats", required_argument, NULL, 's'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct request request = {0};
	int option;

	while ((option = getopt_long(argc, argv, "+c:s:vh", options, NULL)) != -1)
		switch (option) {
		case 'c':
			request.config = optarg;
			break;
		case 's':
			request.stats = optarg;
			break;
		case 'v':
			request.verbose = 1;
			break;
		case 'h':
			return print_help(help);
		default:
			return usage_error("run");
		}
	if (optind == argc) {
		complain("run", "a program is missing");
		return usage_error("run");
	}
	request.program = argv + optind;
	return run(&request);
}
