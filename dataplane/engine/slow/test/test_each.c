/* SPDX-License-Identifier: Apache-2.0 */
/* An operation of this test's own, which decides packet by packet: each packet of a flow whose decision is
 * cached has it done to it, as one on the slow path has. */

#include "fixture.h"

#include "sn_execution.h"

#define REASON SN_REASON_CHAIN /* the sample's only one */
#define WIRE   127	       /* no operation of program.proto */
#define MARK   10

static struct {
	uint32_t left; /* packets that pass; the others are dropped, or marked */
	bool marks;
	bool has_entry; /* its state is the session that the packet used last */
	uint32_t calls;
	const struct sn_entry *entry; /* of the last call */
} limit;

/* The operation's act beyond the limit. */
struct beyond {
	bool marks;
	uint8_t dscp;
	uint32_t reason;
};

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	struct beyond *beyond = malloc(sizeof(*beyond));

	(void)from;
	assert_non_null(beyond);
	*beyond = (struct beyond){limit.marks, MARK, REASON};
	to->writes = limit.marks ? 1u << SN_DSCP : 0;
	return sn_build_operands(b, to, beyond);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_execution_each(x, p, op, limit.has_entry ? x->uses[x->n_uses - 1].entry : NULL);
}

static struct sn_verdict each(const struct sn_program *program, const struct sn_op *op,
			      struct sn_partition *partition, struct sn_entry *entry, struct sn_pkt *p,
			      uint64_t now)
{
	const struct beyond *beyond = program->operands[op->value];

	(void)now;
	assert_non_null(partition);
	limit.calls++;
	limit.entry = entry;
	if (limit.left > 0) {
		limit.left--;
		return sn_pass();
	}
	if (!beyond->marks)
		return sn_drop(beyond->reason);
	p->dscp = beyond->dscp;
	return sn_pass();
}

static const struct sn_operation test_limit = {
	.name = "test_limit",
	.wire = WIRE,
	.decode = decode,
	.execute = execute,
	.each = each,
};
SN_OPERATION(test_limit)

/* Appends an operation to the first leg of a segment's first class. */
static Sinter__Program__V1__Op *append(struct fixture *f, uint32_t segment, uint32_t op_case)
{
	Sinter__Program__V1__Leg *leg = f->msg->segments[segment]->classes[0]->legs[0];
	Sinter__Program__V1__Op **ops = sn_arena_alloc(&f->arena, (leg->n_ops + 1) * sizeof(*ops));
	Sinter__Program__V1__Op *op = sn_arena_alloc(&f->arena, sizeof(*op));

	sinter__program__v1__op__init(op);
	op->op_case = (Sinter__Program__V1__Op__OpCase)op_case;
	if (leg->n_ops)
		memcpy(ops, leg->ops, leg->n_ops * sizeof(*ops));
	ops[leg->n_ops++] = op;
	leg->ops = ops;
	return op;
}

static void append_set_dscp(struct fixture *f, uint32_t segment, uint32_t value)
{
	Sinter__Program__V1__SetField *s = sn_arena_alloc(&f->arena, sizeof(*s));

	sinter__program__v1__set_field__init(s);
	s->field = SINTER__PROGRAM__V1__FIELD__DSCP;
	s->value = value;
	append(f, segment, SINTER__PROGRAM__V1__OP__OP_SET)->set = s;
}

static uint64_t hits(const struct fixture *f)
{
	return sn_worker_stats(f->worker)->cache_hits;
}

/* Packets that met a segment's first class. */
static uint64_t met(const struct fixture *f, uint32_t segment)
{
	struct sn_count classes[64] = {0};

	sn_counts_add(sn_worker_counts(f->worker), classes, NULL, NULL);
	return classes[f->program->segments[segment].first_class].packets;
}

/* A flow whose decisions are cached in both directions; its return packets. */
static struct packet open_flow(struct fixture *f, const struct packet *out)
{
	struct packet in = {0};

	for (int i = 0; i < 3; i++) {
		send_packet(f, out);
		in = inward(out->proto, sport_of(assert_sent(f, 1)));
		in.flags = 0x10;
		send_packet(f, &in);
		assert_sent(f, 0);
	}
	return in;
}

static int open_limited(void **state)
{
	memset(&limit, 0, sizeof(limit));
	limit.left = 1000;
	return open_fixture(state);
}

static void packets_of_a_cached_flow_are_decided_one_by_one_and_counted_as_far_as_they_come(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000), in;
	uint64_t first, second, hit;

	append(f, 1, WIRE);
	load(f);
	in = open_flow(f, &out);
	hit = hits(f);
	first = met(f, 1);
	second = met(f, 2);
	limit.left = 3;
	for (int i = 0; i < 10; i++) {
		send_packet(f, &in);
		if (i < 3)
			assert_sent(f, 0);
		else
			assert_dropped(f, REASON);
	}
	assert_int_equal(hits(f), hit + 10);
	assert_int_equal(met(f, 1), first + 10);
	assert_int_equal(met(f, 2), second + 3);
	assert_null(limit.entry);
}

static void a_packet_that_is_dropped_keeps_no_session_alive(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;
	uint64_t hit;

	append(f, 0, WIRE);
	load(f);
	in = open_flow(f, &out);
	hit = hits(f);
	limit.left = 0;
	f->now += 200 * SECOND;
	send_packet(f, &out);
	assert_dropped(f, REASON);
	assert_int_equal(hits(f), hit + 1);
	f->now += 200 * SECOND;
	send_packet(f, &in);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
}

static void a_mark_is_written_with_its_checksum_decided_or_cached(void **state)
{
	static const uint8_t protocols[] = {SN_TCP, SN_UDP, SN_ICMP};
	struct fixture *f = *state;

	limit.marks = true;
	append_set_dscp(f, 0, 46);
	append(f, 0, WIRE);
	load(f);
	for (int i = 0; i < 3; i++) {
		struct packet out = outward(protocols[i], (uint16_t)(5000 + i));
		uint64_t hit;

		limit.left = 1000;
		open_flow(f, &out);
		hit = hits(f);
		limit.left = 1;
		for (int j = 0; j < 3; j++) {
			send_packet(f, &out);
			assert_int_equal(ip_of(assert_sent(f, 1))[1] >> 2, j == 0 ? 46 : MARK);
		}
		assert_int_equal(hits(f), hit + 3);
		out.sport += 100; /* a new flow */
		send_packet(f, &out);
		assert_int_equal(ip_of(assert_sent(f, 1))[1] >> 2, MARK);
	}
}

static void what_is_written_over_a_mark_stands(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000);

	limit.marks = true;
	append(f, 0, WIRE);
	append_set_dscp(f, 0, 46);
	load(f);
	open_flow(f, &out);
	limit.left = 1;
	for (int i = 0; i < 3; i++) {
		send_packet(f, &out);
		assert_int_equal(ip_of(assert_sent(f, 1))[1] >> 2, 46);
	}
}

/* In a segment marked packets are of its second class, all others of its first. */
static void read_the_mark(struct fixture *f, uint32_t segment)
{
	static uint32_t ranges[] = {MARK, MARK}, classes[] = {1, 0};
	static uint64_t required[] = {1, 0};
	Sinter__Program__V1__Table *table = f->msg->segments[segment]->table;
	Sinter__Program__V1__BitSet *bit = sn_arena_alloc(&f->arena, sizeof(*bit));

	sinter__program__v1__bit_set__init(bit);
	bit->field = SINTER__PROGRAM__V1__FIELD__DSCP;
	bit->n_ranges = 2;
	bit->ranges = ranges;
	table->n_dims = table->n_bounds = 0;
	table->n_bits = 1;
	table->bits = sn_arena_alloc(&f->arena, sizeof(bit));
	table->bits[0] = bit;
	table->n_required = table->n_classes = 2;
	table->required = required;
	table->classes = classes;
}

static void a_later_classification_sees_the_mark(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000), in;

	limit.marks = true;
	append(f, 1, WIRE);
	read_the_mark(f, 2);
	load(f);
	in = open_flow(f, &out);
	limit.left = 1;
	send_packet(f, &in);
	assert_sent(f, 0);
	send_packet(f, &in);
	assert_dropped(f, REASON); /* the sample's second class is */
}

static void each_packet_comes_to_the_entry_that_the_decision_named(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000);
	const struct sn_entry *entry;
	uint64_t hit;

	limit.has_entry = true;
	append(f, 0, WIRE);
	load(f);
	send_packet(f, &out);
	assert_sent(f, 1);
	entry = limit.entry;
	assert_non_null(entry);
	open_flow(f, &out);
	hit = hits(f);
	limit.entry = NULL;
	send_packet(f, &out);
	assert_sent(f, 1);
	assert_int_equal(hits(f), hit + 1);
	assert_ptr_equal(limit.entry, entry);
}

static void a_warm_up_does_nothing_to_packets_that_there_are_not(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000);
	uint32_t calls;
	uint64_t hit;

	append(f, 0, WIRE);
	load(f);
	open_flow(f, &out);
	calls = limit.calls;
	load_warmed_up(f);
	assert_int_equal(limit.calls, calls);
	hit = hits(f);
	limit.left = 1;
	send_packet(f, &out);
	assert_sent(f, 1);
	send_packet(f, &out);
	assert_dropped(f, REASON);
	assert_int_equal(hits(f), hit + 2);
}

#define EACH_TEST(name) cmocka_unit_test_setup_teardown(name, open_limited, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_TEST(packets_of_a_cached_flow_are_decided_one_by_one_and_counted_as_far_as_they_come),
		EACH_TEST(a_packet_that_is_dropped_keeps_no_session_alive),
		EACH_TEST(a_mark_is_written_with_its_checksum_decided_or_cached),
		EACH_TEST(what_is_written_over_a_mark_stands),
		EACH_TEST(a_later_classification_sees_the_mark),
		EACH_TEST(each_packet_comes_to_the_entry_that_the_decision_named),
		EACH_TEST(a_warm_up_does_nothing_to_packets_that_there_are_not),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
