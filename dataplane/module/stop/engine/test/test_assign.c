/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that are each one replica's of a function: where packets go. */

#include "assign_world.h"

#include "sn_parse.h"

#define HOSTS 200u /* at the outside */

static const uint8_t protos[] = {SN_ICMP, SN_TCP, SN_UDP, 47 /* GRE: without ports */};

static struct packet packet_of(uint8_t proto)
{
	struct packet p = out(proto, proto == 47 ? 0 : 5000);

	if (proto == 47)
		p.dport = 0;
	return p;
}

static uint64_t all_flows(const struct fixture *f)
{
	return flows_at(f, 0).sessions + flows_at(f, 1).sessions;
}

/* ---- a flow ---- */

static void a_flow_goes_by_one_replica_in_both_directions(void **state)
{
	struct fixture *f = *state;

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t i = 0; i < 2 * RTE_DIM(protos); i++) {
		struct packet p = packet_of(protos[i / 2]);
		uint32_t replica;

		if (i % 2)
			p = turned(remote(p, i)); /* the outside begins it */
		replica = cross(f, p);
		assert_int_equal(all_flows(f), i + 1);
		for (uint32_t round = 0; round < 5; round++) {
			goes_by(f, p, replica);
			goes_by(f, turned(p), replica);
		}
		assert_int_equal(all_flows(f), i + 1);
	}
}

static void check_known(struct fixture *f, struct packet p)
{
	uint32_t replica;
	uint64_t before = hits(f);

	replica = replica_of(f, p);
	assert_int_equal(replica_of(f, p), replica);
	assert_int_equal(hits(f), before);
	for (uint32_t i = 0; i < 5; i++)
		known_goes_by(f, p, replica);
	before = hits(f);
	assert_int_equal(replica_of(f, turned(p)), replica);
	assert_int_equal(hits(f), before);
	for (uint32_t i = 0; i < 5; i++)
		known_goes_by(f, turned(p), replica);
}

static void its_decision_is_known_from_the_third_packet_on(void **state)
{
	struct fixture *f = *state;

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t i = 0; i < RTE_DIM(protos); i++)
		check_known(f, packet_of(protos[i]));
}

static void flows_of_two_hosts_go_to_one_replica(void **state)
{
	struct fixture *f = *state;

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t host = 0; host < 20; host++) {
		uint32_t replica = cross(f, remote(out(SN_UDP, 5000), host));

		for (uint16_t port = 5001; port < 5010; port++) {
			struct packet p = remote(out(port % 2 ? SN_UDP : SN_TCP, port), host);

			goes_by(f, port % 3 ? p : turned(p), replica);
		}
		goes_by(f, remote(out(SN_ICMP, 77), host), replica);
		goes_by(f, turned(remote(packet_of(47), host)), replica);
	}
}

static void flows_of_many_hosts_go_to_all_replicas(void **state)
{
	struct fixture *f = *state;
	uint32_t n[REPLICAS] = {0}, shared[REPLICAS] = {0}, before[HOSTS];

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t host = 0; host < HOSTS; host++) {
		before[host] = cross(f, remote(out(SN_UDP, 5000), host));
		n[before[host]]++;
	}
	assert_in_range(n[0], HOSTS / 3, HOSTS * 2 / 3);
	assert_int_equal(flows_at(f, 0).sessions, n[0]);
	assert_int_equal(flows_at(f, 1).sessions, n[1]);
	/* A third one takes from both, and no host goes from one of these to the other. */
	load_assign(f, (struct assign_options){.with = BOTH | 4});
	for (uint32_t host = 0; host < HOSTS; host++) {
		uint32_t now = cross(f, remote(out(SN_UDP, 5001), host));

		if (now != 2)
			assert_int_equal(now, before[host]);
		shared[now]++;
	}
	for (uint32_t i = 0; i < REPLICAS; i++)
		assert_in_range(shared[i], HOSTS / 5, HOSTS / 2);
}

static void one_replica_has_all_flows(void **state)
{
	struct fixture *f = *state;

	load_assign(f, (struct assign_options){.with = 2});
	for (uint32_t host = 0; host < 20; host++)
		goes_by(f, remote(out(SN_UDP, 5000), host), 1);
	assert_int_equal(flows_at(f, 1).sessions, 20);
}

/* ---- packets that tell no flow ---- */

static void what_tells_no_flow_goes_where_flows_of_its_hosts_do(void **state)
{
	struct fixture *f = *state;
	uint64_t flows;

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t host = 0; host < 20; host++) {
		struct packet p = remote(out(SN_UDP, 5000), host), later = p, error = p;
		uint32_t replica = cross(f, p);

		later.frag = 3;
		error.proto = SN_ICMP;
		error.type = SN_ICMP_UNREACHABLE; /* it quotes nothing */
		flows = all_flows(f);
		for (uint32_t i = 0; i < 4; i++) {
			assert_int_equal(choice(f, p), replica);
			assert_int_equal(choice(f, turned(p)), replica);
			goes_by(f, later, replica);
			goes_by(f, turned(later), replica);
			goes_by(f, error, replica);
		}
		assert_int_equal(all_flows(f), flows);
	}
}

/* A flow begins at replica 0 though hosts tell replica 1: the number of the host at the outside. */
static uint32_t open_astray(struct fixture *f, struct packet p, uint32_t mtu)
{
	uint32_t host;

	load_assign(f, (struct assign_options){.with = BOTH});
	host = remote_of(f, 1);
	load_assign(f, (struct assign_options){.with = 1});
	goes_by(f, remote(p, host), 0);
	load_assign(f, (struct assign_options){.with = BOTH, .mtu = mtu});
	assert_int_equal(f->lost, 0);
	return host;
}

/* An error about a packet, from the side to which that was sent. */
static uint32_t replica_of_error(struct fixture *f, struct packet about, uint32_t from, uint32_t to)
{
	uint8_t quoted[FRAME_MAX];
	uint32_t len = write_frame(&about, quoted);
	struct packet error = {.iface = !about.iface,
			       .proto = SN_ICMP,
			       .type = SN_ICMP_TIME_EXCEEDED,
			       .src = from,
			       .dst = to,
			       .payload = quoted + 14,
			       .payload_len = len - 14};

	return replica_of(f, error);
}

static void an_error_goes_where_the_flow_does_whose_packet_it_quotes(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 2 * RTE_DIM(protos); i++) {
		struct packet p = packet_of(protos[i / 2]), answer;
		uint64_t flows;

		if (i % 2)
			p = turned(p); /* the outside begins it */
		p = remote(p, open_astray(f, p, 0));
		answer = turned(p);
		flows = all_flows(f);
		for (uint32_t round = 0; round < 4; round++) {
			assert_int_equal(replica_of_error(f, p, p.dst, p.src), 0);
			assert_int_equal(replica_of_error(f, p, SN_SAMPLE_POOL, p.src), 0); /* a router */
			assert_int_equal(replica_of_error(f, answer, answer.dst, answer.src), 0);
			goes_by(f, p, 0);
		}
		assert_int_equal(all_flows(f), flows);
		tick(f, 200 * SECOND);
	}
}

static void an_error_about_no_flow_goes_where_hosts_tell(void **state)
{
	struct packet p = out(SN_UDP, 5000), young;
	struct fixture *f = *state;
	uint32_t host = open_astray(f, p, 0), first = remote_of(f, 0);

	young = remote(out(SN_UDP, 5001), host);
	for (uint32_t i = 0; i < 4; i++) {
		/* The quoted packet's hosts tell it, not the error's. */
		assert_int_equal(replica_of_error(f, young, SN_SAMPLE_REMOTE + first, young.src), 1);
		assert_int_equal(replica_of_error(f, young, SN_SAMPLE_REMOTE + host, young.src), 1);
	}
	/* It is not for who sent the packet that it quotes. */
	p = remote(p, host);
	p.src++;
	assert_int_equal(replica_of_error(f, p, SN_SAMPLE_REMOTE + host, SN_SAMPLE_HOST), 1);
	assert_int_equal(replica_of_error(f, p, SN_SAMPLE_REMOTE + first, SN_SAMPLE_HOST), 0);
	assert_int_equal(all_flows(f), 1);
}

/* Anybody may send one. */
static void an_error_does_not_keep_a_flow(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;
	uint32_t host = open_astray(f, p, 0);

	p = remote(p, host);
	tick(f, 15 * SECOND);
	assert_int_equal(replica_of_error(f, p, p.dst, p.src), 0);
	tick(f, 6 * SECOND);
	assert_int_equal(replica_of_error(f, p, p.dst, p.src), 1);
	goes_by(f, p, 1);
}

/* ---- programs ---- */

static void new_flows_of_all_hosts_go_by(struct fixture *f, uint16_t port, uint32_t replica)
{
	for (uint32_t host = 0; host < 20; host++) {
		struct packet p = remote(out(SN_UDP, port), host);

		goes_by(f, host % 2 ? p : turned(p), replica);
	}
}

static void a_draining_replica_keeps_its_flows_and_gets_no_new_one(void **state)
{
	struct packet p = out(SN_UDP, 5000), q = out(SN_UDP, 5001);
	struct fixture *f = *state;
	uint32_t replica, other;

	load_assign(f, (struct assign_options){.with = BOTH});
	replica = cross(f, p);
	other = !replica;
	goes_by(f, turned(q), replica);
	load_assign(f, (struct assign_options){.with = BOTH, .draining = 1u << replica});
	assert_int_equal(f->kept, 2);
	assert_int_equal(choice(f, p), other);
	new_flows_of_all_hosts_go_by(f, 6000, other);
	for (uint32_t i = 0; i < 6; i++) {
		goes_by(f, i % 2 ? turned(p) : p, replica);
		goes_by(f, i % 2 ? turned(q) : q, replica);
	}
	known_goes_by(f, p, replica);
	known_goes_by(f, turned(q), replica);
	assert_int_equal(flows_at(f, replica).sessions, 2);
	load_assign(f, (struct assign_options){.with = 1u << other});
	assert_int_equal(f->lost, 2);
	for (uint32_t i = 0; i < 6; i++) {
		goes_by(f, i % 2 ? turned(p) : p, other);
		goes_by(f, i % 2 ? turned(q) : q, other);
	}
	assert_int_equal(flows_at(f, other).sessions, 22);
}

static void a_flow_is_its_replicas_until_it_ends_also_when_that_drains_no_more(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;
	uint32_t replica, other;

	load_assign(f, (struct assign_options){.with = BOTH});
	replica = choice(f, p);
	other = !replica;
	load_assign(f, (struct assign_options){.with = BOTH, .draining = 1u << replica});
	goes_by(f, p, other);
	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t i = 0; i < 4; i++)
		goes_by(f, p, other);
	goes_by(f, out(SN_UDP, 5001), replica);
}

static void replicas_that_all_drain_share_new_flows_as_before(void **state)
{
	struct fixture *f = *state;
	uint32_t before[20];

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t host = 0; host < RTE_DIM(before); host++)
		before[host] = cross(f, remote(out(SN_UDP, 5000), host));
	load_assign(f, (struct assign_options){.with = BOTH, .draining = BOTH});
	for (uint32_t host = 0; host < RTE_DIM(before); host++)
		goes_by(f, remote(out(SN_UDP, 5001), host), before[host]);
}

static void flows_stay_where_they_are_when_a_replica_comes(void **state)
{
	struct fixture *f = *state;
	uint32_t before[60], young = 0;

	load_assign(f, (struct assign_options){.with = BOTH});
	for (uint32_t host = 0; host < RTE_DIM(before); host++)
		before[host] = cross(f, remote(out(SN_TCP, 5000), host));
	load_assign(f, (struct assign_options){.with = BOTH | 4});
	assert_int_equal(f->kept, RTE_DIM(before));
	for (uint32_t host = 0; host < RTE_DIM(before); host++) {
		struct packet p = remote(out(SN_TCP, 5000), host);

		goes_by(f, turned(p), before[host]);
		goes_by(f, p, before[host]);
		young += cross(f, remote(out(SN_TCP, 5001), host)) == 2;
	}
	assert_in_range(young, RTE_DIM(before) / 6, RTE_DIM(before) / 2);
	assert_int_equal(flows_at(f, 2).sessions, young);
}

static void a_warm_up_brings_the_decisions_of_flows(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;
	uint32_t replica;

	load_assign(f, (struct assign_options){.with = BOTH});
	replica = cross(f, p);
	for (uint32_t i = 0; i < 4; i++) {
		goes_by(f, p, replica);
		goes_by(f, turned(p), replica);
	}
	f->msg = assigned_wire(&f->arena, (struct assign_options){.with = BOTH, .draining = 1u << replica});
	load_warmed_up(f);
	known_goes_by(f, p, replica);
	known_goes_by(f, turned(p), replica);
	assert_int_equal(all_flows(f), 1);
}

/* The leg by which a side's packets go to a replica. */
static Sinter__Program__V1__Leg *leg_to(Sinter__Program__V1__Program *msg, uint32_t side, uint32_t replica)
{
	uint32_t segment = msg->interfaces[side]->segment;
	Sinter__Program__V1__Assign *assign = msg->segments[segment]->classes[0]->legs[0]->assign;

	return msg->segments[assign->replicas[replica]->segment]->classes[0]->legs[0];
}

/* All packets go to one of two replicas, whose state stays; without an assign before it, if direct. */
static void leave_alone(Sinter__Program__V1__Program *msg, uint32_t replica, bool direct)
{
	for (uint32_t side = INSIDE; side <= OUTSIDE; side++) {
		uint32_t *segment = &msg->interfaces[side]->segment;
		Sinter__Program__V1__Assign *assign = msg->segments[*segment]->classes[0]->legs[0]->assign;

		assign->replicas[0] = assign->replicas[replica];
		assign->n_replicas = 1;
		if (direct)
			*segment = assign->replicas[0]->segment;
	}
}

/* The decisions of the program before lead it to where flows begin. */
static void a_warm_up_begins_no_flow(void **state)
{
	struct fixture *f = *state;

	for (uint32_t direct = 0; direct < 2; direct++) {
		struct packet p = out(SN_TCP, (uint16_t)(5000 + direct));
		uint32_t replica, other;

		load_assign(f, (struct assign_options){.with = BOTH});
		replica = choice(f, p);
		other = !replica;
		for (uint32_t i = 0; i < 4; i++)
			goes_by(f, p, replica);
		f->msg = assigned_wire(&f->arena, (struct assign_options){.with = BOTH});
		leave_alone(f->msg, other, direct);
		load_warmed_up(f);
		assert_int_equal(flows_at(f, other).created, direct);
		goes_by(f, p, other);
		assert_int_equal(flows_at(f, other).created, direct + 1);
	}
}

/* Where a flow has no entry, nothing would end its decision when the replica drains. */
static void a_flow_that_is_nobodys_has_no_decision(void **state)
{
	struct packet p = out(SN_UDP, 5000);
	struct fixture *f = *state;
	uint64_t before;

	f->msg = assigned_wire(&f->arena, (struct assign_options){.with = BOTH});
	for (uint32_t i = 0; i < 4; i++)
		leg_to(f->msg, i / 2, i % 2)->n_ops = 0;
	load(f);
	before = hits(f);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(replica_of(f, p), choice(f, p));
	assert_int_equal(hits(f), before);
	assert_int_equal(all_flows(f), 0);
}

/* ---- room ---- */

static void flows_without_room_go_where_hosts_tell(void **state)
{
	struct fixture *f = *state;
	uint32_t replica, other;
	uint64_t before;

	load_assign(f, (struct assign_options){.with = BOTH, .flows = 8});
	replica = choice(f, out(SN_UDP, 5000));
	other = !replica;
	for (uint32_t round = 0; round < 4; round++)
		for (uint16_t port = 5000; port < 5020; port++)
			goes_by(f, out(SN_UDP, port), replica);
	assert_int_equal(flows_at(f, replica).sessions, 8);
	assert_int_equal(flows_at(f, replica).exhausted, 4 * 12);
	assert_int_equal(flows_at(f, replica).evicted, 0);
	/* No decision is theirs. */
	before = hits(f);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(replica_of(f, out(SN_UDP, 5010)), replica);
	assert_int_equal(hits(f), before);
	known_goes_by(f, out(SN_UDP, 5007), replica);
	/* Nor is the replica. */
	load_assign(f, (struct assign_options){.with = BOTH, .flows = 8, .draining = 1u << replica});
	for (uint16_t port = 5000; port < 5016; port++)
		goes_by(f, out(SN_UDP, port), port < 5008 ? replica : other);
	assert_int_equal(flows_at(f, other).sessions, 8);
}

static void a_flow_without_room_has_no_decision_where_all_are_one_replicas(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	f->msg = assigned_wire(&f->arena, (struct assign_options){.with = BOTH, .flows = 8});
	leave_alone(f->msg, 1, true);
	load(f);
	for (uint16_t port = 5000; port < 5010; port++)
		goes_by(f, out(SN_UDP, port), 1);
	before = hits(f);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(replica_of(f, out(SN_UDP, 5009)), 1);
	assert_int_equal(hits(f), before);
	assert_int_equal(flows_at(f, 1).exhausted, 2 + 4);
}

static void a_flow_whose_first_packet_is_dropped_does_not_begin(void **state)
{
	struct packet p = out(SN_UDP, 5000), old = p, q = out(SN_UDP, 5001);
	struct fixture *f = *state;
	uint32_t host = open_astray(f, p, 500);

	old = remote(p, host);
	old.payload_len = q.payload_len = 600;
	for (uint32_t i = 0; i < 3; i++) {
		send_packet(f, &q);
		assert_dropped(f, SN_REASON_TOO_BIG);
	}
	assert_int_equal(all_flows(f), 1);
	assert_int_equal(flows_at(f, 0).created + flows_at(f, 1).created, 1);
	tick(f, 15 * SECOND);
	send_packet(f, &old); /* nor does it keep a flow */
	assert_dropped(f, SN_REASON_TOO_BIG);
	tick(f, 6 * SECOND);
	goes_by(f, remote(p, host), 1);
}

/* ---- how flows end ---- */

static void a_flow_ends_when_it_was_not_used(void **state)
{
	struct packet p[] = {out(SN_UDP, 5000), out(SN_ICMP, 77), packet_of(47), out(SN_TCP, 5000)};
	static const uint64_t seconds[] = {20, 5, 20, 20};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < RTE_DIM(p); i++) {
		uint64_t nearly = seconds[i] * SECOND - MS;
		uint32_t host = open_astray(f, p[i], 0);
		struct packet q = remote(p[i], host);

		for (uint32_t round = 0; round < 4; round++) {
			tick(f, nearly);
			goes_by(f, q, 0);
		}
		tick(f, nearly);
		goes_by(f, p[i].proto == SN_TCP ? q : turned(q), 0);
		tick(f, nearly + 2 * MS);
		goes_by(f, q, 1);
		assert_int_equal(flows_at(f, 0).sessions, 0);
		tick(f, 200 * SECOND);
	}
}

static void a_connection_has_the_timeout_of_its_state(void **state)
{
	struct packet p = out(SN_TCP, 5000);
	struct fixture *f = *state;

	p = remote(p, open_astray(f, p, 0));
	goes_by(f, with(turned(p), SN_TCP_SYN | SN_TCP_ACK), 0);
	goes_by(f, p, 0);
	for (uint32_t i = 0; i < 4; i++) {
		tick(f, 99 * SECOND);
		goes_by(f, i % 2 ? turned(p) : p, 0);
	}
	goes_by(f, with(p, SN_TCP_FIN | SN_TCP_ACK), 0);
	tick(f, SECOND - MS);
	goes_by(f, turned(p), 0);
	tick(f, SECOND + MS);
	goes_by(f, p, 1);
}

#define PACKET_TEST(test) cmocka_unit_test_setup_teardown(test, open_assign, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PACKET_TEST(a_flow_goes_by_one_replica_in_both_directions),
		PACKET_TEST(its_decision_is_known_from_the_third_packet_on),
		PACKET_TEST(flows_of_two_hosts_go_to_one_replica),
		PACKET_TEST(flows_of_many_hosts_go_to_all_replicas),
		PACKET_TEST(one_replica_has_all_flows),
		PACKET_TEST(what_tells_no_flow_goes_where_flows_of_its_hosts_do),
		PACKET_TEST(an_error_goes_where_the_flow_does_whose_packet_it_quotes),
		PACKET_TEST(an_error_about_no_flow_goes_where_hosts_tell),
		PACKET_TEST(an_error_does_not_keep_a_flow),
		PACKET_TEST(a_draining_replica_keeps_its_flows_and_gets_no_new_one),
		PACKET_TEST(a_flow_is_its_replicas_until_it_ends_also_when_that_drains_no_more),
		PACKET_TEST(replicas_that_all_drain_share_new_flows_as_before),
		PACKET_TEST(flows_stay_where_they_are_when_a_replica_comes),
		PACKET_TEST(a_warm_up_brings_the_decisions_of_flows),
		PACKET_TEST(a_warm_up_begins_no_flow),
		PACKET_TEST(a_flow_that_is_nobodys_has_no_decision),
		PACKET_TEST(flows_without_room_go_where_hosts_tell),
		PACKET_TEST(a_flow_without_room_has_no_decision_where_all_are_one_replicas),
		PACKET_TEST(a_flow_whose_first_packet_is_dropped_does_not_begin),
		PACKET_TEST(a_flow_ends_when_it_was_not_used),
		PACKET_TEST(a_connection_has_the_timeout_of_its_state),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
