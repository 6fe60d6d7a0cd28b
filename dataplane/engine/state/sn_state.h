/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STATE_H
#define SN_STATE_H

/*
 * The NAPTs' sessions. State outlives programs: a table is known by its name,
 * a session by its run's name. It is cut into shards, each of which can be handed to another core with
 * all that belongs to it: both directions of a flow are of one.
 *
 * Every shard is one worker's. What a worker has is its part: functions that
 * take one run on its worker, and touch only shards that the part owns. The
 * others are for the control thread while all workers are quiescent, but for
 * those that are said to be safe.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sn_partitioning.h"
#include "sn_program.h"

#define SN_SHARDS   128
#define SN_NO_SHARD UINT32_MAX

/* TCP as far as a NAPT follows it (docs/elements.md, "napt"). */
enum sn_tcp_seen {
	SN_SEEN_ANSWERED = 1,
	SN_SEEN_ACKNOWLEDGED = 2,
	SN_SEEN_CLOSING = 4,
};

#define SN_SCALES_NONE 0xff

/*
 * One binding, one cache line. The first half is what a look-up compares and a
 * packet refreshes; links are indexes into the shard's slab.
 */
struct sn_session {
	uint64_t last_use;   /* ns */
	uint32_t timeout_ms; /* live while now - last_use <= timeout */
	uint32_t inside_addr;
	uint32_t outside_addr;
	uint32_t remote_addr;
	uint16_t inside_port; /* or ICMP identifier */
	uint16_t outside_port;
	uint16_t remote_port;
	uint16_t run; /* of the state's register of runs */
	uint8_t proto;
	uint8_t seen;	   /* enum sn_tcp_seen */
	uint8_t shard : 7; /* of SN_SHARDS */
	uint8_t live : 1;
	uint8_t wheel_slot;
	uint32_t generation : 24; /* changes when the session ends */
	uint32_t scales : 8;	  /* of TCP's windows: low half those from inside; 15: none */
	uint32_t hash_next;
	uint32_t wheel_next;
	uint32_t wheel_prev;
	union {
		struct { /* of TCP's last packet from inside and outside, in network order */
			uint32_t ack[2];
			uint16_t window[2];
		};
		uint32_t back_next; /* without ports: to find it from outside */
	};
};
_Static_assert(sizeof(struct sn_session) == 64, "a session is one cache line");

struct sn_state;

/* A session as others see it. */
struct sn_session_info {
	const char *run; /* lives until the next sn_state_apply() */
	uint32_t proto;
	uint32_t inside_addr, outside_addr, remote_addr;
	uint16_t inside_port, outside_port, remote_port;
	uint64_t idle_ns;
	uint32_t shard;
};

/* Several engines may share a chain's state. A unit of shards is one engine's at a time. */
enum sn_shard_place {
	SN_SHARD_HERE,
	SN_SHARD_GIVING, /* stands still, its sessions are read */
	SN_SHARD_TAKING, /* its sessions come */
	SN_SHARD_AWAY,	 /* it has no sessions */
};

/* For tests: the sessions that made room for another one: one a session, one a port. */
struct sn_ended {
	uint32_t n;
	uint32_t table; /* of the program */
	struct sn_session_info sessions[2];
};

/*
 * What a worker has of the state: shards, and a share of what tables and runs may still hold.
 * Written by its worker alone; the first line is read by slow packets, the others by all.
 */
struct sn_partition {
	const struct sn_state *state;
	int32_t *left;	 /* sessions that it may still make: by table, then by run and protocol */
	uint64_t *spent; /* by table: when all of its shards were reaped for want of room */
	uint64_t now;	 /* of the last tick */
	uint32_t n_owned;
	uint32_t cursor;	/* of the next tick */
	_Atomic bool starved;	/* wants more of what others have left */
	struct sn_ended *ended; /* told of what makes room; NULL: nobody listens */
	/* lines 2 and 3 */
	_Alignas(64) bool owned[SN_SHARDS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sn_partition) == 192, "a part shares no cache line");

/*
 * For a number of workers, among which the shards are split evenly. seed keeps strangers from choosing
 * flows that meet in one hash bucket; any number in tests.
 */
struct sn_state *sn_state_create(uint64_t seed, uint32_t n_workers, struct sn_partitioning partitioning);
void sn_state_free(struct sn_state *state);

struct sn_partitioning sn_state_partitioning(const struct sn_state *state);

/* Another cut, before the first sn_state_apply(). */
void sn_state_repartition(struct sn_state *state, struct sn_partitioning partitioning);

/* A worker's part; stays where it is as long as the state. */
struct sn_partition *sn_state_partition(struct sn_state *state, uint32_t worker);

/*
 * How many units of ownership there are, a power of two: 128, or fewer where a pool is too small or the
 * program cannot be cut. Shard s belongs to unit s modulo their number. Safe beside workers.
 */
uint32_t sn_state_units(const struct sn_state *state);

/* The worker that owns a shard, as of the last apply and sn_state_moved(). */
uint32_t sn_state_owner(const struct sn_state *state, uint32_t shard);

/*
 * Hand a unit over: the worker that has it gives it, then (the other worker having been told) that one takes
 * it, and the control thread notes it. Each runs on its own thread; one unit at a time is on its way.
 */
void sn_partition_give(struct sn_partition *partition, uint32_t unit);
void sn_partition_take(struct sn_partition *partition, uint32_t unit);
void sn_state_moved(struct sn_state *state, uint32_t unit, uint32_t worker);

/*
 * Where a unit is, and what tells the shard of a flow from inside, which is the same for all engines that
 * share the state: both change while workers are quiescent, the latter while there are no sessions. The
 * worker that owns a unit which is not here has its packets, and may not look at its state.
 */
enum sn_shard_place sn_state_place(const struct sn_state *state, uint32_t shard);
void sn_state_set_place(struct sn_state *state, uint32_t unit, enum sn_shard_place place);
uint64_t sn_state_key(const struct sn_state *state);
void sn_state_set_key(struct sn_state *state, uint64_t key);

/*
 * Limits of tables and runs hold for the chain as a whole, on this engine: each part has a share of what is
 * left. Whether one has used up its own (safe beside workers), and a new split of what all have left.
 */
bool sn_state_starved(const struct sn_state *state);
void sn_state_level(struct sn_state *state);

/*
 * Make the state fit a program; workers that use the state must be quiescent, and take the
 * program by sn_worker_set_program() before they go on. kept and dropped count sessions. Less than 0
 * if memory is short: then nothing has changed.
 */
int sn_state_apply(struct sn_state *state, const struct sn_program *program, uint64_t *kept,
		   uint64_t *dropped);

struct sn_state_stats {
	uint64_t sessions;
	uint64_t created;
	uint64_t expired;
	uint64_t exhausted; /* refused for want of a port or of room */
	uint64_t evicted;   /* TCP openings that nobody answered, ended for want of a port or of room */
};

/* Of a table of the current program. These two may run beside workers: the numbers are then of slightly
 * different instants. */
void sn_state_stats(const struct sn_state *state, uint32_t table, struct sn_state_stats *stats);

/* Of a unit, over all tables of the program. */
void sn_state_unit_stats(const struct sn_state *state, uint32_t unit, struct sn_state_stats *stats);

/* The live sessions of a table of the current program, at most max; returns how many were written. */
size_t sn_state_sessions(const struct sn_state *state, uint32_t table, uint64_t now,
			 struct sn_session_info *out, size_t max);

/* ---- the packet path ---- */

struct sn_flow {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t proto;
};

enum sn_state_result {
	SN_STATE_FOUND,
	SN_STATE_MADE, /* reserved: take it back with sn_session_end() if the packet is dropped later */
	SN_STATE_NONE, /* no port is free, or no session wanted to be made */
};

/* The shard of a flow that starts inside. */
uint32_t sn_state_shard(const struct sn_state *state, const struct sn_flow *flow);

/* Where a look-up of a flow will read; its first line is on its way, the second is known when that is there.
 */
struct sn_state_hint {
	const uint32_t *bucket;
	const struct sn_session *slab;
};

struct sn_state_hint sn_state_prefetch(const struct sn_state *state, uint32_t run, uint32_t shard,
				       const struct sn_flow *flow);

static inline void sn_state_prefetch_session(struct sn_state_hint hint)
{
	if (*hint.bucket)
		__builtin_prefetch(&hint.slab[*hint.bucket - 1]);
}

/* The session of a run by the flow as it is inside; made if there is none and make is set. */
enum sn_state_result sn_state_forward(struct sn_partition *partition, uint32_t run, uint32_t shard,
				      const struct sn_flow *flow, bool make, uint64_t now,
				      struct sn_session **session);

/* The shard of a flow's return packets; of a small pool's it is told but for its high bits. */
uint32_t sn_state_return_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *flow);

/* The session by the flow as its return packets are outside: NULL if there is none. Its shard is the part's.
 */
struct sn_session *sn_state_return(const struct sn_state *state, uint32_t table, const struct sn_flow *flow,
				   uint64_t now);

/* The program's run of a session. */
uint32_t sn_session_run(const struct sn_state *state, const struct sn_session *session);

/* Give a session and its port back, as if it had never been. */
void sn_session_end(struct sn_partition *partition, struct sn_session *session);

static inline bool sn_session_live(const struct sn_session *s, uint64_t now)
{
	return s->live && (int64_t)(now - s->last_use) <= s->timeout_ms * 1000000ll;
}

/* Reclaim what has expired in a few of the part's shards; all are visited in turn. */
void sn_partition_tick(struct sn_partition *partition, uint64_t now);

#endif /* SN_STATE_H */
