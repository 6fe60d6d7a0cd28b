/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_bundle.h"

#include <string.h>

#include "sn_bundles.h"
#include "sn_state_impl.h"

/* The bundle of an entry; NULL: it is in none. */
static struct sn_bundle *bundle_of(const struct sn_state *state, const struct sn_entry *e)
{
	const struct sn_entry *leader = e->follows ? e->leader : e;

	return leader->leads ? sn_bundles_find(state->bundles, leader) : NULL;
}

/* ---- apart ---- */

/* Each entry is as it would be alone. */
static void loosen(const struct sn_state *state, struct sn_bundle *b)
{
	struct sn_entry *leader = b->entries[0];

	for (uint32_t i = 1; i < b->n; i++) {
		struct sn_entry *e = b->entries[i];

		e->follows = 0;
		e->last_use = leader->last_use;
		table_of(state, e)->kind->catch_up(e, leader, b->turned >> i & 1);
	}
	leader->leads = 0;
}

static void part(const struct sn_state *state, struct sn_bundle *b)
{
	if (b->entries[0]->leads)
		loosen(state, b);
	entry_outdate(state, b->entries[0]);
	sn_bundles_give(state->bundles, b);
}

void sn_bundle_part(const struct sn_state *state, struct sn_entry *e)
{
	struct sn_bundle *b = bundle_of(state, e);

	if (b)
		part(state, b);
}

void sn_bundle_part_all(const struct sn_state *state)
{
	for (uint32_t shard = 0; shard < SN_SHARDS; shard++) {
		struct sn_bundle *b;
		uint32_t at = 0;

		while ((b = sn_bundles_next(state->bundles, shard, &at)) != NULL)
			part(state, b);
	}
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
	const struct sn_bundle *b = uses->n > 1 ? bundle_of(state, uses->entries[0]) : NULL;
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

/* The leader would be the one with the shortest timeout, and of these the first that translates. */
static uint32_t leader_among(const struct sn_bundle_uses *uses)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < uses->n; i++) {
		uint32_t timeout = uses->entries[i]->timeout_ms, least = uses->entries[first]->timeout_ms;

		if (timeout < least ||
		    (timeout == least && (uses->translating >> i & ~(uses->translating >> first) & 1)))
			first = i;
	}
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

/* False: there is none, and none is given up for this one. Two entries are remembered by a decision as they
 * are, so they take nobody's place. */
static bool make_room(const struct sn_state *state, uint32_t shard, uint32_t entries)
{
	struct sn_bundle *victim;

	if (sn_bundles_have_room(state->bundles, shard))
		return true;
	victim = entries > 2 ? sn_bundles_victim(state->bundles, shard) : NULL;
	if (victim)
		part(state, victim);
	return victim != NULL;
}

struct sn_entry *sn_bundle_make(const struct sn_state *state, const struct sn_bundle_uses *uses, uint64_t now)
{
	uint32_t first = leader_among(uses);
	struct sn_entry *leader = uses->entries[first];
	struct sn_bundle *b;

	if (uses->n < 2 || !sn_bundles_fit(state->bundles, uses->n) || !are_alike(state, uses, first, now) ||
	    !make_room(state, leader->shard, uses->n))
		return NULL;
	b = sn_bundles_take(state->bundles, leader);
	leader->leads = 1;
	entry_outdate(state, leader);
	for (uint32_t i = 0; i < uses->n; i++) {
		struct sn_entry *e = uses->entries[i];

		if (i == first)
			continue;
		b->turned |= (uint16_t)(is_turned(uses, first, i) << b->n);
		b->entries[b->n++] = e;
		e->leader = leader;
		e->follows = 1;
		entry_outdate(state, e);
	}
	return leader;
}

/* ---- apart for a moment ---- */

struct sn_bundle *sn_bundle_loosen(const struct sn_state *state, struct sn_entry *leader,
				   struct sn_bundle_uses *uses)
{
	struct sn_bundle *b = bundle_of(state, leader);

	uses->n = b->n;
	uses->returns = b->turned;
	memcpy(uses->entries, b->entries, b->n * sizeof(*b->entries));
	loosen(state, b);
	return b;
}

static bool are_still_alike(const struct sn_state *state, const struct sn_bundle *b)
{
	const struct sn_entry *leader = b->entries[0];

	for (uint32_t i = 1; i < b->n; i++) {
		const struct sn_entry *e = b->entries[i];

		if (e->timeout_ms < leader->timeout_ms || e->last_use != leader->last_use ||
		    !table_of(state, e)->kind->is_alike(leader, e, b->turned >> i & 1))
			return false;
	}
	return true;
}

void sn_bundle_tighten(const struct sn_state *state, struct sn_bundle *b)
{
	struct sn_entry *leader = b->entries[0];

	if (!are_still_alike(state, b)) {
		part(state, b);
		return;
	}
	leader->leads = 1;
	for (uint32_t i = 1; i < b->n; i++) {
		b->entries[i]->leader = leader;
		b->entries[i]->follows = 1;
	}
}
