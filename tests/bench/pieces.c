/*
 * pieces: in how many pieces the file is that is in the most, by its chain in the FAT. filefrag(8) asks FIBMAP for
 * every 512 bytes, which takes 10 seconds for 256 MiB in the lab.
 *
 *   pieces DEVICE FILE...       FAT32; all of it written (sync)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	ENTRY_MASK = 0x0fffffff,
	LAST = 0x0ffffff8, /* and above: the chain ends */
};

static uint32_t *entries, count; /* of the FAT */
static uint32_t data, sectors;   /* where clusters begin and how long they are, in sectors */
static unsigned sector_size;

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "pieces: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t number(const unsigned char *bytes, int length)
{
	uint32_t value = 0;

	while (length--)
		value = value << 8 | bytes[length];
	return value;
}

/* The fields of a FAT32 boot sector (fatgen103). */
static void read_fat(const char *device)
{
	int fd = open(device, O_RDONLY);
	uint32_t reserved, length;
	unsigned char boot[512];
	size_t size, done = 0;
	ssize_t n = 1;

	if (fd < 0 || pread(fd, boot, sizeof(boot), 0) != sizeof(boot))
		die(device);
	sector_size = number(boot + 11, 2);
	sectors = boot[13];
	reserved = number(boot + 14, 2);
	length = number(boot + 36, 4);
	data = reserved + boot[16] * length;
	size = (size_t)length * sector_size;
	count = (uint32_t)(size / sizeof(*entries));
	entries = malloc(size);
	if (!entries || !sectors)
		die(device);
	for (; done < size && n > 0; done += (size_t)n)
		n = pread(fd, (char *)entries + done, size - done, (off_t)reserved * sector_size + (off_t)done);
	if (n <= 0)
		die(device);
	close(fd);
}

/* FIBMAP counts in the file system's blocks, on FAT sectors. */
static uint32_t first_cluster(const char *path)
{
	int fd = open(path, O_RDONLY), block = 0;

	if (fd < 0 || ioctl(fd, FIBMAP, &block) < 0)
		die(path);
	close(fd);
	return block ? ((uint32_t)block - data) / sectors + 2 : 0;
}

static long pieces_of(const char *path)
{
	uint32_t at = first_cluster(path);
	long pieces = at != 0;

	while (at && at < count) {
		uint32_t next = entries[at] & ENTRY_MASK;

		if (next >= LAST)
			return pieces;
		pieces += next != at + 1;
		at = next;
	}
	return pieces;
}

int main(int argc, char **argv)
{
	long most = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: pieces DEVICE FILE...\n");
		return 2;
	}
	read_fat(argv[1]);
	for (char **at = argv + 2; *at; at++) {
		long pieces = pieces_of(*at);

		most = pieces > most ? pieces : most;
	}
	printf("%ld\n", most);
	return 0;
}
