/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of a function of which some are down: where the packets of their flows go. */

#include "assign_world.h"

#include "sn_parse.h"
#include "sn_state_impl.h"
#include "sn_wires.h"

#define IN(replica)    (1ull << WIRE(replica, INSIDE))
#define OUTER(replica) (1ull << WIRE(replica, OUTSIDE))
#define ALL(replica)   (IN(replica) | OUTER(replica))
#define NOBODY	       (ALL(0) | ALL(1))

/* Flows that began at each side, of hosts at the outside that tell replica 0; and of others. */
struct crowd {
	struct packet flows[4], others[2];
};

static void open_crowd(struct fixture *f, struct crowd *c, struct assign_options o)
{
	uint32_t first, second;

	load_assign(f, o);
	first = remote_of(f, 0);
	second = remote_of(f, 1);
	c->flows[0] = remote(out(SN_UDP, 5000), first);
	c->flows[1] = turned(remote(out(SN_UDP, 5001), first));
	c->flows[2] = remote(out(SN_TCP, 5000), first);
	c->flows[3] = remote(out(SN_ICMP, 77), first);
	c->others[0] = remote(out(SN_UDP, 5000), second);
	c->others[1] = turned(remote(out(SN_TCP, 5000), second));
}

static void all_go_by(struct fixture *f, const struct packet *p, uint32_t n, uint32_t replica)
{
	for (uint32_t i = 0; i < n; i++) {
		goes_by(f, p[i], replica);
		goes_by(f, turned(p[i]), replica);
	}
}

static void flows_go_by(struct fixture *f, const struct crowd *c, uint32_t replica)
{
	all_go_by(f, c->flows, RTE_DIM(c->flows), replica);
}

static void others_go_by(struct fixture *f, const struct crowd *c, uint32_t replica)
{
	all_go_by(f, c->others, RTE_DIM(c->others), replica);
}

/* By decisions: it takes two packets until they are known. */
static void all_are_known(struct fixture *f, const struct crowd *c, uint32_t replica)
{
	for (uint32_t i = 0; i < 2; i++)
		flows_go_by(f, c, replica);
	for (uint32_t i = 0; i < RTE_DIM(c->flows); i++) {
		known_goes_by(f, c->flows[i], replica);
		known_goes_by(f, turned(c->flows[i]), replica);
	}
}

static struct assign_options options(bool open)
{
	return (struct assign_options){.with = BOTH, .open = open};
}

/* ---- one of them ---- */

static void check_moves(struct fixture *f, uint64_t silent, bool open)
{
	struct crowd c;

	open_crowd(f, &c, options(open));
	all_are_known(f, &c, 0);
	others_go_by(f, &c, 1);
	fall(f, silent);
	flows_go_by(f, &c, 1);
	others_go_by(f, &c, 1);
	assert_int_equal(flows_at(f, 0).sessions, 0);
	assert_int_equal(flows_at(f, 1).sessions, RTE_DIM(c.flows) + RTE_DIM(c.others));
	all_are_known(f, &c, 1);
	assert_int_equal(choice(f, c.flows[0]), 1);
	probe(f, SN_PROBES_BACK + 2, 0); /* it is up again */
	all_are_known(f, &c, 1);
	assert_int_equal(choice(f, c.flows[0]), 0);
	goes_by(f, remote(out(SN_UDP, 6000), remote_of(f, 0)), 0);
	assert_int_equal(flows_at(f, 0).sessions, 1);
}

static void flows_of_a_closed_replica_that_is_down_go_to_the_other_one_and_stay(void **state)
{
	check_moves(*state, ALL(0), false);
}

static void flows_of_an_open_replica_that_is_down_go_to_the_other_one_and_stay(void **state)
{
	check_moves(*state, ALL(0), true);
}

static void a_closed_replica_is_down_when_one_way_is(void **state)
{
	check_moves(*state, IN(0), false);
	tick(*state, 200 * SECOND);
	check_moves(*state, OUTER(0), false);
}

static void an_open_replica_is_down_when_one_way_is(void **state)
{
	check_moves(*state, IN(0), true);
	tick(*state, 200 * SECOND);
	check_moves(*state, OUTER(0), true);
}

/* The first packet that comes is an answer, perhaps by the way that is up: its decision is no longer right,
 * either. */
static void an_answer_moves_its_flow_too(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	for (uint32_t round = 0; round < 4; round++) {
		open_crowd(f, &c, options(round % 2));
		all_are_known(f, &c, 0);
		fall(f, round / 2 ? IN(0) : OUTER(0));
		for (uint32_t i = 0; i < RTE_DIM(c.flows); i++) {
			goes_by(f, turned(c.flows[i]), 1);
			goes_by(f, c.flows[i], 1);
		}
		tick(f, 200 * SECOND);
	}
}

static void a_flow_of_which_no_packet_came_stays(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(true));
	all_are_known(f, &c, 0);
	fall(f, ALL(0));
	probe(f, SN_PROBES_BACK + 2, 0);
	assert_int_equal(flows_at(f, 0).sessions, RTE_DIM(c.flows));
	all_are_known(f, &c, 0);
}

/* An error about a packet, from the side to which that was sent. */
static void error_goes_by(struct fixture *f, struct packet about, uint32_t replica)
{
	uint8_t quoted[FRAME_MAX];
	uint32_t len = write_frame(&about, quoted) - 14;

	goes_by(f,
		(struct packet){.iface = !about.iface,
				.proto = SN_ICMP,
				.type = SN_ICMP_UNREACHABLE,
				.src = about.dst,
				.dst = about.src,
				.payload = quoted + 14,
				.payload_len = len},
		replica);
}

static void errors_follow_a_flow_to_the_other_replica(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(false));
	all_are_known(f, &c, 0);
	fall(f, ALL(0));
	flows_go_by(f, &c, 1);
	probe(f, SN_PROBES_BACK + 2, 0);
	for (uint32_t i = 0; i < RTE_DIM(c.flows); i++) {
		error_goes_by(f, c.flows[i], 1);
		error_goes_by(f, turned(c.flows[i]), 1);
	}
	flows_go_by(f, &c, 1);
}

static void an_error_ends_its_flow_where_a_replica_is_down_and_begins_none(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(false));
	all_are_known(f, &c, 0);
	fall(f, ALL(0));
	error_goes_by(f, c.flows[0], 1);
	assert_int_equal(flows_at(f, 0).sessions, RTE_DIM(c.flows) - 1);
	assert_int_equal(flows_at(f, 1).created, 0);
}

/* As NAPTs and balancers on the way have it (sn_cuts.h). */
static void flows_are_found_by_the_shard_of_their_inside(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(false));
	for (uint32_t outside = 0; outside < 2; outside++) {
		for (uint32_t i = 0; i < f->program->n_tables; i++)
			f->state->tables[i]->config.cut =
				(struct sn_table_cut){.by = SN_CUT_BY_HOST, .outside = outside};
		all_are_known(f, &c, 0);
		fall(f, ALL(0));
		flows_go_by(f, &c, 1);
		probe(f, SN_PROBES_BACK + 2, 0);
		for (uint32_t i = 0; i < RTE_DIM(c.flows); i++) {
			error_goes_by(f, c.flows[i], 1);
			error_goes_by(f, turned(c.flows[i]), 1);
		}
		flows_go_by(f, &c, 1);
		tick(f, 200 * SECOND);
		probe(f, 200, 0); /* all have ended */
	}
}

static void a_draining_replica_takes_flows_of_one_that_is_down(void **state)
{
	struct assign_options o = {.with = BOTH, .draining = 2};
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(false));
	all_are_known(f, &c, 0);
	load_assign(f, o);
	all_are_known(f, &c, 0);
	fall(f, ALL(0));
	all_are_known(f, &c, 1);
	goes_by(f, remote(out(SN_UDP, 6000), 1), 1);
}

static void a_draining_replica_that_is_down_keeps_no_flow(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(true));
	all_are_known(f, &c, 0);
	load_assign(f, (struct assign_options){.with = BOTH, .draining = 1, .open = true});
	fall(f, ALL(0));
	all_are_known(f, &c, 1);
}

static void the_third_takes_what_two_leave(void **state)
{
	struct fixture *f = *state;
	struct assign_options o = {.with = BOTH | 4};
	struct crowd c;

	open_crowd(f, &c, o);
	all_are_known(f, &c, 0);
	others_go_by(f, &c, 1);
	fall(f, ALL(0) | OUTER(1));
	all_are_known(f, &c, 2);
	others_go_by(f, &c, 2);
	assert_int_equal(flows_at(f, 2).sessions, RTE_DIM(c.flows) + RTE_DIM(c.others));
}

/* ---- programs ---- */

static void the_next_program_knows_who_is_down(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	for (uint32_t open = 0; open < 2; open++) {
		open_crowd(f, &c, options(open));
		all_are_known(f, &c, 0);
		fall(f, ALL(0));
		load_assign(f, options(open));
		assert_int_equal(choice(f, c.flows[0]), 1);
		all_are_known(f, &c, 1);
		others_go_by(f, &c, 1);
		tick(f, 200 * SECOND);
	}
}

/* Decisions are brought for the other replica, but flows end and begin by packets alone. */
static void a_warm_up_moves_no_flow(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(false));
	all_are_known(f, &c, 0);
	fall(f, ALL(0));
	f->msg = assigned_wire(&f->arena, options(false));
	load_warmed_up(f);
	assert_int_equal(flows_at(f, 0).sessions, RTE_DIM(c.flows));
	assert_int_equal(flows_at(f, 1).created, 0);
	all_are_known(f, &c, 1);
	assert_int_equal(flows_at(f, 0).sessions, 0);
}

/* There is nobody to go to, until there is. */
static void a_replica_that_comes_takes_the_flows_of_one_that_is_down(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	for (uint32_t open = 0; open < 2; open++) {
		open_crowd(f, &c, options(open));
		load_assign(f, (struct assign_options){.with = 1, .open = open});
		all_are_known(f, &c, 0);
		fall(f, ALL(0));
		load_assign(f, options(open));
		all_are_known(f, &c, 1);
		tick(f, 200 * SECOND);
	}
}

/* ---- all of them ---- */

static void is_dropped(struct fixture *f, struct packet p)
{
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_CHAIN);
	assert_string_equal(sn_program_reason(f->program, f->drops[0].reason), "ips/down");
}

static void check_none(struct fixture *f, const struct crowd *c,
		       void (*how)(struct fixture *f, struct packet p))
{
	for (uint32_t i = 0; i < RTE_DIM(c->flows); i++)
		for (uint32_t round = 0; round < 4; round++) {
			how(f, c->flows[i]);
			how(f, turned(c->flows[i]));
		}
}

static void packets_are_dropped_when_all_closed_replicas_are_down(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	open_crowd(f, &c, options(false));
	all_are_known(f, &c, 0);
	fall(f, NOBODY);
	check_none(f, &c, is_dropped);
	is_dropped(f, remote(c.flows[0], 1));
	is_dropped(f, c.others[0]);
	assert_int_equal(flows_at(f, 0).sessions, RTE_DIM(c.flows));
	assert_int_equal(flows_at(f, 1).created, 0); /* no flow begins */
	probe(f, SN_PROBES_BACK + 2, 0);
	all_are_known(f, &c, 0);
	others_go_by(f, &c, 1);
}

/* Those of packets before the function, and behind it. */
static void past_by_decisions(struct fixture *f, const struct crowd *c)
{
	uint64_t before = hits(f);

	for (uint32_t i = 0; i < RTE_DIM(c->flows); i++)
		past(f, c->flows[i]);
	assert_int_equal(hits(f), before + 2 * RTE_DIM(c->flows));
}

static void packets_go_past_when_all_open_replicas_are_down(void **state)
{
	struct fixture *f = *state;
	struct sn_count classes[32] = {0}, counters[1] = {0}, reasons[1] = {0};
	struct crowd c;

	open_crowd(f, &c, options(true));
	all_are_known(f, &c, 0);
	fall(f, NOBODY);
	check_none(f, &c, past);
	past(f, c.others[0]);
	past_by_decisions(f, &c);
	sn_counts_add(sn_worker_counts(f->worker), classes, counters, reasons);
	assert_int_equal(counters[0].packets, 9 * RTE_DIM(c.flows) + 1);
	assert_int_equal(flows_at(f, 0).sessions, RTE_DIM(c.flows));
	assert_int_equal(flows_at(f, 0).created, RTE_DIM(c.flows)); /* none has ended */
	probe(f, SN_PROBES_BACK + 2, 0);
	all_are_known(f, &c, 0);
	others_go_by(f, &c, 1);
}

/* Those of decisions that were known while all were down, too. */
static void who_is_up_first_gets_the_flows_of_the_other_one(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	for (uint32_t open = 0; open < 2; open++) {
		open_crowd(f, &c, options(open));
		all_are_known(f, &c, 0);
		fall(f, NOBODY);
		check_none(f, &c, open ? past : is_dropped);
		probe(f, SN_PROBES_BACK + 2, ALL(0));
		all_are_known(f, &c, 1);
		assert_int_equal(flows_at(f, 0).sessions, 0);
		tick(f, 200 * SECOND);
	}
}

static void a_replica_without_others_is_a_function(void **state)
{
	struct fixture *f = *state;
	struct crowd c;

	for (uint32_t open = 0; open < 2; open++) {
		open_crowd(f, &c, options(open));
		load_assign(f, (struct assign_options){.with = 1, .open = open});
		all_are_known(f, &c, 0);
		fall(f, ALL(0));
		check_none(f, &c, open ? past : is_dropped);
		probe(f, SN_PROBES_BACK + 2, 0);
		all_are_known(f, &c, 0);
		tick(f, 200 * SECOND);
	}
}

#define PACKET_TEST(test) cmocka_unit_test_setup_teardown(test, open_assign, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PACKET_TEST(flows_of_a_closed_replica_that_is_down_go_to_the_other_one_and_stay),
		PACKET_TEST(flows_of_an_open_replica_that_is_down_go_to_the_other_one_and_stay),
		PACKET_TEST(a_closed_replica_is_down_when_one_way_is),
		PACKET_TEST(an_open_replica_is_down_when_one_way_is),
		PACKET_TEST(an_answer_moves_its_flow_too),
		PACKET_TEST(a_flow_of_which_no_packet_came_stays),
		PACKET_TEST(errors_follow_a_flow_to_the_other_replica),
		PACKET_TEST(an_error_ends_its_flow_where_a_replica_is_down_and_begins_none),
		PACKET_TEST(flows_are_found_by_the_shard_of_their_inside),
		PACKET_TEST(a_draining_replica_takes_flows_of_one_that_is_down),
		PACKET_TEST(a_draining_replica_that_is_down_keeps_no_flow),
		PACKET_TEST(the_third_takes_what_two_leave),
		PACKET_TEST(the_next_program_knows_who_is_down),
		PACKET_TEST(a_warm_up_moves_no_flow),
		PACKET_TEST(a_replica_that_comes_takes_the_flows_of_one_that_is_down),
		PACKET_TEST(packets_are_dropped_when_all_closed_replicas_are_down),
		PACKET_TEST(packets_go_past_when_all_open_replicas_are_down),
		PACKET_TEST(who_is_up_first_gets_the_flows_of_the_other_one),
		PACKET_TEST(a_replica_without_others_is_a_function),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
