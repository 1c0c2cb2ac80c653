/* exec COUNT PROGRAM: start PROGRAM COUNT times, one after the other, as cheaply as can be. */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for (int i = atoi(argv[1]); i > 0; i--) {
		char *arguments[] = {argv[2], NULL};
		pid_t child;

		if (posix_spawn(&child, argv[2], NULL, NULL, arguments, environ) || waitpid(child, NULL, 0) < 0)
			return 1;
	}
	return 0;
}
