/* SPDX-License-Identifier: Apache-2.0 */
/* Entries end: by their time, or for others. */

#include <stdatomic.h>

#include "sn_state_impl.h"

#define SHARDS_PER_TICK 8u
#define REAP_PAUSE	1000u /* ns per entry and shard looked at, which take about a tenth of that */
#define LOOKED		16u   /* entries that are looked at for one that may end */

/* Give back what an entry holds, then its line. */
static void end(struct sn_partition *partition, const struct sn_state_table *t, struct sn_state_shard *sh,
		struct sn_entry *e, bool unused)
{
	if (t->kind->release)
		t->kind->release(partition->state, t, sh, e, unused);
	entry_end(partition, t, sh, e, class_of_entry(t->kind, e), t->kind->hash(partition->state, e));
}

void sn_entry_undo(struct sn_partition *partition, struct sn_entry *e)
{
	const struct sn_state_table *t = table_of(partition->state, e);
	struct sn_state_shard *sh = shard_at(t, e->shard & t->mask);

	end(partition, t, sh, e, true);
	sh->created--;
}

void sn_entry_expire(struct sn_partition *partition, const struct sn_state_table *t,
		     struct sn_state_shard *sh, struct sn_entry *e)
{
	end(partition, t, sh, e, false);
	sh->expired++;
}

void sn_entry_replace(struct sn_partition *partition, const struct sn_entry *e)
{
	const struct sn_state_table *t = table_of(partition->state, e);
	struct sn_state_shard *sh = shard_at(t, e->shard & t->mask);
	struct sn_entry *old = t->kind->replaced(partition->state, sh, e);

	if (old)
		sn_entry_expire(partition, t, sh, old);
}

uint32_t sn_state_reap(struct sn_partition *partition, const struct sn_state_table *t,
		       struct sn_state_shard *sh, uint64_t now, bool to_the_moment)
{
	uint32_t looked = 0;
	uint64_t end = now >> WHEEL_SHIFT, tick = sh->tick;

	if (sh->live && end > tick + WHEEL_SLOTS)
		tick = end - WHEEL_SLOTS; /* every slot once */
	if (!sh->live)
		tick = end;
	if (sh->tick < end)
		sh->tick = end;
	end += to_the_moment;
	for (; tick < end; tick++) {
		uint32_t *head = &sh->wheel[tick & (WHEEL_SLOTS - 1)], index = *head;

		*head = 0;
		while (index) {
			struct sn_entry *e = at_index(sh, index);

			index = e->wheel_next;
			hang(sh, e);
			if (!sn_entry_live(e, now))
				sn_entry_expire(partition, t, sh, e);
			looked++;
		}
	}
	return looked;
}

/* All shards of a table: only when a limit is met that other shards count for, too. Whoever keeps meeting it
 * must not keep the worker busy: the more there was to look at, the later is the next time. */
static void reap_all(struct sn_partition *partition, const struct sn_state_table *t, uint64_t now)
{
	uint64_t looked = 0;

	if (now < partition->reap_from[t->id])
		return;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (partition->owned[i])
			looked += 1 + sn_state_reap(partition, t, shard_at(t, i), now, true);
	partition->reap_from[t->id] = now + looked * REAP_PAUSE;
}

void sn_state_reap_counted(struct sn_partition *partition, uint64_t now)
{
	const struct sn_state *state = partition->state;

	for (uint32_t i = 0; i < state->n_tables; i++)
		if (state->tables[i]->kind->count_subscribers)
			reap_all(partition, state->tables[i], now);
}

void sn_state_note(struct sn_partition *partition, const struct sn_state_table *t, const struct sn_entry *e,
		   bool made, uint64_t now)
{
	partition->events->of[partition->events->n++] =
		(struct sn_event){made, t->id, sn_entry_info(partition->state, e, now)};
}

void sn_state_note_evicted(struct sn_partition *partition, const struct sn_state_table *t,
			   struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	if (partition->events != NULL)
		sn_state_note(partition, t, e, false, now);
	sh->cold->evicted++;
}

static void evict(struct sn_partition *partition, struct sn_state_table *t, struct sn_state_shard *sh,
		  uint32_t owner, uint32_t class, uint64_t now)
{
	struct sn_entry *e = t->kind->victim ? t->kind->victim(partition, t, sh, owner, class, now) : NULL;

	if (e != NULL)
		sn_entry_evict(partition, t, shard_at(t, e->shard & t->mask), e, now);
}

void sn_entry_evict(struct sn_partition *partition, const struct sn_state_table *t, struct sn_state_shard *sh,
		    struct sn_entry *e, uint64_t now)
{
	if (!sn_entry_live(e, now)) {
		sn_entry_expire(partition, t, sh, e);
		return;
	}
	sn_state_note_evicted(partition, t, sh, e, now);
	if (unlikely(sn_entry_bundled(e)))
		sn_bundle_part(partition->state, e);
	entry_refresh(sh, e, 0, now); /* it is over now: what it held rests from now on */
	end(partition, t, sh, e, false);
}

bool sn_state_make_room(struct sn_partition *partition, struct sn_state_table *t, struct sn_state_shard *sh,
			uint32_t owner, uint32_t class, uint64_t now)
{
	if (!t->kind->gives_way)
		sn_state_reap(partition, t, sh, now, true);
	if (is_full(partition, t, owner, class)) {
		if (!t->kind->gives_way)
			reap_all(partition, t, now);
		if (is_full(partition, t, owner, class))
			atomic_store_explicit(&partition->starved, true, memory_order_relaxed);
	}
	if (is_full(partition, t, owner, class) || slab_empty(sh))
		evict(partition, t, sh, owner, class, now);
	return !is_full(partition, t, owner, class) && !slab_empty(sh);
}

static uint64_t due_of(const struct sn_entry *e)
{
	return sn_entry_last_use(e) + e->timeout_ms * NS_PER_MS;
}

struct sn_entry *sn_state_first_due(struct sn_state_shard *sh)
{
	struct sn_entry *first = NULL;

	for (uint32_t looks = 0; looks < LOOKED && looks < slab_used(sh); looks++) {
		struct sn_entry *e = used_entry(sh, turn(&sh->hand, slab_used(sh)));

		if (e->live && (first == NULL || due_of(e) < due_of(first)))
			first = e;
	}
	return first;
}

void sn_partition_tick(struct sn_partition *partition, uint64_t now)
{
	const struct sn_state *state = partition->state;

	partition->now = now;
	for (uint32_t n = 0; n < SHARDS_PER_TICK; n++) {
		uint32_t i = partition->cursor++ & (SN_SHARDS - 1);

		for (uint32_t j = 0; partition->owned[i] && j < state->n_tables; j++) {
			const struct sn_state_table *t = state->tables[j];
			struct sn_state_shard *sh = shard_at(t, i & t->mask);

			if (i <= t->mask)
				sn_state_reap(partition, t, sh, now, false);
			if (i <= t->mask && unlikely(sh->trims))
				sn_shard_trim(sh, state->eras->entered[i] % 2 * SN_ERA);
		}
	}
	for (uint32_t j = 0; j < state->n_tables; j++)
		if (state->tables[j]->kind->tick)
			state->tables[j]->kind->tick(partition, state->tables[j], now);
}
