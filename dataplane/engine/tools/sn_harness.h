/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HARNESS_H
#define SN_HARNESS_H

/* The engine without ports, threads and time of its own: packets and clock are given, what comes out is kept.
 */

#include <stddef.h>
#include <stdint.h>

#include "control.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"
#include "sn_error.h"

#define SN_HARNESS_PACKET_MAX 16384

struct sn_harness_out {
	uint32_t interface;
	uint32_t source;
	uint32_t offset; /* in bytes of the output */
	uint32_t len;
};

struct sn_harness_drop {
	uint32_t source;
	uint32_t reason;
};

struct sn_harness_event {
	uint32_t source;
	struct sn_event event;
};

struct sn_harness {
	struct sn_engine *engine;
	struct rte_mempool *pool;
	struct sn_harness_out *out;
	size_t n_out, out_cap;
	struct sn_harness_drop *drops;
	size_t n_drops, drops_cap;
	struct sn_harness_event *events;
	size_t n_events, events_cap;
	uint8_t *bytes; /* of all packets in out */
	size_t n_bytes, bytes_cap;
	bool no_memory; /* some output was lost */
	bool hashes;	/* packets come by a device that hashes them */
	uint8_t map[SN_SHARDS];
};

struct sn_harness_config {
	unsigned int n_workers;
	struct sn_partitioning partitioning;
	uint32_t cache_entries; /* of a worker's decision cache: a power of two; 0: as many as usual */
};

/*
 * After sn_harness_eal(). Several workers receive by turns; if shards are cut by hash, as a device that
 * hashes and has a queue for each gives it to them. 0, or -1 with a message in err.
 */
int sn_harness_open(struct sn_harness *harness, const struct sn_harness_config *config, struct sn_error *err);
void sn_harness_close(struct sn_harness *harness);

/* Starts EAL as a harness needs it: one thread, no devices, no hugepages, nothing shared. */
int sn_harness_eal(const char *name, struct sn_error *err);

/*
 * One round: the timers, then the packets in their order, in bursts of at most 32 of
 * one interface for one worker. What workers hand each other is processed before the next burst. out, drops
 * and bytes hold what came of it until the next round.
 */
int sn_harness_round(struct sn_harness *harness, uint64_t now_ns,
		     Sinter__Control__V1__InjectedPacket **packets, size_t n, struct sn_error *err);

/* An sn_inject: one round, what came out as a message. */
int sn_harness_inject(void *harness, const Sinter__Control__V1__Inject *inject, struct sn_arena *arena,
		      Sinter__Control__V1__Injected *injected, struct sn_error *err);

#endif /* SN_HARNESS_H */
