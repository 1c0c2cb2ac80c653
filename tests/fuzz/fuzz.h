/* fuzz.h: what the fuzz targets share. Each defines LLVMFuzzerTestOneInput, which libFuzzer
 * calls with inputs it makes up, and replay.c with those that are kept in corpus/. */
#ifndef FASTALLOC_FUZZ_H
#define FASTALLOC_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. abort is a crash to libFuzzer, which keeps the input then. */
#define MUST(condition) ((condition) ? (void)0 : must_failed(__FILE__, __LINE__, #condition))

static inline void must_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* A copy without a byte to spare, so that the sanitizer sees what is read beyond. */
static inline char *exact_copy(const void *from, size_t size)
{
	char *copy = malloc(size ? size : 1);

	MUST(copy != NULL);
	if (size)
		memcpy(copy, from, size);
	return copy;
}

/* The bytes of an input, taken from its start one by one; 0 once it is used up. */
struct bytes {
	const uint8_t *at, *end;
};

static inline unsigned take(struct bytes *bytes)
{
	return bytes->at < bytes->end ? *bytes->at++ : 0;
}

#endif
