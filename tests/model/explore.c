#include "explore.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct origin {
	unsigned long parent;
	const char *what;
	int who;
};

/* States that were reached, in that order, and a table of their numbers. */
static struct {
	const struct model *model;
	unsigned char *states;
	struct origin *origins;
	unsigned long count, room;
	unsigned long *table; /* number + 1, or 0 */
} all;

static void *grow(void *memory, size_t size)
{
	memory = realloc(memory, size);
	if (!memory) {
		perror("model");
		exit(2);
	}
	return memory;
}

static void *state(unsigned long number)
{
	return all.states + number * all.model->size;
}

static uint64_t hash(const unsigned char *bytes, size_t size)
{
	uint64_t value = 0xcbf29ce484222325; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		value = (value ^ bytes[i]) * 0x100000001b3;
	return value ^ value >> 29;
}

/* Where its number is in the table, or is to be put. */
static unsigned long *place(const void *of)
{
	unsigned long at = hash(of, all.model->size);

	for (;; at++) {
		unsigned long *found = &all.table[at % (2 * all.room)];

		if (!*found || !memcmp(state(*found - 1), of, all.model->size))
			return found;
	}
}

static void make_room(void)
{
	all.room = all.room ? 2 * all.room : 1024;
	all.states = grow(all.states, all.room * all.model->size);
	all.origins = grow(all.origins, all.room * sizeof(*all.origins));
	all.table = grow(all.table, 2 * all.room * sizeof(*all.table));
	memset(all.table, 0, 2 * all.room * sizeof(*all.table));
	for (unsigned long i = 0; i < all.count; i++)
		*place(state(i)) = i + 1;
}

static void reach(const void *new, struct origin origin)
{
	unsigned long *at;

	if (all.count == all.room)
		make_room();
	at = place(new);
	if (*at)
		return;
	memcpy(state(all.count), new, all.model->size);
	all.origins[all.count] = origin;
	*at = ++all.count;
}

/* Returns how many steps lead on from there. */
static int go_on(unsigned long number, unsigned char *next)
{
	int ways = 0;

	for (int agent = 0; agent < AGENTS; agent++)
		for (int other = 0; other < 2; other++) {
			const char *what;

			memcpy(next, state(number), all.model->size);
			what = all.model->step(next, agent, other);
			if (!what)
				continue;
			ways++;
			reach(next, (struct origin){number, what, agent});
		}
	return ways;
}

static void tell(unsigned long number, struct found *found)
{
	unsigned long at = number;

	for (; at; at = all.origins[at].parent)
		found->steps++;
	for (int i = found->steps; i-- > 0; number = all.origins[number].parent)
		if (i < (int)(sizeof(found->what) / sizeof(found->what[0]))) {
			found->what[i] = all.origins[number].what;
			found->who[i] = all.origins[number].who;
		}
}

/* Breadth first: what is found is as short as can be. */
void explore(const struct model *model, struct found *found)
{
	unsigned char *next = grow(NULL, model->size);

	memset(found, 0, sizeof(*found));
	memset(&all, 0, sizeof(all));
	all.model = model;
	reach(model->initial, (struct origin){0, NULL, 0});
	for (unsigned long number = 0; number < all.count; number++) {
		if (go_on(number, next))
			continue;
		found->ends++;
		if (!found->bad && model->is_bad(state(number))) {
			found->bad = 1;
			tell(number, found);
		}
	}
	found->states = all.count;
	free(next);
	free(all.states);
	free(all.origins);
	free(all.table);
}
