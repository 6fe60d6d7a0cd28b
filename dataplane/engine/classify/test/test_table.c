/* SPDX-License-Identifier: Apache-2.0 */

/* Every look-up is compared with the first match found by trying box after box. */

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "sn_table_impl.h"
#include "table_sets.h"

#define EVERYTHING 0, UINT32_MAX

static void make_key(const struct set *set, struct sn_key *key, uint64_t *state)
{
	uint32_t box = (uint32_t)(set_random(state) % (set->spec.n_boxes + !set->spec.n_boxes));

	switch (set->spec.n_boxes == 0 ? 0 : set_random(state) % 8) {
	case 0:
		for (size_t d = 0; d < SN_TABLE_DIMS_MAX; d++)
			key->dim[d] = (uint32_t)set_random(state) >> (set_random(state) % 32);
		for (size_t w = 0; w < SN_TABLE_WORDS_MAX; w++)
			key->bits[w] = set_random(state);
		break;
	case 1:
	case 2:
	case 3:
		set_key_within(set, box, key, state);
		break;
	default:
		set_key_at_bounds(set, box, key, state);
	}
}

static void check_bulk(const struct set *set, const struct sn_table *table, enum sn_isa isa, unsigned int n,
		       uint64_t *state)
{
	struct sn_key keys[64];
	uint32_t classes[64];

	for (unsigned int i = 0; i < n; i++)
		make_key(set, &keys[i], state);
	sn_table_lookup(table, keys, classes, n);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t want = set_first_match(set, &keys[i]);

		if (classes[i] != want)
			fail_msg("%s of %u boxes, %u dimensions, instructions %d: key %u %u %u %u %u %u, "
				 "bits %lx is of class "
				 "%u, first match says %u",
				 sn_table_kind(table), set->spec.n_boxes, set->spec.n_dims, isa,
				 keys[i].dim[0], keys[i].dim[1], keys[i].dim[2], keys[i].dim[3],
				 keys[i].dim[4], keys[i].dim[5], (unsigned long)keys[i].bits[0], classes[i],
				 want);
	}
}

/* With all instruction sets that the machine has. NULL: any kind. */
static void check(const struct set *set, const char *kind, unsigned int n_keys, uint64_t *state)
{
	struct sn_error err;

	for (int isa = SN_ISA_BASE; isa <= (int)sn_isa_best(); isa++) {
		struct sn_table *table = sn_table_create_isa(&set->spec, isa, &err);

		if (table == NULL)
			fail_msg("a table of %u boxes was not made: %s", set->spec.n_boxes, err.text);
		if (kind != NULL)
			assert_string_equal(sn_table_kind(table), kind);
		assert_true(sn_table_size(table) > 0);
		for (unsigned int done = 0; done < n_keys; done += 64)
			check_bulk(set, table, isa, done % 256 == 0 ? 1 + set_random(state) % 64 : 64, state);
		sn_table_free(table);
	}
}

static void an_empty_table_gives_no_class(void **unused)
{
	uint64_t state = 1;
	struct set set;

	(void)unused;
	set_init(&set, 2, 1, 3);
	check(&set, "constant", 64, &state);
	set_free(&set);
}

static void one_box_holds_its_bounds_and_nothing_beyond(void **unused)
{
	const uint32_t inner[] = {10, 20, 0x0a000000, 0x0affffff};
	const uint32_t all[] = {EVERYTHING, EVERYTHING};
	const uint64_t bit = 1ull << 63;
	uint64_t state = 2;
	struct set set;

	(void)unused;
	set_init(&set, 2, 1, 2);
	set_add(&set, inner, NULL);
	check(&set, "constant", 512, &state);
	set_free(&set);

	set_init(&set, 2, 1, 2);
	set_add(&set, inner, &bit);
	check(&set, "linear", 512, &state);
	set_free(&set);

	set_init(&set, 2, 1, 2);
	set_add(&set, all, NULL);
	check(&set, "constant", 512, &state);
	set_free(&set);
}

static void of_duplicate_boxes_the_first_decides(void **unused)
{
	const uint32_t box[] = {10, 20, 5, 5};
	const uint32_t other[] = {15, 30, 5, 7};
	uint64_t state = 3;
	struct set set;

	(void)unused;
	set_init(&set, 2, 0, 0);
	for (int i = 0; i < 40; i++)
		set_add(&set, i % 3 == 2 ? other : box, NULL);
	check(&set, NULL, 1024, &state);
	set_free(&set);
}

static void boxes_behind_one_that_takes_everything_are_hidden(void **unused)
{
	const uint32_t some[] = {10, 20, EVERYTHING};
	const uint32_t all[] = {EVERYTHING, EVERYTHING};
	uint64_t state = 4;
	struct set set;

	(void)unused;
	set_init(&set, 2, 1, 3);
	set_add(&set, some, NULL);
	set_add(&set, all, NULL);
	set_add(&set, some, NULL);
	check(&set, "linear", 1024, &state);
	set_free(&set);
}

static void only_bits_tell_boxes_apart(void **unused)
{
	uint64_t state = 5;

	(void)unused;
	for (uint32_t n_words = 1; n_words <= SN_TABLE_WORDS_MAX; n_words++) {
		struct set set;

		set_init(&set, 0, n_words, 0);
		for (int i = 0; i < 200; i++) {
			uint64_t required[SN_TABLE_WORDS_MAX] = {0};

			for (int k = 0; k < 3; k++)
				required[set_random(&state) % n_words] |= 1ull << set_random(&state) % 64;
			set_add(&set, NULL, required);
		}
		check(&set, NULL, 2048, &state);
		set_free(&set);
	}
}

/* Ranges, prefixes, single values and wildcards in all dimensions; values from a domain of the given bits. */
static void add_random_box(struct set *set, unsigned int domain_bits, uint64_t *state)
{
	uint32_t max = (uint32_t)((1ull << domain_bits) - 1);
	uint64_t required[SN_TABLE_WORDS_MAX] = {0};
	uint32_t bounds[2 * SN_TABLE_DIMS_MAX];

	for (size_t d = 0; d < set->spec.n_dims; d++) {
		uint32_t a = (uint32_t)set_random(state) & max;
		uint32_t b = (uint32_t)set_random(state) & max;
		uint32_t host = (uint32_t)((uint64_t)max >> set_random(state) % (domain_bits + 1));

		switch (set_random(state) % 5) {
		case 0:
			bounds[2 * d] = a < b ? a : b;
			bounds[2 * d + 1] = a < b ? b : a;
			break;
		case 1:
			bounds[2 * d] = bounds[2 * d + 1] = a;
			break;
		case 2:
			bounds[2 * d] = 0;
			bounds[2 * d + 1] = max;
			break;
		default:
			bounds[2 * d] = a & ~host;
			bounds[2 * d + 1] = a | host;
		}
	}
	for (size_t w = 0; w < set->spec.n_words; w++) {
		if (set_random(state) % 2 == 0)
			required[w] = 1ull << set_random(state) % 64 | 1ull << set_random(state) % 64;
	}
	set_add(set, bounds, required);
}

static void random_boxes_are_matched_in_order(void **unused)
{
	static const unsigned int domains[] = {4, 12, 17, 32};
	uint64_t state = 6;

	(void)unused;
	for (int round = 0; round < 160; round++) {
		uint32_t n_boxes = (uint32_t)set_random(&state) % (round % 16 == 0 ? 2000 : 120);
		uint32_t n_dims = 1 + (uint32_t)set_random(&state) % SN_TABLE_DIMS_MAX;
		struct set set;

		set_init(&set, n_dims, (uint32_t)set_random(&state) % (SN_TABLE_WORDS_MAX + 1),
			 (uint32_t)set_random(&state) & ((1u << n_dims) - 1));
		for (uint32_t i = 0; i < n_boxes; i++)
			add_random_box(&set, domains[round % 4], &state);
		check(&set, NULL, 256, &state);
		set_free(&set);
	}
}

static void rule_sets_like_classbench_are_matched_in_order(void **unused)
{
	static const struct {
		uint32_t n;
		unsigned int wildcards_percent;
	} cases[] = {{20, 0}, {200, 5}, {1000, 2}, {1000, 45}, {4000, 60}, {6000, 3}};
	uint64_t state = 7;

	(void)unused;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct set set;

		set_make_classbench(&set, cases[c].n, cases[c].wildcards_percent, &state);
		check(&set, "tree", 4096, &state);
		set_free(&set);
	}
}

/* A program's tables hold all keys. Their look-up may leave out the comparison with the least box that holds
 * all boxes, and finds the same. */
static void whole_tables_are_matched_in_order(void **unused)
{
	uint64_t state = 12;
	struct sn_error err;
	struct set set;

	(void)unused;
	set_make_classbench(&set, 1000, 5, &state);
	set.spec.whole = true;
	for (int isa = SN_ISA_BASE; isa <= (int)sn_isa_best(); isa++) {
		struct sn_table *table = sn_table_create_isa(&set.spec, isa, &err);

		assert_non_null(table);
		for (uint32_t i = 0; i < 4096; i++) {
			uint32_t class;
			struct sn_key key;

			set_key_at_bounds(&set, (uint32_t)(set_random(&state) % set.spec.n_boxes), &key,
					  &state);
			for (uint32_t d = SET_SPORT; d <= SET_DPORT; d++)
				key.dim[d] = key.dim[d] <= 65536 ? key.dim[d] : 65536;
			sn_table_lookup(table, &key, &class, 1);
			assert_int_equal(class, set_first_match(&set, &key));
		}
		sn_table_free(table);
	}
	set_free(&set);
}

/* Those of the repository, or of the folder that SINTER_DATA names. */
static void classbench_rule_sets_are_matched_in_order(void **unused)
{
	const char *data = getenv("SINTER_DATA");
	uint64_t state = 8;
	char pattern[4096];
	glob_t files;

	(void)unused;
	snprintf(pattern, sizeof(pattern), "%s/classbench/*[0-9k]", data ? data : DATA_DIR);
	if (glob(pattern, 0, NULL, &files) != 0)
		fail_msg("%s: no rule sets", pattern);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct set set;

		if (!set_read_classbench(&set, files.gl_pathv[i]))
			fail_msg("%s: cannot be read", files.gl_pathv[i]);
		check(&set, "tree", 8192, &state);
		set_free(&set);
	}
	globfree(&files);
}

static void wildcards_do_not_blow_up_memory(void **unused)
{
	uint64_t state = 9;

	(void)unused;
	for (unsigned int percent = 0; percent <= 100; percent += 20) {
		struct sn_error err;
		struct sn_table *table;
		struct set set;

		set_make_classbench(&set, 5000, percent, &state);
		table = sn_table_create(&set.spec, &err);
		assert_non_null(table);
		if (sn_table_size(table) > 12u << 20)
			fail_msg("5,000 rules with %u %% wildcards take %zu bytes, more than 12 MiB", percent,
				 sn_table_size(table));
		sn_table_free(table);
		set_free(&set);
	}
}

static void prefixes_in_any_order_are_matched_by_order_not_by_length(void **unused)
{
	static const unsigned int lengths[] = {32, 30, 25, 24, 24, 24, 22, 17, 16, 16, 12, 8, 3, 0};
	uint64_t state = 10;

	(void)unused;
	for (int round = 0; round < 6; round++) {
		uint32_t n = round < 3 ? 60 : 3000;
		struct set set;

		set_init(&set, 1, 0, 1);
		for (uint32_t i = 0; i < n; i++) {
			/* round 0, 3: longest prefixes first, as of a router */
			size_t which = round % 3 == 0 ? (size_t)i * 13 / n : set_random(&state) % 13;
			uint32_t host = (uint32_t)((1ull << (32 - lengths[which])) - 1);
			uint32_t address = (uint32_t)set_random(&state) & 0x83ff0fff;
			const uint32_t bounds[] = {address & ~host, address | host};

			set_add(&set, bounds, NULL);
		}
		if (round % 2 == 0)
			set_add(&set, (const uint32_t[]){EVERYTHING}, NULL);
		check(&set, "lpm", 8192, &state);
		set_free(&set);
	}
}

static void ranges_of_one_dimension_need_not_be_prefixes(void **unused)
{
	uint64_t state = 11;

	(void)unused;
	for (unsigned int bits = 8; bits <= 32; bits += 8) {
		struct set set;

		set_init(&set, 1, 0, 0);
		for (int i = 0; i < 500; i++)
			add_random_box(&set, bits, &state);
		check(&set, NULL, 4096, &state);
		set_free(&set);
	}
}

static void routes_behind_equal_columns_are_still_routes(void **unused)
{
	uint64_t state = 12;
	struct set set;

	(void)unused;
	set_init(&set, 3, 1, 2);
	for (uint32_t i = 0; i < 100; i++)
		set_add(&set, (const uint32_t[]){0, 65536, i << 24, i << 24 | 0xffff, 0, 255}, NULL);
	set_add(&set, (const uint32_t[]){0, 65536, EVERYTHING, 0, 255}, NULL);
	check(&set, "lpm", 2048, &state);
	set_free(&set);
}

/* A set with some of another's boxes, and others in the place of the rest. */
static void set_change(struct set *to, const struct set *from, unsigned int percent, uint64_t *state)
{
	struct set others;

	set_make_classbench(&others, from->spec.n_boxes, 30, state);
	set_init(to, from->spec.n_dims, from->spec.n_words, from->spec.address_dims);
	for (uint32_t i = 0; i < from->spec.n_boxes; i++) {
		const struct set *chosen = set_random(state) % 100 < percent ? &others : from;

		set_add(to, chosen->bounds + 2 * (size_t)i * from->spec.n_dims,
			chosen->required + (size_t)i * from->spec.n_words);
	}
	set_free(&others);
}

static struct sn_table *make(const struct set *set)
{
	struct sn_error err;
	struct sn_table *table = sn_table_create(&set->spec, &err);

	if (table == NULL)
		fail_msg("a table of %u boxes was not made: %s", set->spec.n_boxes, err.text);
	return table;
}

static void a_table_like_the_one_before_is_matched_in_order(void **unused)
{
	static const unsigned int percents[] = {0, 1, 0, 5, 100, 2, 50, 1};
	uint64_t state = 13;
	struct sn_table *before;
	struct set set;

	(void)unused;
	set_make_classbench(&set, 2000, 30, &state);
	before = make(&set);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		struct sn_table *table, *afresh;
		struct set next;

		set_change(&next, &set, percents[i], &state);
		afresh = make(&next);
		next.spec.like = before;
		check(&next, "tree", 2048, &state);
		table = make(&next);
		if (sn_table_size(table) > sn_table_size(afresh) * 3 / 2)
			fail_msg("%u %% changed: a table like the one before takes %zu bytes, one made "
				 "afresh %zu",
				 percents[i], sn_table_size(table), sn_table_size(afresh));
		next.spec.like = NULL;
		sn_table_free(before);
		sn_table_free(afresh);
		set_free(&set);
		before = table;
		set = next;
	}
	sn_table_free(before);
	set_free(&set);
}

static void a_table_of_another_shape_is_no_model(void **unused)
{
	uint64_t state = 14;
	struct set routes, rules, few;

	(void)unused;
	set_init(&routes, 1, 0, 1);
	for (uint32_t i = 0; i < 100; i++)
		set_add(&routes, (const uint32_t[]){i << 24, i << 24 | 0xffff}, NULL);
	set_init(&few, 6, 1, 3);
	for (int i = 0; i < 400; i++)
		add_random_box(&few, 12, &state);
	set_make_classbench(&rules, 500, 30, &state);
	for (int i = 0; i < 9; i++) {
		struct set *sets[] = {&routes, &rules, &few};
		struct set *set = sets[i % 3];
		struct sn_table *other = make(sets[i / 3]);

		set->spec.like = other;
		check(set, NULL, 1024, &state);
		set->spec.like = NULL;
		sn_table_free(other);
	}
	set_free(&routes);
	set_free(&rules);
	set_free(&few);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The fastest of five builds. */
static uint64_t build_ns(const struct set *set)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t start = cpu_ns(), took;

		sn_table_free(make(set));
		took = cpu_ns() - start;
		if (took < least)
			least = took;
	}
	return least;
}

static void a_table_like_the_one_before_is_made_sooner(void **unused)
{
	uint64_t state = 15, afresh, alike;
	struct sn_table *before;
	struct set set, next;

	(void)unused;
	set_make_classbench(&set, 5000, 30, &state);
	before = make(&set);
	set_change(&next, &set, 1, &state);
	afresh = build_ns(&next);
	next.spec.like = before;
	alike = build_ns(&next);
	if (alike > afresh * 2 / 3)
		fail_msg("1 %% of 5,000 rules changed: the table is made in %lu us, without the one before "
			 "in %lu us",
			 (unsigned long)alike / 1000, (unsigned long)afresh / 1000);
	sn_table_free(before);
	set_free(&set);
	set_free(&next);
}

static void assert_refused(const struct sn_table_spec *spec, const char *message)
{
	struct sn_error err = {0};

	assert_null(sn_table_create(spec, &err));
	assert_string_equal(err.text, message);
}

static void bad_tables_are_refused_with_the_value_and_what_would_be_right(void **unused)
{
	struct set set;

	(void)unused;
	assert_refused(&(struct sn_table_spec){.n_dims = 7},
		       "table has 7 dimensions, at most 6 are possible");
	assert_refused(&(struct sn_table_spec){.n_words = 5},
		       "table has 5 words of bits, at most 4 are possible");
	set_init(&set, 1, 0, 0);
	set_add(&set, (const uint32_t[]){1, 2}, NULL);
	set_add(&set, (const uint32_t[]){4, 3}, NULL);
	assert_refused(&set.spec, "box 1, dimension 0: range 4..3 is reversed");
	set.bounds[3] = 4;
	set.classes[0] = UINT32_MAX;
	assert_refused(&set.spec, "box 0: class 4294967295 is too large, at most 2147483646 is possible");
	set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_gives_no_class),
		cmocka_unit_test(one_box_holds_its_bounds_and_nothing_beyond),
		cmocka_unit_test(of_duplicate_boxes_the_first_decides),
		cmocka_unit_test(boxes_behind_one_that_takes_everything_are_hidden),
		cmocka_unit_test(only_bits_tell_boxes_apart),
		cmocka_unit_test(random_boxes_are_matched_in_order),
		cmocka_unit_test(rule_sets_like_classbench_are_matched_in_order),
		cmocka_unit_test(whole_tables_are_matched_in_order),
		cmocka_unit_test(classbench_rule_sets_are_matched_in_order),
		cmocka_unit_test(wildcards_do_not_blow_up_memory),
		cmocka_unit_test(prefixes_in_any_order_are_matched_by_order_not_by_length),
		cmocka_unit_test(ranges_of_one_dimension_need_not_be_prefixes),
		cmocka_unit_test(routes_behind_equal_columns_are_still_routes),
		cmocka_unit_test(a_table_like_the_one_before_is_matched_in_order),
		cmocka_unit_test(a_table_of_another_shape_is_no_model),
		cmocka_unit_test(a_table_like_the_one_before_is_made_sooner),
		cmocka_unit_test(bad_tables_are_refused_with_the_value_and_what_would_be_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
