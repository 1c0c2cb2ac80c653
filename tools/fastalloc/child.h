/* child.h: a program that is run while we wait for it, as if it ran in our place. */
#ifndef FASTALLOC_CHILD_H
#define FASTALLOC_CHILD_H

/* Run a program, with its arguments, to its end. Signals that are sent to us reach it, what comes
 * from the terminal does by itself. Returns 0 and its status as of waitpid(2), or the errno of why
 * it could not be executed. */
int child_run(char **program, int *status);

/* End as a child of that status did: of the same signal, or return the exit status. */
int child_end_like(int status);

/* The exit status for an errno of execve(2), as env(1) and the shell have it: 127 where there is no
 * such program, 126 where it cannot be executed. */
int child_exec_status(int error);

#endif
