/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_THREAD_H
#define SN_THREAD_H

/*
 * A worker's thread: polls the ports of the plan, hands bursts to the worker,
 * and between two bursts takes what the control thread published.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sn_exchange.h"
#include "sn_plan.h"
#include "sn_worker.h"

/* What the control thread tells all workers. */
struct sn_orders {
	/* Even: run the plan. Odd: hold still until it changes. Workers acknowledge by repeating it. */
	_Atomic uint32_t epoch;
	_Atomic bool stop;
	struct sn_plan *plan; /* published by the epoch; NULL: none yet */
};

struct sn_thread {
	_Alignas(64) _Atomic uint32_t acknowledged; /* the last epoch that this worker follows */
	const struct sn_orders *orders;
	struct sn_worker *worker;
	struct sn_mailbox *mailbox; /* NULL: the only worker, of the only engine */
	struct sn_samples *samples; /* NULL: there are no devices */
	struct sn_partition *partition;
	const uint64_t *clock; /* ns; NULL: the time-stamp counter */
	struct sn_plan *plan;
	bool draining;
	bool pressed; /* packets wait: a port, or the others, gave as much as a burst holds, this round */
	uint64_t undrained;		 /* ports that may hold packets from before an order to drain */
	uint32_t drained[SN_IFACES_MAX]; /* packets received since */
	uint16_t queue;			 /* of every port; also the worker's number */
	uint32_t nap_us;		 /* 0: never naps */
	uint64_t idle_cycles;		 /* read by the control thread */
	/* The warm-up of the plan to come (see sn_warm_up.c), in cycles: */
	uint64_t warm_up_began; /* 0: there is none */
	uint64_t warm_up_took;
};

/* Follows the orders: returns at once when they say run, else when they do (or stop). */
void sn_thread_follow(struct sn_thread *thread);

/*
 * Does a part of what is to be done before the orders are followed; true: nothing is left. A new program's
 * decisions are warmed up, in one of so many parts of the time (1: all of it), and for some time at most, for
 * someone waits for the change.
 */
bool sn_thread_prepare(struct sn_thread *thread, uint32_t epoch, unsigned int share);

/* What a mailbox's worker does; the context is the thread. */
extern const struct sn_exchange_ops sn_thread_exchange;

/* While the worker is quiescent: has it tell its neighbours where the program's addresses are. */
void sn_thread_announce(struct sn_thread *thread);

/* An lcore's main function: runs until told to stop. */
int sn_thread_main(void *thread);

/* Nanoseconds of a clock that never goes back, from the time-stamp counter. */
uint64_t sn_now_ns(void);

/* Transmit function of workers with ports; the context is the thread. */
uint16_t sn_thread_tx(void *thread, uint16_t iface, struct rte_mbuf **pkts, uint16_t n);

#endif /* SN_THREAD_H */
