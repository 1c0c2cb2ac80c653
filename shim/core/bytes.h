/* bytes.h: a little of <string.h>, where speed is no matter. Every function that the library
 * needs of libc is looked up in each program that is started, and the page of one that is
 * called at load is mapped for it. */
#ifndef FASTALLOC_BYTES_H
#define FASTALLOC_BYTES_H

#include <stddef.h>

/* What follows start in string, or NULL. */
static inline const char *bytes_behind(const char *start, const char *string)
{
	for (; *start; start++, string++)
		if (*start != *string)
			return NULL;
	return string;
}

static inline int bytes_equal(const char *a, const char *b)
{
	const char *rest = bytes_behind(a, b);

	return rest && !*rest;
}

/* Where in the first `length` bytes `what` begins, or NULL. */
static inline const char *bytes_find(const char *in, size_t length, const char *what)
{
	size_t i;

	for (; length > 0; in++, length--) {
		for (i = 0; what[i] && i < length && what[i] == in[i]; i++)
			;
		if (!what[i])
			return in;
	}
	return NULL;
}

#endif
