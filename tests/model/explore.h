/* explore.h: every interleaving of some agents, each of which takes atomic steps. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stddef.h>

#define AGENTS 4

struct model {
	size_t size;         /* of a state: all of its bytes count, padding too */
	const void *initial; /* state */
	/* Agent takes its next step. `other` is 0, or 1 for the step that it could take instead. Returns
	 * a name of what was done; NULL where it cannot go on, now or at all. */
	const char *(*step)(void *state, int agent, int other);
	/* Is what must hold at the end broken in this state, where nobody can go on? */
	int (*is_bad)(const void *state);
};

struct found {
	unsigned long states, ends;
	int bad; /* some end was */
	int steps;
	const char *what[200]; /* that led to the first of them */
	int who[200];
};

void explore(const struct model *model, struct found *found);

#endif
