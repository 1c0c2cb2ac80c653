/*
 * Does filling a file lose what others write to it meanwhile?
 *
 * Each round, on a fresh file, a filler calls METHOD over [0, size) while writers
 * write each slot of that range once, and appenders append. What was acknowledged
 * (the write had returned) must then be in the file, byte for byte.
 *
 * With appenders, the file starts with half its size and slots are in that half
 * only: whatever is appended early would else rightly be overwritten by a slot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	RECORD = 512,
	BLOCK = 4096, /* what O_DIRECT writers write: eight slots */
	BULK = 1 << 20,
	MIN_APPENDED = 64,
	MAX_APPENDED = 4096,
	MAX_WORKERS = 64,
	MAX_ERROR = 200,
};

enum method { POSIX_FALLOCATE, FTRUNCATE, ZEROS, NONE, METHODS };

static const char *const method_names[] = {"posix_fallocate", "ftruncate", "zeros", "none"};

static const char usage_text[] =
	"usage: stress FILE SECONDS posix_fallocate|ftruncate|zeros|none [writers W] [appenders A]\n"
	"              [odirect D] [size BYTES] [from OFFSET] [block BYTES]\n"
	"              [presized] [threads] [drop] [expect-enospc] [slow] [wronly] [append] [direct]\n"
	"  presized  ftruncate to the size first\n"
	"  threads   writers are threads on the filler's descriptor, rather than processes\n"
	"  drop      fsync and drop the cache before checking\n"
	"  slow      writers pause at each block, so that they and a filler with delays go side by side\n"
	"  from      the filler's range begins there; of the byte that lies there a zero may be left\n"
	"  block     of the last byte of every such block a zero may be left; both are counted as risked\n"
	"  wronly append direct\n"
	"            the filler's descriptor, which then is its own\n";

static struct {
	const char *file;
	double seconds;
	enum method method;
	unsigned int writers, appenders, odirect;
	uint64_t size, from, block;
	int presized, threads, drop, expect_enospc, slow, wronly, append, direct;
} options = {.writers = 4, .size = 8 << 20};

/* Seen by all processes. */
struct shared {
	unsigned int ready, go, filled;
	int result;
	unsigned int appended[MAX_WORKERS];
	unsigned int errors[MAX_ERROR];
	unsigned char acknowledged[]; /* for each slot */
};
static struct shared *shared;

static uint64_t slots; /* that are written */

static struct {
	uint64_t rounds, acknowledged, lost, lost_appended, risked, badsize;
	uint64_t errors[MAX_ERROR], write_errors[MAX_ERROR];
} totals;

struct worker {
	unsigned int index, round;
	int fd; /* -1: open one */
	const char *path;
	void (*work)(const struct worker *worker, int fd);
	int flags;
	pthread_t thread;
	pid_t process;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "stress: %s: %s\n", what, strerror(errno));
	exit(3);
}

/* Records */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* No byte is zero: any zero written over it shows. */
static void fill_record(unsigned char *record, unsigned int round, unsigned int writer, uint64_t number)
{
	uint64_t seed = mix((uint64_t)round << 40 ^ (uint64_t)writer << 32 ^ number);

	for (int i = 0; i < RECORD; i++)
		record[i] = (unsigned char)(1 + mix(seed + (uint64_t)i) % 255);
}

#define APPEND_MARK "<appended>"

/* A mark and the id in text, then as above; that twice, as a byte of one may have been lost. */
static void fill_appended(unsigned char *record, unsigned int round, unsigned int writer, unsigned int number)
{
	char head[64];
	int length = snprintf(head, sizeof(head), APPEND_MARK "%08x %08x %08x>", round, writer, number);

	fill_record(record, round, 1000 + writer, number);
	memcpy(record, head, (size_t)length);
	memcpy(record + RECORD / 2, head, (size_t)length);
}

static unsigned int all_writers(void)
{
	return options.writers + options.odirect;
}

/* Blocks go around among the O_DIRECT writers and the rest, whose blocks are shared. */
static unsigned int owner_of(uint64_t slot)
{
	uint64_t block = slot / (BLOCK / RECORD);
	unsigned int turn = (unsigned int)(block % all_writers());

	return turn < options.writers ? (unsigned int)(slot % options.writers) : turn;
}

static void note_error(int error)
{
	if (error >= 0 && error < MAX_ERROR)
		__atomic_add_fetch(&shared->errors[error], 1, __ATOMIC_RELAXED);
}

static void wait_for_go(void)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* Half of the writers go along with the filler, the others all over the place. */
static uint64_t slot_at(uint64_t i, unsigned int writer)
{
	uint64_t step = 7919;

	if (writer % 2 == 0)
		return i;
	while (slots % step == 0)
		step += 2;
	return i * step % slots;
}

static void write_slot(const struct worker *worker, int fd, uint64_t slot)
{
	unsigned char record[RECORD];
	ssize_t n;

	fill_record(record, worker->round, worker->index, slot);
	n = pwrite(fd, record, RECORD, (off_t)(slot * RECORD));
	if (n == RECORD)
		__atomic_store_n(&shared->acknowledged[slot], 1, __ATOMIC_RELEASE);
	else
		note_error(n < 0 ? errno : 0);
}

static void write_slots(const struct worker *worker, int fd)
{
	for (uint64_t i = 0; i < slots; i++) {
		uint64_t slot = slot_at(i, worker->index);

		if (options.slow && slot % (BLOCK / RECORD) == 0)
			usleep(1);
		if (owner_of(slot) == worker->index)
			write_slot(worker, fd, slot);
	}
}

static void write_block(const struct worker *worker, int fd, unsigned char *block, uint64_t slot)
{
	ssize_t n;

	for (int i = 0; i < BLOCK / RECORD; i++)
		fill_record(block + i * RECORD, worker->round, worker->index, slot + (uint64_t)i);
	n = pwrite(fd, block, BLOCK, (off_t)(slot * RECORD));
	if (n == BLOCK)
		memset(&shared->acknowledged[slot], 1, BLOCK / RECORD);
	else
		note_error(n < 0 ? errno : 0);
}

static void write_blocks(const struct worker *worker, int fd)
{
	unsigned char *block = aligned_alloc(BLOCK, BLOCK);

	if (!block)
		die("memory");
	for (uint64_t i = 0; i < slots; i++) {
		uint64_t slot = slot_at(i, worker->index);

		if (slot % (BLOCK / RECORD) == 0 && owner_of(slot) == worker->index)
			write_block(worker, fd, block, slot);
	}
	free(block);
}

static void append(const struct worker *worker, int fd)
{
	unsigned char record[RECORD];

	for (unsigned int i = 0; i < MAX_APPENDED; i++) {
		ssize_t n;

		if (i >= MIN_APPENDED && __atomic_load_n(&shared->filled, __ATOMIC_ACQUIRE))
			break;
		fill_appended(record, worker->round, worker->index, i);
		n = write(fd, record, RECORD);
		if (n != RECORD) {
			note_error(n < 0 ? errno : 0);
			break;
		}
		__atomic_store_n(&shared->appended[worker->index], i + 1, __ATOMIC_RELEASE);
	}
}

/* Workers */

static void *run_worker(void *data)
{
	const struct worker *worker = data;
	int fd = worker->fd < 0 ? open(worker->path, worker->flags) : worker->fd;

	if (fd < 0)
		note_error(errno);
	wait_for_go();
	if (fd >= 0)
		worker->work(worker, fd);
	if (fd >= 0 && worker->fd < 0)
		close(fd);
	return NULL;
}

static void start_worker(struct worker *worker)
{
	if (options.threads) {
		errno = pthread_create(&worker->thread, NULL, run_worker, worker);
		if (errno)
			die("thread");
		return;
	}
	worker->fd = -1;
	worker->process = fork();
	if (worker->process < 0)
		die("fork");
	if (worker->process == 0) {
		run_worker(worker);
		_exit(0);
	}
}

static void join_worker(const struct worker *worker)
{
	int status;

	if (options.threads)
		pthread_join(worker->thread, NULL);
	else if (waitpid(worker->process, &status, 0) < 0 || status != 0)
		die("a worker died");
}

static unsigned int all_workers(void)
{
	return all_writers() + options.appenders;
}

static struct worker make_worker(unsigned int i, unsigned int round, const char *path, int fd)
{
	struct worker worker = {.index = i, .round = round, .fd = -1, .path = path, .flags = O_RDWR};

	if (i < options.writers) {
		worker.work = write_slots;
		worker.fd = fd;
	} else if (i < all_writers()) {
		worker.work = write_blocks;
		worker.flags |= O_DIRECT;
	} else {
		worker.work = append;
		worker.flags |= O_APPEND;
	}
	return worker;
}

/* The filler: the main thread */

static int fill_zeros(int fd)
{
	static const unsigned char zeros[BULK];
	uint64_t at = 0;

	while (at < options.size) {
		size_t part = options.size - at < BULK ? (size_t)(options.size - at) : BULK;
		ssize_t n = pwrite(fd, zeros, part, (off_t)at);

		if (n < 0)
			return errno;
		at += (uint64_t)n;
	}
	return 0;
}

static int fill(int fd)
{
	switch (options.method) {
	case POSIX_FALLOCATE:
		return posix_fallocate(fd, (off_t)options.from, (off_t)(options.size - options.from));
	case FTRUNCATE:
		errno = ENOTRECOVERABLE; /* what a failure that says nothing is shown as */
		return ftruncate(fd, (off_t)options.size) ? errno : 0;
	case ZEROS:
		return fill_zeros(fd);
	default:
		return 0;
	}
}

/* At another moment each round: some slots have been written before, some have not. */
static void run_filler(int fd, unsigned int round)
{
	while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < all_workers())
		sched_yield();
	__atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
	if (round % 4)
		usleep((unsigned int)(mix(round) % 4000));
	shared->result = fill(fd);
	__atomic_store_n(&shared->filled, 1, __ATOMIC_RELEASE);
}

/* Checks */

static unsigned char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	unsigned char *contents;
	size_t done = 0;

	if (fd < 0 || fstat(fd, &status) < 0)
		die(path);
	if (options.drop && (fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)))
		die("dropping the cache");
	contents = calloc(1, (size_t)status.st_size + 1);
	if (!contents)
		die("memory");
	while (done < (size_t)status.st_size) {
		ssize_t n = pread(fd, contents + done, (size_t)status.st_size - done, (off_t)done);

		if (n <= 0)
			die("reading");
		done += (size_t)n;
	}
	close(fd);
	*size = done;
	return contents;
}

/* The first loss of all is shown, as a hint. */
static void show_loss(unsigned int round, uint64_t offset, const unsigned char *is, const unsigned char *want)
{
	int i = 0, different = 0;

	for (int j = RECORD - 1; j >= 0; j--)
		if (is[j] != want[j])
			i = j, different++;
	fprintf(stderr, "stress: round %u: %d bytes lost at %" PRIu64 ": first at +%d, %02x not %02x\n", round,
		different, offset, i, is[i], want[i]);
}

/* Takes the zeros that a fill may leave as what was written. Returns how many there are. */
static unsigned int excuse(unsigned char *is, const unsigned char *want, uint64_t offset)
{
	unsigned int excused = 0;

	for (int i = 0; i < RECORD; i++, offset++)
		if (!is[i] && ((options.from && offset == options.from) ||
			       (options.block && (offset + 1) % options.block == 0))) {
			is[i] = want[i];
			excused++;
		}
	return excused;
}

static void check_slots(unsigned int round, unsigned char *contents, size_t size)
{
	unsigned char want[RECORD], nothing[RECORD];

	for (uint64_t slot = 0; slot < slots; slot++) {
		unsigned char *is = (slot + 1) * RECORD <= size ? contents + slot * RECORD : memset(nothing, 0, RECORD);

		if (!shared->acknowledged[slot])
			continue;
		totals.acknowledged++;
		fill_record(want, round, owner_of(slot), slot);
		if (is != nothing)
			totals.risked += excuse(is, want, slot * RECORD);
		if (!memcmp(is, want, RECORD))
			continue;
		if (!totals.lost++)
			show_loss(round, slot * RECORD, is, want);
	}
}

/* Is this record in the file at that place? */
static int is_appended(const unsigned char *want, const unsigned char *contents, size_t size, const unsigned char *at)
{
	unsigned char is[RECORD];
	unsigned int risked;

	if (at < contents || (size_t)(contents + size - at) < RECORD)
		return 0;
	memcpy(is, at, RECORD);
	risked = excuse(is, want, (uint64_t)(at - contents));
	if (memcmp(is, want, RECORD))
		return 0;
	totals.risked += risked;
	return 1;
}

/* Marks which of the appended records are in the file as they were written. */
static void find_appended(unsigned int round, const unsigned char *contents, size_t size, unsigned char *found)
{
	const unsigned char *at = contents, *end = contents + size;
	unsigned char want[RECORD];

	while ((at = memmem(at, (size_t)(end - at), APPEND_MARK, strlen(APPEND_MARK)))) {
		unsigned int in_round, worker, number;

		if (sscanf((const char *)at, APPEND_MARK "%8x %8x %8x>", &in_round, &worker, &number) == 3 &&
		    worker < all_workers() && number < MAX_APPENDED && !found[worker * MAX_APPENDED + number]) {
			fill_appended(want, round, worker, number);
			found[worker * MAX_APPENDED + number] =
				(unsigned char)(is_appended(want, contents, size, at) ||
						is_appended(want, contents, size, at - RECORD / 2));
		}
		at++;
	}
}

static void check_appended(unsigned int round, const unsigned char *contents, size_t size)
{
	static unsigned char found[MAX_WORKERS * MAX_APPENDED];

	if (!options.appenders)
		return;
	memset(found, 0, sizeof(found));
	find_appended(round, contents, size, found);
	for (unsigned int worker = all_writers(); worker < all_workers(); worker++)
		for (unsigned int i = 0; i < shared->appended[worker]; i++) {
			totals.acknowledged++;
			totals.lost_appended += !found[worker * MAX_APPENDED + i];
		}
}

static uint64_t written_size(void)
{
	uint64_t end = options.presized ? options.size : options.appenders ? slots * RECORD : 0;

	for (uint64_t slot = 0; slot < slots; slot++)
		if (shared->acknowledged[slot] && (slot + 1) * RECORD > end)
			end = (slot + 1) * RECORD;
	return end;
}

/* With appenders, or after a failure, only what must at least be there is known. */
static void check_size(size_t size)
{
	uint64_t want = written_size();

	if (options.method != NONE && shared->result == 0 && want < options.size)
		want = options.size;
	if (options.appenders || shared->result != 0)
		totals.badsize += size < want;
	else
		totals.badsize += size != want;
}

static void count_errors(void)
{
	if (shared->result)
		totals.errors[shared->result % MAX_ERROR]++;
	for (int i = 0; i < MAX_ERROR; i++)
		totals.write_errors[i] += shared->errors[i];
}

static void check(unsigned int round, const char *path)
{
	size_t size;
	unsigned char *contents = read_file(path, &size);

	totals.rounds++;
	count_errors();
	check_slots(round, contents, size);
	check_appended(round, contents, size);
	check_size(size);
	free(contents);
}

static size_t shared_size(void)
{
	return sizeof(*shared) + options.size / RECORD;
}

static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	uint64_t start = options.presized ? options.size : options.appenders ? slots * RECORD : 0;

	/* By itself: the file is to have holes, also where the library allocates for ftruncate. */
	if (fd < 0 || syscall(SYS_ftruncate, fd, (off_t)start) < 0)
		die(path);
	return fd;
}

static int open_for_filler(const char *path, int fd)
{
	int flags = (options.wronly ? O_WRONLY : O_RDWR) | (options.append ? O_APPEND : 0) |
		    (options.direct ? O_DIRECT : 0);

	if (flags != O_RDWR)
		fd = open(path, flags);
	if (fd < 0)
		die(path);
	return fd;
}

static void run_round(unsigned int round)
{
	struct worker workers[MAX_WORKERS];
	int fd, filler;
	char *path;

	if (asprintf(&path, "%s.%u", options.file, round) < 0)
		die("memory");
	memset(shared, 0, shared_size());
	fd = make_file(path);
	for (unsigned int i = 0; i < all_workers(); i++) {
		workers[i] = make_worker(i, round, path, fd);
		start_worker(&workers[i]);
	}
	filler = open_for_filler(path, fd);
	run_filler(filler, round);
	for (unsigned int i = 0; i < all_workers(); i++)
		join_worker(&workers[i]);
	if ((filler != fd && close(filler) < 0) || close(fd) < 0)
		totals.errors[errno % MAX_ERROR]++;
	check(round, path);
	unlink(path);
	free(path);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Error 0 is a short write. */
static void print_errors(const char *key, const uint64_t *errors)
{
	const char *before = "";

	printf(" %s=", key);
	for (int i = 0; i < MAX_ERROR; i++)
		if (errors[i]) {
			printf("%s%s:%" PRIu64, before, i ? strerrorname_np(i) : "short", errors[i]);
			before = ",";
		}
	if (!*before)
		printf("none");
}

static int print_totals(void)
{
	int bad = totals.lost || totals.lost_appended || totals.badsize;

	printf("method=%s rounds=%" PRIu64 " risked=%" PRIu64 " acknowledged=%" PRIu64 " lost=%" PRIu64
	       " lost_appended=%" PRIu64 " badsize=%" PRIu64,
	       method_names[options.method], totals.rounds, totals.risked, totals.acknowledged, totals.lost,
	       totals.lost_appended, totals.badsize);
	print_errors("errors", totals.errors);
	print_errors("write_errors", totals.write_errors);
	printf("\n");
	for (int i = 0; i < MAX_ERROR; i++)
		if (i != ENOSPC || !options.expect_enospc)
			bad |= totals.errors[i] || totals.write_errors[i];
	return bad;
}

/* Options */

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "stress: %s\n%s", what, usage_text);
	exit(2);
}

static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	uint64_t value;

	if (!text)
		usage("a number is missing");
	value = strtoull(text, &end, 0);
	if (end != text && *end && strchr(units, *end))
		value <<= 10 * (strchr(units, *end++) - units + 1);
	if (end == text || *end)
		usage(text);
	return value;
}

static enum method parse_method(const char *name)
{
	for (int i = 0; i < METHODS; i++)
		if (!strcmp(method_names[i], name))
			return (enum method)i;
	usage(name);
}

static int parse_flag(const char *word)
{
	int *flag = !strcmp(word, "presized")        ? &options.presized
		    : !strcmp(word, "threads")       ? &options.threads
		    : !strcmp(word, "drop")          ? &options.drop
		    : !strcmp(word, "expect-enospc") ? &options.expect_enospc
		    : !strcmp(word, "slow")          ? &options.slow
		    : !strcmp(word, "wronly")        ? &options.wronly
		    : !strcmp(word, "append")        ? &options.append
		    : !strcmp(word, "direct")        ? &options.direct
						     : NULL;

	if (flag)
		*flag = 1;
	return flag != NULL;
}

static void parse_number(const char *word, uint64_t value)
{
	if (!strcmp(word, "writers"))
		options.writers = (unsigned int)value;
	else if (!strcmp(word, "appenders"))
		options.appenders = (unsigned int)value;
	else if (!strcmp(word, "odirect"))
		options.odirect = (unsigned int)value;
	else if (!strcmp(word, "size"))
		options.size = value;
	else if (!strcmp(word, "from"))
		options.from = value;
	else if (!strcmp(word, "block"))
		options.block = value;
	else
		usage(word);
}

static void parse_options(int argc, char **argv)
{
	if (argc < 4)
		usage("arguments missing");
	options.file = argv[1];
	options.seconds = strtod(argv[2], NULL);
	options.method = parse_method(argv[3]);
	for (char **at = argv + 4; *at; at++)
		if (!parse_flag(*at)) {
			parse_number(at[0], parse_size(at[1]));
			at++;
		}
	if (options.size < 2 * BLOCK || options.size % (2 * BLOCK))
		usage("size: not a multiple of 8192");
	if (all_workers() > MAX_WORKERS || options.writers > MAX_WORKERS)
		usage("too many workers");
	slots = all_writers() ? options.size / RECORD / (options.appenders && !options.presized ? 2 : 1) : 0;
}

int main(int argc, char **argv)
{
	double end;

	parse_options(argc, argv);
	shared = mmap(NULL, shared_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("memory");
	end = now() + options.seconds;
	for (unsigned int round = 0; round == 0 || now() < end; round++)
		run_round(round);
	return print_totals();
}
