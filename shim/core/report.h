/* report.h: counters, the log, and the statistics at exit. */
#ifndef FASTALLOC_REPORT_H
#define FASTALLOC_REPORT_H

#include <stdint.h>

#include "extent.h"

/* The intercepted calls; 64-bit names count with the plain ones. And what we do around
 * writes: windows, what is trimmed of them, files that are healed (window.h). */
enum call {
	CALL_POSIX_FALLOCATE,
	CALL_FALLOCATE,
	CALL_FTRUNCATE,
	CALL_TRUNCATE,
	CALL_WINDOW,
	CALL_TRIM,
	CALL_HEAL,
	CALL_COUNT
};

/* How a call was answered. */
enum answer {
	ANSWER_PASSED,    /* handed to libc or the kernel unchanged */
	ANSWER_FALLOCATE, /* by the kernel's fallocate */
	ANSWER_POPULATED, /* by dirtying pages (fill.h) */
	ANSWER_WRITTEN,   /* by writing zeros (fill.h) */
	ANSWER_SPARSE,    /* by setting the size */
	ANSWER_REFUSED,   /* with an errno, nothing touched */
	ANSWER_TRUNCATED, /* by setting the size that the file has */
	ANSWER_COUNT
};

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO, LOG_DEBUG };

/* Set up from the environment's FASTALLOC_LOG and FASTALLOC_STATS (each may be
 * NULL), while the program's own code does not run yet. */
void report_init(const char *log, const char *statistics, const char *program);

/* The time in nanoseconds for report_call, or 0 when nobody wants to know. */
uint64_t report_clock(void);

/* One call has been answered: with `error` (0 or a positive errno), or RESERVE_PASS
 * and the like when it went on to libc. Async-signal-safe. */
void report_call(enum call call, int fd, struct extent range, enum answer answer, int error, uint64_t started);

/* A message of the library itself, to the log if it is wanted at this level. */
void report_message(enum log_level level, const char *message);

/* A message about the configuration, to stderr whatever the log. */
void report_configuration(const char *file, unsigned line, unsigned column, const char *message);

/* Append the statistics, one JSON object, to their file. Called once, at exit. */
void report_statistics(void);

#endif
