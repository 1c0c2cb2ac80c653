/* tune.c: measure what is best for a directory, and configure it. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apply.h"
#include "command.h"
#include "judge.h"
#include "measure.h"
#include "target.h"
#include "policy.h"

static const char help_text[] = "tune DIR [OPTION...]\n\n"
				"Measures what is fastest on the mount that DIR is on, and prints a section of\n"
				"preload.conf(5) for it, with the figures as comments. Files are written in a\n"
				"temporary directory in DIR, which is always removed.\n\n"
				"  --size SIZE       bytes of a run (4M to 1G; chosen by free space and speed)\n"
				"  --rounds N        runs of each side (5 to 99; default 7)\n"
				"  --quick           ten seconds rather than a minute or so: smaller files\n"
				"  --files N         files that are written side by side (1 to 64; default 8)\n"
				"  --record SIZE     bytes written to each in turn (default 16K)\n"
				"  --sync            fsync after each record, as servers do\n"
				"  --apply[=FILE]    add the section to FILE, by default the configuration in\n"
				"                    use, after showing the difference and asking\n"
				"  --yes             do not ask\n"
				"  -J, --json        print the measurements instead\n"
				"  -h, --help\n\n"
				"A run takes a sixteenth of the free space at most; all of them together write\n"
				"about sixty times that. A key is only set for what was better in 39 of 40 pairs\n"
				"of runs, by over 5 % (pieces: by half), with no other median 5 % worse.\n";

enum {
	FILES = 8,
	RECORD = 16 << 10,
	BYTES_LEAST = 4 << 20,
	BYTES_SLOW = 256 << 10, /* where a file of BYTES_LEAST takes too long to be reserved */
	BYTES_QUICK = 32 << 20,
	BYTES_DEFAULT = 128 << 20,
	BYTES_MOST = 1 << 30,
	/* With windows a run holds twice its bytes: an eighth of what is free. */
	FREE_PER_BYTE = 16,
	SIDES_MOST = 8,
};

static struct {
	const char *dir, *file;
	unsigned long long bytes; /* 0: to be chosen */
	unsigned rounds, files, record;
	int quick, flushed, json, apply, agreed;
} options = {.rounds = ROUNDS_DEFAULT, .files = FILES, .record = RECORD};

static struct target target;

/* Sides */

static const struct side libc_side = {"libc's emulation", METHOD_POSIX_FALLOCATE, NULL};
static const struct side library_side = {"the library", METHOD_POSIX_FALLOCATE, "posix_fallocate = auto\n"};
static const struct side fallocate_side = {"fallocate", METHOD_FALLOCATE, NULL};
static const struct side keep_size_side = {"keep size, then grow", METHOD_KEEP_SIZE, NULL};
static const struct side ftruncate_side = {"ftruncate", METHOD_FTRUNCATE, "ftruncate = native\n"};
static const struct side preallocate_side = {"ftruncate, preallocated", METHOD_FTRUNCATE, "ftruncate = preallocate\n"};
static const struct side zeros_side = {"writing zeros", METHOD_ZEROS, NULL};

/* The first is plain, the second what windows are by default. Those after it are larger or
 * smaller: `least` is from which size of a file on they make sense. */
static const struct window {
	struct side side;
	unsigned long long least;
} windows[] = {
	{{"none", METHOD_APPEND, NULL}, 0},
	{{"64K to 16M", METHOD_APPEND, "write = preallocate\nwindow = 64K\nwindow_max = 16M\n"}, 0},
	{{"64K to 4M", METHOD_APPEND, "write = preallocate\nwindow = 64K\nwindow_max = 4M\n"}, 4 << 20},
	{{"64K", METHOD_APPEND, "write = preallocate\nwindow = 64K\nwindow_max = 64K\n"}, 0},
	{{"1M", METHOD_APPEND, "write = preallocate\nwindow = 1M\nwindow_max = 1M\n"}, 1 << 20},
	{{"4M", METHOD_APPEND, "write = preallocate\nwindow = 4M\nwindow_max = 4M\n"}, 4 << 20},
	{{"16M", METHOD_APPEND, "write = preallocate\nwindow = 16M\nwindow_max = 16M\n"}, 16 << 20},
};

/* Sides that are compared with each other. */
static struct group {
	const char *name;
	unsigned count;
	struct series series[SIDES_MOST];
	unsigned long long bytes; /* of all files of a run */
	double seconds;           /* that a run of BYTES_LEAST of each side took, in all */
} reserving = {.name = "reserving"}, appending = {.name = "appending"};

static void add_side(struct group *group, const struct side *side)
{
	group->series[group->count++].side = side;
}

static void choose_reserving(void)
{
	if (target.has_fallocate)
		add_side(&reserving, &fallocate_side);
	else
		add_side(&reserving, &libc_side);
	add_side(&reserving, &library_side);
	if (target.has_keep_size)
		add_side(&reserving, &keep_size_side);
	if (target.traits & TRAIT_DENSE && !target.mount.synchronous) {
		add_side(&reserving, &ftruncate_side);
		add_side(&reserving, &preallocate_side);
	}
	add_side(&reserving, &zeros_side);
}

/* Why windows are not measured, or NULL. */
static const char *no_windows(void)
{
	if (target.mount.synchronous)
		return "mounted with \"sync\", where the library makes no windows";
	if (!target.has_keep_size)
		return "FALLOC_FL_KEEP_SIZE is not supported, which windows need";
	return NULL;
}

static void choose_appending(unsigned long long bytes)
{
	appending.count = 0;
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++)
		if (windows[i].least <= bytes / options.files)
			add_side(&appending, &windows[i].side);
}

/* Running */

static int run_side(struct group *group, unsigned i, unsigned long long bytes, struct outcome *outcome)
{
	const struct side *side = group->series[i].side;
	struct job job = {.method = side->method, .files = 1, .bytes = bytes};

	if (side->method == METHOD_APPEND) {
		job.files = options.files;
		job.bytes = bytes / options.files;
		job.record = options.record;
		job.flushed = options.flushed;
	}
	return measure_run(side->keys, &job, outcome);
}

/* Each side once, with small files; the figures only tell how long it will take. */
static int warm_up(struct group *group)
{
	struct outcome outcome;
	int error = 0;

	for (unsigned i = 0; !error && i < group->count; i++) {
		progress("trying each", (double)i / group->count);
		error = run_side(group, i, BYTES_LEAST, &outcome);
		if (error)
			break;
		group->seconds += outcome.figure[FIGURE_TIME];
		if (!isnan(outcome.figure[FIGURE_READ]))
			group->seconds += outcome.figure[FIGURE_READ];
	}
	return error;
}

/* As large as the free space allows, and the time: `seconds` for all rounds. Files that are
 * written side by side tell nothing when they are smaller than BYTES_LEAST in all. */
static unsigned long long choose_bytes(const struct group *group, double seconds)
{
	unsigned long long most = options.quick ? BYTES_QUICK : BYTES_DEFAULT, bytes = BYTES_LEAST;
	double expected = options.rounds * group->seconds;

	if (options.bytes)
		return options.bytes;
	while (2 * bytes <= most && 2 * bytes <= target.free / FREE_PER_BYTE && 2 * expected <= seconds) {
		bytes *= 2;
		expected *= 2;
	}
	for (; group == &reserving && bytes > BYTES_SLOW && expected > seconds; expected /= 2)
		bytes /= 2;
	return bytes;
}

/* Which side is next: all in turn, another first in each round, and every other round the other
 * way round. So what drifts meets all alike, and so does what the side before left behind. */
static unsigned side_of_run(unsigned run, unsigned count)
{
	unsigned round = run / count, at = (run + round / 2) % count;

	return round % 2 ? count - 1 - at : at;
}

static int run_rounds(struct group *group)
{
	unsigned runs = group->count * options.rounds;
	struct outcome outcome;
	int error = 0;

	for (unsigned run = 0; !error && run < runs; run++) {
		unsigned i = side_of_run(run, group->count);

		progress(group->name, (double)run / runs);
		error = run_side(group, i, group->bytes, &outcome);
		if (!error)
			series_add(&group->series[i], &outcome);
	}
	return error;
}

static int run_group(struct group *group)
{
	const double seconds = options.quick ? 6 : 30;
	int error = warm_up(group);

	if (error)
		return error;
	group->bytes = choose_bytes(group, seconds);
	if (group == &appending)
		choose_appending(group->bytes);
	return run_rounds(group);
}

static int measure_all(void)
{
	int error = target_try(measure_directory(), &target);

	if (error)
		return error;
	choose_reserving();
	error = run_group(&reserving);
	if (error || no_windows())
		return error;
	choose_appending(BYTES_LEAST);
	return run_group(&appending);
}

/* Returns 0, or 1 after saying what went wrong. */
static int measure_there(void)
{
	int error = measure_begin(options.dir);

	if (!error) {
		error = measure_all();
		measure_end();
	}
	if (error == ELIBACC)
		complain("libfastalloc.so", "%s", strerror(error));
	else if (error)
		complain_errno(options.dir, error);
	return error != 0;
}

/* What is best */

static struct series *series_of(const struct side *side)
{
	for (unsigned i = 0; i < reserving.count; i++)
		if (reserving.series[i].side == side)
			return &reserving.series[i];
	return NULL;
}

/* What is found: the side whose keys are to be set, or NULL; and in a sentence why. */
struct finding {
	const struct side *side;
	const char *reason;
};

/* Of what is recommended, only writing as without the library has no keys of its own. */
static const char *keys_of(const struct side *side)
{
	return side->keys ? side->keys : "write = native\n";
}

static struct finding find_posix_fallocate(void)
{
	if (target.has_fallocate)
		return (struct finding){NULL, "The kernel's fallocate is used: nothing to choose."};
	switch (judge(series_of(&library_side), series_of(&libc_side), FIGURE_TIME)) {
	case JUDGED_BETTER:
		return (struct finding){&library_side, "Faster than libc's emulation."};
	case JUDGED_WORSE:
		return (struct finding){NULL, "libc's emulation was faster, but can overwrite other writers' data."};
	default:
		return (struct finding){NULL, "No difference that could be told from noise."};
	}
}

static struct finding find_ftruncate(void)
{
	const struct series *native = series_of(&ftruncate_side), *preallocated = series_of(&preallocate_side);

	if (!native)
		return (struct finding){NULL, NULL};
	switch (judge_all(preallocated, native)) {
	case OVERALL_BETTER:
		return (struct finding){&preallocate_side, "ftruncate is better preallocated."};
	case OVERALL_WORSE:
		return (struct finding){&ftruncate_side, "ftruncate is better left alone."};
	case OVERALL_MIXED:
		return (struct finding){NULL, "ftruncate: better in one figure, but maybe worse in another."};
	default:
		return (struct finding){NULL, "ftruncate: no difference that could be told from noise."};
	}
}

/* Another window than the default one must be clearly faster than that, not only make fewer pieces. */
static int is_preferable(const struct series *is, const struct series *than)
{
	return judge_all(is, than) == OVERALL_BETTER &&
	       (judge(is, than, FIGURE_TIME) == JUDGED_BETTER || judge(is, than, FIGURE_READ) == JUDGED_BETTER);
}

/* First which window, then whether any: the other way round chance would choose the window, as
 * the one of many that looks best beside plain writes. */
static struct finding find_window(void)
{
	const struct series *plain = &appending.series[0], *best = &appending.series[1];

	if (!appending.count)
		return (struct finding){NULL, NULL};
	for (unsigned i = 2; i < appending.count; i++)
		if (is_preferable(&appending.series[i], best))
			best = &appending.series[i];
	switch (judge_all(best, plain)) {
	case OVERALL_BETTER:
		return (struct finding){best->side, "Better with windows; no median is over 5 % worse."};
	case OVERALL_WORSE:
		return (struct finding){plain->side, "Windows are worse."};
	case OVERALL_MIXED:
		return (struct finding){NULL, "Windows: better in one figure, but maybe worse in another."};
	default:
		return (struct finding){NULL, "No difference that could be told from noise."};
	}
}

/* Tables */

/* Three digits are more than the spread deserves; JSON gets what the clock said. */
static const char *figure_text(char text[32], enum figure figure, double value)
{
	if (figure == FIGURE_PIECES || (value >= 1000 && !options.json))
		snprintf(text, 32, "%.0f", value);
	else
		snprintf(text, 32, options.json ? "%.6f" : "%.3g", value);
	return text;
}

/* Median, least and most of a figure; in JSON a column each, else the last two in one. */
static void output_range(struct libscols_line *line, size_t column, const struct series *series, enum figure figure)
{
	char median[32], least[32], most[32], range[68];

	if (!series_known(series, figure))
		return;
	output_text(line, column, figure_text(median, figure, series_median(series, figure)));
	figure_text(least, figure, series_least(series, figure));
	figure_text(most, figure, series_most(series, figure));
	if (options.json) {
		output_text(line, column + 1, least);
		output_text(line, column + 2, most);
	} else if (strcmp(least, most) != 0) {
		snprintf(range, sizeof(range), "%s-%s", least, most);
		output_text(line, column + 1, range);
	}
}

static int is_recommended(const struct side *side)
{
	return side == find_posix_fallocate().side || side == find_ftruncate().side || side == find_window().side;
}

static void print_json_group(struct libscols_table *table, const struct group *group)
{
	for (unsigned i = 0; i < group->count; i++) {
		const struct series *series = &group->series[i];
		struct libscols_line *line = output_line(table);

		output_text(line, 0, group->name);
		output_text(line, 1, series->side->name);
		output_number(line, 2, group->bytes);
		output_number(line, 3, options.rounds);
		for (int figure = 0; figure < FIGURE_COUNT; figure++)
			output_range(line, 4 + 3 * (size_t)figure, series, figure);
		output_text(line, 4 + 3 * FIGURE_COUNT, is_recommended(series->side) ? "1" : "0");
	}
}

static int print_json(void)
{
	static const char *const columns[] = {"seconds", "seconds-least", "seconds-most",
					      "pieces",  "pieces-least",  "pieces-most",
					      "read",    "read-least",    "read-most"};
	struct libscols_table *table = output_table("measurements", 1);

	output_column(table, "group", SCOLS_JSON_STRING, 0);
	output_column(table, "side", SCOLS_JSON_STRING, 0);
	output_column(table, "bytes", SCOLS_JSON_NUMBER, 0);
	output_column(table, "rounds", SCOLS_JSON_NUMBER, 0);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		output_column(table, columns[i], SCOLS_JSON_NUMBER, 0);
	output_column(table, "recommended", SCOLS_JSON_BOOLEAN, 0);
	print_json_group(table, &reserving);
	print_json_group(table, &appending);
	return finish(output_print(table));
}

/* The section */

/* Each line of the table as a comment, without the blanks at its end. */
static void comment(FILE *to, const char *text)
{
	size_t length, used;

	for (; *text; text += length + (text[length] == '\n')) {
		used = length = strcspn(text, "\n");
		while (used > 0 && text[used - 1] == ' ')
			used--;
		fprintf(to, "#   %.*s\n", (int)used, text);
	}
}

static void comment_table(FILE *to, const struct group *group)
{
	struct libscols_table *table = output_table(group->name, 0);
	char *text = NULL;

	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_termwidth(table, 75);
	output_column(table, group == &appending ? "WINDOW" : "BY", SCOLS_JSON_STRING, 0);
	output_column(table, "SECONDS", SCOLS_JSON_NUMBER, 0);
	output_column(table, "RANGE", SCOLS_JSON_STRING, 0);
	output_column(table, "PIECES", SCOLS_JSON_NUMBER, 0);
	output_column(table, "RANGE", SCOLS_JSON_STRING, 0);
	if (group == &appending) {
		output_column(table, "READ", SCOLS_JSON_NUMBER, 0);
		output_column(table, "RANGE", SCOLS_JSON_STRING, SCOLS_FL_TRUNC);
	}
	for (unsigned i = 0; i < group->count; i++) {
		struct libscols_line *line = output_line(table);

		output_text(line, 0, group->series[i].side->name);
		output_range(line, 1, &group->series[i], FIGURE_TIME);
		output_range(line, 3, &group->series[i], FIGURE_PIECES);
		if (group == &appending)
			output_range(line, 5, &group->series[i], FIGURE_READ);
	}
	if (scols_print_table_to_string(table, &text) == 0)
		comment(to, text);
	free(text);
	scols_unref_table(table);
}

/* A sentence and keys, where there are any. Returns whether there are keys. */
static int tell(FILE *to, struct finding finding)
{
	if (finding.reason)
		fprintf(to, "# %s\n", finding.reason);
	if (finding.side)
		fputs(keys_of(finding.side), to);
	return finding.side != NULL;
}

static int tell_appending(FILE *to)
{
	char each[SIZE_TEXT_MAX], record[SIZE_TEXT_MAX];

	if (no_windows()) {
		fprintf(to, "# No windows: %s.\n", no_windows());
		return 0;
	}
	fprintf(to,
		"# Writing %u files of %s side by side, %s at a time%s, fsync;\n"
		"# reading them one after the other, not from this machine's page cache:\n",
		options.files, size_text(each, appending.bytes / options.files), size_text(record, options.record),
		options.flushed ? ", flushed" : "");
	comment_table(to, &appending);
	return tell(to, find_window());
}

/* "[mount "/mnt"]", a newline */
static const char *section_head(void)
{
	static char head[MOUNT_POINT_MAX + 16];

	snprintf(head, sizeof(head), "[mount \"%s\"]\n", target.mount.point);
	return head;
}

/* Everything behind the head. Returns the number of findings. */
static int tell_all(FILE *to)
{
	char day[16], bytes[SIZE_TEXT_MAX];
	time_t seconds = time(NULL);
	int findings;

	strftime(day, sizeof(day), "%F", localtime(&seconds));
	fprintf(to,
		"%s on %s, %s.\n"
		"# Medians and ranges of %u runs a side, sides in turn. A key is set only for\n"
		"# what was better in 39 of 40 pairs of runs, by over 5 %% (pieces: by half),\n"
		"# with no other median 5 %% worse.\n"
		"# Reserving %s, and fsync:\n",
		TUNED_BEGIN, day, target.mount.fstype, options.rounds, size_text(bytes, reserving.bytes));
	comment_table(to, &reserving);
	findings = tell(to, find_posix_fallocate());
	findings += tell(to, find_ftruncate());
	findings += tell_appending(to);
	fputs(TUNED_END "\n", to);
	return findings;
}

/* The section, or where there is nothing to set only comments. NULL where memory is short. */
static char *make_section(int *findings)
{
	char *body = NULL, *section = NULL;
	size_t size;
	FILE *to = open_memstream(&body, &size);

	if (!to)
		return NULL;
	*findings = tell_all(to);
	if (fclose(to) == 0 && asprintf(&section, "%s%s", *findings ? section_head() : "", body) < 0)
		section = NULL;
	free(body);
	return section;
}

static int print_section(void)
{
	int findings, status = 0;
	char *section = make_section(&findings);

	if (!section) {
		complain_errno(options.dir, ENOMEM);
		return 1;
	}
	if (!options.apply || !findings)
		fputs(section, stdout);
	if (options.apply && !findings)
		printf("Nothing to set, so nothing is changed.\n");
	if (options.apply && findings)
		status = apply(options.file, section_head(), section, options.agreed);
	free(section);
	return finish(status);
}

/* Arguments */

enum { OPTION_SIZE = 256, OPTION_ROUNDS, OPTION_FILES, OPTION_RECORD, OPTION_APPLY, OPTION_WORKER };

static const struct option long_options[] = {
	{"size", required_argument, NULL, OPTION_SIZE},
	{"rounds", required_argument, NULL, OPTION_ROUNDS},
	{"quick", no_argument, &options.quick, 1},
	{"files", required_argument, NULL, OPTION_FILES},
	{"record", required_argument, NULL, OPTION_RECORD},
	{"sync", no_argument, &options.flushed, 1},
	{"apply", optional_argument, NULL, OPTION_APPLY},
	{"yes", no_argument, &options.agreed, 1},
	{"json", no_argument, NULL, 'J'},
	{"help", no_argument, NULL, 'h'},
	{"worker", required_argument, NULL, OPTION_WORKER}, /* measure.c's own */
	{NULL, 0, NULL, 0},
};

/* A number with K, M, G behind it, within [least, most]; 0 after saying what is wrong. */
static unsigned long long parse_number(const char *option, const char *text, unsigned long long least,
				       unsigned long long most)
{
	static const char units[] = "KMG";
	unsigned long long value;
	const char *unit;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit && value <= most) {
		value <<= 10 * (unit - units + 1);
		end++;
	}
	if (text[0] >= '0' && text[0] <= '9' && !errno && !*end && value >= least && value <= most)
		return value;
	complain(option, "%s is not within %llu and %llu", text, least, most);
	return 0;
}

/* Returns whether it is in order. */
static int take_option(int option)
{
	switch (option) {
	case 0:
		return 1;
	case 'J':
		options.json = 1;
		return 1;
	case OPTION_SIZE:
		return !!(options.bytes = parse_number("--size", optarg, BYTES_LEAST, BYTES_MOST));
	case OPTION_ROUNDS:
		return !!(options.rounds = (unsigned)parse_number("--rounds", optarg, ROUNDS_LEAST, ROUNDS_MOST));
	case OPTION_FILES:
		return !!(options.files = (unsigned)parse_number("--files", optarg, 1, MEASURE_FILES_MAX));
	case OPTION_RECORD:
		return !!(options.record = (unsigned)parse_number("--record", optarg, 1, 16 << 20));
	case OPTION_APPLY:
		options.apply = 1;
		options.file = optarg;
		return 1;
	default:
		return 0;
	}
}

/* Returns 0, or the exit status. */
static int check_arguments(int argc, char **argv)
{
	if (optind == argc) {
		complain("tune", "which directory?");
		return usage_error("tune");
	}
	options.dir = argv[optind++];
	if (options.apply && !options.file && optind < argc)
		options.file = argv[optind++];
	if (optind < argc) {
		complain(argv[optind], "one directory at a time");
		return usage_error("tune");
	}
	if (options.apply && options.json) {
		complain("--json", "not together with --apply");
		return usage_error("tune");
	}
	if (options.apply && !options.agreed && !isatty(STDIN_FILENO)) {
		complain("--apply", "standard input is no terminal to ask on; --yes goes without");
		return EXIT_USAGE;
	}
	return 0;
}

/* All that can be told before anything is written. Returns 0, or 1 after saying what is wrong. */
static int check_directory(void)
{
	unsigned long long bytes = options.bytes ? options.bytes : BYTES_LEAST;
	char needed[SIZE_TEXT_MAX], available[SIZE_TEXT_MAX];
	int error = target_look(options.dir, &target);
	const char *unfit = error ? NULL : target_unfit(&target);

	if (error)
		complain_errno(options.dir, error);
	else if (unfit)
		complain(options.dir, "%s", unfit);
	else if (target.free / FREE_PER_BYTE < bytes)
		complain(options.dir, "needs %s of free space, and has %s", size_text(needed, bytes * FREE_PER_BYTE),
			 size_text(available, target.free));
	else
		return measure_library() || (options.apply && apply_check(options.file));
	return 1;
}

int tune_main(int argc, char **argv)
{
	int option, status;

	while ((option = getopt_long(argc, argv, "Jh", long_options, NULL)) >= 0) {
		if (option == 'h')
			return print_help(help_text);
		if (option == OPTION_WORKER)
			return worker_main(!strcmp(optarg, "library"));
		if (!take_option(option))
			return usage_error("tune");
	}
	status = check_arguments(argc, argv);
	if (status)
		return status;
	if (check_directory() || measure_there())
		return 1;
	return options.json ? print_json() : print_section();
}
