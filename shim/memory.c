/* memory.c: the library's own mem functions and strlen, which the compiler calls by these names.
 * Libc's would each be looked up in every program that is started, which takes longer than
 * all that most programs ever do with them here. Hidden: no one else gets to see them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* These loops must not become calls of what they are. */
#ifndef __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

#define OURS __attribute__((visibility("hidden")))

OURS void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
	char *target = to;
	const char *source = from;

	for (; count > 0; count--)
		*target++ = *source++;
	return to;
}

OURS void *memmove(void *to, const void *from, size_t count)
{
	char *target = to;
	const char *source = from;

	if ((uintptr_t)target - (uintptr_t)source >= count)
		return memcpy(to, from, count);
	while (count-- > 0)
		target[count] = source[count];
	return to;
}

OURS void *memset(void *to, int byte, size_t count)
{
	for (char *target = to; count > 0; count--)
		*target++ = (char)byte;
	return to;
}

/* By words where it can: whole blocks are compared (fill.c). */
OURS int memcmp(const void *a, const void *b, size_t count)
{
	const unsigned char *x = a, *y = b;
	uint64_t v, w;

	for (; count >= sizeof(v); count -= sizeof(v), x += sizeof(v), y += sizeof(v)) {
		__builtin_memcpy(&v, x, sizeof(v));
		__builtin_memcpy(&w, y, sizeof(w));
		if (v != w)
			break;
	}
	for (; count > 0; count--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

OURS void *memchr(const void *in, int byte, size_t count)
{
	for (const unsigned char *at = in; count > 0; at++, count--)
		if (*at == (unsigned char)byte)
			return (void *)at;
	return NULL;
}

OURS size_t strlen(const char *string)
{
	size_t length = 0;

	while (string[length])
		length++;
	return length;
}
