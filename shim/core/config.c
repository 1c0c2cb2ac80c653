#include "layout.h"
#include "config.h"

#include <string.h>

#define MAX_WORDS 4

/* In the order of enum key; words in the order of their enumerators, none where the key is a size. */
static const struct {
	const char *name;
	const char *words[MAX_WORDS + 1];
	uint64_t built_in;
} keys[KEY_COUNT] = {
	[KEY_POSIX_FALLOCATE] = {"posix_fallocate", {"auto", "native", "sparse", "refuse"}, POSIX_FALLOCATE_AUTO},
	[KEY_FALLOCATE] = {"fallocate", {"native", "auto"}, FALLOCATE_NATIVE},
	[KEY_FTRUNCATE] = {"ftruncate", {"native", "preallocate", "allocate"}, FTRUNCATE_NATIVE},
	[KEY_FTRUNCATE_MAX] = {"ftruncate_max", {NULL}, SIZE_UNLIMITED},
	[KEY_ZERO_FILL_MAX] = {"zero_fill_max", {NULL}, SIZE_UNLIMITED},
	[KEY_SYNC] = {"sync", {"auto", "always", "never"}, SYNC_AUTO},
	[KEY_WRITE] = {"write", {"native", "preallocate"}, WRITE_NATIVE},
	[KEY_WINDOW] = {"window", {NULL}, 64 << 10},
	[KEY_WINDOW_MAX] = {"window_max", {NULL}, 16 << 20},
	[KEY_WINDOW_AFTER] = {"window_after", {NULL}, 64 << 10},
	[KEY_STDIO] = {"stdio", {"auto", "off"}, STDIO_AUTO},
	[KEY_DEEPBIND] = {"deepbind", {"native", "ignore"}, DEEPBIND_NATIVE},
};

static const char *const section_words[SECTION_COUNT + 1] = {
	[SECTION_DEFAULT] = "default", [SECTION_FSTYPE] = "fstype",   [SECTION_MOUNT] = "mount",
	[SECTION_PATH] = "path",       [SECTION_PROGRAM] = "program",
};

struct parser {
	struct config *config;
	struct rule *rule; /* takes the keys; NULL where the section is in error */
	int in_section;    /* a section line has been seen, right or wrong */
	int too_many;      /* and that has been reported */
	const char *line;
	unsigned errors;
	struct config_error error; /* being written */
	size_t used;               /* of its message */
	void (*report)(void *context, const struct config_error *error);
	void *context;
};

/* Words */

static int is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int is_text(struct text text, const char *string)
{
	return text.length == strlen(string) && !memcmp(text.at, string, text.length);
}

static void drop(struct text *text, size_t length)
{
	text->at += length;
	text->length -= length;
}

static void skip_blanks(struct text *text)
{
	while (text->length && is_blank(text->at[0]))
		drop(text, 1);
}

/* The next word of rest, with its quotes; empty at the end. Blanks part words,
 * except between a quote that starts a word and the one that closes it. */
static struct text next_word(struct text *rest)
{
	struct text word;
	const char *quote;
	size_t length = 0;

	skip_blanks(rest);
	word = *rest;
	if (word.length && word.at[0] == '"') {
		quote = memchr(word.at + 1, '"', word.length - 1);
		length = quote ? (size_t)(quote - word.at) : 0;
	}
	while (length < word.length && !is_blank(word.at[length]))
		length++;
	drop(rest, length);
	word.length = length;
	return word;
}

/* As next_word, but a trailing comment is the end. */
static struct text next_word_of_line(struct text *rest)
{
	struct text word = next_word(rest);

	if (word.length && word.at[0] == '#')
		word.length = rest->length = 0;
	return word;
}

static struct text unquoted(struct text word)
{
	if (word.length >= 2 && word.at[0] == '"' && word.at[word.length - 1] == '"') {
		drop(&word, 1);
		word.length--;
	}
	return word;
}

static int find_word(const char *const *words, struct text word)
{
	for (int i = 0; words[i]; i++)
		if (is_text(word, words[i]))
			return i;
	return -1;
}

static void key_names(const char *names[KEY_COUNT + 1])
{
	for (int i = 0; i < KEY_COUNT; i++)
		names[i] = keys[i].name;
	names[KEY_COUNT] = NULL;
}

/* Errors */

#define MAX_QUOTED 48 /* more of a word would push what to write instead out of the message */
#define MAX_NEAR   31 /* longer words are like none of ours */

static void say_byte(struct parser *parser, char c)
{
	if (parser->used + 1 < sizeof(parser->error.message))
		parser->error.message[parser->used++] = c;
}

static void say(struct parser *parser, const char *string)
{
	while (*string)
		say_byte(parser, *string++);
}

/* Errors end up on terminals and in logs: no control characters, no broken UTF-8. */
static void say_quoted(struct parser *parser, struct text word)
{
	say_byte(parser, '"');
	for (size_t i = 0; i < word.length && i < MAX_QUOTED; i++)
		say_byte(parser, word.at[i] >= ' ' && word.at[i] <= '~' ? word.at[i] : '?');
	if (word.length > MAX_QUOTED)
		say(parser, "...");
	say_byte(parser, '"');
}

static void start_error(struct parser *parser, struct text word)
{
	parser->used = 0;
	parser->error.column = (unsigned)(word.at - parser->line) + 1;
}

static void end_error(struct parser *parser)
{
	parser->error.message[parser->used] = '\0';
	parser->errors++;
	if (parser->report)
		parser->report(parser->context, &parser->error);
}

/* An error at word, which stands in the message where format has '%'. */
static void complain(struct parser *parser, struct text word, const char *format)
{
	start_error(parser, word);
	for (; *format; format++)
		if (*format == '%')
			say_quoted(parser, word);
		else
			say_byte(parser, *format);
	end_error(parser);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Bytes to insert, remove or replace (Levenshtein); word is no longer than MAX_NEAR. */
static unsigned edit_distance(struct text word, const char *string)
{
	unsigned row[MAX_NEAR + 1], diagonal, above;

	for (unsigned i = 0; i <= word.length; i++)
		row[i] = i;
	for (; *string; string++) {
		diagonal = row[0]++;
		for (unsigned i = 1; i <= word.length; i++) {
			above = row[i];
			row[i] = least(least(above, row[i - 1]) + 1, diagonal + (word.at[i - 1] != *string));
			diagonal = above;
		}
	}
	return row[word.length];
}

const char *config_nearest(const char *const *words, struct text word)
{
	unsigned best = MAX_NEAR + 1, distance;
	const char *nearest = NULL;
	size_t length;

	for (; word.length <= MAX_NEAR && *words; words++) {
		distance = edit_distance(word, *words);
		length = strlen(*words) > word.length ? strlen(*words) : word.length;
		if (distance < best && 2 * distance <= length) {
			best = distance;
			nearest = *words;
		}
	}
	return nearest;
}

static void say_what_to_write(struct parser *parser, const char *const *words, struct text word)
{
	const char *nearest = config_nearest(words, word);

	if (nearest) {
		say(parser, "; did you mean \"");
		say(parser, nearest);
		say(parser, "\"?");
		return;
	}
	say(parser, "; write ");
	for (; *words; words++) {
		say(parser, *words);
		if (words[1])
			say(parser, words[2] ? ", " : " or ");
	}
}

/* An error at word, which is none of words; of is the key it is a value of, or NULL. */
static void complain_unknown(struct parser *parser, const char *kind, const char *const *words, struct text word,
			     const char *of)
{
	start_error(parser, word);
	say(parser, "unknown ");
	say(parser, kind);
	say_byte(parser, ' ');
	say_quoted(parser, word);
	if (of) {
		say(parser, " for ");
		say(parser, of);
	}
	say_what_to_write(parser, words, word);
	end_error(parser);
}

/* Globs */

/* The byte at *i of a set, which may be quoted; moves *i behind it. */
static unsigned char set_byte(const char *set, size_t *i)
{
	if (set[*i] == '\\')
		++*i;
	return (unsigned char)set[(*i)++];
}

/* The length of the set that glob starts with, or 0 where it is not closed. */
static size_t set_length(struct text glob)
{
	size_t i = 1;

	if (i < glob.length && glob.at[i] == '!')
		i++;
	if (i < glob.length && glob.at[i] == ']') /* the first is a member */
		i++;
	while (i < glob.length && glob.at[i] != ']')
		i += glob.at[i] == '\\' ? 2 : 1;
	return i < glob.length ? i + 1 : 0;
}

static int set_matches(const char *set, size_t length, unsigned char c)
{
	int negated = set[1] == '!', found = 0;
	unsigned char low, high;
	size_t i = negated ? 2 : 1;

	while (i < length - 1) {
		low = high = set_byte(set, &i);
		if (set[i] == '-' && i + 1 < length - 1) {
			i++;
			high = set_byte(set, &i);
		}
		found |= low <= c && c <= high;
	}
	return found != negated;
}

/* The length of what stands for one byte at the start of glob; 0 where that is malformed. */
static size_t element_length(struct text glob)
{
	if (glob.at[0] == '[')
		return set_length(glob);
	if (glob.at[0] == '\\')
		return glob.length > 1 ? 2 : 0;
	return 1;
}

/* The length of the element that glob starts with if it matches c, or 0. */
static size_t match_element(struct text glob, char c)
{
	size_t length;
	int matches;

	if (!glob.length || !c)
		return 0;
	length = element_length(glob);
	if (!length)
		return 0;
	if (glob.at[0] == '[')
		matches = c != '/' && set_matches(glob.at, length, (unsigned char)c);
	else if (glob.at[0] == '?')
		matches = c != '/';
	else
		matches = glob.at[length - 1] == c;
	return matches ? length : 0;
}

static int glob_is_sound(struct text glob)
{
	size_t length;

	for (; glob.length; drop(&glob, length)) {
		length = element_length(glob);
		if (!length)
			return 0;
	}
	return 1;
}

/* Where to go on after a mismatch: behind the last '*' and the last '**', and
 * what these have not taken of the path yet. NULL: there is none. */
struct retry {
	struct text glob;
	const char *path;
};

/* Let the last '*' take one byte more, or else the last '**'.
 *
 * Only the last of each matters: every piece of glob between them matches as
 * early as it can, and every byte it can leave is left to what follows.
 *
 * Where '*' meets a '/', what follows '**' does not fit from where it started,
 * nor from anywhere else in that directory: the parts of glob between slashes
 * have one part of the path each, and the last one tried would get the same
 * again. So '**' goes on behind the next '/'. Each part of glob thus meets
 * each part of the path once, which keeps the time to the product of lengths. */
static int back_up(struct retry *star, struct retry *wide, struct text *glob, const char **path)
{
	struct retry *from = star;

	if (star->path && *star->path != '/') {
		star->path++;
	} else if (wide->path) {
		while (star->path && *wide->path != '/')
			wide->path++;
		wide->path++;
		star->path = NULL;
		from = wide;
	} else {
		return 0;
	}
	*glob = from->glob;
	*path = from->path;
	return 1;
}

int config_glob(struct text glob, const char *path)
{
	struct retry star = {{NULL, 0}, NULL}, wide = star, *stars;
	size_t length;

	for (;;) {
		if (glob.length && glob.at[0] == '*') {
			stars = glob.length > 1 && glob.at[1] == '*' ? &wide : &star;
			while (glob.length && glob.at[0] == '*')
				drop(&glob, 1);
			if (stars == &wide)
				star.path = NULL;
			stars->glob = glob;
			stars->path = path;
			continue;
		}
		length = match_element(glob, *path);
		if (length) {
			drop(&glob, length);
			path++;
		} else if (!*path) {
			return !glob.length; /* any other way leaves still less of the path to what is left of glob */
		} else if (!back_up(&star, &wide, &glob, &path)) {
			return 0;
		}
	}
}

/* Values */

static int is_letter(char c, char lower)
{
	return (c | 0x20) == lower;
}

/* What a size is multiplied by, as a shift, or -1: K, KB, KiB... */
static int unit_shift(struct text unit)
{
	static const char units[] = "kmgt";
	int shift = 0;

	for (int i = 0; unit.length && units[i]; i++)
		if (is_letter(unit.at[0], units[i]))
			shift = 10 * (i + 1);
	if (shift)
		drop(&unit, 1);
	if (shift && unit.length == 2 && is_letter(unit.at[0], 'i'))
		drop(&unit, 1);
	if (unit.length == 1 && is_letter(unit.at[0], 'b'))
		drop(&unit, 1);
	return unit.length ? -1 : shift;
}

/* Returns NULL, or what is wrong with word. */
static const char *parse_size(struct text word, uint64_t *value)
{
	int too_large = 0, shift;
	struct text unit = word;
	unsigned digit;

	*value = SIZE_UNLIMITED;
	if (is_text(word, "unlimited"))
		return NULL;
	*value = 0;
	for (; unit.length && unit.at[0] >= '0' && unit.at[0] <= '9'; drop(&unit, 1)) {
		digit = (unsigned)(unit.at[0] - '0');
		too_large |= *value > (uint64_t)(INT64_MAX - digit) / 10;
		*value = *value * 10 + digit;
	}
	shift = unit_shift(unit);
	if (unit.length == word.length || shift < 0)
		return "% is not a size; write e.g. 64K, 16M, 1G or unlimited";
	if (too_large || *value > (uint64_t)INT64_MAX >> shift)
		return "% is too large for a size; write less than 8388608T, or unlimited";
	*value <<= shift;
	return NULL;
}

static int parse_value(struct parser *parser, int key, struct text word, uint64_t *value)
{
	const char *wrong;
	int found;

	if (!keys[key].words[0]) {
		wrong = parse_size(word, value);
		if (wrong)
			complain(parser, word, wrong);
		return !wrong;
	}
	found = find_word(keys[key].words, word);
	if (found < 0) {
		complain_unknown(parser, "value", keys[key].words, word, keys[key].name);
		return 0;
	}
	*value = (uint64_t)found;
	return 1;
}

/* Lines */

/* What stands behind '=': one word, and maybe a comment. */
static void parse_assigned(struct parser *parser, int key, struct text name, struct text rest)
{
	struct text word = next_word_of_line(&rest), extra = next_word_of_line(&rest);
	uint64_t value = 0;
	int good;

	if (!word.length) {
		complain(parser, name, "missing value for %");
		return;
	}
	good = parse_value(parser, key, word, &value);
	if (extra.length)
		complain(parser, extra, "unexpected % after the value");
	if (good && parser->rule) {
		parser->rule->repeated |= parser->rule->set & 1U << key;
		parser->rule->set |= 1U << key;
		parser->rule->value[key] = value;
		parser->rule->at[key] = name.at;
	}
}

static void parse_key(struct parser *parser, struct text rest)
{
	const char *names[KEY_COUNT + 1];
	struct text name = {rest.at, 0};
	int key;

	for (; rest.length && !is_blank(rest.at[0]) && rest.at[0] != '='; drop(&rest, 1))
		name.length++;
	if (!name.length) {
		complain(parser, name, "missing key before \"=\"");
		return;
	}
	if (!parser->in_section)
		complain(parser, name, "% stands before any [section]");
	key_names(names);
	key = find_word(names, name);
	skip_blanks(&rest);
	if (key < 0) {
		complain_unknown(parser, "key", names, name, NULL);
	} else if (!rest.length || rest.at[0] != '=') {
		complain(parser, name, "missing \"=\" after %");
	} else {
		drop(&rest, 1);
		parse_assigned(parser, key, name, rest);
	}
}

/* Cut body, which starts behind '[', at the ']' that ends the line. */
static int find_section_end(struct text *body)
{
	struct text rest = *body, word, last;

	for (last.length = 0; (word = next_word_of_line(&rest)).length; last = word)
		;
	if (!last.length || last.at[last.length - 1] != ']')
		return 0;
	body->length = (size_t)(last.at - body->at) + last.length - 1;
	return 1;
}

static int check_name(struct parser *parser, int section, struct text word)
{
	struct text name = unquoted(word);
	const char *wrong = NULL;

	if (section == SECTION_DEFAULT)
		wrong = "[default] takes no names, but here is %";
	else if (!name.length)
		wrong = "empty name";
	else if (memchr(name.at, '"', name.length))
		wrong = "stray quote in %; quotes stand around a whole name";
	else if (section == SECTION_PATH && !glob_is_sound(name))
		wrong = "% is not a glob; write \\[ for a plain [ and \\\\ for a plain \\";
	if (wrong)
		complain(parser, word, wrong);
	return !wrong;
}

static int check_names(struct parser *parser, int section, struct text kind, struct text rest)
{
	struct text word = next_word(&rest);
	int good = 1;

	if (!word.length && section != SECTION_DEFAULT) {
		complain(parser, kind, "section % needs at least one name");
		return 0;
	}
	for (; word.length; word = next_word(&rest))
		good &= check_name(parser, section, word);
	return good;
}

static struct rule *add_rule(struct parser *parser, int section, struct text kind, struct text names)
{
	struct config *config = parser->config;
	struct rule *rule;

	if (config->count == CONFIG_MAX_RULES) {
		if (!parser->too_many)
			complain(parser, kind, "too many sections");
		parser->too_many = 1;
		return NULL;
	}
	rule = &config->parsed[config->count++];
	memset(rule, 0, sizeof(*rule));
	rule->section = (enum section)section;
	rule->names = names;
	config->sections |= 1U << section;
	return rule;
}

static void parse_section(struct parser *parser, struct text line)
{
	struct text bracket = {line.at, 1}, kind;
	int section;

	parser->in_section = 1;
	parser->rule = NULL;
	drop(&line, 1);
	if (!find_section_end(&line)) {
		complain(parser, bracket, "this section line does not end with \"]\"");
		return;
	}
	kind = next_word(&line);
	if (!kind.length) {
		complain(parser, bracket, "missing section word after %");
		return;
	}
	section = find_word(section_words, kind);
	if (section < 0)
		complain_unknown(parser, "section", section_words, kind, NULL);
	else if (check_names(parser, section, kind, line))
		parser->rule = add_rule(parser, section, kind, line);
}

static void parse_line(struct parser *parser, struct text line)
{
	struct text nul = {line.length ? memchr(line.at, '\0', line.length) : NULL, 1};

	if (nul.at) {
		complain(parser, nul, "NUL byte; this is not a text file");
		return;
	}
	if (line.length && line.at[line.length - 1] == '\r')
		line.length--;
	skip_blanks(&line);
	if (!line.length || line.at[0] == '#' || line.at[0] == ';')
		return;
	if (line.at[0] == '[')
		parse_section(parser, line);
	else
		parse_key(parser, line);
}

static void parse_lines(struct parser *parser, struct text rest)
{
	const char *newline;
	struct text line;

	while (rest.length) {
		newline = memchr(rest.at, '\n', rest.length);
		line.at = parser->line = rest.at;
		line.length = newline ? (size_t)(newline - rest.at) : rest.length;
		parser->error.line++;
		parse_line(parser, line);
		drop(&rest, line.length + !!newline);
	}
}

unsigned config_parse(struct config *config, const char *text, size_t length,
		      void (*report)(void *context, const struct config_error *error), void *context)
{
	struct parser parser = {.config = config, .line = text, .report = report, .context = context};
	struct text rest = {text, length};

	config->count = 0;
	config->sections = 0;
	config->rule = config->parsed;
	if (length > CONFIG_MAX_BYTES) {
		parser.error.line = 1;
		complain(&parser, rest, "the file is larger than 1 MiB");
		return parser.errors;
	}
	if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) /* Windows editors' byte order mark; in no column */
		drop(&rest, 3);
	parse_lines(&parser, rest);
	return parser.errors;
}

/* Resolving */

struct text config_next_name(struct text *rest)
{
	return unquoted(next_word(rest));
}

static int name_matches(enum section section, struct text name, const char *subject)
{
	if (section == SECTION_PATH)
		return config_glob(name, subject);
	if (section == SECTION_MOUNT)
		while (name.length > 1 && name.at[name.length - 1] == '/')
			name.length--;
	return is_text(name, subject);
}

static int rule_matches(const struct rule *rule, const char *subject)
{
	struct text rest = rule->names, name;

	if (rule->section == SECTION_DEFAULT)
		return 1;
	while ((name = config_next_name(&rest)).length)
		if (name_matches(rule->section, name, subject))
			return 1;
	return 0;
}

/* decided may be NULL. */
static void apply_rules(const struct config *config, enum section section, const char *subject, struct policy *policy,
			const struct rule **decided)
{
	const struct rule *rule = config->rule, *end = rule + config->count;

	if (!subject || !(config->sections & 1U << section))
		return;
	for (; rule < end; rule++) {
		if (rule->section != section || !rule_matches(rule, subject))
			continue;
		for (int key = 0; key < KEY_COUNT; key++) {
			if (!(rule->set & 1U << key))
				continue;
			policy->value[key] = rule->value[key];
			if (decided)
				decided[key] = rule;
		}
	}
}

static void apply_all(const struct config *config, const struct subject *subject, struct policy *policy,
		      const struct rule **decided)
{
	config_defaults(policy);
	apply_rules(config, SECTION_DEFAULT, "", policy, decided);
	apply_rules(config, SECTION_FSTYPE, subject->family, policy, decided);
	apply_rules(config, SECTION_FSTYPE, subject->fstype, policy, decided);
	apply_rules(config, SECTION_MOUNT, subject->mount, policy, decided);
	apply_rules(config, SECTION_PATH, subject->path, policy, decided);
	apply_rules(config, SECTION_PROGRAM, subject->program, policy, decided);
}

void config_resolve(const struct config *config, const struct subject *subject, struct policy *policy)
{
	apply_all(config, subject, policy, NULL);
}

void config_explain(const struct config *config, const struct subject *subject, struct policy *policy,
		    const struct rule *decided[KEY_COUNT])
{
	for (int key = 0; key < KEY_COUNT; key++)
		decided[key] = NULL;
	apply_all(config, subject, policy, decided);
}

AT_LOAD void config_defaults(struct policy *policy)
{
	for (int key = 0; key < KEY_COUNT; key++)
		policy->value[key] = keys[key].built_in;
}

const char *config_word(enum key key, uint64_t value)
{
	return key < KEY_COUNT && value < MAX_WORDS ? keys[key].words[value] : NULL;
}

const char *config_key(enum key key)
{
	return keys[key].name;
}

const char *config_section(enum section section)
{
	return section_words[section];
}
