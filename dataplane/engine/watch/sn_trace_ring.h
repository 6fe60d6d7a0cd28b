/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRACE_RING_H
#define SN_TRACE_RING_H

/*
 * Records of bytes from one thread to another, without locks. The writer never
 * waits: a record for which there is no room is not begun.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_trace_ring {
	uint8_t *bytes;
	size_t size; /* a power of two */
	/* Bytes written and read since the beginning, each by its thread alone. */
	_Alignas(64) _Atomic uint64_t written;
	uint64_t writing; /* of the record that is not published yet */
	_Alignas(64) _Atomic uint64_t read;
};

/* 0 or -ENOMEM. */
int sn_trace_ring_init(struct sn_trace_ring *ring, size_t size);
void sn_trace_ring_free(struct sn_trace_ring *ring);

/* The writer: whether there is room for a record of len bytes, which then follow in any number of pieces. */
bool sn_trace_ring_begin(struct sn_trace_ring *ring, uint32_t len);
void sn_trace_ring_put(struct sn_trace_ring *ring, const void *data, size_t len);
void sn_trace_ring_publish(struct sn_trace_ring *ring);

/* The reader: length of the next record, 0 if there is none; and that record. */
uint32_t sn_trace_ring_next(const struct sn_trace_ring *ring);
void sn_trace_ring_take(struct sn_trace_ring *ring, void *data, uint32_t len);

#endif /* SN_TRACE_RING_H */
