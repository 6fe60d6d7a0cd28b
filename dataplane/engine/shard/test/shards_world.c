/* SPDX-License-Identifier: Apache-2.0 */
#include "shards_world.h"

#include "sn_parse.h"

uint32_t shard_of(const struct world *w, uint32_t index)
{
	return flow_shard(sn_engine_state(w->engine), &w->flows[index], index);
}

/* Checks a packet against those of its flow before it, and who sent it. */
static void see(struct world *w, uint16_t iface, const uint8_t *frame)
{
	uint32_t index = flow_of(frame);
	struct flow *f = &w->flows[index];
	bool fresh;

	assert_true(index < FLOWS_MAX);
	fresh = f->outside_port == 0;
	see_packet(f, frame, iface == 0, false);
	if (fresh)
		f->worker = w->current;
	if (w->swapping)
		return;
	f->wandered |= f->worker != w->current;
	f->worker = w->current;
	assert_true(sn_state_partition(sn_engine_state(w->engine), w->current)->owned[shard_of(w, index)]);
}

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct world *w = ctx;

	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(pkts[i], const uint8_t *);

		if (ip_of(frame)[9] == SN_UDP) {
			see(w, iface, frame);
		} else {
			memcpy(w->frame, frame, pkts[i]->pkt_len);
			w->watched = w->frame;
		}
		w->n_out++;
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	struct world *w = ctx;

	(void)m;
	(void)source;
	w->n_drops++;
	w->last_reason = reason;
}

void load_message(struct world *w)
{
	w->swapping = true;
	load_threadless(w->engine, w->msg, NULL, 0);
	w->swapping = false;
}

void open_workers(struct world *w, uint32_t n)
{
	struct sn_engine_config config = {
		.n_workers = n,
		.partitioning = w->partitioning,
		.tx = tx,
		.drop = drop,
		.map = w->map,
		.harness_context = w,
	};

	w->n_workers = n;
	w->engine = create_threadless(config);
	sn_threads_set_now(sn_engine_threads(w->engine), 1000 * SECOND);
}

int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->flows = calloc(FLOWS_MAX, sizeof(*w->flows));
	w->n_hosts = 1;
	sn_arena_init(&w->arena);
	w->msg = sn_sample_napt(&w->arena);
	*state = w;
	return 0;
}

int open_rss_world(void **state)
{
	struct world *w;

	open_world(state);
	w = *state;
	w->partitioning.by = SN_PARTITION_BY_RSS;
	return 0;
}

int open_address_world(void **state)
{
	struct world *w;

	open_world(state);
	w = *state;
	w->partitioning = (struct sn_partitioning){SN_PARTITION_BY_ADDRESS, 2};
	return 0;
}

int close_world(void **state)
{
	struct world *w = *state;

	sn_engine_free(w->engine);
	assert_int_equal(rte_mempool_in_use_count(buffers), 0);
	sn_arena_free(&w->arena);
	free(w->flows);
	free(w->nic);
	free(w);
	return 0;
}

struct packet out_packet(const struct world *w, uint32_t index)
{
	struct packet p = flow_out(index);

	p.src += 4 * (index % w->n_hosts);
	return p;
}

struct packet back_packet(const struct world *w, uint32_t index)
{
	return flow_back(&w->flows[index], index);
}

struct rte_mbuf *next_packet(struct world *w, uint32_t index, bool back)
{
	struct packet p = back ? back_packet(w, index) : out_packet(w, index);

	return number_packet(&w->flows[index], index, back, p, buffers);
}

void receive(struct world *w, uint32_t worker, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	w->current = worker;
	sn_worker_burst(worker_of(w->engine, worker), iface, pkts, n, now_of(w->engine));
}

uint32_t poll_worker(struct world *w, uint32_t worker)
{
	w->current = worker;
	return sn_mailbox_poll(mailbox_of(w->engine, worker));
}

void settle(struct world *w)
{
	for (uint32_t quiet = 0; quiet < 2; quiet++)
		for (uint32_t i = 0; i < w->n_workers; i++)
			if (poll_worker(w, i))
				quiet = 0;
}

void send_flow(struct world *w, uint32_t worker, uint32_t index, bool back)
{
	struct rte_mbuf *m = next_packet(w, index, back);

	receive(w, worker, back, &m, 1);
	settle(w);
}

bool opens(struct world *w, uint32_t index)
{
	uint64_t drops = w->n_drops;

	send_flow(w, 0, index, false);
	if (w->n_drops != drops)
		assert_string_equal(sn_reason_name(w->last_reason), "nat-exhausted");
	return w->n_drops == drops;
}

void tick_all(struct world *w)
{
	for (uint32_t n = 0; n < SN_SHARDS; n++)
		tick_workers(w->engine, w->n_workers);
}

void move(struct world *w, uint32_t unit, uint32_t worker)
{
	uint64_t blocked;

	if (sn_shards_move(sn_engine_shards(w->engine), unit, worker, &blocked, &w->err) != 0)
		fail_msg("%s", w->err.text);
}

uint32_t owner_of(const struct world *w, uint32_t flow)
{
	return sn_state_owner(sn_engine_state(w->engine), shard_of(w, flow));
}

uint32_t flow_of_worker(struct world *w, uint32_t worker, uint32_t from)
{
	for (uint32_t i = from;; i++) {
		send_flow(w, 0, i, false);
		if (owner_of(w, i) == worker)
			return i;
	}
}

uint64_t sum_sessions(const struct world *w)
{
	return sessions_of_engine(w->engine);
}

struct sn_worker_stats *stats_of(const struct world *w, uint32_t worker)
{
	return sn_worker_stats(worker_of(w->engine, worker));
}

void all_packets_came(struct world *w, uint32_t n_flows)
{
	for (uint32_t i = 0; i < n_flows; i++)
		for (uint32_t d = 0; d < 2; d++)
			if (w->flows[i].sent[d] != w->flows[i].seen[d])
				fail_msg("flow %u, direction %u: %u of %u packets came", i, d,
					 w->flows[i].seen[d], w->flows[i].sent[d]);
}
