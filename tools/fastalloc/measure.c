#include "measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "preload.h"

static char directory_path[PATH_MAX];
static int directory = -1;

/* Signals: blocked but while measure_run waits, so that nothing is cut short. */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ENDING (sizeof(ending) / sizeof(*ending))

static volatile sig_atomic_t ended_by;
static struct sigaction before[ENDING];
static sigset_t mask_before;

static void note_end(int signal)
{
	ended_by = signal;
}

static void hold_signals(void)
{
	struct sigaction action = {.sa_handler = note_end};
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&held, ending[i]);
	sigprocmask(SIG_BLOCK, &held, &mask_before);
	for (size_t i = 0; i < ENDING; i++) {
		sigaction(ending[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN) /* nohup stays nohup */
			sigaction(ending[i], &action, NULL);
	}
}

static void release_signals(void)
{
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
	if (ended_by)
		raise(ended_by);
}

/* The directory */

static void empty_directory(void)
{
	int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!entries && again >= 0)
		close(again);
	while (entries && (entry = readdir(entries)))
		if (entry->d_name[0] != '.')
			unlinkat(directory, entry->d_name, 0);
	if (entries)
		closedir(entries);
}

int measure_begin(const char *dir)
{
	int error = 0;

	if ((size_t)snprintf(directory_path, sizeof(directory_path), "%s/fastalloc-tune-XXXXXX", dir) >=
	    sizeof(directory_path))
		return ENAMETOOLONG;
	hold_signals();
	if (!mkdtemp(directory_path)) {
		error = errno;
	} else {
		directory = open(directory_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0) {
			error = errno;
			rmdir(directory_path);
		}
	}
	if (error)
		release_signals();
	return error;
}

int measure_directory(void)
{
	return directory;
}

void measure_end(void)
{
	progress_end();
	empty_directory();
	close(directory);
	if (rmdir(directory_path) < 0)
		complain_errno(directory_path, errno);
	release_signals();
}

/* The library */

static struct library library;

int measure_library(void)
{
	return library_find(&library);
}

/* The worker */

/* A file without a name. It is inherited: the library opens it by /proc/self/fd. */
static int make_configuration(const char *keys)
{
	int fd = memfd_create("preload.conf", 0);

	if (fd >= 0 && dprintf(fd, "[default]\n%s", keys) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Other preloaded libraries would be measured too (libeatmydata's fsync...). */
static void set_environment(const char *keys, int configuration)
{
	char path[32];

	unsetenv("LD_PRELOAD");
	unsetenv("FASTALLOC_DISABLE");
	unsetenv("FASTALLOC_LOG");
	unsetenv("FASTALLOC_STATS");
	if (!keys)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", configuration);
	setenv("FASTALLOC_CONFIG", path, 1);
	setenv("LD_PRELOAD", library.path, 1);
}

static void __attribute__((noreturn)) become_worker(const char *keys, int in, int out, int configuration, pid_t parent)
{
	char *arguments[] = {"fastalloc", "tune", keys ? "--worker=library" : "--worker=plain", NULL};
	struct outcome failed = {.error = ESRCH};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && fchdir(directory) == 0 && dup2(in, STDIN_FILENO) >= 0 &&
	    dup2(out, STDOUT_FILENO) >= 0) {
		set_environment(keys, configuration);
		sigprocmask(SIG_SETMASK, &mask_before, NULL);
		execv("/proc/self/exe", arguments);
	}
	failed.error = errno;
	_exit(write(out, &failed, sizeof(failed)) != sizeof(failed));
}

/* Start it; *out is where its outcome comes from. Returns its pid, or -1 with errno. */
static pid_t start_worker(const char *keys, const struct job *job, int configuration, int *out)
{
	int in[2], outcome[2];
	pid_t parent = getpid(), pid = -1;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(outcome, O_CLOEXEC) == 0) {
		if (write(in[1], job, sizeof(*job)) == sizeof(*job))
			pid = fork();
		if (pid == 0)
			become_worker(keys, in[0], outcome[1], configuration, parent);
		close(outcome[1]);
		*out = outcome[0];
		if (pid < 0)
			close(outcome[0]);
	}
	close(in[0]);
	close(in[1]);
	return pid;
}

static int wait_for(int out, struct outcome *outcome)
{
	struct pollfd ready = {.fd = out, .events = POLLIN};
	ssize_t n = 0;

	while (!ended_by && ppoll(&ready, 1, NULL, &mask_before) < 0)
		if (errno != EINTR)
			return errno;
	if (ended_by)
		return EINTR;
	n = read(out, outcome, sizeof(*outcome));
	return n == sizeof(*outcome) ? outcome->error : ECANCELED;
}

int measure_run(const char *keys, const struct job *job, struct outcome *outcome)
{
	int configuration = keys ? make_configuration(keys) : -1, out = -1, error;
	pid_t pid;

	if (keys && configuration < 0)
		return errno;
	pid = start_worker(keys, job, configuration, &out);
	error = pid < 0 ? errno : 0;
	if (configuration >= 0)
		close(configuration);
	if (error)
		return error;
	error = wait_for(out, outcome);
	if (error) /* it may still be at it */
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(out);
	empty_directory();
	return error;
}
