/* SPDX-License-Identifier: Apache-2.0 */
/* A table in memory: its shards, their slabs, chains and wheels, and what a kind adds. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_huge.h"
#include "sn_state_impl.h"

#define LINE	    64u
#define ENTRIES_MAX (BUCKET_INDEX) /* of a shard */

void sn_state_table_free(struct sn_state_table *t)
{
	if (!t)
		return;
	if (t->kind->table_free)
		t->kind->table_free(t);
	sn_growing_free(t->mapping);
	free(t->config.name);
	free(t->config.own);
	free(t);
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Where the parts of a mapping lie, from its start on. */
struct layout {
	size_t memory, wheels, buckets, tier_1, tier_2, rows, slab, end;
	size_t rows_size; /* of one shard's */
};

static struct layout layout_of(const struct sn_state_table *t, const struct sn_shard_size *size)
{
	size_t n = size->shards, first = n * (WHEEL_SLOTS + BUCKETS_0) * sizeof(uint32_t);
	struct layout l = {.rows_size = round_up(size->rows, ROW_BYTES)};

	l.memory = round_up(n * t->kind->shard_size, LINE);
	l.tier_1 = round_up(l.memory + n * round_up(size->memory, LINE) + first, SN_HUGE_PAGE);
	l.buckets = l.tier_1 - n * BUCKETS_0 * sizeof(uint32_t);
	l.wheels = l.tier_1 - first;
	l.tier_2 = l.tier_1 + n * BUCKETS_1 * sizeof(uint32_t);
	l.rows = round_up(l.tier_2 + n * t->buckets_max * sizeof(uint32_t), SN_HUGE_PAGE);
	l.slab = round_up(l.rows + n * l.rows_size, SN_HUGE_PAGE);
	l.end = l.slab + n * round_up(size->entries * sizeof(struct sn_entry_line), ROW_BYTES);
	return l;
}

static void shard_init(const struct sn_state_table *t, uint32_t number, const struct sn_shard_size *size,
		       const struct layout *l, uint8_t *base)
{
	struct sn_state_shard *sh = shard_at(t, number);
	size_t row = (size_t)number * ROW_BYTES;

	sh->slab_max = RTE_MIN(size->entries, ENTRIES_MAX);
	sh->stretches = t->mapping->stretches;
	sh->spread = (uint32_t)__builtin_ctz(size->shards);
	sh->tier_2_log = (uint32_t)__builtin_ctz(t->buckets_max);
	sh->wheel = (uint32_t *)(base + l->wheels) + number * WHEEL_SLOTS;
	sh->buckets = (uint32_t *)(base + l->buckets + row);
	sh->slab = (struct sn_entry_line *)(base + l->slab + row);
	if (t->kind->shard_init)
		t->kind->shard_init(t, sh, number, t->memory + number * t->memory_size, t->rows + row);
}

/* In the order of their numbers. */
static void add_stretches(struct sn_growing *mapping, const struct layout *l,
			  const struct sn_shard_size *size)
{
	size_t rows = size->shards * l->rows_size;

	sn_growing_add(mapping, l->wheels, l->tier_1 - l->wheels, true);
	sn_growing_add(mapping, l->tier_1, l->tier_2 - l->tier_1, true);
	sn_growing_add(mapping, l->tier_2, l->rows - l->tier_2, true);
	sn_growing_add(mapping, l->slab, l->end - l->slab, false);
	for (uint32_t i = 0; i < size->parts; i++)
		sn_growing_add(mapping, l->rows + rows / size->parts * i, rows / size->parts, false);
	if (size->parts == 0)
		sn_huge_advise(mapping->base + l->rows, rows, false);
}

/* Pages are taken from the system as they are first used, or a little before: a table costs what is used of
 * it. */
static int table_map(struct sn_state_table *t, const struct sn_shard_size *size)
{
	struct layout l;
	uint8_t *base;

	t->mask = size->shards - 1;
	t->memory_size = round_up(size->memory, LINE);
	t->buckets_max = BUCKETS_0;
	while (t->buckets_max < size->buckets)
		t->buckets_max *= 2;
	l = layout_of(t, size);
	t->rows_size = l.rows_size;
	t->mapping = sn_growing_map(l.end, STRETCH_PARTS + STRETCH_PARTS_MAX);
	if (t->mapping == NULL)
		return -ENOMEM;
	base = t->mapping->base;
	add_stretches(t->mapping, &l, size);
	t->shards = base;
	t->memory = base + l.memory;
	t->rows = base + l.rows;
	for (uint32_t i = 0; i < size->shards; i++)
		shard_init(t, i, size, &l, base);
	sn_growing_begin(t->mapping);
	(void)sn_stretch_whole(&t->mapping->stretches[STRETCH_FIRST]);
	return 0;
}

static int config_copy(struct sn_table_config *to, const struct sn_table_config *from)
{
	*to = *from;
	to->name = strdup(from->name);
	to->own = malloc(from->own_size + 1);
	to->rules = NULL; /* the program's */
	if (!to->name || !to->own)
		return -ENOMEM;
	if (from->own_size)
		memcpy(to->own, from->own, from->own_size);
	return 0;
}

struct sn_state_table *sn_state_table_create(const struct sn_table_config *c,
					     struct sn_partitioning partitioning)
{
	struct sn_state_table *t = calloc(1, c->kind->table_size);
	struct sn_shard_size size = {0};

	if (!t)
		return NULL;
	t->kind = c->kind;
	if (config_copy(&t->config, c) || c->kind->table_init(t, &partitioning, &size) ||
	    table_map(t, &size)) {
		sn_state_table_free(t);
		return NULL;
	}
	return t;
}
