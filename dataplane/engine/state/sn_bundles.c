/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_bundles.h"

#include <stdlib.h>

#include "sn_huge.h"
#include "sn_lines.h"
#include "sn_state_impl.h"

#define FLOWS_LEAST 65536u     /* as many as a worker's cache has entries */
#define FLOWS_MOST  (1u << 21) /* for more there is no room in tables of short decisions, nearly */
#define HEADS_MOST  16384u     /* of a shard */
#define ROW	    16u	       /* bundles of a shard that lie together */
#define IN_A_LINE   7u	       /* entries */
#define GIVE_UP	    8u	       /* where there is no room, one in so many bundles takes the place of another */

/* A chain leads from a hash's head to the bundles in use that have it, by their numbers + 1. */
struct shard {
	uint32_t *heads;
	uint32_t fresh; /* bundles that were used once */
	uint32_t free;	/* the first of these that is none now, + 1 */
	uint32_t live;
	uint32_t refused;
	uint32_t hand; /* the bundle that is looked at next for a victim */
} __attribute__((aligned(64)));

struct sn_bundles {
	struct sn_growing *memory;
	struct sn_stretch *heads; /* as a whole */
	struct sn_stretch *slab;
	uint64_t seed;
	struct sn_bundles_size size;
	uint32_t mask; /* heads of a shard - 1 */
	uint32_t most; /* bundles of a shard */
	size_t bytes;  /* of one */
	struct shard shards[SN_SHARDS];
};

/* ---- memory ---- */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Sessions that an owner may have. */
static uint32_t room_of(const struct sn_state_owner *o, const struct sn_state_table *t)
{
	uint64_t most = t->config.max_entries;

	if (!most)
		most = (uint64_t)(t->mask + 1) * shard_at(t, 0)->slab_max;
	if (o->max_entries && o->max_entries < most)
		most = o->max_entries;
	return most < FLOWS_MOST ? (uint32_t)most : FLOWS_MOST;
}

struct sn_bundles_size sn_bundles_wanted(const struct sn_state_owner *owners, uint32_t n_owners,
					 struct sn_state_table *const *tables)
{
	uint32_t rooms[2] = {0}, n = 0; /* the two largest, in order */

	for (uint32_t i = 0; i < n_owners; i++) {
		const struct sn_state_table *t = tables[owners[i].table];
		uint32_t room;

		if (!t->kind->catch_up)
			continue;
		room = room_of(&owners[i], t);
		for (uint32_t k = 0; k < 2; k++)
			if (room > rooms[k]) {
				uint32_t less = rooms[k];

				rooms[k] = room;
				room = less;
			}
		n++;
	}
	/* A flow has its entries of different owners, mostly. */
	return (struct sn_bundles_size){.flows = RTE_MAX(rooms[1], FLOWS_LEAST),
					.entries = n > IN_A_LINE ? SN_BUNDLE_MAX : IN_A_LINE};
}

static void shards_init(struct sn_bundles *b)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		b->shards[i].heads = (uint32_t *)b->memory->base + (size_t)i * (b->mask + 1);
}

struct sn_bundles *sn_bundles_create(struct sn_bundles_size size, uint64_t seed)
{
	uint32_t most = size.flows / SN_SHARDS + size.flows / SN_SHARDS / 8 + 64, heads = 64;
	struct sn_bundles *b = sn_lines(1, sizeof(*b));
	size_t heads_size, slab_at, slab_size;

	if (!b)
		return NULL;
	while (heads < most && heads < HEADS_MOST)
		heads *= 2;
	b->size = size;
	b->seed = seed;
	b->mask = heads - 1;
	b->most = (uint32_t)round_up(most, ROW);
	b->bytes = round_up(sizeof(struct sn_bundle) + size.entries * sizeof(struct sn_entry *), SN_LINE);
	heads_size = (size_t)SN_SHARDS * heads * sizeof(uint32_t);
	slab_at = round_up(heads_size, SN_HUGE_PAGE);
	slab_size = SN_SHARDS * b->most * b->bytes;
	b->memory = sn_growing_map(slab_at + slab_size, 2);
	if (!b->memory) {
		free(b);
		return NULL;
	}
	b->heads = sn_growing_add(b->memory, 0, heads_size, true);
	b->slab = sn_growing_add(b->memory, slab_at, slab_size, false);
	shards_init(b);
	sn_growing_begin(b->memory);
	return b;
}

void sn_bundles_free(struct sn_bundles *b)
{
	if (!b)
		return;
	sn_growing_free(b->memory);
	free(b);
}

bool sn_bundles_have(const struct sn_bundles *b, struct sn_bundles_size size)
{
	return b->size.flows == size.flows && b->size.entries == size.entries;
}

size_t sn_bundles_most(const struct sn_bundles *b)
{
	return b->memory->size;
}

/* ---- bundles ---- */

/* Bundles before a shard's number `n` in its row, of all shards, and up to the row's end. */
static size_t rows_before(uint32_t n)
{
	return (size_t)(n / ROW) * SN_SHARDS * ROW;
}

static struct sn_bundle *bundle_at(const struct sn_bundles *b, uint32_t shard, uint32_t n)
{
	size_t at = rows_before(n) + shard * ROW + n % ROW;

	return (struct sn_bundle *)(b->slab->base + at * b->bytes);
}

static uint32_t number_of(const struct sn_bundles *b, const struct sn_bundle *bundle)
{
	size_t at = (size_t)((const uint8_t *)bundle - b->slab->base) / b->bytes;

	return (uint32_t)(at / (SN_SHARDS * ROW) * ROW + at % ROW);
}

static uint32_t *head_of(const struct sn_bundles *b, const struct sn_entry *leader)
{
	uint64_t h = sn_hash2((uintptr_t)leader >> 6, leader->shard, b->seed);

	return &b->shards[leader->shard].heads[h & b->mask];
}

struct sn_bundle *sn_bundles_find(const struct sn_bundles *b, const struct sn_entry *leader)
{
	for (uint32_t n = *head_of(b, leader); n;) {
		struct sn_bundle *bundle = bundle_at(b, leader->shard, n - 1);

		if (bundle->entries[0] == leader)
			return bundle;
		n = bundle->next;
	}
	return NULL;
}

bool sn_bundles_fit(const struct sn_bundles *b, uint32_t entries)
{
	return entries <= b->size.entries && sn_stretch_whole(b->heads);
}

bool sn_bundles_have_room(const struct sn_bundles *b, uint32_t shard)
{
	return b->shards[shard].live < b->most;
}

struct sn_bundle *sn_bundles_take(struct sn_bundles *b, struct sn_entry *leader)
{
	struct shard *sh = &b->shards[leader->shard];
	uint32_t *head = head_of(b, leader), n = sh->free;
	struct sn_bundle *bundle;

	if (n) {
		bundle = bundle_at(b, leader->shard, n - 1);
		sh->free = bundle->next;
	} else {
		n = ++sh->fresh;
		bundle = bundle_at(b, leader->shard, n - 1);
		sn_stretch_reach(b->slab, rows_before(n - 1 + ROW) * b->bytes);
	}
	*bundle = (struct sn_bundle){.next = *head, .n = 1};
	bundle->entries[0] = leader;
	*head = n;
	sh->live++;
	return bundle;
}

void sn_bundles_give(struct sn_bundles *b, struct sn_bundle *bundle)
{
	const struct sn_entry *leader = bundle->entries[0];
	struct shard *sh = &b->shards[leader->shard];
	uint32_t *link = head_of(b, leader), n = number_of(b, bundle) + 1;

	while (*link != n)
		link = &bundle_at(b, leader->shard, *link - 1)->next;
	*link = bundle->next;
	bundle->next = sh->free;
	bundle->n = 0;
	sh->free = n;
	sh->live--;
}

struct sn_bundle *sn_bundles_victim(struct sn_bundles *b, uint32_t shard)
{
	struct shard *sh = &b->shards[shard];

	if (sh->refused++ % GIVE_UP != 0)
		return NULL;
	if (sh->hand >= b->most)
		sh->hand = 0;
	return bundle_at(b, shard, sh->hand++); /* all are in use */
}

struct sn_bundle *sn_bundles_next(const struct sn_bundles *b, uint32_t shard, uint32_t *at)
{
	while (b->shards[shard].live > 0 && *at < b->shards[shard].fresh) {
		struct sn_bundle *bundle = bundle_at(b, shard, (*at)++);

		if (bundle->n > 0)
			return bundle;
	}
	return NULL;
}
