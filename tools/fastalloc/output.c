/* output.c: what is said on stdout and stderr: messages, tables, progress. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "command.h"
#include "json.h"

/* Messages */

/* The bytes of the character at `at`, 0 where the locale has none there that can be printed. */
static size_t printable(const char *at)
{
	mbstate_t state = {0};
	wchar_t character;
	size_t length = mbrtowc(&character, at, strnlen(at, MB_CUR_MAX), &state);

	return length <= MB_CUR_MAX && iswprint((wint_t)character) ? length : 0;
}

void output_name(FILE *stream, const char *name)
{
	for (size_t length; *name; name += length ? length : 1) {
		length = printable(name);
		fwrite(length ? name : "?", 1, length ? length : 1, stream);
	}
}

static void say_subject(const char *subject)
{
	fputs("fastalloc: ", stderr);
	output_name(stderr, subject);
	fputs(": ", stderr);
}

void complain(const char *subject, const char *reason, ...)
{
	va_list arguments;

	fflush(stdout);
	progress_end();
	say_subject(subject);
	va_start(arguments, reason);
	vfprintf(stderr, reason, arguments);
	va_end(arguments);
	putc('\n', stderr);
}

void complain_errno(const char *subject, int error)
{
	complain(subject, "%s", strerror(error));
}

void out_of_memory(void)
{
	complain_errno("memory", ENOMEM);
	exit(1);
}

int usage_error(const char *subcommand)
{
	fprintf(stderr, "Try 'fastalloc %s%s--help'.\n", subcommand ? subcommand : "", subcommand ? " " : "");
	return EXIT_USAGE;
}

int print_help(const char *text)
{
	printf("Usage: fastalloc %s", text);
	return finish(0);
}

int finish(int status)
{
	errno = 0; /* of an earlier failure it is lost, but what is left fails again */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		complain("standard output", "%s", errno ? strerror(errno) : "cannot be written");
	return 1;
}

/* Tables */

struct libscols_table *output_table(const char *name, int json)
{
	struct libscols_table *table = scols_new_table();

	need(table && !scols_table_set_name(table, name));
	scols_table_enable_json(table, json);
	return table;
}

void output_column(struct libscols_table *table, const char *name, int type, int flags)
{
	struct libscols_column *column;

	if (type == SCOLS_JSON_NUMBER)
		flags |= SCOLS_FL_RIGHT;
	column = scols_table_new_column(table, name, 0, flags);
	need(column && !scols_column_set_json_type(column, type));
}

void output_lines_column(struct libscols_table *table, const char *name)
{
	struct libscols_column *column = scols_table_new_column(table, name, 0, SCOLS_FL_WRAP);

	need(column && !scols_column_set_safechars(column, "\n") &&
	     !scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL));
}

struct libscols_line *output_line(struct libscols_table *table)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	need(line && !scols_line_set_userdata(line, table));
	return line;
}

static int is_json(struct libscols_line *line)
{
	return scols_table_is_json(scols_line_get_userdata(line));
}

void output_text(struct libscols_line *line, size_t column, const char *value)
{
	char *valid = value && is_json(line) ? json_valid(value) : NULL;

	need(!scols_line_set_data(line, column, valid ? valid : value));
	free(valid);
}

void output_number(struct libscols_line *line, size_t column, unsigned long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	output_text(line, column, text);
}

void output_size(struct libscols_line *line, size_t column, unsigned long long bytes)
{
	char text[SIZE_TEXT_MAX];

	if (is_json(line))
		output_number(line, column, bytes);
	else
		output_text(line, column, size_text(text, bytes));
}

int output_print(struct libscols_table *table)
{
	int is_terminal = isatty(fileno(scols_table_get_stream(table))), failed;

	scols_table_set_termforce(table, is_terminal ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	failed = scols_print_table(table) < 0;
	scols_unref_table(table);
	if (failed)
		complain_errno("standard output", errno);
	return failed;
}

char *size_text(char text[SIZE_TEXT_MAX], unsigned long long bytes)
{
	static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1024;
	snprintf(text, SIZE_TEXT_MAX, value < 10 && value != (int)value ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

int output_has_colour(void)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0;
}

/* Progress */

static int progress_is_shown;

void progress(const char *what, double part)
{
	enum { WIDTH = 30 };
	int full = (int)(part * WIDTH + 0.5);
	char name[35];

	if (!isatty(STDERR_FILENO))
		return;
	snprintf(name, sizeof(name), "%s", what);
	for (char *c = name; *c; c += printable(c))
		if (!printable(c))
			*c = '?';
	fprintf(stderr, "\r%-34s [%.*s%*s] %3.0f %%", name, full, "##############################", WIDTH - full, "",
		part * 100);
	fflush(stderr);
	progress_is_shown = 1;
}

void progress_end(void)
{
	if (progress_is_shown)
		fputs("\r\033[K", stderr);
	progress_is_shown = 0;
}

/* Temporary files */

static const char *volatile temporary;

static void clean_up(int signal)
{
	if (temporary)
		unlink(temporary);
	/* SA_RESETHAND: it is the default's now, and comes when we return. */
	raise(signal);
}

void guard_temporary(const char *path)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	struct sigaction action = {.sa_handler = clean_up, .sa_flags = SA_RESETHAND};

	temporary = path;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

void release_temporary(void)
{
	temporary = NULL;
}
