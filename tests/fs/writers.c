/* Two writers to one file that the first of them opened and closes again, a record to each
 * lane in turn, in every way that the second can have come by it. Whatever the library cuts
 * off or gives back, every record that a write acknowledged must be there afterwards.
 *
 *   writers WAY SECONDS FILE
 *
 * Prints rounds, the records of each lane, and how many were lost; exit status 1 with any. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD 512
#define BLOCK  4096 /* records that are cloned: whole blocks */
#define MOST   4000 /* records of a lane in a round */

enum lane { OPENER, OTHER, LANES };

extern char **environ;

/* Shared with the other writer, whatever process it is in. */
struct shared {
	atomic_int stop;
	atomic_int opened;               /* the opener has opened it again */
	atomic_int ready;                /* the other has the file */
	atomic_uint acknowledged[LANES]; /* records 0 to this are in the file */
	atomic_uint signals;             /* sent to the opener, and not received yet */
};
static struct shared *shared;

static const char *path, *self;
static int shared_fd;
static size_t record_size = RECORD;
static int fd = -1; /* the opener's */
static int other_fd = -1;

static void fail(const char *what)
{
	fprintf(stderr, "writers: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void fill(char *record, enum lane lane, unsigned number)
{
	memset(record, 'a' + (int)lane, record_size);
	memcpy(record, &number, sizeof(number));
}

static off_t place(enum lane lane, unsigned number)
{
	return ((off_t)number * LANES + (off_t)lane) * (off_t)record_size;
}

typedef ssize_t put(int fd, const void *record, size_t size, off_t at);

/* Returns 0 when the lane is full or the descriptor gone. */
static int put_next(put *put_record, int to, enum lane lane)
{
	unsigned number = atomic_load(&shared->acknowledged[lane]);
	char record[BLOCK];

	if (number == MOST)
		return 0;
	fill(record, lane, number);
	if (put_record(to, record, record_size, place(lane, number)) != (ssize_t)record_size)
		return 0;
	atomic_store(&shared->acknowledged[lane], number + 1);
	return 1;
}

static void put_until_told(put *put_record, int to)
{
	atomic_store(&shared->ready, 1);
	while (!atomic_load(&shared->stop))
		if (!put_next(put_record, to, OTHER))
			sched_yield();
}

static ssize_t put_raw(int to, const void *record, size_t size, off_t at)
{
	return syscall(SYS_pwrite64, to, record, size, at);
}

static ssize_t put_vector(int to, const void *record, size_t size, off_t at)
{
	struct iovec iov = {(void *)record, size};

	return pwritev(to, &iov, 1, at);
}

static int reserves; /* the other lane is zeros */
static off_t reserved;
static unsigned shrunk;

/* What was reserved before is there still. */
static ssize_t put_reservation(int to, const void *record, size_t size, off_t at)
{
	struct stat status;

	(void)record;
	shrunk += fstat(to, &status) == 0 && status.st_size < reserved;
	if (posix_fallocate(to, at, (off_t)size))
		return -1;
	reserved = at + (off_t)size;
	return (ssize_t)size;
}

static FILE *stream;

static ssize_t put_stream(int to, const void *record, size_t size, off_t at)
{
	(void)to;
	if (fseeko(stream, at, SEEK_SET) < 0 || fwrite(record, 1, size, stream) != size || fflush(stream))
		return -1;
	return (ssize_t)size;
}

/* Copies within the kernel, of what another file has at the same place */

static int source = -1;

static void open_source(void)
{
	char name[4200];

	snprintf(name, sizeof(name), "%s.source", path);
	source = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (source < 0)
		fail(name);
	record_size = BLOCK;
}

static off_t put_in_source(const void *record, size_t size, off_t at)
{
	if (pwrite(source, record, size, at) != (ssize_t)size)
		fail("source");
	return at;
}

static ssize_t put_clone(int to, const void *record, size_t size, off_t at)
{
	struct file_clone_range range = {.src_fd = source, .src_length = size, .dest_offset = (uint64_t)at};

	range.src_offset = (uint64_t)put_in_source(record, size, at);
	if (ioctl(to, FICLONERANGE, &range))
		fail("FICLONERANGE");
	return (ssize_t)size;
}

static ssize_t put_copy(int to, const void *record, size_t size, off_t at)
{
	off_t in = put_in_source(record, size, at), out = at;

	return copy_file_range(source, &in, to, &out, size, 0);
}

static ssize_t put_sendfile(int to, const void *record, size_t size, off_t at)
{
	off_t in = put_in_source(record, size, at);

	return lseek(to, at, SEEK_SET) < 0 ? -1 : sendfile(to, source, &in, size);
}

static ssize_t put_splice(int to, const void *record, size_t size, off_t at)
{
	ssize_t got;
	int ends[2];

	if (pipe(ends) || write(ends[1], record, size) != (ssize_t)size)
		fail("pipe");
	got = splice(ends[0], NULL, to, &at, size, 0);
	close(ends[0]);
	close(ends[1]);
	return got;
}

/* In turn, so that each meets windows that were made for another. */
static ssize_t put_any(int to, const void *record, size_t size, off_t at)
{
	static put *const ways[] = {put_clone, put_copy, put_sendfile, put_splice, pwrite};

	return ways[(size_t)(at / (off_t)size) / LANES % (sizeof(ways) / sizeof(*ways))](to, record, size, at);
}

/* Threads */

static pthread_t thread;

static void *run_thread(void *put_record)
{
	put_until_told((put *)put_record, other_fd);
	return NULL;
}

static void start_thread(put *put_record, int to)
{
	other_fd = to;
	if (pthread_create(&thread, NULL, run_thread, (void *)put_record))
		fail("pthread_create");
}

static void stop_thread(void)
{
	pthread_join(thread, NULL);
}

static void start_same(void)
{
	start_thread(pwrite, fd);
}
static void start_raw(void)
{
	start_thread(put_raw, fd);
}
static void start_vectors(void)
{
	start_thread(put_vector, fd);
}

static void start_reservations(void)
{
	reserves = 1;
	reserved = 0;
	shrunk = 0;
	start_thread(put_reservation, fd);
}

static void start_duplicate(void)
{
	start_thread(pwrite, fcntl(fd, F_DUPFD_CLOEXEC, 100));
}

static void start_duplicate_raw(void)
{
	start_thread(pwrite, (int)syscall(SYS_dup, fd));
}

static void stop_duplicate(void)
{
	stop_thread();
	close(other_fd);
}

static void start_stream(void)
{
	stream = fdopen(dup(fd), "r+");
	start_thread(put_stream, -1);
}

static void stop_stream(void)
{
	stop_thread();
	fclose(stream);
}

/* Finds no space all the time, somewhere else, for which windows are given back; and glances
 * at the file, so that some are not. */
static void *run_out(void *unused)
{
	int full = open("/dev/full", O_WRONLY);

	while (!atomic_load(&shared->stop)) {
		if (write(full, "", 1) >= 0)
			fail("/dev/full");
		if (rand() % 16 == 0)
			close(open(path, O_RDONLY | O_CLOEXEC));
	}
	close(full);
	return unused;
}

static pthread_t relief;

static void start_relief(void)
{
	if (pthread_create(&relief, NULL, run_out, NULL))
		fail("pthread_create");
}

static void start_alone(void)
{
	atomic_store(&shared->ready, 1);
}

static void stop_alone(void)
{
}

/* Under the same number, most of the time. */
static void reopen(void)
{
	close(fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail(path);
}

/* Signals */

static void on_alarm(int number)
{
	int saved = errno;

	(void)number;
	put_next(pwrite, fd, OTHER);
	errno = saved;
}

static void set_timer(suseconds_t period)
{
	struct itimerval timer = {{0, period}, {0, period}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void start_signals(void)
{
	signal(SIGALRM, on_alarm);
	atomic_store(&shared->ready, 1);
	set_timer(100);
}

static void stop_signals(void)
{
	set_timer(0);
}

/* Processes */

static pid_t child;

static void start_fork(void)
{
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		put_until_told(pwrite, fd);
		_exit(0);
	}
}

/* Forks and ends at once, while the other thread writes. */
static void start_thread_fork(void)
{
	start_same();
	for (int i = 20 + rand() % 100; i > 0; i--)
		put_next(pwrite, fd, OPENER);
	child = fork();
	if (child == 0)
		_exit(0);
}

static void stop_thread_fork(void)
{
	stop_thread();
	waitpid(child, NULL, 0);
}

static void stop_child(void)
{
	waitpid(child, NULL, 0);
}

static char number_of_shared[16], number_of_fd[16];
static char *arguments[] = {"writers", "--other", number_of_shared, number_of_fd, NULL};

static void prepare_exec(void)
{
	fcntl(fd, F_SETFD, 0);
	snprintf(number_of_shared, sizeof(number_of_shared), "%d", shared_fd);
	snprintf(number_of_fd, sizeof(number_of_fd), "%d", fd);
}

static void start_vfork(void)
{
	prepare_exec();
	child = vfork();
	if (child == 0) {
		execv(self, arguments);
		_exit(1);
	}
}

static void start_spawn(void)
{
	prepare_exec();
	if (posix_spawn(&child, self, NULL, NULL, arguments, environ))
		fail("posix_spawn");
}

static void start_system(void)
{
	char command[4200];

	prepare_exec();
	snprintf(command, sizeof(command), "'%s' --other %s %s & :", self, number_of_shared, number_of_fd);
	if (system(command))
		fail("system");
}

static void stop_orphan(void)
{
	while (atomic_load(&shared->ready) != 2)
		sched_yield();
}

/* After a fork; what was open at it is shared. */
static void open_again(void)
{
	fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	atomic_store(&shared->acknowledged[OPENER], 0);
	for (int i = 0; i < 20; i++)
		put_next(pwrite, fd, OPENER);
	atomic_store(&shared->opened, 1);
}

static void wait_for_open(void)
{
	while (!atomic_load(&shared->opened))
		sched_yield();
}

static void start_opened(void)
{
	close(fd);
	child = fork();
	if (child == 0) {
		int again;

		wait_for_open();
		again = open(path, O_RDWR);
		/* Comes and goes, so that it meets everything that the opener does. */
		while (!atomic_load(&shared->stop)) {
			for (int i = rand() % 30; i >= 0; i--)
				put_next(pwrite, again, OTHER);
			atomic_store(&shared->ready, 1);
			close(again);
			again = open(path, O_RDWR);
		}
		_exit(0);
	}
	open_again();
}

/* The signal that the library uses for leases is the program's, too. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (info->si_code == SI_QUEUE)
		atomic_fetch_sub(&shared->signals, 1);
	else
		atomic_store(&shared->signals, 1U << 30); /* a stranger */
}

/* Glances at the file all the time, and sends signals in between. */
static void start_opened_signals(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	const union sigval value = {0};

	sigaction(SIGRTMAX, &action, NULL);
	close(fd);
	child = fork();
	if (child == 0) {
		wait_for_open();
		while (atomic_load(&shared->stop) < 2) {
			atomic_store(&shared->ready, 1);
			close(open(path, O_RDONLY));
			/* No more than it can handle meanwhile. */
			if ((int)atomic_load(&shared->signals) < 8 && sigqueue(getppid(), SIGRTMAX, value) == 0)
				atomic_fetch_add(&shared->signals, 1);
		}
		_exit(0);
	}
	open_again();
}

static void stop_opened_signals(void)
{
	atomic_store(&shared->stop, 2);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void start_passed(void)
{
	int pair[2], byte = 0;
	struct iovec iov = {&byte, 1};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		fail("socketpair");
	close(fd);
	child = fork();
	if (child == 0) {
		recvmsg(pair[0], &message, 0);
		memcpy(&other_fd, CMSG_DATA(&control.header), sizeof(other_fd));
		put_until_told(pwrite, other_fd);
		_exit(0);
	}
	open_again();
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(pair[1], &message, 0) < 0)
		fail("sendmsg");
	close(pair[0]);
	close(pair[1]);
}

static const struct way {
	const char *name;
	void (*start)(void), (*stop)(void);
	int closes_first; /* the opener may close while the other still writes */
	int reopens;      /* the opener closes it and opens it again, now and then */
	int relieves;     /* another thread finds no space */
} ways[] = {
	{"thread", start_same, stop_thread, 0, 0, 0},
	{"closed", start_same, stop_thread, 1, 0, 0},
	{"relieved", start_alone, stop_alone, 1, 1, 1},
	{"relieved-thread", start_same, stop_thread, 0, 0, 1},
	{"relieved-reservations", start_reservations, stop_thread, 0, 0, 1},
	{"relieved-opened", start_opened, stop_child, 1, 0, 1},
	{"thread-fork", start_thread_fork, stop_thread_fork, 0, 0, 0},
	{"reservations", start_reservations, stop_thread, 1, 0, 0},
	{"vectors", start_vectors, stop_thread, 0, 0, 0},
	{"raw", start_raw, stop_thread, 0, 0, 0},
	{"duplicate", start_duplicate, stop_duplicate, 1, 0, 0},
	{"duplicate-raw", start_duplicate_raw, stop_duplicate, 1, 0, 0},
	{"stream", start_stream, stop_stream, 1, 0, 0},
	{"signals", start_signals, stop_signals, 0, 0, 0},
	{"fork", start_fork, stop_child, 1, 0, 0},
	{"vfork", start_vfork, stop_child, 1, 0, 0},
	{"spawn", start_spawn, stop_child, 1, 0, 0},
	{"system", start_system, stop_orphan, 1, 0, 0},
	{"passed", start_passed, stop_child, 1, 0, 0},
	{"opened", start_opened, stop_child, 1, 0, 0},
	{"opened-signals", start_opened_signals, stop_opened_signals, 1, 0, 0},
	{"cloned", start_opened, stop_child, 1, 0, 0},
	{"cloned-thread", start_same, stop_thread, 1, 0, 1},
	{"cloned-relieved", start_alone, stop_alone, 1, 1, 1},
};

static unsigned lost_in(int again, enum lane lane)
{
	unsigned lost = 0;

	for (unsigned number = 0; number < atomic_load(&shared->acknowledged[lane]); number++) {
		char record[BLOCK], expected[BLOCK] = {0};

		if (lane != OTHER || !reserves)
			fill(expected, lane, number);
		if (pread(again, record, record_size, place(lane, number)) != (ssize_t)record_size ||
		    memcmp(record, expected, record_size))
			lost++;
	}
	return lost;
}

static unsigned long total[LANES];

static unsigned long one_round(const struct way *way)
{
	unsigned count = 20 + (unsigned)rand() % 300, lost;
	put *puts = source < 0 ? pwrite : put_any;
	int again;

	memset(shared, 0, sizeof(*shared));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(path);
	for (int i = rand() % 40; i > 0; i--)
		put_next(puts, fd, OPENER);
	way->start();
	if (way->relieves)
		start_relief();
	for (unsigned i = 0; i < count || !atomic_load(&shared->ready); i++) {
		if (way->reopens && rand() % 3 == 0)
			reopen();
		if (!put_next(puts, fd, OPENER))
			sched_yield();
	}
	if (way->closes_first) {
		close(fd);
		for (int i = rand() % 30; i > 0; i--)
			sched_yield();
	}
	atomic_store(&shared->stop, 1);
	way->stop();
	if (way->relieves)
		pthread_join(relief, NULL);
	if (!way->closes_first)
		close(fd);
	again = open(path, O_RDONLY);
	lost = atomic_load(&shared->signals) + shrunk;
	for (enum lane lane = 0; lane < LANES; lane++) {
		lost += lost_in(again, lane);
		total[lane] += atomic_load(&shared->acknowledged[lane]);
	}
	close(again);
	return lost;
}

static void *map_shared(int from)
{
	void *address = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, from, 0);

	if (address == MAP_FAILED)
		fail("mmap");
	return address;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	unsigned long lost = 0, rounds = 0;
	double end;

	if (argc == 4 && !strcmp(argv[1], "--other")) {
		shared = map_shared(atoi(argv[2]));
		put_until_told(pwrite, atoi(argv[3]));
		atomic_store(&shared->ready, 2);
		return 0;
	}
	if (argc != 4) {
		fprintf(stderr, "usage: writers WAY SECONDS FILE\n");
		return 2;
	}
	self = realpath("/proc/self/exe", NULL);
	path = argv[3];
	shared_fd = memfd_create("shared", 0);
	if (shared_fd < 0 || ftruncate(shared_fd, sizeof(struct shared)))
		fail("memfd_create");
	shared = map_shared(shared_fd);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]))
			continue;
		if (!strncmp(argv[1], "cloned", 6))
			open_source();
		for (end = now() + atof(argv[2]); now() < end; rounds++)
			lost += one_round(&ways[i]);
		printf("%s rounds=%lu records=%lu,%lu lost=%lu\n", argv[1], rounds, total[OPENER], total[OTHER], lost);
		return lost ? 1 : 0;
	}
	fprintf(stderr, "writers: unknown way %s\n", argv[1]);
	return 2;
}
