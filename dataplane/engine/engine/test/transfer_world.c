/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer_world.h"

#include "sn_parse.h"
#include "sn_request_shards.h"

const uint8_t program_hash[4] = {1, 2, 3, 4};

static uint64_t mac_of(uint8_t side, uint16_t iface)
{
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, side, (uint8_t)iface};

	return sn_mac_number(mac);
}

static void see(struct side *side, uint16_t iface, const uint8_t *frame)
{
	uint32_t index = flow_of(frame);

	assert_true(index < FLOWS);
	see_packet(&side->world->flows[index], frame, iface == 0, true);
	side->world->n_seen++;
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

void load_hashed(struct side *side, const uint8_t *hash, size_t len)
{
	Sinter__Program__V1__Program *msg = side->world->msg;
	uint64_t macs[2];

	/* On one network each has addresses of its own, as devices have. */
	for (uint16_t i = 0; i < 2; i++) {
		macs[i] = mac_of(side->number, i);
		msg->interfaces[i]->mac = (ProtobufCBinaryData){6, (uint8_t *)&macs[i]};
	}
	load_threadless(side->engine, msg, hash, len);
	for (uint16_t i = 0; i < 2; i++)
		msg->interfaces[i]->mac = (ProtobufCBinaryData){0, NULL};
}

void open_side(struct world *w, uint8_t number, bool bare)
{
	struct side *side = &w->sides[number];
	struct sn_engine_config config = {
		.n_workers = w->n_workers,
		.partitioning = w->partitioning,
		.bare = bare,
		.tx = tx,
		.drop = drop,
		.harness_context = side,
	};

	side->world = w;
	side->number = number;
	side->engine = create_threadless(config);
	sn_threads_set_now(sn_engine_threads(side->engine),
			   (1000 + 500 * number) * SECOND); /* clocks differ */
	load_hashed(side, program_hash, sizeof(program_hash));
}

static int introduce_owner(struct side *side, const char *interface, size_t n_peers, bool owns, bool front)
{
	uint32_t units[SN_SHARDS];
	Sinter__Control__V1__PeerInterface ifaces[2], *list[2];
	Sinter__Control__V1__SetPeers message = SINTER__CONTROL__V1__SET_PEERS__INIT;
	Sinter__Control__V1__Peer peer = SINTER__CONTROL__V1__PEER__INIT, *peers[1] = {&peer};
	uint64_t macs[2];

	for (uint16_t i = 0; i < 2; i++) {
		list[i] = &ifaces[i];
		sinter__control__v1__peer_interface__init(&ifaces[i]);
		macs[i] = mac_of(1 - side->number, i);
		ifaces[i].name = (char *)(i == 0 ? "inside" : interface);
		ifaces[i].mac = (ProtobufCBinaryData){6, (uint8_t *)&macs[i]};
	}
	peer.name = (char *)"peer";
	peer.interfaces = list;
	peer.n_interfaces = 2;
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		units[i] = i;
	peer.shards = units;
	peer.n_shards = owns ? SN_SHARDS : 0;
	message.peers = peers;
	message.n_peers = n_peers;
	message.front = front;
	return sn_answer_peers(side->engine, &message, &side->world->err);
}

int introduce_with(struct side *side, const char *interface, size_t n_peers, bool front)
{
	return introduce_owner(side, interface, n_peers, false, front);
}

void introduce(struct side *side, bool owns)
{
	if (introduce_owner(side, "outside", 1, owns, false) != 0)
		fail_msg("%s", side->world->err.text);
}

void open_sides(struct world *w, uint32_t n_workers)
{
	w->n_workers = n_workers;
	open_side(w, 0, false);
	open_side(w, 1, true);
	for (uint32_t i = 0; i < 2; i++)
		introduce(&w->sides[i], i == 1);
}

int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	sn_arena_init(&w->arena);
	w->msg = sn_sample_napt(&w->arena);
	*state = w;
	return 0;
}

int open_rss_world(void **state)
{
	open_world(state);
	((struct world *)*state)->partitioning.by = SN_PARTITION_BY_RSS;
	return 0;
}

int close_world(void **state)
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

/* As the network brings it to a side. */
static struct rte_mbuf *next_packet(struct world *w, uint8_t side, uint32_t index, bool back)
{
	struct flow *f = &w->flows[index];
	struct rte_mbuf *m =
		number_packet(f, index, back, back ? flow_back(f, index) : flow_out(index), buffers);
	uint64_t mac = mac_of(side, back);

	memcpy(rte_pktmbuf_mtod(m, uint8_t *), &mac, 6);
	w->n_sent++;
	return m;
}

static void receive(struct side *side, uint32_t worker, uint16_t iface, struct rte_mbuf *m)
{
	sn_worker_burst(worker_of(side->engine, worker), iface, &m, 1, now_of(side->engine));
}

void poll_side(struct side *side)
{
	for (uint32_t i = 0; mailbox_of(side->engine, 0) && i < side->world->n_workers; i++)
		sn_mailbox_poll(mailbox_of(side->engine, i));
}

void deliver(struct side *side)
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

void settle(struct world *w)
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

void send_to(struct world *w, uint8_t side, uint32_t index, bool back)
{
	receive(&w->sides[side], index % w->n_workers, back, next_packet(w, side, index, back));
}

void send_all(struct world *w, uint32_t n, bool back)
{
	for (uint32_t i = 0; i < n; i++) {
		send_to(w, i % 2, i, back);
		settle(w);
	}
}

uint64_t dropped(const struct world *w, uint32_t reason)
{
	return w->sides[0].drops[reason] + w->sides[1].drops[reason];
}

uint64_t assert_counted(const struct world *w)
{
	for (uint32_t reason = 0; reason < SN_REASON_BUILTIN; reason++)
		if (dropped(w, reason) > 0 && reason != SN_REASON_NOT_HERE)
			fail_msg("%lu packets dropped as %s", (unsigned long)dropped(w, reason),
				 sn_reason_name(reason));
	assert_int_equal(w->n_sent, w->n_seen + dropped(w, SN_REASON_NOT_HERE));
	return dropped(w, SN_REASON_NOT_HERE);
}

void assert_nothing_lost(const struct world *w)
{
	assert_int_equal(assert_counted(w), 0);
}

/* ---- state ---- */

uint64_t sessions_of(const struct side *side)
{
	return sessions_of_engine(side->engine);
}

enum sn_shard_place place(const struct side *side, uint32_t shard)
{
	return sn_state_place(sn_engine_state(side->engine), shard);
}

void assert_one_has_each(const struct world *w)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_true(place(&w->sides[0], i) != SN_SHARD_HERE ||
			    place(&w->sides[1], i) != SN_SHARD_HERE);
}

void assert_quotas(const struct side *side)
{
	int64_t sum = (int64_t)sessions_of(side);

	for (uint32_t i = 0; i < side->world->n_workers; i++)
		sum += sn_state_partition(sn_engine_state(side->engine), i)->left[0];
	assert_int_equal(sum, side->world->msg->tables[0]->max_sessions);
}

uint32_t shard_of(const struct world *w, uint32_t index)
{
	return flow_shard(sn_engine_state(w->sides[0].engine), &w->flows[index], index);
}

/* ---- transfers ---- */

struct journey journey(struct world *w, uint8_t from, uint32_t first, uint32_t n)
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

const struct sn_transfer_order *order_of(struct journey *j)
{
	j->order.id = j->id;
	j->order.units = j->units;
	return &j->order;
}

int take_begin(struct journey *j)
{
	struct sn_transfer_layout layout;

	sn_transfer_layout(sn_engine_transfers(j->from->engine), &layout);
	return sn_take_begin(sn_engine_transfers(j->to->engine), order_of(j), &layout, &j->last, ERR);
}

void begin(struct journey *j)
{
	OK(take_begin(j));
	OK(sn_give_begin(sn_engine_transfers(j->from->engine), order_of(j), ERR));
}

void read_chunk(struct journey *j)
{
	OK(sn_give_read(sn_engine_transfers(j->from->engine), j->id, &j->cursor, j->chunk, CHUNK, &j->n,
			ERR));
	j->read = j->cursor == 0;
}

int put_chunk(struct journey *j)
{
	return sn_take_put(sn_engine_transfers(j->to->engine), j->id, j->sequence, j->chunk,
			   j->n * SN_CARRY_BYTES, &j->last, ERR);
}

void carry(struct journey *j)
{
	read_chunk(j);
	OK(put_chunk(j));
	j->sequence++;
	j->count += j->n;
}

void carry_all(struct journey *j)
{
	while (!j->read)
		carry(j);
}

void seal(struct journey *j)
{
	OK(sn_give_seal(sn_engine_transfers(j->from->engine), j->id, ERR));
}

void take_commit(struct journey *j)
{
	OK(sn_take_commit(sn_engine_transfers(j->to->engine), j->id, j->count, &j->last, ERR));
	assert_true(j->last.committed);
}

void give_commit(struct journey *j)
{
	OK(sn_give_commit(sn_engine_transfers(j->from->engine), j->id, &j->blocked, ERR));
}

void give_abort(struct journey *j)
{
	OK(sn_give_abort(sn_engine_transfers(j->from->engine), j->id, &j->blocked, ERR));
}

void transfer(struct world *w, uint8_t from, uint32_t first, uint32_t n)
{
	struct journey j = journey(w, from, first, n);

	begin(&j);
	carry_all(&j);
	seal(&j);
	take_commit(&j);
	give_commit(&j);
}
