/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that go past a function when it has let enough of them through: what becomes of packets. */

#include "bypass_world.h"

#include "sn_tcp.h"

/* ---- packets ---- */

/* Longer than the interfaces behind the function take. */
static struct packet too_long(struct packet p)
{
	p.payload_len = 600;
	return p;
}

static void dropped_behind(struct fixture *f, struct packet p)
{
	held_back(f, p);
	send_back(f, BACK);
	assert_dropped(f, SN_REASON_TOO_BIG);
}

/* As a client is told of the only flow. */
static const char *told(struct fixture *f)
{
	Sinter__Program__V1__Session session;
	struct sn_entry_info info;

	assert_int_equal(sn_state_entries(f->state, 0, f->now, &info, 1), 1);
	sinter__program__v1__session__init(&session);
	assert_int_equal(info.kind->report(&info, &f->arena, &session), 0);
	return session.state;
}

/* ---- the count ---- */

static void a_flow_goes_past_when_enough_of_it_came_through(void **state)
{
	struct packet p = out(SN_UDP, 5000), t = out(SN_TCP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 3});
	through(f, p);
	assert_string_equal(told(f), "through");
	through(f, back(p));
	through(f, p);
	assert_string_equal(told(f), "past");
	many(f, past, p, 3);
	many(f, past, back(p), 3);
	many(f, past_as_known, p, 3);
	many(f, past_as_known, back(p), 3);
	through(f, out(SN_UDP, 5001)); /* others have their own count */
	many(f, through, back(t), 3);  /* and so do those that the outside begins */
	past(f, back(t));
	past(f, t);
}

static void one_packet_may_be_enough(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 1});
	through(f, with(p, SN_TCP_SYN));
	past(f, back(with(p, SN_TCP_SYN | SN_TCP_ACK)));
	past(f, p);
	assert_int_equal(stats_of(f).created, 1);
}

static void the_most_packets_that_a_program_can_ask_for_are_counted(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = UINT16_MAX});
	many(f, through, p, UINT16_MAX);
	past(f, p);
}

static void what_the_function_keeps_does_not_count(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2});
	many(f, held_back, p, 5);
	assert_int_equal(stats_of(f).sessions, 0);
	through(f, p);
	many(f, held_back, p, 5);
	assert_string_equal(told(f), "through");
	through(f, p);
	past(f, p);
}

static void open_short(struct fixture *f, uint32_t packets)
{
	f->msg = bypassed_wire(&f->arena, (struct bypass_options){.packets = packets});
	f->msg->interfaces[INSIDE]->mtu = f->msg->interfaces[OUTSIDE]->mtu = 500;
	load(f);
}

static void what_is_dropped_behind_the_function_does_not_count(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;

	open_short(f, 2);
	many(f, dropped_behind, too_long(p), 3);
	assert_int_equal(stats_of(f).sessions, 0); /* it did not begin */
	assert_int_equal(stats_of(f).created, 0);
	through(f, p);
	many(f, dropped_behind, too_long(p), 3);
	assert_string_equal(told(f), "through");
	tick(f, 15 * SECOND);
	dropped_behind(f, too_long(p)); /* nor does it keep the flow */
	tick(f, 6 * SECOND);
	many(f, through, p, 2);
	past(f, p);
}

static void a_packet_that_two_operations_meet_harms_nothing(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;

	f->msg = bypassed_wire(&f->arena, (struct bypass_options){.packets = 3, .twice = true});
	f->msg->interfaces[OUTSIDE]->mtu = 500;
	load(f);
	many(f, dropped_behind, too_long(with(p, SN_TCP_SYN)), 3);
	assert_int_equal(stats_of(f).sessions, 0);
	through(f, with(p, SN_TCP_SYN));
	assert_int_equal(stats_of(f).sessions, 1);
	many(f, dropped_behind, too_long(with(p, SN_TCP_SYN)), 3);
	assert_int_equal(stats_of(f).sessions, 0);
	many(f, through, with(p, SN_TCP_SYN), 3);
	through(f, p);
	past(f, p);
}

/* ---- connections that begin again ---- */

static void a_syn_has_a_flow_counted_again_that_decisions_know(void **state)
{
	struct packet p = out(SN_TCP, 5000), syn = with(p, SN_TCP_SYN);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 3});
	through(f, syn);
	for (uint32_t round = 0; round < 3; round++) {
		through(f, back(with(p, SN_TCP_SYN | SN_TCP_ACK)));
		through(f, p);
		many(f, past, p, 2);
		many(f, past, back(p), 2);
		past_as_known(f, p);
		past_as_known(f, back(p));
		through(f, round % 2 ? with(syn, SN_TCP_SYN | SN_TCP_RST | 0xc0) : syn);
		assert_string_equal(told(f), "through");
		assert_int_equal(stats_of(f).sessions, 1);
	}
	held_back(f, p);
	held_back(f, back(p));
}

static void a_syn_that_the_function_keeps_changes_nothing(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2});
	many(f, through, p, 2);
	many(f, past, p, 3);
	held_back(f, with(p, SN_TCP_SYN));
	past_as_known(f, p);
}

static void a_syn_that_is_dropped_behind_the_function_ends_its_flow(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;

	open_short(f, 2);
	many(f, through, p, 2);
	many(f, past, p, 3);
	dropped_behind(f, too_long(with(p, SN_TCP_SYN)));
	assert_int_equal(stats_of(f).sessions, 0);
	many(f, through, p, 2);
	past(f, p);
}

/* More than the cache has entries: most decisions are short. */
static void so_it_has_each_of_many_flows(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	load_bypass(f, (struct bypass_options){.packets = 1, .flows = 10000});
	for (uint16_t port = 5000; port < 8000; port++)
		through(f, out(SN_TCP, port));
	for (uint32_t round = 0; round < 20; round++) {
		tick(f, 10 * MS);
		for (uint16_t port = 5000; port < 8000; port++)
			past(f, out(SN_TCP, port));
	}
	before = hits(f);
	for (uint16_t port = 5000; port < 8000; port++)
		past(f, out(SN_TCP, port));
	assert_true(hits(f) - before > 2500);
	load_bypass(f, (struct bypass_options){.packets = 2, .flows = 10000});
	for (uint32_t round = 0; round < 20; round++)
		for (uint16_t port = 5000; port < 8000; port++)
			past(f, out(SN_TCP, port));
	for (uint16_t port = 5000; port < 8000; port++) {
		through(f, with(out(SN_TCP, port), SN_TCP_SYN));
		through(f, out(SN_TCP, port));
		past(f, out(SN_TCP, port));
	}
}

/* Either side may begin it again: its inside is where it began then. */
static void a_syn_from_the_other_side_begins_a_flow_there(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;
	struct sn_entry_info info;

	load_bypass(f, (struct bypass_options){.packets = 2});
	many(f, through, p, 2);
	past(f, p);
	through(f, back(with(p, SN_TCP_SYN)));
	assert_int_equal(sn_state_entries(f->state, 0, f->now, &info, 1), 1);
	assert_true(info.line.entry.own_bit);
	through(f, p);
	past(f, p);
	past(f, back(p));
}

static void where_no_table_tells_a_syn_no_decision_is_kept(void **state)
{
	struct packet p = out(SN_TCP, 5000), u = out(SN_UDP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2, .untold = true});
	for (uint32_t round = 0; round < 2; round++) {
		through(f, with(p, SN_TCP_SYN));
		through(f, p);
		many(f, past, p, 4);
	}
	assert_int_equal(hits(f), 0);
	many(f, through, u, 2);
	many(f, past, u, 2);
	past_as_known(f, u);
}

/* Packets that left for the function before their flow was past come behind after that. */
static void check_on_their_way(struct fixture *f, bool untold)
{
	struct packet late[10], p = out(SN_TCP, 5000);
	uint64_t before;

	load_bypass(f, (struct bypass_options){.packets = 2, .untold = untold});
	for (uint32_t i = 0; i < RTE_DIM(late); i++)
		late[i] = p;
	for (uint32_t round = 0; round < 3; round++) {
		through(f, with(p, SN_TCP_SYN));
		send_burst(f, late, RTE_DIM(late));
		assert_int_equal(f->out[0].iface, OUT);
		before = hits(f);
		for (uint32_t i = 0; i < RTE_DIM(late); i++) {
			uint8_t frame[FRAME_MAX];

			memcpy(frame, f->out[0].data, f->out[0].len);
			send_frame(f, BACK, frame, f->out[0].len);
			assert_sent(f, OUTSIDE);
			memcpy(f->out[0].data, frame, sizeof(frame));
		}
		assert_int_equal(hits(f) > before, !untold);
		past(f, p);
	}
	through(f, with(p, SN_TCP_SYN));
	assert_string_equal(told(f), "through");
}

static void packets_on_their_way_use_a_flow_that_is_past(void **state)
{
	check_on_their_way(*state, false);
}

static void a_syn_behind_them_has_it_counted_again_all_the_same(void **state)
{
	check_on_their_way(*state, true);
}

/* ---- how flows end ---- */

static void a_flow_ends_that_was_not_used(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2});
	through(f, p);
	tick(f, 15 * SECOND);
	held_back(f, p); /* no use, as it has not come behind */
	tick(f, 6 * SECOND);
	through(f, p);
	tick(f, 15 * SECOND);
	through(f, back(p));
	for (uint32_t i = 0; i < 6; i++) {
		tick(f, 15 * SECOND);
		past(f, i % 2 ? p : back(p));
	}
	tick(f, 20 * SECOND + MS);
	through(f, p);
	assert_string_equal(told(f), "through");
}

static void a_connection_has_the_timeout_of_its_state(void **state)
{
	struct packet p = out(SN_TCP, 5000), o = out(SN_TCP, 5001);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 3});
	through(f, with(p, SN_TCP_SYN));
	through(f, with(back(p), SN_TCP_SYN | SN_TCP_ACK));
	through(f, p);
	many(f, through, o, 3); /* never answered */
	past(f, o);
	tick(f, 21 * SECOND);
	held_back(f, o);
	past(f, p);
	tick(f, 99 * SECOND);
	past(f, p);
	past(f, with(p, SN_TCP_FIN | SN_TCP_ACK));
	tick(f, SECOND - MS);
	past(f, back(p));
	tick(f, SECOND + MS);
	held_back(f, p);
}

static void packets_past_the_function_open_a_connection(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 1});
	for (uint32_t round = 0; round < 2; round++) {
		through(f, with(p, SN_TCP_SYN));
		past(f, back(with(p, SN_TCP_SYN | SN_TCP_ACK)));
		past(f, p);
		tick(f, 99 * SECOND);
		past(f, back(p));
		p = back(p); /* the other side begins the next one */
	}
}

static void flows_for_which_there_is_no_room_go_through(void **state)
{
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 1, .flows = 8});
	for (uint16_t port = 5000; port < 5020; port++)
		through(f, out(SN_UDP, port));
	assert_int_equal(stats_of(f).sessions, 8);
	assert_int_equal(stats_of(f).exhausted, 12);
	for (uint16_t port = 5000; port < 5020; port++)
		(port < 5008 ? past : through)(f, out(SN_UDP, port));
	assert_int_equal(stats_of(f).exhausted, 24);
	assert_int_equal(stats_of(f).evicted, 0);
	tick(f, 21 * SECOND);
	through(f, out(SN_UDP, 5019));
	past(f, out(SN_UDP, 5019));
	/* One that begins again has the room that it had. */
	for (uint16_t port = 5000; port < 5007; port++)
		through(f, out(SN_TCP, port));
	through(f, with(out(SN_TCP, 5006), SN_TCP_SYN));
	past(f, out(SN_TCP, 5006));
}

/* ---- what is a flow ---- */

static void what_tells_no_flow_goes_through_uncounted(void **state)
{
	struct packet p = out(SN_UDP, 5000), fragment = p, ping = out(SN_ICMP, 77), error = ping;
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2});
	fragment.frag = 0x2000;
	fragment.payload_len = 24;
	error.type = 11;
	many(f, through, fragment, 3);
	many(f, through, error, 3);
	assert_int_equal(stats_of(f).sessions, 0);
	many(f, through, p, 2);
	many(f, past, p, 3);
	through(f, fragment);
	many(f, through, ping, 2);
	many(f, past, ping, 3);
	past(f, back(ping));
	through(f, error);
	past(f, ping);
	assert_int_equal(stats_of(f).sessions, 2);
}

/* A reply may begin a flow: the function let it through. */
static void a_flow_has_two_ends_whatever_its_protocol(void **state)
{
	struct packet gre = out(47, 0), reply = back(out(SN_ICMP, 77));
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2});
	gre.sport = gre.dport = 0;
	through(f, gre);
	through(f, back(gre));
	past(f, gre);
	many(f, past, back(gre), 3);
	many(f, through, reply, 2);
	past(f, reply);
	past(f, out(SN_ICMP, 77));
}

/* ---- programs ---- */

static void a_flow_keeps_the_number_with_which_it_began(void **state)
{
	struct packet old = out(SN_UDP, 5000), known = out(SN_UDP, 5001), young = out(SN_UDP, 5002);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 3});
	through(f, old);
	many(f, through, known, 3);
	many(f, past, known, 3);
	load_bypass(f, (struct bypass_options){.packets = 1});
	assert_int_equal(f->kept, 2);
	past(f, known);
	many(f, through, old, 2);
	past(f, old);
	through(f, young);
	past(f, young);
	load_bypass(f, (struct bypass_options){.packets = 100, .flows = 4000}); /* a table of its own */
	assert_int_equal(f->kept, 3);
	past(f, old);
	past(f, known);
	past(f, young);
}

/* A flow that is still counted has no decision, and a warm-up has no packet that could count. */
static void a_warm_up_brings_the_decisions_of_flows_that_are_past(void **state)
{
	struct packet p = out(SN_TCP, 5000), counted = out(SN_TCP, 5001);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2});
	many(f, through, p, 2);
	through(f, counted);
	many(f, past, p, 3);
	many(f, past, back(p), 3);
	f->msg = bypassed_wire(&f->arena, (struct bypass_options){.packets = 2});
	load_warmed_up(f);
	past_as_known(f, p);
	past_as_known(f, back(p));
	through(f, counted);
	past(f, counted);
	assert_int_equal(stats_of(f).sessions, 2);
	through(f, with(p, SN_TCP_SYN));
	held_back(f, p);
}

/* ---- with other functions ---- */

static void through_both(struct fixture *f, struct packet p)
{
	held_back(f, p);
	send_back(f, BACK);
	assert_sent(f, OUT);
	send_back(f, BACK);
	assert_sent(f, !p.iface);
}

static void load_two(struct fixture *f, bool plain, bool warm)
{
	f->msg = bypassed_wire(&f->arena,
			       (struct bypass_options){.packets = 2, .functions = 2, .plain = plain});
	(warm ? load_warmed_up : load)(f);
}

/* The decisions of the program before lead it to where packets count, and SYNs end a flow. */
static void a_warm_up_begins_and_ends_no_flow(void **state)
{
	struct packet p = out(SN_TCP, 5000), young = out(SN_TCP, 5001), syn = with(p, SN_TCP_SYN);
	struct fixture *f = *state;
	struct sn_state_stats stats;
	uint64_t before;

	load_two(f, false, false);
	many(f, through_both, p, 2);
	load_two(f, true, false);
	assert_int_equal(f->kept, 2);
	many(f, through_both, syn, 3);
	many(f, through_both, young, 2);
	many(f, through, young, 4);
	before = hits(f);
	through_both(f, syn);
	assert_int_equal(hits(f), before + 2); /* to the first function, and behind the last one */
	load_two(f, false, true);
	sn_state_stats(f->state, 1, &stats);
	assert_int_equal(stats.sessions, 1);
	assert_int_equal(stats.created, 1);
	through(f, p);
	past(f, p);
	many(f, through, young, 2);
	past(f, young);
}

/* Whether the entry of a flow is used together with that of the other function. */
static bool is_bundled(const struct fixture *f, struct packet p)
{
	struct sn_flow flow = {p.src, p.dst, p.sport, p.dport, p.proto};
	uint32_t shard = sn_flow_shard_in(f->state, 0, &flow, false);
	bool is_return;
	struct sn_session *s = sn_outside_flows_find(sn_state_partition(f->state, 0), 0, shard, &flow, false,
						     f->now, &is_return);

	assert_non_null(s);
	return sn_entry_bundled(&s->entry);
}

/* Packets of a known flow use both entries as one. */
static void flows_of_two_functions_part_when_one_begins_again(void **state)
{
	struct packet p = out(SN_TCP, 5000), u = out(SN_UDP, 5000);
	struct fixture *f = *state;

	load_bypass(f, (struct bypass_options){.packets = 2, .functions = 2});
	for (uint32_t round = 0; round < 3; round++) {
		through_both(f, with(p, SN_TCP_SYN));
		through_both(f, back(with(p, SN_TCP_SYN | SN_TCP_ACK)));
		many(f, past, p, 3);
		many(f, past, back(p), 3);
		past_as_known(f, p);
		past_as_known(f, back(p));
		assert_true(is_bundled(f, p));
	}
	/* The first function lets it through, the second one does not. */
	held_back(f, with(p, SN_TCP_SYN));
	send_back(f, BACK);
	assert_sent(f, OUT);
	assert_false(is_bundled(f, p));
	through(f, back(with(p, SN_TCP_SYN | SN_TCP_ACK)));
	many(f, past, p, 4);
	past_as_known(f, p);
	many(f, through_both, u, 2);
	for (uint32_t i = 0; i < 6; i++) {
		past(f, u);
		tick(f, 15 * SECOND);
	}
}

#define PACKET_TEST(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PACKET_TEST(a_flow_goes_past_when_enough_of_it_came_through),
		PACKET_TEST(one_packet_may_be_enough),
		PACKET_TEST(the_most_packets_that_a_program_can_ask_for_are_counted),
		PACKET_TEST(what_the_function_keeps_does_not_count),
		PACKET_TEST(what_is_dropped_behind_the_function_does_not_count),
		PACKET_TEST(a_packet_that_two_operations_meet_harms_nothing),
		PACKET_TEST(a_syn_has_a_flow_counted_again_that_decisions_know),
		PACKET_TEST(so_it_has_each_of_many_flows),
		PACKET_TEST(a_syn_that_the_function_keeps_changes_nothing),
		PACKET_TEST(a_syn_that_is_dropped_behind_the_function_ends_its_flow),
		PACKET_TEST(a_syn_from_the_other_side_begins_a_flow_there),
		PACKET_TEST(where_no_table_tells_a_syn_no_decision_is_kept),
		PACKET_TEST(packets_on_their_way_use_a_flow_that_is_past),
		PACKET_TEST(a_syn_behind_them_has_it_counted_again_all_the_same),
		PACKET_TEST(a_flow_ends_that_was_not_used),
		PACKET_TEST(packets_past_the_function_open_a_connection),
		PACKET_TEST(a_connection_has_the_timeout_of_its_state),
		PACKET_TEST(flows_for_which_there_is_no_room_go_through),
		PACKET_TEST(what_tells_no_flow_goes_through_uncounted),
		PACKET_TEST(a_flow_has_two_ends_whatever_its_protocol),
		PACKET_TEST(a_flow_keeps_the_number_with_which_it_began),
		PACKET_TEST(a_warm_up_brings_the_decisions_of_flows_that_are_past),
		PACKET_TEST(a_warm_up_begins_and_ends_no_flow),
		PACKET_TEST(flows_of_two_functions_part_when_one_begins_again),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
