/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARDS_H
#define SN_SHARDS_H

/*
 * Which worker has which unit of shards, which units are here, and how units move between workers: for the
 * control thread. Functions that can fail return -1 with a message in err.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"
#include "sn_port.h"
#include "sn_state.h"
#include "sn_threads.h"

struct sn_shards;

struct sn_shards_config {
	struct sn_threads *threads;
	struct sn_state *state;
	struct sn_ports ports;
	/* The harness's device that hashes: the worker of each bucket. May be NULL. */
	void (*map)(void *context, const uint8_t *workers);
	void *context;
};

/* With several workers they hand packets to each other from now on. */
struct sn_shards *sn_shards_create(const struct sn_shards_config *config, struct sn_error *err);

/* When the workers are freed. */
void sn_shards_free(struct sn_shards *shards);

/*
 * Partitions flows in another way, before the first program and the first flow rule. By RSS, ports are
 * restarted to hash; why (one per port) is empty or says why a device does not, whose packets are then handed
 * over. On an error a port does not start any more.
 */
int sn_shards_partition(struct sn_shards *shards, struct sn_partitioning partitioning, struct sn_error *why,
			struct sn_error *err);

/* After the state was fitted to a program, while the workers are held. */
void sn_shards_place(struct sn_shards *shards);

/*
 * Moves a unit to a worker and returns when it is there; packets flow meanwhile. blocked_ns: how long the
 * unit's packets may have waited, 0 if it was there already. 0, or -1 with a message in err.
 */
int sn_shards_move(struct sn_shards *shards, uint32_t unit, uint32_t worker, uint64_t *blocked_ns,
		   struct sn_error *err);

/* The same in steps, for who runs the workers himself: begin, let workers poll, end (false: not there yet).
 */
int sn_shards_begin(struct sn_shards *shards, uint32_t unit, uint32_t worker, struct sn_error *err);
bool sn_shards_end(struct sn_shards *shards, uint64_t *blocked_ns);

/* The unit that is under way; SN_NO_SHARD: none. */
uint32_t sn_shards_moving(const struct sn_shards *shards);

/* Waits for the end of a move that is under way, if any; returns its blocked_ns. */
uint64_t sn_shards_finish(struct sn_shards *shards);

/*
 * While the workers are held: what they have handed to each other is processed, in its order, by the program
 * that they run. Then shards may be others'.
 */
void sn_shards_drain(struct sn_shards *shards);

/* Before the first unit is not here, or is to be told from others: packets are looked at for whose they are
 * from now on. Not 0 without memory. */
int sn_shards_ready(struct sn_shards *shards);

/* While the workers are held, after sn_shards_ready(): the units of the shards are at a place. */
void sn_shards_put(struct sn_shards *shards, const bool set[SN_SHARDS], enum sn_shard_place place);

/* Which shards are in units. */
int sn_shards_mark(const struct sn_shards *shards, const uint32_t *units, size_t n, bool set[SN_SHARDS],
		   struct sn_error *err);

/* "here", "away", … */
const char *sn_shards_place_name(enum sn_shard_place place);

/*
 * Which units are here, without sessions if they were not, and the key of what tells a flow's shard (len 0:
 * as it is).
 */
int sn_shards_assign(struct sn_shards *shards, const uint32_t *units, size_t n, const uint8_t *key,
		     size_t key_len, struct sn_error *err);

/* Devices that hash give each worker its shards' packets; what one does not take is handed over. */
void sn_shards_map(struct sn_shards *shards);

/*
 * Has a device changed that gives a unit's packets to a worker's queue, so that they come to their owner's;
 * in their order: those that come to the owner wait until the other queue gave what it had. blocked_ns: how
 * long they may have waited. 0, or -1 with a message in err, and nothing was changed.
 */
int sn_shards_turn(struct sn_shards *shards, uint32_t unit, uint32_t from, void (*change)(void *),
		   void *context, uint64_t *blocked_ns, struct sn_error *err);

/* Splits again what limits leave, if a worker has used up its part. Call it now and then. */
void sn_shards_level(struct sn_shards *shards);

#endif /* SN_SHARDS_H */
