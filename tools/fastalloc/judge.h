/* judge.h: what can be told from measurements, and what is only noise. */
#ifndef FASTALLOC_JUDGE_H
#define FASTALLOC_JUDGE_H

#include "measure.h"

#define ROUNDS_LEAST   5
#define ROUNDS_DEFAULT 7
#define ROUNDS_MOST    99

/* A way to reserve or write that is compared with others. */
struct side {
	const char *name;
	enum method method;
	const char *keys; /* lines of preload.conf for the library; NULL: without it */
};

/* Its figures so far, each in ascending order. */
struct series {
	const struct side *side;
	unsigned count[FIGURE_COUNT];
	double value[FIGURE_COUNT][ROUNDS_MOST];
};

void series_add(struct series *series, const struct outcome *outcome);

/* Was it told in every round? The next three only where it was. */
int series_known(const struct series *series, enum figure figure);
double series_least(const struct series *series, enum figure figure);
double series_median(const struct series *series, enum figure figure);
double series_most(const struct series *series, enum figure figure);

/* Is `is` better than `than`? Only where it was in 39 of 40 pairs of a run of each (with six
 * rounds or fewer that is all of them: the ranges do not overlap), and the medians differ by over
 * 5 %; pieces must be fewer than half. Of equal sides, chance makes one better once in 252 times
 * with 5 rounds, once in 1716 with 7. Unknown figures are the same. */
enum judgement { JUDGED_SAME, JUDGED_BETTER, JUDGED_WORSE };
enum judgement judge(const struct series *is, const struct series *than, enum figure figure);

/* All in all. That no figure is clearly worse does not show that none is worse: it must not look
 * worse either. */
enum overall {
	OVERALL_SAME,
	OVERALL_BETTER, /* clearly better in a figure, and no median worse by over 5 % */
	OVERALL_WORSE,  /* the other way round */
	OVERALL_MIXED,  /* clearly better or worse in a figure, but maybe not in another */
};
enum overall judge_all(const struct series *is, const struct series *than);

#endif
