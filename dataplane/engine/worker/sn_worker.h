/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WORKER_H
#define SN_WORKER_H

/*
 * A worker takes bursts from receive to send, to completion, and shares nothing
 * that changes with other workers: its cache, counters, neighbours and transmit buffers
 * are its own, and so are the shards that it owns. A packet whose state is another worker's goes there,
 * as it came.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_error.h"
#include "sn_exchange.h"
#include "sn_hooks.h"
#include "sn_marks.h"
#include "sn_neigh.h"
#include "sn_parse.h"
#include "sn_program.h"
#include "sn_reason.h"
#include "sn_sample.h"
#include "sn_source.h"
#include "sn_worker_stats.h"

struct sn_worker_config {
	uint32_t lcore;
	struct rte_mempool *pool; /* for generated packets and copies */
	struct sn_state *state;
	uint32_t number;	      /* which of the state's parts is this worker's */
	uint32_t n_workers;	      /* 0: 1 */
	struct sn_mailbox *mailbox;   /* NULL: the only worker, of the only engine */
	const struct sn_peers *peers; /* where there is a mailbox; lives as long as the worker */
	struct sn_wires *wires;	      /* that all workers share; NULL: no function is watched */
	struct sn_watches *watches;   /* that all workers share; NULL: no host is watched */
	struct sn_samples *samples;   /* of packets of devices that have flow rules; NULL: there are none */
	sn_tx_fn tx;
	void *tx_ctx;
	sn_drop_fn drop;	/* may be NULL */
	sn_events_fn tell;	/* may be NULL */
	void *drop_ctx;		/* of both */
	uint32_t cache_entries; /* a power of two; 0: 65536 */
	uint32_t neighbors;	/* at most; 0: 16384 */
	uint16_t waiting;	/* packets for neighbours that are not known yet; 0: SN_WAIT_PACKETS */
};

struct sn_counts;
struct sn_worker;

/* NULL on error, with a message in err. */
struct sn_worker *sn_worker_create(const struct sn_worker_config *config, struct sn_error *err);
void sn_worker_free(struct sn_worker *w);

/*
 * Decides some more of the flows that the cache knows by the program to come, so that it need not when it
 * takes over (sn_worker_set_program() with the same program and counters); true: no more to do. For a program
 * with the same state, between bursts.
 */
bool sn_worker_warm_up(struct sn_worker *w, const struct sn_program *program, struct sn_counts *counts,
		       uint64_t now);

/* The address of an interface's device, for interfaces to which the program gives none. Takes effect with the
 * next program. */
void sn_worker_set_mac(struct sn_worker *w, uint16_t iface, const uint8_t mac[6]);

/* The number of an interface's port, the same in all programs and on all workers; of interface i it is i if
 * nothing else is said. Takes effect at once. */
void sn_worker_set_port(struct sn_worker *w, uint16_t iface, uint16_t port);

/* While the worker is quiescent: it is no longer alone. */
void sn_worker_set_mailbox(struct sn_worker *w, struct sn_mailbox *mailbox);

/* While the worker is quiescent: what it has decided is forgotten. */
void sn_worker_forget(struct sn_worker *w);

/*
 * Takes effect at once. watched: the interface's device has flow rules, and some packets are shown to who
 * looks at the worker's samples. believed: marks of its packets are, until one is found wrong.
 */
void sn_worker_set_rules(struct sn_worker *w, uint16_t iface, bool watched, bool believed);

/* How classes are written as marks, by the program that is set next or was set. */
void sn_worker_set_marks(struct sn_worker *w, struct sn_marks marks);

/*
 * Called on the worker between two bursts, after sn_state_apply(): from now on
 * packets run through program and count in counts. What is cached is forgotten, sessions and
 * neighbours stay. Returns the counters of the program before (NULL at first), now the caller's.
 * Neither program nor counts may go before they are replaced (both NULL: the worker drops nothing and runs
 * nothing).
 */
struct sn_counts *sn_worker_set_program(struct sn_worker *w, const struct sn_program *program,
					struct sn_counts *counts);

/* Takes n packets (any number) that came in by iface. They belong to the worker. now never goes back. */
void sn_worker_burst(struct sn_worker *w, uint16_t iface, struct rte_mbuf **pkts, uint16_t n,
		     uint64_t now_ns);

/* The same for packets that other workers handed over, in the order of the ring. */
void sn_worker_take(struct sn_worker *w, struct rte_mbuf **pkts, uint32_t n, uint64_t now_ns);

/* Timers; call every millisecond or when idle. */
void sn_worker_tick(struct sn_worker *w, uint64_t now_ns);

/* Read only by others; written by the worker alone. The caller may add to ports[].rx and SN_STAGE_RECEIVE on
 * the worker's thread. */
struct sn_worker_stats *sn_worker_stats(struct sn_worker *w);
struct sn_counts *sn_worker_counts(struct sn_worker *w);
void sn_worker_set_profile(struct sn_worker *w, bool on);

/* Between two bursts: packets are traced from now on; NULL: they are not. */
struct sn_trace;
void sn_worker_set_trace(struct sn_worker *w, struct sn_trace *trace);

/* On the worker's thread, or while it is quiescent. Returns how many were written. */
size_t sn_worker_neighbors(const struct sn_worker *w, struct sn_neigh_info *out, size_t max);

/* See sn_neigh_silence(). While the worker is quiescent. */
void sn_worker_silence(struct sn_worker *w, bool silent);

/* See sn_neigh_announce(). */
void sn_worker_announce(struct sn_worker *w, uint64_t ifaces);

/* The memory that the worker writes, by block. Each must begin a cache line of its own, or another worker
 * waits for what it does not read. */
#define SN_WORKER_BLOCKS 9
void sn_worker_blocks(const struct sn_worker *w, const void *blocks[SN_WORKER_BLOCKS]);

#endif /* SN_WORKER_H */
