#include "judge.h"

#include <math.h>

void series_add(struct series *series, const struct outcome *outcome)
{
	for (int figure = 0; figure < FIGURE_COUNT; figure++) {
		double *value = series->value[figure], added = outcome->figure[figure];
		unsigned i = series->count[figure];

		if (isnan(added) || i == ROUNDS_MOST)
			continue;
		for (; i > 0 && value[i - 1] > added; i--)
			value[i] = value[i - 1];
		value[i] = added;
		series->count[figure]++;
	}
}

int series_known(const struct series *series, enum figure figure)
{
	return series->count[figure] > 0 && series->count[figure] == series->count[FIGURE_TIME];
}

double series_least(const struct series *series, enum figure figure)
{
	return series->value[figure][0];
}

double series_median(const struct series *series, enum figure figure)
{
	unsigned n = series->count[figure];

	return (series->value[figure][(n - 1) / 2] + series->value[figure][n / 2]) / 2;
}

double series_most(const struct series *series, enum figure figure)
{
	return series->value[figure][series->count[figure] - 1];
}

static int is_clearly_less(const struct series *is, const struct series *than, enum figure figure)
{
	double part = figure == FIGURE_PIECES ? 0.5 : 0.95;
	unsigned less = 0, pairs = is->count[figure] * than->count[figure];

	for (unsigned i = 0; i < is->count[figure]; i++)
		for (unsigned j = 0; j < than->count[figure]; j++)
			less += is->value[figure][i] < than->value[figure][j];
	return 40 * less >= 39 * pairs && series_median(is, figure) < part * series_median(than, figure);
}

enum judgement judge(const struct series *is, const struct series *than, enum figure figure)
{
	if (!series_known(is, figure) || !series_known(than, figure))
		return JUDGED_SAME;
	if (is_clearly_less(is, than, figure))
		return JUDGED_BETTER;
	return is_clearly_less(than, is, figure) ? JUDGED_WORSE : JUDGED_SAME;
}

/* Does it look worse, if not clearly? */
static int appears_worse_in(const struct series *is, const struct series *than, enum figure figure)
{
	return series_known(is, figure) && series_known(than, figure) &&
	       0.95 * series_median(is, figure) > series_median(than, figure);
}

enum overall judge_all(const struct series *is, const struct series *than)
{
	int better = 0, worse = 0, appears_better = 0, appears_worse = 0;

	for (int figure = 0; figure < FIGURE_COUNT; figure++) {
		enum judgement one = judge(is, than, figure);

		better |= one == JUDGED_BETTER;
		worse |= one == JUDGED_WORSE;
		appears_better |= appears_worse_in(than, is, figure);
		appears_worse |= appears_worse_in(is, than, figure);
	}
	if (!better && !worse)
		return OVERALL_SAME;
	if (better && !appears_worse)
		return OVERALL_BETTER;
	return worse && !appears_better ? OVERALL_WORSE : OVERALL_MIXED;
}
