/*
 * act FILE OPEN_FLAGS OP ... performs operations on one file, a line for each.
 * See usage() for the operations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BUFFER = 1 << 20,
	RUNS = 64,
	SENTINEL = 77, /* errno before posix_fallocate, which must leave it alone */
};

static const char *path;
static int open_flags;
static int fd = -1;
static volatile sig_atomic_t xfsz_signals, alarm_signals;

/* Static: after `seccomp strict` or `rlimit as` this process may not mmap. */
static unsigned char buffer[BUFFER] __attribute__((aligned(4096)));
static char line[RUNS * 32 + 256];
static size_t line_used;

static const char usage_text[] =
	"usage: act FILE OPEN_FLAGS OP ...\n"
	"OPEN_FLAGS: rdonly wronly rdwr creat trunc append direct dsync sync path excl nonblock\n"
	"sizes take K M G T; 'max' is 2^63-1\n"
	"  pfa OFF LEN | fa MODE OFF LEN | fallocates OFF LEN | ft LEN | tr LEN\n"
	"  pwrite OFF LEN BYTE | write LEN BYTE | pread OFF LEN | sum\n"
	"  size | blocks | pos | seek N | fds | fsync | fdatasync\n"
	"  close | reopen | memfd | dup | fork | die\n"
	"  fopen MODE | fwrite LEN BYTE | fclose\n"
	"  lock OFF LEN | plock OFF LEN | islocked | flock ex|sh\n"
	"  rlimit fsize|as|memlock|nofile N | mlockall | drop\n"
	"  user setuid|setreuid|setresuid|capset|SYS_setuid|...|for-a-while (no longer root)\n"
	"  user no-resource (without CAP_SYS_RESOURCE) | user setfsuid|seteuid | user back (to root, where one can)\n"
	"  sigxfsz ignore|default|count | signals | alarm HZ | alarms\n"
	"  seccomp strict|allow | seccomp2 strict|allow\n"
	"  landlock RIGHT,... (read write truncate, forbidden from here on)\n"
	"MODE: a number, or of keep,punch,zero,collapse\n";

static void __attribute__((noreturn)) usage(const char *why, const char *what)
{
	fprintf(stderr, "act: %s: %s\n%s", why, what, usage_text);
	exit(2);
}

static void __attribute__((format(printf, 1, 2))) put(const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line + line_used, sizeof(line) - line_used, format, arguments);
	va_end(arguments);
	line_used += (size_t)length;
	if (line_used >= sizeof(line))
		line_used = sizeof(line) - 1;
}

/* Not stdio: it loses output to EINTR (alarm), and to being killed (seccomp). */
static void end_line(void)
{
	size_t done = 0;

	put("\n");
	while (done < line_used) {
		ssize_t n = write(STDOUT_FILENO, line + done, line_used - done);

		if (n < 0 && errno != EINTR)
			_exit(3);
		if (n > 0)
			done += (size_t)n;
	}
	line_used = 0;
}

static void put_error(int error)
{
	const char *name = strerrorname_np(error);

	if (error == 0)
		put("0");
	else if (name)
		put("%s", name);
	else
		put("%d", error);
}

/* The result of a call that returns -1 and sets errno. */
static void put_result(int64_t result)
{
	if (result < 0)
		put_error(errno);
	else
		put("%" PRId64, result);
}

static int64_t parse_size(const char *text)
{
	char *end;
	long long value;
	int shift = 0;

	if (!strcmp(text, "max"))
		return INT64_MAX;
	errno = 0;
	value = strtoll(text, &end, 0);
	if (end == text || errno)
		usage("not a size", text);
	if (*end) {
		const char *units = "KMGT", *unit = strchr(units, *end);

		if (!unit || end[1])
			usage("not a size", text);
		shift = 10 * (int)(unit - units + 1);
	}
	if (__builtin_mul_overflow(value, 1LL << shift, &value))
		usage("too large", text);
	return value;
}

struct flag {
	const char *name;
	int value;
};

static const struct flag open_names[] = {
	{"rdonly", O_RDONLY}, {"wronly", O_WRONLY},     {"rdwr", O_RDWR},   {"creat", O_CREAT}, {"trunc", O_TRUNC},
	{"append", O_APPEND}, {"direct", O_DIRECT},     {"dsync", O_DSYNC}, {"sync", O_SYNC},   {"path", O_PATH},
	{"excl", O_EXCL},     {"nonblock", O_NONBLOCK}, {NULL, 0},
};

static const struct flag mode_names[] = {
	{"keep", FALLOC_FL_KEEP_SIZE},
	{"punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
	{"collapse", FALLOC_FL_COLLAPSE_RANGE},
	{"zero", FALLOC_FL_ZERO_RANGE},
	{NULL, 0},
};

static const struct flag rlimit_names[] = {
	{"fsize", RLIMIT_FSIZE}, {"as", RLIMIT_AS}, {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE}, {NULL, 0},
};

static int parse_name(const struct flag *names, const char *name, size_t length)
{
	for (; names->name; names++)
		if (strlen(names->name) == length && !memcmp(names->name, name, length))
			return names->value;
	usage("unknown word", name);
}

static int parse_flags(const struct flag *names, const char *text)
{
	int flags = 0;

	for (;;) {
		size_t length = strcspn(text, ",");

		flags |= parse_name(names, text, length);
		if (!text[length])
			return flags;
		text += length + 1;
	}
}

static int parse_mode(const char *text)
{
	if (*text >= '0' && *text <= '9')
		return (int)parse_size(text);
	return parse_flags(mode_names, text);
}

static void open_file(int flags)
{
	fd = open64(path, flags, 0666);
	if (fd < 0) {
		put("open = ");
		put_error(errno);
		end_line();
	}
}

static void op_pfa(char **args)
{
	int64_t offset = parse_size(args[0]), length = parse_size(args[1]);
	int error, after;

	errno = SENTINEL;
	error = posix_fallocate64(fd, offset, length);
	after = errno;
	put_error(error);
	if (after != SENTINEL)
		put(" errno-changed");
}

static void op_fa(char **args)
{
	put_result(fallocate64(fd, parse_mode(args[0]), parse_size(args[1]), parse_size(args[2])));
}

/* Every entry point in turn: all of them must be replaced, or none. */
static void op_fallocates(char **args)
{
	int64_t offset = parse_size(args[0]), length = parse_size(args[1]);

	put("posix_fallocate:");
	put_error(posix_fallocate(fd, (off_t)offset, (off_t)length));
	put(" posix_fallocate64:");
	put_error(posix_fallocate64(fd, offset, length));
	put(" fallocate:");
	put_result(fallocate(fd, 0, (off_t)offset, (off_t)length));
	put(" fallocate64:");
	put_result(fallocate64(fd, 0, offset, length));
}

static void op_ft(char **args)
{
	put_result(ftruncate64(fd, parse_size(args[0])));
}

static void op_tr(char **args)
{
	put_result(truncate64(path, parse_size(args[0])));
}

/* One call up to 1M; further calls until one is short or fails. */
static void write_bytes(int64_t offset, int64_t length, int byte)
{
	int64_t done = 0;

	memset(buffer, byte, sizeof(buffer));
	do {
		size_t part = length - done < BUFFER ? (size_t)(length - done) : BUFFER;
		ssize_t n = offset < 0 ? write(fd, buffer, part) : pwrite64(fd, buffer, part, offset + done);

		if (n < 0) {
			if (done)
				put("%" PRId64 " ", done);
			put_error(errno);
			return;
		}
		done += n;
		if ((size_t)n < part)
			break;
	} while (done < length);
	put("%" PRId64, done);
}

static void op_pwrite(char **args)
{
	write_bytes(parse_size(args[0]), parse_size(args[1]), (int)parse_size(args[2]));
}

static void op_write(char **args)
{
	write_bytes(-1, parse_size(args[0]), (int)parse_size(args[1]));
}

struct runs {
	int64_t length;
	int byte, count;
};

static void put_run(struct runs *runs)
{
	if (runs->length && runs->count <= RUNS)
		put(runs->count == RUNS ? ",..." : "%s0x%02x*%" PRId64, runs->count ? "," : "",
		    (unsigned int)runs->byte, runs->length);
	runs->count += runs->length != 0;
}

static void add_bytes(struct runs *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (buffer[i] != runs->byte) {
			put_run(runs);
			runs->byte = buffer[i];
			runs->length = 0;
		}
		runs->length++;
	}
}

static void op_pread(char **args)
{
	int64_t offset = parse_size(args[0]), end;
	struct runs runs = {0, -1, 0};

	if (__builtin_add_overflow(offset, parse_size(args[1]), &end))
		end = INT64_MAX;
	while (offset < end) {
		size_t part = end - offset < BUFFER ? (size_t)(end - offset) : BUFFER;
		ssize_t n = pread64(fd, buffer, part, offset);

		if (n < 0) {
			put_error(errno);
			return;
		}
		if (n == 0)
			break;
		add_bytes(&runs, (size_t)n);
		offset += n;
	}
	put_run(&runs);
	if (!runs.count)
		put("0");
}

static int stat_file(struct stat64 *status)
{
	return fd < 0 ? stat64(path, status) : fstat64(fd, status);
}

static void op_size(char **args)
{
	struct stat64 status = {0};
	int result = stat_file(&status);

	(void)args;
	put_result(result < 0 ? result : status.st_size);
}

static void op_blocks(char **args)
{
	struct stat64 status = {0};
	int result = stat_file(&status);

	(void)args;
	put_result(result < 0 ? result : (int64_t)status.st_blocks * 512);
}

static void op_pos(char **args)
{
	(void)args;
	put_result(lseek64(fd, 0, SEEK_CUR));
}

static void op_seek(char **args)
{
	put_result(lseek64(fd, parse_size(args[0]), SEEK_SET));
}

static void op_fsync(char **args)
{
	(void)args;
	put_result(fsync(fd));
}

static void op_fdatasync(char **args)
{
	(void)args;
	put_result(fdatasync(fd));
}

static void op_close(char **args)
{
	(void)args;
	put_result(close(fd));
	fd = -1;
}

static void op_reopen(char **args)
{
	(void)args;
	if (fd >= 0)
		close(fd);
	fd = open64(path, open_flags & ~(O_CREAT | O_EXCL | O_TRUNC));
	put_result(fd < 0 ? -1 : 0);
}

static void op_memfd(char **args)
{
	(void)args;
	if (fd >= 0)
		close(fd);
	fd = memfd_create("act", MFD_CLOEXEC);
	put_result(fd < 0 ? -1 : 0);
}

/* The copy is used from here on; the original stays open. */
static void op_dup(char **args)
{
	int copy = dup(fd);

	(void)args;
	put_result(copy < 0 ? -1 : 0);
	if (copy >= 0)
		fd = copy;
}

/* The child goes on; the parent waits for it. */
static void op_fork(char **args)
{
	pid_t child = fork();
	int status = 0;

	(void)args;
	if (child > 0) {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	put_result(child);
}

static void __attribute__((noreturn)) op_die(char **args)
{
	(void)args;
	kill(getpid(), SIGKILL);
	_exit(1);
}

static FILE *stream;

static void op_fopen(char **args)
{
	stream = fopen64(path, args[0]);
	fd = stream ? fileno(stream) : -1;
	put_result(stream ? 0 : -1);
}

/* In pieces that the stream's buffer takes several of. */
static void op_fwrite(char **args)
{
	int64_t length = parse_size(args[0]), done = 0;
	size_t piece, n;

	memset(buffer, (int)parse_size(args[1]), sizeof(buffer));
	do {
		piece = length - done < 500 ? (size_t)(length - done) : 500;
		n = fwrite(buffer, 1, piece, stream);
		done += (int64_t)n;
	} while (n == piece && done < length);
	put("%" PRId64, done);
	if (n < piece) {
		put(" ");
		put_error(errno);
	}
}

static void op_fclose(char **args)
{
	(void)args;
	put_result(fclose(stream));
	fd = -1;
}

static void set_lock(int command, char **args)
{
	struct flock64 range = {
		.l_type = (open_flags & O_ACCMODE) == O_RDONLY ? F_RDLCK : F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = parse_size(args[0]),
		.l_len = parse_size(args[1]),
	};

	put_result(fcntl(fd, command, &range));
}

static void op_lock(char **args)
{
	set_lock(F_OFD_SETLK, args);
}

static void op_plock(char **args)
{
#ifdef F_SETLK64
	set_lock(F_SETLK64, args);
#else
	set_lock(F_SETLK, args);
#endif
}

/* For children only: opening and closing the file drops a process's POSIX locks. */
static int open_again(void)
{
	char link[64];
	int again = -1;

	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		again = open64(link, O_RDONLY | O_NONBLOCK);
	}
	return again < 0 ? open64(path, O_RDONLY | O_NONBLOCK) : again;
}

/* From start to end (0: no end). Of locks that lie over one another, one is seen. */
static void put_locks_between(int again, int64_t start, int64_t end, int *count)
{
	struct flock64 range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start};
	int64_t after;

	range.l_len = end ? end - start : 0;
	if (fcntl(again, F_GETLK, &range) < 0) {
		put_error(errno);
		return;
	}
	if (range.l_type == F_UNLCK)
		return;
	after = range.l_len ? range.l_start + range.l_len : 0;
	if (range.l_start > start)
		put_locks_between(again, start, range.l_start, count);
	put("%s%s %s %" PRId64 " %" PRId64, (*count)++ ? ", " : "", range.l_pid == -1 ? "ofd" : "posix",
	    range.l_type == F_RDLCK ? "read" : "write", (int64_t)range.l_start, (int64_t)range.l_len);
	if (after && (!end || after < end))
		put_locks_between(again, after, end, count);
}

static void put_locks(void)
{
	int again = open_again(), count = 0;

	if (again < 0) {
		put_error(errno);
		return;
	}
	put_locks_between(again, 0, 0, &count);
	if (!count)
		put("no");
}

static void put_sum(void)
{
	uint64_t hash = 0xcbf29ce484222325;
	int again = open_again();
	ssize_t n;

	if (again < 0) {
		put_error(errno);
		return;
	}
	while ((n = read(again, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; i < n; i++)
			hash = (hash ^ buffer[i]) * 0x100000001b3;
	if (n < 0)
		put_error(errno);
	else
		put("%016" PRIx64, hash);
}

/* The child finishes the line; the parent forgets its start. */
static void in_child(void (*report)(void))
{
	pid_t child = fork();

	if (child < 0) {
		put_error(errno);
		end_line();
		return;
	}
	if (child == 0) {
		report();
		end_line();
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	line_used = 0;
}

static void op_islocked(char **args)
{
	(void)args;
	in_child(put_locks);
}

static void op_sum(char **args)
{
	(void)args;
	in_child(put_sum);
}

static void op_flock(char **args)
{
	static const struct flag names[] = {{"ex", LOCK_EX}, {"sh", LOCK_SH}, {"un", LOCK_UN}, {NULL, 0}};

	put_result(flock(fd, parse_flags(names, args[0]) | LOCK_NB));
}

static void op_rlimit(char **args)
{
	int resource = parse_flags(rlimit_names, args[0]);
	struct rlimit64 limit;

	getrlimit64(resource, &limit);
	limit.rlim_cur = (rlim64_t)parse_size(args[1]);
	put_result(setrlimit64(resource, &limit));
}

static void on_signal(int number)
{
	if (number == SIGXFSZ)
		xfsz_signals++;
	else
		alarm_signals++;
}

static void op_sigxfsz(char **args)
{
	struct sigaction action = {.sa_handler = on_signal};

	if (!strcmp(args[0], "ignore"))
		action.sa_handler = SIG_IGN;
	else if (!strcmp(args[0], "default"))
		action.sa_handler = SIG_DFL;
	else if (strcmp(args[0], "count"))
		usage("unknown word", args[0]);
	put_result(sigaction(SIGXFSZ, &action, NULL));
}

static void op_signals(char **args)
{
	(void)args;
	put("%d", (int)xfsz_signals);
}

static void op_alarms(char **args)
{
	(void)args;
	put("%d", (int)alarm_signals);
}

/* No SA_RESTART: calls are to be interrupted. */
static void op_alarm(char **args)
{
	struct sigaction action = {.sa_handler = on_signal};
	int64_t hertz = parse_size(args[0]);
	suseconds_t period = hertz ? (suseconds_t)(1000000 / hertz) : 0;
	struct itimerval timer = {
		.it_interval = {period / 1000000, period % 1000000},
		.it_value = {period / 1000000, period % 1000000},
	};

	sigaction(SIGALRM, &action, NULL);
	put_result(setitimer(ITIMER_REAL, &timer, NULL));
}

static void op_mlockall(char **args)
{
	(void)args;
	put_result(mlockall(MCL_CURRENT | MCL_FUTURE));
}

#define KILL_ON(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static struct sock_filter strict_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL_ON(SYS_madvise),
	KILL_ON(SYS_statx),
	KILL_ON(SYS_fdatasync),
	KILL_ON(SYS_pwritev2),
#ifdef SYS_sync_file_range
	KILL_ON(SYS_sync_file_range),
#endif
#ifdef SYS_sync_file_range2
	KILL_ON(SYS_sync_file_range2),
#endif
#ifdef SYS_mmap
	KILL_ON(SYS_mmap),
#endif
#ifdef SYS_mmap2
	KILL_ON(SYS_mmap2),
#endif
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static struct sock_filter allow_filter[] = {
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static struct sock_fprog parse_filter(const char *name)
{
	if (!strcmp(name, "allow"))
		return (struct sock_fprog){1, allow_filter};
	if (strcmp(name, "strict"))
		usage("unknown word", name);
	return (struct sock_fprog){sizeof(strict_filter) / sizeof(strict_filter[0]), strict_filter};
}

static void op_seccomp(char **args)
{
	struct sock_fprog program = parse_filter(args[0]);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	put_result(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void op_seccomp2(char **args)
{
	struct sock_fprog program = parse_filter(args[0]);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	put_result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1U << 14) /* Linux 6.2 */
#endif

static const struct flag landlock_names[] = {
	{"read", LANDLOCK_ACCESS_FS_READ_FILE},
	{"write", LANDLOCK_ACCESS_FS_WRITE_FILE},
	{"truncate", LANDLOCK_ACCESS_FS_TRUNCATE},
	{NULL, 0},
};

/* There is no rule that allows them anywhere. */
static void op_landlock(char **args)
{
	struct landlock_ruleset_attr attributes = {.handled_access_fs = (unsigned)parse_flags(landlock_names, args[0])};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes.handled_access_fs), 0);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	put_result(rules < 0 ? rules : syscall(SYS_landlock_restrict_self, rules, 0));
	close(rules);
}

static void op_drop(char **args)
{
	(void)args;
	if (setgroups(0, NULL) < 0 || setgid(65534) < 0)
		put_error(errno);
	else
		put_result(setuid(65534));
}

#define NOBODY 65534
#ifdef SYS_setuid32
#define SYS_OF_USER(call) SYS_##call##32
#else
#define SYS_OF_USER(call) SYS_##call
#endif

int capset(void *header, const void *data);

static struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
static const struct __user_cap_data_struct none[2];

static int for_a_while(void)
{
	return -(seteuid(NOBODY) || seteuid(0) || setresuid(NOBODY, NOBODY, 0) || setresuid(0, 0, 0));
}

/* As root that is confined by container runtimes. */
static int no_resource(void)
{
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -1;
	data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
	return capset(&header, data);
}

/* As servers do for their clients. */
static int change_fsuid(uid_t uid)
{
	setfsuid(uid);
	return setfsuid((uid_t)-1) == (int)uid ? 0 : -1;
}

static void op_user(char **args)
{
	const char *way = args[0];
	int result = -1;

	if (!strcmp(way, "setuid"))
		result = setuid(NOBODY);
	else if (!strcmp(way, "setreuid"))
		result = setreuid(NOBODY, NOBODY);
	else if (!strcmp(way, "setresuid"))
		result = setresuid(NOBODY, NOBODY, NOBODY);
	else if (!strcmp(way, "capset"))
		result = capset(&header, none);
	else if (!strcmp(way, "SYS_setuid"))
		result = (int)syscall(SYS_OF_USER(setuid), NOBODY);
	else if (!strcmp(way, "SYS_setreuid"))
		result = (int)syscall(SYS_OF_USER(setreuid), NOBODY, NOBODY);
	else if (!strcmp(way, "SYS_setresuid"))
		result = (int)syscall(SYS_OF_USER(setresuid), NOBODY, NOBODY, NOBODY);
	else if (!strcmp(way, "SYS_capset"))
		result = (int)syscall(SYS_capset, &header, none);
	else if (!strcmp(way, "for-a-while"))
		result = for_a_while();
	else if (!strcmp(way, "no-resource"))
		result = no_resource();
	else if (!strcmp(way, "setfsuid"))
		result = change_fsuid(NOBODY);
	else if (!strcmp(way, "seteuid"))
		result = seteuid(NOBODY);
	else if (!strcmp(way, "back"))
		result = seteuid(0);
	else
		usage("unknown way", way);
	put_result(result);
}

/* After drop /proc/self is root's, and nofile may leave none for it: then ask for each. */
static int count_each(void)
{
	int count = 0;

	for (int i = 0; i < 65536; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

static int count_entries(const unsigned char *entries, ssize_t size)
{
	int count = 0;

	for (ssize_t at = 0; at < size;) {
		unsigned short length; /* linux_dirent64: ino, off, reclen, type, name */

		memcpy(&length, entries + at + 16, sizeof(length));
		count += entries[at + 19] != '.';
		at += length;
	}
	return count;
}

static void op_fds(char **args)
{
	int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	int count = -1; /* the directory's own */
	ssize_t n;

	(void)args;
	if (directory < 0) {
		put("%d", count_each());
		return;
	}
	while ((n = syscall(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0)
		count += count_entries(buffer, n);
	close(directory);
	put("%d", count);
}

static const struct op {
	const char *name;
	void (*run)(char **args);
	int count;
	int own_line; /* a child prints the end of the line */
} ops[] = {
	{"pfa", op_pfa, 2, 0},
	{"fa", op_fa, 3, 0},
	{"fallocates", op_fallocates, 2, 0},
	{"ft", op_ft, 1, 0},
	{"tr", op_tr, 1, 0},
	{"pwrite", op_pwrite, 3, 0},
	{"write", op_write, 2, 0},
	{"pread", op_pread, 2, 0},
	{"sum", op_sum, 0, 1},
	{"size", op_size, 0, 0},
	{"blocks", op_blocks, 0, 0},
	{"pos", op_pos, 0, 0},
	{"seek", op_seek, 1, 0},
	{"fds", op_fds, 0, 0},
	{"fsync", op_fsync, 0, 0},
	{"fdatasync", op_fdatasync, 0, 0},
	{"close", op_close, 0, 0},
	{"reopen", op_reopen, 0, 0},
	{"memfd", op_memfd, 0, 0},
	{"dup", op_dup, 0, 0},
	{"fork", op_fork, 0, 0},
	{"die", op_die, 0, 0},
	{"fopen", op_fopen, 1, 0},
	{"fwrite", op_fwrite, 2, 0},
	{"fclose", op_fclose, 0, 0},
	{"lock", op_lock, 2, 0},
	{"plock", op_plock, 2, 0},
	{"islocked", op_islocked, 0, 1},
	{"flock", op_flock, 1, 0},
	{"rlimit", op_rlimit, 2, 0},
	{"sigxfsz", op_sigxfsz, 1, 0},
	{"signals", op_signals, 0, 0},
	{"alarm", op_alarm, 1, 0},
	{"alarms", op_alarms, 0, 0},
	{"mlockall", op_mlockall, 0, 0},
	{"seccomp", op_seccomp, 1, 0},
	{"seccomp2", op_seccomp2, 1, 0},
	{"drop", op_drop, 0, 0},
	{"user", op_user, 1, 0},
	{"landlock", op_landlock, 1, 0},
};

static const struct op *find_op(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	usage("unknown operation", name);
}

static void check_ops(char **args, int count)
{
	while (count) {
		const struct op *op = find_op(args[0]);

		if (count <= op->count)
			usage("arguments missing", args[0]);
		args += op->count + 1;
		count -= op->count + 1;
	}
}

static void run_op(const struct op *op, char **args)
{
	put("%s = ", op->name);
	op->run(args);
	if (!op->own_line)
		end_line();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		usage("arguments missing", "FILE OPEN_FLAGS");
	path = argv[1];
	open_flags = parse_flags(open_names, argv[2]);
	check_ops(argv + 3, argc - 3);
	open_file(open_flags);
	for (char **at = argv + 3; *at;) {
		const struct op *op = find_op(*at);

		run_op(op, at + 1);
		at += op->count + 1;
	}
	return 0;
}
