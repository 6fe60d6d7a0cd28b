/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_classifier.h"
#include "sn_plain.h"

typedef Sinter__Program__V1__Program program_msg;

/* A fault of the sample program, and the message that names it. */
struct wrong {
	void (*spoil)(program_msg *msg);
	const char *says[2];
};

static uint32_t wild[] = {0, 7};
static Sinter__Program__V1__Field proto_dim[] = {SINTER__PROGRAM__V1__FIELD__PROTO};

static void schema(program_msg *m)
{
	m->schema = 9;
}

static void segment_index(program_msg *m)
{
	m->interfaces[1]->segment = 4;
}

static void prefix(program_msg *m)
{
	m->interfaces[0]->prefix_len = 33;
}

static void mtu(program_msg *m)
{
	m->interfaces[0]->mtu = 67;
}

static void mac(program_msg *m)
{
	m->interfaces[0]->neighbors[0]->mac.len = 5;
}

static void pool(program_msg *m)
{
	m->tables[0]->pool[0]->first++;
}

static void no_pool(program_msg *m)
{
	m->tables[0]->n_pool = 0;
}

static void ports(program_msg *m)
{
	m->tables[0]->port_max = 65536;
}

static void run_table(program_msg *m)
{
	m->runs[0]->table = 1;
}

static void run_segment(program_msg *m)
{
	m->runs[0]->segment = 4;
}

static void kind(program_msg *m)
{
	m->generators[0]->kind = 4;
}

static void type(program_msg *m)
{
	m->generators[0]->type = 256;
}

static void op_run(program_msg *m)
{
	m->segments[0]->classes[0]->legs[0]->ops[1]->state_forward = 1;
}

static void op_ttl(program_msg *m)
{
	m->segments[0]->classes[0]->legs[0]->ops[0]->add_ttl = -256;
}

static void op_empty(program_msg *m)
{
	m->segments[0]->classes[0]->legs[0]->ops[0]->op_case = 0;
}

static void output(program_msg *m)
{
	m->segments[0]->classes[0]->legs[0]->output = 2;
}

static void no_outcome(program_msg *m)
{
	m->segments[0]->classes[0]->legs[0]->outcome_case = 0;
}

static void state_return(program_msg *m)
{
	m->segments[1]->classes[0]->legs[0]->state_return = 1;
}

static void reason(program_msg *m)
{
	m->segments[0]->classes[1]->legs[0]->drop->chain = 1;
}

static void counter(program_msg *m)
{
	m->segments[0]->classes[0]->legs[0]->n_counters = 1;
	m->segments[0]->classes[0]->legs[0]->counters = wild;
}

static void no_legs(program_msg *m)
{
	m->segments[0]->classes[0]->n_legs = 0;
}

static void table_class(program_msg *m)
{
	m->segments[0]->table->classes[1] = 3;
}

static void table_bounds(program_msg *m)
{
	m->segments[0]->table->n_bounds = 3;
}

static void table_range(program_msg *m)
{
	m->segments[0]->table->bounds[3] = 65537;
}

static void table_dim(program_msg *m)
{
	m->segments[0]->table->dims = proto_dim;
}

static void table_missing(program_msg *m)
{
	m->segments[0]->table = NULL;
}

static void low_missing(program_msg *m)
{
	m->segments[0]->low = NULL;
}

static void bits(program_msg *m)
{
	static Sinter__Program__V1__BitSet set = SINTER__PROGRAM__V1__BIT_SET__INIT;
	static Sinter__Program__V1__BitSet *sets[] = {&set};
	static uint64_t required[] = {1, 2};

	set.field = SINTER__PROGRAM__V1__FIELD__PROTO;
	set.n_ranges = 2;
	set.ranges = wild;
	m->segments[0]->table->n_bits = 1;
	m->segments[0]->table->bits = sets;
	m->segments[0]->table->n_required = 2;
	m->segments[0]->table->required = required;
}

static const struct wrong wrongs[] = {
	{schema, {"schema is 9", "reads 2"}},
	{segment_index, {"interfaces[1] (outside)", "segment is 4, but there are only 4"}},
	{prefix, {"prefix_len is 33", "at most 32"}},
	{mtu, {"mtu is 67", "68..65535"}},
	{mac, {"neighbors[0]: mac has 5 bytes", "want 6"}},
	{pool, {"tables[0] (nat)", "ascending"}},
	{no_pool, {"tables[0] (nat)", "pool is empty"}},
	{ports, {"ports are 1024-65536", "up to 65535"}},
	{run_table, {"runs[0] (nat)", "table is 1, but there are only 1"}},
	{run_segment, {"runs[0] (nat)", "segment is 4"}},
	{kind, {"generators[0]", "kind is 4"}},
	{type, {"generators[0]", "type is 256"}},
	{op_run, {"segments[0] (inside): classes[0].legs[0]", "state_forward is 1"}},
	{op_ttl, {"add_ttl is -256", "-255..255"}},
	{op_empty, {"segments[0] (inside): classes[0].legs[0]", "operation is empty"}},
	{output, {"output is 2", "only 2"}},
	{no_outcome, {"segments[0] (inside): classes[0].legs[0]", "no outcome"}},
	{state_return, {"segments[1] (outside)", "state_return is 1"}},
	{reason, {"drop.chain is 1", "only 1"}},
	{counter, {"counters[0] is 0", "only 0"}},
	{no_legs, {"classes[0]: has 0 legs", "1..64"}},
	{table_class, {"segments[0] (inside): table", "classes[1] is 3"}},
	{table_bounds, {"3 bounds", "want 4"}},
	{table_range, {"dport 0-65537", "up to 65536"}},
	{table_dim, {"dims[0]: proto", "no dimension"}},
	{table_missing, {"segments[0] (inside): table", "is missing"}},
	{low_missing, {"segments[0] (inside): low", "is missing"}},
	{bits, {"box 1: requires a bit beyond", "1 bit sets"}},
};

static void a_wrong_program_is_refused_with_what_is_wrong_and_what_is_right(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		program_msg *msg = sn_sample_napt(&f->arena);

		wrongs[i].spoil(msg);
		f->err.text[0] = 0;
		if (sn_program_create(msg, NULL, &f->err))
			fail_msg("accepted, want: %s … %s", wrongs[i].says[0], wrongs[i].says[1]);
		for (int j = 0; j < 2; j++)
			if (!strstr(f->err.text, wrongs[i].says[j]))
				fail_msg("message is \"%s\", want \"%s\" in it", f->err.text,
					 wrongs[i].says[j]);
	}
}

static void values_that_no_table_tells_apart_share_an_atom(void **state)
{
	uint32_t ranges[2][4] = {{2, 2, 18, 18}, {16, 31}};
	Sinter__Program__V1__BitSet sets[2] = {SINTER__PROGRAM__V1__BIT_SET__INIT,
					       SINTER__PROGRAM__V1__BIT_SET__INIT};
	Sinter__Program__V1__BitSet *list[] = {&sets[0], &sets[1]};
	Sinter__Program__V1__Table table = SINTER__PROGRAM__V1__TABLE__INIT;
	uint16_t atoms[256] = {0};
	uint32_t count = 1;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sets[i].field = SINTER__PROGRAM__V1__FIELD__TCP_FLAGS;
		sets[i].ranges = ranges[i];
		sets[i].n_ranges = i ? 2 : 4;
	}
	table.bits = list;
	table.n_bits = 2;
	assert_int_equal(sn_atoms_refine(atoms, 256, &count, &table, SN_TCP_FLAGS), 0);
	assert_int_equal(count, 4);
	assert_int_equal(atoms[0], atoms[255]);
	assert_int_equal(atoms[16], atoms[31]);
	assert_int_not_equal(atoms[0], atoms[2]);
	assert_int_not_equal(atoms[16], atoms[18]);
	assert_int_not_equal(atoms[2], atoms[18]);
}

/* Every field as a bit set, addresses too: the class is 0 if all hold, else 1. */
struct range {
	enum sn_field field;
	uint32_t lo, hi;
};

/* A table of two classes: 0 is what is in all ranges. Each range is a set of bits. */
static void init_bits(struct sn_classifier *c, const struct range *want, uint32_t n)
{
	Sinter__Program__V1__BitSet sets[SN_FIELDS], *list[SN_FIELDS];
	Sinter__Program__V1__Table table = SINTER__PROGRAM__V1__TABLE__INIT;
	uint32_t ranges[SN_FIELDS][2], classes[] = {0, 1};
	uint64_t required[] = {(UINT64_C(1) << n) - 1, 0};
	struct sn_error err = {0};

	for (uint32_t i = 0; i < n; i++) {
		sinter__program__v1__bit_set__init(&sets[i]);
		sets[i].field = (Sinter__Program__V1__Field)want[i].field;
		ranges[i][0] = want[i].lo;
		ranges[i][1] = want[i].hi;
		sets[i].ranges = ranges[i];
		sets[i].n_ranges = 2;
		list[i] = &sets[i];
	}
	table.bits = list;
	table.n_bits = n;
	table.required = required;
	table.n_required = 2;
	table.classes = classes;
	table.n_classes = 2;
	if (sn_classifier_init(c, &table, 2, NULL, false, NULL, "table", &err))
		fail_msg("%s", err.text);
}

static void bits_are_read_of_every_field(void **state)
{
	static const struct range want[SN_FIELDS] = {{SN_VLAN, 7, SN_VLAN_ABSENT},
						     {SN_SRC, 0x0a000000, 0x0a0000ff},
						     {SN_DST, 5, UINT32_MAX},
						     {SN_PROTO, 6, 6},
						     {SN_DSCP, 0, 10},
						     {SN_TTL, 2, 255},
						     {SN_FRAG, 0, 0},
						     {SN_SPORT, 1024, 65535},
						     {SN_DPORT, 80, 80},
						     {SN_TCP_FLAGS, 2, 2},
						     {SN_ICMP_TYPE, 256, 256},
						     {SN_ICMP_CODE, 256, 256}};
	const struct sn_pkt good = {.vlan = SN_VLAN_ABSENT,
				    .src = 0x0a000001,
				    .dst = 0xffffffff,
				    .proto = 6,
				    .dscp = 10,
				    .ttl = 2,
				    .sport = 65535,
				    .dport = 80,
				    .tcp_flags = 2,
				    .icmp_type = 256,
				    .icmp_code = 256};
	struct sn_pkt bad[] = {good, good, good, good, good, good};
	struct sn_classifier c;
	uint32_t class;

	(void)state;
	init_bits(&c, want, SN_FIELDS);
	assert_false(c.plain.possible); /* addresses as bits */
	sn_classifier_lookup(&c, &good, (const uint8_t[]){0}, &class, 1);
	assert_int_equal(class, 0);
	bad[0].src = 0x0a000100;
	bad[1].dst = 4;
	bad[2].sport = SN_PORT_ABSENT;
	bad[3].vlan = 6;
	bad[4].tcp_flags = 18;
	bad[5].frag = 1;
	for (int i = 0; i < 6; i++) {
		sn_classifier_lookup(&c, bad, (const uint8_t[]){i}, &class, 1);
		assert_int_equal(class, 1);
	}
	sn_classifier_free(&c);
}

/* A table of 40 boxes over all dimensions, and bits of all fields that plain frames have. */
static void init_mixed(struct sn_classifier *c)
{
	static const struct range sets[] = {{SN_PROTO, 6, 6},	    {SN_DSCP, 8, 40},
					    {SN_TTL, 60, 255},	    {SN_FRAG, 0, 0},
					    {SN_TCP_FLAGS, 0, 20},  {SN_VLAN, 4096, 4096},
					    {SN_ICMP_CODE, 1, 256}, {SN_TCP_FLAGS, 256, 256}};
	static Sinter__Program__V1__Field dims[] = {
		SINTER__PROGRAM__V1__FIELD__DPORT, SINTER__PROGRAM__V1__FIELD__SRC,
		SINTER__PROGRAM__V1__FIELD__VLAN,  SINTER__PROGRAM__V1__FIELD__DST,
		SINTER__PROGRAM__V1__FIELD__TTL,   SINTER__PROGRAM__V1__FIELD__SPORT};
	Sinter__Program__V1__BitSet set[8], *list[8];
	Sinter__Program__V1__Table table = SINTER__PROGRAM__V1__TABLE__INIT;
	uint32_t ranges[8][2], classes[40], bounds[40][6][2];
	uint64_t required[40];
	struct sn_error err = {0};

	for (uint32_t i = 0; i < 8; i++) {
		sinter__program__v1__bit_set__init(&set[i]);
		set[i].field = (Sinter__Program__V1__Field)sets[i].field;
		ranges[i][0] = sets[i].lo;
		ranges[i][1] = sets[i].hi;
		set[i].ranges = ranges[i];
		set[i].n_ranges = 2;
		list[i] = &set[i];
	}
	for (uint32_t i = 0; i < 40; i++) {
		classes[i] = i;
		required[i] = i < 39 ? 1ull << dice(8) : 0;
		for (uint32_t d = 0; d < 6; d++) {
			uint32_t max = sn_field_max((enum sn_field)dims[d]);

			bounds[i][d][0] = i < 39 && dice(3) == 0 ? max / 4 : 0;
			bounds[i][d][1] = i < 39 && dice(3) == 0 ? max / 4 * 3 : max;
		}
	}
	table.dims = dims;
	table.n_dims = 6;
	table.bits = list;
	table.n_bits = 8;
	table.bounds = &bounds[0][0][0];
	table.n_bounds = 40 * 6 * 2;
	table.required = required;
	table.n_required = 40;
	table.classes = classes;
	table.n_classes = 40;
	if (sn_classifier_init(c, &table, 40, NULL, false, NULL, "table", &err))
		fail_msg("%s", err.text);
}

/* By the keys of plain frames or fragments, and by those of packets. */
static uint32_t class_both_ways(const struct sn_classifier *c, struct rte_mbuf *m, bool fragment)
{
	const uint8_t *frame = m->buf_addr;
	uint32_t as_frame, as_packet;
	struct sn_pkt k;

	if (fragment) {
		sn_parse_fragment(&k, m, 0);
		sn_classifier_lookup_fragments(c, &frame, &as_frame, 1);
	} else {
		sn_parse_plain(&k, m, 0);
		sn_classifier_lookup_plain(c, &frame, &as_frame, 1);
	}
	sn_classifier_lookup(c, &k, (const uint8_t[]){0}, &as_packet, 1);
	assert_int_equal(as_frame, as_packet);
	return as_frame;
}

static void plain_frames_are_classified_as_they_are_when_read(void **state)
{
	uint8_t buffer[sizeof(struct rte_mbuf) + FRAME_MAX] __attribute__((aligned(64))) = {0};
	struct rte_mbuf *m = (struct rte_mbuf *)buffer;
	uint32_t seen[2][40] = {0}, kinds[2] = {0};
	struct sn_classifier c;

	(void)state;
	init_mixed(&c);
	assert_true(c.plain.possible && c.fragments.possible);
	m->buf_addr = buffer + sizeof(*m);
	for (uint32_t round = 0; round < 40000; round++) {
		bool fragment = round % 2;
		struct packet p = {.proto = dice(2) ? SN_TCP : SN_UDP,
				   .src = dice(65536) << 16 | dice(65536),
				   .dst = dice(65536) << 16 | dice(65536),
				   .sport = (uint16_t)dice(65536),
				   .dport = (uint16_t)dice(65536),
				   .ttl = (uint8_t)(1 + dice(255)),
				   .dscp = (uint8_t)dice(64),
				   .flags = (uint8_t)dice(64),
				   .frag = fragment ? 1 + dice(0x1fff) : 0};

		if (fragment)
			p.proto = (uint8_t)dice(256);
		m->data_len = (uint16_t)write_frame(&p, m->buf_addr);
		kinds[fragment] += seen[fragment][class_both_ways(&c, m, fragment)]++ == 0;
	}
	assert_true(kinds[0] > 10 && kinds[1] > 3); /* few boxes are of packets without ports */
	sn_classifier_free(&c);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_wrong_program_is_refused_with_what_is_wrong_and_what_is_right),
		cmocka_unit_test(values_that_no_table_tells_apart_share_an_atom),
		cmocka_unit_test(bits_are_read_of_every_field),
		cmocka_unit_test(plain_frames_are_classified_as_they_are_when_read),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
