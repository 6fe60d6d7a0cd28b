/* SPDX-License-Identifier: Apache-2.0 */
/* The heaviest keys of a stream: what Space-Saving promises holds, on Zipf traffic and on the worst. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sn_top.h"

#define KEYS	50000u
#define PACKETS 1000000u

static uint64_t random64(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

struct truth {
	uint64_t packets, bytes;
};

static struct sn_top_key key_of(uint32_t key)
{
	return (struct sn_top_key){{key, (uint64_t)key << 32 | 6}};
}

static void add(struct sn_top *top, struct truth *truth, uint32_t key, uint64_t bytes)
{
	sn_top_add(top, key_of(key), 1, bytes);
	truth[key].packets++;
	truth[key].bytes += bytes;
}

/* All that is promised; how many keys are above the bound. */
static uint32_t check(const struct sn_top *top, const struct truth *truth, uint32_t keys)
{
	uint64_t bound = top->bytes / top->capacity, sum = 0, packets = 0, bytes = 0;
	struct sn_top_row *rows = calloc(top->n + 1, sizeof(*rows));
	uint8_t *listed = calloc(keys, 1);
	uint32_t heavy = 0;

	assert_non_null(rows);
	assert_non_null(listed);
	memcpy(rows, top->rows, top->n * sizeof(*rows));
	sn_top_sort(rows, top->n);
	for (uint32_t i = 0; i < top->n; i++) {
		const struct truth *t = &truth[rows[i].key.words[0]];

		assert_false(listed[rows[i].key.words[0]]);
		listed[rows[i].key.words[0]] = 1;
		assert_true(t->bytes <= rows[i].bytes);
		assert_true(rows[i].bytes - rows[i].error <= t->bytes);
		assert_true(rows[i].packets <= t->packets);
		assert_true(rows[i].error <= bound);
		assert_true(i == 0 || rows[i].bytes <= rows[i - 1].bytes);
		sum += rows[i].bytes;
	}
	for (uint32_t i = 0; i < keys; i++) {
		packets += truth[i].packets;
		bytes += truth[i].bytes;
		heavy += truth[i].bytes > bound;
		assert_true(listed[i] || truth[i].bytes <= sn_top_least(top));
		assert_true(listed[i] || truth[i].bytes <= bound);
	}
	assert_int_equal(sum, bytes); /* no byte is counted twice, none is lost */
	assert_int_equal(top->bytes, bytes);
	assert_int_equal(top->packets, packets);
	free(rows);
	free(listed);
	return heavy;
}

static struct truth *open_truth(void)
{
	struct truth *truth = calloc(KEYS, sizeof(*truth));

	assert_non_null(truth);
	return truth;
}

/* Key k comes with a probability of 1/(k + 1), as Zipf's law says. */
static void zipf_traffic_keeps_the_bounds(void **state)
{
	static const uint32_t capacities[] = {16, 100, 1024, 16384};
	double *until = malloc(KEYS * sizeof(*until)), all = 0;

	(void)state;
	assert_non_null(until);
	for (uint32_t k = 0; k < KEYS; k++)
		until[k] = all += 1.0 / (k + 1);
	for (size_t c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++) {
		struct sn_top *top = sn_top_create(capacities[c], random64());
		struct truth *truth = open_truth();

		assert_non_null(top);
		for (uint32_t i = 0; i < PACKETS; i++) {
			double at = (double)(random64() >> 11) / 9007199254740992.0 * all;
			uint32_t low = 0, high = KEYS - 1;

			while (low < high) {
				uint32_t middle = (low + high) / 2;

				if (until[middle] < at)
					low = middle + 1;
				else
					high = middle;
			}
			add(top, truth, low, 40 + random64() % 1461);
		}
		assert_true(check(top, truth, KEYS) > 0);
		sn_top_free(top);
		free(truth);
	}
	free(until);
}

static void keys_that_all_weigh_the_same_keep_the_bounds(void **state)
{
	struct sn_top *top = sn_top_create(100, 1);
	struct truth *truth = open_truth();

	(void)state;
	for (uint32_t i = 0; i < 20 * KEYS; i++)
		add(top, truth, i % KEYS, 1500);
	assert_int_equal(check(top, truth, KEYS), 0);
	sn_top_free(top);
	free(truth);
}

/* One key among a flood of keys that come once. */
static void one_heavy_key_is_found_in_a_flood(void **state)
{
	struct sn_top *top = sn_top_create(16, 1);
	struct truth *truth = open_truth();

	(void)state;
	for (uint32_t i = 1; i < KEYS; i++) {
		add(top, truth, i, 64);
		if (i % 8 == 0)
			add(top, truth, 0, 64);
	}
	assert_int_equal(check(top, truth, KEYS), 1);
	sn_top_free(top);
	free(truth);
}

static void as_many_keys_as_there_are_rows_are_counted_exactly(void **state)
{
	struct sn_top *top = sn_top_create(100, 1);

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct truth *truth = open_truth();

		for (uint32_t i = 0; i < 100000; i++)
			add(top, truth, (uint32_t)(random64() % 100), random64() % 1500);
		check(top, truth, KEYS);
		for (uint32_t i = 0; i < top->n; i++) {
			assert_int_equal(top->rows[i].error, 0);
			assert_int_equal(top->rows[i].bytes, truth[top->rows[i].key.words[0]].bytes);
			assert_int_equal(top->rows[i].packets, truth[top->rows[i].key.words[0]].packets);
		}
		free(truth);
		sn_top_clear(top); /* after which all is as at first */
		assert_int_equal(top->n + top->bytes + top->packets, 0);
	}
	sn_top_free(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zipf_traffic_keeps_the_bounds),
		cmocka_unit_test(keys_that_all_weigh_the_same_keep_the_bounds),
		cmocka_unit_test(one_heavy_key_is_found_in_a_flood),
		cmocka_unit_test(as_many_keys_as_there_are_rows_are_counted_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
