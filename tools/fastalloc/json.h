/* json.h: JSON that is more than a table. Memory that is short ends the command. */
#ifndef FASTALLOC_JSON_H
#define FASTALLOC_JSON_H

#include <jansson.h>

/* A copy, to be freed, in which bytes that are no UTF-8, as paths may hold, are '?'. */
char *json_valid(const char *text);

/* A string of that. */
json_t *json_text(const char *text);

/* Set a member, or append an element; `value` is given away. */
void json_set(json_t *object, const char *name, json_t *value);
void json_add(json_t *array, json_t *value);

/* Print and free it. */
void json_print(json_t *value);

#endif
