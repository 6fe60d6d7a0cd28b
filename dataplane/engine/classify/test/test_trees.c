/* SPDX-License-Identifier: Apache-2.0 */

/* How long walks in a table's trees are. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sn_table.h"
#include "table_sets.h"

static void read_classbench(struct set *set, const char *name)
{
	const char *data = getenv("SINTER_DATA");
	char path[4096];

	snprintf(path, sizeof(path), "%s/classbench/%s", data ? data : DATA_DIR, name);
	if (!set_read_classbench(set, path))
		fail_msg("%s: cannot be read", path);
}

static const uint32_t *bounds_at(const struct set *set, uint32_t box)
{
	return set->bounds + (size_t)box * 2 * SET_DIMS;
}

/* Add the intersection of two boxes, if there is any. */
static void add_common(struct set *to, const struct set *a, uint32_t i, const struct set *b, uint32_t k)
{
	uint64_t required = a->required[i] | b->required[k];
	uint32_t common[2 * SET_DIMS];

	for (uint32_t d = 0; d < 2 * SET_DIMS; d += 2) {
		const uint32_t *x = bounds_at(a, i) + d;
		const uint32_t *y = bounds_at(b, k) + d;

		common[d] = x[0] > y[0] ? x[0] : y[0];
		common[d + 1] = x[1] < y[1] ? x[1] : y[1];
		if (common[d] > common[d + 1])
			return;
	}
	set_add(to, common, &required);
}

/* A firewall behind another one, every second rule of which drops. */
static void set_multiply(struct set *to, const struct set *a, const struct set *b)
{
	set_init(to, SET_DIMS, 1, a->spec.address_dims);
	for (uint32_t i = 0; i < a->spec.n_boxes; i++) {
		if (i % 2 != 0)
			set_add(to, bounds_at(a, i), &a->required[i]);
		for (uint32_t k = 0; i % 2 == 0 && k < b->spec.n_boxes; k++)
			add_common(to, a, i, b, k);
	}
}

static void check(const struct set *set, const struct sn_table *table, uint64_t *state)
{
	for (int i = 0; i < 2048; i++) {
		struct sn_key key;
		uint32_t box = (uint32_t)(set_random(state) % set->spec.n_boxes);
		uint32_t class;

		if (i % 2 == 0)
			set_key_within(set, box, &key, state);
		else
			set_key_at_bounds(set, box, &key, state);
		sn_table_lookup(table, &key, &class, 1);
		assert_int_equal(class, set_first_match(set, &key));
	}
}

static float steps_of(const struct set *set, uint64_t *state)
{
	struct sn_error err;
	struct sn_table *table = sn_table_create(&set->spec, &err);
	float steps;

	assert_non_null(table);
	check(set, table, state);
	steps = sn_table_steps(table);
	sn_table_free(table);
	return steps;
}

/* Nine tenths of a product's boxes are narrow in both addresses. The others must not fill the tree of these.
 */
static void walks_in_the_product_of_two_rule_sets_are_hardly_longer_than_in_both(void **unused)
{
	static const char *const pairs[][2] = {{"acl1_713", "fw1_713"},
					       {"fw1_713", "acl1_713"},
					       {"acl1_251", "fw1_713"},
					       {"acl1_251", "acl1_713"}};
	uint64_t state = 1;

	(void)unused;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct set a, b, product;
		float steps, both;

		read_classbench(&a, pairs[i][0]);
		read_classbench(&b, pairs[i][1]);
		set_multiply(&product, &a, &b);
		steps = steps_of(&product, &state);
		both = steps_of(&a, &state) + steps_of(&b, &state);
		if (steps > 2 * both)
			fail_msg(
				"%s x %s, %u boxes: %.1f steps, more than twice the %.1f one after the other",
				pairs[i][0], pairs[i][1], product.spec.n_boxes, (double)steps, (double)both);
		set_free(&a);
		set_free(&b);
		set_free(&product);
	}
}

/* Each box holds the next one in both addresses. Few of them are a list. */
static void the_longest_walk_through_a_list_is_all_of_its_groups(void **unused)
{
	static const uint32_t groups[] = {1, 2};

	(void)unused;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		struct set set;
		struct sn_error err;
		struct sn_table *table;

		set_init(&set, SET_DIMS, 1, 3);
		for (uint32_t low = 1; low <= 8 * groups[i]; low++)
			set_add(&set,
				(uint32_t[]){low, UINT32_MAX - low, low, UINT32_MAX - low, 0, 65536, 0,
					     65536},
				NULL);
		set_add(&set, (uint32_t[]){0, UINT32_MAX, 0, UINT32_MAX, 0, 65536, 0, 65536}, NULL);
		table = sn_table_create(&set.spec, &err);
		assert_non_null(table);
		assert_string_equal(sn_table_kind(table), "linear");
		assert_int_equal(sn_table_longest(table), groups[i]);
		sn_table_free(table);
		set_free(&set);
	}
}

static void the_longest_walk_is_no_shorter_than_the_average(void **unused)
{
	static const char *const names[] = {"acl1_251", "acl1_713", "acl1_8550", "fw1_713"};

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const float further = 3 * 2; /* steps of the average that are no walk */
		struct set set;
		struct sn_error err;
		struct sn_table *table;

		read_classbench(&set, names[i]);
		table = sn_table_create(&set.spec, &err);
		assert_non_null(table);
		assert_true((float)sn_table_longest(table) > sn_table_steps(table) - further);
		assert_true(sn_table_longest(table) < 32);
		sn_table_free(table);
		set_free(&set);
	}
}

/* A prefix of 4 to 11 bits. */
static void random_prefix(uint32_t *bounds, uint64_t *state)
{
	uint32_t size = 1u << (20 + set_random(state) % 8);

	bounds[0] = (uint32_t)set_random(state) & ~(size - 1);
	bounds[1] = bounds[0] + size - 1;
}

/*
 * As of a firewall behind a router: hosts, many rules for one port of any address, and many for all ports of
 * large prefixes. In one tree, each of these would lie in each child of a cut by ports.
 */
static void make_ports_and_prefixes(struct set *set, uint32_t n, uint64_t *state)
{
	set_init(set, SET_DIMS, 1, 3);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = (uint32_t)set_random(state), to = (uint32_t)set_random(state);
		uint32_t prefixes[] = {0, 0, 0, 0, 0, 65536, 0, 65536};

		random_prefix(&prefixes[0], state);
		random_prefix(&prefixes[2], state);
		set_add(set, (uint32_t[]){from, from, 0, UINT32_MAX, 0, 65536, 0, 65536}, NULL);
		set_add(set, (uint32_t[]){0, UINT32_MAX, to, to, 0, 65536, 0, 65536}, NULL);
		set_add(set, (uint32_t[]){0, UINT32_MAX, 0, UINT32_MAX, 0, 65536, 7 * i, 7 * i}, NULL);
		set_add(set, prefixes, NULL);
	}
	set_add(set, (uint32_t[]){0, UINT32_MAX, 0, UINT32_MAX, 0, 65536, 0, 65536}, NULL);
}

/* Made alone, and like a table before it that has few such rules, or as many. */
static void check_ports_and_prefixes(bool rare, uint32_t longest)
{
	static const uint32_t sizes[] = {600, 100, 1500, 1520};
	struct sn_table *before = NULL;
	uint64_t state = 5;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sn_error err;
		struct sn_table *table;
		struct set set;

		make_ports_and_prefixes(&set, sizes[i], &state);
		set.spec.like = before;
		set.spec.rare = rare;
		table = sn_table_create(&set.spec, &err);
		assert_non_null(table);
		if (sn_table_longest(table) > longest)
			fail_msg("table %zu: the longest walk has %u steps, want at most %u", i,
				 sn_table_longest(table), longest);
		check(&set, table, &state);
		sn_table_free(before);
		before = table;
		set.spec.like = NULL;
		set_free(&set);
	}
	sn_table_free(before);
}

static void rules_of_a_port_among_rules_of_prefixes_have_short_walks(void **unused)
{
	(void)unused;
	check_ports_and_prefixes(false, 20);
	check_ports_and_prefixes(true, 64);
}

static void random_range(uint32_t *bounds, uint32_t most, uint64_t *state)
{
	uint32_t a = (uint32_t)(set_random(state) % most), b = (uint32_t)(set_random(state) % most);

	bounds[0] = a < b ? a : b;
	bounds[1] = a < b ? b : a;
}

static uint32_t longest_of(struct set *set, bool rare)
{
	struct sn_error err;
	struct sn_table *table;
	uint32_t longest;

	set->spec.rare = rare;
	table = sn_table_create(&set->spec, &err);
	assert_non_null(table);
	longest = sn_table_longest(table);
	sn_table_free(table);
	return longest;
}

/* Boxes that are wide in all fields: few in a coarse tree are a short list, many would be a long one. */
static void tables_that_are_looked_up_seldom_have_no_longer_walks_if_they_are_long(void **unused)
{
	uint64_t state = 6;

	(void)unused;
	for (uint32_t n = 300; n <= 3000; n *= 10) {
		struct set set;
		uint32_t often, seldom;

		set_init(&set, SET_DIMS, 1, 3);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t bounds[8];

			random_range(&bounds[0], UINT32_MAX, &state);
			random_range(&bounds[2], UINT32_MAX, &state);
			random_range(&bounds[4], 65536, &state);
			random_range(&bounds[6], 65536, &state);
			set_add(&set, bounds, NULL);
		}
		often = longest_of(&set, false);
		seldom = longest_of(&set, true);
		if (n == 300 ? seldom <= often : seldom != often)
			fail_msg("%u boxes: %u steps, %u where they are looked up often", n, seldom, often);
		set_free(&set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_in_the_product_of_two_rule_sets_are_hardly_longer_than_in_both),
		cmocka_unit_test(the_longest_walk_through_a_list_is_all_of_its_groups),
		cmocka_unit_test(the_longest_walk_is_no_shorter_than_the_average),
		cmocka_unit_test(rules_of_a_port_among_rules_of_prefixes_have_short_walks),
		cmocka_unit_test(tables_that_are_looked_up_seldom_have_no_longer_walks_if_they_are_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
