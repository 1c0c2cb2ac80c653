/*
 * A library whose constructor calls what libfastalloc.so hooks. Loaded before it
 * or without it, it must work; what it found goes to the file EARLY names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void early(void)
{
	const char *path = getenv("EARLY");
	FILE *stream;
	int fd;

	if (!path)
		return;
	stream = fopen(path, "w+");
	if (!stream)
		return;
	fd = dup(fileno(stream));
	fprintf(stream, "ftruncate:%d ", ftruncate(fd, 0));
	fflush(stream);
	fprintf(stream, "fallocate:%d ", posix_fallocate(fd, 0, 8192));
	fprintf(stream, "bad:%d ", posix_fallocate(-1, 0, 8192) == EBADF);
	fprintf(stream, "fsync:%d ", fsync(fd));
	fprintf(stream, "close:%d ", close(fd));
	fprintf(stream, "again:%d ", close(fd) == -1 && errno == EBADF);
	fprintf(stream, "end\n");
	if (fclose(stream))
		unlink(path);
}
