/*
 * Ages a new ext4: files of many sizes come and go until its free space lies in pieces.
 *
 * It is filled and thinned out again by turns. Between the turns it is unmounted, or what is allocated
 * next would hang on when the journal was last committed; in one turn this is the only process, on one
 * processor. So the same seed on the same mkfs.ext4 (-U, -E hash_seed) and kernel always leaves the same blocks.
 * The files are only allocated, never written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	MOST_FILES = 1 << 16,
	DIRECTORIES = 32,
	TURNS = 3,
	FULL = 95,     /* percent in use, before it is thinned out */
	THIN = 50,     /* and after */
	SMALLEST = 12, /* powers of two: 4 KiB to 8 MiB, each as frequent as the others */
	LARGEST = 23,
};

static const char *device, *directory;
static uint64_t state;
static int live[MOST_FILES], files, next; /* the numbers of the files there are */

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "age: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* xorshift64* */
static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dULL >> 16) % below;
}

static const char *name_of(int number)
{
	static char name[64];

	snprintf(name, sizeof(name), "aged.%d/%d", number % DIRECTORIES, number);
	return name;
}

static void enter(void)
{
	if (mount(device, directory, "ext4", MS_NOATIME, NULL) < 0 || chdir(directory) < 0)
		die(device);
}

static void leave(void)
{
	if (chdir("/") < 0 || umount(directory) < 0)
		die(directory);
}

static int used(void)
{
	struct statvfs fs;

	if (statvfs(".", &fs) < 0)
		die(directory);
	return (int)(100 - fs.f_bfree * 100 / fs.f_blocks);
}

static void make_directories(void)
{
	char name[16];

	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(name, sizeof(name), "aged.%d", i);
		if (mkdir(name, 0755) < 0)
			die(name);
	}
}

static void fill(int percent)
{
	while (used() < percent) {
		uint64_t power = UINT64_C(1) << (SMALLEST + draw(LARGEST - SMALLEST));
		int fd = files < MOST_FILES ? open(name_of(next), O_WRONLY | O_CREAT | O_EXCL, 0644) : -1;

		if (fd < 0 || fallocate(fd, 0, 0, (off_t)(power + draw(power))) < 0)
			die(name_of(next));
		close(fd);
		live[files++] = next++;
	}
}

static void thin(int percent)
{
	while (files && used() > percent) {
		int which = (int)draw((uint64_t)files);

		if (unlink(name_of(live[which])) < 0)
			die(name_of(live[which]));
		live[which] = live[--files];
	}
}

static void turn(void (*act)(int percent), int percent)
{
	enter();
	act(percent);
	leave();
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	int percent = argc == 5 ? atoi(argv[4]) : 0;

	state = argc == 5 ? strtoull(argv[3], NULL, 0) : 0;
	if (!state || percent < 1 || percent > FULL) {
		fprintf(stderr,
			"usage: age DEVICE DIRECTORY SEED PERCENT\n"
			"  DEVICE has a new ext4; DIRECTORY is where to mount it meanwhile; PERCENT is in use then\n");
		return 2;
	}
	device = argv[1];
	directory = argv[2];
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);

	enter();
	make_directories();
	leave();
	for (int i = 0; i < TURNS; i++) {
		turn(fill, FULL);
		turn(thin, i < TURNS - 1 ? THIN : percent);
	}
	return 0;
}
