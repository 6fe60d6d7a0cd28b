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

#include "sn_error.h"
#include "sn_exchange.h"
#include "sn_plan.h"
#include "sn_sample.h"
#include "sn_worker.h"

/* Orders of the control thread to all workers. */
struct sn_orders {
	/* Even: run the plan. Odd: hold still until it changes. Workers acknowledge by repeating it. */
	_Atomic uint32_t epoch;
	_Atomic bool stop;
	struct sn_plan *plan; /* published by the epoch; NULL: none yet */
};

struct sn_thread;

struct sn_thread_config {
	const struct sn_orders *orders;
	const uint64_t *clock; /* ns; NULL: the time-stamp counter */
	uint32_t nap_us;       /* 0: never naps */
	bool sampled;
	struct sn_worker_config worker; /* its number is also that of its queue of every port; tx NULL: the
					   plan's ports send */
};

/* NULL on error, with a message in err. */
struct sn_thread *sn_thread_create(const struct sn_thread_config *config, struct sn_error *err);
void sn_thread_free(struct sn_thread *thread);

/* An lcore's main function: runs until told to stop. */
int sn_thread_main(void *thread);

/* Follows the orders: returns at once when they say run, else when they do (or stop). */
void sn_thread_follow(struct sn_thread *thread);

/* Whether it has followed the orders of an epoch. */
bool sn_thread_follows(const struct sn_thread *thread, uint32_t epoch);

/*
 * Does a part of what is to be done before the orders are followed; true: nothing is left. A new program's
 * decisions are warmed up, in one of so many parts of the time (1: all of it), and for some time at most, for
 * someone waits for the change.
 */
bool sn_thread_prepare(struct sn_thread *thread, uint32_t epoch, unsigned int share);

/* While the worker is quiescent: it exchanges packets with others. */
void sn_thread_join(struct sn_thread *thread, struct sn_exchange *exchange);

/* While the worker is quiescent: has it tell its neighbours where the program's addresses are. */
void sn_thread_announce(struct sn_thread *thread);

struct sn_worker *sn_thread_worker(const struct sn_thread *thread);
struct sn_mailbox *sn_thread_mailbox(const struct sn_thread *thread); /* NULL: it is alone */
uint64_t sn_thread_idle_cycles(const struct sn_thread *thread);

/* The oldest sample of its packets; false: there is none. */
bool sn_thread_sample(const struct sn_thread *thread, struct sn_sample *sample);

/* Nanoseconds of a clock that never goes back, from the time-stamp counter. */
uint64_t sn_now_ns(void);

#endif /* SN_THREAD_H */
