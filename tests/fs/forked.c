/* A thread writes to a file while another forks, and a little longer. Prints after how many of
 * the rounds there are blocks past EOF.
 *
 *   forked ROUNDS FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD 16384
#define MOST   20000 /* records */
#define AFTER  2     /* of them, once the fork has begun */

static int fd;
static atomic_int stop;

static void *write_until_told(void *unused)
{
	static const char record[RECORD];

	for (int i = 0, after = AFTER; after > 0 && i < MOST && write(fd, record, RECORD) == RECORD; i++)
		after -= stop;
	return unused;
}

/* Called before the library's, which was there first (pthread_atfork(3)). */
static void before_fork(void)
{
	stop = 1;
}

static int one_round(const char *path)
{
	struct stat status;
	pthread_t thread;

	stop = 0;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || pthread_create(&thread, NULL, write_until_told, NULL))
		exit(2);
	usleep(5000);
	if (fork() == 0)
		_exit(0);
	wait(NULL);
	pthread_join(thread, NULL);
	close(fd);
	if (stat(path, &status))
		exit(2);
	return status.st_blocks * 512 > status.st_size + RECORD / 2;
}

int main(int argc, char **argv)
{
	int left = 0;

	if (argc != 3 || pthread_atfork(before_fork, NULL, NULL))
		return 2;
	for (int i = atoi(argv[1]); i > 0; i--)
		left += one_round(argv[2]);
	printf("%d\n", left);
	return 0;
}
