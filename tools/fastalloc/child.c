#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

/* What a child gets back before it becomes the program. */
struct inherited {
	sigset_t blocked;
	struct sigaction on_child;
};

/* Block every signal, so that the loop in follow() takes them one by one. */
static void hold_signals(struct inherited *inherited)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &inherited->blocked);
	/* Ignored, as some parent may have left it, it would make wait fail. */
	sigaction(SIGCHLD, &by_default, &inherited->on_child);
}

/* Returns the child's number, or -1 with errno, also where exec fails: a pipe that exec closes tells. */
static pid_t start(char **program, const struct inherited *inherited)
{
	int told[2], error = 0;
	pid_t child;

	if (pipe2(told, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		sigaction(SIGCHLD, &inherited->on_child, NULL);
		sigprocmask(SIG_SETMASK, &inherited->blocked, NULL);
		execvp(program[0], program);
		error = errno;
		_exit(write(told[1], &error, sizeof(error)) == sizeof(error) ? EXIT_CANNOT_EXECUTE : 1);
	}
	error = child < 0 ? errno : 0;
	close(told[1]);
	if (child > 0 && read(told[0], &error, sizeof(error)) == sizeof(error)) {
		waitpid(child, NULL, 0);
		child = -1;
	}
	close(told[0]);
	errno = error;
	return child;
}

/* Did the child end? Where the terminal has stopped it, stop too, so that the shell takes over. */
static int has_ended(pid_t child, int *status)
{
	if (waitpid(child, status, WNOHANG | WUNTRACED) != child)
		return 0;
	if (!WIFSTOPPED(*status))
		return 1;
	if (WSTOPSIG(*status) == SIGTSTP || WSTOPSIG(*status) == SIGTTIN || WSTOPSIG(*status) == SIGTTOU)
		raise(SIGSTOP);
	return 0;
}

/* Wait for the child's end; returns its wait status. Signals that were sent to us are passed on, and an alarm
 * that was set before; what comes from the terminal reaches the child by itself. */
static int follow(pid_t child)
{
	sigset_t all;
	siginfo_t info;
	int status;

	sigfillset(&all);
	for (;;) {
		int signal = sigwaitinfo(&all, &info);

		if (signal == SIGCHLD && has_ended(child, &status))
			return status;
		if (signal > 0 && signal != SIGCHLD && (info.si_code != SI_KERNEL || signal == SIGALRM))
			kill(child, signal);
	}
}

int child_run(char **program, int *status)
{
	struct inherited inherited;
	pid_t child;
	int error;

	hold_signals(&inherited);
	child = start(program, &inherited);
	error = child < 0 ? errno : 0;
	if (!error)
		*status = follow(child);
	sigaction(SIGCHLD, &inherited.on_child, NULL);
	sigprocmask(SIG_SETMASK, &inherited.blocked, NULL);
	return error;
}

/* But without a second core dump. */
int child_end_like(int status)
{
	const struct rlimit no_core = {0, 0};
	struct sigaction by_default = {.sa_handler = SIG_DFL};
	sigset_t it;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(WTERMSIG(status), &by_default, NULL);
	raise(WTERMSIG(status));
	sigemptyset(&it);
	sigaddset(&it, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &it, NULL);
	return 1;
}

int child_exec_status(int error)
{
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}
