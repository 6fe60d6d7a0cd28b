/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_report.h"

#include <string.h>

#include <rte_cycles.h>

#include "sn_counts.h"
#include "sn_messages.h"
#include "sn_offload.h"
#include "sn_peering.h"
#include "sn_report_wires.h"
#include "sn_request_flows.h"
#include "sn_state_kind.h"
#include "sn_subscribers.h"
#include "sn_threads.h"
#include "sn_transfer.h"

#define SN_NO_MEMORY	    sn_fail(err, "no memory for the answer")
#define SN_SESSIONS_DEFAULT 1000
#define SN_SESSIONS_MAX	    65536
#define SN_NEIGHBORS_MAX    16384
#define SN_HEAVIEST	    10 /* subscribers */

_Static_assert(SN_PORT_QUEUES_MAX >= SN_WORKERS_MAX, "a queue per worker");

static void report_flows(const struct sn_flows *flows, Sinter__Control__V1__PortStats *port)
{
	if (flows == NULL)
		return;
	port->flow_checked = flows->counts.checked;
	port->flow_undropped = flows->counts.undropped;
	port->flow_misqueued = flows->counts.misqueued;
	port->flow_mismarked = flows->counts.mismarked;
}

/* The workers are in the statistics already; a worker's queue has its number. */
static void report_missed(const struct sn_port *port, Sinter__Control__V1__PortStats *to,
			  Sinter__Control__V1__Stats *stats)
{
	struct sn_port_missed missed;

	sn_port_missed(port, (unsigned int)stats->n_workers, &missed);
	to->rx_missed = missed.all;
	for (size_t i = 0; i < stats->n_workers; i++)
		stats->workers[i]->rx_missed += missed.queue[i];
}

static int report_ports(const struct sn_engine *engine, struct sn_arena *arena,
			Sinter__Control__V1__Stats *stats)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	const struct sn_plan *plan = sn_threads_plan(threads);
	size_t n = plan->program->n_interfaces;

	stats->ports =
		SN_NEW_ARRAY(arena, Sinter__Control__V1__PortStats, sinter__control__v1__port_stats__init, n);
	if (stats->ports == NULL)
		return -1;
	stats->n_ports = n;
	for (size_t i = 0; i < n; i++) {
		Sinter__Control__V1__PortStats *port = stats->ports[i];

		port->interface = plan->program->interfaces[i].name;
		for (unsigned int w = 0; w < sn_threads_count(threads); w++) {
			const struct sn_port_count *count =
				&sn_worker_stats(sn_threads_worker(threads, w))->ports[i];

			port->rx_packets += count->rx.packets;
			port->rx_bytes += count->rx.bytes;
			port->tx_packets += count->tx.packets;
			port->tx_bytes += count->tx.bytes;
			port->strays += count->strays;
			port->marked += count->marked;
			port->misclassified += count->misclassified;
		}
		if (plan->ports[i] != NULL)
			report_missed(plan->ports[i], port, stats);
		report_flows(sn_offload_flows(sn_engine_offload(engine), plan->ports[i]), port);
	}
	return 0;
}

static int report_classes(const struct sn_program *program, const struct sn_count *counts,
			  struct sn_arena *arena, Sinter__Control__V1__Stats *stats)
{
	size_t n = 0;

	for (uint32_t i = 0; i < program->n_classes; i++)
		n += counts[i].packets != 0;
	stats->classes = SN_NEW_ARRAY(arena, Sinter__Control__V1__ClassStats,
				      sinter__control__v1__class_stats__init, n);
	if (stats->classes == NULL)
		return -1;
	for (uint32_t s = 0; s < program->n_segments; s++) {
		const struct sn_segment *segment = &program->segments[s];

		for (uint32_t c = 0; c < segment->n_classes; c++) {
			const struct sn_count *count = &counts[segment->first_class + c];
			Sinter__Control__V1__ClassStats *class;

			if (count->packets == 0)
				continue;
			class = stats->classes[stats->n_classes++];
			class->segment = s;
			class->class_ = c;
			class->packets = count->packets;
			class->bytes = count->bytes;
		}
	}
	return 0;
}

static int report_counters(const struct sn_engine *engine, const struct sn_count *counts,
			   struct sn_arena *arena, Sinter__Control__V1__Stats *stats)
{
	const struct sn_program *program = sn_threads_plan(sn_engine_threads(engine))->program;

	stats->counters = SN_NEW_ARRAY(arena, Sinter__Control__V1__CounterStats,
				       sinter__control__v1__counter_stats__init, program->n_counters);
	if (stats->counters == NULL)
		return -1;
	stats->n_counters = program->n_counters;
	for (uint32_t i = 0; i < program->n_counters; i++) {
		const struct sn_count *before =
			sn_ledger_find(&sn_engine_totals(engine)->counters, program->counters[i]);

		stats->counters[i]->packets = counts[i].packets + (before != NULL ? before->packets : 0);
		stats->counters[i]->bytes = counts[i].bytes + (before != NULL ? before->bytes : 0);
	}
	return 0;
}

static void add_drop(const char *reason, uint32_t kind, const struct sn_count *count,
		     Sinter__Control__V1__Stats *stats)
{
	Sinter__Control__V1__DropStats *drop;

	if (count->packets == 0)
		return;
	for (size_t i = 0; i < stats->n_drops; i++) {
		drop = stats->drops[i];
		if ((uint32_t)drop->kind == kind && strcmp(drop->reason, reason) == 0) {
			drop->packets += count->packets;
			drop->bytes += count->bytes;
			return;
		}
	}
	drop = stats->drops[stats->n_drops++];
	drop->reason = (char *)reason;
	drop->kind = (Sinter__Program__V1__DropKind)kind;
	drop->packets = count->packets;
	drop->bytes = count->bytes;
}

static void add_decision(const char *reason, const struct sn_count *count, void *ctx)
{
	add_drop(reason, SN_REASON_DECISION, count, ctx);
}

static void add_loss(const char *reason, const struct sn_count *count, void *ctx)
{
	add_drop(reason, SN_REASON_LOSS, count, ctx);
}

static int report_drops(const struct sn_engine *engine, const struct sn_count *reasons,
			struct sn_arena *arena, Sinter__Control__V1__Stats *stats)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	const struct sn_plan *plan = sn_threads_plan(threads);
	const struct sn_totals *totals = sn_engine_totals(engine);
	uint32_t n_reasons = plan->program->n_reasons;

	stats->drops =
		SN_NEW_ARRAY(arena, Sinter__Control__V1__DropStats, sinter__control__v1__drop_stats__init,
			     SN_REASON_BUILTIN + n_reasons + totals->reasons.n + totals->losses.n);
	if (stats->drops == NULL)
		return -1;
	for (uint32_t i = 0; i < SN_REASON_BUILTIN; i++) {
		struct sn_count sum = {0};

		if (sn_reason_name(i) == NULL)
			continue; /* a number that no reason has */
		for (unsigned int w = 0; w < sn_threads_count(threads); w++) {
			const struct sn_count *count =
				&sn_worker_stats(sn_threads_worker(threads, w))->drops[i];

			sum.packets += count->packets;
			sum.bytes += count->bytes;
		}
		add_drop(sn_reason_name(i), sn_reason_kind(i), &sum, stats);
	}
	for (uint32_t i = 0; i < n_reasons; i++)
		add_drop(plan->program->reasons[i],
			 sn_program_reason_kind(plan->program, SN_REASON_CHAIN + i), &reasons[i], stats);
	sn_ledger_each(&totals->reasons, add_decision, stats);
	sn_ledger_each(&totals->losses, add_loss, stats);
	return 0;
}

static int report_tables(const struct sn_engine *engine, struct sn_arena *arena,
			 Sinter__Control__V1__Stats *stats)
{
	const struct sn_program *program = sn_threads_plan(sn_engine_threads(engine))->program;

	stats->tables = SN_NEW_ARRAY(arena, Sinter__Program__V1__TableStats,
				     sinter__program__v1__table_stats__init, program->n_tables);
	if (stats->tables == NULL)
		return -1;
	stats->n_tables = program->n_tables;
	for (uint32_t i = 0; i < program->n_tables; i++) {
		struct sn_state_stats state;

		sn_state_stats(sn_engine_state(engine), i, &state);
		stats->tables[i]->name = program->tables[i].name;
		stats->tables[i]->sessions = state.sessions;
		stats->tables[i]->created = state.created;
		stats->tables[i]->expired = state.expired;
		stats->tables[i]->exhausted = state.exhausted;
		stats->tables[i]->evicted = state.evicted;
		if (sn_state_report_table(sn_engine_state(engine), i, arena, stats->tables[i]) != 0)
			return -1;
	}
	return 0;
}

static int report_heaviest(const struct sn_program *program, uint32_t set, struct sn_subscribers *subscribers,
			   struct sn_arena *arena, Sinter__Program__V1__SubscriberStats *to)
{
	struct sn_subscriber heaviest[SN_HEAVIEST];
	uint32_t n = sn_subscribers_heaviest(subscribers, set, heaviest, SN_HEAVIEST, &to->subscribers);

	to->name = program->subscribers[set].name;
	to->connections = program->subscribers[set].max_ports == 0;
	to->heaviest = SN_NEW_ARRAY(arena, Sinter__Program__V1__Subscriber,
				    sinter__program__v1__subscriber__init, n);
	if (to->heaviest == NULL)
		return -1;
	to->n_heaviest = n;
	for (uint32_t i = 0; i < n; i++) {
		Sinter__Program__V1__Subscriber *s = to->heaviest[i];

		s->prefix = heaviest[i].prefix;
		s->prefix_len = program->subscribers[set].prefix_len;
		s->sessions = heaviest[i].sessions;
		s->tcp_ports = heaviest[i].ports[SN_PROTO_TCP];
		s->udp_ports = heaviest[i].ports[SN_PROTO_UDP];
		s->icmp_ports = heaviest[i].ports[SN_PROTO_ICMP];
		s->refused = heaviest[i].refused;
	}
	return 0;
}

static int report_subscribers(const struct sn_engine *engine, struct sn_arena *arena,
			      Sinter__Control__V1__Stats *stats)
{
	const struct sn_program *program = sn_threads_plan(sn_engine_threads(engine))->program;

	stats->subscribers =
		SN_NEW_ARRAY(arena, Sinter__Program__V1__SubscriberStats,
			     sinter__program__v1__subscriber_stats__init, program->n_subscribers);
	if (stats->subscribers == NULL)
		return -1;
	stats->n_subscribers = program->n_subscribers;
	for (uint32_t i = 0; i < program->n_subscribers; i++)
		if (report_heaviest(program, i, sn_state_subscribers(sn_engine_state(engine)), arena,
				    stats->subscribers[i]) != 0)
			return -1;
	return 0;
}

/* Where a shard is, and who else has to do with it. */
static void report_place(const struct sn_engine *engine, uint32_t unit,
			 Sinter__Control__V1__ShardStats *shard)
{
	const struct sn_transfer *transfer = sn_transfer_of(sn_engine_transfers(engine), unit);
	const struct sn_peers *peers = sn_peering_peers(sn_engine_peering(engine));
	uint8_t at = peers->at[unit];

	shard->place = (Sinter__Control__V1__ShardPlace)sn_state_place(sn_engine_state(engine), unit);
	if (transfer != NULL) {
		shard->transfer =
			(ProtobufCBinaryData){sizeof(transfer->id), (uint8_t *)(uintptr_t)transfer->id};
		shard->peer = (char *)(uintptr_t)transfer->peer;
		shard->sealed = transfer->sealed;
	} else if (shard->place == SINTER__CONTROL__V1__SHARD_PLACE__SHARD_AWAY && at > 0) {
		shard->peer = (char *)(uintptr_t)peers->names[at - 1];
	}
}

static int report_shards(const struct sn_engine *engine, struct sn_arena *arena,
			 Sinter__Control__V1__Stats *stats)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	size_t n =
		sn_threads_plan(threads)->program->n_tables > 0 ? sn_state_units(sn_engine_state(engine)) : 0;

	stats->shards = SN_NEW_ARRAY(arena, Sinter__Control__V1__ShardStats,
				     sinter__control__v1__shard_stats__init, n);
	if (stats->shards == NULL)
		return -1;
	stats->n_shards = n;
	for (size_t i = 0; i < n; i++) {
		Sinter__Control__V1__ShardStats *shard = stats->shards[i];
		struct sn_state_stats state;

		sn_state_unit_stats(sn_engine_state(engine), (uint32_t)i, &state);
		shard->worker = sn_state_owner(sn_engine_state(engine), (uint32_t)i);
		report_place(engine, (uint32_t)i, shard);
		shard->sessions = state.sessions;
		shard->exhausted = state.exhausted;
		for (unsigned int w = 0; w < sn_threads_count(threads); w++) {
			const struct sn_shard_count *counts =
				sn_worker_stats(sn_threads_worker(threads, w))->shards;

			for (size_t s = i; s < SN_SHARDS; s += n) {
				shard->packets += counts[s].packets;
				shard->cycles += counts[s].cycles;
				shard->passed += counts[s].passed;
			}
		}
	}
	return 0;
}

static int report_workers(const struct sn_engine *engine, struct sn_arena *arena,
			  Sinter__Control__V1__Stats *stats)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	size_t n = sn_threads_count(threads);

	stats->workers = SN_NEW_ARRAY(arena, Sinter__Control__V1__WorkerStats,
				      sinter__control__v1__worker_stats__init, n);
	if (stats->workers == NULL)
		return -1;
	stats->n_workers = n;
	for (size_t i = 0; i < n; i++) {
		struct sn_worker_stats *seen = sn_worker_stats(sn_threads_worker(threads, (unsigned int)i));
		Sinter__Control__V1__WorkerStats *worker = stats->workers[i];

		worker->lcore = (uint32_t)i + 1;
		worker->packets = seen->packets;
		worker->busy_cycles = seen->busy_cycles;
		worker->idle_cycles = sn_threads_idle_cycles(threads, (unsigned int)i);
		worker->cache_hits = seen->cache_hits;
		worker->cache_misses = seen->cache_misses;
		worker->handed = seen->handed;
		worker->taken = seen->taken;
		worker->tsc_hz = rte_get_tsc_hz();
		/* Packing reads them a moment later, beside the worker: a number may be newer, never torn. */
		worker->n_latency = SN_LATENCY_BUCKETS;
		while (worker->n_latency > 0 && seen->latency[worker->n_latency - 1] == 0)
			worker->n_latency--;
		worker->latency = sn_arena_alloc(arena, (worker->n_latency + 1) * sizeof(uint64_t));
		worker->stage_cycles = sn_arena_alloc(arena, SN_STAGES * sizeof(uint64_t));
		if (worker->latency == NULL || worker->stage_cycles == NULL)
			return -1;
		memcpy(worker->latency, seen->latency, worker->n_latency * sizeof(uint64_t));
		memcpy(worker->stage_cycles, seen->stage_cycles, SN_STAGES * sizeof(uint64_t));
		worker->n_stage_cycles = SN_STAGES;
	}
	return 0;
}

int sn_report_stats(const struct sn_engine *engine, const Sinter__Control__V1__GetStats *request,
		    struct sn_arena *arena, Sinter__Control__V1__Stats *stats, struct sn_error *err)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	const struct sn_plan *plan = sn_threads_plan(threads);
	struct sn_count *classes, *counters, *reasons;

	stats->now_ns = sn_threads_now(threads);
	stats->state_memory = sn_state_most(sn_engine_state(engine));
	stats->peers = sn_peering_peers(sn_engine_peering(engine))->n;
	if (report_workers(engine, arena, stats) != 0)
		return SN_NO_MEMORY;
	if (plan == NULL)
		return 0;
	stats->hash.data = (uint8_t *)plan->hash;
	stats->hash.len = plan->hash_len;
	classes = sn_arena_alloc(arena, (plan->program->n_classes + 1) * sizeof(*classes));
	counters = sn_arena_alloc(arena, (plan->program->n_counters + 1) * sizeof(*counters));
	reasons = sn_arena_alloc(arena, (plan->program->n_reasons + 1) * sizeof(*reasons));
	if (classes == NULL || counters == NULL || reasons == NULL)
		return SN_NO_MEMORY;
	for (unsigned int i = 0; i < sn_threads_count(threads); i++)
		sn_counts_add(plan->counts[i], classes, counters, reasons);
	if (report_ports(engine, arena, stats) != 0 || report_drops(engine, reasons, arena, stats) != 0 ||
	    report_shards(engine, arena, stats) != 0)
		return SN_NO_MEMORY;
	if (request->loads)
		return 0;
	if (report_classes(plan->program, classes, arena, stats) != 0 ||
	    report_counters(engine, counters, arena, stats) != 0 ||
	    sn_report_wires(engine, arena, stats) != 0 || report_tables(engine, arena, stats) != 0 ||
	    report_subscribers(engine, arena, stats) != 0 || sn_report_observation(engine, arena, stats) != 0)
		return SN_NO_MEMORY;
	return 0;
}

int sn_report_ports(const struct sn_engine *engine, struct sn_arena *arena, char ***names, size_t *n,
		    struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(engine));
	size_t count = plan != NULL ? plan->program->n_interfaces : sn_engine_ports(engine)->n;

	*names = sn_arena_alloc(arena, (count + 1) * sizeof(char *));
	if (*names == NULL)
		return SN_NO_MEMORY;
	*n = count;
	for (size_t i = 0; i < count; i++) {
		struct sn_port *port = plan != NULL ? plan->ports[i] : &sn_engine_ports(engine)->all[i];

		(*names)[i] = port != NULL ? port->bind.device : (char *)"harness";
	}
	return 0;
}

int sn_report_session(const struct sn_entry_info *info, struct sn_arena *arena,
		      Sinter__Program__V1__Session *session)
{
	sinter__program__v1__session__init(session);
	session->run = (char *)info->owner;
	session->idle_ms = info->idle_ns / 1000000;
	session->shard = info->line.entry.shard;
	return info->kind->report(info, arena, session);
}

int sn_report_addresses(const struct sn_engine *engine, struct sn_arena *arena,
			Sinter__Control__V1__HelloReply *reply, struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(engine));
	size_t n = plan != NULL ? plan->program->n_interfaces : 0;

	reply->addresses =
		SN_NEW_ARRAY(arena, Sinter__Control__V1__Address, sinter__control__v1__address__init, n);
	if (reply->addresses == NULL)
		return SN_NO_MEMORY;
	reply->n_addresses = n;
	for (size_t i = 0; i < n; i++) {
		const struct sn_interface *interface = &plan->program->interfaces[i];
		const uint8_t *mac = interface->has_mac ? interface->mac : plan->macs[i];

		reply->addresses[i]->interface = (char *)interface->name;
		reply->addresses[i]->mac =
			(ProtobufCBinaryData){sizeof(plan->macs[i]), (uint8_t *)(uintptr_t)mac};
	}
	return 0;
}

/* Notes the walks through a table, if there are any. */
static void note_walks(Sinter__Control__V1__Loaded *reply, uint32_t segment, bool low,
		       const struct sn_table *table)
{
	Sinter__Control__V1__Walk *walk;

	if (table == NULL || sn_table_longest(table) == 0)
		return;
	walk = reply->walks[reply->n_walks++];
	walk->segment = segment;
	walk->low = low;
	walk->steps = sn_table_steps(table);
	walk->longest = sn_table_longest(table);
}

void sn_report_walks(const struct sn_engine *engine, struct sn_arena *arena,
		     Sinter__Control__V1__Loaded *reply)
{
	const struct sn_program *program = sn_threads_plan(sn_engine_threads(engine))->program;

	reply->walks = SN_NEW_ARRAY(arena, Sinter__Control__V1__Walk, sinter__control__v1__walk__init,
				    2 * (size_t)program->n_segments);
	if (reply->walks == NULL)
		return;
	for (uint32_t s = 0; s < program->n_segments; s++) {
		note_walks(reply, s, false, program->segments[s].table.table);
		note_walks(reply, s, true, program->segments[s].low.table);
	}
}

int sn_report_sessions(struct sn_engine *engine, const Sinter__Control__V1__GetSessions *request,
		       struct sn_arena *arena, Sinter__Control__V1__SessionList *list, struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(engine));
	size_t max = request->limit == 0 ? SN_SESSIONS_DEFAULT
					 : RTE_MIN(request->limit, (uint32_t)SN_SESSIONS_MAX);
	struct sn_entry_info *infos;
	size_t n;

	if (plan == NULL)
		return sn_fail(err, "sessions: no program is loaded");
	if (request->table >= plan->program->n_tables)
		return sn_fail(err, "sessions: table %u, the program has %u", request->table,
			       plan->program->n_tables);
	infos = sn_arena_alloc(arena, max * sizeof(*infos));
	if (infos == NULL)
		return SN_NO_MEMORY;
	sn_threads_hold(sn_engine_threads(engine));
	n = sn_state_entries(sn_engine_state(engine), request->table,
			     sn_threads_now(sn_engine_threads(engine)), infos, max);
	sn_threads_release(sn_engine_threads(engine));

	list->sessions =
		SN_NEW_ARRAY(arena, Sinter__Program__V1__Session, sinter__program__v1__session__init, n);
	if (list->sessions == NULL)
		return SN_NO_MEMORY;
	list->n_sessions = n;
	for (size_t i = 0; i < n; i++)
		if (sn_report_session(&infos[i], arena, list->sessions[i]) != 0)
			return SN_NO_MEMORY;
	return 0;
}

int sn_report_neighbors(struct sn_engine *engine, struct sn_arena *arena,
			Sinter__Control__V1__NeighborList *list, struct sn_error *err)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	size_t n = 0, max = SN_NEIGHBORS_MAX;
	struct sn_neigh_info *infos = sn_arena_alloc(arena, max * sizeof(*infos));
	uint8_t *macs;

	if (infos == NULL)
		return SN_NO_MEMORY;
	sn_threads_hold(threads);
	for (unsigned int i = 0; i < sn_threads_count(threads); i++)
		n += sn_worker_neighbors(sn_threads_worker(threads, i), infos + n, max - n);
	sn_threads_release(threads);

	list->neighbors = SN_NEW_ARRAY(arena, Sinter__Control__V1__NeighborState,
				       sinter__control__v1__neighbor_state__init, n);
	macs = sn_arena_alloc(arena, (n + 1) * sizeof(infos->mac));
	if (list->neighbors == NULL || macs == NULL)
		return SN_NO_MEMORY;
	list->n_neighbors = n;
	for (size_t i = 0; i < n; i++) {
		Sinter__Control__V1__NeighborState *neighbor = list->neighbors[i];

		neighbor->interface = infos[i].iface;
		neighbor->address = infos[i].address;
		neighbor->vlan = infos[i].vlan == SN_VLAN_ABSENT ? 0 : infos[i].vlan;
		neighbor->state = (char *)sn_neigh_state_name(infos[i].state);
		memcpy(macs + i * sizeof(infos->mac), infos[i].mac, sizeof(infos->mac));
		neighbor->mac.data = macs + i * sizeof(infos->mac);
		neighbor->mac.len = sizeof(infos->mac);
	}
	return 0;
}
