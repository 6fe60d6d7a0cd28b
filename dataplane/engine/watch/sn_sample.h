/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SAMPLE_H
#define SN_SAMPLE_H

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

#define SN_SAMPLES	    256 /* in a ring */
#define SN_SAMPLES_PER_TICK 4

struct sn_sample {
	_Alignas(64) uint64_t time_ns; /* when its burst came */
	uint32_t fields[SN_FIELDS];
	uint32_t mark; /* 0: none */
	/* second line */
	struct rte_ether_addr mac; /* destination */
	uint16_t port;		   /* ethdev */
	uint16_t queue;
};
_Static_assert(sizeof(struct sn_sample) == 128, "two lines");

struct sn_samples {
	_Alignas(64) _Atomic uint32_t head; /* written by the worker */
	_Alignas(64) _Atomic uint32_t tail; /* by the control thread */
	_Alignas(64) struct sn_sample ring[SN_SAMPLES];
};

/* Where the worker writes its next sample, NULL if the ring is full; sn_samples_put() when it is written. */
static inline struct sn_sample *sn_samples_next(struct sn_samples *s)
{
	uint32_t head = atomic_load_explicit(&s->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&s->tail, memory_order_acquire) == SN_SAMPLES)
		return NULL;
	return &s->ring[head % SN_SAMPLES];
}

static inline void sn_samples_put(struct sn_samples *s)
{
	uint32_t head = atomic_load_explicit(&s->head, memory_order_relaxed);

	atomic_store_explicit(&s->head, head + 1, memory_order_release);
}

/* The oldest sample, false if there is none. */
static inline bool sn_samples_take(struct sn_samples *s, struct sn_sample *sample)
{
	uint32_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&s->head, memory_order_acquire))
		return false;
	*sample = s->ring[tail % SN_SAMPLES];
	atomic_store_explicit(&s->tail, tail + 1, memory_order_release);
	return true;
}

#endif /* SN_SAMPLE_H */
