/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SIGHT_H
#define SN_SIGHT_H

/*
 * What workers see of packets as devices give them: the queue by which they came, the mark, the fields.
 * Some packets in each millisecond go through a ring to the control thread, which compares them with
 * the rules that the device was given. A full ring takes no more.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "sn_field.h"

#define SN_SIGHTS	   256 /* in a ring */
#define SN_SIGHTS_PER_TICK 4

struct sn_sight {
	_Alignas(64) uint64_t time_ns; /* when its burst came */
	uint32_t fields[SN_FIELDS];
	uint32_t mark; /* 0: none */
	/* second line */
	struct rte_ether_addr mac; /* destination */
	uint16_t port;		   /* ethdev */
	uint16_t queue;
};
_Static_assert(sizeof(struct sn_sight) == 128, "two lines");

struct sn_sights {
	_Alignas(64) _Atomic uint32_t head; /* written by the worker */
	_Alignas(64) _Atomic uint32_t tail; /* by the control thread */
	_Alignas(64) struct sn_sight ring[SN_SIGHTS];
};

/* Where the worker writes its next sight, NULL if the ring is full; sn_sights_put() when it is written. */
static inline struct sn_sight *sn_sights_next(struct sn_sights *s)
{
	uint32_t head = atomic_load_explicit(&s->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&s->tail, memory_order_acquire) == SN_SIGHTS)
		return NULL;
	return &s->ring[head % SN_SIGHTS];
}

static inline void sn_sights_put(struct sn_sights *s)
{
	uint32_t head = atomic_load_explicit(&s->head, memory_order_relaxed);

	atomic_store_explicit(&s->head, head + 1, memory_order_release);
}

/* The oldest sight, false if there is none. */
static inline bool sn_sights_take(struct sn_sights *s, struct sn_sight *sight)
{
	uint32_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&s->head, memory_order_acquire))
		return false;
	*sight = s->ring[tail % SN_SIGHTS];
	atomic_store_explicit(&s->tail, tail + 1, memory_order_release);
	return true;
}

#endif /* SN_SIGHT_H */
