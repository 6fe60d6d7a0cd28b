/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_top.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sn_hash.h"
#include "sn_lines.h"

struct sn_top *sn_top_create(uint32_t capacity, uint64_t seed)
{
	struct sn_top *top = sn_lines(1, sizeof(*top));
	uint32_t buckets = 4;

	if (!top)
		return NULL;
	while (buckets < 2 * capacity)
		buckets *= 2;
	top->capacity = capacity;
	top->mask = buckets - 1;
	top->seed = seed;
	top->rows = sn_lines(capacity, sizeof(*top->rows));
	top->heap = sn_lines(capacity, sizeof(*top->heap));
	top->buckets = sn_lines(buckets, sizeof(*top->buckets));
	if (!top->rows || !top->heap || !top->buckets) {
		sn_top_free(top);
		return NULL;
	}
	return top;
}

void sn_top_free(struct sn_top *top)
{
	if (!top)
		return;
	free(top->rows);
	free(top->heap);
	free(top->buckets);
	free(top);
}

void sn_top_clear(struct sn_top *top)
{
	memset(top->buckets, 0, ((size_t)top->mask + 1) * sizeof(*top->buckets));
	top->n = 0;
	top->packets = top->bytes = 0;
}

static uint32_t bucket_of(const struct sn_top *top, const struct sn_top_key *key)
{
	return (uint32_t)sn_hash2(key->words[0], key->words[1], top->seed) & top->mask;
}

static bool same(const struct sn_top_key *a, const struct sn_top_key *b)
{
	return ((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1])) == 0;
}

/* The bucket that has the key's row, or the empty one where it would be noted. */
static uint32_t find(const struct sn_top *top, const struct sn_top_key *key)
{
	uint32_t i = bucket_of(top, key);

	while (top->buckets[i] && !same(&top->rows[top->buckets[i] - 1].key, key))
		i = (i + 1) & top->mask;
	return i;
}

/* Empties a bucket; those behind it move up, so that each is still found from its key's own bucket on. */
static void forget(struct sn_top *top, uint32_t hole)
{
	uint32_t i = hole;

	for (;;) {
		uint32_t home;

		i = (i + 1) & top->mask;
		if (!top->buckets[i])
			break;
		home = bucket_of(top, &top->rows[top->buckets[i] - 1].key);
		if (((i - home) & top->mask) < ((i - hole) & top->mask))
			continue;
		top->buckets[hole] = top->buckets[i];
		hole = i;
	}
	top->buckets[hole] = 0;
}

static void put(struct sn_top *top, uint32_t place, uint32_t row)
{
	top->heap[place] = row;
	top->rows[row].place = place;
}

static void sift_up(struct sn_top *top, uint32_t row)
{
	uint32_t place = top->rows[row].place;

	while (place > 0) {
		uint32_t above = top->heap[(place - 1) / 2];

		if (top->rows[above].bytes <= top->rows[row].bytes)
			break;
		put(top, place, above);
		place = (place - 1) / 2;
	}
	put(top, place, row);
}

static void sift_down(struct sn_top *top, uint32_t row)
{
	uint32_t place = top->rows[row].place;

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= top->n)
			break;
		if (child + 1 < top->n &&
		    top->rows[top->heap[child + 1]].bytes < top->rows[top->heap[child]].bytes)
			child++;
		if (top->rows[top->heap[child]].bytes >= top->rows[row].bytes)
			break;
		put(top, place, top->heap[child]);
		place = child;
	}
	put(top, place, row);
}

static void begin(struct sn_top *top, struct sn_top_key key, uint32_t bucket, uint64_t packets,
		  uint64_t bytes)
{
	uint32_t row = top->n++;

	top->rows[row] = (struct sn_top_row){.key = key, .bytes = bytes, .packets = packets, .place = row};
	top->buckets[bucket] = row + 1;
	sift_up(top, row);
}

/* The key takes the lightest row, with all that its keys before had: that may be the new one's, too. */
static void replace(struct sn_top *top, struct sn_top_key key, uint64_t packets, uint64_t bytes)
{
	uint32_t row = top->heap[0];
	struct sn_top_row *r = &top->rows[row];

	forget(top, find(top, &r->key));
	r->key = key;
	r->error = r->bytes;
	r->bytes += bytes;
	r->packets = packets;
	top->buckets[find(top, &key)] = row + 1;
	sift_down(top, row);
}

void sn_top_add(struct sn_top *top, struct sn_top_key key, uint64_t packets, uint64_t bytes)
{
	uint32_t bucket = find(top, &key), row;

	top->packets += packets;
	top->bytes += bytes;
	if (top->buckets[bucket]) {
		row = top->buckets[bucket] - 1;
		top->rows[row].bytes += bytes;
		top->rows[row].packets += packets;
		sift_down(top, row);
	} else if (top->n < top->capacity) {
		begin(top, key, bucket, packets, bytes);
	} else {
		replace(top, key, packets, bytes);
	}
}

uint64_t sn_top_least(const struct sn_top *top)
{
	return top->n == top->capacity ? top->rows[top->heap[0]].bytes : 0;
}

static int heavier(const void *a, const void *b)
{
	const struct sn_top_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

void sn_top_sort(struct sn_top_row *rows, size_t n)
{
	qsort(rows, n, sizeof(*rows), heavier);
}
