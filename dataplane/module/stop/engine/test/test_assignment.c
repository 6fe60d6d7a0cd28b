/* SPDX-License-Identifier: Apache-2.0 */
/* Flows of a replica: as a kind of state, and between workers and engines. */

#include "assign_world.h"
#include "kinds.h"
#include "threadless.h"

#include "sn_carry.h"
#include "sn_parse.h"

/* ---- as a kind ---- */

static Sinter__Program__V1__Program *program(struct sn_arena *arena)
{
	return assigned_wire(arena, (struct assign_options){.with = 1});
}

static struct sn_flow numbered(uint32_t i)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i / 1000, SN_SAMPLE_REMOTE + i % 7,
				(uint16_t)(1024 + i % 1000), 80, SN_UDP};
}

static uint32_t shard_of(const struct sn_state *state, uint32_t i)
{
	struct sn_flow f = numbered(i);

	return sn_flow_both_shard(state, &f);
}

/* Those of odd numbers began outside. */
static struct sn_entry *get(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
			    uint64_t now)
{
	struct sn_flow f = numbered(i);
	bool is_return;
	struct sn_session *s = sn_outside_flows_find(partition, 0, shard, &f, i % 2, now, &is_return);

	if (!s && make)
		s = sn_outside_flows_begin(partition, 0, shard, &f, i % 2, now);
	return s ? &s->entry : NULL;
}

static void use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	(void)state;
	e->last_use = now;
}

static bool are_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	return kind_flows_alike(a, a_now, b, b_now) && a->own_bit == b->own_bit;
}

static const struct kind_case by_host = {
	.program = program,
	.idle_ns = 20 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = are_alike,
};

static const struct kind_case by_rss = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = program,
	.idle_ns = 20 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = are_alike,
};

static const struct kind_case by_address = {
	.partitioning = {SN_PARTITION_BY_ADDRESS, 2},
	.program = program,
	.idle_ns = 20 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = are_alike,
};

/* ---- between engines ---- */

static void a_flow_goes_on_in_another_engine_at_its_replica(void **state)
{
	struct packet p = out(SN_UDP, 5000), q = out(SN_TCP, 5001);
	struct fixture *f = *state;
	uint8_t records[4 * SN_CARRY_BYTES];
	struct sn_error err = {0};
	uint32_t replica, other;
	bool shards[SN_SHARDS];
	uint64_t cursor = 0;

	memset(shards, true, sizeof(shards));
	load_assign(f, (struct assign_options){.with = BOTH});
	replica = choice(f, p);
	other = !replica;
	load_assign(f, (struct assign_options){.with = BOTH, .draining = 1u << replica});
	goes_by(f, p, other);
	goes_by(f, turned(q), other);
	load_assign(f, (struct assign_options){.with = BOTH});
	assert_int_equal(sn_carry_read(f->state, shards, &cursor, f->now, records, 4), 2);
	sn_carry_forget(f->state, shards);
	sn_state_level(f->state);
	assert_int_equal(choice(f, p), replica);
	if (sn_carry_put(f->state, shards, records, 2, f->now, &err) != 0)
		fail_msg("%s", err.text);
	sn_state_level(f->state);
	goes_by(f, p, other);
	goes_by(f, q, other);
}

/* ---- between workers ---- */

#define WORKERS 2
#define FLOWS	60

struct world {
	struct sn_arena arena;
	struct sn_engine *engine;
	uint32_t n_out, n_drops;
	struct sent last;
};

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct world *w = ctx;

	for (uint16_t i = 0; i < n; i++) {
		w->last.iface = iface;
		w->last.len = pkts[i]->pkt_len;
		memcpy(w->last.data, rte_pktmbuf_mtod(pkts[i], uint8_t *), w->last.len);
		w->n_out++;
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	(void)m;
	(void)source;
	(void)reason;
	((struct world *)ctx)->n_drops++;
}

static void load_replicas(struct world *w, uint32_t draining)
{
	load_threadless(w->engine,
			assigned_wire(&w->arena, (struct assign_options){.with = BOTH, .draining = draining}),
			NULL, 0);
}

static int open_workers(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	sn_arena_init(&w->arena);
	w->engine = create_threadless((struct sn_engine_config){
		.n_workers = WORKERS, .tx = tx, .drop = drop, .harness_context = w});
	sn_threads_set_now(sn_engine_threads(w->engine), 1000 * SECOND);
	load_replicas(w, 0);
	*state = w;
	return 0;
}

static int close_workers(void **state)
{
	struct world *w = *state;

	sn_engine_free(w->engine);
	assert_int_equal(rte_mempool_in_use_count(buffers), 0);
	sn_arena_free(&w->arena);
	free(w);
	return 0;
}

static void poll_all(struct world *w)
{
	for (uint32_t quiet = 0; quiet < 2; quiet++)
		for (uint32_t worker = 0; worker < WORKERS; worker++)
			if (sn_mailbox_poll(mailbox_of(w->engine, worker)))
				quiet = 0;
}

/* A frame comes to any worker, and is done with at whichever has its state; the interface by which it leaves.
 */
static uint32_t get_through(struct world *w, uint16_t iface, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = buffer(frame, len);

	w->n_out = 0;
	sn_worker_burst(worker_of(w->engine, dice(WORKERS)), iface, &m, 1, now_of(w->engine));
	poll_all(w);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(w->n_out, 1);
	return w->last.iface;
}

/* The replica of a packet, which lets it through. */
static uint32_t goes_to(struct world *w, struct packet p)
{
	uint8_t frame[FRAME_MAX];
	uint32_t wire = get_through(w, p.iface, frame, write_frame(&p, frame));
	struct sent there = w->last;

	assert_int_equal(get_through(w, (uint16_t)OTHER_END(wire), there.data, there.len), !p.iface);
	assert_int_equal((wire - WIRE(0, INSIDE)) % 2, p.iface);
	return (wire - WIRE(0, INSIDE)) / 2;
}

static struct packet packet_of(uint32_t flow)
{
	struct packet p = remote(out(flow % 2 ? SN_UDP : SN_TCP, (uint16_t)(5000 + flow)), flow % FLOWS / 3);

	return flow % 5 ? p : turned(p);
}

static uint32_t replica_of_error_about(struct world *w, struct packet p)
{
	uint8_t quoted[FRAME_MAX];
	uint32_t len = write_frame(&p, quoted);

	return goes_to(w, (struct packet){.iface = !p.iface,
					  .proto = SN_ICMP,
					  .type = SN_ICMP_TIME_EXCEEDED,
					  .src = SN_SAMPLE_POOL,
					  .dst = p.src,
					  .payload = quoted + 14,
					  .payload_len = len - 14});
}

static uint64_t handed(const struct world *w)
{
	return sn_worker_stats(worker_of(w->engine, 0))->handed +
	       sn_worker_stats(worker_of(w->engine, 1))->handed;
}

static uint64_t flows_of(const struct world *w)
{
	struct sn_state_stats first, second;

	sn_state_stats(sn_engine_state(w->engine), 0, &first);
	sn_state_stats(sn_engine_state(w->engine), 1, &second);
	return first.sessions + second.sessions;
}

/* One replica drains, so hosts alone do not tell where a flow is. */
static void a_flow_is_one_replicas_whichever_worker_gets_its_packets(void **state)
{
	struct world *w = *state;
	uint32_t replicas[2 * FLOWS], n[2] = {0};

	for (uint32_t flow = 0; flow < FLOWS; flow++)
		n[replicas[flow] = goes_to(w, packet_of(flow))]++;
	assert_in_range(n[0], FLOWS / 4, FLOWS * 3 / 4);
	load_replicas(w, 1);
	for (uint32_t flow = FLOWS; flow < 2 * FLOWS; flow++) {
		replicas[flow] = goes_to(w, packet_of(flow));
		assert_int_equal(replicas[flow], 1);
	}
	for (uint32_t round = 0; round < 8; round++)
		for (uint32_t flow = 0; flow < 2 * FLOWS; flow++) {
			struct packet p = packet_of(flow);

			assert_int_equal(goes_to(w, dice(2) ? turned(p) : p), replicas[flow]);
			assert_int_equal(replica_of_error_about(w, p), replicas[flow]);
			assert_int_equal(replica_of_error_about(w, turned(p)), replicas[flow]);
		}
	assert_true(handed(w) > FLOWS);
	assert_int_equal(flows_of(w), 2 * FLOWS);
}

#define PACKET_TEST(test)  cmocka_unit_test_setup_teardown(test, open_assign, close_fixture)
#define WORKERS_TEST(test) cmocka_unit_test_setup_teardown(test, open_workers, close_workers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(by_host),
		KIND_TESTS(by_rss),
		KIND_TESTS(by_address),
		PACKET_TEST(a_flow_goes_on_in_another_engine_at_its_replica),
		WORKERS_TEST(a_flow_is_one_replicas_whichever_worker_gets_its_packets),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
