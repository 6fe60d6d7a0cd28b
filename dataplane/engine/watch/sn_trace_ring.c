/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_trace_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sn_trace_ring_init(struct sn_trace_ring *ring, size_t size)
{
	memset(ring, 0, sizeof(*ring));
	ring->bytes = malloc(size);
	ring->size = size;
	return ring->bytes != NULL ? 0 : -ENOMEM;
}

void sn_trace_ring_free(struct sn_trace_ring *ring)
{
	free(ring->bytes);
	ring->bytes = NULL;
}

bool sn_trace_ring_begin(struct sn_trace_ring *ring, uint32_t len)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);

	if (ring->size - (written - read) < len + sizeof(len))
		return false;
	ring->writing = written;
	sn_trace_ring_put(ring, &len, sizeof(len));
	return true;
}

void sn_trace_ring_put(struct sn_trace_ring *ring, const void *data, size_t len)
{
	size_t at = ring->writing & (ring->size - 1);
	size_t first = len < ring->size - at ? len : ring->size - at;

	if (len == 0)
		return;
	memcpy(ring->bytes + at, data, first);
	memcpy(ring->bytes, (const uint8_t *)data + first, len - first);
	ring->writing += len;
}

void sn_trace_ring_publish(struct sn_trace_ring *ring)
{
	atomic_store_explicit(&ring->written, ring->writing, memory_order_release);
}

static void copy_out(const struct sn_trace_ring *ring, uint64_t from, void *data, size_t len)
{
	size_t at = from & (ring->size - 1);
	size_t first = len < ring->size - at ? len : ring->size - at;

	memcpy(data, ring->bytes + at, first);
	memcpy((uint8_t *)data + first, ring->bytes, len - first);
}

uint32_t sn_trace_ring_next(const struct sn_trace_ring *ring)
{
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
	uint32_t len = 0;

	if (atomic_load_explicit(&ring->written, memory_order_acquire) != read)
		copy_out(ring, read, &len, sizeof(len));
	return len;
}

void sn_trace_ring_take(struct sn_trace_ring *ring, void *data, uint32_t len)
{
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

	copy_out(ring, read + sizeof(len), data, len);
	atomic_store_explicit(&ring->read, read + sizeof(len) + len, memory_order_release);
}
