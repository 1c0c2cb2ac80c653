#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"

/* The bytes of the character at `at`, 0 where that is no UTF-8. */
static size_t character_length(const char *at)
{
	for (size_t length = 1; length <= 4 && at[length - 1]; length++) {
		json_t *string = json_stringn(at, length);

		json_decref(string);
		if (string)
			return length;
	}
	return 0;
}

char *json_valid(const char *text)
{
	char *copy = strdup(text);

	need(copy != NULL);
	for (char *at = copy; *at; at++) {
		size_t length = *at & 0x80 ? character_length(at) : 1;

		if (length)
			at += length - 1;
		else
			*at = '?';
	}
	return copy;
}

json_t *json_text(const char *text)
{
	char *valid = json_valid(text);
	json_t *string = json_string(valid);

	free(valid);
	need(string != NULL);
	return string;
}

void json_set(json_t *object, const char *name, json_t *value)
{
	need(!json_object_set_new(object, name, value));
}

void json_add(json_t *array, json_t *value)
{
	need(!json_array_append_new(array, value));
}

void json_print(json_t *value)
{
	need(value != NULL);
	json_dumpf(value, stdout, JSON_INDENT(3));
	putchar('\n');
	json_decref(value);
}
