/* behaviour.h: what the library does with a file, in words. */
#ifndef FASTALLOC_BEHAVIOUR_H
#define FASTALLOC_BEHAVIOUR_H

#include <stddef.h>

#include "place.h"

/* Text that is put together; what does not fit is left out at its end. */
struct sentences {
	char text[8192];
	size_t used;
};

void sentences_add(struct sentences *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is known of the file system, as far as it matters; a sentence a line. */
void behaviour_facts(struct sentences *s, const struct place *place);

/* What becomes of the call of that number, from 0; s is emptied first. Returns its name, or
 * NULL past the last. */
const char *behaviour_call(struct sentences *s, const struct place *place, size_t number);

#endif
