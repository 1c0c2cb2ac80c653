/* configuration.h: a configuration as the library reads it, and where things stand in it. */
#ifndef FASTALLOC_CONFIGURATION_H
#define FASTALLOC_CONFIGURATION_H

#include "config.h"
#include "source.h"

struct configuration {
	struct source source;
	const char *name; /* for messages: its path, or what it is */
	struct config config;
};

/* Line and column, in bytes, from 1. */
struct position {
	unsigned line, column;
};

/* Read file; "-" is the standard input, NULL what the library would use in this environment.
 * Where it cannot be read, source.problem says why. It is not parsed yet. */
void configuration_read(struct configuration *configuration, const char *file);

/* Read and parse it. Errors are said. Returns 0, or 1 where there were some; where no file was
 * asked for, the built-in configuration is taken then, as by the library. */
int configuration_load(struct configuration *configuration, const char *file);

/* Where `at`, which points into the text, stands. */
struct position configuration_position(const struct configuration *configuration, const char *at);

/* value of key as it is written in preload.conf: "auto", "64K", "unlimited". Returns text,
 * or the word. */
#define VALUE_TEXT_MAX 24
const char *configuration_value(enum key key, uint64_t value, char text[VALUE_TEXT_MAX]);

#endif
