/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_request_shards.h"

#include <string.h>

#include "sn_log.h"
#include "sn_parse.h"
#include "sn_peering.h"
#include "sn_threads.h"

#define SN_READ_DEFAULT 4096
#define SN_READ_MAX	65536

int sn_answer_assign(struct sn_shards *shards, const Sinter__Control__V1__AssignShards *assign,
		     struct sn_error *err)
{
	return sn_shards_assign(shards, assign->shards, assign->n_shards, assign->key.data, assign->key.len,
				err);
}

/* ---- peers ---- */

/* The port of an interface; SN_NO_INDEX: there is none. */
static uint32_t port_of(const struct sn_engine *engine, const char *interface)
{
	const struct sn_port *port = sn_port_of(sn_engine_ports(engine), interface);
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(engine));

	if (port != NULL)
		return port->id;
	for (uint32_t i = 0; sn_engine_is_harness(engine) && plan != NULL && i < plan->program->n_interfaces;
	     i++)
		if (strcmp(plan->program->interfaces[i].name, interface) == 0)
			return i;
	return SN_NO_INDEX;
}

static int read_peer(const struct sn_engine *engine, const Sinter__Control__V1__Peer *from,
		     struct sn_peers *to, struct sn_error *err)
{
	uint32_t number = to->n++, units = sn_state_units(sn_engine_state(engine));

	if (from->name[0] == '\0' || strlen(from->name) >= SN_PEER_NAME)
		return sn_fail(err, "peer %u: name \"%.64s\", want 1 to %d bytes", number, from->name,
			       SN_PEER_NAME - 1);
	strcpy(to->names[number], from->name);
	for (size_t i = 0; i < from->n_interfaces; i++) {
		const Sinter__Control__V1__PeerInterface *interface = from->interfaces[i];
		uint32_t port = port_of(engine, interface->name);

		if (port >= SN_IFACES_MAX)
			return sn_fail(err, "peer %s: interface %.64s is none of this engine", from->name,
				       interface->name);
		if (interface->mac.len != 6 || (interface->mac.data[0] & 1) != 0)
			return sn_fail(
				err,
				"peer %s: interface %s: MAC address of %zu bytes, want 6 of a single host",
				from->name, interface->name, interface->mac.len);
		to->macs[number][port] = sn_mac_number(interface->mac.data);
	}
	for (size_t i = 0; i < from->n_shards; i++) {
		if (from->shards[i] >= units)
			return sn_fail(err, "peer %s: shard %u, there are %u", from->name, from->shards[i],
				       units);
		for (uint32_t s = from->shards[i]; s < SN_SHARDS; s += units)
			to->at[s] = (uint8_t)(number + 1);
	}
	return 0;
}

int sn_answer_peers(struct sn_engine *engine, const Sinter__Control__V1__SetPeers *message,
		    struct sn_error *err)
{
	struct sn_peering *peering = sn_engine_peering(engine);
	struct sn_peers *peers = calloc(1, sizeof(*peers));
	int rc = 0;

	if (peers == NULL)
		return sn_fail(err, "no memory for %zu peers", message->n_peers);
	if (message->n_peers > SN_PEERS_MAX)
		rc = sn_fail(err, "%zu peers, at most %d", message->n_peers, SN_PEERS_MAX);
	for (size_t i = 0; rc == 0 && i < message->n_peers; i++)
		rc = read_peer(engine, message->peers[i], peers, err);
	if (rc == 0) {
		bool before = sn_peering_front(peering);

		sn_peering_set(peering, sn_engine_threads(engine), peers, message->front);
		if (message->front != before)
			sn_log(SN_LOG_INFO, "arp=%s", message->front ? "answered" : "silent");
	}
	free(peers);
	return rc;
}

/* ---- giving and taking ---- */

static int check_id(const ProtobufCBinaryData *id, struct sn_error *err)
{
	if (id->len != SN_TRANSFER_ID)
		return sn_fail(err, "transfer of %zu bytes, want %d", id->len, SN_TRANSFER_ID);
	return 0;
}

static int answer_layout(const struct sn_transfers *transfers, struct sn_arena *arena,
			 Sinter__Control__V1__Given *given, struct sn_error *err)
{
	Sinter__Control__V1__ShardLayout *to = sn_arena_alloc(arena, sizeof(*to));
	struct sn_transfer_layout *layout = sn_arena_alloc(arena, sizeof(*layout));

	if (to == NULL || layout == NULL)
		return sn_fail(err, "no memory");
	sinter__control__v1__shard_layout__init(to);
	sn_transfer_layout(transfers, layout);
	to->program = (ProtobufCBinaryData){layout->program_len, layout->program};
	to->partitioning = layout->partitioning;
	to->units = layout->units;
	to->key = (ProtobufCBinaryData){sizeof(layout->key), layout->key};
	given->layout = to;
	return 0;
}

static int answer_counts(const struct sn_transfers *transfers, struct sn_arena *arena,
			 const Sinter__Control__V1__GiveShards *give, Sinter__Control__V1__Given *given,
			 struct sn_error *err)
{
	given->counts = sn_arena_alloc(arena, (give->n_shards + 1) * sizeof(*given->counts));
	if (given->counts == NULL)
		return sn_fail(err, "no memory");
	for (size_t i = 0; i < give->n_shards; i++) {
		if (sn_transfer_count(transfers, give->shards[i], &given->counts[i], err) != 0)
			return -1;
	}
	given->n_counts = give->n_shards;
	return 0;
}

static int answer_read(struct sn_transfers *transfers, struct sn_arena *arena,
		       const Sinter__Control__V1__GiveShards *give, Sinter__Control__V1__Given *given,
		       struct sn_error *err)
{
	uint32_t max = give->limit > 0 ? RTE_MIN(give->limit, (uint32_t)SN_READ_MAX) : SN_READ_DEFAULT;
	size_t n;

	given->next = give->cursor;
	given->sessions.data = sn_arena_alloc(arena, (size_t)max * SN_CARRY_BYTES);
	if (given->sessions.data == NULL)
		return sn_fail(err, "no memory for %u sessions", max);
	if (sn_give_read(transfers, give->transfer.data, &given->next, given->sessions.data, max, &n, err) !=
	    0)
		return -1;
	given->sessions.len = n * SN_CARRY_BYTES;
	return 0;
}

static int do_give(struct sn_transfers *transfers, struct sn_arena *arena,
		   const Sinter__Control__V1__GiveShards *give, Sinter__Control__V1__Given *given,
		   struct sn_error *err)
{
	const struct sn_transfer_order order = {give->transfer.data, give->shards, give->n_shards, give->peer,
						NULL};

	switch ((int)give->step) {
	case SINTER__CONTROL__V1__GIVE_SHARDS__STEP__BEGIN:
		if (sn_give_begin(transfers, &order, err) != 0)
			return -1;
		return answer_layout(transfers, arena, given, err);
	case SINTER__CONTROL__V1__GIVE_SHARDS__STEP__LAYOUT:
		if (answer_counts(transfers, arena, give, given, err) != 0)
			return -1;
		return answer_layout(transfers, arena, given, err);
	case SINTER__CONTROL__V1__GIVE_SHARDS__STEP__READ:
		return answer_read(transfers, arena, give, given, err);
	case SINTER__CONTROL__V1__GIVE_SHARDS__STEP__SEAL:
		return sn_give_seal(transfers, order.id, err);
	case SINTER__CONTROL__V1__GIVE_SHARDS__STEP__COMMIT:
		return sn_give_commit(transfers, order.id, &given->blocked_ns, err);
	case SINTER__CONTROL__V1__GIVE_SHARDS__STEP__ABORT:
		return sn_give_abort(transfers, order.id, &given->blocked_ns, err);
	default:
		return sn_fail(err, "step %d is not known", give->step);
	}
}

int sn_answer_give(struct sn_transfers *transfers, struct sn_arena *arena,
		   const Sinter__Control__V1__GiveShards *give, Sinter__Control__V1__Response *response,
		   struct sn_error *err)
{
	Sinter__Control__V1__Given *given = sn_arena_alloc(arena, sizeof(*given));

	if (given == NULL)
		return sn_fail(err, "no memory");
	sinter__control__v1__given__init(given);
	if (check_id(&give->transfer, err) != 0 || do_give(transfers, arena, give, given, err) != 0)
		return sn_fail_in(err, "give");
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_GIVEN;
	response->given = given;
	return 0;
}

static int read_layout(const Sinter__Control__V1__ShardLayout *from, struct sn_transfer_layout *to,
		       struct sn_error *err)
{
	*to = (struct sn_transfer_layout){0};
	if (from == NULL)
		return sn_fail(err, "the giver's layout is missing");
	if (from->program.len > sizeof(to->program) || from->key.len > sizeof(to->key) ||
	    strlen(from->partitioning) >= sizeof(to->partitioning))
		return sn_fail(
			err,
			"the giver's layout has a program of %zu bytes, a key of %zu and a cut of %zu, "
			"want at "
			"most %zu, %zu and %zu",
			from->program.len, from->key.len, strlen(from->partitioning), sizeof(to->program),
			sizeof(to->key), sizeof(to->partitioning) - 1);
	to->program_len = from->program.len;
	if (from->program.len > 0)
		memcpy(to->program, from->program.data, from->program.len);
	if (from->key.len > 0)
		memcpy(to->key, from->key.data, from->key.len);
	strcpy(to->partitioning, from->partitioning);
	to->units = from->units;
	return 0;
}

static int do_take(struct sn_transfers *transfers, const Sinter__Control__V1__TakeShards *take,
		   struct sn_taken *taken, struct sn_error *err)
{
	const struct sn_transfer_order order = {take->transfer.data, take->shards, take->n_shards, take->peer,
						take->n_counts > 0 ? take->counts : NULL};
	struct sn_transfer_layout layout;

	switch ((int)take->step) {
	case SINTER__CONTROL__V1__TAKE_SHARDS__STEP__BEGIN:
		if (read_layout(take->layout, &layout, err) != 0)
			return -1;
		if (take->n_counts != 0 && take->n_counts != take->n_shards)
			return sn_fail(err,
				       "%zu counts of sessions, of %zu shards: want one of each, or none",
				       take->n_counts, take->n_shards);
		return sn_take_begin(transfers, &order, &layout, taken, err);
	case SINTER__CONTROL__V1__TAKE_SHARDS__STEP__PUT:
		return sn_take_put(transfers, order.id, take->sequence, take->sessions.data,
				   take->sessions.len, taken, err);
	case SINTER__CONTROL__V1__TAKE_SHARDS__STEP__COMMIT:
		return sn_take_commit(transfers, order.id, take->count, taken, err);
	case SINTER__CONTROL__V1__TAKE_SHARDS__STEP__ABORT:
		sn_take_abort(transfers, order.id, taken);
		return 0;
	default:
		return sn_fail(err, "step %d is not known", take->step);
	}
}

int sn_answer_take(struct sn_transfers *transfers, struct sn_arena *arena,
		   const Sinter__Control__V1__TakeShards *take, Sinter__Control__V1__Response *response,
		   struct sn_error *err)
{
	Sinter__Control__V1__Taken *reply = sn_arena_alloc(arena, sizeof(*reply));
	struct sn_taken taken;

	if (reply == NULL)
		return sn_fail(err, "no memory");
	sinter__control__v1__taken__init(reply);
	if (check_id(&take->transfer, err) != 0 || do_take(transfers, take, &taken, err) != 0)
		return sn_fail_in(err, "take");
	reply->sequence = taken.sequence;
	reply->count = taken.count;
	reply->committed = taken.committed;
	reply->blocked_ns = taken.blocked_ns;
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_TAKEN;
	response->taken = reply;
	return 0;
}
