/* SPDX-License-Identifier: Apache-2.0 */
/* A table in memory: its shards, their slabs, chains and wheels, and what a kind adds. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_huge.h"
#include "sn_state_impl.h"

#define LINE	    64u
#define ENTRIES_MAX (BUCKET_INDEX) /* of a shard */
#define CROWDED	    8u		   /* entries of a bucket, in a shard that has all it has room for */

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
	size_t all, cold, memory, wheels, buckets, tier_1, tier_2, rows, slab, tails, end;
	size_t rows_size, tier_2_size, tail_size; /* of one shard's */
	uint32_t head;				  /* entries of a shard in rows */
	bool alike;				  /* shards fill alike */
};

/* Entries of each shard, if all have some of the table's: an eighth more than that, and what few may have. */
static uint32_t even_share(const struct sn_state_table *t, const struct sn_shard_size *size)
{
	uint32_t share = t->config.max_entries / size->shards;

	return t->config.max_entries ? share + share / 8 + 64 : size->entries;
}

/* Whether the last tier of all shards is cheap enough to be brought as a whole, for the first shard that
 * needs it. */
static bool fill_alike(const struct sn_state_table *t, const struct sn_shard_size *size)
{
	return t->buckets_max <= 4 * even_share(t, size);
}

static struct layout layout_of(const struct sn_state_table *t, const struct sn_shard_size *size)
{
	size_t n = size->shards, first = n * (WHEEL_SLOTS + BUCKETS_0) * sizeof(uint32_t);
	struct layout l = {.rows_size = round_up(size->rows, ROW_BYTES), .alike = fill_alike(t, size)};

	l.head = RTE_MIN(RTE_ALIGN_CEIL(even_share(t, size), ROW_ENTRIES), size->entries);
	l.tail_size = round_up((size->entries - l.head) * sizeof(struct sn_entry_line), TAIL_PAGE);
	l.tier_2_size = round_up(t->buckets_max * sizeof(uint32_t), TAIL_PAGE);
	l.all = round_up(n * t->kind->shard_size, LINE);
	l.cold = l.all + sizeof(struct sn_shards);
	l.memory = l.cold + n * sizeof(struct sn_shard_cold);
	l.tier_1 = round_up(l.memory + n * round_up(size->memory, LINE) + first, SN_HUGE_PAGE);
	l.buckets = l.tier_1 - n * BUCKETS_0 * sizeof(uint32_t);
	l.wheels = l.tier_1 - first;
	l.tier_2 = round_up(l.tier_1 + n * BUCKETS_1 * sizeof(uint32_t), SN_HUGE_PAGE);
	l.rows = round_up(l.tier_2 + n * l.tier_2_size, SN_HUGE_PAGE);
	l.slab = round_up(l.rows + n * l.rows_size, SN_HUGE_PAGE);
	/* Behind the last row of the last shard: see is_in_tail(). */
	l.tails = round_up(l.slab + n * round_up(l.head * sizeof(struct sn_entry_line), ROW_BYTES) +
				   n * ROW_BYTES,
			   SN_HUGE_PAGE);
	l.end = l.tails + n * l.tail_size;
	return l;
}

static void shard_init(const struct sn_state_table *t, uint32_t number, const struct sn_shard_size *size,
		       const struct layout *l, uint8_t *base)
{
	struct sn_state_shard *sh = shard_at(t, number);
	size_t row = (size_t)number * ROW_BYTES;

	sh->slab_max = RTE_MIN(size->entries, ENTRIES_MAX);
	sh->slab_head = l->head;
	sh->cold = (struct sn_shard_cold *)(base + l->cold) + number;
	sh->cold->tail = (struct sn_entry_line *)(base + l->tails + number * l->tail_size);
	sh->cold->last_tier = (uint32_t *)(base + l->tier_2 + number * l->tier_2_size);
	sh->cold->last_tier_stays = l->alike;
	sh->cold->all = (struct sn_shards *)(base + l->all);
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
	sn_growing_add(mapping, l->tier_1, size->shards * BUCKETS_1 * sizeof(uint32_t), true);
	sn_growing_add(mapping, l->tier_2, l->alike ? l->rows - l->tier_2 : 0, true);
	sn_growing_add(mapping, l->slab, l->tails - l->slab, false);
	if (!l->alike)
		sn_huge_refuse(mapping->base + l->tier_2, l->rows - l->tier_2);
	if (l->end > l->tails)
		sn_huge_refuse(mapping->base + l->tails, l->end - l->tails);
	for (uint32_t i = 0; i < size->parts; i++)
		sn_growing_add(mapping, l->rows + rows / size->parts * i, rows / size->parts, false);
	if (size->parts == 0)
		sn_huge_advise(mapping->base + l->rows, rows, false);
}

/* Pages of all tails: for the table's entries, and a page that is not full for each shard. */
static int32_t tail_pages(const struct sn_state_table *t, const struct sn_shard_size *size)
{
	return (int32_t)(t->config.max_entries / TAIL_ENTRIES + size->shards);
}

/*
 * Bytes of memory that the table may take, whoever makes its entries. Rows of shards that fill alike stay
 * when these are empty, and then one shard may have all entries in its tail: so both count. As many shards
 * have a last tier as fill the two before it.
 */
static __attribute__((cold, noinline)) size_t
most_of(const struct sn_state_table *t, const struct sn_shard_size *size, const struct layout *l)
{
	size_t tier_1 = l->tier_2 - l->tier_1, tier_2 = l->rows - l->tier_2, tails = l->end - l->tails;
	size_t crowds = t->config.max_entries / (TIER_0_MAX + TIER_1_MAX) + 1;
	size_t pages = (size_t)tail_pages(t, size) * TAIL_PAGE;

	if (size->entries <= TIER_0_MAX)
		tier_1 = 0;
	if (size->entries <= TIER_0_MAX + TIER_1_MAX)
		tier_2 = 0;
	if (t->config.max_entries && !l->alike)
		tier_2 = RTE_MIN(tier_2, crowds * l->tier_2_size);
	if (t->config.max_entries)
		tails = RTE_MIN(tails, pages);
	return t->elsewhere + l->tier_1 + tier_1 + tier_2 + (l->tails - l->rows) + tails;
}

/* Pages are taken from the system as they are first used, or a little before: a table costs what is used of
 * it. */
static int table_map(struct sn_state_table *t, const struct sn_shard_size *size)
{
	uint32_t buckets = RTE_MIN(size->buckets, RTE_MAX(even_share(t, size), size->entries / CROWDED));
	struct layout l;
	uint8_t *base;

	t->mask = size->shards - 1;
	t->memory_size = round_up(size->memory, LINE);
	t->buckets_max = BUCKETS_0;
	while (t->buckets_max < buckets)
		t->buckets_max *= 2;
	l = layout_of(t, size);
	t->rows_size = l.rows_size;
	t->most = most_of(t, size, &l);
	t->mapping = sn_growing_map(l.end, STRETCH_PARTS + STRETCH_PARTS_MAX);
	if (t->mapping == NULL)
		return -ENOMEM;
	base = t->mapping->base;
	add_stretches(t->mapping, &l, size);
	t->shards = base;
	t->memory = base + l.memory;
	t->rows = base + l.rows;
	atomic_init(&((struct sn_shards *)(base + l.all))->pages, tail_pages(t, size));
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
