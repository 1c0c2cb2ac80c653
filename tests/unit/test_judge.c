#include "judge.h"

#include <criterion/criterion.h>
#include <math.h>

/* Rounds of a side with these times and pieces. */
static struct series *series(unsigned rounds, const double *times, double pieces)
{
	static struct series made[8];
	static unsigned used;
	struct series *series = &made[used++ % 8];

	*series = (struct series){0};
	for (unsigned i = 0; i < rounds; i++)
		series_add(series, &(struct outcome){0, {times[i], pieces, NAN}});
	return series;
}

#define SERIES(pieces, ...) series(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__}, pieces)

Test(judge, median_and_range_in_any_order)
{
	const struct series *of_five = SERIES(1, 3, 1, 5, 2, 4), *of_six = SERIES(1, 6, 5, 1, 2, 4, 3);

	cr_assert_eq(series_least(of_five, FIGURE_TIME), 1);
	cr_assert_eq(series_median(of_five, FIGURE_TIME), 3);
	cr_assert_eq(series_most(of_five, FIGURE_TIME), 5);
	cr_assert_eq(series_median(of_six, FIGURE_TIME), 3.5);
}

Test(judge, what_is_not_told_is_unknown)
{
	struct series *some = SERIES(1, 1, 2, 3, 4, 5);

	cr_assert(series_known(some, FIGURE_TIME));
	cr_assert_not(series_known(some, FIGURE_READ));
	series_add(some, &(struct outcome){0, {6, NAN, NAN}});
	cr_assert_not(series_known(some, FIGURE_PIECES), "told in five rounds of six");
}

Test(judge, ranges_that_overlap_are_noise)
{
	cr_assert_eq(judge(SERIES(1, 1, 1, 1, 1, 3), SERIES(1, 2, 4, 4, 4, 4), FIGURE_TIME), JUDGED_SAME);
	cr_assert_eq(judge(SERIES(1, 1, 1, 1, 1, 1.9), SERIES(1, 2, 4, 4, 4, 4), FIGURE_TIME), JUDGED_BETTER);
	cr_assert_eq(judge(SERIES(1, 2, 4, 4, 4, 4), SERIES(1, 1, 1, 1, 1, 1.9), FIGURE_TIME), JUDGED_WORSE);
}

Test(judge, five_percent_is_too_little)
{
	cr_assert_eq(judge(SERIES(1, 96, 96, 96, 96, 96), SERIES(1, 100, 100, 100, 100, 100), FIGURE_TIME),
		     JUDGED_SAME);
	cr_assert_eq(judge(SERIES(1, 94, 94, 94, 94, 94), SERIES(1, 100, 100, 100, 100, 100), FIGURE_TIME),
		     JUDGED_BETTER);
}

Test(judge, more_rounds_bear_an_outlier)
{
	double fast[40], slow[40];

	for (int i = 0; i < 40; i++) {
		fast[i] = i == 7 ? 100 : 1;
		slow[i] = 2;
	}
	cr_assert_eq(judge(series(39, fast, 1), series(39, slow, 1), FIGURE_TIME), JUDGED_SAME);
	cr_assert_eq(judge(series(40, fast, 1), series(40, slow, 1), FIGURE_TIME), JUDGED_BETTER);
}

Test(judge, pieces_must_be_fewer_than_half)
{
	cr_assert_eq(judge(SERIES(2, 1, 1, 1, 1, 1), SERIES(4, 1, 1, 1, 1, 1), FIGURE_PIECES), JUDGED_SAME);
	cr_assert_eq(judge(SERIES(2, 1, 1, 1, 1, 1), SERIES(5, 1, 1, 1, 1, 1), FIGURE_PIECES), JUDGED_BETTER);
}

Test(judge, not_clearly_worse_is_not_as_good)
{
	const struct series *plain = SERIES(100, 1, 1, 1, 1, 1.3);

	cr_assert_eq(judge_all(SERIES(5, 1, 1, 1, 1, 1), plain), OVERALL_BETTER);
	cr_assert_eq(judge_all(SERIES(5, 1.2, 1.5, 1.5, 1.5, 1.5), plain), OVERALL_MIXED,
		     "fewer pieces, but it may take longer");
	cr_assert_eq(judge_all(SERIES(100, 2, 2, 2, 2, 2), plain), OVERALL_WORSE);
	cr_assert_eq(judge_all(SERIES(100, 1, 1, 1, 1, 1), plain), OVERALL_SAME);
}
