/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_bundle.h"

#include <stdlib.h>

#include "sn_lines.h"
#include "sn_state_impl.h"

#define WAYS	  4u
#define SETS	  128u /* of a shard */
#define GIVE_UP	  8u   /* where all ways are taken, one in so many bundles takes the place of another */
#define SET_COUNT ((size_t)SN_SHARDS * SETS)

/* Bundles by their leaders, in sets. */
struct sn_bundles {
	struct sn_growing *memory;
	struct sn_stretch *all;
	struct sn_bundle *sets;
	uint64_t seed;
	struct {
		uint32_t n, refused;
	} __attribute__((aligned(64))) shards[SN_SHARDS];
};

struct sn_bundles *sn_bundles_create(uint64_t seed)
{
	size_t size = SET_COUNT * WAYS * sizeof(struct sn_bundle);
	struct sn_bundles *b = sn_lines(1, sizeof(*b));

	if (!b)
		return NULL;
	b->seed = seed;
	b->memory = sn_growing_map(size, 1);
	if (!b->memory) {
		free(b);
		return NULL;
	}
	b->all = sn_growing_add(b->memory, 0, size, true);
	b->sets = (struct sn_bundle *)b->memory->base;
	sn_growing_begin(b->memory);
	return b;
}

size_t sn_bundles_most(const struct sn_bundles *b)
{
	return b->memory->size;
}

void sn_bundles_free(struct sn_bundles *b)
{
	if (!b)
		return;
	sn_growing_free(b->memory);
	free(b);
}

static struct sn_bundle *set_of(const struct sn_bundles *b, const struct sn_entry *leader)
{
	uint64_t h = sn_hash2((uintptr_t)leader >> 6, leader->shard, b->seed);

	return &b->sets[(leader->shard * SETS + (h & (SETS - 1))) * WAYS];
}

struct sn_bundle *sn_bundle_of(const struct sn_state *state, const struct sn_entry *e)
{
	const struct sn_entry *leader = e->follows ? e->leader : e;
	struct sn_bundle *set;

	if (!leader->leads)
		return NULL;
	set = set_of(state->bundles, leader);
	for (uint32_t i = 0; i < WAYS; i++)
		if (set[i].entries[0] == leader)
			return &set[i];
	return NULL;
}

/* ---- together ---- */

static uint32_t place_in(const struct sn_bundle *b, const struct sn_entry *e)
{
	uint32_t i = 0;

	while (i < b->n && b->entries[i] != e)
		i++;
	return i;
}

struct sn_entry *sn_bundle_leader(const struct sn_state *state, const struct sn_bundle_uses *uses)
{
	const struct sn_bundle *b = uses->n > 1 ? sn_bundle_of(state, uses->entries[0]) : NULL;
	uint32_t seen = 0, turn = 0;

	if (!b || b->n != uses->n)
		return NULL;
	for (uint32_t i = 0; i < uses->n; i++) {
		uint32_t at = place_in(b, uses->entries[i]);
		uint32_t leads_back = (uses->returns >> i ^ b->turned >> at) & 1;

		if (at == b->n || seen >> at & 1 || (i > 0 && leads_back != turn))
			return NULL;
		seen |= 1u << at;
		turn = leads_back;
	}
	return b->entries[0];
}

/* The leader would be the one with the shortest timeout. */
static uint32_t leader_among(const struct sn_bundle_uses *uses)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < uses->n; i++)
		if (uses->entries[i]->timeout_ms < uses->entries[first]->timeout_ms)
			first = i;
	return first;
}

static bool is_turned(const struct sn_bundle_uses *uses, uint32_t leader, uint32_t i)
{
	return (uses->returns >> leader ^ uses->returns >> i) & 1;
}

/* Whether packets change all entries alike, from now on. */
static bool are_alike(const struct sn_state *state, const struct sn_bundle_uses *uses, uint32_t leader,
		      uint64_t now)
{
	const struct sn_entry *l = uses->entries[leader];

	for (uint32_t i = 0; i < uses->n; i++) {
		const struct sn_entry *e = uses->entries[i];
		const struct sn_state_kind *kind = table_of(state, e)->kind;

		if (!e->live || sn_entry_bundled(e) || e->last_use != now || !kind->catch_up)
			return false;
		if (i != leader && (e == l || !kind->is_alike(l, e, is_turned(uses, leader, i))))
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (uses->entries[j] == e)
				return false;
	}
	return true;
}

/* Room in a leader's set. NULL: it is not given up for this one. */
static struct sn_bundle *place_for(const struct sn_state *state, const struct sn_entry *leader)
{
	struct sn_bundles *all = state->bundles;
	struct sn_bundle *set = set_of(all, leader);
	uint32_t turn;

	for (uint32_t i = 0; i < WAYS; i++)
		if (!set[i].entries[0])
			return &set[i];
	turn = all->shards[leader->shard].refused++;
	if (turn % GIVE_UP != 0)
		return NULL;
	set += turn / GIVE_UP % WAYS;
	sn_bundle_part(state, set->entries[0]);
	return set;
}

struct sn_entry *sn_bundle_make(const struct sn_state *state, const struct sn_bundle_uses *uses, uint64_t now)
{
	uint32_t first = leader_among(uses);
	struct sn_entry *leader = uses->entries[first];
	struct sn_bundle *b;

	if (uses->n < 2 || !are_alike(state, uses, first, now) || !sn_stretch_whole(state->bundles->all))
		return NULL;
	b = place_for(state, leader);
	if (!b)
		return NULL;
	state->bundles->shards[leader->shard].n++;
	b->entries[0] = leader;
	b->n = 1;
	b->turned = 0;
	leader->leads = 1;
	entry_outdate(state, leader);
	for (uint32_t i = 0; i < uses->n; i++) {
		struct sn_entry *e = uses->entries[i];

		if (i == first)
			continue;
		b->turned |= (uint32_t)is_turned(uses, first, i) << b->n;
		b->entries[b->n++] = e;
		e->leader = leader;
		e->follows = 1;
		entry_outdate(state, e);
	}
	return leader;
}

/* ---- apart ---- */

static void part(const struct sn_state *state, struct sn_bundle *b)
{
	struct sn_entry *leader = b->entries[0];

	for (uint32_t i = 1; i < b->n; i++) {
		struct sn_entry *e = b->entries[i];

		e->follows = 0;
		e->last_use = leader->last_use;
		table_of(state, e)->kind->catch_up(e, leader, b->turned >> i & 1);
	}
	leader->leads = 0;
	entry_outdate(state, leader);
	b->entries[0] = NULL;
	state->bundles->shards[leader->shard].n--;
}

void sn_bundle_part(const struct sn_state *state, struct sn_entry *e)
{
	struct sn_bundle *b = sn_bundle_of(state, e);

	if (b)
		part(state, b);
}

void sn_bundle_part_all(const struct sn_state *state)
{
	struct sn_bundles *all = state->bundles;

	for (uint32_t shard = 0; shard < SN_SHARDS; shard++)
		for (uint32_t i = 0; i < SETS * WAYS && all->shards[shard].n > 0; i++)
			if (all->sets[shard * SETS * WAYS + i].entries[0])
				part(state, &all->sets[shard * SETS * WAYS + i]);
}
