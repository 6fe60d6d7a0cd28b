/* SPDX-License-Identifier: Apache-2.0 */
/* An operation of this test's own whose state is of a shard that it tells itself. */

#include "threadless.h"

#include "sn_dispatch.h"
#include "sn_execution.h"

#define WORKERS 3
#define HOSTS	200
#define WIRE	126 /* no operation of program.proto */
#define MARKS	63  /* the same: writes DSCP, into some packets of a flow */

struct world {
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	struct sn_engine *engine;
	uint32_t worker; /* at work */
	uint32_t n_out, n_drops;
	uint32_t met[HOSTS];	/* packets of a host that came to the operation … */
	uint32_t met_elsewhere; /* … and those that did on a worker that had not the shard */
	bool destination;	/* operations decoded from now on are by it … */
	uint32_t prefix_len;	/* … and by such prefixes */
} world;

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	(void)b;
	(void)from;
	to->value = world.prefix_len << 1 | world.destination;
	return 0;
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	(void)p;
	return (struct sn_cut){.destination = op->value & 1, .prefix_len = (uint8_t)(op->value >> 1)};
}

static uint32_t shard_of(const struct sn_state *state, const struct sn_pkt *p, const struct sn_op *op)
{
	uint32_t len = op->value >> 1, prefix = (op->value & 1 ? p->dst : p->src) >> (32 - len) << (32 - len);

	return sn_prefix_shard(state, prefix, len);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	uint32_t shard = shard_of(x->state, p, op), host = (op->value & 1 ? p->dst : p->src) - SN_SAMPLE_HOST;

	if (!x->partition->owned[shard])
		return p->generated ? sn_pass() : sn_hand_over_to(shard);
	world.met_elsewhere += sn_state_owner(x->state, shard) != world.worker;
	if (host < HOSTS)
		world.met[host]++;
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_hand_over_to(shard_of(look->state, p, op));
}

static const struct sn_operation own = {
	.name = "test_own",
	.wire = WIRE,
	.traits = SN_OP_OWN_SHARD | SN_OP_UNCACHEABLE,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(own)

static int decode_marks(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	(void)b;
	(void)from;
	to->writes = 1u << SN_DSCP;
	return 0;
}

static struct sn_verdict execute_marks(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_execution_each(x, p, op, NULL);
}

static struct sn_verdict each_marks(const struct sn_program *program, const struct sn_op *op,
				    struct sn_partition *partition, struct sn_entry *entry, struct sn_pkt *p,
				    uint64_t now)
{
	(void)program;
	(void)op;
	(void)partition;
	(void)entry;
	(void)p;
	(void)now;
	return sn_pass();
}

static const struct sn_operation marks = {
	.name = "test_marks",
	.wire = MARKS,
	.decode = decode_marks,
	.execute = execute_marks,
	.each = each_marks,
};
SN_OPERATION(marks)

/* ---- programs ---- */

/* Appends an operation to the first leg of a class, or puts it before the others. */
static void insert(uint32_t segment, uint32_t class, uint32_t wire, bool first)
{
	Sinter__Program__V1__Leg *leg = world.msg->segments[segment]->classes[class]->legs[0];
	Sinter__Program__V1__Op **ops = sn_arena_alloc(&world.arena, (leg->n_ops + 1) * sizeof(*ops));
	Sinter__Program__V1__Op *op = sn_arena_alloc(&world.arena, sizeof(*op));

	sinter__program__v1__op__init(op);
	op->op_case = (Sinter__Program__V1__Op__OpCase)wire;
	if (leg->n_ops)
		memcpy(ops + first, leg->ops, leg->n_ops * sizeof(*ops));
	ops[first ? 0 : leg->n_ops] = op;
	leg->n_ops++;
	leg->ops = ops;
}

static void append(uint32_t segment, uint32_t wire)
{
	insert(segment, 0, wire, false);
}

static void append_set(uint32_t segment, uint32_t field, uint32_t value)
{
	Sinter__Program__V1__SetField *s = sn_arena_alloc(&world.arena, sizeof(*s));
	Sinter__Program__V1__Leg *leg = world.msg->segments[segment]->classes[0]->legs[0];

	sinter__program__v1__set_field__init(s);
	s->field = (Sinter__Program__V1__Field)field;
	s->value = value;
	append(segment, SINTER__PROGRAM__V1__OP__OP_SET);
	leg->ops[leg->n_ops - 1]->set = s;
}

/* In a segment what has DSCP 10 is of its second class. */
static void read_dscp(uint32_t segment)
{
	static uint32_t ranges[] = {10, 10}, classes[] = {1, 0};
	static uint64_t required[] = {1, 0};
	Sinter__Program__V1__Table *table = world.msg->segments[segment]->table;
	Sinter__Program__V1__BitSet *bit = sn_arena_alloc(&world.arena, sizeof(*bit));

	sinter__program__v1__bit_set__init(bit);
	bit->field = SINTER__PROGRAM__V1__FIELD__DSCP;
	bit->n_ranges = 2;
	bit->ranges = ranges;
	table->n_dims = table->n_bounds = 0;
	table->n_bits = 1;
	table->bits = sn_arena_alloc(&world.arena, sizeof(bit));
	table->bits[0] = bit;
	table->n_required = table->n_classes = 2;
	table->required = required;
	table->classes = classes;
}

static int open_with(void **state, Sinter__Program__V1__Program *(*msg)(struct sn_arena *))
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.prefix_len = 32;
	sn_arena_init(&world.arena);
	world.msg = msg(&world.arena);
	return 0;
}

/* The wire has no state but the operation's; a table that nothing uses stands for its. */
static int open_wire(void **state)
{
	const Sinter__Program__V1__Program *napt;

	open_with(state, sn_sample_wire);
	napt = sn_sample_napt(&world.arena);
	world.msg->tables = napt->tables;
	world.msg->n_tables = 1;
	return 0;
}

static int open_napt(void **state)
{
	return open_with(state, sn_sample_napt);
}

static int close_own(void **state)
{
	(void)state;
	sn_engine_free(world.engine);
	assert_int_equal(rte_mempool_in_use_count(buffers), 0);
	sn_arena_free(&world.arena);
	return 0;
}

static bool unpartitioned(void)
{
	struct sn_error err = {0};
	struct sn_program *p = sn_program_create(world.msg, NULL, &err);
	bool is;

	if (p == NULL)
		fail_msg("%s", err.text);
	is = p->unpartitioned[false][false];
	sn_program_free(p);
	return is;
}

static void by_destination(void)
{
	world.destination = true;
}

/* ---- packets ---- */

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx;
	(void)iface;
	for (uint16_t i = 0; i < n; i++)
		rte_pktmbuf_free(pkts[i]);
	world.n_out += n;
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	(void)ctx;
	(void)m;
	(void)source;
	fail_msg("dropped: %s", sn_reason_name(reason));
}

static void open_workers(struct sn_partitioning partitioning)
{
	struct sn_engine_config config = {
		.n_workers = WORKERS, .partitioning = partitioning, .tx = tx, .drop = drop};

	world.engine = create_threadless(config);
	sn_threads_set_now(sn_engine_threads(world.engine), 1000 * SECOND);
	load_threadless(world.engine, world.msg, NULL, 0);
}

static void settle(void)
{
	for (uint32_t quiet = 0; quiet < 2; quiet++)
		for (world.worker = 0; world.worker < WORKERS; world.worker++)
			if (sn_mailbox_poll(mailbox_of(world.engine, world.worker)))
				quiet = 0;
}

static void send_from(uint32_t host, uint32_t worker)
{
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[FRAME_MAX];
	struct rte_mbuf *m;

	p.src = SN_SAMPLE_HOST + host;
	m = buffer(frame, write_frame(&p, frame));
	world.worker = worker;
	sn_worker_burst(worker_of(world.engine, worker), 0, &m, 1, now_of(world.engine));
	settle();
}

static void all_hosts_send_to_all_workers(void)
{
	for (uint32_t host = 0; host < HOSTS; host++)
		for (uint32_t worker = 0; worker < WORKERS; worker++)
			send_from(host, worker);
}

static void packets_come_to_the_worker_of_their_shard(void **state)
{
	(void)state;
	append(0, WIRE);
	open_workers((struct sn_partitioning){0});
	assert_int_equal(sn_state_units(sn_engine_state(world.engine)), SN_SHARDS);
	all_hosts_send_to_all_workers();
	assert_int_equal(world.met_elsewhere, 0);
	assert_int_equal(world.n_out, HOSTS * WORKERS);
	for (uint32_t host = 0; host < HOSTS; host++)
		assert_int_equal(world.met[host], WORKERS);
}

static void a_shard_that_moves_takes_its_packets_along(void **state)
{
	(void)state;
	append(0, WIRE);
	open_workers((struct sn_partitioning){0});
	for (uint32_t unit = 0; unit < SN_SHARDS; unit += 7) {
		uint32_t to = (sn_state_owner(sn_engine_state(world.engine), unit) + 1) % WORKERS;
		struct sn_error err;
		uint64_t blocked;

		assert_int_equal(sn_shards_move(sn_engine_shards(world.engine), unit, to, &blocked, &err), 0);
	}
	all_hosts_send_to_all_workers();
	assert_int_equal(world.met_elsewhere, 0);
	assert_int_equal(world.n_out, HOSTS * WORKERS);
}

/* Shards by address are those of the device's rules, or of the lowest bits that a prefix has. */
static void prefixes_spread_over_shards(void **state)
{
	static const struct sn_partitioning cuts[] = {
		{SN_PARTITION_BY_HOST, 0}, {SN_PARTITION_BY_RSS, 0}, {SN_PARTITION_BY_ADDRESS, 2}};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct sn_state *s = sn_state_create(5, 1, cuts[i]);
		uint32_t seen[SN_SHARDS] = {0}, n = 0;

		for (uint32_t j = 0; j < 4 * SN_SHARDS; j++)
			n += seen[sn_prefix_shard(s, 0x0a000000 + (j << 8), 24)]++ == 0;
		assert_true(n > SN_SHARDS * 9 / 10);
		if (cuts[i].by == SN_PARTITION_BY_ADDRESS)
			assert_int_equal(sn_prefix_shard(s, 0x0a000014, 32), 5);
		sn_state_free(s);
	}
}

/* ---- which programs can be cut ---- */

static void alone_they_can_be_cut(void **state)
{
	(void)state;
	append(0, WIRE);
	assert_false(unpartitioned());
	append(0, WIRE);
	assert_false(unpartitioned()); /* both have the same shard */
	by_destination();
	append(1, WIRE);
	assert_false(unpartitioned()); /* no packet comes to all of them */
}

static void two_shards_on_one_way_cannot(void **state)
{
	(void)state;
	append(0, WIRE);
	insert(0, 0, WIRE, true);
	assert_false(unpartitioned());
	append_set(0, SINTER__PROGRAM__V1__FIELD__SRC, SN_SAMPLE_POOL);
	assert_false(unpartitioned());
	append(0, WIRE); /* another source than that of the first */
	assert_true(unpartitioned());
}

/* The operation is decoded when the program is made: all of one make the same. */
static void a_source_and_a_destination_on_one_way_cannot(void **state)
{
	(void)state;
	append(0, WIRE);
	append_set(0, SINTER__PROGRAM__V1__FIELD__DST, SN_SAMPLE_GATEWAY);
	assert_false(unpartitioned());
	append(0, WIRE);
	assert_false(unpartitioned());
	by_destination();
	assert_true(unpartitioned());
}

static void beside_a_flow_s_state_they_cannot(void **state)
{
	(void)state;
	assert_false(unpartitioned());
	insert(0, 0, WIRE, true);
	assert_true(unpartitioned());
}

static void behind_a_way_back_they_cannot(void **state)
{
	(void)state;
	append(2, WIRE);
	assert_true(unpartitioned());
}

static void what_is_discarded_meets_no_flow_s_state(void **state)
{
	(void)state;
	insert(0, 1, WIRE, true);
	assert_false(unpartitioned());
}

static void a_mark_that_decides_about_state_cannot(void **state)
{
	Sinter__Program__V1__Class **two;
	Sinter__Program__V1__Leg *leg;

	(void)state;
	/* From segment 0, where packets are marked, they go on to segment 1, which reads the mark. */
	append(0, MARKS);
	leg = world.msg->segments[0]->classes[0]->legs[0];
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	leg->segment = 1;
	append(1, WIRE);
	assert_false(unpartitioned());
	two = sn_arena_alloc(&world.arena, 2 * sizeof(*two));
	two[0] = two[1] = world.msg->segments[1]->classes[0];
	world.msg->segments[1]->classes = two;
	world.msg->segments[1]->n_classes = 2;
	read_dscp(1);
	assert_true(unpartitioned());
}

/* The first interface's packets are answered; the answers' segment gives them two sources, and asks for the
 * state of both. */
static void answer_all(void)
{
	const Sinter__Program__V1__Program *napt = sn_sample_napt(&world.arena);
	Sinter__Program__V1__Leg *leg = world.msg->segments[0]->classes[0]->legs[0];

	world.msg->generators = napt->generators;
	world.msg->n_generators = 1;
	world.msg->generators[0]->segment = 1;
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR;
	leg->generator = 0;
	world.msg->interfaces[1]->segment = 0;
	append(1, WIRE);
	append_set(1, SINTER__PROGRAM__V1__FIELD__SRC, SN_SAMPLE_POOL);
	append(1, WIRE);
}

/* It needs the state as any packet then: it comes back, and nobody made it there. */
static void an_answer_is_none_behind_a_stop(void **state)
{
	Sinter__Program__V1__Leg *leg;

	(void)state;
	answer_all();
	assert_false(unpartitioned());
	leg = world.msg->segments[1]->classes[0]->legs[0];
	sn_sample_stop(&world.arena, world.msg, leg);
	assert_false(unpartitioned());
	*world.msg->segments[leg->stop->segment]->classes[0]->legs[0] =
		(Sinter__Program__V1__Leg){.base = leg->base,
					   .n_ops = leg->n_ops,
					   .ops = leg->ops,
					   .outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT};
	leg->n_ops = 0;
	assert_true(unpartitioned());
}

static void a_source_that_a_stop_may_write_tells_no_shard_behind_it(void **state)
{
	Sinter__Program__V1__Leg *leg = world.msg->segments[0]->classes[0]->legs[0];
	Sinter__Program__V1__Stop *stop;

	(void)state;
	append(0, WIRE);
	stop = sn_sample_stop(&world.arena, world.msg, leg);
	append(stop->segment, WIRE);
	stop->writes = 1u << SN_DST | 1u << SN_TTL;
	assert_false(unpartitioned());
	stop->writes = 1u << SN_SRC;
	assert_true(unpartitioned());
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, open_wire, close_own)
#define NAPT_TEST(test) cmocka_unit_test_setup_teardown(test, open_napt, close_own)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WIRE_TEST(packets_come_to_the_worker_of_their_shard),
		WIRE_TEST(a_shard_that_moves_takes_its_packets_along),
		WIRE_TEST(prefixes_spread_over_shards),
		WIRE_TEST(alone_they_can_be_cut),
		WIRE_TEST(two_shards_on_one_way_cannot),
		WIRE_TEST(a_source_and_a_destination_on_one_way_cannot),
		NAPT_TEST(beside_a_flow_s_state_they_cannot),
		NAPT_TEST(behind_a_way_back_they_cannot),
		NAPT_TEST(what_is_discarded_meets_no_flow_s_state),
		WIRE_TEST(a_mark_that_decides_about_state_cannot),
		WIRE_TEST(an_answer_is_none_behind_a_stop),
		WIRE_TEST(a_source_that_a_stop_may_write_tells_no_shard_behind_it),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
