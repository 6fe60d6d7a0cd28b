/* SPDX-License-Identifier: Apache-2.0 */

/* Many boxes that few cuts tell apart. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sn_table_impl.h"
#include "table_sets.h"

#define EVERYTHING 0, UINT32_MAX
#define KEYS	   64

/* Some look-ups are compared with the first match found by trying box after box. */
static void check(const struct set *set, uint64_t *state)
{
	struct sn_error err = {0};
	struct sn_table *table = sn_table_create(&set->spec, &err);

	if (table == NULL)
		fail_msg("a table of %u boxes was not made: %s", set->spec.n_boxes, err.text);
	for (unsigned int i = 0; i < KEYS; i++) {
		struct sn_key key;
		uint32_t class;

		set_key_at_bounds(set, (uint32_t)(set_random(state) % set->spec.n_boxes), &key, state);
		sn_table_lookup(table, &key, &class, 1);
		assert_int_equal(class, set_first_match(set, &key));
	}
	sn_table_free(table);
}

/* A walk through it would take milliseconds. */
static void a_list_of_boxes_that_no_cut_tells_apart_has_a_bound(void **unused)
{
	const uint32_t box[] = {1, 2, 3, 4}, other[] = {EVERYTHING, EVERYTHING};
	struct sn_error err = {0};
	struct set set;

	(void)unused;
	set_init(&set, 2, 0, 0);
	for (uint32_t i = 0; i < 262137; i++)
		set_add(&set, box, NULL);
	set_add(&set, other, NULL);
	assert_null(sn_table_create(&set.spec, &err));
	assert_string_equal(
		err.text,
		"a table has a list of 262137 boxes that no cut tells apart, at most 262136 are possible");
	set_free(&set);
}

/* As of rules of a firewall behind a table of routes: wide boxes of which so many are copied into each child
 * that wide cuts take too much. */
static void wide_boxes_among_many_narrow_ones_leave_narrow_cuts(void **unused)
{
	const uint32_t other[] = {EVERYTHING, EVERYTHING};
	uint64_t state = 12;
	struct set set;

	(void)unused;
	set_init(&set, 2, 0, 0);
	for (uint32_t i = 0; i < 400000; i++) {
		const uint32_t route[] = {i << 12, i << 12 | 0xfff, 2, 4};
		const uint32_t rule[] = {(i % 32) << 27, (i % 32) << 27 | 0x7ffffff, 2, 4};

		set_add(&set, i % 301 == 0 ? rule : route, NULL);
	}
	set_add(&set, other, NULL);
	set.spec.rare = true;
	check(&set, &state);
	set_free(&set);
}

/* As of routes whose packets are low on TTL: the first box is in every sample, and stands for many there. */
static void a_wide_box_before_many_narrow_ones_hides_no_cut(void **unused)
{
	const uint32_t expired[] = {10 << 24, (11 << 24) - 1, 3, 3}, other[] = {EVERYTHING, EVERYTHING};
	uint64_t state = 11;
	struct set set;

	(void)unused;
	set_init(&set, 2, 0, 0);
	set_add(&set, expired, NULL);
	for (uint32_t i = 0; i < 400000; i++) {
		const uint32_t route[] = {i << 12, i << 12 | 0xfff, 2, 4};

		set_add(&set, route, NULL);
	}
	set_add(&set, other, NULL);
	set.spec.rare = true;
	check(&set, &state);
	set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_boxes_that_no_cut_tells_apart_has_a_bound),
		cmocka_unit_test(a_wide_box_before_many_narrow_ones_hides_no_cut),
		cmocka_unit_test(wide_boxes_among_many_narrow_ones_leave_narrow_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
