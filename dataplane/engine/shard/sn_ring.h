/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_RING_H
#define SN_RING_H

/*
 * A queue of pointers from one thread to one other. Each side writes lines of its own only,
 * and re-reads the peer's index only when the cached copy no longer suffices. What is put is seen when
 * it is published, so that a burst costs one store that the other side waits for.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define SN_RING_LINE 64

struct sn_ring {
	/* written by the producer */
	_Alignas(SN_RING_LINE) _Atomic uint32_t tail; /* published */
	uint32_t next;				      /* put */
	uint32_t head_seen;
	/* written by the consumer */
	_Alignas(SN_RING_LINE) _Atomic uint32_t head;
	uint32_t tail_seen;
	uint32_t looked; /* the consumer's own mark, for whatever it looks for */
	/* never written */
	_Alignas(SN_RING_LINE) uint32_t mask;
	/* the producer's, until it publishes; then the consumer's, until it takes */
	_Alignas(SN_RING_LINE) void *slots[];
};
_Static_assert(offsetof(struct sn_ring, head) / SN_RING_LINE >
		       (offsetof(struct sn_ring, head_seen) + 3) / SN_RING_LINE,
	       "producer and consumer write different lines");
_Static_assert(offsetof(struct sn_ring, mask) / SN_RING_LINE >
		       (offsetof(struct sn_ring, tail_seen) + 3) / SN_RING_LINE,
	       "what both read is on a line that nobody writes");
_Static_assert(offsetof(struct sn_ring, slots) % SN_RING_LINE == 0, "slots begin a line");

/* size: a power of two. NULL without memory; free() frees it. */
static inline struct sn_ring *sn_ring_create(uint32_t size)
{
	struct sn_ring *ring =
		aligned_alloc(SN_RING_LINE, sizeof(*ring) + (size * sizeof(void *) + SN_RING_LINE - 1) /
								    SN_RING_LINE * SN_RING_LINE);

	if (ring == NULL)
		return NULL;
	atomic_init(&ring->tail, 0);
	atomic_init(&ring->head, 0);
	ring->next = ring->head_seen = ring->tail_seen = ring->looked = 0;
	ring->mask = size - 1;
	return ring;
}

/* False: the ring is full. */
static inline bool sn_ring_put(struct sn_ring *ring, void *item)
{
	if (ring->next - ring->head_seen > ring->mask) {
		ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
		if (ring->next - ring->head_seen > ring->mask)
			return false;
	}
	ring->slots[ring->next++ & ring->mask] = item;
	return true;
}

static inline void sn_ring_publish(struct sn_ring *ring)
{
	atomic_store_explicit(&ring->tail, ring->next, memory_order_release);
}

/* At most max items, oldest first. */
static inline uint32_t sn_ring_take(struct sn_ring *ring, void **items, uint32_t max)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed), n;

	if (ring->tail_seen == head)
		ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
	n = ring->tail_seen - head;
	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++)
		items[i] = ring->slots[(head + i) & ring->mask];
	if (n > 0)
		atomic_store_explicit(&ring->head, head + n, memory_order_release);
	return n;
}

/* For the consumer: what it has not taken stands at the places from the head, which is the oldest, to the
 * tail. */
static inline uint32_t sn_ring_head(const struct sn_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_relaxed);
}

static inline uint32_t sn_ring_tail(struct sn_ring *ring)
{
	return ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
}

static inline void **sn_ring_at(struct sn_ring *ring, uint32_t place)
{
	return &ring->slots[place & ring->mask];
}

/* Takes away what the consumer has set to NULL, from the head to before a place; the rest moves up to it. */
static inline void sn_ring_close_up(struct sn_ring *ring, uint32_t end)
{
	uint32_t head = sn_ring_head(ring), to = end;

	for (uint32_t from = end; from != head; from--) {
		void *item = *sn_ring_at(ring, from - 1);

		if (item != NULL)
			*sn_ring_at(ring, --to) = item;
	}
	atomic_store_explicit(&ring->head, to, memory_order_release);
}

#endif /* SN_RING_H */
