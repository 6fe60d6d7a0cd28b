/* SPDX-License-Identifier: Apache-2.0 */
/* Shards, and what parts have of them: given, taken, counted. */

#include <stdlib.h>
#include <string.h>

#include "sn_bundles.h"
#include "sn_lines.h"
#include "sn_state_impl.h"

/* ---- shards and quotas change hands ---- */

struct sn_partition *sn_state_partition(struct sn_state *state, uint32_t worker)
{
	return &state->partitions[worker];
}

uint32_t sn_state_units(const struct sn_state *state)
{
	return state->unit_mask + 1;
}

uint32_t sn_state_owner(const struct sn_state *state, uint32_t shard)
{
	return state->owner[shard];
}

enum sn_shard_place sn_state_place(const struct sn_state *state, uint32_t shard)
{
	return state->place[shard];
}

bool sn_state_by_ends(const struct sn_state *state)
{
	return state->by_ends;
}

uint64_t sn_state_key(const struct sn_state *state)
{
	return state->key;
}

void sn_state_set_key(struct sn_state *state, uint64_t key)
{
	state->key = key;
	state->shared = true;
}

uint32_t sn_prefix_shard(const struct sn_state *state, uint32_t prefix, uint32_t prefix_len)
{
	uint32_t shift = state->partitioning.shift;

	if (state->partitioning.by != SN_PARTITION_BY_ADDRESS)
		return sn_mum(prefix ^ state->key, 0x9e3779b97f4a7c15ull) & (SN_SHARDS - 1);
	if (shift < 32 - prefix_len)
		shift = 32 - prefix_len; /* those below are 0 */
	return prefix >> shift & (SN_SHARDS - 1);
}

static void set_owned(struct sn_partition *partition, uint32_t unit, bool owned)
{
	for (uint32_t i = unit; i < SN_SHARDS; i += partition->state->unit_mask + 1)
		partition->owned[i] = owned;
}

void sn_partition_give(struct sn_partition *partition, uint32_t unit)
{
	const struct sn_state *state = partition->state;

	for (uint32_t i = 0; i < n_quotas(state->n_tables, state->n_owners); i++) {
		state->gift[i] =
			partition->left[i] > 0 ? partition->left[i] / (int32_t)partition->n_owned : 0;
		partition->left[i] -= state->gift[i];
	}
	set_owned(partition, unit, false);
	partition->n_owned--;
}

void sn_partition_take(struct sn_partition *partition, uint32_t unit)
{
	const struct sn_state *state = partition->state;

	for (uint32_t i = 0; i < n_quotas(state->n_tables, state->n_owners); i++)
		partition->left[i] += state->gift[i];
	set_owned(partition, unit, true);
	partition->n_owned++;
}

void sn_partition_enter_era(struct sn_partition *partition)
{
	partition->era = atomic_load_explicit(&partition->eras->latest, memory_order_relaxed);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		if (partition->owned[i])
			partition->eras->entered[i] = partition->era;
}

void sn_state_moved(struct sn_state *state, uint32_t unit, uint32_t worker)
{
	for (uint32_t i = unit; i < SN_SHARDS; i += state->unit_mask + 1)
		state->owner[i] = worker;
}

void sn_state_set_place(struct sn_state *state, uint32_t unit, enum sn_shard_place place)
{
	struct sn_partition *partition = &state->partitions[state->owner[unit]];

	partition->n_owned -= state->place[unit] == SN_SHARD_HERE;
	partition->n_owned += place == SN_SHARD_HERE;
	set_owned(partition, unit, place == SN_SHARD_HERE);
	for (uint32_t i = unit; i < SN_SHARDS; i += state->unit_mask + 1)
		state->place[i] = place;
}

/* A unit is its first shard's owner's, and where that is: every engine that runs the program finds the same.
 */
void sn_state_set_units(struct sn_state *state, uint32_t mask)
{
	state->unit_mask = mask;
	for (uint32_t i = 0; i < state->n_partitions; i++)
		state->partitions[i].n_owned = 0;
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		state->owner[i] = state->owner[i & mask];
		state->place[i] = state->place[i & mask];
		for (uint32_t j = 0; j < state->n_partitions; j++)
			state->partitions[j].owned[i] =
				j == state->owner[i] && state->place[i] == SN_SHARD_HERE;
	}
	for (uint32_t i = 0; i <= mask; i++)
		state->partitions[state->owner[i]].n_owned += state->place[i] == SN_SHARD_HERE;
}

bool sn_state_starved(const struct sn_state *state)
{
	bool starved = false;

	for (uint32_t i = 0; i < state->n_partitions && state->n_partitions > 1; i++)
		starved |= atomic_load_explicit(&state->partitions[i].starved, memory_order_relaxed);
	return starved;
}

/* A part's claim to what is left: its shards, and as much as all of them if it has run out. */
static uint32_t claim(const struct sn_state *state, const struct sn_partition *partition)
{
	return partition->n_owned +
	       (atomic_load_explicit(&partition->starved, memory_order_relaxed) ? state->unit_mask + 1 : 0);
}

/* Divide one room among the parts, by their claims; the indivisible rest goes to the largest claim. */
static void level_quota(struct sn_state *state, uint32_t room)
{
	uint32_t claims = 0, most = 0;
	int64_t left = state->carried.left[room], rest;

	state->carried.left[room] = 0;
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		left += state->partitions[i].left[room];
		claims += claim(state, &state->partitions[i]);
		if (claim(state, &state->partitions[i]) > claim(state, &state->partitions[most]))
			most = i;
	}
	rest = left;
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		int64_t share = left > 0 && claims ? left * claim(state, &state->partitions[i]) / claims : 0;

		state->partitions[i].left[room] = (int32_t)share;
		rest -= share;
	}
	state->partitions[most].left[room] += (int32_t)rest;
}

void sn_state_level(struct sn_state *state)
{
	for (uint32_t i = 0; i < n_quotas(state->n_tables, state->n_owners); i++)
		level_quota(state, i);
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		atomic_store_explicit(&state->partitions[i].starved, false, memory_order_relaxed);
		memset(state->partitions[i].reap_from, 0,
		       state->n_tables * sizeof(*state->partitions[i].reap_from));
	}
}

/* ---- a state comes and goes ---- */

struct sn_state *sn_state_create(uint64_t seed, uint32_t n_workers, struct sn_partitioning partitioning)
{
	struct sn_state *state = sn_lines(1, sizeof(*state));

	if (!state)
		return NULL;
	/* The key tells shards and the seed buckets, often of the same words: one for both would have a shard
	 * use a few of its buckets. */
	state->key = seed ^ 0xa0761d6478bd642full;
	state->seed = seed ^ 0xe7037ed1a0b428dbull;
	state->carried.state = state;
	state->partitioning = partitioning;
	state->n_partitions = n_workers;
	state->partitions = sn_lines(n_workers, sizeof(*state->partitions));
	state->bundles = sn_bundles_create(sn_bundles_wanted(NULL, 0, NULL), seed);
	state->eras = sn_lines(1, sizeof(*state->eras));
	if (!state->partitions || !state->bundles || !state->eras) {
		sn_state_free(state);
		return NULL;
	}
	for (uint32_t i = 0; i < n_workers; i++) {
		state->partitions[i].state = state;
		state->partitions[i].eras = state->eras;
	}
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		state->owner[i] = i * n_workers / SN_SHARDS;
	sn_state_set_units(state, SN_SHARDS - 1);
	return state;
}

struct sn_partitioning sn_state_partitioning(const struct sn_state *state)
{
	return state->partitioning;
}

void sn_state_repartition(struct sn_state *state, struct sn_partitioning partitioning)
{
	state->partitioning = partitioning;
}

void sn_state_free(struct sn_state *state)
{
	if (!state)
		return;
	for (uint32_t i = 0; i < state->n_tables; i++)
		sn_state_table_free(state->tables[i]);
	for (uint32_t i = 0; i < state->n_owners; i++)
		free(state->owners[i].name);
	for (uint32_t i = 0; state->partitions && i < state->n_partitions; i++) {
		free(state->partitions[i].left);
		free(state->partitions[i].reap_from);
	}
	free(state->partitions);
	sn_bundles_free(state->bundles);
	free(state->eras);
	sn_subscribers_free(state->subscribers);
	free(state->gift);
	free(state->carried.left);
	free(state->tables);
	free(state->owners);
	free(state->translated);
	free(state);
}

/* ---- what others see ---- */

struct sn_entry_info sn_entry_info(const struct sn_state *state, const struct sn_entry *e, uint64_t now)
{
	struct sn_entry_info info = {
		.kind = table_of(state, e)->kind,
		.owner = state->owners[e->owner].name,
		.idle_ns = now - sn_entry_last_use(e),
		.line = *(const struct sn_entry_line *)e,
	};
	info.line.entry.last_use = sn_entry_last_use(e);
	info.line.entry.leads = info.line.entry.follows = 0;
	return info;
}

static void add_stats(struct sn_state_stats *stats, const struct sn_state_shard *sh)
{
	stats->sessions += sh->live;
	stats->created += sh->created;
	stats->expired += sh->expired;
	stats->exhausted += sh->cold->exhausted;
	stats->evicted += sh->cold->evicted;
}

void sn_state_stats(const struct sn_state *state, uint32_t table, struct sn_state_stats *stats)
{
	const struct sn_state_table *t = table < state->n_tables ? state->tables[table] : NULL;

	memset(stats, 0, sizeof(*stats));
	for (uint32_t i = 0; t && i <= t->mask; i++)
		add_stats(stats, shard_at(t, i));
}

__attribute__((cold)) size_t sn_state_most(const struct sn_state *state)
{
	size_t most = state->subscribers ? sn_subscribers_most(state->subscribers) : 0;

	if (state->n_owners > 1)
		most += sn_bundles_most(state->bundles);
	for (uint32_t i = 0; i < state->n_tables; i++)
		most += state->tables[i]->most;
	return most;
}

struct sn_subscribers *sn_state_subscribers(const struct sn_state *state)
{
	return state->subscribers;
}

int sn_state_report_table(const struct sn_state *state, uint32_t table, struct sn_arena *arena,
			  Sinter__Program__V1__TableStats *stats)
{
	const struct sn_state_table *t = table < state->n_tables ? state->tables[table] : NULL;

	return t && t->kind->report_table ? t->kind->report_table(state, t, arena, stats) : 0;
}

void sn_state_unit_stats(const struct sn_state *state, uint32_t unit, struct sn_state_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	for (uint32_t i = 0; i < state->n_tables; i++)
		for (uint32_t s = unit; s <= state->tables[i]->mask; s += state->unit_mask + 1)
			add_stats(stats, shard_at(state->tables[i], s));
}

uint32_t sn_partition_entries(const struct sn_partition *partition)
{
	const struct sn_state *state = partition->state;
	uint32_t n = 0;

	for (uint32_t i = 0; i < state->n_tables; i++)
		for (uint32_t s = 0; s <= state->tables[i]->mask; s++)
			if (partition->owned[s])
				n += shard_at(state->tables[i], s)->live;
	return n;
}

size_t sn_state_entries(const struct sn_state *state, uint32_t table, uint64_t now, struct sn_entry_info *out,
			size_t max)
{
	const struct sn_state_table *t = table < state->n_tables ? state->tables[table] : NULL;
	size_t n = 0;

	for (uint32_t i = 0; t && i <= t->mask; i++) {
		const struct sn_state_shard *sh = shard_at(t, i);

		for (uint32_t j = 0; j < slab_used(sh) && n < max; j++)
			if (sn_entry_live(used_entry(sh, j), now))
				out[n++] = sn_entry_info(state, used_entry(sh, j), now);
	}
	return n;
}
