/* SPDX-License-Identifier: Apache-2.0 */
/* Two engines without threads that share a chain's state, and the networks between them: which packet goes
 * when, and how far a transfer is, is the test's matter. */
#include "fixture.h"

#include <stdio.h>
#include <sys/resource.h>

#include <rte_eal.h>
#include <rte_mempool.h>

#include "sn_log.h"
#include "sn_napt.h"
#include "sn_parse.h"
#include "sn_request_shards.h"
#include "sn_shards.h"
#include "sn_transfer.h"
#include "sn_worker_impl.h"

#define BUFFERS	   32767
#define FLOWS	   2000
#define FIRST_PORT 1024
#define WIRE	   8192
#define CHUNK	   16 /* sessions */

/* A flow from the inside host, and what was seen of it. */
struct flow {
	uint16_t outside_port; /* 0: none yet */
	uint32_t sent[2];      /* packets into an engine: to the outside, to the inside */
	uint32_t next[2];      /* the least number that may come out */
	uint64_t seen[2];
};

struct world;

struct side {
	struct world *world;
	struct sn_engine *engine;
	uint8_t number;
	/* Frames for it on the network, in their order. */
	struct {
		struct rte_mbuf *m;
		uint16_t iface;
	} wire[WIRE];
	uint32_t head, tail;
	uint32_t announced; /* addresses */
	uint64_t drops[SN_REASON_BUILTIN];
};

struct world {
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	struct side sides[2];
	uint32_t n_workers;
	struct sn_partitioning partitioning;
	uint64_t n_sent, n_seen;
	char err[512];
	struct flow flows[FLOWS];
};

static struct rte_mempool *buffers;
static const uint8_t program_hash[4] = {1, 2, 3, 4};

static int start(void **state)
{
	sn_log_limit(SN_LOG_ERROR);
	if (start_eal(state) || sn_source_register())
		return -1;
	buffers = rte_pktmbuf_pool_create("transfer", BUFFERS, 0, 0, 1024, SOCKET_ID_ANY);
	return buffers ? 0 : -1;
}

static uint64_t mac_of(uint8_t side, uint16_t iface)
{
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, side, (uint8_t)iface};

	return sn_mac_number(mac);
}

/* Checks a packet that left the chain against those of its flow before it. */
static void see(struct side *side, uint16_t iface, const uint8_t *frame)
{
	const uint8_t *payload = l4_of(frame) + 8;
	uint32_t index = sn_load32(payload), number = sn_load32(payload + 4), back = iface == 0;
	struct flow *f = &side->world->flows[index];

	assert_true(index < FLOWS);
	if (number < f->next[back])
		fail_msg("flow %u, direction %u: packet %u came after %u", index, back, number,
			 f->next[back] - 1);
	f->next[back] = number + 1;
	f->seen[back]++;
	side->world->n_seen++;
	if (!back && f->outside_port == 0)
		f->outside_port = sport_of(frame);
	if (!back && f->outside_port != sport_of(frame))
		fail_msg("flow %u: its binding changed from port %u to %u", index, f->outside_port,
			 sport_of(frame));
	if (back)
		assert_int_equal(dport_of(frame), FIRST_PORT + index);
	if (sn_load16(l4_of(frame) + 6) != 0) /* else the sender has left it out */
		assert_checksums(frame, 14 + 28 + 8);
}

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct side *side = ctx, *peer = &side->world->sides[1 - side->number];

	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(pkts[i], const uint8_t *);

		if (sn_mac_number(frame) == mac_of(peer->number, iface)) {
			assert_true(sn_mac_number(frame + 6) == mac_of(side->number, iface));
			assert_true(peer->tail - peer->head < WIRE);
			peer->wire[peer->tail % WIRE].m = pkts[i];
			peer->wire[peer->tail++ % WIRE].iface = iface;
			continue;
		}
		if (sn_load16(frame + 12) == 0x0806)
			side->announced++;
		else
			see(side, iface, frame);
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	struct side *side = ctx;

	(void)m;
	(void)source;
	assert_true(reason < SN_REASON_BUILTIN);
	side->drops[reason]++;
}

static void load_hashed(struct side *side, const uint8_t *hash, size_t len)
{
	struct sn_engine_loaded loaded;

	if (sn_engine_load(side->engine, side->world->msg, hash, len, &loaded, side->world->err,
			   sizeof(side->world->err)) != 0)
		fail_msg("%s", side->world->err);
	for (uint32_t w = 0; w < side->world->n_workers; w++)
		for (uint16_t i = 0; i < 2; i++)
			side->engine->threads[w].worker->macs[i] = mac_of(side->number, i);
}

static void open_side(struct world *w, uint8_t number, bool bare)
{
	struct side *side = &w->sides[number];
	struct sn_engine_config config = {
		.n_workers = w->n_workers,
		.partitioning = w->partitioning,
		.bare = bare,
		.pool = buffers,
		.harness = true,
		.tx = tx,
		.drop = drop,
		.harness_context = side,
	};

	side->world = w;
	side->number = number;
	side->engine = sn_engine_create(&config, w->err, sizeof(w->err));
	if (!side->engine)
		fail_msg("%s", w->err);
	side->engine->now_ns = (1000 + 500 * number) * SECOND; /* clocks differ */
	load_hashed(side, program_hash, sizeof(program_hash));
}

/* What the agents tell: the other's name, addresses and shards, if there is another; and who is the front. */
static int introduce_with(struct side *side, const char *interface, size_t n_peers, bool front, char *err,
			  size_t err_len)
{
	Sinter__Program__V1__PeerInterface ifaces[2], *list[2];
	Sinter__Program__V1__SetPeers message = SINTER__PROGRAM__V1__SET_PEERS__INIT;
	Sinter__Program__V1__Peer peer = SINTER__PROGRAM__V1__PEER__INIT, *peers[1] = {&peer};
	uint64_t macs[2];

	for (uint16_t i = 0; i < 2; i++) {
		list[i] = &ifaces[i];
		sinter__program__v1__peer_interface__init(&ifaces[i]);
		macs[i] = mac_of(1 - side->number, i);
		ifaces[i].name = (char *)(i == 0 ? "inside" : interface);
		ifaces[i].mac = (ProtobufCBinaryData){6, (uint8_t *)&macs[i]};
	}
	peer.name = (char *)"peer";
	peer.interfaces = list;
	peer.n_interfaces = 2;
	message.peers = peers;
	message.n_peers = n_peers;
	message.front = front;
	return sn_answer_peers(side->engine, &message, err, err_len);
}

static void introduce(struct side *side)
{
	if (introduce_with(side, "outside", 1, false, side->world->err, sizeof(side->world->err)) != 0)
		fail_msg("%s", side->world->err);
}

/* All shards are the first's. */
static void open_sides(struct world *w, uint32_t n_workers)
{
	w->n_workers = n_workers;
	open_side(w, 0, false);
	open_side(w, 1, true);
	for (uint32_t i = 0; i < 2; i++) {
		introduce(&w->sides[i]);
		memset(w->sides[i].engine->peers->at, i == 1, SN_SHARDS);
	}
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	sn_arena_init(&w->arena);
	w->msg = sn_sample_napt(&w->arena);
	*state = w;
	return 0;
}

static int open_rss_world(void **state)
{
	open_world(state);
	((struct world *)*state)->partitioning.by = SN_PARTITION_BY_RSS;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < 2; i++) {
		for (; w->sides[i].head != w->sides[i].tail; w->sides[i].head++)
			rte_pktmbuf_free(w->sides[i].wire[w->sides[i].head % WIRE].m);
		sn_engine_free(w->sides[i].engine);
	}
	assert_int_equal(rte_mempool_in_use_count(buffers), 0);
	sn_arena_free(&w->arena);
	free(w);
	return 0;
}

/* ---- packets ---- */

static struct rte_mbuf *next_packet(struct world *w, uint8_t side, uint32_t index, bool back)
{
	struct flow *f = &w->flows[index];
	struct packet p =
		back ? inward(SN_UDP, f->outside_port) : outward(SN_UDP, (uint16_t)(FIRST_PORT + index));
	struct rte_mbuf *m = rte_pktmbuf_alloc(buffers);
	uint8_t payload[8], frame[FRAME_MAX];
	uint64_t mac = mac_of(side, back);
	uint32_t len;

	assert_non_null(m);
	sn_store32(payload, index);
	sn_store32(payload + 4, f->sent[back]++);
	p.payload = payload;
	p.payload_len = sizeof(payload);
	len = write_frame(&p, frame);
	memcpy(frame, &mac, 6);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	sn_source_set(m, 0);
	w->n_sent++;
	return m;
}

static void receive(struct side *side, uint32_t worker, uint16_t iface, struct rte_mbuf *m)
{
	sn_worker_burst(side->engine->threads[worker].worker, iface, &m, 1, side->engine->now_ns);
}

static void poll_side(struct side *side)
{
	for (uint32_t i = 0; side->engine->exchange && i < side->world->n_workers; i++)
		sn_mailbox_poll(side->engine->threads[i].mailbox);
}

/* The next frame that the network has for a side; a device gives a flow's packets to one queue. */
static void deliver(struct side *side)
{
	struct rte_mbuf *m;
	uint16_t iface;

	if (side->head == side->tail)
		return;
	m = side->wire[side->head % WIRE].m;
	iface = side->wire[side->head++ % WIRE].iface;
	receive(side, sn_load32(l4_of(rte_pktmbuf_mtod(m, uint8_t *)) + 8) % side->world->n_workers, iface,
		m);
}

static void settle(struct world *w)
{
	for (uint32_t quiet = 0; quiet < 4; quiet++) {
		for (uint32_t i = 0; i < 2; i++) {
			poll_side(&w->sides[i]);
			if (w->sides[i].head != w->sides[i].tail)
				quiet = 0;
			deliver(&w->sides[i]);
		}
	}
}

/* A packet that the network brings to a side. */
static void send_to(struct world *w, uint8_t side, uint32_t index, bool back)
{
	receive(&w->sides[side], index % w->n_workers, back, next_packet(w, side, index, back));
}

static void send_all(struct world *w, uint32_t n, bool back)
{
	for (uint32_t i = 0; i < n; i++) {
		send_to(w, i % 2, i, back);
		settle(w);
	}
}

static uint64_t dropped(const struct world *w, uint32_t reason)
{
	return w->sides[0].drops[reason] + w->sides[1].drops[reason];
}

/* All that was sent came out but for what was lost as not-here. Returns how much that was. */
static uint64_t assert_counted(const struct world *w)
{
	for (uint32_t reason = 0; reason < SN_REASON_BUILTIN; reason++)
		if (dropped(w, reason) > 0 && reason != SN_REASON_NOT_HERE)
			fail_msg("%lu packets dropped as %s", (unsigned long)dropped(w, reason),
				 sn_reason_name(reason));
	assert_int_equal(w->n_sent, w->n_seen + dropped(w, SN_REASON_NOT_HERE));
	return dropped(w, SN_REASON_NOT_HERE);
}

static void assert_nothing_lost(const struct world *w)
{
	assert_int_equal(assert_counted(w), 0);
}

/* ---- state ---- */

static uint64_t sessions_of(const struct side *side)
{
	struct sn_state_stats stats;

	sn_state_stats(side->engine->state, 0, &stats);
	return stats.sessions;
}

static enum sn_shard_place place(const struct side *side, uint32_t shard)
{
	return sn_state_place(side->engine->state, shard);
}

/* A shard that both could be asked for is a fault; what no one has is on its way. */
static void assert_one_has_each(const struct world *w)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_true(place(&w->sides[0], i) != SN_SHARD_HERE ||
			    place(&w->sides[1], i) != SN_SHARD_HERE);
}

/* What may still be made and what there is is the limit. */
static void assert_quotas(const struct side *side)
{
	int64_t sum = (int64_t)sessions_of(side);

	for (uint32_t i = 0; i < side->world->n_workers; i++)
		sum += sn_state_partition(side->engine->state, i)->left[0];
	assert_int_equal(sum, side->world->msg->tables[0]->max_sessions);
}

static uint32_t shard_of(const struct world *w, uint32_t index)
{
	const struct sn_flow back = {SN_SAMPLE_REMOTE, SN_SAMPLE_POOL, 80, w->flows[index].outside_port,
				     SN_UDP};

	return sn_state_return_shard(w->sides[0].engine->state, 0, &back);
}

/* ---- transfers ---- */

/* A transfer as an agent drives it, step by step. */
struct journey {
	struct world *w;
	struct side *from, *to;
	uint8_t id[SN_TRANSFER_ID];
	uint32_t units[SN_SHARDS];
	struct sn_transfer_order order;
	uint64_t cursor, sequence, count, blocked;
	uint8_t chunk[CHUNK * SN_CARRY_BYTES];
	size_t n; /* sessions in it */
	bool read, sealed, taken, over;
	struct sn_taken last;
};

static struct journey journey(struct world *w, uint8_t from, uint32_t first, uint32_t n)
{
	static uint8_t number;
	struct journey j = {.w = w,
			    .from = &w->sides[from],
			    .to = &w->sides[1 - from],
			    .id = {++number, dice(256), dice(256)}};

	for (uint32_t i = 0; i < n; i++)
		j.units[i] = first + i;
	j.order = (struct sn_transfer_order){NULL, NULL, n, "peer", NULL};
	return j;
}

static const struct sn_transfer_order *order_of(struct journey *j)
{
	j->order.id = j->id;
	j->order.units = j->units;
	return &j->order;
}

#define OK(call)                                   \
	do {                                       \
		if ((call) != 0)                   \
			fail_msg("%s", j->w->err); \
	} while (0)
#define ERR j->w->err, sizeof(j->w->err)

static int take_begin(struct journey *j)
{
	struct sn_transfer_layout layout;

	sn_transfer_layout(j->from->engine, &layout);
	return sn_take_begin(j->to->engine, order_of(j), &layout, &j->last, ERR);
}

static void begin(struct journey *j)
{
	OK(take_begin(j));
	OK(sn_give_begin(j->from->engine, order_of(j), ERR));
}

static void read_chunk(struct journey *j)
{
	OK(sn_give_read(j->from->engine, j->id, &j->cursor, j->chunk, CHUNK, &j->n, ERR));
	j->read = j->cursor == 0;
}

static int put_chunk(struct journey *j)
{
	return sn_take_put(j->to->engine, j->id, j->sequence, j->chunk, j->n * SN_CARRY_BYTES, &j->last, ERR);
}

static void carry(struct journey *j)
{
	read_chunk(j);
	OK(put_chunk(j));
	j->sequence++;
	j->count += j->n;
}

static void carry_all(struct journey *j)
{
	while (!j->read)
		carry(j);
}

static void seal(struct journey *j)
{
	OK(sn_give_seal(j->from->engine, j->id, ERR));
}

static void take_commit(struct journey *j)
{
	OK(sn_take_commit(j->to->engine, j->id, j->count, &j->last, ERR));
	assert_true(j->last.committed);
}

static void give_commit(struct journey *j)
{
	OK(sn_give_commit(j->from->engine, j->id, &j->blocked, ERR));
}

static void give_abort(struct journey *j)
{
	OK(sn_give_abort(j->from->engine, j->id, &j->blocked, ERR));
}

static void transfer(struct world *w, uint8_t from, uint32_t first, uint32_t n)
{
	struct journey j = journey(w, from, first, n);

	begin(&j);
	carry_all(&j);
	seal(&j);
	take_commit(&j);
	give_commit(&j);
}

static uint64_t page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_minflt;
}

/* ---- tests ---- */

static void all_sessions_move_and_no_binding_changes(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	send_all(w, 600, false);
	assert_int_equal(sessions_of(&w->sides[0]), 600);
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sessions_of(&w->sides[0]), 0);
	assert_int_equal(sessions_of(&w->sides[1]), 600);
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		assert_int_equal(place(&w->sides[0], i), SN_SHARD_AWAY);
		assert_int_equal(place(&w->sides[1], i), SN_SHARD_HERE);
	}
	send_all(w, 600, true);
	send_all(w, 700, false);
	assert_nothing_lost(w);
	assert_int_equal(sessions_of(&w->sides[1]), 700);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
	for (uint32_t i = 0; i < 3; i++)
		transfer(w, 1 - i % 2, 10, 50);
	send_all(w, 700, true);
	assert_nothing_lost(w);
	assert_int_equal(sessions_of(&w->sides[0]) + sessions_of(&w->sides[1]), 700);
}

static void a_session_keeps_its_age_and_what_was_seen_of_it(void **state)
{
	struct world *w = *state;
	struct sn_entry_info before[8], after[8];
	uint64_t later = 100 * SECOND;

	open_sides(w, 1);
	send_all(w, 3, false);
	for (uint32_t i = 0; i < 2; i++)
		w->sides[i].engine->now_ns += later;
	send_all(w, 1, true);
	assert_int_equal(
		sn_state_entries(w->sides[0].engine->state, 0, w->sides[0].engine->now_ns, before, 8), 3);
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sn_state_entries(w->sides[1].engine->state, 0, w->sides[1].engine->now_ns, after, 8),
			 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct sn_session *was = (const struct sn_session *)&before[i].line;
		const struct sn_session *is = (const struct sn_session *)&after[i].line;

		assert_string_equal(after[i].owner, before[i].owner);
		assert_int_equal(after[i].idle_ns, before[i].idle_ns);
		assert_int_equal(is->inside_port, was->inside_port);
		assert_int_equal(is->outside_port, was->outside_port);
		assert_int_equal(is->entry.shard, was->entry.shard);
	}
	/* UDP: 300 s in the sample. What was idle for 100 s ends 200 s later, at the new engine's clock. */
	w->sides[1].engine->now_ns += 250 * SECOND;
	for (uint32_t i = 0; i < 2 * SN_SHARDS; i++)
		sn_worker_tick(w->sides[1].engine->threads[0].worker, w->sides[1].engine->now_ns);
	assert_int_equal(sessions_of(&w->sides[1]), 1);
}

/* One step of a transfer, or its end. */
static void go_on(struct journey *j)
{
	struct sn_taken taken;

	if (dice(40) == 0 && !j->taken) { /* the agents give up, in either order */
		if (dice(2))
			sn_take_abort(j->to->engine, j->id, &taken);
		give_abort(j);
		sn_take_abort(j->to->engine, j->id, &taken);
		assert_false(taken.committed);
		j->over = true;
	} else if (!j->read) {
		carry(j);
		if (dice(4) == 0) { /* the answer was lost */
			j->sequence--;
			OK(put_chunk(j));
			j->sequence++;
		}
	} else if (!j->sealed) {
		seal(j);
		j->sealed = true;
	} else if (!j->taken) {
		take_commit(j);
		j->taken = true;
	} else {
		give_commit(j);
		j->over = true;
	}
}

static void random_load(struct world *w)
{
	uint32_t index = dice(FLOWS), side = index / 7 % 2; /* which side a flow comes to stays */

	if (dice(3) == 0)
		deliver(&w->sides[dice(2)]);
	else if (dice(3) == 0)
		poll_side(&w->sides[dice(2)]);
	else
		send_to(w, (uint8_t)side, index, w->flows[index].outside_port && dice(2));
	if (w->sides[0].tail - w->sides[0].head + w->sides[1].tail - w->sides[1].head > 200)
		settle(w);
}

static void moves_back_and_forth_under_load_reorder_nothing_and_lose_what_they_count(uint32_t n_workers,
										     void **state)
{
	struct world *w = *state;
	uint64_t lost;

	w->msg->tables[0]->max_sessions = 100000;
	open_sides(w, n_workers);
	for (uint32_t n = 0; n < 3000; n++) {
		uint8_t from = (uint8_t)dice(2);
		uint32_t first = dice(SN_SHARDS), some = 1 + dice(RTE_MIN(8u, SN_SHARDS - first));
		struct journey j = journey(w, from, first, some);
		bool whole = true;

		for (uint32_t i = 0; i < some; i++)
			whole &= place(j.from, first + i) == SN_SHARD_HERE;
		if (!whole) {
			random_load(w);
			continue;
		}
		for (begin(&j); !j.over; go_on(&j))
			for (uint32_t i = dice(60); i > 0; i--) {
				random_load(w);
				assert_one_has_each(w);
			}
		random_load(w);
	}
	settle(w);
	lost = assert_counted(w);
	assert_in_range(lost, 0, w->n_sent / 20); /* what was on its way to a giver when it gave */
	assert_int_equal(
		w->sides[0].drops[SN_REASON_HANDOVER_FULL] + w->sides[1].drops[SN_REASON_HANDOVER_FULL], 0);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_int_equal(place(&w->sides[0], i) + place(&w->sides[1], i), SN_SHARD_AWAY);
	print_message("%lu packets, %lu lost and counted\n", (unsigned long)w->n_sent, (unsigned long)lost);
}

static void moves_between_engines_of_one_worker_are_exact(void **state)
{
	moves_back_and_forth_under_load_reorder_nothing_and_lose_what_they_count(1, state);
}

static void moves_between_engines_of_three_workers_are_exact(void **state)
{
	moves_back_and_forth_under_load_reorder_nothing_and_lose_what_they_count(3, state);
}

/* Up to a step, then the agents give up. */
static void abort_after(struct world *w, uint32_t step)
{
	struct journey j = journey(w, 0, 0, SN_SHARDS);
	struct sn_taken taken;

	begin(&j);
	if (step > 0)
		carry(&j);
	if (step > 1)
		carry_all(&j);
	if (step > 2)
		seal(&j);
	send_to(w, 0, 5, false); /* they wait, */
	send_to(w, 1, 6, false);
	poll_side(&w->sides[0]);
	sn_take_abort(w->sides[1].engine, j.id, &taken);
	assert_false(taken.committed);
	assert_int_equal(sn_take_commit(w->sides[1].engine, j.id, j.count, &taken, w->err, sizeof(w->err)),
			 -1);
	assert_string_equal(w->err, "the transfer is not known, or ended");
	give_abort(&j);
	give_abort(&j); /* again: nothing to do */
	settle(w);	/* and go on */
}

static void a_transfer_that_is_given_up_at_any_step_changes_nothing(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	send_all(w, 200, false);
	for (uint32_t step = 0; step < 4; step++) {
		abort_after(w, step);
		assert_int_equal(sessions_of(&w->sides[0]), 200);
		assert_int_equal(sessions_of(&w->sides[1]), 0);
		assert_quotas(&w->sides[0]);
		assert_quotas(&w->sides[1]);
		send_all(w, 200, true);
		assert_nothing_lost(w);
	}
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sessions_of(&w->sides[1]), 200);
}

static void a_giver_that_asks_after_the_end_learns_what_the_taker_did(void **state)
{
	struct world *w = *state;
	struct journey j;
	struct sn_taken taken;

	open_sides(w, 1);
	send_all(w, 50, false);
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	carry_all(&j);
	assert_int_equal(sn_give_commit(w->sides[0].engine, j.id, &j.blocked, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "the transfer is not sealed: it may have ended at the peer");
	seal(&j);
	take_commit(&j);
	take_commit(&j); /* the answer was lost */
	sn_take_abort(w->sides[1].engine, j.id, &taken);
	assert_true(taken.committed);
	assert_int_equal(sn_give_begin(w->sides[0].engine, order_of(&j), w->err, sizeof(w->err)), 0);
	give_commit(&j);
	give_commit(&j);
	assert_int_equal(j.blocked, 0);
	assert_int_equal(sn_give_abort(w->sides[0].engine, j.id, &j.blocked, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "the transfer is committed");
	assert_int_equal(take_begin(&j), 0);
	assert_true(j.last.committed);
	assert_int_equal(sessions_of(&w->sides[1]), 50);
	assert_int_equal(place(&w->sides[0], 0), SN_SHARD_AWAY);
}

static void a_broken_connection_is_resumed_where_it_was(void **state)
{
	struct world *w = *state;
	struct journey j;
	uint8_t first[CHUNK * SN_CARRY_BYTES];
	uint64_t cursor = 0;
	size_t n;

	open_sides(w, 1);
	send_all(w, 300, false);
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	carry(&j);
	memcpy(first, j.chunk, sizeof(first));
	carry(&j);
	assert_int_equal(
		sn_give_read(w->sides[0].engine, j.id, &cursor, j.chunk, CHUNK, &n, w->err, sizeof(w->err)),
		0);
	assert_memory_equal(j.chunk, first, sizeof(first));
	j.sequence = 0;
	assert_int_equal(put_chunk(&j), 0); /* came already */
	assert_int_equal(j.last.sequence, 2);
	assert_int_equal(j.last.count, 2 * CHUNK);
	j.sequence = 3;
	assert_int_equal(put_chunk(&j), -1);
	assert_string_equal(w->err, "chunk 3, want 2");
	assert_int_equal(take_begin(&j), 0);
	assert_int_equal(j.last.sequence, 2);
	j.sequence = 2;
	carry_all(&j);
	seal(&j);
	assert_int_equal(sn_take_commit(w->sides[1].engine, j.id, 299, &j.last, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "300 sessions came, the giver has put 299");
	take_commit(&j);
	give_commit(&j);
	send_all(w, 300, true);
	assert_nothing_lost(w);
}

static void what_is_read_again_is_what_was_read(void **state)
{
	struct world *w = *state;
	struct side *giver = &w->sides[0];
	uint8_t first[CHUNK * SN_CARRY_BYTES];
	struct journey j;

	open_sides(w, 1);
	send_all(w, CHUNK, false);
	for (uint32_t i = 0; i < 2; i++)
		w->sides[i].engine->now_ns += 299 * SECOND;
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	for (uint32_t i = 0; i < 3; i++) {
		j.cursor = 0;
		read_chunk(&j);
		assert_int_equal(j.n, CHUNK);
		if (i == 0)
			memcpy(first, j.chunk, sizeof(first));
		assert_memory_equal(j.chunk, first, sizeof(first));
		giver->engine->now_ns += SECOND; /* the third time they would have expired */
	}
	give_abort(&j);
}

static void what_was_given_up_at_the_taker_never_commits(void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 1);
	j = journey(w, 0, 0, SN_SHARDS);
	assert_int_equal(sn_give_begin(w->sides[0].engine, order_of(&j), w->err, sizeof(w->err)), 0);
	/* The beginning is on its way when the driver gives up; there are no sessions. */
	sn_take_abort(w->sides[1].engine, j.id, &j.last);
	assert_false(j.last.committed);
	give_abort(&j);
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(w->err, "the transfer was given up");
	assert_int_equal(sn_take_commit(w->sides[1].engine, j.id, 0, &j.last, w->err, sizeof(w->err)), -1);
	assert_int_equal(place(&w->sides[1], 0), SN_SHARD_AWAY);
	transfer(w, 0, 0, SN_SHARDS);
}

/* A transfer of which the first session of the first chunk is spoilt. */
static void refuse_spoilt(struct world *w, uint32_t at, uint8_t with, const char *why)
{
	struct journey j = journey(w, 0, 0, SN_SHARDS);

	begin(&j);
	read_chunk(&j);
	j.chunk[at] = with;
	assert_int_equal(put_chunk(&j), -1);
	if (!strstr(w->err, why))
		fail_msg("\"%s\", want \"…%s…\"", w->err, why);
	assert_int_equal(place(&w->sides[1], 0), SN_SHARD_AWAY);
	assert_int_equal(sessions_of(&w->sides[1]), 0);
	give_abort(&j);
}

static void a_session_that_cannot_be_is_refused_and_ends_the_transfer(void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 1);
	send_all(w, 100, false);
	refuse_spoilt(w, 18, 0xff, "which the program does not have so");
	refuse_spoilt(w, 23, 7, "entry of table 7");
	refuse_spoilt(w, 20, SN_AH, "its protocol is not translated");
	refuse_spoilt(w, 22, 200, "napt entry of shard 200");
	refuse_spoilt(w, 4, 77, "its outside address and port are not the pool's");
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	read_chunk(&j);
	memcpy(j.chunk + SN_CARRY_BYTES, j.chunk, SN_CARRY_BYTES);
	assert_int_equal(put_chunk(&j), -1);
	assert_non_null(strstr(w->err, "holds what another one has"));
	give_abort(&j);
	send_all(w, 100, true);
	assert_nothing_lost(w);
}

static void engines_that_are_not_alike_hand_nothing_over(void **state)
{
	struct world *w = *state;
	struct journey j;
	static const uint8_t other[4] = {9, 8, 7, 6}, key[] = "a key of 16 bytes or more";

	open_sides(w, 1);
	j = journey(w, 0, 0, 1);
	load_hashed(&w->sides[1], other, sizeof(other));
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(w->err,
			    "the giver runs program 01020304, this engine 09080706: load the same first");
	load_hashed(&w->sides[1], program_hash, sizeof(program_hash));
	assert_int_equal(
		sn_shards_assign(w->sides[1].engine, NULL, 0, key, sizeof(key), w->err, sizeof(w->err)), 0);
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(
		w->err, "the giver tells shards by another key: assign one key to all engines of the chain");
	j.units[0] = 128;
	assert_int_equal(sn_give_begin(w->sides[0].engine, order_of(&j), w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "shard 128, there are 128");
	j.units[0] = 3;
	assert_int_equal(sn_give_begin(w->sides[1].engine, order_of(&j), w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "shard 3 is away, want one that is here");
}

static void transfers_that_nobody_goes_on_with_end_unless_the_taker_decides(void **state)
{
	struct world *w = *state;
	struct journey open, sealed;

	open_sides(w, 1);
	send_all(w, 100, false);
	open = journey(w, 0, 0, 64);
	sealed = journey(w, 0, 64, 64);
	begin(&open);
	carry(&open);
	begin(&sealed);
	carry_all(&sealed);
	seal(&sealed);
	for (uint32_t i = 0; i < 2; i++) {
		w->sides[i].engine->now_ns += SN_TRANSFER_LEASE - 1;
		sn_transfers_tick(w->sides[i].engine);
		assert_int_equal(place(&w->sides[i], 0), i == 0 ? SN_SHARD_GIVING : SN_SHARD_TAKING);
		w->sides[i].engine->now_ns += 1;
		sn_transfers_tick(w->sides[i].engine);
		assert_int_equal(place(&w->sides[i], 0), i == 0 ? SN_SHARD_HERE : SN_SHARD_AWAY);
	}
	assert_int_equal(place(&w->sides[0], 64), SN_SHARD_GIVING); /* the taker might have committed */
	assert_int_equal(place(&w->sides[1], 64), SN_SHARD_AWAY);
	assert_true(sn_transfers_open(w->sides[0].engine));
	assert_int_equal(sn_transfer_of(w->sides[0].engine, 64)->sealed, true);
	give_abort(&sealed);
	assert_false(sn_transfers_open(w->sides[0].engine));
	send_all(w, 100, true);
	assert_nothing_lost(w);
}

static void a_new_program_ends_transfers_that_are_not_sealed(void **state)
{
	struct world *w = *state;
	struct journey open, sealed;
	static const uint8_t other[4] = {9};

	open_sides(w, 2);
	send_all(w, 100, false);
	open = journey(w, 0, 0, 64);
	sealed = journey(w, 0, 64, 64);
	begin(&open);
	carry(&open);
	begin(&sealed);
	carry_all(&sealed);
	seal(&sealed);
	w->msg->tables[0]->max_sessions = 5000; /* the tables are made anew */
	load_hashed(&w->sides[0], other, 1);
	load_hashed(&w->sides[1], other, 1);
	assert_int_equal(place(&w->sides[0], 0), SN_SHARD_HERE);
	assert_int_equal(place(&w->sides[0], 64), SN_SHARD_GIVING);
	assert_int_equal(place(&w->sides[1], 0), SN_SHARD_AWAY);
	assert_int_equal(place(&w->sides[1], 64), SN_SHARD_AWAY);
	assert_int_equal(sessions_of(&w->sides[0]), 100);
	assert_int_equal(sessions_of(&w->sides[1]), 0);
	give_abort(&sealed);
	send_all(w, 100, true);
	assert_nothing_lost(w);
	assert_quotas(&w->sides[0]);
}

/* Both engines get a program with 64 units. */
static void load_fewer_units(struct world *w)
{
	w->msg->tables[0]->pool[0]->last = w->msg->tables[0]->pool[0]->first;
	w->msg->tables[0]->port_min = 1024;
	w->msg->tables[0]->port_max = 1024 + 64 * 64 - 1;
	for (uint32_t i = 0; i < 2; i++)
		load_hashed(&w->sides[i], program_hash, sizeof(program_hash));
	assert_int_equal(sn_state_units(w->sides[0].engine->state), 64);
}

static void fewer_units_are_where_the_first_of_them_was(void **state)
{
	struct world *w = *state;
	uint64_t before;

	open_sides(w, 1);
	send_all(w, 300, false);
	transfer(w, 0, 64, 64);
	before = sessions_of(&w->sides[0]);
	load_fewer_units(w);
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		assert_int_equal(place(&w->sides[0], i), SN_SHARD_HERE);
		assert_int_equal(place(&w->sides[1], i), SN_SHARD_AWAY);
	}
	assert_in_range(sessions_of(&w->sides[0]), 1, before);
	assert_int_equal(sessions_of(&w->sides[1]), 0);
}

/* A transfer up to its seal, or the taker's commit. */
static struct journey sealed_journey(struct world *w, uint32_t first, uint32_t n, bool taken)
{
	struct journey j = journey(w, 0, first, n);

	begin(&j);
	carry_all(&j);
	seal(&j);
	if (taken)
		take_commit(&j);
	return j;
}

static void assert_unit_is_at(const struct world *w, uint32_t unit, uint8_t side)
{
	for (uint32_t i = unit; i < SN_SHARDS; i += 64) {
		assert_int_equal(place(&w->sides[side], i), SN_SHARD_HERE);
		assert_int_equal(place(&w->sides[1 - side], i), SN_SHARD_AWAY);
	}
}

/* The driver goes on by what the taker says. */
static void end_by_the_taker(struct journey *j)
{
	struct sn_taken taken;

	sn_take_abort(j->to->engine, j->id, &taken);
	if (taken.committed)
		give_commit(j);
	else
		give_abort(j);
}

static void a_sealed_transfer_of_units_that_became_part_of_others_is_over(bool taken, void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 2);
	send_all(w, 300, false);
	transfer(w, 0, 7, 1); /* the first shard of one of both is the other's */
	j = sealed_journey(w, 70, 2, taken);
	load_fewer_units(w);
	for (uint32_t after = 0; after < 2; after++) {
		assert_unit_is_at(w, 6, 0);
		assert_unit_is_at(w, 7, 1);
		assert_null(sn_transfer_of(w->sides[0].engine, 6));
		assert_false(sn_transfers_open(w->sides[0].engine));
		end_by_the_taker(&j);
	}
	assert_int_equal(w->sides[0].engine->peers->at[71], 1);
	send_all(w, 300, true);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_int_equal(place(&w->sides[0], i) + place(&w->sides[1], i), SN_SHARD_AWAY);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
}

static void a_sealed_transfer_of_part_of_a_unit_is_over_before_the_takers_commit(void **state)
{
	a_sealed_transfer_of_units_that_became_part_of_others_is_over(false, state);
}

static void a_sealed_transfer_of_part_of_a_unit_is_over_after_the_takers_commit(void **state)
{
	a_sealed_transfer_of_units_that_became_part_of_others_is_over(true, state);
}

static void a_sealed_transfer_of_first_shards_takes_their_units_along(bool taken, void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 2);
	send_all(w, 300, false);
	j = sealed_journey(w, 5, 1, taken);
	load_fewer_units(w);
	for (uint32_t i = 5; i < SN_SHARDS; i += 64) {
		assert_int_equal(place(&w->sides[0], i), SN_SHARD_GIVING);
		assert_non_null(sn_transfer_of(w->sides[0].engine, i));
	}
	end_by_the_taker(&j);
	assert_unit_is_at(w, 5, taken);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
}

static void a_sealed_transfer_takes_units_along_that_the_taker_commits(void **state)
{
	a_sealed_transfer_of_first_shards_takes_their_units_along(true, state);
}

static void a_sealed_transfer_leaves_units_here_that_the_taker_does_not_commit(void **state)
{
	a_sealed_transfer_of_first_shards_takes_their_units_along(false, state);
}

static void packets_that_wait_are_bounded_and_keep_their_order(void **state)
{
	struct world *w = *state;
	const uint32_t more = 10;
	struct journey j;
	uint32_t flow = 0;

	open_sides(w, 1);
	send_all(w, 1, false);
	j = journey(w, 0, shard_of(w, flow), 1);
	begin(&j);
	for (uint32_t i = 0; i < SN_EXCHANGE_HELD + more; i++)
		send_to(w, 0, flow, false);
	assert_int_equal(w->sides[0].drops[SN_REASON_HANDOVER_FULL], more);
	assert_int_equal(w->n_seen, 1);
	poll_side(&w->sides[0]);
	carry_all(&j);
	seal(&j);
	take_commit(&j);
	give_commit(&j);
	settle(w);
	assert_int_equal(w->n_seen, 1 + SN_EXCHANGE_HELD);
	assert_int_equal(
		sn_worker_stats(w->sides[0].engine->threads[0].worker)->shards[shard_of(w, flow)].passed,
		SN_EXCHANGE_HELD);
}

static void a_packet_that_no_engine_wants_goes_to_and_fro_at_most_once(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	send_all(w, 10, false);
	transfer(w, 0, 0, SN_SHARDS);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		w->sides[1].engine->peers->at[i] = 1;
	/* The second loses them as if it had been begun anew. */
	sn_engine_free(w->sides[1].engine);
	open_side(w, 1, true);
	introduce(&w->sides[1]);
	memset(w->sides[1].engine->peers->at, 1, SN_SHARDS);
	send_all(w, 10, false);
	assert_int_equal(dropped(w, SN_REASON_NOT_HERE), 10);
	/* Nobody is known to have them. */
	memset(w->sides[0].engine->peers->at, 0, SN_SHARDS);
	for (uint32_t i = 0; i < 10; i++)
		send_to(w, 0, i, false);
	poll_side(&w->sides[0]);
	assert_int_equal(w->sides[0].drops[SN_REASON_NOT_HERE], 5 + 10);
}

static void packets_for_a_shard_on_its_way_here_go_to_who_has_it_still(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	introduce(&w->sides[1]); /* nobody but itself is to have them */
	for (uint32_t i = 0; i < 10; i++)
		send_to(w, 1, i, false);
	settle(w);
	assert_nothing_lost(w);
	assert_int_equal(sessions_of(&w->sides[0]), 10);
	assert_int_equal(introduce_with(&w->sides[1], "outside", 0, false, w->err, sizeof(w->err)), 0);
	for (uint32_t i = 0; i < 10; i++)
		send_to(w, 1, i, false);
	settle(w);
	assert_int_equal(dropped(w, SN_REASON_NOT_HERE), 10); /* the peer is gone, and so may they be */
}

static void an_assignment_takes_no_session_away(void **state)
{
	struct world *w = *state;
	static const uint8_t key[] = "sixteen bytes or more", brief[] = "too few";
	struct sn_engine *e;
	uint32_t all[SN_SHARDS];
	struct journey j;

	open_sides(w, 2);
	e = w->sides[0].engine;
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		all[i] = i;
	assert_int_equal(
		sn_shards_assign(e, all, SN_SHARDS, brief, sizeof(brief) - 1, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "assign: key of 7 bytes, want 16 to 64");
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(sn_shards_assign(w->sides[i].engine, all, i == 0 ? SN_SHARDS : 0, key,
						  sizeof(key), w->err, sizeof(w->err)),
				 0);
	send_all(w, 400, false);
	assert_int_equal(sn_shards_assign(e, all, 1, NULL, 0, w->err, sizeof(w->err)), -1);
	assert_non_null(strstr(w->err, "sessions: give it to a peer"));
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, key, 16, w->err, sizeof(w->err)), -1);
	assert_non_null(strstr(w->err, "sessions: the key stays"));
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, key, sizeof(key), w->err, sizeof(w->err)), 0);
	j = journey(w, 0, 7, 1);
	begin(&j);
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, NULL, 0, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "assign: shard 7 is being given away");
	give_abort(&j);
	sn_take_abort(w->sides[1].engine, j.id, &j.last);
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sn_shards_assign(e, all, 0, NULL, 0, w->err, sizeof(w->err)), 0);
	send_all(w, 400, true);
	assert_nothing_lost(w);
}

static void a_shard_that_is_not_here_is_not_moved_between_workers(void **state)
{
	struct world *w = *state;
	uint64_t blocked;

	open_sides(w, 2);
	transfer(w, 0, 0, 1);
	assert_int_equal(sn_shards_move(w->sides[0].engine, 0, 1, &blocked, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "move: shard 0 is not here");
}

static void peers_say_what_is_wrong_with_them(void **state)
{
	struct world *w = *state;

	open_sides(w, 1);
	assert_int_equal(introduce_with(&w->sides[0], "elsewhere", 1, false, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "peer peer: interface elsewhere is none of this engine");
}

/* The addresses that a side announces within seconds. */
static uint32_t announced(struct world *w, uint8_t number, uint32_t seconds)
{
	struct side *side = &w->sides[number];

	side->announced = 0;
	for (uint32_t i = 0; i < seconds; i++) {
		side->engine->now_ns += SECOND;
		for (uint32_t worker = 0; worker < w->n_workers; worker++)
			sn_worker_tick(side->engine->threads[worker].worker, side->engine->now_ns);
	}
	return side->announced;
}

static void tell_front(struct world *w, uint8_t number, size_t n_peers, bool front)
{
	if (introduce_with(&w->sides[number], "outside", n_peers, front, w->err, sizeof(w->err)) != 0)
		fail_msg("%s", w->err);
}

static void the_front_alone_announces_the_addresses_and_again_when_a_peer_goes(void **state)
{
	const uint32_t addresses = 3, times = 3;
	struct world *w = *state;

	open_sides(w, 2);
	assert_int_equal(announced(w, 0, 10), 0); /* neither is it */
	assert_int_equal(announced(w, 1, 10), 0);
	tell_front(w, 1, 1, true);
	assert_int_equal(announced(w, 1, 10), times * addresses);
	tell_front(w, 1, 1, true);
	assert_int_equal(announced(w, 1, 10), 0);
	tell_front(w, 0, 1, true);
	assert_int_equal(announced(w, 0, 1), addresses);
	tell_front(w, 0, 1, false); /* while it has some left to do */
	assert_int_equal(announced(w, 0, 10), 0);
	tell_front(w, 0, 0, false);
	assert_int_equal(announced(w, 0, 10), 0);
	tell_front(w, 1, 0, true);
	assert_int_equal(announced(w, 1, 10), times * addresses);
}

/* Asks the first engine to say how much there is of some units, as its agent does. */
static int ask_layout(struct journey *j, size_t n_units, uint32_t *counts)
{
	Sinter__Program__V1__GiveShards give = SINTER__PROGRAM__V1__GIVE_SHARDS__INIT;
	Sinter__Program__V1__Response response = SINTER__PROGRAM__V1__RESPONSE__INIT;

	give.step = SINTER__PROGRAM__V1__GIVE_SHARDS__STEP__LAYOUT;
	give.transfer = (ProtobufCBinaryData){SN_TRANSFER_ID, j->id};
	give.shards = j->units;
	give.n_shards = n_units;
	if (sn_answer_give(j->from->engine, &j->w->arena, &give, &response, ERR) != 0)
		return -1;
	assert_int_equal(response.given->n_counts, n_units);
	memcpy(counts, response.given->counts, n_units * sizeof(*counts));
	return 0;
}

static void memory_is_there_before_packets_wait(void **state)
{
	struct world *w = *state;
	uint64_t faults[2]; /* of a taker that knows how many sessions come, and one that does not */
	uint32_t counts[SN_SHARDS], sum = 0;

	/* More than is had in huge pages. */
	w->msg->tables[0]->pool[0]->last = w->msg->tables[0]->pool[0]->first + 4;
	w->msg->tables[0]->max_sessions = 0;
	open_sides(w, 1);
	send_all(w, FLOWS, false);
	for (uint32_t i = 0; i < 2; i++) {
		struct journey trip = journey(w, 0, i * SN_SHARDS / 2, SN_SHARDS / 2), *j = &trip;

		OK(ask_layout(j, SN_SHARDS / 2, counts));
		for (uint32_t s = 0; s < SN_SHARDS / 2; s++)
			sum += counts[s];
		j->order.counts = i == 0 ? counts : NULL;
		begin(j);
		faults[i] = page_faults();
		carry_all(j);
		faults[i] = page_faults() - faults[i];
		seal(j);
		take_commit(j);
		give_commit(j);
	}
	assert_int_equal(sum, FLOWS);
	assert_int_equal(sessions_of(&w->sides[1]), FLOWS);
	print_message("%lu page faults, %lu without knowing\n", (unsigned long)faults[0],
		      (unsigned long)faults[1]);
	assert_in_range(faults[0], 0, faults[1] / 2);
}

static void counts_that_are_none_are_refused(void **state)
{
	Sinter__Program__V1__TakeShards take = SINTER__PROGRAM__V1__TAKE_SHARDS__INIT;
	Sinter__Program__V1__ShardLayout layout = SINTER__PROGRAM__V1__SHARD_LAYOUT__INIT;
	Sinter__Program__V1__Response response = SINTER__PROGRAM__V1__RESPONSE__INIT;
	struct world *w = *state;
	uint32_t counts[SN_SHARDS];
	struct journey trip = journey(w, 0, 0, 3), *j = &trip;

	open_sides(w, 1);
	take.transfer = (ProtobufCBinaryData){SN_TRANSFER_ID, j->id};
	take.layout = &layout;
	take.shards = j->units;
	take.n_shards = 3;
	take.counts = counts;
	take.n_counts = 2;
	assert_int_equal(sn_answer_take(j->to->engine, &w->arena, &take, &response, ERR), -1);
	assert_string_equal(w->err, "take: 2 counts of sessions, of 3 shards: want one of each, or none");
	j->units[2] = 128;
	assert_int_equal(ask_layout(j, 3, counts), -1);
	assert_string_equal(w->err, "give: shard 128, there are 128");
}

static void both_engines_say_how_long_packets_waited(void **state)
{
	struct world *w = *state;
	struct journey trip = journey(w, 0, 0, SN_SHARDS), *j = &trip;

	open_sides(w, 1);
	send_all(w, 10, false);
	OK(take_begin(j));
	w->sides[1].engine->now_ns += 1000;
	OK(sn_give_begin(j->from->engine, order_of(j), ERR));
	for (uint32_t i = 0; i < 2; i++)
		w->sides[i].engine->now_ns += 5000;
	carry_all(j);
	seal(j);
	take_commit(j);
	assert_int_equal(j->last.blocked_ns, 6000);
	w->sides[0].engine->now_ns += 2000;
	give_commit(j);
	assert_int_equal(j->blocked, 7000);
	take_commit(j);
	assert_int_equal(j->last.blocked_ns, 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
#define WITH_RSS_WORLD(test)                                            \
	{                                                               \
#test " (RSS)", test, open_rss_world, close_world, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(all_sessions_move_and_no_binding_changes),
		WITH_WORLD(a_session_keeps_its_age_and_what_was_seen_of_it),
		WITH_WORLD(moves_between_engines_of_one_worker_are_exact),
		WITH_WORLD(moves_between_engines_of_three_workers_are_exact),
		WITH_WORLD(a_transfer_that_is_given_up_at_any_step_changes_nothing),
		WITH_WORLD(a_giver_that_asks_after_the_end_learns_what_the_taker_did),
		WITH_WORLD(a_broken_connection_is_resumed_where_it_was),
		WITH_WORLD(what_is_read_again_is_what_was_read),
		WITH_WORLD(what_was_given_up_at_the_taker_never_commits),
		WITH_WORLD(a_session_that_cannot_be_is_refused_and_ends_the_transfer),
		WITH_WORLD(engines_that_are_not_alike_hand_nothing_over),
		WITH_WORLD(transfers_that_nobody_goes_on_with_end_unless_the_taker_decides),
		WITH_WORLD(a_new_program_ends_transfers_that_are_not_sealed),
		WITH_WORLD(fewer_units_are_where_the_first_of_them_was),
		WITH_WORLD(a_sealed_transfer_of_part_of_a_unit_is_over_before_the_takers_commit),
		WITH_WORLD(a_sealed_transfer_of_part_of_a_unit_is_over_after_the_takers_commit),
		WITH_WORLD(a_sealed_transfer_takes_units_along_that_the_taker_commits),
		WITH_WORLD(a_sealed_transfer_leaves_units_here_that_the_taker_does_not_commit),
		WITH_WORLD(packets_that_wait_are_bounded_and_keep_their_order),
		WITH_WORLD(a_packet_that_no_engine_wants_goes_to_and_fro_at_most_once),
		WITH_WORLD(packets_for_a_shard_on_its_way_here_go_to_who_has_it_still),
		WITH_WORLD(an_assignment_takes_no_session_away),
		WITH_WORLD(a_shard_that_is_not_here_is_not_moved_between_workers),
		WITH_WORLD(peers_say_what_is_wrong_with_them),
		WITH_WORLD(the_front_alone_announces_the_addresses_and_again_when_a_peer_goes),
		WITH_WORLD(memory_is_there_before_packets_wait),
		WITH_WORLD(counts_that_are_none_are_refused),
		WITH_WORLD(both_engines_say_how_long_packets_waited),
		WITH_RSS_WORLD(all_sessions_move_and_no_binding_changes),
		WITH_RSS_WORLD(moves_between_engines_of_three_workers_are_exact),
	};

	return cmocka_run_group_tests(tests, start, stop_eal);
}
