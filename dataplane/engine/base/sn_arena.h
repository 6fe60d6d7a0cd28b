/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ARENA_H
#define SN_ARENA_H

/*
 * Memory that is taken piece by piece and given back all at once: for the life of
 * one control message and its answer.
 */

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct sn_arena_block;

struct sn_arena {
	struct sn_arena_block *blocks; /* newest first; the last one is kept over a reset */
	ProtobufCAllocator allocator;  /* the arena as protobuf-c wants it */
};

void sn_arena_init(struct sn_arena *arena);

/* Zeroed, aligned for any type; NULL without memory. */
void *sn_arena_alloc(struct sn_arena *arena, size_t size);

void sn_arena_reset(struct sn_arena *arena);
void sn_arena_free(struct sn_arena *arena);

#endif /* SN_ARENA_H */
