/* SPDX-License-Identifier: Apache-2.0 */
/* A program takes the place of another: tables are made, and entries go to where they belong now. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_bundles.h"
#include "sn_lines.h"
#include "sn_state_impl.h"

#define NO_LIMIT (1 << 30) /* of entries: more than memory holds */

static inline int32_t limit(uint32_t max_entries)
{
	return max_entries && max_entries < NO_LIMIT ? (int32_t)max_entries : NO_LIMIT;
}

/* A state that is being made for a program, beside the one that is. */
struct change {
	struct sn_state_table **tables;
	struct sn_state_owner *owners;
	uint32_t n_owners;
	struct sn_range *translated;
	uint32_t n_translated;
	bool by_ends;
	bool recut;	   /* it was otherwise before */
	uint32_t *renamed; /* by the old state's owner; SN_NO_INDEX: gone */
	int32_t *gift;
	int32_t *carried;
	int32_t **left; /* by part */
	uint64_t **reap_from;
	struct sn_subscribers *subscribers;
	struct sn_bundles *bundles; /* NULL: those that are have the right size */
	uint64_t kept, dropped;
};

static void change_free(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	for (uint32_t i = 0; c->tables && i < p->n_tables; i++) {
		bool ours = true;

		for (uint32_t j = 0; j < state->n_tables; j++)
			ours &= c->tables[i] != state->tables[j];
		if (ours)
			sn_state_table_free(c->tables[i]);
	}
	for (uint32_t i = 0; c->owners && i < c->n_owners; i++)
		free(c->owners[i].name);
	for (uint32_t i = 0; c->left && c->reap_from && i < state->n_partitions; i++) {
		free(c->left[i]);
		free(c->reap_from[i]);
	}
	sn_subscribers_free(c->subscribers);
	sn_bundles_free(c->bundles);
	free(c->left);
	free(c->reap_from);
	free(c->gift);
	free(c->carried);
	free(c->tables);
	free(c->owners);
	free(c->translated);
	free(c->renamed);
}

static uint32_t n_owners_of(const struct sn_program *p)
{
	uint32_t n = p->n_runs;

	for (uint32_t i = 0; i < p->n_tables; i++)
		n += !p->tables[i].kind->owner;
	return n;
}

static int prepare_owners(struct change *c, const struct sn_program *p)
{
	struct sn_state_owner *o = c->owners;

	for (uint32_t i = 0; i < p->n_runs; i++, o++) {
		uint32_t set = p->runs[i].subscribers;

		*o = (struct sn_state_owner){
			.name = strdup(p->runs[i].name),
			.table = p->runs[i].table,
			.max_entries = p->runs[i].max_sessions,
			.subscribers = set,
			.limit_reason = set == SN_NO_INDEX ? 0 : p->subscribers[set].reason,
			.again = p->runs[i].again,
		};
		p->tables[o->table].kind->owner(o, &p->runs[i]);
		if (!o->name)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->n_tables; i++) {
		uint32_t set = p->tables[i].subscribers;

		if (p->tables[i].kind->owner)
			continue;
		*o = (struct sn_state_owner){
			.name = strdup(p->tables[i].name),
			.table = i,
			.subscribers = set,
			.limit_reason = set == SN_NO_INDEX ? 0 : p->subscribers[set].reason,
		};
		if (p->tables[i].kind->table_owner)
			p->tables[i].kind->table_owner(o, &p->tables[i]);
		if (!o++->name)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t live_in(const struct sn_state_table *t)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i <= t->mask; i++)
		live += shard_at(t, i)->live;
	return live;
}

static void find_renamed(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	for (uint32_t j = 0; j < state->n_owners; j++) {
		const struct sn_state_owner *was = &state->owners[j];

		c->renamed[j] = SN_NO_INDEX;
		for (uint32_t i = 0; i < c->n_owners; i++)
			if (!strcmp(c->owners[i].name, was->name) &&
			    p->tables[c->owners[i].table].kind == state->tables[was->table]->kind)
				c->renamed[j] = i;
	}
}

/*
 * A session's port is one of its shard's for as long as it lives. So NAPTs tell shards as they did while they
 * have sessions, even if all state is one unit then. Engines that share the state must tell them alike: there
 * the program alone says how, and sessions of another way end.
 */
static bool by_ends_of(const struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	const bool *unpartitioned = p->unpartitioned[state->partitioning.by == SN_PARTITION_BY_RSS];

	for (uint32_t i = 0; i < state->n_owners && !state->shared; i++) {
		const struct sn_state_table *t = state->tables[state->owners[i].table];

		if (c->renamed[i] < p->n_runs && live_in(t) > 0)
			return state->by_ends;
	}
	return unpartitioned[false] && !unpartitioned[true];
}

static int prepare_tables(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	for (uint32_t i = 0; i < p->n_tables; i++) {
		for (uint32_t j = 0; j < state->n_tables; j++)
			if (!c->recut && sn_table_config_same(&state->tables[j]->config, &p->tables[i]))
				c->tables[i] = state->tables[j];
		if (!c->tables[i])
			c->tables[i] = sn_state_table_create(&p->tables[i], state->partitioning);
		if (!c->tables[i])
			return -ENOMEM;
	}
	return 0;
}

static int prepare_quotas(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	uint32_t n = n_quotas(p->n_tables, c->n_owners);

	c->gift = calloc(n + 1, sizeof(*c->gift));
	c->carried = calloc(n + 1, sizeof(*c->carried));
	c->left = calloc(state->n_partitions, sizeof(*c->left));
	c->reap_from = calloc(state->n_partitions, sizeof(*c->reap_from));
	if (!c->gift || !c->carried || !c->left || !c->reap_from)
		return -ENOMEM;
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		c->left[i] = sn_lines(n, sizeof(**c->left));
		c->reap_from[i] = sn_lines(p->n_tables, sizeof(**c->reap_from));
		if (!c->left[i] || !c->reap_from[i])
			return -ENOMEM;
	}
	return 0;
}

static int prepare_translated(struct change *c, const struct sn_program *p)
{
	uint32_t n, all = 0;
	bool again = false;

	for (uint32_t i = 0; i < p->n_runs; i++)
		again |= p->runs[i].again;
	if (!again)
		return 0;
	for (uint32_t i = 0; i < p->n_tables; i++)
		if (p->tables[i].kind->translated) {
			p->tables[i].kind->translated(&p->tables[i], &n);
			all += n;
		}
	c->translated = calloc(all, sizeof(*c->translated));
	if (!c->translated)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_tables; i++)
		if (p->tables[i].kind->translated) {
			const struct sn_range *own = p->tables[i].kind->translated(&p->tables[i], &n);

			memcpy(c->translated + c->n_translated, own, n * sizeof(*own));
			c->n_translated += n;
		}
	/* Pools of different tables may overlap. */
	c->n_translated = sn_ranges_merge(c->translated, c->n_translated);
	return 0;
}

static int prepare_bundles(struct change *c, const struct sn_state *state)
{
	struct sn_bundles_size size = sn_bundles_wanted(c->owners, c->n_owners, c->tables);

	if (sn_bundles_have(state->bundles, size))
		return 0;
	c->bundles = sn_bundles_create(size, state->seed);
	return c->bundles ? 0 : -ENOMEM;
}

/* All that needs memory; the state that is stays as it is. */
static int change_prepare(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	c->n_owners = n_owners_of(p);
	c->tables = calloc(p->n_tables + 1, sizeof(*c->tables));
	c->owners = calloc(c->n_owners + 1, sizeof(*c->owners));
	c->renamed = calloc(state->n_owners + 1, sizeof(*c->renamed));
	if (!c->tables || !c->owners || !c->renamed || prepare_owners(c, p))
		return -ENOMEM;
	find_renamed(c, state, p);
	c->by_ends = by_ends_of(c, state, p);
	c->recut = c->by_ends != state->by_ends;
	if (prepare_quotas(c, state, p) || prepare_tables(c, state, p) || prepare_translated(c, p) ||
	    prepare_bundles(c, state))
		return -ENOMEM;
	c->subscribers = p->n_subscribers ? sn_subscribers_create(p, state->seed) : NULL;
	return p->n_subscribers && !c->subscribers ? -ENOMEM : 0;
}

/* Move an entry to the table that took the place of its own; false if it has no place there. */
static bool move(struct sn_state *state, const struct sn_state_table *to, const struct sn_entry *from,
		 uint32_t owner)
{
	struct sn_partition *partition = state->partitions; /* it has all quotas, for now */
	uint32_t class = class_of_entry(to->kind, from);
	struct sn_entry_line moved = *(const struct sn_entry_line *)from;
	struct sn_state_shard *sh;
	struct sn_entry *e;

	moved.entry.owner = (uint16_t)owner;
	if (to->kind->place)
		moved.entry.shard = to->kind->place(state, to, &moved.entry) & (SN_SHARDS - 1);
	sh = shard_at(to, moved.entry.shard & to->mask);
	if (state->place[moved.entry.shard] == SN_SHARD_AWAY || to->kind->misfit(state, to, &moved.entry) ||
	    is_taken(state, to, sh, &moved.entry, from->last_use) || is_full(partition, to, owner, class))
		return false;
	e = slab_take(sh);
	if (!e)
		return false;
	*(struct sn_entry_line *)e = moved;
	shard_wake(sh, partition->now);
	if (to->kind->hold)
		to->kind->hold(state, to, sh, e);
	e->timeout_ms = to->kind->timeout(state, e);
	entry_settle(partition, to, sh, e, class, to->kind->hash(state, e));
	return true;
}

/* An entry of a table that stays: its owner may be gone, lead into another table or have other timeouts. */
static bool keep(struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		 struct sn_entry *e, uint32_t owner)
{
	unchain(sh, e, t->kind->hash(state, e));
	unhang(sh, e);
	sh->live--;
	state->partitions->left[t->id]++;
	if (owner == SN_NO_INDEX || state->owners[owner].table != t->id) {
		if (sn_entry_live_itself(e, state->partitions->now)) { /* what it held rests from now on */
			e->last_use = state->partitions->now;
			e->timeout_ms = 0;
		}
		if (t->kind->release)
			t->kind->release(state, t, sh, e, false);
		slab_give(state, sh, e);
		return false;
	}
	e->owner = owner;
	if (t->kind->renumber)
		t->kind->renumber(t, sh, e);
	e->timeout_ms = t->kind->timeout(state, e);
	entry_settle(state->partitions, t, sh, e, class_of_entry(t->kind, e), t->kind->hash(state, e));
	return true;
}

/* Whether every owner is where it was and has its timeouts: then a table that stays needs no visit. */
static bool owners_same(const struct sn_state *state, const struct change *c)
{
	if (c->n_owners != state->n_owners)
		return false;
	for (uint32_t i = 0; i < c->n_owners; i++) {
		const struct sn_state_owner *a = &state->owners[i], *b = &c->owners[i];

		if (strcmp(a->name, b->name) || memcmp(a->timeout_ms, b->timeout_ms, sizeof(a->timeout_ms)) ||
		    state->tables[a->table] != c->tables[b->table] || a->subscribers != b->subscribers)
			return false;
	}
	return true;
}

/*
 * Take every live entry of an old table's shard to where it belongs now; to: NULL, its table is gone. One
 * that has expired would be in the way of another that has what it held.
 */
static void change_shard(struct sn_state *state, struct change *c, const struct sn_state_table *from,
			 struct sn_state_shard *sh, const struct sn_state_table *to)
{
	for (uint32_t i = 0; i < slab_used(sh); i++) {
		struct sn_entry *e = used_entry(sh, i);
		uint32_t owner = e->live ? c->renamed[e->owner] : SN_NO_INDEX;
		bool over, kept;

		if (!e->live)
			continue;
		if (state->place[e->shard] == SN_SHARD_AWAY || (c->recut && from->kind->owner))
			owner = SN_NO_INDEX; /* its unit has become another engine's, or its port another
						shard's */
		over = to != from && !sn_entry_live_itself(e, state->partitions->now);
		if (to == from)
			kept = keep(state, to, sh, e, owner);
		else
			kept = !over && to && owner != SN_NO_INDEX && state->owners[owner].table == to->id &&
			       move(state, to, e, owner);
		if (to != from && !kept && from->kind->inherit)
			from->kind->release(state, from, sh, e, false);
		c->kept += kept;
		c->dropped += !kept && !over;
	}
}

/* Shards are taken over one after the other, but will fill alike if they did. */
static void make_way(const struct sn_state_table *to, const struct sn_state_table *from)
{
	uint32_t live = live_in(from), shards = 0;

	for (uint32_t i = 0; i <= from->mask; i++)
		shards += shard_at(from, i)->live > 0;
	for (uint32_t i = 0; live > 0 && i <= to->mask; i++)
		sn_shard_reserve(shard_at(to, i),
				 RTE_MIN(shard_at(from, i & from->mask)->live, 2 * live / shards));
}

static void change_entries(struct sn_state *state, struct change *c, struct sn_state_table **old,
			   uint32_t n_old, uint32_t n_tables)
{
	for (uint32_t o = 0; o < n_old; o++) {
		struct sn_state_table *to = NULL;

		for (uint32_t i = 0; i < n_tables; i++)
			if (!strcmp(c->tables[i]->config.name, old[o]->config.name) &&
			    c->tables[i]->kind == old[o]->kind)
				to = c->tables[i];
		if (to && to != old[o] && to->kind->inherit)
			to->kind->inherit(to, old[o]);
		if (to && to != old[o])
			make_way(to, old[o]);
		for (uint32_t n = 0; n <= old[o]->mask; n++)
			change_shard(state, c, old[o], shard_at(old[o], n), to);
	}
}

/* Entries of an owner and class: what its limit was, less what all partitions have left. */
static int32_t live_of(const struct sn_state *state, uint32_t owner, uint32_t class)
{
	int32_t live = limit(state->owners[owner].max_entries);

	for (uint32_t i = 0; i < state->n_partitions; i++)
		live -= *owner_quota(&state->partitions[i], owner, class);
	return live;
}

/* The first partition gets all quotas of the new state: to make what is kept, and to split the rest. */
static void change_quotas(struct sn_state *state, struct change *c, const struct sn_program *p, bool same)
{
	int32_t *left = c->left[0];

	for (uint32_t i = 0; i < p->n_tables; i++)
		left[i] = limit(c->tables[i]->config.max_entries) - (int32_t)live_in(c->tables[i]);
	for (uint32_t i = 0; i < c->n_owners; i++)
		for (uint32_t k = 0; k < SN_QUOTA_CLASSES; k++)
			left[p->n_tables + i * SN_QUOTA_CLASSES + k] =
				limit(c->owners[i].max_entries) - (same ? live_of(state, i, k) : 0);
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		struct sn_partition *partition = &state->partitions[i];

		free(partition->left);
		free(partition->reap_from);
		partition->left = c->left[i];
		partition->reap_from = c->reap_from[i];
		if (partition->now > state->partitions->now)
			state->partitions->now = partition->now;
	}
	free(c->left);
	free(c->reap_from);
	free(state->gift);
	free(state->carried.left);
	state->gift = c->gift;
	state->carried.left = c->carried;
}

static uint32_t unit_mask_of(const struct sn_state *state, const struct change *c, const struct sn_program *p)
{
	uint32_t mask = SN_SHARDS - 1;

	for (uint32_t i = 0; i < p->n_tables; i++)
		mask &= c->tables[i]->mask;
	return p->unpartitioned[state->partitioning.by == SN_PARTITION_BY_RSS][c->by_ends] ? 0 : mask;
}

/* Counts are kept if nothing is visited, else taken again of what is there now. */
static void change_subscribers(struct sn_state *state, struct change *c, bool same)
{
	if (same) {
		sn_subscribers_free(c->subscribers);
		return;
	}
	sn_subscribers_free(state->subscribers);
	state->subscribers = c->subscribers;
	if (state->subscribers)
		sn_subscribers_begin(state->subscribers);
	for (uint32_t i = 0; i < state->n_tables && state->subscribers; i++)
		if (state->tables[i]->kind->count_subscribers)
			state->tables[i]->kind->count_subscribers(state, state->tables[i]);
}

/* All entries are for themselves, and some of them may be used together in other ways. */
static void change_bundles(struct sn_state *state, struct change *c)
{
	sn_bundle_part_all(state);
	if (!c->bundles)
		return;
	sn_bundles_free(state->bundles);
	state->bundles = c->bundles;
}

static bool tables_same(const struct sn_state *state, const struct change *c, const struct sn_program *p)
{
	if (p->n_tables != state->n_tables)
		return false;
	return !p->n_tables || !memcmp(c->tables, state->tables, p->n_tables * sizeof(*c->tables));
}

int sn_state_apply(struct sn_state *state, const struct sn_program *p, uint64_t *kept, uint64_t *dropped)
{
	struct change c = {0};
	struct sn_state old = *state;
	bool same;

	if (change_prepare(&c, state, p)) {
		change_free(&c, state, p);
		return -ENOMEM;
	}
	same = !c.bundles && tables_same(state, &c, p) && owners_same(state, &c) &&
	       unit_mask_of(state, &c, p) == state->unit_mask &&
	       sn_subscribers_same(state->subscribers, c.subscribers);
	for (uint32_t i = 0; same && i < p->n_tables; i++)
		c.kept += live_in(c.tables[i]);
	if (!same)
		change_bundles(state, &c);
	change_quotas(state, &c, p, same);
	sn_state_set_units(state, unit_mask_of(state, &c, p));
	/* Chains are found by the owner's number: entries leave the old ones by the old numbers, which they
	 * still have. */
	state->tables = c.tables;
	state->n_tables = p->n_tables;
	state->owners = c.owners;
	state->n_owners = c.n_owners;
	state->translated = c.translated;
	state->n_translated = c.n_translated;
	state->by_ends = c.by_ends;
	for (uint32_t i = 0; i < p->n_tables; i++) {
		c.tables[i]->id = i;
		c.tables[i]->owner = SN_NO_INDEX;
	}
	for (uint32_t i = p->n_runs; i < c.n_owners; i++)
		c.tables[c.owners[i].table]->owner = i;
	if (!same) {
		state->subscribers = NULL; /* nobody counts what moves */
		change_entries(state, &c, old.tables, old.n_tables, p->n_tables);
		state->subscribers = old.subscribers;
	}
	change_subscribers(state, &c, same);
	sn_state_level(state);
	for (uint32_t i = 0; i < old.n_tables; i++) {
		bool stays = false;

		for (uint32_t j = 0; j < p->n_tables; j++)
			stays |= c.tables[j] == old.tables[i];
		if (!stays)
			sn_state_table_free(old.tables[i]);
	}
	for (uint32_t i = 0; i < old.n_owners; i++)
		free(old.owners[i].name);
	free(old.tables);
	free(old.owners);
	free(old.translated);
	free(c.renamed);
	*kept = c.kept;
	*dropped = c.dropped;
	return 0;
}
