/* What is written of names that anybody may choose: statistics are JSON whatever the program is
 * called, and the path they go to is as FASTALLOC_STATS says, or none. */
#include <jansson.h>

#include "fuzz.h"

#include "report.c"

/* %p and %% of a pattern, by the book; -1 where the whole does not fit. */
static int expected_path(const char *pattern, char *to, size_t size)
{
	size_t used = 0;

	for (; *pattern; pattern++) {
		char number[16] = {*pattern, '\0'};

		if (pattern[0] == '%' && pattern[1] == 'p')
			snprintf(number, sizeof(number), "%d", 4711), pattern++;
		else if (pattern[0] == '%' && pattern[1] == '%')
			pattern++;
		if (used + strlen(number) >= size)
			return -1;
		strcpy(to + used, number);
		used += strlen(number);
	}
	to[used] = '\0';
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *string = malloc(size + 1), path[64], expected[64];
	struct line line = {.used = 0};
	json_t *json, *expected_json;
	int fits;

	MUST(string != NULL);
	memcpy(string, data, size);
	string[size] = '\0';
	size = strlen(string);
	if (size * 6 + 2 <= sizeof(line.text)) {
		put(&line, "\"");
		put_escaped(&line, string);
		put(&line, "\"");
		json = json_loadb(line.text, line.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		MUST(json && json_is_string(json));
		MUST(strlen(json_string_value(json)) == size);
		expected_json = json_stringn(string, size); /* none where that is no UTF-8 */
		MUST(expected_json ? json_equal(json, expected_json) : !!strchr(json_string_value(json), '?'));
		json_decref(expected_json);
		json_decref(json);
	}
	fits = !expected_path(string, expected, sizeof(expected));
	memset(path, 0x55, sizeof(path));
	MUST(expand(string, 4711, path, sizeof(path)) == (fits ? 0 : ENAMETOOLONG));
	MUST(!fits || !strcmp(path, expected));
	free(string);
	return 0;
}
