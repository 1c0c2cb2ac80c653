/* Cancels a thread in a write that blocks: does the cancellation get through, with its
 * cleanup handlers run on the way? Prints "cancelled, cleaned up". */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int fd, clean;

static void clean_up(void *argument)
{
	*(int *)argument = 1;
}

static void *fill(void *argument)
{
	static char bytes[4096];

	pthread_cleanup_push(clean_up, &clean);
	for (;;)
		if (write(fd, bytes, sizeof(bytes)) < 0)
			break;
	pthread_cleanup_pop(0);
	return argument;
}

/* PATH is a FIFO to be made, which this process opened itself, or "-": a pipe. */
int main(int argc, char **argv)
{
	void *result = NULL;
	pthread_t thread;
	int ends[2];

	if (argc != 2)
		return 2;
	if (argv[1][0] == '-') {
		if (pipe(ends) < 0)
			return 2;
		fd = ends[1];
	} else if (mkfifo(argv[1], 0600) < 0 || (fd = open(argv[1], O_RDWR)) < 0) {
		return 2;
	}
	if (pthread_create(&thread, NULL, fill, NULL))
		return 2;
	usleep(50000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("%s, %s\n", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled",
	       clean ? "cleaned up" : "not cleaned up");
	return 0;
}
