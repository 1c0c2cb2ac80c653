/* config_parse, and what is decided by what it understood. */
#include <inttypes.h>
#include <strings.h>

#include "config.h"
#include "fuzz.h"

struct errors {
	unsigned count;
	struct {
		unsigned line, column;
		uint64_t message; /* a hash */
	} error[64];
};

static uint64_t hash(const char *string)
{
	uint64_t value = 14695981039346656037U;

	for (; *string; string++)
		value = (value ^ (unsigned char)*string) * 1099511628211U;
	return value;
}

static void note(void *context, const struct config_error *error)
{
	struct errors *errors = context;
	const char *end = memchr(error->message, '\0', sizeof(error->message));

	MUST(end && end > error->message);
	for (const char *at = error->message; at < end; at++)
		MUST(*at >= ' ' && *at <= '~');
	if (errors->count < 64) {
		errors->error[errors->count].line = error->line;
		errors->error[errors->count].column = error->column;
		errors->error[errors->count].message = hash(error->message);
	}
	errors->count++;
}

static void parse(struct config *config, const char *text, size_t length, struct errors *errors)
{
	errors->count = 0;
	MUST(config_parse(config, text, length, note, errors) == errors->count);
	MUST(config->count <= CONFIG_MAX_RULES);
}

/* How long line `number` is; -1 where there is none. */
static long line_length(const char *text, size_t length, unsigned number)
{
	const char *end = text + length, *newline;

	while (text < end) {
		newline = memchr(text, '\n', (size_t)(end - text));
		if (!--number)
			return (newline ? newline : end) - text;
		if (!newline)
			break;
		text = newline + 1;
	}
	return -1;
}

static int has_bom(const char *text, size_t length)
{
	return length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
}

/* Errors stand where their lines are: up to the end of a line, there are just those that say so;
 * behind other lines, all of them move with theirs. */
static void places_are_right(const char *text, size_t length, const struct errors *all)
{
	static const char before[] = "# a comment\n\n\r\n";
	static struct config config;
	struct errors some;
	unsigned last = all->count < 64 ? all->count : 64, upto, expected = 0;
	char *copy;
	size_t cut = 0;

	for (unsigned i = 0; i < last; i++) {
		MUST(!i || all->error[i].line >= all->error[i - 1].line);
		MUST(all->error[i].column >= 1);
		MUST(line_length(text, length, all->error[i].line) + 1 >= (long)all->error[i].column);
	}
	if (!last)
		return;
	upto = all->error[(length * 7) % last].line;
	for (unsigned line = 1; line <= upto && line_length(text, length, line) >= 0; line++)
		cut += (size_t)line_length(text, length, line) + 1;
	cut = cut < length ? cut : length;
	for (unsigned i = 0; i < last; i++)
		expected += all->error[i].line <= upto;
	copy = exact_copy(text, cut);
	parse(&config, copy, cut, &some);
	free(copy);
	MUST(last == 64 || some.count == expected);
	if (has_bom(text, length))
		return;
	copy = malloc(sizeof(before) - 1 + length);
	MUST(copy != NULL);
	memcpy(copy, before, sizeof(before) - 1);
	memcpy(copy + sizeof(before) - 1, text, length);
	parse(&config, copy, sizeof(before) - 1 + length, &some);
	free(copy);
	MUST(some.count == all->count);
	for (unsigned i = 0; i < last; i++)
		MUST(some.error[i].line == all->error[i].line + 3 && some.error[i].column == all->error[i].column &&
		     some.error[i].message == all->error[i].message);
}

static int is_size(enum key key)
{
	return !config_word(key, 0);
}

/* What a word means as a size, by the book (preload.conf(5)): 0, or -1 where it is none, or too large. */
static int size_by_the_book(const char *word, size_t length, uint64_t *value)
{
	static const char *const units[5][3] = {
		{"", "b", ""}, {"k", "kb", "kib"}, {"m", "mb", "mib"}, {"g", "gb", "gib"}, {"t", "tb", "tib"}};
	char text[64];
	unsigned __int128 sum = 0;
	size_t digits;

	for (; length > 1 && word[0] == '0' && word[1] >= '0' && word[1] <= '9'; length--)
		word++;
	if (length >= sizeof(text))
		return -1;
	memcpy(text, word, length);
	text[length] = '\0';
	*value = SIZE_UNLIMITED;
	if (!strcmp(text, "unlimited"))
		return 0;
	digits = strspn(text, "0123456789");
	for (size_t i = 0; i < digits && i < 30; i++)
		sum = sum * 10 + (unsigned)(text[i] - '0');
	for (int power = 0; power < 5; power++, sum *= sum >> 64 ? 1 : 1024)
		for (int i = 0; i < 3; i++)
			if (digits && !strcasecmp(text + digits, units[power][i])) {
				*value = (uint64_t)sum;
				return sum > INT64_MAX ? -1 : 0;
			}
	return -1;
}

/* The size that a rule has is the one that stands there. */
static void size_is_right(const struct rule *rule, enum key key, const char *end)
{
	const char *word = rule->at[key] + strlen(config_key(key)), *after;
	uint64_t value;

	while (word < end && (*word == ' ' || *word == '\t' || *word == '='))
		word++;
	for (after = word; after < end && !memchr(" \t\r\n", *after, 4);)
		after++;
	MUST(!size_by_the_book(word, (size_t)(after - word), &value) && value == rule->value[key]);
}

/* One made up, often next to the largest or past 64 bits, is taken for what it is, or refused. */
static void size_is_judged(uint64_t random)
{
	static const char *const units[] = {"", "k", "M", "gib", "TB", "b", "ki", "P", "Kb1"};
	static const char start[] = "[default]\nftruncate_max = ";
	unsigned unit = random % (sizeof(units) / sizeof(units[0])), how = random >> 8 & 3;
	uint64_t number = how ? random >> 32 : random, value;
	char text[sizeof(start) + 64], *word = text + sizeof(start) - 1;
	static struct config config;
	struct errors errors;
	int good;

	if (how == 1)
		number = ((uint64_t)INT64_MAX >> (unit < 5 ? 10 * unit : 0)) + number % 4 - 1;
	strcpy(text, start);
	if (how == 2) /* 2^64, and some more */
		sprintf(word, "%" PRIu64 "%s", UINT64_MAX / 10, number % 3 ? "6" : "0000000016");
	else
		sprintf(word, "%s%" PRIu64, number % 7 ? "" : "00", number);
	strcat(word, units[unit]);
	parse(&config, text, strlen(text), &errors);
	good = !size_by_the_book(word, strlen(word), &value);
	MUST(errors.count == (good ? 0 : 1));
	MUST(!good || config.rule[0].value[KEY_FTRUNCATE_MAX] == value);
}

static void value_is_sound(enum key key, uint64_t value)
{
	if (is_size(key))
		MUST(value <= INT64_MAX || value == SIZE_UNLIMITED);
	else
		MUST(value <= INT32_MAX && config_word(key, value));
}

static void rules_are_sound(const struct config *config, const char *text, size_t length)
{
	for (const struct rule *rule = config->rule; rule < config->rule + config->count; rule++) {
		MUST(rule->section < SECTION_COUNT && config->sections & 1U << rule->section);
		MUST(rule->names.at >= text && rule->names.at + rule->names.length <= text + length);
		MUST(!(rule->set >> KEY_COUNT) && !(rule->repeated & ~rule->set));
		for (int key = 0; key < KEY_COUNT; key++) {
			if (!(rule->set & 1U << key))
				continue;
			value_is_sound((enum key)key, rule->value[key]);
			MUST(rule->at[key] >= text && rule->at[key] < text + length);
			MUST(!strncmp(rule->at[key], config_key((enum key)key), strlen(config_key((enum key)key))));
			if (is_size((enum key)key))
				size_is_right(rule, (enum key)key, text + length);
		}
	}
}

/* Some names that the rules have, or nearly, for each member of a subject. */
static void decisions_are_sound(const struct config *config)
{
	static const char *const names[] = {NULL, "", "/", "nfs", "vfat", "nfs4.2", "/mnt", "/mnt/a b/c.img", "dd"};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	const struct rule *decided[KEY_COUNT];
	struct policy policy, explained;
	char own[64] = "";

	for (unsigned i = 0; i < COUNT + config->count && i < COUNT + 8; i++) {
		struct subject subject = {names[i % COUNT], names[(i + 3) % COUNT], names[(i + 1) % COUNT],
					  names[(i + 2) % COUNT], names[(i + 4) % COUNT]};

		if (i >= COUNT) {
			struct text rest = config->rule[i - COUNT].names, name = config_next_name(&rest);

			snprintf(own, sizeof(own), "%.*s", (int)(name.length < 63 ? name.length : 63), name.at);
			subject = (struct subject){own, NULL, own, own, own};
		}
		config_resolve(config, &subject, &policy);
		config_explain(config, &subject, &explained, decided);
		for (int key = 0; key < KEY_COUNT; key++) {
			value_is_sound((enum key)key, policy.value[key]);
			MUST(policy.value[key] == explained.value[key]);
			if (!decided[key])
				continue;
			MUST(decided[key] >= config->rule && decided[key] < config->rule + config->count);
			MUST(decided[key]->set & 1U << key && decided[key]->value[key] == policy.value[key]);
		}
	}
}

static size_t print_rule(char *to, const struct rule *rule)
{
	size_t used = (size_t)sprintf(to, "[%s", config_section(rule->section));

	memcpy(to + used, rule->names.at, rule->names.length);
	used += rule->names.length;
	used += (size_t)sprintf(to + used, "]\n");
	for (int i = 0; i < KEY_COUNT; i++) {
		enum key key = (enum key)i;

		if (!(rule->set & 1U << key))
			continue;
		used += (size_t)sprintf(to + used, "%s = ", config_key(key));
		if (!is_size(key))
			used += (size_t)sprintf(to + used, "%s\n", config_word(key, rule->value[key]));
		else if (rule->value[key] == SIZE_UNLIMITED)
			used += (size_t)sprintf(to + used, "unlimited\n");
		else
			used += (size_t)sprintf(to + used, "%" PRIu64 "\n", rule->value[key]);
	}
	return used;
}

/* Written down again, it is the same. */
static void reads_as_written(const struct config *config, size_t length)
{
	static struct config again;
	char *text = malloc(length + config->count * (KEY_COUNT * 48 + 32) + 1);
	struct errors errors;
	size_t used = 0;

	MUST(text != NULL);
	for (unsigned i = 0; i < config->count; i++)
		used += print_rule(text + used, &config->rule[i]);
	parse(&again, text, used, &errors);
	MUST(!errors.count && again.count == config->count && again.sections == config->sections);
	for (unsigned i = 0; i < config->count; i++) {
		const struct rule *a = &config->rule[i], *b = &again.rule[i];

		MUST(a->section == b->section && a->set == b->set && a->names.length == b->names.length);
		MUST(!memcmp(a->names.at, b->names.at, a->names.length));
		for (int key = 0; key < KEY_COUNT; key++)
			MUST(!(a->set & 1U << key) || a->value[key] == b->value[key]);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config config;
	struct errors errors;
	char *text;

	if (size > CONFIG_MAX_BYTES - 64)
		return 0;
	text = exact_copy(data, size);
	parse(&config, text, size, &errors);
	places_are_right(text, size, &errors);
	if (!errors.count) {
		rules_are_sound(&config, text, size);
		decisions_are_sound(&config);
		reads_as_written(&config, size);
	}
	free(text);
	for (uint64_t i = 0, random = size; i < size && i < 8; i++) {
		random = (random ^ data[i]) * 6364136223846793005U + 1442695040888963407U;
		size_is_judged(random ^ random >> 33);
	}
	return 0;
}
