/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PACE_H
#define SN_PACE_H

/*
 * Frames of a device that always has some (a capture replayed from memory) come
 * at a rate, as if a wire brought them into a ring: those that find it full are missed. So the highest rate
 * without loss (RFC 2544, throughput) is measured, and what a worker does at a part of it,
 * without a generator that would need a CPU of its own.
 */

#include <stddef.h>
#include <stdint.h>

#define SN_PACE_RATE_MAX 1000000000u /* frames per second: less than one per cycle */

struct sn_pace {
	uint64_t factor; /* frames per cycle, 64 bits behind the point */
	uint64_t ring;	 /* frames that wait at most */
	uint64_t begin;	 /* cycles; 0: nobody has asked yet */
	uint64_t taken;
	uint64_t missed; /* written by one thread, read by any */
} __attribute__((aligned(64)));

/* rate: frames per second. */
static inline void sn_pace_init(struct sn_pace *pace, uint64_t rate, uint64_t hz, uint64_t ring)
{
	__extension__ typedef unsigned __int128 uint128;

	*pace = (struct sn_pace){.factor = (uint64_t)(((uint128)rate << 64) / hz), .ring = ring};
}

/* How many of the frames that have come by now are taken, max at most. */
static inline uint16_t sn_pace_take(struct sn_pace *pace, uint64_t now, uint16_t max)
{
	__extension__ typedef unsigned __int128 uint128;
	uint64_t waiting;

	if (pace->begin == 0)
		pace->begin = now;
	waiting = (uint64_t)((uint128)(now - pace->begin) * pace->factor >> 64) - pace->taken - pace->missed;
	if (waiting > pace->ring) {
		__atomic_store_n(&pace->missed, pace->missed + waiting - pace->ring, __ATOMIC_RELAXED);
		waiting = pace->ring;
	}
	if (waiting > max)
		waiting = max;
	pace->taken += waiting;
	return (uint16_t)waiting;
}

/* Frames that were taken but had no room to be read into. */
static inline void sn_pace_miss(struct sn_pace *pace, uint16_t n)
{
	pace->taken -= n;
	__atomic_store_n(&pace->missed, pace->missed + n, __ATOMIC_RELAXED);
}

#endif /* SN_PACE_H */
