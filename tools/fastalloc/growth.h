/* growth.h: what fastalloc watch reports: how files grew, how they lie, what would help. */
#ifndef FASTALLOC_GROWTH_H
#define FASTALLOC_GROWTH_H

#include "watch.h"

/* What was watched. */
struct observation {
	const struct watch_table *table;
	char **command;
	int status; /* of waitpid(2) */
};

/* To stdout, as text of which `most` files are shown at most, the worst first, or, where
 * json is set, as one object. Reads the configuration that the library would use. */
void growth_report(const struct observation *seen, unsigned most, int json);

#endif
