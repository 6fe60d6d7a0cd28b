/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "sn_helper.h"
#include "sn_log.h"
#include "sn_thread.h"
#include "sn_watch.h"
#include "sn_wires.h"

/* Looks for a worker that follows, before the control thread rests between them. */
#define FOLLOW_SPINS	1000
#define FOLLOW_PAUSE_NS 50000

struct sn_threads {
	struct sn_orders orders;
	unsigned int n;
	bool harness;
	bool running;	 /* they follow the orders by themselves */
	uint32_t nap_us; /* of an idle one; 0: never naps */
	uint64_t now_ns; /* the harness's clock */
	struct sn_helper helper;
	struct sn_wires *wires;
	struct sn_watches *watches;
	struct sn_thread *all[SN_WORKERS_MAX];
};

/* ---- life ---- */

struct sn_threads *sn_threads_create(const struct sn_threads_config *config, struct sn_error *err)
{
	struct sn_threads *threads = aligned_alloc(64, (sizeof(*threads) + 63) / 64 * 64);

	if (threads == NULL) {
		sn_fail(err, "no memory for %u workers", config->n);
		return NULL;
	}
	memset(threads, 0, sizeof(*threads));
	threads->n = config->n;
	threads->harness = config->harness;
	threads->nap_us = config->nap_us;
	threads->wires = sn_wires_create();
	threads->watches = sn_watches_create();
	if (threads->wires == NULL || threads->watches == NULL) {
		sn_fail(err, "no memory for %u workers", config->n);
		sn_threads_free(threads);
		return NULL;
	}
	for (unsigned int i = 0; i < config->n; i++) {
		struct sn_thread_config one = {
			.orders = &threads->orders,
			.clock = config->harness ? &threads->now_ns : NULL,
			.nap_us = config->nap_us,
			.sampled = config->sampled,
			.worker = config->worker,
		};

		one.worker.lcore = i + 1;
		one.worker.number = i;
		one.worker.n_workers = config->n;
		one.worker.wires = threads->wires;
		one.worker.watches = threads->watches;
		threads->all[i] = sn_thread_create(&one, err);
		if (threads->all[i] == NULL) {
			sn_threads_free(threads);
			return NULL;
		}
	}
	return threads;
}

void sn_threads_free(struct sn_threads *threads)
{
	if (threads == NULL)
		return;
	for (unsigned int i = 0; i < threads->n; i++)
		sn_thread_free(threads->all[i]);
	sn_plan_free(threads->orders.plan);
	sn_wires_free(threads->wires);
	sn_watches_free(threads->watches);
	free(threads);
}

/* The CPU of a worker's lcore: the first, if it may use several. */
static int cpu_of(unsigned int lcore)
{
	rte_cpuset_t set = rte_lcore_cpuset(lcore);

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

int sn_threads_start(struct sn_threads *threads, struct sn_error *err)
{
	unsigned int lcore, index = 0;

	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (index == threads->n)
			break;
		if (rte_eal_remote_launch(sn_thread_main, threads->all[index], lcore) != 0)
			return sn_fail(err, "worker %u does not start on lcore %u: it is busy", index, lcore);
		sn_log(SN_LOG_INFO, "worker=%u lcore=%u cpu=%d idle-sleep=%uus started", index, lcore,
		       cpu_of(lcore), threads->nap_us);
		index++;
	}
	if (index < threads->n)
		return sn_fail(err, "EAL has %u lcores for %u workers", index, threads->n);
	sn_helper_start(&threads->helper);
	threads->running = true;
	return 0;
}

void sn_threads_stop(struct sn_threads *threads)
{
	atomic_store(&threads->orders.stop, true);
	rte_eal_mp_wait_lcore();
	sn_helper_stop(&threads->helper);
	threads->running = false;
}

unsigned int sn_threads_count(const struct sn_threads *threads)
{
	return threads->n;
}

bool sn_threads_running(const struct sn_threads *threads)
{
	return threads->running;
}

uint64_t sn_threads_now(const struct sn_threads *threads)
{
	return threads->harness ? threads->now_ns : sn_now_ns();
}

void sn_threads_set_now(struct sn_threads *threads, uint64_t now_ns)
{
	threads->now_ns = now_ns;
}

/* ---- orders ---- */

/* Until a thread follows an epoch: soon, or, while it warms up, after a while. */
static void await(const struct sn_thread *thread, uint32_t epoch)
{
	const struct timespec pause = {.tv_nsec = FOLLOW_PAUSE_NS};

	for (uint32_t spins = 0; !sn_thread_follows(thread, epoch); spins++) {
		if (spins < FOLLOW_SPINS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

/* Moves the epoch on and waits until every worker follows it. */
static void move_on(struct sn_threads *threads, uint32_t step)
{
	uint32_t epoch = atomic_load_explicit(&threads->orders.epoch, memory_order_relaxed) + step;

	atomic_store_explicit(&threads->orders.epoch, epoch, memory_order_release);
	for (unsigned int i = 0; i < threads->n; i++) {
		struct sn_thread *thread = threads->all[i];

		if (threads->running) {
			await(thread, epoch);
		} else if ((epoch & 1) == 0) {
			while (!sn_thread_prepare(thread, epoch, 1))
				; /* no thread does */
			sn_thread_follow(thread);
		}
	}
}

void sn_threads_hold(struct sn_threads *threads)
{
	move_on(threads, 1);
}

void sn_threads_release(struct sn_threads *threads)
{
	move_on(threads, 1);
}

bool sn_threads_held(const struct sn_threads *threads)
{
	return (atomic_load(&threads->orders.epoch) & 1) != 0;
}

const struct sn_wires *sn_threads_wires(const struct sn_threads *threads)
{
	return threads->wires;
}

const struct sn_watches *sn_threads_watches(const struct sn_threads *threads)
{
	return threads->watches;
}

const struct sn_plan *sn_threads_plan(const struct sn_threads *threads)
{
	return threads->orders.plan;
}

bool sn_threads_keep_state(const struct sn_threads *threads)
{
	return threads->orders.plan != NULL && threads->orders.plan->program->n_tables > 0;
}

struct sn_plan *sn_threads_run(struct sn_threads *threads, struct sn_plan *plan)
{
	struct sn_plan *before = threads->orders.plan;

	threads->orders.plan = plan;
	if (!sn_threads_held(threads))
		move_on(threads, 2);
	return before;
}

void sn_threads_join(struct sn_threads *threads, struct sn_exchange *exchange)
{
	for (unsigned int i = 0; i < threads->n; i++)
		sn_thread_join(threads->all[i], exchange);
}

void sn_threads_silence(struct sn_threads *threads, bool silent)
{
	for (unsigned int i = 0; i < threads->n; i++)
		sn_worker_silence(sn_thread_worker(threads->all[i]), silent);
}

void sn_threads_announce(struct sn_threads *threads)
{
	sn_thread_announce(threads->all[0]);
}

/* ---- one worker ---- */

struct sn_worker *sn_threads_worker(const struct sn_threads *threads, unsigned int worker)
{
	return sn_thread_worker(threads->all[worker]);
}

struct sn_mailbox *sn_threads_mailbox(const struct sn_threads *threads, unsigned int worker)
{
	return sn_thread_mailbox(threads->all[worker]);
}

uint64_t sn_threads_idle_cycles(const struct sn_threads *threads, unsigned int worker)
{
	return sn_thread_idle_cycles(threads->all[worker]);
}

bool sn_threads_sample(const struct sn_threads *threads, unsigned int worker, struct sn_sample *sample)
{
	return sn_thread_sample(threads->all[worker], sample);
}
