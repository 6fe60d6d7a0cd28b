/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_engine.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_random.h>

#include "sn_counts.h"
#include "sn_log.h"
#include "sn_neigh.h"
#include "sn_offload.h"
#include "sn_shards.h"
#include "sn_transfer.h"

#define SN_ERR(...)	   (snprintf(err, err_len, __VA_ARGS__), -1)
#define SN_KERNEL_NAP_US   50
#define SN_EMULATED_NAP_US 1000

/* The CPU of a worker's lcore: the first, if it may use several. */
static int cpu_of(unsigned int lcore)
{
	rte_cpuset_t set = rte_lcore_cpuset(lcore);

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* QEMU's emulation of a processor, by the name that it gives itself in the leaf of hypervisors. */
static bool processor_is_emulated(void)
{
#ifdef __x86_64__
	unsigned int eax, ebx, ecx, edx;
	char name[12];

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & 1u << 31) == 0)
		return false;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(name, &ebx, 4);
	memcpy(name + 4, &ecx, 4);
	memcpy(name + 8, &edx, 4);
	return memcmp(name, "TCGTCGTCGTCG", sizeof(name)) == 0;
#else
	return false;
#endif
}

/*
 * Real NICs are polled without a break; waiting on the kernel leaves it the CPU that it needs. The cores of
 * an emulated processor share locks: one that polls stops the others.
 */
static uint32_t choose_nap(const struct sn_engine_config *config)
{
	if (config->idle_sleep_us != SN_IDLE_AUTO)
		return (uint32_t)config->idle_sleep_us;
	if (processor_is_emulated())
		return SN_EMULATED_NAP_US;
	for (unsigned int i = 0; i < config->n_ports; i++)
		if (!config->ports[i].kernel)
			return 0;
	return SN_KERNEL_NAP_US;
}

static int create_worker(struct sn_engine *engine, unsigned int index, char *err, size_t err_len)
{
	struct sn_thread *thread = &engine->threads[index];
	struct sn_worker_config config = {
		.lcore = index + 1,
		.pool = engine->config.pool,
		.state = engine->state,
		.number = index,
		.n_workers = engine->config.n_workers,
		.mailbox = engine->exchange != NULL ? sn_exchange_mailbox(engine->exchange, index) : NULL,
		.peers = engine->peers,
		.tx = engine->config.harness ? engine->config.tx : sn_thread_tx,
		.tx_ctx = engine->config.harness ? engine->config.harness_context : thread,
		.drop = engine->config.drop,
		.evicted = engine->config.evicted,
		.drop_ctx = engine->config.harness_context,
	};

	thread->orders = &engine->orders;
	thread->queue = (uint16_t)index;
	thread->mailbox = config.mailbox;
	thread->partition = sn_state_partition(engine->state, index);
	thread->clock = engine->config.harness ? &engine->now_ns : NULL;
	if (engine->flows != NULL) {
		thread->samples = aligned_alloc(64, sizeof(*thread->samples));
		if (thread->samples == NULL)
			return SN_ERR("no memory for worker %u", index);
		memset(thread->samples, 0, sizeof(*thread->samples));
	}
	config.samples = thread->samples;
	if (engine->exchange != NULL)
		sn_exchange_join(engine->exchange, index, &sn_thread_exchange, thread);
	thread->nap_us = choose_nap(&engine->config);
	thread->worker = sn_worker_create(&config, err, err_len);
	if (thread->worker == NULL)
		return -1;
	sn_neigh_silence(thread->worker, !engine->front);
	return 0;
}

static int begin_bare(struct sn_engine *engine)
{
	bool all[SN_SHARDS];

	if (sn_shards_ready(engine) != 0)
		return -1;
	memset(all, true, sizeof(all));
	sn_shards_put(engine, all, SN_SHARD_AWAY);
	return 0;
}

struct sn_engine *sn_engine_create(const struct sn_engine_config *config, char *err, size_t err_len)
{
	struct sn_engine *engine = aligned_alloc(64, sizeof(*engine));

	if (engine == NULL) {
		snprintf(err, err_len, "no memory for the engine");
		return NULL;
	}
	memset(engine, 0, sizeof(*engine));
	engine->config = *config;
	engine->front = !config->bare;
	/* The harness repeats itself: its hash seed is fixed. */
	engine->state =
		sn_state_create(config->harness ? 1 : rte_rand(), config->n_workers, config->partitioning);
	engine->peers = calloc(1, sizeof(*engine->peers));
	engine->transfers = sn_transfers_create();
	if (config->n_workers > 1)
		engine->exchange = sn_exchange_create(config->n_workers);
	if (engine->state == NULL || engine->peers == NULL || engine->transfers == NULL ||
	    (config->n_workers > 1 && engine->exchange == NULL)) {
		snprintf(err, err_len, "no memory for the state of %u workers", config->n_workers);
		sn_engine_free(engine);
		return NULL;
	}
	if (sn_offload_init(engine, err, err_len) != 0) {
		sn_engine_free(engine);
		return NULL;
	}
	for (unsigned int i = 0; i < config->n_workers; i++) {
		if (create_worker(engine, i, err, err_len) != 0) {
			sn_engine_free(engine);
			return NULL;
		}
	}
	if (config->bare && begin_bare(engine) != 0) {
		snprintf(err, err_len, "no memory to begin without shards");
		sn_engine_free(engine);
		return NULL;
	}
	return engine;
}

static void free_packet(void *packet)
{
	rte_pktmbuf_free(packet);
}

void sn_engine_free(struct sn_engine *engine)
{
	if (engine == NULL)
		return;
	for (unsigned int i = 0; i < engine->config.n_workers; i++) {
		if (engine->threads[i].worker != NULL) {
			sn_worker_set_program(engine->threads[i].worker, NULL, NULL);
			sn_worker_free(engine->threads[i].worker);
		}
		free(engine->threads[i].samples);
	}
	sn_exchange_free(engine->exchange, free_packet);
	sn_state_free(engine->state);
	free(engine->peers);
	free(engine->transfers);
	sn_ledger_free(&engine->reasons);
	sn_ledger_free(&engine->counters);
	sn_offload_free(engine);
	sn_plan_free(engine->orders.plan);
	free(engine);
}

int sn_engine_start(struct sn_engine *engine, char *err, size_t err_len)
{
	unsigned int lcore, index = 0;

	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (index == engine->config.n_workers)
			break;
		if (rte_eal_remote_launch(sn_thread_main, &engine->threads[index], lcore) != 0) {
			sn_engine_stop(engine);
			return SN_ERR("worker %u does not start on lcore %u: it is busy", index, lcore);
		}
		sn_log(SN_LOG_INFO, "worker=%u lcore=%u cpu=%d idle-sleep=%uus started", index, lcore,
		       cpu_of(lcore), engine->threads[index].nap_us);
		index++;
	}
	if (index < engine->config.n_workers) {
		sn_engine_stop(engine);
		return SN_ERR("EAL has %u lcores for %u workers", index, engine->config.n_workers);
	}
	engine->running = true;
	return 0;
}

void sn_engine_stop(struct sn_engine *engine)
{
	atomic_store(&engine->orders.stop, true);
	rte_eal_mp_wait_lcore();
	engine->running = false;
	sn_offload_stop(engine);
}

/* The devices' addresses as a plan wants them. */
static int use_macs(const struct sn_plan *plan, char *err, size_t err_len)
{
	for (uint32_t i = 0; i < plan->program->n_interfaces; i++) {
		const struct sn_interface *interface = &plan->program->interfaces[i];
		struct rte_ether_addr mac;

		if (plan->ports[i] == NULL)
			continue;
		memcpy(mac.addr_bytes, interface->mac, sizeof(mac.addr_bytes));
		if (sn_port_use_mac(plan->ports[i], interface->has_mac ? &mac : NULL, err, err_len) != 0)
			return -1;
	}
	return 0;
}

static uint64_t count_sessions(const struct sn_engine *engine, const struct sn_plan *plan)
{
	struct sn_state_stats stats;
	uint64_t sum = 0;

	for (uint32_t table = 0; table < plan->program->n_tables; table++) {
		sn_state_stats(engine->state, table, &stats);
		sum += stats.sessions;
	}
	return sum;
}

static int apply_state(struct sn_engine *engine, const struct sn_plan *plan, struct sn_engine_loaded *loaded)
{
	if (sn_state_apply(engine->state, plan->program, &loaded->sessions_kept, &loaded->sessions_dropped) <
	    0)
		return -1;
	sn_transfers_fit(engine);
	sn_shards_place(engine);
	return 0;
}

static void enter(struct sn_ledger *ledger, char **names, const struct sn_count *counts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (counts[i].packets > 0 && sn_ledger_add(ledger, names[i], &counts[i]) != 0)
			sn_log(SN_LOG_ERROR,
			       "no memory for the total of %s: %lu packets are no longer counted", names[i],
			       (unsigned long)counts[i].packets);
}

/* A plan that no worker runs any more; what it counted by name stays. */
static void retire(struct sn_engine *engine, struct sn_plan *plan)
{
	const struct sn_program *program;
	struct sn_count *counters, *reasons;

	if (plan == NULL)
		return;
	program = plan->program;
	counters = calloc(program->n_counters + 1, sizeof(*counters));
	reasons = calloc(program->n_reasons + 1, sizeof(*reasons));
	if (counters != NULL && reasons != NULL) {
		for (unsigned int i = 0; i < plan->n_workers; i++)
			sn_counts_add(plan->counts[i], NULL, counters, reasons);
		enter(&engine->counters, program->counters, counters, program->n_counters);
		enter(&engine->reasons, program->reasons, reasons, program->n_reasons);
	}
	free(counters);
	free(reasons);
	sn_plan_free(plan);
}

/* Puts the plan in the place of the running one. */
static int swap(struct sn_engine *engine, struct sn_plan *plan, struct sn_engine_loaded *loaded, char *err,
		size_t err_len)
{
	struct sn_plan *old = engine->orders.plan;

	if (use_macs(plan, err, err_len) != 0)
		return -1;
	sn_transfers_end(engine);
	if (old != NULL && sn_plan_same_state(old, plan)) {
		loaded->sessions_kept = count_sessions(engine, plan);
		engine->orders.plan = plan;
		sn_engine_announce(engine, 2);
	} else {
		sn_shards_finish(engine);
		sn_engine_hold(engine);
		sn_shards_drain(engine);
		if (apply_state(engine, plan, loaded) != 0) {
			sn_engine_release(engine);
			return SN_ERR("no memory for the sessions of %u state tables: lower max_sessions",
				      plan->program->n_tables);
		}
		engine->orders.plan = plan;
		sn_engine_release(engine);
	}
	retire(engine, old);
	return 0;
}

static int load_marked(struct sn_engine *engine, const Sinter__Program__V1__Program *program,
		       struct sn_marks marks, const uint8_t *hash, size_t hash_len,
		       struct sn_engine_loaded *loaded, char *err, size_t err_len)
{
	uint64_t start = clock_ns();
	char ignored[256];
	struct sn_plan *plan;

	*loaded = (struct sn_engine_loaded){0};
	if (hash_len > SN_HASH_LEN)
		return SN_ERR("hash of %zu bytes, at most %d", hash_len, SN_HASH_LEN);
	plan = sn_plan_create(program, engine->orders.plan,
			      engine->config.harness ? NULL : engine->config.ports, engine->config.n_ports,
			      engine->config.n_workers, err, err_len);
	if (plan == NULL)
		return -1;
	plan->marks = marks;
	plan->hash_len = hash_len;
	if (hash_len > 0)
		memcpy(plan->hash, hash, hash_len);
	loaded->build_ns = clock_ns() - start;

	start = clock_ns();
	if (swap(engine, plan, loaded, err, err_len) != 0) {
		if (engine->orders.plan != NULL)
			use_macs(engine->orders.plan, ignored, sizeof(ignored));
		sn_plan_free(plan);
		return -1;
	}
	loaded->swap_ns = clock_ns() - start;
	sn_log(SN_LOG_INFO,
	       "program chain=%s classes=%u build=%luus swap=%luus sessions-kept=%lu sessions-dropped=%lu",
	       plan->program->chain, plan->program->n_classes, (unsigned long)(loaded->build_ns / 1000),
	       (unsigned long)(loaded->swap_ns / 1000), (unsigned long)loaded->sessions_kept,
	       (unsigned long)loaded->sessions_dropped);
	return 0;
}

int sn_engine_load(struct sn_engine *engine, const Sinter__Program__V1__Program *program, const uint8_t *hash,
		   size_t hash_len, struct sn_engine_loaded *loaded, char *err, size_t err_len)
{
	return load_marked(engine, program, (struct sn_marks){0}, hash, hash_len, loaded, err, err_len);
}

/* Bytes that were changed on their way are another program, perhaps one that can be loaded. */
static int verify(const struct sn_engine_bytes *bytes, uint8_t hash[SN_HASH_LEN], char *err, size_t err_len)
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, bytes->data, bytes->len);
	SHA256Final(hash, &sha);
	if (bytes->hash_len == 0)
		return 0;
	if (bytes->hash_len != SN_HASH_LEN)
		return SN_ERR("hash of %zu bytes, want the %d of SHA-256", bytes->hash_len, SN_HASH_LEN);
	if (memcmp(bytes->hash, hash, SN_HASH_LEN) != 0)
		return SN_ERR("the program's %zu bytes have the hash %02x%02x%02x%02x..., want "
			      "%02x%02x%02x%02x...: "
			      "they were changed on their way",
			      bytes->len, hash[0], hash[1], hash[2], hash[3], bytes->hash[0], bytes->hash[1],
			      bytes->hash[2], bytes->hash[3]);
	return 0;
}

int sn_engine_load_bytes(struct sn_engine *engine, const struct sn_engine_bytes *bytes,
			 struct sn_engine_loaded *loaded, char *err, size_t err_len)
{
	uint64_t start = clock_ns();
	Sinter__Program__V1__Program *program;
	uint8_t hash[SN_HASH_LEN];
	uint64_t decode_ns;
	int rc;

	*loaded = (struct sn_engine_loaded){0};
	if (verify(bytes, hash, err, err_len) != 0)
		return -1;
	program = sinter__program__v1__program__unpack(bytes->allocator, bytes->len, bytes->data);
	if (program == NULL)
		return SN_ERR("%zu bytes are no encoded program", bytes->len);
	decode_ns = clock_ns() - start;
	rc = load_marked(engine, program, bytes->marks, hash, sizeof(hash), loaded, err, err_len);
	sinter__program__v1__program__free_unpacked(program, bytes->allocator);
	loaded->build_ns += decode_ns;
	memcpy(loaded->hash, hash, sizeof(hash));
	return rc;
}
