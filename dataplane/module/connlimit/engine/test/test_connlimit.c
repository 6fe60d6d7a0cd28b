/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of hosts: as a kind of state, and what becomes of packets. */

#include "fixture.h"
#include "kinds.h"

#include "sn_connlimit.h"
#include "sn_subscribers.h"
#include "sn_tcp.h"

#define LIMIT SN_REASON_CHAIN
#define FULL  (SN_REASON_CHAIN + 1)
#define MANY  1000000u

enum { INSIDE, OUTSIDE };

/* ---- programs ---- */

static void connect_in(struct sn_arena *arena, Sinter__Program__V1__Program *msg, uint32_t side)
{
	Sinter__Program__V1__Leg *leg = msg->segments[side]->classes[0]->legs[0];
	Sinter__Program__V1__Op **ops = sn_arena_alloc(arena, sizeof(*ops));
	Sinter__Program__V1__Connect *connect = sn_arena_alloc(arena, sizeof(*connect));

	sinter__program__v1__connect__init(connect);
	connect->full = 1;
	connect->from_outside = side == OUTSIDE;
	ops[0] = sn_arena_alloc(arena, sizeof(**ops));
	sinter__program__v1__op__init(ops[0]);
	ops[0]->op_case = SINTER__PROGRAM__V1__OP__OP_CONNECT;
	ops[0]->connect = connect;
	leg->ops = ops;
	leg->n_ops = 1;
}

/* The sample wire, of whose host connections are bounded: so many of one, so many of all. */
static Sinter__Program__V1__Program *limited_wire(struct sn_arena *arena, uint32_t per_host, uint32_t max)
{
	static char *reasons[] = {(char *)"conns/limit", (char *)"conns/full"};
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));
	Sinter__Program__V1__ConnectionLimit *c = sn_arena_alloc(arena, sizeof(*c));
	Sinter__Program__V1__SubscriberLimits *hosts = sn_arena_alloc(arena, sizeof(*hosts));

	sinter__program__v1__state_table__init(table);
	sinter__program__v1__connection_limit__init(c);
	sinter__program__v1__subscriber_limits__init(hosts);
	hosts->name = table->name = (char *)"conns";
	hosts->prefix_len = 32;
	hosts->max_sessions = per_host;
	c->tcp_ms = 100000;
	c->tcp_transitory_ms = c->udp_ms = 20000;
	c->tcp_closing_ms = 1000;
	c->icmp_ms = 5000;
	c->subscribers = 1;
	table->connection_limit = c;
	table->max_sessions = max;
	msg->n_tables = msg->n_subscribers = 1;
	msg->tables = sn_arena_alloc(arena, sizeof(table));
	msg->tables[0] = table;
	msg->subscribers = sn_arena_alloc(arena, sizeof(hosts));
	msg->subscribers[0] = hosts;
	msg->n_reasons = 2;
	msg->reasons = reasons;
	connect_in(arena, msg, INSIDE);
	connect_in(arena, msg, OUTSIDE);
	return msg;
}

/* ---- as a kind ---- */

static Sinter__Program__V1__Program *unbounded(struct sn_arena *arena)
{
	return limited_wire(arena, MANY, 5000);
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

static struct sn_entry *get(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
			    uint64_t now)
{
	struct sn_flow f = numbered(i);
	struct sn_session *s = sn_connlimit_find(partition, 0, shard, &f, false, now);

	if (!s && make)
		sn_connlimit_begin(partition, 0, shard, &f, now, &s);
	return s ? &s->entry : NULL;
}

static const struct kind_case by_host = {
	.program = unbounded,
	.idle_ns = 20 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = kind_flow_use,
	.alike = kind_flows_alike,
};

static const struct kind_case by_rss = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = unbounded,
	.idle_ns = 20 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = kind_flow_use,
	.alike = kind_flows_alike,
};

static const struct kind_case by_address = {
	.partitioning = {SN_PARTITION_BY_ADDRESS, 2},
	.program = unbounded,
	.idle_ns = 20 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = kind_flow_use,
	.alike = kind_flows_alike,
};

/* ---- packets ---- */

static void load_limit(struct fixture *f, uint32_t per_host, uint32_t max)
{
	f->msg = limited_wire(&f->arena, per_host, max);
	load(f);
}

static struct packet out(uint8_t proto, uint32_t host, uint16_t port)
{
	return (struct packet){.iface = INSIDE,
			       .proto = proto,
			       .flags = SN_TCP_SYN,
			       .src = SN_SAMPLE_HOST + host,
			       .dst = SN_SAMPLE_REMOTE,
			       .sport = port,
			       .dport = 80};
}

static struct packet back(struct packet p, uint8_t flags)
{
	return (struct packet){.iface = OUTSIDE,
			       .proto = p.proto,
			       .flags = flags,
			       .src = p.dst,
			       .dst = p.src,
			       .sport = p.dport,
			       .dport = p.sport};
}

static void passes(struct fixture *f, struct packet p)
{
	send_packet(f, &p);
	assert_sent(f, !p.iface);
}

static void is_dropped(struct fixture *f, struct packet p, uint32_t reason)
{
	send_packet(f, &p);
	assert_dropped(f, reason);
}

/* The host's connections, and packets that were refused. */
static struct sn_subscriber host_of(const struct fixture *f, uint32_t host)
{
	struct sn_subscriber heaviest[10];
	uint64_t all;
	uint32_t n = sn_subscribers_heaviest(sn_state_subscribers(f->state), 0, heaviest, 10, &all);

	for (uint32_t i = 0; i < n; i++)
		if (heaviest[i].prefix == SN_SAMPLE_HOST + host)
			return heaviest[i];
	return (struct sn_subscriber){0};
}

static void a_host_has_so_many_connections_and_others_have_theirs(void **state)
{
	struct fixture *f = *state;

	load_limit(f, 3, 1000);
	for (uint16_t port = 1000; port < 1003; port++)
		passes(f, out(SN_UDP, 0, port));
	is_dropped(f, out(SN_UDP, 0, 1003), LIMIT);
	is_dropped(f, out(SN_TCP, 0, 1003), LIMIT);
	passes(f, out(SN_UDP, 0, 1001)); /* it has this one */
	passes(f, out(SN_UDP, 1, 1003));
	assert_int_equal(host_of(f, 0).sessions, 3);
	assert_int_equal(host_of(f, 0).refused, 2);
	assert_int_equal(host_of(f, 1).sessions, 1);
}

static void a_table_that_is_full_takes_no_more(void **state)
{
	struct fixture *f = *state;
	uint32_t made = 0;

	load_limit(f, 100, 8);
	for (uint16_t port = 1000; port < 1020; port++) {
		struct packet p = out(SN_UDP, 0, port);

		send_packet(f, &p);
		made += f->n_out;
		assert_true(f->n_out == 1 || (f->n_drops == 1 && f->drops[0].reason == FULL));
	}
	assert_int_equal(made, 8);
	assert_int_equal(host_of(f, 0).sessions, 8);
}

static void connections_that_end_count_no_more(void **state)
{
	struct fixture *f = *state;
	struct packet syn = out(SN_TCP, 0, 1000), ack = syn;

	load_limit(f, 1, 1000);
	ack.flags = SN_TCP_ACK;
	passes(f, syn);
	passes(f, back(syn, SN_TCP_SYN | SN_TCP_ACK));
	passes(f, ack);
	is_dropped(f, out(SN_TCP, 0, 1001), LIMIT);
	tick(f, 99 * SECOND); /* it is established */
	is_dropped(f, out(SN_TCP, 0, 1001), LIMIT);
	passes(f, back(syn, SN_TCP_FIN | SN_TCP_ACK));
	tick(f, SECOND - MS);
	is_dropped(f, out(SN_TCP, 0, 1001), LIMIT);
	tick(f, 2 * MS);
	passes(f, out(SN_TCP, 0, 1001));
	tick(f, 21 * SECOND); /* it was never answered */
	passes(f, out(SN_UDP, 0, 1001));
}

static void what_begins_no_connection_passes_uncounted(void **state)
{
	static const uint8_t later[] = {SN_TCP_ACK, SN_TCP_RST, SN_TCP_FIN | SN_TCP_ACK,
					SN_TCP_SYN | SN_TCP_ACK};
	struct fixture *f = *state;
	struct packet p = out(SN_UDP, 0, 1000);

	load_limit(f, 1, 1000);
	passes(f, back(p, 0));
	passes(f, back(out(SN_TCP, 0, 1000), SN_TCP_SYN));
	for (uint32_t i = 0; i < RTE_DIM(later); i++) {
		p = out(SN_TCP, 0, 1000);
		p.flags = later[i];
		passes(f, p);
	}
	p = out(SN_UDP, 0, 1000);
	p.frag = 0x2000;
	p.payload_len = 24;
	passes(f, p);
	p = out(SN_ICMP, 0, 1000);
	p.type = SN_ICMP_ECHO_REPLY;
	passes(f, p);
	assert_int_equal(host_of(f, 0).sessions, 0);
	p.type = SN_ICMP_ECHO_REQUEST;
	passes(f, p);
	assert_int_equal(host_of(f, 0).sessions, 1);
}

/* Decisions forget a connection when it ends. */
static void known_packets_of_both_directions_keep_a_connection(void **state)
{
	struct fixture *f = *state;
	struct packet p = out(SN_UDP, 0, 1000);

	load_limit(f, 1, 1000);
	for (uint32_t i = 0; i < 10; i++) {
		passes(f, p);
		tick(f, 15 * SECOND);
		passes(f, back(p, 0));
		tick(f, 15 * SECOND);
		is_dropped(f, out(SN_UDP, 0, 1001), LIMIT);
	}
	tick(f, 6 * SECOND);
	passes(f, out(SN_UDP, 0, 1001));
	is_dropped(f, p, LIMIT);
}

/* Connections beyond a lower limit stay; those of a host that shares a longer prefix no more are its own. */
static void limits_change_and_connections_stay(void **state)
{
	struct fixture *f = *state;

	load_limit(f, 4, 1000);
	for (uint16_t port = 1000; port < 1004; port++)
		passes(f, out(SN_UDP, 0, port));
	passes(f, out(SN_UDP, 1, 1000));
	load_limit(f, 2, 1000);
	assert_int_equal(f->kept, 5);
	assert_int_equal(host_of(f, 0).sessions, 4);
	passes(f, out(SN_UDP, 0, 1003));
	is_dropped(f, out(SN_UDP, 0, 1004), LIMIT);
	f->msg = limited_wire(&f->arena, 5, 1000);
	f->msg->subscribers[0]->prefix_len = 24;
	load(f);
	assert_int_equal(f->kept, 5);
	is_dropped(f, out(SN_UDP, 1, 1001), LIMIT); /* five have the prefix */
	load_limit(f, 5, 1000);
	passes(f, out(SN_UDP, 1, 1001));
}

static void wrong_programs_are_refused(void **state)
{
	struct fixture *f = *state;
	struct sn_error err = {0};

	f->msg = limited_wire(&f->arena, 1, 1000);
	f->msg->tables[0]->connection_limit->subscribers = 2;
	assert_null(sn_program_create(f->msg, NULL, &err));
	assert_string_equal(err.text, "tables[0] (conns): subscribers is 2, want 1..1");
	f->msg = limited_wire(&f->arena, 1, 1000);
	f->msg->subscribers[0]->max_ports = 1;
	assert_null(sn_program_create(f->msg, NULL, &err));
	assert_string_equal(err.text,
			    "tables[0] (conns): subscribers is 1 (conns), whose max_ports is 1, want 0");
	f->msg = limited_wire(&f->arena, 1, 1000);
	f->msg->tables[0]->connection_limit->tcp_closing_ms = 0;
	assert_null(sn_program_create(f->msg, NULL, &err));
	assert_string_equal(err.text, "tables[0] (conns): tcp_closing_ms is 0, want at least 1");
}

#define PACKET_TEST(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(by_host),
		KIND_TESTS(by_rss),
		KIND_TESTS(by_address),
		PACKET_TEST(a_host_has_so_many_connections_and_others_have_theirs),
		PACKET_TEST(a_table_that_is_full_takes_no_more),
		PACKET_TEST(connections_that_end_count_no_more),
		PACKET_TEST(what_begins_no_connection_passes_uncounted),
		PACKET_TEST(known_packets_of_both_directions_keep_a_connection),
		PACKET_TEST(limits_change_and_connections_stay),
		PACKET_TEST(wrong_programs_are_refused),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
