/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_thread.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#define SN_RX_BURST	     32
#define SN_IDLE_ROUNDS	     512 /* empty rounds before a nap */
#define SN_TICKS_PER_SECOND  1000
#define SN_NAP_NO_PROGRAM_US 1000
#define SN_WARM_UP_MS	     500 /* at most */
/* The part of the time that a warm-up takes while packets come: 1/3, but 1/20 while more wait than a burst
 * holds. */
#define SN_WARM_UP_SHARE	 3
#define SN_WARM_UP_SHARE_PRESSED 20
/* A step takes some microseconds; one that took longer had lost its CPU. */
#define SN_WARM_UP_STEPS_PER_SECOND 10000

__extension__ typedef unsigned __int128 uint128;

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
_Static_assert(sizeof(struct sn_thread) % 64 == 0, "threads share no line");

uint64_t sn_now_ns(void)
{
	/* ns per cycle, 32 bits behind the point; every thread finds the same. */
	static _Atomic uint64_t factor;
	uint64_t f = atomic_load_explicit(&factor, memory_order_relaxed);

	if (unlikely(f == 0)) {
		f = (uint64_t)(((uint128)1000000000u << 32) / rte_get_tsc_hz());
		atomic_store_explicit(&factor, f, memory_order_relaxed);
	}
	return (uint64_t)(((uint128)rte_rdtsc() * f) >> 32);
}

/* Sends by the ports of the plan; the context is the thread. */
static uint16_t port_tx(void *context, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	const struct sn_thread *thread = context;
	const struct sn_port *port = thread->plan->ports[iface];

	return likely(!sn_port_is_down(port)) ? rte_eth_tx_burst(port->id, thread->queue, pkts, n) : 0;
}

/* Port counters are by interface number: they move when a new program renumbers its interfaces. */
static void carry_port_counts(struct sn_thread *thread, const struct sn_plan *next)
{
	struct sn_worker_stats *stats = sn_worker_stats(thread->worker);
	struct sn_port_count counts[SN_IFACES_MAX] = {0};

	for (uint32_t i = 0; thread->plan != NULL && i < thread->plan->program->n_interfaces; i++)
		for (uint32_t j = 0; j < next->program->n_interfaces; j++)
			if (next->ports[j] == thread->plan->ports[i] && (next->ports[j] != NULL || i == j))
				counts[j] = stats->ports[i];
	memcpy(stats->ports, counts, sizeof(counts));
}

static void take_plan(struct sn_thread *thread, struct sn_plan *next)
{
	thread->warm_up_began = 0;
	carry_port_counts(thread, next);
	for (uint32_t i = 0; i < next->program->n_interfaces; i++) {
		sn_worker_set_mac(thread->worker, (uint16_t)i, next->macs[i]);
		sn_worker_set_port(thread->worker, (uint16_t)i,
				   next->ports[i] != NULL ? next->ports[i]->id : (uint16_t)i);
	}
	sn_worker_set_marks(thread->worker, next->marks);
	/* The counters of the program before belong to its plan, and go with it. */
	sn_worker_set_program(thread->worker, next->program, next->counts[thread->queue]);
	thread->plan = next;
}

/* Take what was said about the devices' rules. */
static void take_rules(struct sn_thread *thread)
{
	const struct sn_plan *plan = thread->plan;

	for (uint32_t i = 0; plan != NULL && i < plan->program->n_interfaces; i++)
		sn_worker_set_rules(thread->worker, (uint16_t)i,
				    plan->ports[i] != NULL && plan->ports[i]->watched,
				    plan->ports[i] != NULL && plan->ports[i]->believed);
}

void sn_thread_follow(struct sn_thread *thread)
{
	uint32_t epoch = atomic_load_explicit(&thread->orders->epoch, memory_order_acquire);

	if (epoch & 1) {
		atomic_store_explicit(&thread->acknowledged, epoch, memory_order_release);
		for (unsigned int spins = 0;
		     atomic_load_explicit(&thread->orders->epoch, memory_order_acquire) == epoch; spins++) {
			if (spins % 256 != 255)
				rte_pause();
			else
				sched_yield(); /* the control thread may share this CPU */
		}
		epoch = atomic_load_explicit(&thread->orders->epoch, memory_order_acquire);
	}
	if (thread->orders->plan != NULL && thread->orders->plan != thread->plan)
		take_plan(thread, thread->orders->plan);
	take_rules(thread);
	atomic_store_explicit(&thread->acknowledged, epoch, memory_order_release);
}

static uint16_t receive_paced(const struct sn_port *port, uint16_t queue, uint64_t now,
			      struct rte_mbuf **pkts)
{
	struct sn_pace *pace = &port->paces[queue];
	uint16_t due = sn_pace_take(pace, now, SN_RX_BURST);
	uint16_t n = due > 0 ? rte_eth_rx_burst(port->id, queue, pkts, due) : 0;

	if (n < due)
		sn_pace_miss(pace, due - n);
	return n;
}

/* The time by the thread's clock: in a harness, the tests' time. */
static uint64_t thread_now(const struct sn_thread *thread)
{
	return thread->clock != NULL ? *thread->clock : sn_now_ns();
}

bool sn_thread_prepare(struct sn_thread *thread, uint32_t epoch, unsigned int share)
{
	const struct sn_plan *plan = thread->orders->plan;
	uint64_t now = rte_rdtsc(), took;
	bool done;

	if ((epoch & 1) != 0 || plan == NULL || thread->plan == NULL || plan == thread->plan)
		return true;
	if (thread->warm_up_began == 0) {
		if (!sn_plan_same_state(thread->plan, plan))
			return true; /* what the cache knows of sessions no longer holds */
		thread->warm_up_began = now;
		thread->warm_up_took = 0;
	}
	/* In a harness nobody waits, and what is known must not depend on how fast the machine is. */
	if (thread->clock == NULL && now - thread->warm_up_began > rte_get_tsc_hz() / 1000 * SN_WARM_UP_MS)
		return true;
	if (thread->warm_up_took * share > now - thread->warm_up_began)
		return false;
	done = sn_worker_warm_up(thread->worker, plan->program, plan->counts[thread->queue],
				 thread_now(thread));
	took = rte_rdtsc() - now;
	thread->warm_up_took += RTE_MIN(took, rte_get_tsc_hz() / SN_WARM_UP_STEPS_PER_SECOND);
	return done;
}

static void begin_drain(struct sn_thread *thread)
{
	if (thread->draining)
		return;
	thread->draining = true;
	thread->undrained = UINT64_MAX >> (64 - thread->plan->program->n_interfaces);
	memset(thread->drained, 0, sizeof(thread->drained));
}

/* A queue that was empty once, or gave as much as it can hold, has nothing from before. A short burst says
 * nothing: some drivers end bursts where a cache line of descriptors does. */
static void note_drain(struct sn_thread *thread, uint16_t iface, uint16_t n)
{
	thread->drained[iface] += n;
	if (n == 0 || thread->drained[iface] >= thread->plan->ports[iface]->rx_desc)
		thread->undrained &= ~(UINT64_C(1) << iface);
}

static void end_drain(struct sn_thread *thread)
{
	if (thread->undrained != 0)
		return;
	sn_mailbox_drained(thread->mailbox);
	thread->draining = thread->mailbox->draining;
}

static unsigned int warm_up_share(const struct sn_thread *thread, unsigned int idle_rounds)
{
	if (idle_rounds > 0)
		return 1;
	return thread->pressed ? SN_WARM_UP_SHARE_PRESSED : SN_WARM_UP_SHARE;
}

/* One burst of every port. Returns how many packets came. */
static unsigned int poll_ports(struct sn_thread *thread, struct sn_worker_stats *stats)
{
	const struct sn_plan *plan = thread->plan;
	struct rte_mbuf *pkts[SN_RX_BURST];
	bool draining = thread->mailbox != NULL && thread->mailbox->draining;
	unsigned int sum = 0;

	thread->pressed = false;
	if (unlikely(draining))
		begin_drain(thread);
	for (uint16_t iface = 0; iface < plan->program->n_interfaces; iface++) {
		const struct sn_port *port = plan->ports[iface];
		uint64_t before = rte_rdtsc();
		uint16_t n;

		if (unlikely(port->paces != NULL))
			n = receive_paced(port, thread->queue, before, pkts);
		else if (unlikely(sn_port_is_down(port)))
			n = 0;
		else
			n = rte_eth_rx_burst(port->id, thread->queue, pkts, SN_RX_BURST);

		if (unlikely(draining))
			note_drain(thread, iface, n);
		if (n == 0)
			continue;
		thread->pressed |= n == SN_RX_BURST;
		stats->stage_cycles[SN_STAGE_RECEIVE] += rte_rdtsc() - before;
		sn_worker_burst(thread->worker, iface, pkts, n, sn_now_ns());
		sum += n;
	}
	if (unlikely(draining))
		end_drain(thread);
	if (thread->mailbox != NULL) {
		uint32_t taken = sn_mailbox_poll(thread->mailbox);

		thread->pressed |= taken >= SN_EXCHANGE_BURST;
		sum += taken;
	}
	return sum;
}

static uint64_t mailbox_now(void *context)
{
	return thread_now(context);
}

static void mailbox_packets(void *context, void **packets, uint32_t n)
{
	const struct sn_thread *thread = context;

	sn_worker_take(thread->worker, (struct rte_mbuf **)packets, n, thread_now(thread));
}

/* Whoever handed it over has noted it: see sn_hand_over(). Of a copied ARP reply it is any. */
static uint32_t mailbox_shard(const void *packet)
{
	const struct rte_mbuf *m = packet;

	return m->hash.rss;
}

static void mailbox_give(void *context, uint32_t unit)
{
	const struct sn_thread *thread = context;

	sn_partition_give(thread->partition, unit);
}

static void mailbox_take(void *context, uint32_t unit)
{
	const struct sn_thread *thread = context;

	sn_partition_take(thread->partition, unit);
}

static const struct sn_exchange_ops exchange_ops = {
	.packets = mailbox_packets,
	.give = mailbox_give,
	.take = mailbox_take,
	.now = mailbox_now,
	.shard = mailbox_shard,
};

static void nap(uint32_t us)
{
	const struct timespec duration = {.tv_nsec = (long)us * 1000};

	nanosleep(&duration, NULL);
}

/* Captures and rings have none. */
static bool has_neighbours(const struct sn_port *port)
{
	return port == NULL || port->kernel || port->bind.kind == SN_PORT_PCI;
}

void sn_thread_announce(struct sn_thread *thread)
{
	uint64_t ifaces = 0;

	for (uint32_t i = 0; thread->plan != NULL && i < thread->plan->program->n_interfaces; i++)
		if (has_neighbours(thread->plan->ports[i]))
			ifaces |= 1ull << i;
	if (ifaces != 0)
		sn_worker_announce(thread->worker, ifaces);
}

int sn_thread_main(void *context)
{
	struct sn_thread *thread = context;
	const struct sn_orders *orders = thread->orders;
	struct sn_worker_stats *stats = sn_worker_stats(thread->worker);
	uint64_t tick_cycles = rte_get_tsc_hz() / SN_TICKS_PER_SECOND, last_tick = rte_rdtsc();
	uint64_t round = last_tick, end;
	unsigned int idle_rounds = 0;

	prctl(PR_SET_TIMERSLACK, 1000UL); /* naps are short: 1 us late at most */
	while (!atomic_load_explicit(&orders->stop, memory_order_relaxed)) {
		uint32_t epoch = atomic_load_explicit(&orders->epoch, memory_order_acquire);

		if (epoch != atomic_load_explicit(&thread->acknowledged, memory_order_relaxed) &&
		    sn_thread_prepare(thread, epoch, warm_up_share(thread, idle_rounds))) {
			bool first = thread->plan == NULL;

			sn_thread_follow(thread);
			if (first && thread->queue == 0)
				sn_thread_announce(thread);
		}
		if (thread->plan == NULL) {
			nap(SN_NAP_NO_PROGRAM_US);
			round = rte_rdtsc();
			continue;
		}
		if (poll_ports(thread, stats) > 0) {
			idle_rounds = 0;
		} else if (++idle_rounds >= SN_IDLE_ROUNDS && thread->nap_us > 0 &&
			   thread->warm_up_began == 0 &&
			   (thread->mailbox == NULL || !sn_mailbox_busy(thread->mailbox))) {
			nap(thread->nap_us);
		}
		end = rte_rdtsc();
		if (idle_rounds > 0)
			thread->idle_cycles += end - round;
		round = end;
		if (end - last_tick >= tick_cycles) {
			sn_worker_tick(thread->worker, sn_now_ns());
			last_tick = end;
		}
	}
	return 0;
}

/* ---- for the control thread ---- */

static struct sn_samples *create_samples(void)
{
	struct sn_samples *samples = aligned_alloc(64, sizeof(*samples));

	if (samples != NULL)
		memset(samples, 0, sizeof(*samples));
	return samples;
}

struct sn_thread *sn_thread_create(const struct sn_thread_config *config, struct sn_error *err)
{
	struct sn_thread *thread = aligned_alloc(64, sizeof(*thread));
	struct sn_worker_config worker = config->worker;

	if (thread == NULL) {
		sn_fail(err, "no memory for worker %u", worker.number);
		return NULL;
	}
	memset(thread, 0, sizeof(*thread));
	thread->orders = config->orders;
	thread->queue = (uint16_t)worker.number;
	thread->partition = sn_state_partition(worker.state, worker.number);
	thread->clock = config->clock;
	thread->nap_us = config->nap_us;
	if (config->sampled) {
		thread->samples = create_samples();
		if (thread->samples == NULL) {
			sn_fail(err, "no memory for worker %u", worker.number);
			sn_thread_free(thread);
			return NULL;
		}
	}
	worker.samples = thread->samples;
	if (worker.tx == NULL) {
		worker.tx = port_tx;
		worker.tx_ctx = thread;
	}
	thread->worker = sn_worker_create(&worker, err);
	if (thread->worker == NULL) {
		sn_thread_free(thread);
		return NULL;
	}
	return thread;
}

void sn_thread_free(struct sn_thread *thread)
{
	if (thread == NULL)
		return;
	if (thread->worker != NULL) {
		sn_worker_set_program(thread->worker, NULL, NULL);
		sn_worker_free(thread->worker);
	}
	free(thread->samples);
	free(thread);
}

bool sn_thread_follows(const struct sn_thread *thread, uint32_t epoch)
{
	return atomic_load_explicit(&thread->acknowledged, memory_order_acquire) == epoch;
}

void sn_thread_join(struct sn_thread *thread, struct sn_exchange *exchange)
{
	sn_exchange_join(exchange, thread->queue, &exchange_ops, thread);
	thread->mailbox = sn_exchange_mailbox(exchange, thread->queue);
	sn_worker_set_mailbox(thread->worker, thread->mailbox);
}

struct sn_worker *sn_thread_worker(const struct sn_thread *thread)
{
	return thread->worker;
}

struct sn_mailbox *sn_thread_mailbox(const struct sn_thread *thread)
{
	return thread->mailbox;
}

uint64_t sn_thread_idle_cycles(const struct sn_thread *thread)
{
	return thread->idle_cycles;
}

bool sn_thread_sample(const struct sn_thread *thread, struct sn_sample *sample)
{
	return thread->samples != NULL && sn_samples_take(thread->samples, sample);
}
