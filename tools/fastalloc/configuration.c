#include "configuration.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static void read_standard_input(struct source *source)
{
	char *text = malloc(CONFIG_MAX_BYTES + 1);
	ssize_t got = 0;

	*source = (struct source){.text = text, .problem = text ? NULL : strerror(ENOMEM)};
	while (text && source->length <= CONFIG_MAX_BYTES) {
		got = read(STDIN_FILENO, text + source->length, CONFIG_MAX_BYTES + 1 - source->length);
		if (got <= 0)
			break;
		source->length += (size_t)got;
	}
	if (got < 0)
		source->problem = strerror(errno);
	else if (source->length > CONFIG_MAX_BYTES)
		source->problem = "is larger than 1 MiB";
}

static const char built_in[] = "built-in preload.conf";

void configuration_read(struct configuration *configuration, const char *file)
{
	const struct source_environment environment = {getenv("FASTALLOC_CONFIG"), getenv("XDG_CONFIG_HOME"),
						       getenv("HOME")};

	if (!file) {
		source_find(&configuration->source, &environment);
		configuration->name = configuration->source.path ? configuration->source.path : built_in;
	} else if (!strcmp(file, "-")) {
		read_standard_input(&configuration->source);
		configuration->name = "standard input";
	} else {
		source_read(&configuration->source, file);
		configuration->name = file;
	}
}

static void tell_error(void *context, const struct config_error *error)
{
	const struct configuration *configuration = context;
	char where[PATH_MAX + 32];

	snprintf(where, sizeof(where), "%s:%u:%u", configuration->name, error->line, error->column);
	complain(where, "%s", error->message);
}

static int parse(struct configuration *configuration)
{
	const struct source *source = &configuration->source;

	return config_parse(&configuration->config, source->text, source->length, tell_error, configuration) > 0;
}

int configuration_load(struct configuration *configuration, const char *file)
{
	configuration_read(configuration, file);
	if (configuration->source.problem)
		complain(configuration->name, "%s", configuration->source.problem);
	else if (!parse(configuration))
		return 0;
	if (!file) {
		complain(configuration->name, "the library uses the built-in configuration instead");
		source_built_in(&configuration->source);
		configuration->name = built_in;
		parse(configuration);
	}
	return 1;
}

struct position configuration_position(const struct configuration *configuration, const char *at)
{
	const char *line = configuration->source.text, *newline;
	struct position position = {1, 1};

	if (configuration->source.length >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) /* in no column, as in config.c */
		line += 3;
	while ((newline = memchr(line, '\n', (size_t)(at - line)))) {
		line = newline + 1;
		position.line++;
	}
	position.column += (unsigned)(at - line);
	return position;
}

const char *configuration_value(enum key key, uint64_t value, char text[VALUE_TEXT_MAX])
{
	static const char units[] = "KMGT";
	const char *word = config_word(key, value);
	int unit = -1;

	if (word)
		return word;
	if (value == SIZE_UNLIMITED)
		return "unlimited";
	while (value && value % 1024 == 0 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, VALUE_TEXT_MAX, "%" PRIu64, value);
	else
		snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 "%c", value, units[unit]);
	return text;
}
