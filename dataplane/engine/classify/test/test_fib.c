/* SPDX-License-Identifier: Apache-2.0 */

/* Tables of routes by content: each that is made by a change is compared with the same made from nothing, and
 * with ranges that are tried one after the other. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sn_classifier.h"
#include "sn_fib.h"
#include "table_sets.h"

#define RANGES_MAX 64

/* Ranges that were laid over each other, in order. */
struct model {
	uint32_t first[4096], last[4096], number[4096];
	size_t n;
};

/* A change as it is drawn: ascending, disjoint ranges. */
struct drawn {
	uint32_t first[RANGES_MAX], last[RANGES_MAX], number[RANGES_MAX];
	struct sn_fib_change change;
};

static uint32_t model_find(const struct model *m, uint32_t address)
{
	for (size_t i = m->n; i-- > 0;)
		if (m->first[i] <= address && address <= m->last[i])
			return m->number[i];
	return 0;
}

/* Near each other, so that ranges share chunks, and end within and at the ends of chunks. */
static uint32_t draw_address(uint64_t *state)
{
	static const uint32_t near[] = {0, 0x0a000000, 0x0a0100f0, 0xc6120000, 0xfffe0000};
	uint32_t at = near[set_random(state) % 5] + (uint32_t)(set_random(state) % (1u << 17));

	switch (set_random(state) % 4) {
	case 0:
		return at & ~0xffffu;
	case 1:
		return at & ~0xffu;
	case 2:
		return at | 0xff;
	}
	return at;
}

static void draw(struct drawn *d, uint64_t *state)
{
	size_t n = 1 + set_random(state) % 8;
	uint32_t points[2 * RANGES_MAX];

	for (size_t i = 0; i < 2 * n; i++)
		points[i] = draw_address(state);
	for (size_t i = 0; i < 2 * n; i++) /* sorted */
		for (size_t k = i + 1; k < 2 * n; k++)
			if (points[k] < points[i]) {
				uint32_t swap = points[i];

				points[i] = points[k];
				points[k] = swap;
			}
	d->change = (struct sn_fib_change){0, d->first, d->last, d->number};
	for (size_t i = 0; i < n; i++) {
		size_t at = d->change.n;

		if (at > 0 && points[2 * i] <= d->last[at - 1])
			continue;
		d->first[at] = points[2 * i];
		d->last[at] = points[2 * i + 1];
		d->number[at] = (uint32_t)(set_random(state) % 4);
		d->change.n++;
	}
}

static void lay(struct model *m, const struct drawn *d)
{
	for (size_t i = 0; i < d->change.n; i++, m->n++) {
		m->first[m->n] = d->first[i];
		m->last[m->n] = d->last[i];
		m->number[m->n] = d->number[i];
	}
}

static void compare(const struct sn_fib *fib, const struct model *m, uint64_t *state)
{
	uint32_t top = 0;

	for (size_t i = 0; i < m->n; i++) {
		const uint32_t at[] = {m->first[i], m->last[i], m->first[i] - 1, m->last[i] + 1};

		for (int k = 0; k < 4; k++)
			assert_int_equal(sn_fib_find(fib, at[k]), model_find(m, at[k]));
	}
	for (int i = 0; i < 200; i++) {
		uint32_t at = draw_address(state);

		assert_int_equal(sn_fib_find(fib, at), model_find(m, at));
	}
	for (size_t i = 0; i < m->n; i++)
		if (model_find(m, m->first[i]) > top)
			top = model_find(m, m->first[i]);
	assert_true(sn_fib_top(fib) >= top && sn_fib_top(fib) < 4);
}

/* The same table made at once: of all places where the model changes. */
static struct sn_fib *from_nothing(const struct model *m, struct sn_error *err)
{
	static uint32_t points[2 * 4096 + 1], first[2 * 4096 + 1], last[2 * 4096 + 1], number[2 * 4096 + 1];
	struct sn_fib_change change = {0, first, last, number};
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		points[n++] = m->first[i];
		if (m->last[i] != UINT32_MAX)
			points[n++] = m->last[i] + 1;
	}
	for (size_t i = 1; i < n; i++) {
		uint32_t point = points[i];
		size_t k = i;

		for (; k > 0 && points[k - 1] > point; k--)
			points[k] = points[k - 1];
		points[k] = point;
	}
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && points[i] == points[i + 1])
			continue;
		first[change.n] = points[i];
		last[change.n] = i + 1 < n ? points[i + 1] - 1 : UINT32_MAX;
		number[change.n++] = model_find(m, points[i]);
	}
	return sn_fib_create(NULL, &change, err);
}

static void a_changed_table_is_the_one_made_from_nothing(void **unused)
{
	uint64_t state = 7;
	struct sn_error err = {0};

	(void)unused;
	for (int round = 0; round < 20; round++) {
		static struct model model, before;
		struct sn_fib *fib = sn_fib_create(NULL, &(struct sn_fib_change){0}, &err);

		model.n = 0;
		for (int turn = 0; turn < 12; turn++) {
			struct sn_fib *next, *whole;
			struct drawn d;

			before = model;
			draw(&d, &state);
			lay(&model, &d);
			next = sn_fib_create(fib, &d.change, &err);
			whole = from_nothing(&model, &err);
			if (next == NULL || whole == NULL)
				fail_msg("%s", err.text);
			compare(next, &model, &state);
			compare(fib, &before, &state); /* it goes on as it was */
			assert_memory_equal(sn_fib_hash(next), sn_fib_hash(whole), SN_SHA256_LEN);
			assert_int_equal(sn_fib_top(next), sn_fib_top(whole));
			sn_fib_put(whole);
			sn_fib_put(fib);
			fib = next;
		}
		sn_fib_put(fib);
	}
}

/* Tables come and go again and again: what they had is used again. */
static void memory_does_not_grow_with_changes(void **unused)
{
	static const uint32_t first[] = {0x0a000001, 0xc6120900}, last[] = {0x0a000001, 0xc61209ff};
	static const uint32_t one[] = {1, 2}, other[] = {2, 0};
	struct sn_error err = {0};
	struct sn_fib *fib = sn_fib_create(NULL, &(struct sn_fib_change){2, first, last, one}, &err);
	size_t size = sn_fib_size(fib);

	(void)unused;
	for (int i = 0; i < 2000; i++) {
		struct sn_fib *next = sn_fib_create(
			fib, &(struct sn_fib_change){2, first, last, i % 2 ? one : other}, &err);

		assert_non_null(next);
		sn_fib_put(fib);
		fib = next;
		assert_true(sn_fib_size(fib) <= size);
	}
	sn_fib_put(fib);
}

/* A small table becomes a large one: its memory is too small, and it moves. */
static void a_table_that_outgrows_its_memory_moves(void **unused)
{
	enum { N = 40000 };
	uint32_t *first = malloc(N * sizeof(*first)), *number = malloc(N * sizeof(*number));
	struct sn_error err = {0};
	struct sn_fib *small = sn_fib_create(NULL, &(struct sn_fib_change){0}, &err), *large, *whole;

	(void)unused;
	for (uint32_t i = 0; i < N; i++) { /* a host in each of many blocks */
		first[i] = i << 16 | 0x8080;
		number[i] = 1 + i % 3;
	}
	large = sn_fib_create(small, &(struct sn_fib_change){N, first, first, number}, &err);
	whole = sn_fib_create(NULL, &(struct sn_fib_change){N, first, first, number}, &err);
	if (large == NULL || whole == NULL)
		fail_msg("%s", err.text);
	assert_memory_equal(sn_fib_hash(large), sn_fib_hash(whole), SN_SHA256_LEN);
	assert_int_equal(sn_fib_find(large, 5u << 16 | 0x8080), 3);
	assert_int_equal(sn_fib_find(small, 5u << 16 | 0x8080), 0);
	sn_fib_put(small);
	sn_fib_put(large);
	sn_fib_put(whole);
	free(first);
	free(number);
}

static void assert_hash(const struct sn_fib *fib, const char *want)
{
	char hex[2 * SN_SHA256_LEN + 1];

	for (int i = 0; i < SN_SHA256_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", sn_fib_hash(fib)[i]);
	assert_string_equal(hex, want);
}

/* TestHashesAreThoseThatTheEngineSays in dataplane/fib has the same. */
static void hashes_are_those_that_the_compiler_says(void **unused)
{
	static const uint32_t first[] = {0, 0x0b000000, 0x0b000100, 0xc6120900, 0xfffffff0};
	static const uint32_t last[] = {0x0affffff, 0x0b0000ff, 0x0b000100, 0xc61209ff, UINT32_MAX};
	static const uint32_t number[] = {1, 2, 65535, 3, 4};
	struct sn_error err = {0};
	struct sn_fib *none = sn_fib_create(NULL, &(struct sn_fib_change){0}, &err);
	struct sn_fib *some = sn_fib_create(none, &(struct sn_fib_change){5, first, last, number}, &err);

	(void)unused;
	assert_hash(none, "169d5487278f80f3e90d84d505f51758de0aad57cb08948daf3338b922d04c99");
	assert_hash(some, "455fe63d17f3578e75c0e4f502abd493195a584fbc2feec153397ac0047387d9");
	sn_fib_put(some);
	sn_fib_put(none);
}

static void refuse(const struct sn_fib_change *change, const char *says)
{
	struct sn_error err = {0};

	assert_null(sn_fib_create(NULL, change, &err));
	assert_string_equal(err.text, says);
}

static void a_wrong_change_is_refused(void **unused)
{
	static const uint32_t up[] = {1, 4}, down[] = {4, 9}, number[] = {1, 65536}, fine[] = {1, 2};

	(void)unused;
	refuse(&(struct sn_fib_change){1, down, up, fine},
	       "range 0 is 0x4-0x1, want ascending, disjoint ranges");
	refuse(&(struct sn_fib_change){2, up, down, fine},
	       "range 1 is 0x4-0x9, want ascending, disjoint ranges");
	refuse(&(struct sn_fib_change){2, up, up, number}, "range 1 has number 65536, want at most 65535");
	refuse(&(struct sn_fib_change){SN_FIB_RANGES_MAX + 1, NULL, NULL, NULL},
	       "16777217 ranges, want at most 16777216");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_table_is_the_one_made_from_nothing),
		cmocka_unit_test(memory_does_not_grow_with_changes),
		cmocka_unit_test(a_table_that_outgrows_its_memory_moves),
		cmocka_unit_test(hashes_are_those_that_the_compiler_says),
		cmocka_unit_test(a_wrong_change_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
