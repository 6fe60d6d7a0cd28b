/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tables of a segment with a FIB. Most ask for the number of the destination alone, but for a few ranges of
 * addresses in front (those of the chain): these become a trie that shares all but a few chunks with the
 * FIB's.
 */

#include <errno.h>
#include <stdlib.h>

#include "sn_classifier.h"
#include "sn_fib.h"

typedef Sinter__Program__V1__Table table_msg;

#define RANGES_MAX 4096u /* in front: they are few, or the table is another */

/* A table as it is flattened. */
struct flat {
	const table_msg *msg;
	size_t n_words;
	uint32_t numbers;		      /* of the FIB */
	uint32_t ranges;		      /* boxes in front, in order */
	uint32_t *classes;		      /* by number, then of the ranges */
	uint64_t (*bits)[SN_TABLE_WORDS_MAX]; /* by number */
};

static bool asks_for_routes(const table_msg *msg)
{
	if (msg->n_dims > 1 || (msg->n_dims == 1 && (uint32_t)msg->dims[0] != SN_DST))
		return false;
	for (size_t i = 0; i < msg->n_bits; i++)
		if ((uint32_t)msg->bits[i]->field != SN_ROUTE)
			return false;
	return msg->n_bits > 0;
}

static void number_bits(struct flat *f)
{
	for (size_t i = 0; i < f->msg->n_bits; i++) {
		const Sinter__Program__V1__BitSet *b = f->msg->bits[i];

		for (size_t j = 0; j < b->n_ranges; j += 2)
			for (uint32_t v = b->ranges[j]; v <= b->ranges[j + 1] && v < f->numbers; v++)
				f->bits[v][i / 64] |= 1ull << i % 64;
	}
}

static bool takes_every_address(const struct flat *f, size_t box)
{
	return f->msg->n_dims == 0 ||
	       (f->msg->bounds[2 * box] == 0 && f->msg->bounds[2 * box + 1] == UINT32_MAX);
}

static bool takes_every_number(const struct flat *f, size_t box)
{
	for (size_t w = 0; w < f->n_words; w++)
		if (f->msg->required[box * f->n_words + w] != 0)
			return false;
	return true;
}

static bool takes_number(const struct flat *f, size_t box, uint32_t number)
{
	for (size_t w = 0; w < f->n_words; w++)
		if (f->msg->required[box * f->n_words + w] & ~f->bits[number][w])
			return false;
	return true;
}

/* Finds the class of each number; false: the table is none that can be flattened. */
static bool find_classes(struct flat *f)
{
	uint32_t left = f->numbers;

	for (size_t box = f->ranges; left > 0; box++) {
		if (!takes_every_address(f, box))
			return false;
		for (uint32_t v = 0; v < f->numbers; v++) {
			if (f->classes[v] == SN_TABLE_NONE && takes_number(f, box, v)) {
				f->classes[v] = f->msg->classes[box];
				left--;
			}
		}
	} /* the last box takes all */
	return true;
}

/* The FIB's trie, with the ranges in front. -1: its pool is full. */
static int lay_over(const struct flat *f, struct sn_trie *trie)
{
	for (uint32_t i = f->ranges; i-- > 0;)
		if (sn_trie_fill(trie, f->msg->bounds[2 * (size_t)i], f->msg->bounds[2 * (size_t)i + 1],
				 f->numbers + i) != 0)
			return -1;
	return 0;
}

static struct sn_table *make_table(const struct flat *f, const struct sn_fib *fib)
{
	struct sn_table *table = NULL;
	struct sn_trie trie, moved;

	if (sn_fib_trie(fib, &trie) != 0)
		return NULL;
	if (lay_over(f, &trie) != 0) {
		int rc = sn_trie_move(&moved, &trie,
				      4 * RANGES_MAX); /* what is laid over already is laid over again */

		sn_trie_free(&trie);
		if (rc != 0)
			return NULL;
		trie = moved;
		if (lay_over(f, &trie) != 0)
			goto out;
	}
	table = sn_table_create_fib(&trie, f->classes, f->numbers + f->ranges);
out:
	sn_trie_free(&trie);
	return table;
}

int sn_classifier_flatten(struct sn_classifier *c, const table_msg *msg, const struct sn_fib *fib,
			  const char *at, struct sn_error *err)
{
	struct flat f = {.msg = msg, .n_words = (msg->n_bits + 63) / 64, .numbers = sn_fib_top(fib) + 1};
	int rc = 0;

	if (!asks_for_routes(msg))
		return 0;
	while (f.ranges < RANGES_MAX && !takes_every_address(&f, f.ranges) &&
	       takes_every_number(&f, f.ranges))
		f.ranges++;
	f.classes = malloc(((size_t)f.numbers + f.ranges) * sizeof(*f.classes));
	f.bits = calloc(f.numbers, sizeof(*f.bits));
	if (f.classes == NULL || f.bits == NULL)
		goto no_memory;
	for (uint32_t v = 0; v < f.numbers; v++)
		f.classes[v] = SN_TABLE_NONE;
	for (uint32_t i = 0; i < f.ranges; i++)
		f.classes[f.numbers + i] = msg->classes[i];
	number_bits(&f);
	if (!find_classes(&f))
		goto out;
	c->table = make_table(&f, fib);
	if (c->table == NULL)
		goto no_memory;
	c->n_dims = 1;
	c->dims[0] = SN_DST;
	c->reads = 1u << SN_DST;
	sn_plain_keys_init(c);
	goto out;
no_memory:
	rc = sn_fail(err, "%s: no memory for a trie of routes", at);
out:
	free(f.classes);
	free(f.bits);
	return rc;
}
