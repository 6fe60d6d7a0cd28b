/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that come back from a stop to one of several workers, or engines. */

#include "arp.h"
#include "stop_fixture.h"
#include "threadless.h"

#include "sn_parse.h"
#include "sn_wires.h"

#define WORKERS 2
#define FLOWS	40

struct world {
	struct sn_arena arena;
	struct sn_engine *engine;
	uint32_t worker; /* at work */
	uint32_t n_out, n_drops, reason;
	struct sent last; /* and who sent it is its source */
};

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct world *w = ctx;

	for (uint16_t i = 0; i < n; i++) {
		w->last.iface = iface;
		w->last.source = w->worker;
		w->last.len = pkts[i]->pkt_len;
		memcpy(w->last.data, rte_pktmbuf_mtod(pkts[i], uint8_t *), w->last.len);
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
	w->reason = reason;
}

/* The sample NAPT, whose sessions are made behind a stop. */
static Sinter__Program__V1__Program *napt_behind(struct sn_arena *arena)
{
	Sinter__Program__V1__Program *m = sn_sample_napt(arena);
	leg_msg *leg = m->segments[0]->classes[0]->legs[0], *behind;

	leg->n_ops = 1; /* it lowers the TTL */
	add_other(arena, m->interfaces[1]);
	sn_sample_op(arena, leg, SINTER__PROGRAM__V1__OP__OP_NEXT_HOP)->next_hop = OTHER;
	sn_sample_stop(arena, m, leg);
	behind = m->segments[leg->stop->segment]->classes[0]->legs[0];
	sn_sample_op(arena, behind, SINTER__PROGRAM__V1__OP__OP_STATE_FORWARD)->state_forward = 0;
	return m;
}

static void open_engine(void **state, bool bare)
{
	struct world *w = calloc(1, sizeof(*w));

	sn_arena_init(&w->arena);
	w->engine = create_threadless((struct sn_engine_config){
		.n_workers = WORKERS, .tx = tx, .drop = drop, .harness_context = w, .bare = bare});
	sn_threads_set_now(sn_engine_threads(w->engine), 1000 * SECOND);
	load_threadless(w->engine, napt_behind(&w->arena), NULL, 0);
	*state = w;
}

static int open_workers(void **state)
{
	open_engine(state, false);
	return 0;
}

/* Whose shards another engine has. */
static int open_bare(void **state)
{
	open_engine(state, true);
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
		for (w->worker = 0; w->worker < WORKERS; w->worker++)
			if (sn_mailbox_poll(mailbox_of(w->engine, w->worker)))
				quiet = 0;
}

/* A worker receives it; what it hands over lies in the ring still. */
static void receive(struct world *w, uint32_t worker, uint16_t iface, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = buffer(frame, len);

	w->worker = worker;
	sn_worker_burst(worker_of(w->engine, worker), iface, &m, 1, now_of(w->engine));
}

/* A flow's packet leaves for its stop, by either worker. */
static void leave(struct world *w, uint32_t worker, uint16_t port)
{
	struct packet out = outward(SN_UDP, port);
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(&out, frame);

	w->n_out = 0;
	receive(w, worker, 0, frame, len);
	assert_int_equal(w->n_out, 1);
	assert_int_equal(w->last.iface, OUT);
	assert_int_equal(w->last.source, worker);
}

static uint64_t handed(const struct world *w)
{
	return sn_worker_stats(worker_of(w->engine, 0))->handed +
	       sn_worker_stats(worker_of(w->engine, 1))->handed;
}

static void a_packet_goes_on_at_the_worker_that_has_its_state(void **state)
{
	struct world *w = *state;
	uint64_t taken = 0, packets = 0;
	uint32_t owners[FLOWS] = {0};

	for (uint16_t i = 0; i < FLOWS * WORKERS; i++) {
		uint32_t flow = i / WORKERS, worker = i % WORKERS;

		leave(w, i / 2 % WORKERS, 5000 + (uint16_t)flow);
		w->n_out = 0;
		receive(w, worker, BACK, w->last.data, w->last.len);
		poll_all(w);
		assert_int_equal(w->n_drops, 0);
		assert_int_equal(w->n_out, 1);
		assert_int_equal(w->last.iface, 1);
		assert_memory_equal(w->last.data, other_mac, 6);
		assert_int_equal(src_of(w->last.data), SN_SAMPLE_POOL);
		assert_checksums(w->last.data, w->last.len);
		if (worker == 0)
			owners[flow] = w->last.source;
		assert_int_equal(w->last.source, owners[flow]);
	}
	assert_int_equal(sessions_of_engine(w->engine), FLOWS);
	/* Each flow came once to the worker that has not its state. */
	assert_int_equal(handed(w), FLOWS);
	for (uint32_t i = 0; i < WORKERS; i++) {
		const struct sn_worker_stats *s = sn_worker_stats(worker_of(w->engine, i));

		taken += s->taken;
		packets += s->packets;
	}
	assert_int_equal(taken, FLOWS);
	assert_int_equal(packets, 2 * FLOWS * WORKERS);
}

/* Time for a probe, which nobody returns. */
static void pass_unanswered(struct world *w)
{
	w->n_out = 0;
	sn_threads_set_now(sn_engine_threads(w->engine), now_of(w->engine) + 10 * MS);
	tick_workers(w->engine, WORKERS);
	assert_int_equal(w->n_out, 1);
	assert_int_equal(w->last.iface, OUT);
}

static void packets_past_a_function_that_is_down_go_where_their_state_is(void **state)
{
	static char *counter = (char *)"ips/bypassed";
	struct world *w = *state;
	Sinter__Program__V1__Program *m = napt_behind(&w->arena);
	Sinter__Program__V1__Stop *stop = m->segments[0]->classes[0]->legs[0]->stop;

	m->n_counters = 1;
	m->counters = &counter;
	stop->down_case = SINTER__PROGRAM__V1__STOP__DOWN_BYPASS;
	load_threadless(w->engine, m, NULL, 0);
	for (uint32_t i = 0; i <= SN_PROBES_LOST_OPEN; i++)
		pass_unanswered(w);
	tick_workers(w->engine, WORKERS); /* the first one knows it, too */
	for (uint16_t i = 0; i < FLOWS * WORKERS; i++) {
		struct packet out = outward(SN_UDP, 5000 + i / WORKERS);
		uint8_t frame[FRAME_MAX];

		w->n_out = 0;
		receive(w, i % WORKERS, 0, frame, write_frame(&out, frame));
		poll_all(w);
		assert_int_equal(w->n_drops, 0);
		assert_int_equal(w->n_out, 1);
		assert_int_equal(w->last.iface, 1);
		assert_memory_equal(w->last.data, other_mac, 6);
		assert_int_equal(src_of(w->last.data), SN_SAMPLE_POOL);
		assert_checksums(w->last.data, w->last.len);
	}
	assert_int_equal(sessions_of_engine(w->engine), FLOWS);
	assert_int_equal(handed(w), FLOWS);
}

/* A packet that one worker has handed over, and the other has not taken yet. */
static void hand_over(struct world *w)
{
	uint64_t before = handed(w);

	for (uint16_t port = 5000; handed(w) == before; port++) {
		leave(w, 0, port);
		receive(w, 0, BACK, w->last.data, w->last.len);
	}
}

static void a_packet_between_workers_goes_on_in_the_next_program(void **state)
{
	struct world *w = *state;

	hand_over(w);
	w->n_out = 0;
	load_threadless(w->engine, napt_behind(&w->arena), NULL, 0);
	poll_all(w);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(w->n_out, 1);
	assert_int_equal(w->last.iface, 1);
	assert_memory_equal(w->last.data, other_mac, 6);
	assert_int_equal(src_of(w->last.data), SN_SAMPLE_POOL);
}

static void a_packet_is_traced_at_the_worker_that_has_its_state(void **state)
{
	struct sn_trace_rules rules = {
		.one_in = 1, .snap_len = 64, .max_packets = 1000, .until_ns = UINT64_MAX, .epoch = 1};
	struct sn_trace *traces[WORKERS];
	struct sn_trace_packet head;
	struct world *w = *state;
	uint64_t before = 0;

	for (uint8_t i = 0; i < WORKERS; i++) {
		traces[i] = sn_trace_create(&rules, i);
		assert_non_null(traces[i]);
		sn_worker_set_trace(worker_of(w->engine, i), traces[i]);
	}
	hand_over(w);
	poll_all(w);
	while (take_record(traces[0], &head))
		before = head.number; /* the last that left for the function, as it is not back here */
	assert_int_equal(head.first_number, 0);
	assert_true(take_record(traces[1], &head));
	assert_int_equal(head.first_number, before);
	assert_int_equal(head.first_worker, 0);
	assert_false(take_record(traces[1], &head));
	for (uint32_t i = 0; i < WORKERS; i++) {
		sn_worker_set_trace(worker_of(w->engine, i), NULL);
		sn_trace_free(traces[i]);
	}
}

static void frames_of_a_wire_are_not_passed_on_to_another_engine(void **state)
{
	struct sn_peers *peers = calloc(1, sizeof(*peers));
	struct packet p = inward(SN_UDP, 5000);
	struct world *w = *state;
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(&p, frame);

	assert_non_null(peers);
	peers->n = 1;
	strcpy(peers->names[0], "peer");
	memset(peers->at, 1, sizeof(peers->at));
	for (uint32_t port = 0; port < 4; port++)
		peers->macs[0][port] = sn_mac_number(HOST_MAC);
	sn_peering_set(sn_engine_peering(w->engine), sn_engine_threads(w->engine), peers, false);
	free(peers);
	receive(w, 0, 1, frame, len);
	assert_int_equal(w->n_out, 1); /* that of another interface is */
	assert_memory_equal(w->last.data, HOST_MAC, 6);
	leave(w, 0, 5000);
	w->n_out = 0;
	receive(w, 0, BACK, w->last.data, w->last.len);
	assert_int_equal(w->n_out, 0);
	assert_int_equal(w->n_drops, 1);
	assert_int_equal(w->reason, SN_REASON_NOT_HERE);
}

#define WORKERS_TEST(test) cmocka_unit_test_setup_teardown(test, open_workers, close_workers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKERS_TEST(a_packet_goes_on_at_the_worker_that_has_its_state),
		WORKERS_TEST(packets_past_a_function_that_is_down_go_where_their_state_is),
		WORKERS_TEST(a_packet_between_workers_goes_on_in_the_next_program),
		WORKERS_TEST(a_packet_is_traced_at_the_worker_that_has_its_state),
		cmocka_unit_test_setup_teardown(frames_of_a_wire_are_not_passed_on_to_another_engine,
						open_bare, close_workers),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
