/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_request.h"

#include <stdlib.h>
#include <string.h>

#include "sn_frame.h"
#include "sn_link.h"
#include "sn_log.h"
#include "sn_messages.h"
#include "sn_offload.h"
#include "sn_report.h"
#include "sn_request_flows.h"
#include "sn_request_shards.h"
#include "sn_shards.h"
#include "sn_threads.h"
#include "sn_tracing.h"
#include "sn_transfer.h"

#define SN_MOVES_MAX 1024
#define SN_TICK_MS   1000
#define SN_LEVEL_MS  100 /* how soon a worker that may make no more sessions gets what others have left */

void sn_requests_init(struct sn_requests *requests, struct sn_engine *engine, sn_inject inject,
		      void *inject_context)
{
	*requests =
		(struct sn_requests){.engine = engine, .inject = inject, .inject_context = inject_context};
	sn_arena_init(&requests->arena);
}

int sn_requests_tick(struct sn_requests *requests)
{
	const struct sn_engine *engine = requests->engine;
	struct sn_transfers *transfers = sn_engine_transfers(engine);
	bool tracing = sn_tracing_watch(sn_engine_tracing(engine));
	int offload_ms = sn_offload_watch(sn_engine_offload(engine));
	int link_ms = sn_link_watch(sn_engine_link(engine));

	sn_shards_level(sn_engine_shards(engine));
	sn_transfers_tick(transfers);
	/* Workers do not wake the control thread: it looks what they want. */
	if (sn_threads_count(sn_engine_threads(engine)) > 1 || sn_transfers_open(transfers))
		return SN_LEVEL_MS;
	if (offload_ms < 0)
		offload_ms = tracing ? SN_TICK_MS : -1;
	return link_ms >= 0 && (offload_ms < 0 || link_ms < offload_ms) ? link_ms : offload_ms;
}

void sn_requests_free(struct sn_requests *requests)
{
	sn_arena_free(&requests->arena);
}

/* The numbers of a cut are the protocol's. */
_Static_assert((int)SN_PARTITION_BY_HOST == (int)SINTER__CONTROL__V1__PARTITIONING__BY__HOST, "by host");
_Static_assert((int)SN_PARTITION_BY_ADDRESS == (int)SINTER__CONTROL__V1__PARTITIONING__BY__ADDRESS,
	       "by address");
_Static_assert((int)SN_PARTITION_BY_RSS == (int)SINTER__CONTROL__V1__PARTITIONING__BY__RSS, "by RSS");

static Sinter__Control__V1__Partitioning *report_partitioning(struct sn_requests *requests)
{
	Sinter__Control__V1__Partitioning *reply = SN_NEW(&requests->arena, Sinter__Control__V1__Partitioning,
							  sinter__control__v1__partitioning__init);
	struct sn_partitioning partitioning = sn_state_partitioning(sn_engine_state(requests->engine));

	if (reply != NULL) {
		reply->by = (Sinter__Control__V1__Partitioning__By)partitioning.by;
		reply->bit = partitioning.shift;
	}
	return reply;
}

/* Marks of the program in force; no memory: false. */
static bool report_marks(struct sn_requests *requests, Sinter__Control__V1__HelloReply *reply)
{
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(requests->engine));

	if (plan == NULL || plan->marks.shift == 0)
		return true;
	reply->marks = SN_NEW(&requests->arena, Sinter__Flows__V1__Marks, sinter__flows__v1__marks__init);
	if (reply->marks == NULL)
		return false;
	reply->marks->generation = plan->marks.generation;
	reply->marks->shift = plan->marks.shift;
	return true;
}

static int answer_hello(struct sn_requests *requests, const Sinter__Control__V1__Hello *hello,
			Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__HelloReply *reply = SN_NEW(&requests->arena, Sinter__Control__V1__HelloReply,
							sinter__control__v1__hello_reply__init);

	if (reply == NULL)
		return sn_fail(err, "no memory");
	if (hello->schema != SN_SCHEMA)
		return sn_fail(err,
			       "program schema %u, this engine runs schema %u: use the sinterctl of the same "
			       "release",
			       hello->schema, SN_SCHEMA);
	reply->schema = SN_SCHEMA;
	reply->version = (char *)SN_VERSION;
	reply->partitioning = report_partitioning(requests);
	if (reply->partitioning == NULL || !report_marks(requests, reply))
		return sn_fail(err, "no memory");
	if (sn_report_ports(requests->engine, &requests->arena, &reply->ports, &reply->n_ports, err) != 0 ||
	    sn_report_addresses(requests->engine, &requests->arena, reply, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_HELLO;
	response->hello = reply;
	return 0;
}

static int read_marks(const Sinter__Flows__V1__Marks *message, struct sn_marks *marks, struct sn_error *err)
{
	*marks = (struct sn_marks){0};
	if (message == NULL)
		return 0;
	*marks = (struct sn_marks){.generation = message->generation, .shift = message->shift};
	if (message->generation >= SN_MARK_GENERATIONS)
		return sn_fail(err, "load: marks: generation %u, want 0..%d", message->generation,
			       SN_MARK_GENERATIONS - 1);
	if (message->shift < 1 || message->shift > SN_MARK_SHIFT_MAX)
		return sn_fail(err, "load: marks: shift %u, want 1..%d", message->shift, SN_MARK_SHIFT_MAX);
	return 0;
}

static int answer_load(struct sn_requests *requests, const Sinter__Control__V1__Load *load,
		       Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__Loaded *reply =
		SN_NEW(&requests->arena, Sinter__Control__V1__Loaded, sinter__control__v1__loaded__init);
	struct sn_engine_bytes bytes = {
		.data = load->program.data,
		.len = load->program.len,
		.hash = load->hash.data,
		.hash_len = load->hash.len,
		.fibs = load->fibs,
		.n_fibs = load->n_fibs,
		.allocator = &requests->arena.allocator,
	};
	struct sn_engine_loaded loaded;

	if (reply == NULL)
		return sn_fail(err, "no memory");
	reply->hash.data = sn_arena_alloc(&requests->arena, SN_HASH_LEN);
	if (reply->hash.data == NULL)
		return sn_fail(err, "no memory");
	if (read_marks(load->marks, &bytes.marks, err) != 0 ||
	    sn_engine_load_bytes(requests->engine, &bytes, &loaded, err) != 0)
		return -1;
	reply->hash.len = SN_HASH_LEN;
	memcpy(reply->hash.data, loaded.hash, SN_HASH_LEN);
	reply->build_ns = loaded.build_ns;
	reply->swap_ns = loaded.swap_ns;
	reply->sessions_kept = loaded.sessions_kept;
	reply->sessions_dropped = loaded.sessions_dropped;
	sn_report_walks(requests->engine, &requests->arena, reply);
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_LOAD;
	response->load = reply;
	return 0;
}

static int answer_backends(struct sn_requests *requests, const Sinter__Program__V1__SetBackends *said,
			   Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Program__V1__BackendsSet *reply = SN_NEW(&requests->arena, Sinter__Program__V1__BackendsSet,
							 sinter__program__v1__backends_set__init);
	bool changed;

	if (reply == NULL)
		return sn_fail(err, "no memory");
	if (sn_engine_set_backends(requests->engine, said, &changed, err) != 0)
		return -1;
	reply->changed = changed;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_BACKENDS_SET;
	response->backends_set = reply;
	return 0;
}

static int answer_stats(struct sn_requests *requests, const Sinter__Control__V1__GetStats *request,
			Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__Stats *stats =
		SN_NEW(&requests->arena, Sinter__Control__V1__Stats, sinter__control__v1__stats__init);

	if (stats == NULL)
		return sn_fail(err, "no memory");
	sn_offload_watch(sn_engine_offload(requests->engine));
	if (sn_report_stats(requests->engine, request, &requests->arena, stats, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_STATS;
	response->stats = stats;
	return 0;
}

static int answer_inject(struct sn_requests *requests, const Sinter__Control__V1__Inject *inject,
			 Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__Injected *injected =
		SN_NEW(&requests->arena, Sinter__Control__V1__Injected, sinter__control__v1__injected__init);

	if (injected == NULL)
		return sn_fail(err, "no memory");
	if (requests->inject == NULL)
		return sn_fail(err, "inject: this engine takes packets from its ports; sinter-harness takes "
				    "injected ones");
	if (requests->inject(requests->inject_context, inject, &requests->arena, injected, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_INJECT;
	response->inject = injected;
	return 0;
}

static int answer_neighbors(struct sn_requests *requests, Sinter__Control__V1__Response *response,
			    struct sn_error *err)
{
	Sinter__Control__V1__NeighborList *list = SN_NEW(&requests->arena, Sinter__Control__V1__NeighborList,
							 sinter__control__v1__neighbor_list__init);

	if (list == NULL)
		return sn_fail(err, "no memory");
	if (sn_report_neighbors(requests->engine, &requests->arena, list, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_NEIGHBORS;
	response->neighbors = list;
	return 0;
}

static int answer_sessions(struct sn_requests *requests, const Sinter__Control__V1__GetSessions *request,
			   Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__SessionList *list = SN_NEW(&requests->arena, Sinter__Control__V1__SessionList,
							sinter__control__v1__session_list__init);

	if (list == NULL)
		return sn_fail(err, "no memory");
	if (sn_report_sessions(requests->engine, request, &requests->arena, list, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_SESSIONS;
	response->sessions = list;
	return 0;
}

static int answer_start_trace(struct sn_requests *requests, const Sinter__Control__V1__StartTrace *start,
			      Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__TraceStarted *started =
		SN_NEW(&requests->arena, Sinter__Control__V1__TraceStarted,
		       sinter__control__v1__trace_started__init);

	if (started == NULL)
		return sn_fail(err, "no memory");
	if (sn_tracing_start(sn_engine_tracing(requests->engine), start, &requests->arena, started, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_TRACE_STARTED;
	response->trace_started = started;
	return 0;
}

static int answer_read_trace(struct sn_requests *requests, Sinter__Control__V1__Response *response,
			     struct sn_error *err)
{
	Sinter__Control__V1__Traced *traced =
		SN_NEW(&requests->arena, Sinter__Control__V1__Traced, sinter__control__v1__traced__init);

	if (traced == NULL)
		return sn_fail(err, "no memory");
	if (sn_tracing_read(sn_engine_tracing(requests->engine), &requests->arena, traced, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_TRACED;
	response->traced = traced;
	return 0;
}

static int answer_move(struct sn_requests *requests, const Sinter__Control__V1__MoveShards *move,
		       Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__Moved *reply =
		SN_NEW(&requests->arena, Sinter__Control__V1__Moved, sinter__control__v1__moved__init);

	if (move->n_moves > SN_MOVES_MAX)
		return sn_fail(err, "move: %zu moves, at most %d", move->n_moves, SN_MOVES_MAX);
	if (reply == NULL)
		return sn_fail(err, "no memory");
	reply->blocked_ns = sn_arena_alloc(&requests->arena, (move->n_moves + 1) * sizeof(uint64_t));
	if (reply->blocked_ns == NULL)
		return sn_fail(err, "no memory");
	for (size_t i = 0; i < move->n_moves; i++)
		if (sn_shards_move(sn_engine_shards(requests->engine), move->moves[i]->shard,
				   move->moves[i]->worker, &reply->blocked_ns[i], err) != 0)
			return -1;
	reply->n_blocked_ns = move->n_moves;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_MOVED;
	response->moved = reply;
	return 0;
}

static int answer_partitioned(struct sn_requests *requests,
			      const Sinter__Control__V1__PartitionShards *request,
			      Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Control__V1__ShardsPartitioned *reply =
		SN_NEW(&requests->arena, Sinter__Control__V1__ShardsPartitioned,
		       sinter__control__v1__shards_partitioned__init);
	unsigned int n = sn_engine_ports(requests->engine)->n;
	struct sn_error *why = sn_arena_alloc(&requests->arena, (n + 1) * sizeof(*why));
	const Sinter__Control__V1__Partitioning *partitioning = request->partitioning;
	bool gone;

	if (partitioning == NULL || (unsigned int)partitioning->by > SN_PARTITION_BY_RSS ||
	    partitioning->bit > SN_PARTITION_BIT_MAX)
		return sn_fail(err, "shards: want a cut by HOST, RSS or ADDRESS, and a bit from 0 to %d",
			       SN_PARTITION_BIT_MAX);
	if (reply != NULL)
		reply->unhashed = sn_arena_alloc(&requests->arena, (n + 1) * sizeof(*reply->unhashed));
	if (why == NULL || reply == NULL || reply->unhashed == NULL)
		return sn_fail(err, "no memory");
	if (sn_engine_partition(
		    requests->engine,
		    (struct sn_partitioning){(enum sn_partition_by)partitioning->by, partitioning->bit}, why,
		    &gone, err) != 0) {
		requests->shutdown |= gone; /* perhaps another engine can start the port */
		return -1;
	}
	for (unsigned int i = 0; i < n; i++)
		reply->unhashed[i] = why[i].text;
	reply->n_unhashed = n;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_SHARDS_PARTITIONED;
	response->shards_partitioned = reply;
	return 0;
}

static int answer_devices(struct sn_requests *requests, const Sinter__Flows__V1__GetDevices *request,
			  Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Flows__V1__DeviceList *list =
		SN_NEW(&requests->arena, Sinter__Flows__V1__DeviceList, sinter__flows__v1__device_list__init);

	if (list == NULL)
		return sn_fail(err, "no memory");
	if (sn_offload_devices(sn_engine_offload(requests->engine), request, &requests->arena, list, err) !=
	    0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_DEVICES;
	response->devices = list;
	return 0;
}

static int answer_update_flows(struct sn_requests *requests, const Sinter__Flows__V1__UpdateFlows *update,
			       Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Flows__V1__FlowsUpdated *updated = SN_NEW(&requests->arena, Sinter__Flows__V1__FlowsUpdated,
							  sinter__flows__v1__flows_updated__init);

	if (updated == NULL)
		return sn_fail(err, "no memory");
	if (sn_offload_update(sn_engine_offload(requests->engine), update, &requests->arena, updated, err) !=
	    0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_FLOWS_UPDATED;
	response->flows_updated = updated;
	return 0;
}

static int answer_flows(struct sn_requests *requests, const Sinter__Flows__V1__GetFlows *request,
			Sinter__Control__V1__Response *response, struct sn_error *err)
{
	Sinter__Flows__V1__FlowList *list =
		SN_NEW(&requests->arena, Sinter__Flows__V1__FlowList, sinter__flows__v1__flow_list__init);

	if (list == NULL)
		return sn_fail(err, "no memory");
	sn_offload_watch(sn_engine_offload(requests->engine));
	if (sn_offload_list(sn_engine_offload(requests->engine), request, &requests->arena, list, err) != 0)
		return -1;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_FLOWS;
	response->flows = list;
	return 0;
}

static int answer(struct sn_requests *requests, const Sinter__Control__V1__Request *request,
		  Sinter__Control__V1__Response *response, struct sn_error *err)
{
	switch (request->body_case) {
	case SINTER__CONTROL__V1__REQUEST__BODY_HELLO:
		return answer_hello(requests, request->hello, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_LOAD:
		return answer_load(requests, request->load, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_SET_BACKENDS:
		return answer_backends(requests, request->set_backends, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_GET_STATS:
		return answer_stats(requests, request->get_stats, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_INJECT:
		return answer_inject(requests, request->inject, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_SHUTDOWN:
		requests->shutdown = true;
		return 0;
	case SINTER__CONTROL__V1__REQUEST__BODY_GET_NEIGHBORS:
		return answer_neighbors(requests, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_GET_SESSIONS:
		return answer_sessions(requests, request->get_sessions, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_START_TRACE:
		return answer_start_trace(requests, request->start_trace, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_READ_TRACE:
		return answer_read_trace(requests, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_STOP_TRACE:
		sn_tracing_stop(sn_engine_tracing(requests->engine));
		return 0;
	case SINTER__CONTROL__V1__REQUEST__BODY_GET_DEVICES:
		return answer_devices(requests, request->get_devices, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_UPDATE_FLOWS:
		return answer_update_flows(requests, request->update_flows, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_GET_FLOWS:
		return answer_flows(requests, request->get_flows, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_MOVE_SHARDS:
		return answer_move(requests, request->move_shards, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_PARTITION_SHARDS:
		return answer_partitioned(requests, request->partition_shards, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_GET_TOP:
		return sn_answer_top(requests->engine, &requests->arena, request->get_top, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_READ_FLOWS:
		return sn_answer_read_flows(requests->engine, &requests->arena, request->read_flows, response,
					    err);
	case SINTER__CONTROL__V1__REQUEST__BODY_ASSIGN_SHARDS:
		return sn_answer_assign(sn_engine_shards(requests->engine), request->assign_shards, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_SET_PEERS:
		return sn_answer_peers(requests->engine, request->set_peers, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_GIVE_SHARDS:
		return sn_answer_give(sn_engine_transfers(requests->engine), &requests->arena,
				      request->give_shards, response, err);
	case SINTER__CONTROL__V1__REQUEST__BODY_TAKE_SHARDS:
		return sn_answer_take(sn_engine_transfers(requests->engine), &requests->arena,
				      request->take_shards, response, err);
	default:
		return sn_fail(err, "request %lu asks nothing that this engine (version %s) knows",
			       (unsigned long)request->id, SN_VERSION);
	}
}

int sn_requests_answer(void *context, const uint8_t *message, size_t len, uint8_t **reply, size_t *reply_len)
{
	struct sn_requests *requests = context;
	Sinter__Control__V1__Response response = SINTER__CONTROL__V1__RESPONSE__INIT;
	Sinter__Control__V1__Request *request;
	struct sn_error err = {0};
	size_t size;
	int rc;

	request = sinter__control__v1__request__unpack(&requests->arena.allocator, len, message);
	if (request != NULL) {
		response.id = request->id;
		rc = answer(requests, request, &response, &err);
	} else {
		rc = -1;
		sn_fail(&err, "request of %zu bytes cannot be decoded", len);
	}
	if (rc != 0) {
		/* A cut or foreign name in the text must not make the answer invalid UTF-8. */
		for (char *c = err.text; *c != '\0'; c++)
			if ((unsigned char)*c >= 0x80)
				*c = '?';
		sn_log(SN_LOG_WARN, "control: request refused: %s", err.text);
		response.body_case = SINTER__CONTROL__V1__RESPONSE__BODY__NOT_SET;
		response.error = err.text;
	}

	size = sinter__control__v1__response__get_packed_size(&response);
	*reply = size <= SN_FRAME_MAX ? malloc(SN_FRAME_HEADER + size) : NULL;
	rc = *reply != NULL ? 0 : -1;
	if (rc == 0) {
		sn_frame_put_length(*reply, size);
		sinter__control__v1__response__pack(&response, *reply + SN_FRAME_HEADER);
		*reply_len = SN_FRAME_HEADER + size;
	}
	sn_arena_reset(&requests->arena);
	return rc;
}
