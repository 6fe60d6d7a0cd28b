/* SPDX-License-Identifier: Apache-2.0 */
/* Which values were measured while nobody else used the core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rte_cycles.h>

#include "sn_quiet.h"

/* Ends a slice of one value with a probe that took so long. */
static void end_slice(struct sn_quiet *quiet, uint64_t value, uint64_t probe)
{
	for (uint64_t i = 1; i < SN_QUIET_VALUES; i++)
		assert_false(sn_quiet_add(quiet, value));
	assert_true(sn_quiet_add(quiet, value));
	sn_quiet_end(quiet, probe);
}

static void a_moment_is_quiet_between_two_quick_probes(void **state)
{
	static struct sn_quiet quiet;

	(void)state;
	sn_quiet_init(&quiet, 1100, 0);
	end_slice(&quiet, 1, 1000); /* no probe was before */
	end_slice(&quiet, 2, 1100);
	end_slice(&quiet, 3, 1101);
	end_slice(&quiet, 4, 1000); /* the one before was slow */
	end_slice(&quiet, 5, 1000);
	assert_int_equal(quiet.probes.values, 5);
	assert_int_equal(quiet.probes.max, 1101);
	assert_int_equal(quiet.values.values, 2 * SN_QUIET_VALUES);
	assert_int_equal(quiet.values.buckets[2], SN_QUIET_VALUES);
	assert_int_equal(quiet.values.buckets[5], SN_QUIET_VALUES);
}

static void a_probe_is_work_that_is_really_done(void **state)
{
	uint64_t least = UINT64_MAX;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t probe = sn_quiet_probe();

		least = probe < least ? probe : least;
	}
	/* 256 rounds of 36 instructions, six of which depend on each other. */
	assert_in_range(least, 256 * 3, 256 * 36 * 4);
}

static void a_slow_probe_is_waited_for_while_patience_lasts(void **state)
{
	static struct sn_quiet quiet;
	uint64_t begin = rte_rdtsc(), patience = 1000000;

	(void)state;
	assert_in_range(sn_quiet_wait(1, patience), patience, UINT64_MAX); /* no probe is so quick */
	assert_in_range(sn_quiet_wait(UINT64_MAX, UINT64_MAX), 1, rte_rdtsc() - begin); /* all are */
	sn_quiet_init(&quiet, 1, patience);
	sn_quiet_rest(&quiet);
	assert_int_equal(quiet.patience, 0);
	sn_quiet_init(&quiet, UINT64_MAX, patience);
	sn_quiet_rest(&quiet);
	assert_int_equal(quiet.patience, patience);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_is_quiet_between_two_quick_probes),
		cmocka_unit_test(a_probe_is_work_that_is_really_done),
		cmocka_unit_test(a_slow_probe_is_waited_for_while_patience_lasts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
