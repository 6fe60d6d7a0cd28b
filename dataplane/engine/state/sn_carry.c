/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_carry.h"

#include <string.h>

#include <rte_common.h>

#include "sn_huge.h"
#include "sn_parse.h"
#include "sn_state_impl.h"

#define PAGE  4096u
#define AHEAD 16 /* entries whose lines are on their way at a time */

/* ---- bytes ---- */

static void write_entry(const struct sn_state_table *t, const struct sn_entry *e, uint64_t now, uint8_t *out)
{
	memset(out, 0, SN_CARRY_BYTES);
	t->kind->pack(e, now, out);
	sn_store16(out + 18, e->owner);
	out[22] = e->shard;
	out[23] = (uint8_t)t->id;
	sn_store64(out + 24, now - e->last_use);
}

/* ---- out ---- */

/* A cursor: table, shard of the table, entry of the shard. */
struct place {
	uint32_t table, shard, entry;
};

static struct place place_of(uint64_t cursor)
{
	return (struct place){(uint32_t)(cursor >> 48), cursor >> 32 & 0xffff, (uint32_t)cursor};
}

static uint64_t cursor_of(const struct place *p)
{
	return (uint64_t)p->table << 48 | (uint64_t)p->shard << 32 | p->entry;
}

/* Entries of one shard. */
static size_t read_shard(const struct sn_state *state, const struct sn_state_table *t,
			 const struct sn_state_shard *sh, struct place *p, uint64_t now, uint8_t *out,
			 size_t max)
{
	size_t n = 0;

	for (; p->entry < slab_used(sh) && n < max; p->entry++) {
		struct sn_entry *e = used_entry(sh, p->entry);

		if (unlikely(e->live && sn_entry_bundled(e)))
			sn_bundle_part(state, e);
		if (sn_entry_live(e, now))
			write_entry(t, e, now, out + SN_CARRY_BYTES * n++);
	}
	return n;
}

size_t sn_carry_read(const struct sn_state *state, const bool shards[SN_SHARDS], uint64_t *cursor,
		     uint64_t now, uint8_t *out, size_t max)
{
	struct place p = place_of(*cursor);
	size_t n = 0;

	for (; p.table < state->n_tables; p.table++, p.shard = 0) {
		const struct sn_state_table *t = state->tables[p.table];

		for (; p.shard <= t->mask; p.shard++, p.entry = 0) {
			if (!shards[p.shard])
				continue;
			n += read_shard(state, t, shard_at(t, p.shard), &p, now, out + SN_CARRY_BYTES * n,
					max - n);
			if (n == max) {
				*cursor = cursor_of(&p);
				return n;
			}
		}
	}
	*cursor = 0;
	return n;
}

/* ---- in ---- */

/* A shard's, of which `len` bytes are used, from their first on. */
static void populate_rows(const struct sn_state_shard *sh, void *from, size_t len)
{
	for (size_t row = 0; row * ROW_BYTES < len; row++)
		sn_huge_populate((uint8_t *)from + (row * ROW_BYTES << sh->spread), ROW_BYTES);
}

/* The buckets in use, from the first on, if a shard has so many entries. */
static uint32_t tier_words(uint32_t entries)
{
	return entries > TIER_0_MAX ? BUCKETS_0 + BUCKETS_1 : BUCKETS_0;
}

static void reserve_shard(const struct sn_state_table *t, uint32_t number, uint32_t entries)
{
	struct sn_state_shard *sh = shard_at(t, number);

	if (entries == 0)
		return;
	sn_shard_reserve(sh, entries);
	populate_rows(sh, sh->slab, RTE_MIN(entries, sh->slab_head) * sizeof(*sh->slab));
	populate_rows(sh, sh->buckets, tier_words(entries) * sizeof(*sh->buckets));
	sn_huge_populate(sh->wheel, WHEEL_SLOTS * sizeof(*sh->wheel));
	/* The ports of entries lie scattered: for a few of them most pages would never be used. */
	if (entries >= t->memory_size / PAGE)
		sn_huge_populate(t->memory + number * t->memory_size, t->memory_size);
	if (entries >= t->rows_size / ROW_BYTES)
		populate_rows(sh, t->rows + number * ROW_BYTES, t->rows_size);
}

void sn_carry_reserve(const struct sn_state *state, uint32_t unit, uint32_t entries)
{
	for (uint32_t i = 0; i < state->n_tables; i++) {
		const struct sn_state_table *t = state->tables[i];
		uint32_t n = (t->mask + 1) / (state->unit_mask + 1); /* shards of the unit */

		for (uint32_t s = unit; s <= t->mask; s += state->unit_mask + 1)
			reserve_shard(t, s, entries / n + (entries % n > 0));
	}
}

/* An entry on its way to where it belongs. */
struct comer {
	struct sn_entry_line line;
	const struct sn_state_table *table;
	struct sn_state_shard *shard;
	uint64_t hash;
};

/* Reads an entry, if it could have been made here, and sends for the lines that it will be put into. */
static int expect(const struct sn_state *state, const bool *shards, const uint8_t *in, uint64_t now,
		  struct comer *c, struct sn_error *err)
{
	uint32_t owner = sn_load16(in + 18), shard = in[22], table = in[23];
	struct sn_entry *e = &c->line.entry;
	const struct sn_state_table *t;
	const char *misfit;

	if (owner >= state->n_owners || state->owners[owner].table != table)
		return sn_fail(err, "entry of table %u and owner %u, which the program does not have so",
			       table, owner);
	t = state->tables[table];
	if (shard >= SN_SHARDS || !shards[shard])
		return sn_fail(err, "%s entry of shard %u, which is none of the transfer's", t->kind->name,
			       shard);
	memset(&c->line, 0, sizeof(c->line));
	t->kind->unpack(e, now, in);
	e->owner = (uint16_t)owner;
	e->shard = shard & (SN_SHARDS - 1);
	e->last_use = now - sn_load64(in + 24);
	misfit = t->kind->misfit(state, t, e);
	if (misfit != NULL)
		return sn_fail(err, "%s entry of table %s and shard %u: %s", t->kind->name, t->config.name,
			       shard, misfit);
	c->table = t;
	c->shard = shard_at(t, shard & t->mask);
	e->timeout_ms = t->kind->timeout(state, e);
	c->hash = t->kind->hash(state, e);
	expect_first(c->shard, c->hash);
	if (t->kind->expect)
		t->kind->expect(t, c->shard, e);
	return 0;
}

static int admit(struct sn_state *state, const struct comer *c, uint64_t now, struct sn_error *err)
{
	const struct sn_entry *came = &c->line.entry;
	const struct sn_state_kind *kind = c->table->kind;
	struct sn_state_shard *sh = c->shard;
	struct sn_entry *e;
	uint32_t generation;

	if (now - came->last_use > came->timeout_ms * NS_PER_MS)
		return 0;
	if (is_taken(state, c->table, sh, came, now))
		return sn_fail(err, "%s entry of table %s and shard %u holds what another one has",
			       kind->name, c->table->config.name, came->shard);
	shard_wake(sh, now);
	e = slab_take(sh);
	if (e == NULL)
		return sn_fail(err, "shard %u of table %s has no room for another entry", came->shard,
			       c->table->config.name);
	generation = e->generation;
	*(struct sn_entry_line *)e = c->line;
	e->generation = generation;
	if (kind->hold)
		kind->hold(state, c->table, sh, e);
	entry_settle(&state->carried, c->table, sh, e, class_of_entry(kind, e), c->hash);
	return 0;
}

int sn_carry_put(struct sn_state *state, const bool shards[SN_SHARDS], const uint8_t *in, size_t n,
		 uint64_t now, struct sn_error *err)
{
	struct comer comers[AHEAD];

	for (size_t done = 0; done < n; done += AHEAD) {
		size_t some = RTE_MIN(n - done, (size_t)AHEAD);

		for (size_t i = 0; i < some; i++)
			if (expect(state, shards, in + SN_CARRY_BYTES * (done + i), now, &comers[i], err) !=
			    0)
				return -1;
		for (size_t i = 0; i < some; i++)
			if (admit(state, &comers[i], now, err) != 0)
				return -1;
	}
	return 0;
}

/* ---- away ---- */

static void end_entry(struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		      struct sn_entry *e)
{
	if (sn_entry_bundled(e))
		sn_bundle_part(state, e);
	if (t->kind->release)
		t->kind->release(state, t, sh, e, true);
	for (uint32_t tier = 0; tier < TIERS; tier++)
		if (tier_is_used(sh, tier))
			*bucket_of(sh, tier, t->kind->hash(state, e)) = 0;
	e->live = 0;
	entry_outdate(state, e);
	state->carried.left[t->id]++;
	++*owner_quota(&state->carried, e->owner, class_of_entry(t->kind, e));
}

static void forget_shard(struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh)
{
	for (uint32_t i = 0; i < slab_used(sh); i++)
		if (used_entry(sh, i)->live)
			end_entry(state, t, sh, used_entry(sh, i));
	memset(sh->wheel, 0, WHEEL_SLOTS * sizeof(*sh->wheel));
	sh->tier_0 = sh->tier_1 = 0;
	sn_shard_forget(sh);
	if (t->kind->shard_reset)
		t->kind->shard_reset(t, sh);
}

void sn_carry_forget(struct sn_state *state, const bool shards[SN_SHARDS])
{
	for (uint32_t i = 0; i < state->n_tables; i++)
		for (uint32_t n = 0; n <= state->tables[i]->mask; n++)
			if (shards[n])
				forget_shard(state, state->tables[i], shard_at(state->tables[i], n));
}
