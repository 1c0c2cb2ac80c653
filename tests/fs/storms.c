/* Threads write records to a file that has windows while the process is disturbed: by forks,
 * by signals whose handlers write too, by cancellation, by jumps out of handlers, by another
 * thread that gives their descriptor's number to other files. Every record that a write
 * acknowledged must be there afterwards, and the library must still work.
 *
 *   storms WAY SECONDS FILE
 *
 * Prints rounds, records, how many of them were lost, how often it was disturbed, how many
 * descriptors it has more than in the beginning, and whether a new file has a window in the
 * end; exit status 1 with any loss. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD  512
#define WRITERS 2
#define LANES   (WRITERS + 1) /* the last is the handlers' */
#define MOST    3000          /* records of a lane in a round */
#define ROUND   300           /* records after which a round ends */

extern char **environ;

static int fd;
static const char *path;
static atomic_uint acknowledged[LANES];
static atomic_int stop;
static atomic_ulong disturbed;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void fill(char *record, unsigned lane, unsigned number)
{
	memset(record, 'a' + (int)lane, RECORD);
	memcpy(record, &number, sizeof(number));
}

static off_t place(unsigned lane, unsigned number)
{
	return ((off_t)number * LANES + lane) * RECORD;
}

static int put_next(unsigned lane)
{
	unsigned number = atomic_load(&acknowledged[lane]);
	char record[RECORD];
	ssize_t did;

	if (number == MOST)
		return 0;
	fill(record, lane, number);
	did = pwrite(fd, record, RECORD, place(lane, number));
	if (did < 0 && errno != EINTR)
		fail("pwrite");
	if (did == RECORD)
		atomic_store(&acknowledged[lane], number + 1);
	return did == RECORD;
}

/* Writers */

static pthread_t writer[WRITERS];

static void *run_writer(void *lane)
{
	while (!atomic_load(&stop) && put_next((unsigned)(size_t)lane))
		;
	return NULL;
}

static void start_writer(size_t lane, void *(*run)(void *))
{
	if (pthread_create(&writer[lane], NULL, run, (void *)lane))
		fail("pthread_create");
}

static void start_writers(void)
{
	for (size_t lane = 0; lane < WRITERS; lane++)
		start_writer(lane, run_writer);
}

static void join_writers(void)
{
	atomic_store(&stop, 1);
	for (size_t lane = 0; lane < WRITERS; lane++)
		pthread_join(writer[lane], NULL);
}

static int is_below(unsigned records)
{
	for (unsigned lane = 0; lane < WRITERS; lane++)
		if (atomic_load(&acknowledged[lane]) < records)
			return 1;
	return 0;
}

static int goes_on(void)
{
	return is_below(ROUND);
}

/* Children */

static void wait_for(pid_t child)
{
	int status;

	if (child < 0)
		fail("child");
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail("a child");
	atomic_fetch_add(&disturbed, 1);
}

/* The child writes, to the file that it inherits and to its own, and closes both. */
static void fork_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		int own = open("/dev/null", O_WRONLY);

		put_next(WRITERS);
		if (write(own, "x", 1) != 1)
			_exit(1);
		close(own);
		close(fd);
		_exit(0);
	}
	wait_for(child);
	if (atomic_load(&acknowledged[WRITERS]) < MOST) /* the child's is a copy */
		atomic_fetch_add(&acknowledged[WRITERS], 1);
}

static void vfork_child(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	wait_for(child);
}

static void spawn_child(void)
{
	static char *arguments[] = {"true", NULL};
	pid_t child;

	if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ))
		fail("posix_spawnp");
	wait_for(child);
}

static void with_children(void (*make)(void))
{
	start_writers();
	while (is_below(ROUND / 10)) /* the first child ends the file's window: there is to be one */
		usleep(100);
	while (goes_on())
		make();
	join_writers();
}

static void forks(void)
{
	with_children(fork_child);
}
static void vforks(void)
{
	with_children(vfork_child);
}
static void spawns(void)
{
	with_children(spawn_child);
}

/* Signals */

static void on_alarm(int number)
{
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	int saved = errno;

	(void)number;
	atomic_fetch_add(&disturbed, 1);
	if (!atomic_flag_test_and_set(&busy)) { /* one lane, of all threads' handlers */
		put_next(WRITERS);
		atomic_flag_clear(&busy);
	}
	errno = saved;
}

static void set_alarm(void (*handler)(int), int flags, suseconds_t period)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	struct itimerval timer = {{0, period}, {0, period}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* It is writers who are to be interrupted. */
static void with_alarms(int flags)
{
	sigset_t alarm, before;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	start_writers();
	pthread_sigmask(SIG_BLOCK, &alarm, &before);
	set_alarm(on_alarm, flags, 300);
	while (goes_on())
		usleep(1000);
	join_writers();
	set_alarm(SIG_IGN, 0, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void alarms_restart(void)
{
	with_alarms(SA_RESTART);
}
static void alarms(void)
{
	with_alarms(0);
}

/* Jumps */

static sigjmp_buf away;
static atomic_int may_jump;

static void on_jump(int number)
{
	(void)number;
	if (!atomic_exchange(&may_jump, 0))
		return;
	atomic_fetch_add(&disturbed, 1);
	siglongjmp(away, 1);
}

/* One thread, as a jump must not leave the stack that it began on. */
static void jumps(void)
{
	static volatile int times;

	set_alarm(on_jump, SA_RESTART, 300);
	for (times = 0; times < 100 && atomic_load(&acknowledged[0]) < ROUND; times++) {
		sigsetjmp(away, 1);
		atomic_store(&may_jump, 1);
		for (int i = 0; i < 50; i++)
			put_next(0);
		atomic_store(&may_jump, 0);
	}
	set_alarm(SIG_IGN, 0, 0);
}

/* Cancellation */

static void *run_cancelled(void *lane)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	while (put_next((unsigned)(size_t)lane))
		pthread_testcancel();
	return NULL;
}

static void *run_cancelled_anywhere(void *lane)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	while (put_next((unsigned)(size_t)lane))
		;
	return NULL;
}

static void with_cancellation(void *(*run)(void *))
{
	for (int i = 0; i < 20; i++) {
		for (size_t lane = 0; lane < WRITERS; lane++)
			start_writer(lane, run);
		usleep((useconds_t)(rand() % 2000));
		for (size_t lane = 0; lane < WRITERS; lane++) {
			pthread_cancel(writer[lane]);
			pthread_join(writer[lane], NULL);
			atomic_fetch_add(&disturbed, 1);
		}
	}
	spawn_child(); /* which waits for writers, but not for these */
}

static void cancels(void)
{
	with_cancellation(run_cancelled);
}
static void cancels_anywhere(void)
{
	with_cancellation(run_cancelled_anywhere);
}

/* Descriptors */

static char *another; /* file, that some of the records go to */
static FILE *stream;  /* that has fd's number, or NULL */
static pthread_rwlock_t number_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* No program writes to a number that may be closed meanwhile. */
static void *run_locked(void *lane)
{
	int more = 1;

	while (!atomic_load(&stop) && more) {
		pthread_rwlock_rdlock(&number_lock);
		more = put_next((unsigned)(size_t)lane);
		pthread_rwlock_unlock(&number_lock);
	}
	return NULL;
}

static const char *either(void)
{
	return rand() % 2 ? path : another;
}

static int open_either(void)
{
	int opened = open(either(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (opened < 0)
		fail("open");
	return opened;
}

/* From now on all write by this number; the one before is closed. */
static void switch_to(int number)
{
	int before = fd;

	pthread_rwlock_wrlock(&number_lock);
	fd = number;
	pthread_rwlock_unlock(&number_lock);
	if (stream ? fclose(stream) : rand() % 2 ? close(before) : close_range((unsigned)before, (unsigned)before, 0))
		fail("close");
	stream = NULL;
}

static void by_open(void)
{
	switch_to(open_either());
}

static void by_duplicate(void)
{
	switch_to(fcntl(fd, F_DUPFD_CLOEXEC, 50));
}

/* The number becomes another file while they write by it. */
static void by_dup2(void)
{
	int opened = open_either();

	if (dup2(opened, fd) < 0 || close(opened))
		fail("dup2");
}

static void by_dup3(void)
{
	int opened = open_either();

	if (dup3(opened, fd, O_CLOEXEC) < 0 || close(opened))
		fail("dup3");
}

static void by_freopen(void)
{
	if (!stream)
		stream = fdopen(fd, "r+");
	stream = freopen(rand() % 3 ? either() : NULL, "r+", stream);
	if (!stream || fileno(stream) != fd)
		fail("freopen");
}

/* No space somewhere else: windows are given back. */
static void run_out(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (full < 0 || write(full, "", 1) >= 0)
		fail("/dev/full");
	close(full);
}

/* Each time the file has been opened anew, as with threads no other number has a window. */
static void descriptors(void)
{
	static void (*const by[])(void) = {by_duplicate, by_dup2, by_dup3, by_freopen, by_freopen};

	close(open(another, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
	for (size_t lane = 0; lane < WRITERS; lane++)
		start_writer(lane, run_locked);
	while (is_below(MOST)) {
		by_open();
		usleep((useconds_t)(rand() % 1000));
		by[(size_t)rand() % (sizeof(by) / sizeof(*by))]();
		usleep((useconds_t)(rand() % 500));
		run_out();
		put_next(WRITERS);
		atomic_fetch_add(&disturbed, 1);
	}
	join_writers();
	by_open(); /* no stream has it any more */
}

/* Rounds */

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"forks", forks},
	{"vforks", vforks},
	{"spawns", spawns},
	{"alarms-restart", alarms_restart},
	{"alarms", alarms},
	{"jumps", jumps},
	{"cancels", cancels},
	{"cancels-anywhere", cancels_anywhere},
	{"descriptors", descriptors},
};

static unsigned long records;

static void open_file(void)
{
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(path);
}

static int is_in(int file, const char *expected, off_t at)
{
	char record[RECORD];

	return pread(file, record, RECORD, at) == RECORD && !memcmp(record, expected, RECORD);
}

static unsigned long lost_in(unsigned lane, int other)
{
	unsigned long lost = 0;
	char expected[RECORD];

	for (unsigned number = 0; number < atomic_load(&acknowledged[lane]); number++) {
		fill(expected, lane, number);
		lost += !is_in(fd, expected, place(lane, number)) && !is_in(other, expected, place(lane, number));
	}
	records += atomic_load(&acknowledged[lane]);
	return lost;
}

static unsigned long one_round(const struct way *way)
{
	unsigned long lost = 0;
	int other;

	memset(acknowledged, 0, sizeof(acknowledged));
	unlink(another);
	atomic_store(&stop, 0);
	open_file();
	way->run();
	close(fd);
	fd = open(path, O_RDONLY);
	other = open(another, O_RDONLY | O_CREAT, 0666);
	for (unsigned lane = 0; lane < LANES; lane++)
		lost += lost_in(lane, other);
	close(other);
	close(fd);
	return lost;
}

/* One record behind the other, as blocks between them may be missing. */
static int has_window(void)
{
	char record[RECORD] = "";
	struct stat status;
	int has = 0;

	open_file();
	for (int i = 0; i < 200; i++) {
		if (pwrite(fd, record, RECORD, (off_t)i * RECORD) != RECORD || fstat(fd, &status))
			fail(path);
		has |= status.st_blocks * 512 >= status.st_size + 8192;
	}
	close(fd);
	return has;
}

static int count_open(void)
{
	int count = 0;

	for (int i = 0; i < 4096; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
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
	int before = count_open();
	double end;

	if (argc != 4)
		return 2;
	path = argv[3];
	if (asprintf(&another, "%s.another", path) < 0)
		return 2;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]))
			continue;
		for (end = now() + atof(argv[2]); now() < end; rounds++)
			lost += one_round(&ways[i]);
		printf("%s rounds=%lu records=%lu disturbed=%lu left=%d window=%s lost=%lu\n", argv[1], rounds, records,
		       atomic_load(&disturbed), count_open() - before, has_window() ? "yes" : "no", lost);
		return lost ? 1 : 0;
	}
	return 2;
}
