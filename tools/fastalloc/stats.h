/* stats.h: statistics as FASTALLOC_STATS writes them, one JSON object a line and process, summed. */
#ifndef FASTALLOC_STATS_H
#define FASTALLOC_STATS_H

#include <jansson.h>
#include <stdio.h>

struct stats {
	size_t count;      /* processes */
	size_t errors;     /* lines that were no statistics */
	json_t *total;     /* call -> what is counted of it -> sum; only calls that were seen */
	json_t *processes; /* each process as it was read, without calls that were not seen; or NULL: not wanted */
};

/* Exit where memory is short. */
void stats_init(struct stats *stats);
void stats_want_processes(struct stats *stats);
void stats_free(struct stats *stats);

/* Add the lines of a file from where it stands. Wrong ones are complained about, with their numbers, and
 * left out. Returns 0, or 1 where there was one, or the file could not be read. */
int stats_read(struct stats *stats, FILE *file, const char *name);

/* Print to stream the processes, where wanted, the total, and what libc would have done. Returns 0, or 1
 * where it could not be written (that is said). */
int stats_print(const struct stats *stats, FILE *stream);

#endif
