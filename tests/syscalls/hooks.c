/* Hooks under the eye of trap.c, and what writers find that libc makes, or is, unseen.
 *
 *   hooks calls DIRECTORY   every hook whose libc function neither allocates nor locks, and what
 *                           signal handlers may call; trap.c, where it is loaded, ends the program at
 *                           the first that does. Prints how many there were.
 *   hooks trapped           allocates where that is forbidden: the proof that it would be seen
 *   hooks WAY FILE          writes to FILE, then lets that be written otherwise, writes again; WAY: words (a
 *                           shell started by wordexp), pidfd_spawn, pidfd_spawnp, backtrace, getfd,
 *                           syscall (the same);
 *                           twice: as another file of that name was */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wordexp.h>

static int *inside; /* trap_inside of trap.c */

extern ssize_t __write(int fd, const void *buffer, size_t count);
extern ssize_t __pwrite64(int fd, const void *buffer, size_t count, off64_t offset);
extern int __close(int fd);
extern int __dup2(int fd, int to);
extern int __fcntl(int fd, int command, ...);
extern int __open64(const char *path, int flags, ...);

static unsigned calls;

#define CALL(call)                       \
	({                               \
		__typeof__(call) result; \
                                         \
		++*inside;               \
		result = (call);         \
		--*inside;               \
		calls++;                 \
		result;                  \
	})

static char block[256 << 10];

/* As a program writes that gets windows, in several sizes; then everything else on that file. */
static void on_file(const char *path, int flags)
{
	struct iovec iov[2] = {{block, 5000}, {block, 70000}};
	int fd = CALL(open(path, O_RDWR | O_CREAT | O_TRUNC | flags, 0644)), other, in;
	off64_t from = 0, to = 900000;
	off_t at = 0;

	if (fd < 0)
		exit(3);
	/* A window, and what is left of it given back. */
	CALL(write(fd, block, sizeof(block)));
	CALL(write(fd, block, 1000));
	CALL(close(fd));
	fd = CALL(open(path, O_RDWR | O_TRUNC | flags));
	for (int i = 0; i < 20; i++) {
		CALL(write(fd, block, sizeof(block)));
		CALL(__write(fd, block, 1000));
	}
	CALL(pwrite(fd, block, 1000, 6 << 20));
	CALL(pwrite64(fd, block, sizeof(block), 7 << 20));
	CALL(__pwrite64(fd, block, 4096, (7 << 20) + sizeof(block)));
	CALL(writev(fd, iov, 2));
	CALL(pwritev(fd, iov, 2, 8 << 20));
	CALL(pwritev64(fd, iov, 2, 9 << 20));
	CALL(pwritev2(fd, iov, 2, 10 << 20, 0));
	CALL(pwritev64v2(fd, iov, 2, -1, 0));
	CALL(fsync(fd));
	CALL(fdatasync(fd));
	CALL(posix_fallocate(fd, 0, 12 << 20));
	CALL(posix_fallocate64(fd, 12 << 20, 1 << 20));
	CALL(posix_fallocate(fd, -1, 0));
	CALL(fallocate(fd, 0, 0, 14 << 20));
	CALL(fallocate64(fd, FALLOC_FL_KEEP_SIZE, 0, 15 << 20));
	CALL(ftruncate(fd, 16 << 20));
	CALL(ftruncate64(fd, 100));
	CALL(truncate(path, 1 << 20));
	CALL(truncate64(path, 2 << 20));
	in = CALL(openat(AT_FDCWD, path, O_RDONLY));
	CALL(copy_file_range(in, &from, fd, &to, 100000, 0));
	lseek(fd, 0, SEEK_END);
	CALL(sendfile(fd, in, &at, 100000));
	CALL(sendfile64(fd, in, &at, 100000));
	CALL(close(in));
	other = CALL(dup(fd));
	CALL(write(other, block, 1000));
	CALL(dup2(other, 30));
	CALL(__dup2(other, 31));
	CALL(dup3(other, 32, O_CLOEXEC));
	CALL(fcntl(fd, F_DUPFD, 33));
	CALL(__fcntl(fd, F_GETFL));
	CALL(fcntl(fd, F_SETFL, O_APPEND));
	CALL(write(fd, block, 1000));
	CALL(ioctl(fd, FIONREAD, &(int){0}));
	CALL(fchmod(fd, 0600));
	CALL(fchown(fd, (uid_t)-1, (gid_t)-1));
	CALL(setreuid((uid_t)-1, (uid_t)-1));
	CALL(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
	CALL(setuid(geteuid()));
	CALL(close_range(30, 33, 0));
	CALL(__close(other));
	CALL(close(fd));
	CALL(close(fd));
	fd = CALL(__open64(path, O_WRONLY));
	CALL(pwrite(fd, block, 1000, 3 << 20));
	CALL(close(fd));
	fd = CALL(creat(path, 0644));
	CALL(write(fd, block, sizeof(block)));
	/* A child ends windows, and has them afterwards, without any of it either. */
	++*inside;
	if (syscall(SYS_gettid) && !_Fork())
		_exit(write(fd, block, 1000) != 1000);
	--*inside;
	CALL(write(fd, block, sizeof(block)));
	CALL(close(fd));
	unlink(path);
}

static void on_others(void)
{
	int ends[2], sockets[2], null = CALL(open("/dev/null", O_WRONLY));
	struct iovec iov = {block, 100};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct mmsghdr messages = {.msg_hdr = message};

	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(3);
	CALL(write(ends[1], block, 1000));
	CALL(splice(ends[0], NULL, null, NULL, 1000, 0));
	CALL(sendmsg(sockets[0], &message, 0));
	CALL(sendmmsg(sockets[0], &messages, 1, 0));
	CALL(write(-1, block, 1));
	CALL(close(-1));
	CALL(ftruncate(-1, 1));
	CALL(posix_fallocate(ends[1], 0, 1));
	CALL(open("/none/none", O_RDONLY));
	CALL(prctl(PR_GET_DUMPABLE));
	CALL(close(null));
}

static int words(void)
{
	wordexp_t expansion;

	if (wordexp("$(:)", &expansion, 0))
		return 1;
	wordfree(&expansion);
	return 0;
}

/* Of glibc 2.39; before, there is only what a library of the test's own has. */
static int spawn(const char *name)
{
	char *arguments[] = {"true", NULL};
	int (*pidfd_spawn)(int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
			   char *const[], char *const[]) = dlsym(RTLD_DEFAULT, name);
	int pidfd;

	return !pidfd_spawn || pidfd_spawn(&pidfd, "/bin/true", NULL, NULL, arguments, NULL);
}

static int copy_of(int fd, int way)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), copy;
	int (*getfd)(int, int, unsigned) = dlsym(RTLD_DEFAULT, "pidfd_getfd");

	copy = way || !getfd ? (int)syscall(SYS_pidfd_getfd, self, fd, 0) : getfd(self, fd, 0);
	close(self);
	return copy < 0 || write(copy, block, 1000) < 0 || close(copy);
}

static int otherwise(const char *way, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), failed = 1;
	void *addresses[] = {(void *)otherwise};

	if (write(fd, block, sizeof(block)) < 0 || write(fd, block, 1000) < 0)
		return 1;
	if (!strcmp(way, "words"))
		failed = words();
	else if (!strncmp(way, "pidfd_spawn", 11))
		failed = spawn(way);
	else if (!strcmp(way, "getfd") || !strcmp(way, "syscall"))
		failed = copy_of(fd, *way == 's');
	else if (!strcmp(way, "twice")) /* another file, as this one was */
		failed = close(fd) || unlink(path) || (fd = open(path, O_WRONLY | O_CREAT, 0644)) < 0 ||
			 write(fd, block, sizeof(block)) < 0 || write(fd, block, 1000) < 0;
	else if (!strcmp(way, "backtrace"))
		backtrace_symbols_fd(addresses, failed--, fd);
	return failed || write(fd, block, 1000) < 0 || close(fd);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc == 3 && strcmp(argv[1], "calls") != 0)
		return otherwise(argv[1], argv[2]);
	inside = dlsym(RTLD_DEFAULT, "trap_inside");
	if (!inside) {
		puts("trap.c is not loaded");
		return 2;
	}
	if (argc == 2 && !strcmp(argv[1], "trapped")) {
		CALL(open_memstream(&(char *){NULL}, &(size_t){0}));
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "calls"))
		return 2;
	snprintf(path, sizeof(path), "%s/hooks", argv[2]);
	on_file(path, 0);
	on_file(path, O_APPEND);
	on_file(path, O_DSYNC);
	on_others();
	printf("calls = %u\n", calls);
	return 0;
}
