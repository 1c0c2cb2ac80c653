/* command.h: what the subcommands of fastalloc share. */
#ifndef FASTALLOC_COMMAND_H
#define FASTALLOC_COMMAND_H

#include <libsmartcols.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses: 0 all is well, 1 something is not (or cannot be done), 2 wrong usage. */
enum { EXIT_USAGE = 2 };

/* A subcommand: argv[0] is its name, as in main; returns the exit status. Each in <name>.c. */
int check_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int extents_main(int argc, char **argv);
int probe_main(int argc, char **argv);
int run_main(int argc, char **argv);
int stats_main(int argc, char **argv);
int trim_main(int argc, char **argv);
int tune_main(int argc, char **argv);
int watch_main(int argc, char **argv);

/* stderr: "fastalloc: SUBJECT: REASON". The reason is a printf format; an errno is
 * said with strerror. Control characters of the subject are shown as '?'. */
void complain(const char *subject, const char *reason, ...) __attribute__((format(printf, 2, 3)));
void complain_errno(const char *subject, int error);

/* Memory is short unless done: say so and exit. */
void out_of_memory(void) __attribute__((noreturn));
static inline void need(int done)
{
	if (!done)
		out_of_memory();
}

/* A name as it may be shown: what cannot be printed as '?'. */
void output_name(FILE *stream, const char *name);

/* Two lines to stderr after a wrong option: how it is written, and where more is said.
 * Returns EXIT_USAGE. */
int usage_error(const char *subcommand);

/* stdout: the help of a subcommand: "Usage: fastalloc " and the text. Returns the exit status. */
int print_help(const char *text);

/* A table that output_print prints: aligned columns, or as JSON an array called `name`, for what is
 * no mere table see json.h. On a terminal, columns with SCOLS_FL_WRAP or SCOLS_FL_TRUNC are made to
 * fit it; elsewhere nothing is broken or cut off, and lines are as long as they have to be. Exits
 * where memory is short. */
struct libscols_table *output_table(const char *name, int json);

/* A column; `type` is its JSON type; flags are those of libsmartcols (SCOLS_FL_...).
 * Numbers are right-aligned. */
void output_column(struct libscols_table *table, const char *name, int type, int flags);

/* A column whose cells may have several lines. */
void output_lines_column(struct libscols_table *table, const char *name);

/* Fill a cell of a line. NULL, and what is not filled, is an empty cell, null in JSON. A size is as
 * size_text has it, in JSON a number. Bytes that are no UTF-8 become '?' in JSON; in columns, and
 * what the locale cannot show, "\\xHH". */
void output_text(struct libscols_line *line, size_t column, const char *value);
void output_number(struct libscols_line *line, size_t column, unsigned long long value);
void output_size(struct libscols_line *line, size_t column, unsigned long long bytes);
struct libscols_line *output_line(struct libscols_table *table);

/* Print and free it. Returns 0, or 1 where it could not be written (that is said). */
int output_print(struct libscols_table *table);

/* "1.5 GiB", "4 KiB", "17 B" into text. Returns text. */
#define SIZE_TEXT_MAX 24
char *size_text(char text[SIZE_TEXT_MAX], unsigned long long bytes);

/* May colours be used on stdout? On a terminal, and unless NO_COLOR is set and not empty
 * (no-color.org), or TERM is dumb. */
int output_has_colour(void);

/* Progress, on stderr where it is a terminal: one line that is written over. part is 0 to 1.
 * progress_end wipes it out. */
void progress(const char *what, double part);
void progress_end(void);

/* stdout has had its last word: flush it. Returns status, or 1 where that failed (that is said;
 * a pipe closed early is no error worth a message). */
int finish(int status);

/* Until release_temporary, what is at path is removed when a signal (INT, TERM, HUP, PIPE)
 * ends the command, which then dies of that signal. One at a time. */
void guard_temporary(const char *path);
void release_temporary(void);

#endif
