#include "report.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "sys.h"
#include "layout.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

static const char call_names[CALL_COUNT][16] = {"posix_fallocate", "fallocate", "ftruncate", "truncate",
						"window",          "trim",      "heal"};
static const char answer_names[ANSWER_COUNT][10] = {"passed", "fallocate", "populated", "written",
						    "sparse", "refused",   "truncated"};
static const char level_names[][6] = {"off", "error", "info", "debug"};

struct counters {
	atomic_int pid; /* the process they belong to; 0 in a forked child */
	struct {
		_Atomic uint64_t seen, failed, bytes, nanoseconds;
		_Atomic uint64_t answered[ANSWER_COUNT];
	} call[CALL_COUNT];
};

static struct counters *counters; /* NULL: no statistics are wanted */
TABLE static char statistics_path[1024];
static char program_name[64];

static enum log_level log_level;
TABLE static char log_path[1024]; /* empty: stderr */
static struct {
	uint32_t major, minor;
	uint64_t inode;
} log_stderr; /* what descriptor 2 was when we were loaded */

/* A message being put together; what does not fit is cut. */
struct line {
	size_t used;
	char text[2048];
};

static void put(struct line *line, const char *string)
{
	size_t length = strlen(string);

	if (length > sizeof(line->text) - line->used)
		length = sizeof(line->text) - line->used;
	memcpy(line->text + line->used, string, length);
	line->used += length;
}

static void put_number(struct line *line, uint64_t value)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	put(line, digits + at);
}

/* Bytes of the UTF-8 character that begins here, or 0 where none does (RFC 3629). */
static size_t utf8_length(const unsigned char *c)
{
	size_t length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
	    (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return length;
}

/* The inside of a JSON string (RFC 8259, section 7). What is no UTF-8 becomes '?'. */
static void put_escaped(struct line *line, const char *string)
{
	static const char hex[] = "0123456789abcdef";

	while (*string) {
		const unsigned char *c = (const unsigned char *)string;
		char escaped[7] = {'\\', 'u', '0', '0', hex[*c >> 4 & 15], hex[*c & 15], '\0'};
		size_t length = utf8_length(c);
		char plain[5] = "?";

		if (length > 0)
			memcpy(plain, string, length);
		put(line, *c < ' ' || *c == '"' || *c == '\\' || *c == 127 ? escaped : plain);
		string += length > 0 ? length : 1;
	}
}

/* Write without the signals that could come of it: SIGPIPE, where nobody reads, and
 * SIGXFSZ, past RLIMIT_FSIZE. One that was pending before stays so. */
static void write_quietly(int fd, const char *bytes, size_t count)
{
	const uint64_t both = 1ULL << (SIGPIPE - 1) | 1ULL << (SIGXFSZ - 1);
	uint64_t before, pending = 0, ours;

	if (SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &both, &before, sizeof(both)) < 0)
		return;
	SYS2(SYS_rt_sigpending, &pending, sizeof(pending));
	ours = both & ~pending;
	if (sys_write(fd, bytes, count) < 0 && ours)
		sys_take_signal(&ours, NULL);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

static void append_to_file(const char *path, const struct line *line)
{
	int fd = sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);

	if (fd < 0)
		return;
	write_quietly(fd, line->text, line->used);
	sys_close(fd);
}

/* The program may have closed stderr and opened a file of its own as number 2. */
static int stderr_is_ours(void)
{
	struct statx stx;

	return sys_statx(2, "", AT_EMPTY_PATH, STATX_INO, &stx) == 0 && stx.stx_ino == log_stderr.inode &&
	       stx.stx_dev_major == log_stderr.major && stx.stx_dev_minor == log_stderr.minor;
}

static void remember_stderr(void)
{
	struct statx stx;

	memset(&stx, 0, sizeof(stx));
	if (sys_statx(2, "", AT_EMPTY_PATH, STATX_INO, &stx) < 0)
		log_stderr.inode = UINT64_MAX;
	else
		log_stderr.inode = stx.stx_ino;
	log_stderr.major = stx.stx_dev_major;
	log_stderr.minor = stx.stx_dev_minor;
}

static void start_message(struct line *line)
{
	line->used = 0;
	put(line, "fastalloc[");
	put_number(line, (uint64_t)sys_getpid());
	put(line, "]: ");
}

static void send_line(struct line *line)
{
	if (line->used == sizeof(line->text))
		line->used--;
	line->text[line->used++] = '\n';
	if (log_path[0])
		append_to_file(log_path, line);
	else if (stderr_is_ours())
		write_quietly(2, line->text, line->used);
}

/* Relative paths mean the directory the program was started in. A name that does not fit is dropped. */
static void absolute(const char *path, char *to, size_t size)
{
	size_t used = 0, length = strlen(path);

	to[0] = '\0';
	if (length == 0)
		return;
	if (path[0] != '/') {
		long got = SYS2(SYS_getcwd, to, size);

		if (got <= 0 || to[0] != '/') {
			to[0] = '\0';
			return;
		}
		used = strlen(to);
		if (used + 1 < size)
			to[used++] = '/';
	}
	if (used + length + 1 > size) {
		to[0] = '\0';
		return;
	}
	memcpy(to + used, path, length + 1);
}

static void init_log(const char *wanted)
{
	size_t length = 0;

	while (wanted[length] && wanted[length] != ':')
		length++;
	remember_stderr();
	for (enum log_level level = LOG_ERROR; level <= LOG_DEBUG; level++)
		if (strlen(level_names[level]) == length && !memcmp(wanted, level_names[level], length))
			log_level = level;
	if (wanted[length] == ':' && wanted[length + 1]) {
		absolute(wanted + length + 1, log_path, sizeof(log_path));
		if (!log_path[0]) /* what was to go elsewhere is not for stderr */
			log_level = LOG_OFF;
	}
}

static void init_statistics(const char *wanted)
{
	struct counters *page;

	absolute(wanted, statistics_path, sizeof(statistics_path));
	if (!statistics_path[0])
		return;
	page = sys_mmap(sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_map_failed(page))
		return;
	/* A forked child counts from zero, without a handler of ours in its fork. */
	sys_madvise(page, sizeof(*page), MADV_WIPEONFORK);
	page->pid = sys_getpid();
	counters = page;
}

AT_LOAD void report_init(const char *log, const char *statistics, const char *program)
{
	size_t i;

	for (i = 0; i < sizeof(program_name) - 1 && program[i]; i++)
		program_name[i] = program[i];
	program_name[i] = '\0';
	if (log)
		init_log(log);
	if (statistics)
		init_statistics(statistics);
}

static uint64_t now(void)
{
	struct sys_time time = {0, 0};

	sys_clock(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.seconds * 1000000000 + (uint64_t)time.nanoseconds;
}

uint64_t report_clock(void)
{
	return counters || log_level >= LOG_INFO ? now() : 0;
}

static void count_call(enum call call, struct extent range, enum answer answer, int error, uint64_t nanoseconds)
{
	atomic_fetch_add_explicit(&counters->call[call].seen, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counters->call[call].answered[answer], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counters->call[call].nanoseconds, nanoseconds, memory_order_relaxed);
	if (error > 0)
		atomic_fetch_add_explicit(&counters->call[call].failed, 1, memory_order_relaxed);
	else if (answer != ANSWER_PASSED) /* what became of those is not known here */
		atomic_fetch_add_explicit(&counters->call[call].bytes, (uint64_t)extent_length(range),
					  memory_order_relaxed);
}

static void log_call(enum call call, int fd, struct extent range, enum answer answer, int error, uint64_t nanoseconds)
{
	struct line line;

	start_message(&line);
	put(&line, call_names[call]);
	put(&line, " fd ");
	if (fd < 0)
		put(&line, "-");
	else
		put_number(&line, (uint64_t)fd);
	put(&line, " [");
	put_number(&line, (uint64_t)range.start);
	put(&line, ", ");
	put_number(&line, (uint64_t)range.end);
	put(&line, "): ");
	put(&line, answer_names[answer]);
	if (error > 0) {
		put(&line, ", errno ");
		put_number(&line, (uint64_t)error);
	}
	put(&line, ", ");
	put_number(&line, nanoseconds / 1000);
	put(&line, " us");
	send_line(&line);
}

void report_call(enum call call, int fd, struct extent range, enum answer answer, int error, uint64_t started)
{
	enum log_level level = error > 0 ? LOG_ERROR : answer == ANSWER_PASSED ? LOG_DEBUG : LOG_INFO;
	uint64_t nanoseconds = started ? now() - started : 0;

	if (counters)
		count_call(call, range, answer, error, nanoseconds);
	if (log_level >= level)
		log_call(call, fd, range, answer, error, nanoseconds);
}

void report_message(enum log_level level, const char *message)
{
	struct line line;

	if (log_level < level)
		return;
	start_message(&line);
	put(&line, message);
	send_line(&line);
}

/* A name for a terminal: no control characters, no broken UTF-8, and room left for what is said of it. */
static void put_name(struct line *line, const char *name)
{
	while (*name && line->used < sizeof(line->text) / 2) {
		size_t length = utf8_length((const unsigned char *)name);
		char plain[5] = "?";

		if (length > 1 || (length == 1 && *name >= ' ' && *name != 127))
			memcpy(plain, name, length);
		if (length == 2 && plain[0] == '\xc2' && (unsigned char)plain[1] < 0xa0) /* U+0080 to U+009F */
			memcpy(plain, "?", 2);
		put(line, plain);
		name += length > 0 ? length : 1;
	}
	if (*name)
		put(line, "...");
}

void report_configuration(const char *file, unsigned line_number, unsigned column, const char *message)
{
	struct line line = {.used = 0};

	put(&line, "fastalloc: ");
	put_name(&line, file);
	if (line_number) {
		put(&line, ":");
		put_number(&line, line_number);
		put(&line, ":");
		put_number(&line, column);
	}
	put(&line, ": ");
	put(&line, message);
	put(&line, "; using the built-in configuration\n");
	write_quietly(2, line.text, line.used);
}

/* %p in the path is the process's number, %% a percent sign. */
static int expand(const char *from, int pid, char *to, size_t size)
{
	struct line path = {.used = 0};

	for (; *from; from++) {
		char plain[2] = {*from, '\0'};

		if (from[0] == '%' && from[1] == 'p') {
			put_number(&path, (uint64_t)pid);
			from++;
		} else {
			put(&path, plain);
			from += from[0] == '%' && from[1] == '%';
		}
	}
	if (path.used >= size || path.used == sizeof(path.text))
		return ENAMETOOLONG;
	memcpy(to, path.text, path.used);
	to[path.used] = '\0';
	return 0;
}

static void put_member(struct line *line, const char *name, _Atomic uint64_t *value)
{
	put(line, "\"");
	put(line, name);
	put(line, "\":");
	put_number(line, atomic_load_explicit(value, memory_order_relaxed));
}

static void put_call(struct line *line, enum call call)
{
	put(line, "\"");
	put(line, call_names[call]);
	put(line, "\":{");
	put_member(line, "seen", &counters->call[call].seen);
	for (enum answer answer = 0; answer < ANSWER_COUNT; answer++) {
		put(line, ",");
		put_member(line, answer_names[answer], &counters->call[call].answered[answer]);
	}
	put(line, ",");
	put_member(line, "failed", &counters->call[call].failed);
	put(line, ",");
	put_member(line, "bytes", &counters->call[call].bytes);
	put(line, ",");
	put_member(line, "nanoseconds", &counters->call[call].nanoseconds);
	put(line, "}");
}

__attribute__((noinline)) static void write_statistics(void)
{
	char path[sizeof(statistics_path)];
	struct line line = {.used = 0};
	int pid = sys_getpid();

	/* A vfork child shares our memory; what is counted there is not its own. */
	if (counters->pid != 0 && counters->pid != pid)
		return;
	if (expand(statistics_path, pid, path, sizeof(path)))
		return;
	put(&line, "{\"pid\":");
	put_number(&line, (uint64_t)pid);
	put(&line, ",\"program\":\"");
	put_escaped(&line, program_name);
	put(&line, "\"");
	for (enum call call = 0; call < CALL_COUNT; call++) {
		put(&line, ",");
		put_call(&line, call);
	}
	put(&line, "}\n");
	if (line.used < sizeof(line.text))
		append_to_file(path, &line);
}

/* With load's: every program gets here. */
AT_LOAD void report_statistics(void)
{
	if (counters)
		write_statistics();
}
