/* source.h: which configuration is used, and its text.
 *
 * No function here calls malloc or stdio. What is read stays mapped, as rules point into it. */
#ifndef FASTALLOC_SOURCE_H
#define FASTALLOC_SOURCE_H

#include <stddef.h>

struct source {
	const char *path; /* the file; NULL for the built-in configuration */
	const char *text;
	size_t length;
	const char *problem; /* why there is no text, for a message; NULL where there is */
	char found[1024];    /* the path, where source_find made it up */
};

/* What the environment says, each NULL where it does not: $FASTALLOC_CONFIG,
 * $XDG_CONFIG_HOME, $HOME. The strings must stay. */
struct source_environment {
	const char *config, *xdg_config_home, *home;
};

/* The first that exists of $FASTALLOC_CONFIG, $XDG_CONFIG_HOME/fastalloc/preload.conf (or
 * $HOME/.config/...), SYSCONFDIR/fastalloc/preload.conf; else the built-in one. Files that
 * nobody named, and that may not be read, do not exist. Where source->problem is set, or the
 * text is in error, the library uses the built-in configuration. */
void source_find(struct source *source, const struct source_environment *environment);

/* The file at path, a string that must stay. Returns 0, or with source->problem set a
 * positive errno: that of opening it, or EINVAL where it is no regular file, larger than
 * CONFIG_MAX_BYTES, or cannot be read. */
int source_read(struct source *source, const char *path);

/* preload.conf as it was when the library was built: its text, and as config_parse would read it. */
void source_built_in(struct source *source);
struct config;
void source_built_in_rules(struct config *config);

#endif
