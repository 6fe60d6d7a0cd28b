/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FAST_H
#define SN_FAST_H

/* Decisions of a worker that it knows again: its cache, what is looked up in it for a burst, and the cache of
 * a program to come. */

#include "sn_cache.h"
#include "sn_env.h"
#include "sn_neigh.h"
#include "sn_slow.h"

/* Results of look-ups for the packets of a burst. */
struct sn_looked_up {
	struct sn_cache_key keys[SN_BURST_MAX];
	uint64_t hashes[SN_BURST_MAX];
	const struct sn_cache_entry
		*candidates[SN_BURST_MAX];	      /* of packets that are known: sn_burst_known() */
	struct sn_cache_short shorts[SN_BURST_MAX];   /* what is expanded … */
	struct sn_cache_entry expanded[SN_BURST_MAX]; /* … to candidates */
};

/* The program to come, and what its decisions will be: see sn_warm_up.c. */
struct sn_warm_up {
	const struct sn_program *program; /* NULL: none is warmed up */
	struct sn_counts *counts;
	struct sn_cache cache;
	/* Buckets of the worker's cache, and of its short decisions, from which on flows are still to be
	 * decided. */
	uint32_t bucket, short_bucket;
	uint32_t sessions; /* that have short decisions; 0: none is short */
};

/* With all that its packets may need by value, so that one pointer leads there. */
struct sn_fast {
	struct sn_env env;
	/* The next hops: its head is read by slow packets, its entries by all. */
	struct sn_neigh_table neighbors;
	struct sn_slow slow;
	struct sn_cache cache;
	struct sn_warm_up warm_up;
	struct sn_looked_up found;
};

/* Sizes of a worker's parts. */
struct sn_fast_sizes {
	uint32_t entries; /* of a cache: a power of two */
	uint32_t neighbors;
	uint16_t waiting; /* packets: see sn_wait_init() */
};

/* The caches and the next hops; f->env is filled in. 0, or -ENOMEM. */
int sn_fast_init(struct sn_fast *f, const struct sn_fast_sizes *sizes);
void sn_fast_free(struct sn_fast *f);

/* Nothing is known of any flow. _all: nor by the program to come. */
void sn_fast_forget(struct sn_fast *f);
void sn_fast_forget_all(struct sn_fast *f);

/* Timers, every millisecond or when idle. */
void sn_fast_tick(struct sn_fast *f, uint64_t now);

/* Counters of a program go: what flows' cells hold is its observer's, unless the next one has the same. */
void sn_fast_end_observer(struct sn_fast *f, const struct sn_counts *before, const struct sn_counts *next);

/* Finds what is known of the flows of the burst's first n packets, which came by iface: the burst's known
 * bits, and f->found. Returns how many may be known. */
uint32_t sn_fast_look_up(struct sn_fast *f, uint32_t iface, uint32_t n);

/* The slow path for packet p. key: what is decided of it may be kept under it; NULL: it is not kept. */
void sn_fast_decide(struct sn_fast *f, struct sn_pkt *p, uint32_t segment, uint32_t class,
		    const struct sn_cache_key *key, uint64_t hash, uint64_t now);

/* The same for a packet that there is not: its decision is kept, and nothing else happens. */
void sn_fast_decide_ahead(struct sn_fast *f, struct sn_pkt *p, uint32_t segment, uint32_t class,
			  const struct sn_cache_key *key, uint64_t hash, uint64_t now);

/* Some more flows are decided by the program to come: see sn_worker_warm_up(). */
bool sn_warm_up_step(struct sn_fast *f, const struct sn_program *program, struct sn_counts *counts,
		     uint64_t now);

/* The cache is that of the program's warm-up from now on; false: there was none. */
bool sn_warm_up_end(struct sn_fast *f, const struct sn_program *program);

#endif /* SN_FAST_H */
