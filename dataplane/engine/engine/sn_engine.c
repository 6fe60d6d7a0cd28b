/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_engine.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_random.h>

#include "sn_backends.h"
#include "sn_fib_changes.h"
#include "sn_link.h"
#include "sn_log.h"
#include "sn_offload.h"
#include "sn_peering.h"
#include "sn_sha256.h"
#include "sn_shards.h"
#include "sn_threads.h"
#include "sn_tracing.h"
#include "sn_transfer.h"

#define SN_KERNEL_NAP_US   50
#define SN_EMULATED_NAP_US 1000

struct sn_engine {
	struct sn_engine_config config;
	struct sn_state *state;
	struct sn_peering *peering;
	struct sn_threads *threads;
	struct sn_shards *shards;
	struct sn_offload *offload;
	struct sn_transfers *transfers;
	struct sn_link *link;
	struct sn_tracing *tracing;
	struct sn_totals totals;
	struct sn_fibs offered; /* while a program is loaded that may name them */
	struct sn_backends backends;
	struct {
		uint8_t *data; /* NULL: it has no load balancer, or was not given as bytes */
		size_t len;
	} program; /* the running one, encoded, to be built again */
};

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
	for (unsigned int i = 0; i < config->ports.n; i++)
		if (!config->ports.all[i].kernel)
			return 0;
	return SN_KERNEL_NAP_US;
}

/* ---- life ---- */

static struct sn_threads *create_threads(const struct sn_engine *engine, struct sn_error *err)
{
	const struct sn_engine_config *config = &engine->config;
	const struct sn_threads_config threads = {
		.n = config->n_workers,
		.harness = config->harness,
		.sampled = config->ports.n > 0,
		.nap_us = choose_nap(config),
		.worker = {.pool = config->pool,
			   .state = engine->state,
			   .peers = sn_peering_peers(engine->peering),
			   .tx = config->tx,
			   .tx_ctx = config->harness_context,
			   .drop = config->drop,
			   .tell = config->tell,
			   .drop_ctx = config->harness_context,
			   .cache_entries = config->cache_entries},
	};

	return sn_threads_create(&threads, err);
}

static struct sn_shards *create_shards(const struct sn_engine *engine, struct sn_error *err)
{
	const struct sn_shards_config config = {
		.threads = engine->threads,
		.state = engine->state,
		.ports = engine->config.ports,
		.map = engine->config.map,
		.context = engine->config.harness_context,
	};

	return sn_shards_create(&config, err);
}

static struct sn_transfers *create_transfers(const struct sn_engine *engine)
{
	const struct sn_transfers_config config = {
		.threads = engine->threads,
		.state = engine->state,
		.shards = engine->shards,
		.peering = engine->peering,
	};

	return sn_transfers_create(&config);
}

static int create_parts(struct sn_engine *engine, struct sn_error *err)
{
	const struct sn_engine_config *config = &engine->config;

	/* The harness repeats itself: its hash seed is fixed. */
	engine->state =
		sn_state_create(config->harness ? 1 : rte_rand(), config->n_workers, config->partitioning);
	engine->peering = sn_peering_create(!config->bare);
	if (engine->state == NULL || engine->peering == NULL)
		return sn_fail(err, "no memory for the state of %u workers", config->n_workers);
	engine->threads = create_threads(engine, err);
	if (engine->threads == NULL)
		return -1;
	sn_threads_silence(engine->threads, config->bare);
	engine->shards = create_shards(engine, err);
	if (engine->shards == NULL)
		return -1;
	engine->offload = sn_offload_create(config->ports, engine->threads, engine->shards, err);
	if (engine->offload == NULL)
		return -1;
	engine->transfers = create_transfers(engine);
	engine->link = sn_link_create(config->ports, engine->threads);
	engine->tracing = sn_tracing_create(engine->threads, config->harness);
	if (engine->transfers == NULL || engine->link == NULL || engine->tracing == NULL)
		return sn_fail(err, "no memory for the engine");
	return 0;
}

static int begin_bare(struct sn_shards *shards)
{
	bool all[SN_SHARDS];

	if (sn_shards_ready(shards) != 0)
		return -1;
	memset(all, true, sizeof(all));
	sn_shards_put(shards, all, SN_SHARD_AWAY);
	return 0;
}

struct sn_engine *sn_engine_create(const struct sn_engine_config *config, struct sn_error *err)
{
	struct sn_engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL) {
		sn_fail(err, "no memory for the engine");
		return NULL;
	}
	engine->config = *config;
	if (create_parts(engine, err) != 0) {
		sn_engine_free(engine);
		return NULL;
	}
	if (config->bare && begin_bare(engine->shards) != 0) {
		sn_fail(err, "no memory to begin without shards");
		sn_engine_free(engine);
		return NULL;
	}
	return engine;
}

void sn_engine_free(struct sn_engine *engine)
{
	if (engine == NULL)
		return;
	sn_tracing_free(engine->tracing);
	sn_link_free(engine->link);
	sn_transfers_free(engine->transfers);
	sn_offload_free(engine->offload);
	sn_threads_free(engine->threads);
	sn_shards_free(engine->shards);
	sn_state_free(engine->state);
	sn_peering_free(engine->peering);
	sn_ledger_free(&engine->totals.reasons);
	sn_ledger_free(&engine->totals.losses);
	sn_ledger_free(&engine->totals.counters);
	sn_backends_free(&engine->backends);
	free(engine->program.data);
	free(engine);
}

int sn_engine_start(struct sn_engine *engine, struct sn_error *err)
{
	if (sn_threads_start(engine->threads, err) == 0)
		return 0;
	sn_engine_stop(engine);
	return -1;
}

void sn_engine_stop(struct sn_engine *engine)
{
	sn_threads_stop(engine->threads);
	sn_offload_stop(engine->offload);
}

/* ---- programs ---- */

/* The devices' addresses as a plan wants them. */
static int use_macs(const struct sn_plan *plan, struct sn_error *err)
{
	for (uint32_t i = 0; i < plan->program->n_interfaces; i++) {
		const struct sn_interface *interface = &plan->program->interfaces[i];
		struct rte_ether_addr mac;

		if (plan->ports[i] == NULL)
			continue;
		memcpy(mac.addr_bytes, interface->mac, sizeof(mac.addr_bytes));
		if (sn_port_use_mac(plan->ports[i], interface->has_mac ? &mac : NULL, err) != 0)
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
	sn_transfers_fit(engine->transfers);
	sn_shards_place(engine->shards);
	return 0;
}

/* Puts the plan in the place of the running one. */
static int swap(struct sn_engine *engine, struct sn_plan *plan, struct sn_engine_loaded *loaded,
		struct sn_error *err)
{
	const struct sn_plan *running = sn_threads_plan(engine->threads);
	struct sn_plan *old;

	if (use_macs(plan, err) != 0)
		return -1;
	sn_transfers_end(engine->transfers);
	if (running != NULL && sn_plan_same_state(running, plan)) {
		loaded->sessions_kept = count_sessions(engine, plan);
		old = sn_threads_run(engine->threads, plan);
	} else {
		sn_shards_finish(engine->shards);
		sn_threads_hold(engine->threads);
		sn_shards_drain(engine->shards);
		if (apply_state(engine, plan, loaded) != 0) {
			sn_threads_release(engine->threads);
			return sn_fail(err,
				       "no memory for the sessions of %u state tables: lower max_sessions",
				       plan->program->n_tables);
		}
		old = sn_threads_run(engine->threads, plan);
		sn_threads_release(engine->threads);
	}
	sn_plan_retire(old, &engine->totals);
	return 0;
}

static int load_marked(struct sn_engine *engine, const Sinter__Program__V1__Program *program,
		       struct sn_marks marks, const uint8_t *hash, size_t hash_len,
		       struct sn_engine_loaded *loaded, struct sn_error *err)
{
	uint64_t start = clock_ns();
	const struct sn_plan *running = sn_threads_plan(engine->threads);
	struct sn_plan *plan;

	*loaded = (struct sn_engine_loaded){0};
	if (hash_len > SN_HASH_LEN)
		return sn_fail(err, "hash of %zu bytes, at most %d", hash_len, SN_HASH_LEN);
	plan = sn_plan_create(program, running, &engine->offered,
			      engine->config.harness ? NULL : &engine->config.ports, engine->config.n_workers,
			      err);
	if (plan == NULL)
		return -1;
	plan->marks = marks;
	plan->hash_len = hash_len;
	if (hash_len > 0)
		memcpy(plan->hash, hash, hash_len);
	loaded->build_ns = clock_ns() - start;

	start = clock_ns();
	if (swap(engine, plan, loaded, err) != 0) {
		if (running != NULL)
			use_macs(running, NULL);
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
		   size_t hash_len, struct sn_engine_loaded *loaded, struct sn_error *err)
{
	if (load_marked(engine, program, (struct sn_marks){0}, hash, hash_len, loaded, err) != 0)
		return -1;
	free(engine->program.data);
	engine->program.data = NULL;
	return 0;
}

/* Bytes that were changed on their way are another program, perhaps one that can be loaded. */
static int verify(const struct sn_engine_bytes *bytes, uint8_t hash[SN_HASH_LEN], struct sn_error *err)
{
	sn_sha256(bytes->data, bytes->len, hash);
	if (bytes->hash_len == 0)
		return 0;
	if (bytes->hash_len != SN_HASH_LEN)
		return sn_fail(err, "hash of %zu bytes, want the %d of SHA-256", bytes->hash_len,
			       SN_HASH_LEN);
	if (memcmp(bytes->hash, hash, SN_HASH_LEN) != 0)
		return sn_fail(err,
			       "the program's %zu bytes have the hash %02x%02x%02x%02x..., want "
			       "%02x%02x%02x%02x...: "
			       "they were changed on their way",
			       bytes->len, hash[0], hash[1], hash[2], hash[3], bytes->hash[0], bytes->hash[1],
			       bytes->hash[2], bytes->hash[3]);
	return 0;
}

/* A copy of the bytes of a program that depends on backends, for as long as it runs. NULL: of any other. */
static int copy_bytes(const struct sn_engine_bytes *bytes, const Sinter__Program__V1__Program *program,
		      uint8_t **copy, struct sn_error *err)
{
	*copy = NULL;
	if (!sn_backends_concern(program))
		return 0;
	*copy = malloc(bytes->len);
	if (*copy == NULL)
		return sn_fail(err, "no memory for a program of %zu bytes", bytes->len);
	memcpy(*copy, bytes->data, bytes->len);
	return 0;
}

/* With backends as they are now. */
static int load_with(struct sn_engine *engine, const struct sn_backends *backends,
		     Sinter__Program__V1__Program *program, struct sn_marks marks, const uint8_t *hash,
		     struct sn_engine_loaded *loaded, struct sn_error *err)
{
	if (sn_backends_apply(backends, program) != 0)
		return sn_fail(err, "no memory for the states of backends");
	return load_marked(engine, program, marks, hash, SN_HASH_LEN, loaded, err);
}

int sn_engine_load_bytes(struct sn_engine *engine, const struct sn_engine_bytes *bytes,
			 struct sn_engine_loaded *loaded, struct sn_error *err)
{
	uint64_t start = clock_ns();
	Sinter__Program__V1__Program *program;
	uint8_t hash[SN_HASH_LEN], *copy;
	uint64_t decode_ns;
	int rc;

	*loaded = (struct sn_engine_loaded){0};
	if (verify(bytes, hash, err) != 0)
		return -1;
	program = sinter__program__v1__program__unpack(bytes->allocator, bytes->len, bytes->data);
	if (program == NULL)
		return sn_fail(err, "%zu bytes are no encoded program", bytes->len);
	rc = copy_bytes(bytes, program, &copy, err);
	if (rc == 0)
		rc = sn_fib_changes_apply(bytes->fibs, bytes->n_fibs, sn_threads_plan(engine->threads),
					  &engine->offered, err);
	decode_ns = clock_ns() - start;
	if (rc == 0)
		rc = load_with(engine, &engine->backends, program, bytes->marks, hash, loaded, err);
	if (rc == 0) {
		free(engine->program.data);
		engine->program.data = copy;
		engine->program.len = bytes->len;
	} else {
		free(copy);
	}
	sn_fib_changes_free(&engine->offered);
	sinter__program__v1__program__free_unpacked(program, bytes->allocator);
	loaded->build_ns += decode_ns;
	memcpy(loaded->hash, hash, sizeof(hash));
	return rc;
}

/* The running program once more, with other backends. */
static int load_again(struct sn_engine *engine, const struct sn_backends *backends, struct sn_error *err)
{
	const struct sn_plan *running = sn_threads_plan(engine->threads);
	Sinter__Program__V1__Program *program;
	struct sn_engine_loaded loaded;
	uint8_t hash[SN_HASH_LEN];
	int rc;

	program = sinter__program__v1__program__unpack(NULL, engine->program.len, engine->program.data);
	if (program == NULL)
		return sn_fail(err, "no memory for a program of %zu bytes", engine->program.len);
	memcpy(hash, running->hash, sizeof(hash));
	rc = load_with(engine, backends, program, running->marks, hash, &loaded, err);
	sinter__program__v1__program__free_unpacked(program, NULL);
	return rc;
}

int sn_engine_set_backends(struct sn_engine *engine, const Sinter__Program__V1__SetBackends *said,
			   bool *changed, struct sn_error *err)
{
	struct sn_backends next;

	if (sn_backends_create(&next, said, err) != 0)
		return -1;
	*changed = !sn_backends_same(&engine->backends, &next);
	if (*changed && engine->program.data != NULL && load_again(engine, &next, err) != 0) {
		sn_backends_free(&next);
		return -1;
	}
	sn_backends_free(&engine->backends);
	engine->backends = next;
	return 0;
}

int sn_engine_partition(struct sn_engine *engine, struct sn_partitioning partitioning, struct sn_error *why,
			bool *gone, struct sn_error *err)
{
	const struct sn_ports *ports = &engine->config.ports;

	*gone = false;
	if (sn_threads_plan(engine->threads) != NULL)
		return sn_fail(
			err,
			"shards: the engine has a program, and cuts flows in another way only before its "
			"first");
	for (unsigned int i = 0; i < ports->n; i++)
		if (sn_offload_flows(engine->offload, &ports->all[i])->n > 0)
			return sn_fail(err,
				       "shards: interface %s has flow rules, which its device would lose",
				       ports->all[i].bind.interface);
	*gone = sn_shards_partition(engine->shards, partitioning, why, err) != 0;
	return *gone ? -1 : 0;
}

/* ---- the parts ---- */

bool sn_engine_is_harness(const struct sn_engine *engine)
{
	return engine->config.harness;
}

const struct sn_ports *sn_engine_ports(const struct sn_engine *engine)
{
	return &engine->config.ports;
}

const struct sn_totals *sn_engine_totals(const struct sn_engine *engine)
{
	return &engine->totals;
}

struct sn_state *sn_engine_state(const struct sn_engine *engine)
{
	return engine->state;
}

struct sn_threads *sn_engine_threads(const struct sn_engine *engine)
{
	return engine->threads;
}

struct sn_shards *sn_engine_shards(const struct sn_engine *engine)
{
	return engine->shards;
}

struct sn_peering *sn_engine_peering(const struct sn_engine *engine)
{
	return engine->peering;
}

struct sn_transfers *sn_engine_transfers(const struct sn_engine *engine)
{
	return engine->transfers;
}

struct sn_offload *sn_engine_offload(const struct sn_engine *engine)
{
	return engine->offload;
}

struct sn_link *sn_engine_link(const struct sn_engine *engine)
{
	return engine->link;
}

struct sn_tracing *sn_engine_tracing(const struct sn_engine *engine)
{
	return engine->tracing;
}
