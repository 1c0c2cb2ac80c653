/* config_glob against a plain matcher that tries everything. The input: a glob, a newline, a path. */
#include "config.h"
#include "fuzz.h"

#define MAX_LENGTH 200

/* The length of a set, from its '[' to its ']', or 0 where it is not closed. */
static size_t set_length(const char *glob, size_t length)
{
	size_t i = 1;

	i += i < length && glob[i] == '!';
	i += i < length && glob[i] == ']';
	while (i < length && glob[i] != ']')
		i += glob[i] == '\\' ? 2 : 1;
	return i < length ? i + 1 : 0;
}

/* The members as a table. */
static int in_set(const char *set, size_t length, unsigned char c)
{
	int member[256] = {0}, low, high;
	size_t i = 1, end = length - 1;
	int negated = set[i] == '!';

	i += (size_t)negated;
	while (i < end) {
		i += set[i] == '\\';
		low = high = (unsigned char)set[i++];
		if (i + 1 < end && set[i] == '-') {
			i++;
			i += set[i] == '\\';
			high = (unsigned char)set[i++];
		}
		for (int m = low; m <= high; m++)
			member[m] = 1;
	}
	return member[c] != negated;
}

/* The glob cut into elements, each of which takes one byte, or is '*' or '**'. */
struct element {
	enum { BYTE, ANY, SET, STAR, WIDE } kind;
	const char *at;
	size_t length;
};

/* How many there are, or -1 where one is malformed. */
static int cut(const char *glob, size_t length, struct element *element)
{
	int count = 0;

	for (size_t i = 0; i < length; i += element[count++].length) {
		struct element *e = &element[count];

		*e = (struct element){BYTE, glob + i, 1};
		if (glob[i] == '*') {
			while (i + e->length < length && glob[i + e->length] == '*')
				e->length++;
			e->kind = e->length > 1 ? WIDE : STAR;
		} else if (glob[i] == '?') {
			e->kind = ANY;
		} else if (glob[i] == '[') {
			e->kind = SET;
			e->length = set_length(glob + i, length - i);
		} else if (glob[i] == '\\') {
			e->length = i + 1 < length ? 2 : 0;
		}
		if (!e->length)
			return -1;
	}
	return count;
}

static int takes(const struct element *e, char c)
{
	switch (e->kind) {
	case BYTE:
		return e->at[e->length - 1] == c;
	case SET:
		return c != '/' && in_set(e->at, e->length, (unsigned char)c);
	case WIDE:
		return 1;
	default:
		return c != '/';
	}
}

/* can[i][j]: the first i elements can take the first j bytes. */
static int matches(const struct element *element, int count, const char *path)
{
	static char can[MAX_LENGTH + 1][MAX_LENGTH + 1];
	size_t length = strlen(path);

	memset(can, 0, sizeof(can));
	can[0][0] = 1;
	for (int i = 0; i < count; i++)
		for (size_t j = 0; j <= length; j++) {
			int many = element[i].kind == STAR || element[i].kind == WIDE;

			can[i + 1][j] |= many && can[i][j];
			if (j < length && takes(&element[i], path[j]))
				can[i + 1][j + 1] |= can[i][j] || (many && can[i + 1][j]);
		}
	return can[count][length];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct element element[MAX_LENGTH];
	const uint8_t *newline = memchr(data, '\n', size);
	size_t length;
	char *glob, *path;
	int count, matched;

	if (!newline || size > MAX_LENGTH || memchr(data, '\0', size))
		return 0;
	length = (size_t)(newline - data);
	glob = exact_copy(data, length);
	path = malloc(size - length);
	MUST(path != NULL);
	memcpy(path, newline + 1, size - length - 1);
	path[size - length - 1] = '\0';
	count = cut(glob, length, element);
	matched = config_glob((struct text){glob, length}, path);
	MUST(count < 0 || matched == matches(element, count, path));
	free(glob);
	free(path);
	return 0;
}
