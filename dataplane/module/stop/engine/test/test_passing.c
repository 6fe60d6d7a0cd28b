/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that may go past a function: as a kind of state, and between workers, engines and programs. */

#include "bypass_world.h"
#include "kinds.h"
#include "threadless.h"

#include "sn_carry.h"
#include "sn_parse.h"
#include "sn_state_impl.h"

#define PACKETS 9

/* ---- as a kind ---- */

static Sinter__Program__V1__Program *program(struct sn_arena *arena)
{
	return bypassed_wire(arena, (struct bypass_options){.packets = PACKETS});
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
		s = sn_passing_begin(partition, 0, shard, &f, i % 2, PACKETS, now);
	return s ? &s->entry : NULL;
}

/* So that some are past. */
static void use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	struct sn_session *s = (struct sn_session *)e;

	(void)state;
	for (uint32_t i = 0; i < s->remote_port % 7u + s->inside_port % 5u; i++)
		sn_session_count_down(s);
	e->last_use = now;
}

static bool are_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	return kind_flows_alike(a, a_now, b, b_now) && a->own_bit == b->own_bit &&
	       session_of(a)->remaining == session_of(b)->remaining;
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

/* ---- an entry ---- */

static struct sn_session *entry_of(struct fixture *f, uint32_t i)
{
	struct sn_partition *partition = sn_state_partition(f->state, 0);

	return (struct sn_session *)get(partition, shard_of(f->state, i), i, true, f->now);
}

static bool tells(const struct sn_session *s)
{
	return sn_session_tells(s, s->entry.owner, s->entry.generation);
}

/* Before it is past no decision names it, alone or beside others. */
static void an_entry_is_a_session_like_any_when_its_packets_have_come(void **state)
{
	struct fixture *f = *state;
	struct sn_session *s, *other;

	load_bypass(f, (struct bypass_options){.packets = PACKETS});
	s = entry_of(f, 0);
	other = entry_of(f, 1);
	for (uint32_t i = 0; i < PACKETS; i++)
		sn_session_count_down(other);
	assert_true(sn_passing_is_past(other));
	for (uint16_t left = PACKETS; left > 0; left--) {
		assert_false(sn_passing_is_past(s));
		assert_int_equal(s->remaining, left);
		assert_false(tells(s));
		assert_false(sn_session_is_alike(&s->entry, &other->entry, false));
		assert_false(sn_session_is_alike(&other->entry, &s->entry, false));
		assert_null(sn_passing.misfit(f->state, f->state->tables[0], &s->entry));
		sn_session_count_down(s);
	}
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(sn_passing_is_past(s));
		assert_int_equal(s->outside_port, s->inside_port);
		assert_true(tells(s));
		assert_true(sn_session_is_alike(&s->entry, &other->entry, false));
		assert_null(sn_passing.misfit(f->state, f->state->tables[0], &s->entry));
		sn_session_count_down(s);
	}
}

static const char *misfit_of(struct fixture *f, struct sn_session *s, uint8_t seen, uint16_t count)
{
	uint8_t record[SN_CARRY_BYTES] = {0};
	struct sn_entry_line line = {0};

	sn_passing.pack(&s->entry, f->now, record);
	sn_store16(record + 14, count);
	record[21] = seen;
	sn_passing.unpack(&line.entry, f->now, record);
	line.entry.owner = s->entry.owner;
	line.entry.shard = s->entry.shard;
	return sn_passing.misfit(f->state, f->state->tables[0], &line.entry);
}

static void records_of_no_flow_are_refused(void **state)
{
	struct fixture *f = *state;
	struct sn_session *s;

	load_bypass(f, (struct bypass_options){.packets = PACKETS});
	s = entry_of(f, 0);
	assert_null(misfit_of(f, s, SN_SEEN_COUNTED, 1));
	assert_null(misfit_of(f, s, SN_SEEN_COUNTED, UINT16_MAX));
	assert_null(misfit_of(f, s, 0, s->inside_port));
	assert_string_equal(misfit_of(f, s, SN_SEEN_COUNTED, 0),
			    "it counts packets, of which none is to come");
	assert_string_equal(misfit_of(f, s, 0, 1), "it is translated, which flows that are followed are not");
	assert_string_equal(misfit_of(f, s, SN_SEEN_CHECKED, 1),
			    "it is translated, which flows that are followed are not");
	s->outside_addr++;
	assert_string_equal(misfit_of(f, s, SN_SEEN_COUNTED, 1),
			    "it is translated, which flows that are followed are not");
}

/* ---- programs ---- */

static void check_refused(struct fixture *f, const char *text)
{
	struct sn_error err = {0};

	assert_null(sn_program_create(f->msg, NULL, &err));
	assert_string_equal(err.text, text);
	f->msg = bypassed_wire(&f->arena, (struct bypass_options){.packets = 1});
}

static void wrong_programs_are_refused(void **state)
{
	struct fixture *f = *state;

	f->msg = bypassed_wire(&f->arena, (struct bypass_options){.packets = 1});
	f->msg->tables[0]->passing->tcp_ms = f->msg->tables[0]->passing->icmp_ms = 0;
	check_refused(f, "tables[0] (ips): tcp_ms is 0, want at least 1");
	f->msg->tables[0]->passing->tcp_transitory_ms = 0;
	check_refused(f, "tables[0] (ips): tcp_transitory_ms is 0, want at least 1");
	f->msg->tables[0]->passing->tcp_closing_ms = 0;
	check_refused(f, "tables[0] (ips): tcp_closing_ms is 0, want at least 1");
	f->msg->tables[0]->passing->udp_ms = 0;
	check_refused(f, "tables[0] (ips): udp_ms is 0, want at least 1");
	f->msg->tables[0]->passing->icmp_ms = 0;
	check_refused(f, "tables[0] (ips): icmp_ms is 0, want at least 1");
	f->msg->tables[0]->max_sessions = 0;
	check_refused(f, "tables[0] (ips): max_sessions is 0, want 1..16777216 flows");
	f->msg->tables[0]->max_sessions = (1u << 24) + 1;
	f->msg->tables[0]->passing->packets = 0;
	check_refused(f, "tables[0] (ips): max_sessions is 16777217, want 1..16777216 flows");
	f->msg->tables[0]->passing->packets = 0;
	check_refused(f, "tables[0] (ips): packets is 0, want 1..65535");
	f->msg->tables[0]->passing->packets = 65536;
	check_refused(f, "tables[0] (ips): packets is 65536, want 1..65535");
}

/* ---- between engines ---- */

static void a_flow_goes_on_in_another_engine_where_it_was(void **state)
{
	struct packet counted = out(SN_UDP, 5000), known = out(SN_TCP, 5001);
	struct fixture *f = *state;
	uint8_t records[4 * SN_CARRY_BYTES];
	struct sn_error err = {0};
	bool shards[SN_SHARDS];
	uint64_t cursor = 0;

	memset(shards, true, sizeof(shards));
	load_bypass(f, (struct bypass_options){.packets = 1000});
	many(f, through, counted, 600);
	many(f, through, known, 1000);
	many(f, past, known, 3);
	assert_int_equal(sn_carry_read(f->state, shards, &cursor, f->now, records, 4), 2);
	sn_carry_forget(f->state, shards);
	sn_state_level(f->state);
	held_back(f, counted);
	held_back(f, known);
	if (sn_carry_put(f->state, shards, records, 2, f->now, &err) != 0)
		fail_msg("%s", err.text);
	sn_state_level(f->state);
	past(f, known);
	many(f, through, counted, 400);
	past(f, counted);
}

/* ---- between workers ---- */

#define WORKERS 2
#define FLOWS	40

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

static int open_workers(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	sn_arena_init(&w->arena);
	w->engine = create_threadless((struct sn_engine_config){
		.n_workers = WORKERS, .tx = tx, .drop = drop, .harness_context = w});
	sn_threads_set_now(sn_engine_threads(w->engine), 1000 * SECOND);
	load_threadless(w->engine, program(&w->arena), NULL, 0);
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

/* A frame comes to a worker, and is done with at whichever has its state; the interface by which it leaves.
 */
static uint32_t cross(struct world *w, uint32_t worker, uint16_t iface, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = buffer(frame, len);

	w->n_out = 0;
	sn_worker_burst(worker_of(w->engine, worker), iface, &m, 1, now_of(w->engine));
	poll_all(w);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(w->n_out, 1);
	return w->last.iface;
}

static bool goes_through(struct world *w, uint32_t worker, struct packet p, uint32_t back_to)
{
	uint8_t frame[FRAME_MAX];
	uint32_t iface = cross(w, worker, p.iface, frame, write_frame(&p, frame));
	struct sent there = w->last;

	if (iface == OUT)
		assert_int_equal(cross(w, back_to, BACK, there.data, there.len), !p.iface);
	else
		assert_int_equal(iface, !p.iface);
	return iface == OUT;
}

static uint64_t handed(const struct world *w)
{
	return sn_worker_stats(worker_of(w->engine, 0))->handed +
	       sn_worker_stats(worker_of(w->engine, 1))->handed;
}

static void packets_of_all_workers_count_once(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < PACKETS + 4; i++)
		for (uint16_t flow = 0; flow < FLOWS; flow++) {
			struct packet p = out(flow % 2 ? SN_UDP : SN_TCP, 5000 + flow);

			if (dice(2))
				p = back(p);
			assert_int_equal(goes_through(w, dice(WORKERS), p, dice(WORKERS)), i < PACKETS);
		}
	assert_true(handed(w) > FLOWS);
	assert_int_equal(sessions_of_engine(w->engine), FLOWS);
	for (uint16_t flow = 0; flow < FLOWS; flow += 2) {
		struct packet p = out(SN_TCP, 5000 + flow);

		assert_true(goes_through(w, dice(WORKERS), with(p, SN_TCP_SYN), dice(WORKERS)));
		assert_true(goes_through(w, dice(WORKERS), p, dice(WORKERS)));
	}
}

#define PACKET_TEST(test)  cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)
#define WORKERS_TEST(test) cmocka_unit_test_setup_teardown(test, open_workers, close_workers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(by_host),
		KIND_TESTS(by_rss),
		KIND_TESTS(by_address),
		PACKET_TEST(an_entry_is_a_session_like_any_when_its_packets_have_come),
		PACKET_TEST(records_of_no_flow_are_refused),
		PACKET_TEST(wrong_programs_are_refused),
		PACKET_TEST(a_flow_goes_on_in_another_engine_where_it_was),
		WORKERS_TEST(packets_of_all_workers_count_once),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
