/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_THREADS_H
#define SN_THREADS_H

/*
 * The workers' threads together: which plan they run, when they stand still, and their clock. All functions
 * are for the control thread; none waits for a lock, and the workers know none.
 *
 * In a harness there are no threads: workers run when they are called, and the clock is set by hand.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"
#include "sn_exchange.h"
#include "sn_plan.h"
#include "sn_sample.h"
#include "sn_worker.h"

struct sn_threads;

struct sn_threads_config {
	unsigned int n;
	bool harness;
	bool sampled; /* devices may get flow rules: workers take samples of packets */
	uint32_t nap_us;
	struct sn_worker_config worker; /* what all have in common; tx is the harness's */
};

/* NULL on error, with a message in err. */
struct sn_threads *sn_threads_create(const struct sn_threads_config *config, struct sn_error *err);

/* With the plan that they run. */
void sn_threads_free(struct sn_threads *threads);

/* One per worker lcore. 0, or -1 with a message in err. */
int sn_threads_start(struct sn_threads *threads, struct sn_error *err);

/* Returns when every worker has sent its last burst. */
void sn_threads_stop(struct sn_threads *threads);

unsigned int sn_threads_count(const struct sn_threads *threads);

/* Whether they run by themselves. */
bool sn_threads_running(const struct sn_threads *threads);

/* The workers' clock; in a harness it stands where it is set. */
uint64_t sn_threads_now(const struct sn_threads *threads);
void sn_threads_set_now(struct sn_threads *threads, uint64_t now_ns);

/*
 * Holds all workers at a burst boundary: what is theirs may be read and changed until the release. Keep it
 * short.
 */
void sn_threads_hold(struct sn_threads *threads);
void sn_threads_release(struct sn_threads *threads);
bool sn_threads_held(const struct sn_threads *threads);

/* Their knowledge of functions outside of the program. */
struct sn_wires;
const struct sn_wires *sn_threads_wires(const struct sn_threads *threads);

/* Hosts that are functions, that all workers share. */
struct sn_watches;
const struct sn_watches *sn_threads_watches(const struct sn_threads *threads);

/* The plan that they run; NULL: nothing yet. */
const struct sn_plan *sn_threads_plan(const struct sn_threads *threads);

/* Whether that is a program that keeps state. */
bool sn_threads_keep_state(const struct sn_threads *threads);

/*
 * Has them run a plan. If they are held they take it at their release, else when this returns all have taken
 * it. Returns the one before, which then is the caller's.
 */
struct sn_plan *sn_threads_run(struct sn_threads *threads, struct sn_plan *plan);

/* While they are held, or before they start: they hand packets to each other from now on. */
void sn_threads_join(struct sn_threads *threads, struct sn_exchange *exchange);

/* While they are held, or before they start: whether they answer ARP for the program's addresses. */
void sn_threads_silence(struct sn_threads *threads, bool silent);

/* While they are held: one tells the neighbours where the program's addresses are. */
void sn_threads_announce(struct sn_threads *threads);

/* One worker. Its mailbox is NULL before sn_threads_join(). */
struct sn_worker *sn_threads_worker(const struct sn_threads *threads, unsigned int worker);
struct sn_mailbox *sn_threads_mailbox(const struct sn_threads *threads, unsigned int worker);
uint64_t sn_threads_idle_cycles(const struct sn_threads *threads, unsigned int worker);

/* The oldest sample of a worker's packets; false: there is none. */
bool sn_threads_sample(const struct sn_threads *threads, unsigned int worker, struct sn_sample *sample);

#endif /* SN_THREADS_H */
