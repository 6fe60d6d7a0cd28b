/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of many times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sn_histogram.h"

static void a_quantile_is_right_within_half_a_percent(void **state)
{
	static struct sn_histogram histogram, other;

	(void)state;
	assert_true(sn_histogram_quantile(&histogram, 0.5) == 0);
	for (uint64_t value = 1; value <= 100000; value++)
		sn_histogram_add(value % 2 == 0 ? &histogram : &other, value);
	sn_histogram_add(&other, UINT64_MAX);
	sn_histogram_merge(&histogram, &other);
	assert_int_equal(histogram.values, 100001);
	assert_int_equal(histogram.max, UINT64_MAX);
	for (unsigned int percent = 1; percent < 100; percent++) {
		double value = sn_histogram_quantile(&histogram, percent / 100.0), want = percent * 1000.0;

		if (value < want * 0.995 || value > want * 1.005)
			fail_msg("quantile %u %%: %f, want %f", percent, value, want);
	}
	assert_true(sn_histogram_quantile(&histogram, 1) > 1.8e19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quantile_is_right_within_half_a_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
