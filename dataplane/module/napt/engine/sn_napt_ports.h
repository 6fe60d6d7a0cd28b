/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NAPT_PORTS_H
#define SN_NAPT_PORTS_H

/* Ports as they are taken and given back: who rests longest is taken next. */

#include "sn_napt_impl.h"

/* Whoever comes to a row says so. */
static inline void slot_reach(const struct list *l, uint32_t slot)
{
	slot <<= l->shard->slot_log;
	if (slot % ROW_WORDS == 0 && likely(l->stretch != NULL))
		sn_stretch_reach(l->stretch, row_end(&l->shard->shard, ROW_WORDS, slot) * sizeof(uint32_t));
}

/* Whether a time lies ahead; 0: no. Times go round in two years: what is too far ahead is long past. */
static inline bool is_ahead(uint32_t until, uint32_t now)
{
	return until != 0 && until - now - 1 < REST_AHEAD;
}

/* A port was in use until `end`; of several uses the last counts. */
static inline void slot_note_rest(const struct napt_table *t, uint32_t *rests, uint32_t slot, uint64_t end)
{
	uint32_t until = (uint32_t)((end + t->rest_ns) >> REST_SHIFT) + 1;

	if (!is_ahead(rests[slot], until))
		rests[slot] = until != 0 ? until : 1;
}

static __rte_always_inline uint32_t slot_take(const struct list *l, uint64_t now)
{
	struct queue *q = l->queue;
	uint32_t slot;

	while (q->fresh < l->n) {
		slot = q->fresh++;
		slot_reach(l, slot);
		if (likely(q->fresh < l->n)) /* its turn comes when other shards had theirs */
			rte_prefetch0(list_slot(l, q->fresh));
		if (likely(!*list_slot(l, slot)))
			return l->begin + slot;
	}
	if (!q->head)
		return SN_NO_INDEX;
	slot = q->head - 1;
	if (unlikely(l->rests != NULL) && is_ahead(l->rests[l->begin + slot], (uint32_t)(now >> REST_SHIFT)))
		return SN_NO_INDEX; /* the others rest longer */
	q->head = *list_slot(l, slot) & ~SLOT_FREE;
	if (q->head)
		rte_prefetch0(list_slot(l, q->head - 1));
	return l->begin + slot;
}

/* Behind all that are free: it must rest. */
static inline void slot_rest(const struct list *l, uint32_t slot)
{
	struct queue *q = l->queue;

	slot -= l->begin;
	*list_slot(l, slot) = SLOT_FREE;
	if (q->head)
		*list_slot(l, q->tail - 1) = SLOT_FREE | (slot + 1);
	else
		q->head = slot + 1;
	q->tail = slot + 1;
}

/* Before all that are free: it was never used. */
static inline void slot_untake(const struct list *l, uint32_t slot)
{
	struct queue *q = l->queue;

	slot -= l->begin;
	if (slot + 1 == q->fresh) {
		*list_slot(l, slot) = 0;
		q->fresh--;
		return;
	}
	*list_slot(l, slot) = SLOT_FREE | q->head;
	if (!q->head)
		q->tail = slot + 1;
	q->head = slot + 1;
}

static inline uint32_t address_at(const struct napt_table *t, uint32_t index)
{
	uint32_t i = t->n_pool - 1;

	while (t->pool_base[i] > index)
		i--;
	return t->pool[i].first + (index - t->pool_base[i]);
}

#endif /* SN_NAPT_PORTS_H */
