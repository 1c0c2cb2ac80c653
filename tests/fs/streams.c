/* FILE streams in every way they come to be: does the library see what they write?
 *
 *   streams WAY FILE
 *
 * Writes 300 lines of 1000 bytes and prints "window" if blocks lie past EOF then, else
 * "none"; the stream is closed, or left for exit to flush. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#define LINES 300
#define BYTES 1000

static const char *path;

static FILE *need(FILE *stream)
{
	if (!stream) {
		perror(path);
		exit(2);
	}
	return stream;
}

static void write_lines(FILE *stream)
{
	for (int i = 0; i < LINES; i++)
		fprintf(stream, "%0*d\n", BYTES - 1, i);
}

static void tell(FILE *stream)
{
	struct stat status;

	fflush(stream);
	if (fstat(fileno(stream), &status) < 0)
		exit(2);
	/* A file's last block, and a little that a file system needs itself, prove nothing. */
	puts(status.st_blocks * 512 > status.st_size + (32 << 10) ? "window" : "none");
	fflush(stdout);
}

static void write_and_close(FILE *stream)
{
	write_lines(need(stream));
	tell(stream);
	fclose(stream);
}

static void way_fopen(void)
{
	write_and_close(fopen(path, "w"));
}

static void way_fopen_plus(void)
{
	write_and_close(fopen(path, "w+"));
}

static void way_exclusive(void)
{
	unlink(path);
	write_and_close(fopen(path, "wx"));
}

static void way_append(void)
{
	write_and_close(fopen(path, "a"));
}

static void way_fdopen(void)
{
	write_and_close(fdopen(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666), "w"));
}

static void way_fdopen_append(void)
{
	write_and_close(fdopen(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666), "a"));
}

static void way_freopen(void)
{
	write_and_close(freopen(path, "w", need(fopen("/dev/null", "w"))));
}

/* What another file had of a window goes before its number is this one's. */
static void way_freopen_other(void)
{
	struct stat status;
	char *other;
	FILE *stream;

	if (asprintf(&other, "%s.other", path) < 0)
		exit(2);
	stream = need(fopen(other, "w"));
	write_lines(stream);
	stream = need(freopen(path, "w", stream));
	if (stat(other, &status) || status.st_size != LINES * BYTES ||
	    status.st_blocks * 512 > status.st_size + (32 << 10))
		puts("the other's window");
	unlink(other);
	free(other);
	write_and_close(stream);
}

static void way_unbuffered(void)
{
	FILE *stream = need(fopen(path, "w"));

	setvbuf(stream, NULL, _IONBF, 0);
	write_and_close(stream);
}

static void way_wide(void)
{
	FILE *stream = need(fopen(path, "w"));

	for (int i = 0; i < LINES; i++)
		fwprintf(stream, L"%0*d\n", BYTES - 1, i);
	tell(stream);
	fclose(stream);
}

/* What exit flushes is the last line, behind everything that could be told before. */
static void way_exit(void)
{
	FILE *stream = need(fopen(path, "w"));

	write_lines(stream);
	tell(stream);
	fputs("the end\n", stream);
}

static void way_dprintf(void)
{
	FILE *stream = need(fopen(path, "w"));

	for (int i = 0; i < LINES; i++)
		dprintf(fileno(stream), "%0*d\n", BYTES - 1, i);
	tell(stream);
	fclose(stream);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"fopen", way_fopen},     {"fopen-plus", way_fopen_plus}, {"exclusive", way_exclusive},
	{"append", way_append},   {"fdopen", way_fdopen},         {"fdopen-append", way_fdopen_append},
	{"freopen", way_freopen}, {"unbuffered", way_unbuffered}, {"wide", way_wide},
	{"exit", way_exit},       {"dprintf", way_dprintf},       {"freopen-other", way_freopen_other},
};

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	path = argv[2];
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, argv[1])) {
			ways[i].run();
			return 0;
		}
	fprintf(stderr, "streams: unknown way %s\n", argv[1]);
	return 2;
}
