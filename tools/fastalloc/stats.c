/* fastalloc stats: what FASTALLOC_STATS wrote, per process and in total. */
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "stats.h"

/* What is counted of a call besides how it was answered: every other member is an answer. */
static const char *const measures[] = {"seen", "failed", "bytes", "nanoseconds"};

/* glibc's posix_fallocate, where the kernel refuses, writes a byte into each 4 KiB (smaller blocks are rare). */
#define LIBC_STEP 4096

static int is_answer(const char *member)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++)
		if (!strcmp(member, measures[i]))
			return 0;
	return 1;
}

static unsigned long long number(json_t *call, const char *member)
{
	return (unsigned long long)json_integer_value(json_object_get(call, member));
}

/* Sums */

void stats_init(struct stats *stats)
{
	*stats = (struct stats){.total = json_object()};
	need(stats->total != NULL);
}

void stats_want_processes(struct stats *stats)
{
	stats->processes = json_array();
	need(stats->processes != NULL);
}

void stats_free(struct stats *stats)
{
	json_decref(stats->total);
	json_decref(stats->processes);
}

/* Or the most that it can be. */
static json_int_t sum_of(json_t *a, json_t *b)
{
	json_int_t sum;

	return __builtin_add_overflow(json_integer_value(a), json_integer_value(b), &sum) ? INT64_MAX : sum;
}

static void add_call(json_t *total, const char *name, json_t *call)
{
	json_t *sum = json_object_get(total, name), *value;
	const char *member;

	if (!sum) {
		json_set(total, name, json_deep_copy(call));
		return;
	}
	json_object_foreach(call, member, value)
		json_set(sum, member, json_integer(sum_of(json_object_get(sum, member), value)));
}

static void add_process(struct stats *stats, json_t *process)
{
	const char *name;
	json_t *call;
	void *next;

	stats->count++;
	json_object_foreach_safe(process, next, name, call)
	{
		if (!json_is_object(call))
			continue;
		if (number(call, "seen"))
			add_call(stats->total, name, call);
		else
			json_object_del(process, name);
	}
	if (stats->processes)
		json_add(stats->processes, json_incref(process));
}

/* Reading */

/* The reason why it is no process's statistics, or NULL. */
static const char *find_fault(json_t *process)
{
	const char *name, *member;
	json_t *call, *value;

	if (json_integer_value(json_object_get(process, "pid")) <= 0 ||
	    !json_is_string(json_object_get(process, "program")))
		return "is not the statistics of a process: no pid and program";
	json_object_foreach(process, name, call) json_object_foreach(
		call, member, value) if (!json_is_integer(value) ||
					 json_integer_value(value) <
						 0) return "is not the statistics of a process: a count is no number";
	return NULL;
}

static const char *add_line(struct stats *stats, const char *line, size_t length)
{
	json_t *process = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *fault = process ? find_fault(process) : "is not valid JSON";

	if (!fault)
		add_process(stats, process);
	json_decref(process);
	return fault;
}

static void complain_of_line(const char *name, unsigned long number, const char *fault)
{
	char *where;

	need(asprintf(&where, "%s:%lu", name, number) >= 0);
	complain(where, "%s", fault);
	free(where);
}

int stats_read(struct stats *stats, FILE *file, const char *name)
{
	enum { MESSAGES_MAX = 10 };
	char *line = NULL;
	size_t size = 0, errors = 0;
	ssize_t length;
	int error;

	for (unsigned long at = 1; errno = 0, (length = getline(&line, &size, file)) >= 0; at++) {
		const char *fault = add_line(stats, line, (size_t)length);

		if (fault && errors++ < MESSAGES_MAX)
			complain_of_line(name, at, fault);
	}
	error = errno;
	free(line);
	if (errors > MESSAGES_MAX)
		complain(name, "%zu more lines like these", errors - MESSAGES_MAX);
	if (error)
		complain_errno(name, error);
	stats->errors += errors;
	return errors || error;
}

/* Tables */

static const char *time_text(char text[SIZE_TEXT_MAX], unsigned long long nanoseconds)
{
	static const char units[][3] = {"ns", "us", "ms", "s"};
	double value = (double)nanoseconds;
	size_t unit = 0;

	for (; value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1000;
	snprintf(text, SIZE_TEXT_MAX, value < 10 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

/* "written 3", a line for each answer. */
static void answers_text(json_t *call, char *text, size_t size)
{
	const char *member;
	json_t *value;
	size_t used = 0;

	text[0] = '\0';
	json_object_foreach(call, member, value)
	{
		unsigned long long count = (unsigned long long)json_integer_value(value);

		if (is_answer(member) && count && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s %llu", used ? "\n" : "", member,
						 count);
	}
}

enum { COLUMN_PID, COLUMN_PROGRAM, COLUMN_CALL };

static struct libscols_table *start_table(FILE *stream, int with_processes)
{
	struct libscols_table *table = output_table("stats", 0);

	scols_table_set_stream(table, stream);
	if (with_processes) {
		output_column(table, "PID", SCOLS_JSON_NUMBER, 0);
		output_column(table, "PROGRAM", SCOLS_JSON_STRING, SCOLS_FL_TRUNC);
	}
	output_column(table, "CALL", SCOLS_JSON_STRING, 0);
	output_column(table, "SEEN", SCOLS_JSON_NUMBER, 0);
	output_column(table, "FAILED", SCOLS_JSON_NUMBER, 0);
	output_column(table, "BYTES", SCOLS_JSON_STRING, SCOLS_FL_RIGHT);
	output_column(table, "TIME", SCOLS_JSON_STRING, SCOLS_FL_RIGHT);
	output_lines_column(table, "ANSWERED");
	return table;
}

static void add_cells(struct libscols_line *line, size_t column, const char *name, json_t *call)
{
	char size[SIZE_TEXT_MAX], answers[256];

	output_text(line, column++, name);
	output_number(line, column++, number(call, "seen"));
	output_number(line, column++, number(call, "failed"));
	output_text(line, column++, size_text(size, number(call, "bytes")));
	output_text(line, column++, time_text(size, number(call, "nanoseconds")));
	answers_text(call, answers, sizeof(answers));
	output_text(line, column, answers);
}

static void add_process_lines(struct libscols_table *table, json_t *process)
{
	const char *name;
	json_t *call;

	json_object_foreach(process, name, call)
	{
		struct libscols_line *line;

		if (!json_is_object(call))
			continue;
		line = output_line(table);
		output_number(line, COLUMN_PID, number(process, "pid"));
		output_text(line, COLUMN_PROGRAM, json_string_value(json_object_get(process, "program")));
		add_cells(line, COLUMN_CALL, name, call);
	}
}

static int print_table(const struct stats *stats, FILE *stream)
{
	struct libscols_table *table = start_table(stream, stats->processes != NULL);
	const char *name;
	json_t *call, *process;
	size_t at;

	json_array_foreach(stats->processes, at, process) add_process_lines(table, process);
	json_object_foreach(stats->total, name, call)
	{
		struct libscols_line *line = output_line(table);

		if (stats->processes)
			output_text(line, COLUMN_PROGRAM, "total");
		add_cells(line, stats->processes ? COLUMN_CALL : 0, name, call);
	}
	return output_print(table);
}

/* What libc would have done in place of the answers that stand for its emulation. Bytes are counted per call
 * and not per answer, so where the kernel has answered some this is a limit. 0: nothing to say. */
static unsigned long long libc_writes(json_t *total, int *exact)
{
	json_t *call = json_object_get(total, "posix_fallocate");

	*exact = !number(call, "fallocate");
	return number(call, "populated") || number(call, "written") || number(call, "sparse")
		       ? (number(call, "bytes") + LIBC_STEP - 1) / LIBC_STEP
		       : 0;
}

int stats_print(const struct stats *stats, FILE *stream)
{
	int exact;
	unsigned long long writes = libc_writes(stats->total, &exact);

	fprintf(stream, "%zu process%s", stats->count, stats->count == 1 ? "" : "es");
	if (!json_object_size(stats->total)) {
		fprintf(stream, ", none of which made a call that the library answers\n");
		return 0;
	}
	fputs("\n", stream);
	if (print_table(stats, stream))
		return 1;
	if (writes)
		fprintf(stream,
			"Without the library, libc would have made %s %llu writes for\n"
			"posix_fallocate (estimated: one to each 4 KiB).\n",
			exact ? "about" : "up to", writes);
	return 0;
}

static void print_json(const struct stats *stats)
{
	json_t *root = json_object();
	int exact;
	unsigned long long writes = libc_writes(stats->total, &exact);

	if (stats->processes)
		json_set(root, "processes", json_incref(stats->processes));
	json_set(root, "count", json_integer((json_int_t)stats->count));
	json_set(root, "total", json_incref(stats->total));
	json_set(root, "libc_writes", json_integer((json_int_t)writes));
	json_print(root);
}

/* The subcommand */

static int read_file(struct stats *stats, const char *path)
{
	FILE *file;
	int failed;

	if (!strcmp(path, "-"))
		return stats_read(stats, stdin, path);
	file = fopen(path, "re");
	if (!file) {
		complain_errno(path, errno);
		return 1;
	}
	failed = stats_read(stats, file, path);
	fclose(file);
	return failed;
}

int stats_main(int argc, char **argv)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"json", no_argument, NULL, 'J'},
		{"total", no_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int json = 0, total = 0, status = 0, option;
	struct stats stats;

	while ((option = getopt_long(argc, argv, "tJh", options, NULL)) != -1)
		switch (option) {
		case 'h':
			return print_help(
				"stats [-Jt] FILE...\n\n"
				"Sums what programs wrote that ran with FASTALLOC_STATS=FILE, or by\n"
				"'fastalloc run -s FILE': per process and call, and in total.\n"
				"FILE - is the standard input.\n\n"
				"  -J, --json   as JSON\n"
				"  -t, --total  the total only\n"
				"  -h, --help\n\n"
				"ANSWERED says how: passed (handed on unchanged), fallocate (the kernel's),\n"
				"populated (pages dirtied), written (zeros appended), sparse (only the size),\n"
				"refused (with an errno), truncated.\n");
		case 'J':
			json = 1;
			break;
		case 't':
			total = 1;
			break;
		default:
			return usage_error("stats");
		}
	if (optind == argc) {
		complain("stats", "a file is missing");
		return usage_error("stats");
	}
	stats_init(&stats);
	if (!total)
		stats_want_processes(&stats);
	for (int i = optind; i < argc; i++)
		status |= read_file(&stats, argv[i]);
	if (json && (stats.count || !status))
		print_json(&stats);
	else if (stats.count || !status)
		status |= stats_print(&stats, stdout);
	stats_free(&stats);
	return finish(status);
}
