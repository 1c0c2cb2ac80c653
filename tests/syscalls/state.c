/*
 * state: what main finds: errno, and how many descriptors are open.
 * state FILE: besides, reserves 1 MiB of FILE, and tells its size and blocks.
 * state fork: calls posix_fallocate in a forked child, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void reserve(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	struct stat status = {0};
	int error = posix_fallocate(fd, 0, 1 << 20);

	fstat(fd, &status);
	printf("posix_fallocate %d size %ld blocks %ld\n", error, (long)status.st_size, (long)status.st_blocks);
	close(fd);
}

static void forks(void)
{
	posix_fallocate(-1, 0, 1);
	posix_fallocate(-1, 0, 1);
	fflush(stdout);
	if (fork() == 0) {
		posix_fallocate(-1, 0, 1);
		exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	int found = errno;

	printf("errno %d descriptors %d\n", found, count_descriptors());
	if (argc > 1 && !strcmp(argv[1], "fork"))
		forks();
	else if (argc > 1)
		reserve(argv[1]);
	return 0;
}
