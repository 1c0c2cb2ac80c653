/* fastalloc explain: what the library does with a file, and which line of the configuration says so. */
#include <getopt.h>
#include <libmount.h>
#include <stdlib.h>
#include <string.h>

#include "behaviour.h"
#include "command.h"
#include "configuration.h"
#include "json.h"
#include "place.h"

static const char help[] = "explain [OPTION...] PATH...\n\n"
			   "Say what the library does with each file, and why: the mount it lies on, what\n"
			   "is known of its file system, what becomes of each call, and the line of the\n"
			   "configuration that decided each key. PATH may be a file that is not there yet;\n"
			   "a directory stands for the files in it. Nothing is opened or changed.\n\n"
			   "  -c, --config FILE   this configuration, not the one that is used here\n"
			   "  -p, --program NAME  [program] sections count as for the program NAME\n"
			   "  -J, --json          print JSON; sizes in bytes, or \"unlimited\"\n"
			   "  -h, --help\n\n"
			   "Exit status: 0, 1 where a path or the configuration is in error, 2 for wrong\n"
			   "usage.\n";

struct explain {
	struct configuration configuration;
	struct libmnt_table *mounts;
	const char *program; /* or NULL */
	int in_error;        /* the configuration that was to be used is */
};

/* Notes */

/* How much of a glob stands for itself. */
static size_t fixed_length(struct text glob)
{
	size_t length = 0;

	while (length < glob.length && !strchr("*?[\\", glob.at[length]))
		length++;
	return length;
}

static unsigned count_slashes(const char *at, size_t length)
{
	unsigned count = 0;

	for (; length; length--)
		count += *at++ == '/';
	return count;
}

/* May the glob match a file in that directory, which ends in a slash? No is certain. */
static int may_match_in(struct text glob, const char *directory, size_t length)
{
	size_t fixed = fixed_length(glob);

	if (!memmem(glob.at, glob.length, "**", 2) &&
	    count_slashes(glob.at, glob.length) != count_slashes(directory, length))
		return 0;
	return !memcmp(glob.at, directory, fixed < length ? fixed : length);
}

/* Does rule, which does not concern every file of the directory, concern one, maybe? */
static int may_concern(const struct rule *rule, const struct place *place)
{
	struct text rest = rule->names, glob;
	int may = 0;

	while ((glob = config_next_name(&rest)).length && glob.at) {
		if (config_glob(glob, place->path))
			return 0;
		may |= may_match_in(glob, place->path, strlen(place->path) - strlen("(any file)"));
	}
	return may;
}

/* The lines of the sections of a kind; of [path] those that may_concern. */
static void put_sections(struct sentences *s, const struct explain *explain, enum section section,
			 const struct place *place, const char *what)
{
	const struct config *config = &explain->configuration.config;
	const struct rule *rule = config->rule, *end = rule + config->count;
	const char *before = what;

	for (; rule < end; rule++) {
		if (rule->section != section || (section == SECTION_PATH && !may_concern(rule, place)))
			continue;
		sentences_add(s, "%s%u", before, configuration_position(&explain->configuration, rule->names.at).line);
		before = ", ";
	}
	if (before != what)
		sentences_add(s, "\n");
}

static void put_notes(struct sentences *s, const struct explain *explain, const struct place *place)
{
	const char *disabled = getenv("FASTALLOC_DISABLE");

	if (disabled && !strcmp(disabled, "1"))
		sentences_add(s, "FASTALLOC_DISABLE=1 is set here: then all calls are passed on\n");
	if (place->is_directory)
		put_sections(s, explain, SECTION_PATH, place,
			     "some files in it may be those of the [path] sections in lines ");
	if (!explain->program)
		put_sections(s, explain, SECTION_PROGRAM, place,
			     "without --program, not looked at: the [program] sections in lines ");
}

/* As text */

static const char *bold(void)
{
	return output_has_colour() ? "\033[1m" : "";
}

static const char *plain(void)
{
	return output_has_colour() ? "\033[0m" : "";
}

static void print_property(struct libscols_table *table, const char *name, const char *value)
{
	struct libscols_line *line = output_line(table);

	output_text(line, 0, name);
	output_text(line, 1, value);
}

/* Break text between words, so that lines are at most width characters; in place. */
static void wrap(char *text, size_t width)
{
	char *blank = NULL, *line = text;

	for (; *text; text++) {
		if ((size_t)(text - line) >= width && blank) {
			*blank = '\n';
			line = blank + 1;
			blank = NULL;
		}
		if (*text == ' ')
			blank = text;
	}
}

/* A sentence to a line; those that are too long go on in the next. */
static void print_sentences(const struct sentences *s, const char *title)
{
	enum { WIDTH = 76 };
	char copy[sizeof(s->text)], *rest = copy, *sentence, *part;

	if (!s->used)
		return;
	printf("%s%s%s\n", bold(), title, plain());
	memcpy(copy, s->text, s->used + 1);
	while ((sentence = strsep(&rest, "\n")) && *sentence) {
		wrap(sentence, WIDTH);
		for (const char *before = "- "; (part = strsep(&sentence, "\n")); before = "  ")
			printf("%s%s\n", before, part);
	}
}

static void new_table(struct libscols_table **table, const char *first, const char *second)
{
	*table = output_table("explain", 0);
	output_column(*table, first, SCOLS_JSON_STRING, 0);
	output_lines_column(*table, second);
}

/* "/dev/sda1", "/dev/sda1[/sub]" as findmnt(8) shows it. */
static void put_source(struct sentences *s, const struct place *place)
{
	const char *source = mnt_fs_get_source(place->details), *root = mnt_fs_get_root(place->details);

	sentences_add(s, "%s", source ? source : "none");
	if (root && strcmp(root, "/") != 0)
		sentences_add(s, "[%s]", root);
}

static const char *options_of(const struct place *place)
{
	const char *options = mnt_fs_get_options(place->details);

	return options ? options : "";
}

/* The part of options of a mount that fits the lines: a break after each that would not. */
static void put_options(struct sentences *s, const struct place *place, size_t width)
{
	const char *at = options_of(place);
	size_t used = 0, length;

	for (; *at; at += length) {
		length = strcspn(at, ",");
		length += at[length] == ',';
		if (used && used + length > width) {
			sentences_add(s, "\n");
			used = 0;
		}
		sentences_add(s, "%.*s", (int)length, at);
		used += length;
	}
}

static int print_mount(const struct place *place)
{
	struct sentences source = {.used = 0}, options = {.used = 0};
	struct libscols_table *table;

	if (!place->details)
		return 0;
	put_source(&source, place);
	put_options(&options, place, 68);
	new_table(&table, "", "");
	scols_table_enable_noheadings(table, 1);
	print_property(table, "mount", mnt_fs_get_target(place->details));
	print_property(table, "source", source.text);
	print_property(table, "type", place->mount.fstype);
	print_property(table, "options", options.text);
	return output_print(table);
}

static int print_calls(const struct place *place)
{
	struct libscols_table *table;
	struct sentences s;
	const char *name;

	new_table(&table, "CALL", "WHAT BECOMES OF IT");
	for (size_t i = 0; (name = behaviour_call(&s, place, i)); i++) {
		wrap(s.text, 62);
		print_property(table, name, s.text);
	}
	return output_print(table);
}

/* "FILE:LINE", or that no line did. */
static void put_decided(struct sentences *s, const struct explain *explain, const struct place *place, enum key key)
{
	const struct rule *rule = place->decided[key];

	if (rule)
		sentences_add(s, "%s:%u", explain->configuration.name,
			      configuration_position(&explain->configuration, rule->at[key]).line);
	else
		sentences_add(s, "built-in");
}

static int print_keys(const struct explain *explain, const struct place *place)
{
	struct libscols_table *table = output_table("keys", 0);
	char value[VALUE_TEXT_MAX];
	struct libscols_line *line;
	struct sentences s;

	output_column(table, "KEY", SCOLS_JSON_STRING, 0);
	output_column(table, "VALUE", SCOLS_JSON_STRING, 0);
	output_column(table, "DECIDED BY", SCOLS_JSON_STRING, 0);
	for (int key = 0; key < KEY_COUNT; key++) {
		s.used = 0;
		put_decided(&s, explain, place, (enum key)key);
		line = output_line(table);
		output_text(line, 0, config_key((enum key)key));
		output_text(line, 1, configuration_value((enum key)key, place->policy.value[key], value));
		output_text(line, 2, s.text);
	}
	return output_print(table);
}

static int print_text(const struct explain *explain, const struct place *place)
{
	struct sentences facts = {.used = 0}, notes = {.used = 0};
	int failed;

	fputs(bold(), stdout);
	output_name(stdout, place->is_directory ? place->looked_at : place->path);
	fputs(plain(), stdout);
	puts(place->is_directory ? " (files in it)" : place->exists ? "" : " (a new file)");
	failed = print_mount(place);
	behaviour_facts(&facts, place);
	putchar('\n');
	print_sentences(&facts, "Known of it");
	putchar('\n');
	failed |= print_calls(place);
	putchar('\n');
	failed |= print_keys(explain, place);
	put_notes(&notes, explain, place);
	if (notes.used)
		putchar('\n');
	print_sentences(&notes, "Notes");
	return failed;
}

/* As JSON */

static json_t *sentences_json(struct sentences *s)
{
	char *rest = s->text, *sentence;
	json_t *array = json_array();

	while (s->used && (sentence = strsep(&rest, "\n")) && *sentence)
		json_add(array, json_text(sentence));
	return array;
}

static json_t *mount_json(const struct place *place)
{
	struct sentences source = {.used = 0};
	json_t *object;

	if (!place->details)
		return json_null();
	put_source(&source, place);
	object = json_object();
	json_set(object, "point", json_text(mnt_fs_get_target(place->details)));
	json_set(object, "source", json_text(source.text));
	json_set(object, "type", json_text(place->mount.fstype));
	json_set(object, "family", place->mount.family ? json_text(place->mount.family) : json_null());
	json_set(object, "options", json_text(options_of(place)));
	return object;
}

static json_t *calls_json(const struct place *place)
{
	json_t *object = json_object();
	struct sentences s;
	const char *name;

	for (size_t i = 0; (name = behaviour_call(&s, place, i)); i++)
		json_set(object, name, json_text(s.text));
	return object;
}

static json_t *value_json(enum key key, uint64_t value)
{
	char text[VALUE_TEXT_MAX];

	if (config_word(key, value) || value == SIZE_UNLIMITED)
		return json_text(configuration_value(key, value, text));
	return json_integer((json_int_t)value);
}

static json_t *keys_json(const struct explain *explain, const struct place *place)
{
	const struct configuration *configuration = &explain->configuration;
	json_t *array = json_array(), *object;
	const struct rule *rule;

	for (int key = 0; key < KEY_COUNT; key++) {
		rule = place->decided[key];
		object = json_object();
		json_set(object, "key", json_text(config_key((enum key)key)));
		json_set(object, "value", value_json((enum key)key, place->policy.value[key]));
		json_set(object, "file", rule ? json_text(configuration->name) : json_null());
		json_set(object, "line",
			 rule ? json_integer(configuration_position(configuration, rule->at[key]).line) : json_null());
		json_set(object, "section", rule ? json_text(config_section(rule->section)) : json_null());
		json_add(array, object);
	}
	return array;
}

static json_t *place_json(const struct explain *explain, const struct place *place)
{
	struct sentences facts = {.used = 0}, notes = {.used = 0};
	json_t *object = json_object();

	behaviour_facts(&facts, place);
	put_notes(&notes, explain, place);
	json_set(object, "path", json_text(place->is_directory ? place->looked_at : place->path));
	json_set(object, "exists", json_boolean(place->exists));
	json_set(object, "directory", json_boolean(place->is_directory));
	json_set(object, "mount", mount_json(place));
	json_set(object, "facts", sentences_json(&facts));
	json_set(object, "calls", calls_json(place));
	json_set(object, "keys", keys_json(explain, place));
	json_set(object, "notes", sentences_json(&notes));
	return object;
}

/* The command */

static int explain_all(const struct explain *explain, char **paths, int json)
{
	json_t *array = json_array(), *object = json_object();
	int failed = explain->in_error, shown = 0;

	for (; *paths; paths++) {
		struct place place = {.given = *paths};

		if (place_look(&place, explain->mounts)) {
			failed = 1;
			continue;
		}
		place_decide(&place, &explain->configuration.config, explain->program);
		if (json)
			json_add(array, place_json(explain, &place));
		else if (shown++)
			putchar('\n');
		if (!json)
			failed |= print_text(explain, &place);
	}
	json_set(object, "configuration", json_text(explain->configuration.name));
	json_set(object, "paths", array);
	if (json)
		json_print(object);
	else
		json_decref(object);
	return failed;
}

int explain_main(int argc, char **argv)
{
	static const struct option options[] = {{"config", required_argument, NULL, 'c'},
						{"program", required_argument, NULL, 'p'},
						{"json", no_argument, NULL, 'J'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	static struct explain explain;
	const char *file = NULL;
	int option, json = 0, failed;

	while ((option = getopt_long(argc, argv, "c:p:Jh", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			file = optarg;
			break;
		case 'p':
			explain.program = basename(optarg);
			break;
		case 'J':
			json = 1;
			break;
		case 'h':
			return print_help(help);
		default:
			return usage_error("explain");
		}
	}
	if (optind == argc) {
		complain("explain", "a path is missing");
		return usage_error("explain");
	}
	explain.in_error = configuration_load(&explain.configuration, file);
	if (explain.in_error && file)
		return 1;
	explain.mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	failed = explain_all(&explain, argv + optind, json);
	mnt_unref_table(explain.mounts);
	return finish(failed);
}
