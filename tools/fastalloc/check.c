/* fastalloc check: every error of a configuration, and what in it can never matter. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "configuration.h"
#include "json.h"
#include "lint.h"

static const char help[] = "check [OPTION...] [FILE]\n\n"
			   "Check a configuration: every error, with line, column and the nearest valid\n"
			   "word, and what can never apply or matter. Without FILE, that is the one that\n"
			   "the library would use here; - is the standard input.\n\n"
			   "  -s, --strict  warnings are as bad as errors\n"
			   "  -J, --json    print JSON\n"
			   "  -h, --help\n\n"
			   "A note is about this machine as it is now. Warnings are looked for only where\n"
			   "there is no error. With an error, programs run with the built-in configuration.\n\n"
			   "Exit status: 0 without errors, 1 with one (or a file that cannot be read),\n"
			   "2 for wrong usage.\n";

struct finding {
	struct position position;
	enum severity severity;
	char *message;
};

struct check {
	struct configuration configuration;
	struct finding *found;
	size_t count;
	size_t number[SEVERITY_COUNT];
};

static const char *const severities[] = {"error", "warning", "note"};

static void add(struct check *check, enum severity severity, struct position position, const char *message)
{
	struct finding *found = reallocarray(check->found, check->count + 1, sizeof(*found));

	need(found != NULL);
	check->found = found;
	found += check->count++;
	*found = (struct finding){position, severity, strdup(message)};
	need(found->message != NULL);
	check->number[severity]++;
}

static void add_error(void *context, const struct config_error *error)
{
	add(context, SEVERITY_ERROR, (struct position){error->line, error->column}, error->message);
}

static void add_doubt(void *context, enum severity severity, const char *at, const char *message)
{
	struct check *check = context;

	add(check, severity, configuration_position(&check->configuration, at), message);
}

static int by_position(const void *one, const void *other)
{
	const struct position *a = &((const struct finding *)one)->position;
	const struct position *b = &((const struct finding *)other)->position;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

static unsigned count_keys(const struct config *config)
{
	unsigned keys = 0;

	for (unsigned i = 0; i < config->count; i++)
		keys += (unsigned)__builtin_popcount(config->rule[i].set);
	return keys;
}

/* Output */

static void print_finding(const struct check *check, const struct finding *finding)
{
	static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
	int colour = output_has_colour();

	fputs(colour ? "\033[1m" : "", stdout);
	output_name(stdout, check->configuration.name);
	printf(":%u:%u:%s %s%s:%s %s\n", finding->position.line, finding->position.column, colour ? "\033[0m" : "",
	       colour ? colours[finding->severity] : "", severities[finding->severity], colour ? "\033[0m" : "",
	       finding->message);
}

static void print_number(const char *before, size_t number, const char *what)
{
	printf("%s%zu %s%s", before, number, what, number == 1 ? "" : "s");
}

static void print_summary(const struct check *check)
{
	const char *before = ": ";

	output_name(stdout, check->configuration.name);
	if (check->number[SEVERITY_ERROR]) {
		print_number(before, check->number[SEVERITY_ERROR], "error");
		puts("; the library uses the built-in configuration instead");
		return;
	}
	print_number(": no error in ", check->configuration.config.count, "section");
	print_number(", ", count_keys(&check->configuration.config), "key");
	for (int severity = SEVERITY_WARNING; severity < SEVERITY_COUNT; severity++)
		if (check->number[severity])
			print_number("; ", check->number[severity], severities[severity]);
	putchar('\n');
}

static void print_text(const struct check *check)
{
	for (size_t i = 0; i < check->count; i++)
		print_finding(check, &check->found[i]);
	print_summary(check);
}

static json_t *finding_json(const struct finding *finding)
{
	json_t *object = json_object();

	json_set(object, "line", json_integer(finding->position.line));
	json_set(object, "column", json_integer(finding->position.column));
	json_set(object, "severity", json_text(severities[finding->severity]));
	json_set(object, "message", json_text(finding->message));
	return object;
}

static void print_json(const struct check *check)
{
	json_t *object = json_object(), *findings = json_array();

	for (size_t i = 0; i < check->count; i++)
		json_add(findings, finding_json(&check->found[i]));
	json_set(object, "file", json_text(check->configuration.name));
	json_set(object, "sections", json_integer(check->configuration.config.count));
	json_set(object, "keys", json_integer(count_keys(&check->configuration.config)));
	json_set(object, "findings", findings);
	json_print(object);
}

/* Returns 0, or 1 where it could not be read (that is said). */
static int run_check(struct check *check, const char *file)
{
	struct configuration *configuration = &check->configuration;

	configuration_read(configuration, file);
	if (configuration->source.problem) {
		complain(configuration->name, "%s", configuration->source.problem);
		return 1;
	}
	if (!config_parse(&configuration->config, configuration->source.text, configuration->source.length, add_error,
			  check))
		lint(configuration, add_doubt, check);
	if (check->count)
		qsort(check->found, check->count, sizeof(*check->found), by_position);
	return 0;
}

int check_main(int argc, char **argv)
{
	static const struct option options[] = {{"strict", no_argument, NULL, 's'},
						{"json", no_argument, NULL, 'J'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	static struct check check;
	int option, strict = 0, json = 0;

	while ((option = getopt_long(argc, argv, "sJh", options, NULL)) != -1) {
		switch (option) {
		case 's':
			strict = 1;
			break;
		case 'J':
			json = 1;
			break;
		case 'h':
			return print_help(help);
		default:
			return usage_error("check");
		}
	}
	if (argc - optind > 1) {
		complain("check", "one file at most");
		return usage_error("check");
	}
	if (run_check(&check, argv[optind]))
		return 1;
	if (json)
		print_json(&check);
	else
		print_text(&check);
	return finish(check.number[SEVERITY_ERROR] || (strict && check.number[SEVERITY_WARNING]));
}
