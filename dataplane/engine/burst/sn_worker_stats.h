/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WORKER_STATS_H
#define SN_WORKER_STATS_H

/* Counters of a worker, whatever program runs. Written by the worker alone, read by others. */

#include <stdint.h>

#include "sn_count.h"
#include "sn_program.h"
#include "sn_reason.h"
#include "sn_state.h"

/* Stages of a burst whose cycles are counted if a profile is wanted. Receive is counted by the caller. */
enum sn_stage {
	SN_STAGE_RECEIVE,
	SN_STAGE_PARSE,
	SN_STAGE_LOOKUP,
	SN_STAGE_CLASSIFY,
	SN_STAGE_REWRITE,
	SN_STAGE_SEND,
	SN_STAGES,
};

struct sn_port_count {
	struct sn_count rx;
	struct sn_count tx;
	uint64_t strays;	/* whole TCP and UDP packets of other workers' shards */
	uint64_t marked;	/* packets whose class was taken from their mark */
	uint64_t misclassified; /* marks that were found wrong */
};

/* Counters of a shard's packets on one worker; with several workers only. */
struct sn_shard_count {
	uint64_t packets;
	uint64_t cycles; /* its share of the bursts that they were in */
	uint64_t passed; /* on to the peer that had it; not in packets */
};

#define SN_LATENCY_BUCKETS 40

struct sn_worker_stats {
	uint64_t packets;
	uint64_t bursts;
	uint64_t busy_cycles; /* within sn_worker_burst() */
	uint64_t cache_hits;
	uint64_t cache_misses;
	uint64_t handed;		      /* packets given to other workers, not counted in packets */
	uint64_t taken;			      /* packets that came from other workers */
	uint64_t latency[SN_LATENCY_BUCKETS]; /* bursts of 2^i .. 2^(i+1)-1 cycles */
	uint64_t stage_cycles[SN_STAGES];
	struct sn_port_count ports[SN_IFACES_MAX];
	struct sn_count drops[SN_REASON_BUILTIN];
	struct sn_shard_count shards[SN_SHARDS];
};

#endif /* SN_WORKER_STATS_H */
