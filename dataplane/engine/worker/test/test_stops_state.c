/* SPDX-License-Identifier: Apache-2.0 */
/* State, errors and traces on both sides of a stop. */

#include "arp.h"
#include "stop_fixture.h"

#include "sn_parse.h"
#include "sn_trace.h"

/* ---- errors ---- */

static void errors_behind_a_stop_come_from_the_interface_of_entry(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	const uint8_t *answer = f->out[0].data;

	f->msg->interfaces[1]->mtu = 100;
	load(f);
	out.payload_len = 200;
	out.frag = 0x4000;
	send_packet(f, &out);
	send_back(f, BACK);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_TOO_BIG_ANSWERED);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, 0);
	assert_checksums(answer, f->out[0].len);
	assert_int_equal(sn_load16(l4_of(answer)), 0x0304);
	assert_int_equal(src_of(answer), SN_SAMPLE_INSIDE);
	assert_int_equal(dst_of(answer), SN_SAMPLE_HOST);
}

static void so_they_do_when_a_neighbor_did_not_answer(void **state)
{
	struct fixture *f = *state;

	unknown_gateway(f);
	send_out(f, 5000);
	send_back(f, BACK);
	assert_int_equal(f->n_out, 1);
	assert_asks(&f->out[0], ALL_MAC, 0);
	for (uint32_t i = 0; i < 3; i++)
		tick(f, SECOND);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_HOST_UNREACHABLE);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, 0);
	assert_int_equal(src_of(f->out[0].data), SN_SAMPLE_INSIDE);
}

/* ---- state ---- */

static uint64_t sessions_in(const struct fixture *f, uint32_t table)
{
	struct sn_state_stats stats;

	sn_state_stats(f->state, table, &stats);
	return stats.sessions;
}

/* A second NAPT, whose sessions' return packets go on in a segment. */
static void add_napt(struct fixture *f, uint32_t segment)
{
	Sinter__Program__V1__Program *m = f->msg, *more = sn_sample_napt(&f->arena);

	more->tables[0]->name = more->runs[0]->name = (char *)"nat2";
	more->tables[0]->pool[0]->first++;
	more->tables[0]->pool[0]->last++;
	more->runs[0]->table = 1;
	more->runs[0]->segment = segment;
	m->tables = (Sinter__Program__V1__StateTable **)memcpy(
		sn_arena_alloc(&f->arena, 2 * sizeof(*m->tables)),
		(Sinter__Program__V1__StateTable *[]){m->tables[0], more->tables[0]}, 2 * sizeof(*m->tables));
	m->runs = (Sinter__Program__V1__Run **)memcpy(
		sn_arena_alloc(&f->arena, 2 * sizeof(*m->runs)),
		(Sinter__Program__V1__Run *[]){m->runs[0], more->runs[0]}, 2 * sizeof(*m->runs));
	m->n_tables = m->n_runs = 2;
}

/* NAPT, stop, NAPT; back by the second, a stop, and by the first. */
static void state_works_on_both_sides_of_a_stop(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;
	uint16_t port;

	f->msg = sn_sample_napt(&f->arena);
	add_stop(f, 0); /* segment 4: wires, 5: behind */
	add_op(f, 5, SINTER__PROGRAM__V1__OP__OP_STATE_FORWARD)->state_forward = 1;
	add_napt(f, 1);
	leg_of(f, 1)->state_return = 0;
	f->msg->segments[1]->name = (char *)"return2";
	add_stop(f, 1); /* 6: behind */
	f->msg->interfaces[1]->segment = 7;
	f->msg->segments = memcpy(sn_arena_alloc(&f->arena, 8 * sizeof(*f->msg->segments)), f->msg->segments,
				  7 * sizeof(*f->msg->segments));
	f->msg->segments[7] = sn_sample_napt(&f->arena)->segments[1];
	f->msg->segments[7]->classes[0]->legs[0]->state_return = 1;
	f->msg->n_segments = 8;
	load(f);
	for (uint32_t i = 0; i < 3; i++) { /* also as a known flow */
		send_packet(f, &out);
		assert_int_equal(src_of(assert_sent(f, OUT)), SN_SAMPLE_POOL);
		assert_int_equal(sessions_in(f, 0), 1);
		assert_int_equal(sessions_in(f, 1), i > 0);
		send_back(f, BACK);
		assert_int_equal(src_of(assert_sent(f, 1)), SN_SAMPLE_POOL + 1);
		assert_int_equal(sessions_in(f, 1), 1);
		port = sport_of(f->out[0].data);
	}
	in = inward(SN_UDP, port);
	in.dst = SN_SAMPLE_POOL + 1;
	send_packet(f, &in);
	assert_int_equal(dst_of(assert_sent(f, OUT)), SN_SAMPLE_POOL);
	send_back(f, BACK);
	assert_int_equal(dst_of(assert_sent(f, 0)), SN_SAMPLE_HOST);
	assert_int_equal(dport_of(f->out[0].data), 5000);
}

static void a_packet_that_does_not_leave_for_its_stop_makes_no_session(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg = sn_sample_napt(&f->arena);
	add_stop(f, 0);
	f->msg->interfaces[OUT]->mtu = 100;
	load(f);
	out.payload_len = 200;
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_TOO_BIG);
	assert_int_equal(sessions(f), 0);
}

/* It knows the flow, and all that is kept of a decision is forgotten with the program. */
static void a_program_that_is_warmed_up_sends_known_flows_to_a_stop(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	leg_msg *leg;

	f->msg = sn_sample_napt(&f->arena);
	add_stop(f, 2); /* of the return direction: the wires are there */
	load(f);
	for (uint32_t i = 0; i < 3; i++) {
		send_packet(f, &out);
		assert_sent(f, 1);
	}
	leg = leg_of(f, 0);
	add_stop(f, 0);
	assert_int_equal(leg->outcome_case, SINTER__PROGRAM__V1__LEG__OUTCOME_STOP);
	load_warmed_up(f);
	send_packet(f, &out);
	assert_sent(f, OUT);
	send_back(f, BACK);
	assert_int_equal(src_of(assert_sent(f, 1)), SN_SAMPLE_POOL);
	assert_int_equal(sessions(f), 1);
}

/* ---- traces ---- */

static void a_trace_tells_what_happens_behind_a_stop(void **state)
{
	struct sn_trace_rules rules = {
		.one_in = 1, .snap_len = 64, .max_packets = 10, .until_ns = UINT64_MAX};
	struct fixture *f = *state;
	struct sn_trace *t = sn_trace_create(&rules, 0);
	struct sn_trace_packet head;
	uint8_t record[4096];
	uint32_t len, class;

	assert_non_null(t);
	load(f);
	sn_worker_set_trace(f->worker, t);
	send_out(f, 5000);
	send_back(f, BACK);
	assert_sent(f, 1);
	sn_worker_set_trace(f->worker, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		len = sn_trace_ring_next(sn_trace_ring(t));
		assert_in_range(len, sizeof(head), sizeof(record));
		sn_trace_ring_take(sn_trace_ring(t), record, len);
		memcpy(&head, record, sizeof(head));
		memcpy(&class, record + sizeof(head), sizeof(class));
		assert_int_equal(head.n_classes, 1);
		assert_int_equal(class, f->program->segments[i ? BEHIND : 0].first_class);
		assert_int_equal(head.n_frames, 2);
	}
	sn_trace_free(t);
}

#define STOP_TEST(test) cmocka_unit_test_setup_teardown(test, open_stop, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STOP_TEST(errors_behind_a_stop_come_from_the_interface_of_entry),
		STOP_TEST(so_they_do_when_a_neighbor_did_not_answer),
		STOP_TEST(state_works_on_both_sides_of_a_stop),
		STOP_TEST(a_packet_that_does_not_leave_for_its_stop_makes_no_session),
		STOP_TEST(a_program_that_is_warmed_up_sends_known_flows_to_a_stop),
		STOP_TEST(a_trace_tells_what_happens_behind_a_stop),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
