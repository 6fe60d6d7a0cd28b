/* SPDX-License-Identifier: Apache-2.0 */
/* Plain packets that are followed over several segments, and plain fragments, leave as those do that go
 * through segments one by one. */

#include "fixture.h"

#include "sn_follow.h"

#define SEGMENTS_MAX 8
#define CLASSES_MAX  6
#define BOXES_MAX    60
#define COUNTERS     5
#define REASONS	     3
#define HEADERS	     150
#define HOP(i)	     (SN_SAMPLE_GATEWAY + 10 + (i)) /* next hops: neighbours of both interfaces … */
#define HOPS	     3
#define UNKNOWN_HOP  HOP(HOPS) /* … and one that is none */

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__Segment segment_msg;
typedef Sinter__Program__V1__Table table_msg;
typedef Sinter__Program__V1__Class class_msg;
typedef Sinter__Program__V1__Leg leg_msg;
typedef Sinter__Program__V1__Op op_msg;

#define NEW(arena, name) sn_sample_message(arena, &sinter__program__v1__##name##__descriptor)

static void *list(struct sn_arena *arena, size_t n)
{
	return sn_arena_alloc(arena, (n + 1) * sizeof(void *));
}

/* ---- programs ---- */

static void add_ttl(struct sn_arena *arena, leg_msg *leg, int32_t by)
{
	op_msg *op = leg->ops[leg->n_ops++] = NEW(arena, op);

	op->op_case = SINTER__PROGRAM__V1__OP__OP_ADD_TTL;
	op->add_ttl = by;
}

static void note_hop(struct sn_arena *arena, leg_msg *leg, uint32_t hop)
{
	op_msg *op = leg->ops[leg->n_ops++] = NEW(arena, op);

	op->op_case = SINTER__PROGRAM__V1__OP__OP_NEXT_HOP;
	op->next_hop = hop;
}

static void set_dscp(struct sn_arena *arena, leg_msg *leg, uint32_t value)
{
	op_msg *op = leg->ops[leg->n_ops++] = NEW(arena, op);

	op->op_case = SINTER__PROGRAM__V1__OP__OP_SET;
	op->set = NEW(arena, set_field);
	op->set->field = SINTER__PROGRAM__V1__FIELD__DSCP;
	op->set->value = value;
}

static void count(struct sn_arena *arena, leg_msg *leg, uint32_t n)
{
	leg->counters = sn_arena_alloc(arena, (n + 1) * sizeof(*leg->counters));
	for (leg->n_counters = 0; leg->n_counters < n; leg->n_counters++)
		leg->counters[leg->n_counters] = dice(COUNTERS);
}

static leg_msg *new_leg(struct sn_arena *arena)
{
	leg_msg *leg = NEW(arena, leg);

	leg->ops = list(arena, 8);
	return leg;
}

static leg_msg *lead_to(leg_msg *leg, uint32_t segment)
{
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	leg->segment = segment;
	return leg;
}

static leg_msg *put_out(leg_msg *leg, uint32_t iface)
{
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT;
	leg->output = iface;
	return leg;
}

static leg_msg *drop_for(struct sn_arena *arena, leg_msg *leg, uint32_t reason)
{
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_DROP;
	leg->drop = NEW(arena, drop);
	leg->drop->reason_case = SINTER__PROGRAM__V1__DROP__REASON_CHAIN;
	leg->drop->chain = reason;
	return leg;
}

static void add_class(struct sn_arena *arena, segment_msg *s, leg_msg *leg)
{
	class_msg *class = s->classes[s->n_classes++] = NEW(arena, class);

	class->legs = list(arena, 2);
	class->legs[class->n_legs++] = leg;
}

/* n boxes of ranges in the fields; the last one is everything. */
static table_msg *table_of(struct sn_arena *arena, const Sinter__Program__V1__Field *fields,
			   uint32_t n_fields, uint32_t n)
{
	table_msg *t = NEW(arena, table);

	t->dims = (Sinter__Program__V1__Field *)(uintptr_t)fields;
	t->n_dims = n_fields;
	t->bounds = sn_arena_alloc(arena, n * n_fields * 2 * sizeof(*t->bounds));
	t->classes = sn_arena_alloc(arena, n * sizeof(*t->classes));
	t->n_classes = n;
	for (uint32_t i = 0; i < n * n_fields; i++) {
		t->bounds[t->n_bounds++] = 0;
		t->bounds[t->n_bounds++] = sn_field_max((enum sn_field)fields[i % n_fields]);
	}
	return t;
}

/* The headers that packets have, of which tables tell some apart. */
static uint32_t some_address(void)
{
	return 0xc6336400u + dice(256);
}

static uint32_t some_port(void)
{
	return 1000 + dice(64);
}

/* A value that packets have of a field, or a little less or more. */
static uint32_t some_value(enum sn_field field)
{
	return field == SN_TTL ? dice(70) : field == SN_SRC || field == SN_DST ? some_address() : some_port();
}

static table_msg *random_table(struct sn_arena *arena, uint32_t n_classes)
{
	static const Sinter__Program__V1__Field fields[] = {
		SINTER__PROGRAM__V1__FIELD__TTL, SINTER__PROGRAM__V1__FIELD__SRC,
		SINTER__PROGRAM__V1__FIELD__DST, SINTER__PROGRAM__V1__FIELD__SPORT,
		SINTER__PROGRAM__V1__FIELD__DPORT};
	uint32_t first = dice(8) == 0 ? 0 : 1 + dice(4), n_fields = 1 + dice(RTE_DIM(fields) - first);
	uint32_t n = 1 + dice(BOXES_MAX);
	table_msg *t = table_of(arena, fields + first, n_fields, n);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t *bounds = &t->bounds[i * n_fields * 2];

		t->classes[i] = dice(n_classes);
		for (uint32_t d = 0; d < n_fields && i < n - 1; d++) {
			if (dice(3) == 0)
				continue;
			bounds[2 * d] = some_value((enum sn_field)fields[first + d]);
			bounds[2 * d + 1] =
				bounds[2 * d] +
				dice(fields[first + d] == SINTER__PROGRAM__V1__FIELD__SRC ? 80 : 20);
		}
	}
	return t;
}

/* Make a class that is not simple: one leg too many, or a field. */
static void complicate(struct sn_arena *arena, class_msg *class)
{
	leg_msg *leg = class->legs[0];

	if (dice(2) == 0)
		set_dscp(arena, leg, dice(64));
	else if (leg->outcome_case != SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT)
		class->legs[class->n_legs++] = put_out(new_leg(arena), dice(2));
}

static void random_class(struct sn_arena *arena, segment_msg *s, uint32_t number, uint32_t n_segments)
{
	leg_msg *leg = new_leg(arena);
	uint32_t what = dice(10), behind = n_segments - number - 1;
	bool back = dice(5) == 0; /* which has to lower the TTL */

	if (back || dice(2) == 0)
		add_ttl(arena, leg, -(int32_t)(1 + dice(2)));
	if (dice(3) == 0)
		note_hop(arena, leg, dice(3) == 0 ? 0 : HOP(dice(HOPS)));
	count(arena, leg, dice(2) == 0 ? dice(4) : 0);
	if (what < 6 && back)
		lead_to(leg, dice(n_segments));
	else if (what < 6 && behind > 0)
		lead_to(leg, number + 1 + dice(behind));
	else if (what < 9)
		put_out(leg, dice(4) > 0);
	else
		drop_for(arena, leg, dice(REASONS));
	add_class(arena, s, leg);
	if (dice(15) == 0)
		complicate(arena, s->classes[s->n_classes - 1]);
}

/* A segment of its own: packets with a low TTL are told apart by others than those with a high one. */
static segment_msg *random_segment(struct sn_arena *arena, uint32_t number, uint32_t n_segments)
{
	segment_msg *s = NEW(arena, segment);
	uint32_t n = 1 + dice(CLASSES_MAX);

	s->name = (char *)"any";
	s->classes = list(arena, n);
	for (uint32_t i = 0; i < n; i++)
		random_class(arena, s, number, n_segments);
	s->table = random_table(arena, n);
	s->ttl_floor = 2 + dice(3);
	s->whole_only = dice(2) == 0;
	s->low = random_table(arena, n);
	return s;
}

static void add_hops(struct sn_arena *arena, Sinter__Program__V1__Interface *to)
{
	static uint8_t macs[HOPS][6];
	Sinter__Program__V1__Neighbor *first = to->neighbors[0];

	to->neighbors = list(arena, HOPS + 1);
	to->neighbors[0] = first;
	for (uint32_t i = 0; i < HOPS; i++) {
		Sinter__Program__V1__Neighbor *n = NEW(arena, neighbor);

		memcpy(macs[i], (const uint8_t[]){2, 0xbb, 0, 0, 0, (uint8_t)i}, 6);
		n->address = HOP(i);
		n->mac = (ProtobufCBinaryData){6, macs[i]};
		to->neighbors[to->n_neighbors++] = n;
	}
}

/* The sample wire, with further next hops, and room for segments. */
static program_msg *new_program(struct sn_arena *arena, uint32_t n_segments)
{
	static char *counters[] = {(char *)"a", (char *)"b", (char *)"c", (char *)"d", (char *)"e"},
		    *reasons[] = {(char *)"x", (char *)"y", (char *)"z"};
	program_msg *p = sn_sample_wire(arena);

	_Static_assert(RTE_DIM(counters) == COUNTERS && RTE_DIM(reasons) == REASONS, "each has a name");
	for (uint32_t i = 0; i < p->n_interfaces; i++)
		add_hops(arena, p->interfaces[i]);
	p->interfaces[1]->mtu = 200;
	p->interfaces[0]->gateway = SN_SAMPLE_HOST;
	p->interfaces[1]->segment = 0;
	p->counters = counters;
	p->n_counters = COUNTERS;
	p->reasons = reasons;
	p->n_reasons = REASONS;
	p->segments = list(arena, n_segments);
	p->n_segments = 0;
	return p;
}

/* ---- packets ---- */

static struct packet some_whole_packet(void)
{
	return (struct packet){
		.proto = dice(2) ? SN_UDP : SN_TCP,
		.ttl = (uint8_t)(dice(4) ? 64 : 1 + dice(20)),
		.dscp = (uint8_t)dice(4),
		.src = some_address(),
		.dst = some_address(),
		.sport = (uint16_t)some_port(),
		.dport = (uint16_t)some_port(),
		.flags = 0x10,
		.payload_len = dice(20) ? 30 : 300, /* more than one interface takes */
	};
}

/* Now and then a fragment, most often not the first one of its datagram. */
static struct packet some_packet(void)
{
	struct packet p = some_whole_packet();

	p.frag = dice(4) ? 0 : dice(3) ? 1 + dice(0x1fff) : 0x2000;
	return p;
}

/* The same packet, with one more option: it is not plain, and goes segment by segment. */
static struct packet with_option(const struct packet *p)
{
	struct packet other = *p;

	other.options++;
	return other;
}

/* The packets that left are the same, but for the option. */
static void assert_alike(const struct fixture *f, const struct fixture *g)
{
	assert_int_equal(f->n_out, g->n_out);
	assert_int_equal(f->n_drops, g->n_drops);
	for (uint32_t i = 0; i < f->n_drops; i++) {
		assert_int_equal(f->drops[i].source, g->drops[i].source);
		assert_int_equal(f->drops[i].reason, g->drops[i].reason);
	}
	for (uint32_t i = 0; i < f->n_out; i++) {
		const struct sent *a = &f->out[i], *b = &g->out[i];

		assert_int_equal(a->source, b->source);
		assert_int_equal(a->iface, b->iface);
		assert_int_equal(a->len + 4, b->len);
		assert_memory_equal(a->data, b->data, 12); /* the next hop */
		assert_int_equal(ip_of(a->data)[1], ip_of(b->data)[1]);
		assert_int_equal(ip_of(a->data)[8], ip_of(b->data)[8]);
		assert_memory_equal(ip_of(a->data) + 12, ip_of(b->data) + 12, 8);
		assert_memory_equal(l4_of(a->data), l4_of(b->data), 8);
		assert_checksums(a->data, a->len);
	}
}

struct counted {
	struct sn_count classes[SEGMENTS_MAX * CLASSES_MAX], counters[COUNTERS], reasons[REASONS];
};

static void assert_counted_alike(const struct fixture *f, const struct fixture *g)
{
	struct counted a = {0}, b = {0};

	sn_counts_add(sn_worker_counts(f->worker), a.classes, a.counters, a.reasons);
	sn_counts_add(sn_worker_counts(g->worker), b.classes, b.counters, b.reasons);
	for (uint32_t i = 0; i < RTE_DIM(a.classes); i++) {
		assert_int_equal(a.classes[i].packets, b.classes[i].packets);
		assert_int_equal(a.classes[i].bytes + 4 * a.classes[i].packets, b.classes[i].bytes);
	}
	for (uint32_t i = 0; i < COUNTERS; i++) {
		assert_int_equal(a.counters[i].packets, b.counters[i].packets);
		assert_int_equal(a.counters[i].bytes + 4 * a.counters[i].packets, b.counters[i].bytes);
	}
	for (uint32_t i = 0; i < REASONS; i++)
		assert_int_equal(a.reasons[i].packets, b.reasons[i].packets);
}

static uint32_t paths_of(const struct fixture *f)
{
	return sn_worker_counts(f->worker)->paths.n;
}

/* Bursts of these headers, which come again. In some of them every third packet is not plain. */
static void compare(struct fixture *f, struct fixture *g, const struct packet *headers, uint32_t n_headers)
{
	struct packet a[64], b[64];

	for (uint32_t turn = 0; turn < 12; turn++) {
		uint32_t n = 1 + dice(RTE_DIM(a));
		bool mixed = dice(2) == 0;

		for (uint32_t i = 0; i < n; i++) {
			a[i] = headers[dice(n_headers)];
			a[i].options = mixed && dice(3) == 0;
			b[i] = with_option(&a[i]);
		}
		send_burst(f, a, n);
		send_burst(g, b, n);
		assert_alike(f, g);
	}
	assert_counted_alike(f, g);
}

/* ---- tests ---- */

/* Two workers, of which one sees plain packets, and the other the same with an option. */
struct pair {
	struct fixture *plain, *other;
};

static int open_pair(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	*state = pair;
	return open_fixture((void **)&pair->plain) | open_fixture((void **)&pair->other);
}

static int close_pair(void **state)
{
	struct pair *pair = *state;
	void *plain = pair->plain, *other = pair->other;

	free(pair);
	return close_fixture(&plain) | close_fixture(&other);
}

static void load_both(struct pair *pair, program_msg *msg)
{
	pair->plain->msg = pair->other->msg = msg;
	load(pair->plain);
	load(pair->other);
}

static void packets_leave_as_through_one_segment_after_the_other(void **state)
{
	struct pair *pair = *state;
	struct packet headers[HEADERS];
	uint32_t followed = 0;

	for (uint32_t turn = 0; turn < 500; turn++) {
		struct sn_arena *arena = &pair->plain->arena;
		uint32_t n = 1 + dice(SEGMENTS_MAX);
		program_msg *msg = new_program(arena, n);

		for (uint32_t i = 0; i < n; i++)
			msg->segments[msg->n_segments++] = random_segment(arena, i, n);
		load_both(pair, msg);
		for (uint32_t i = 0; i < HEADERS; i++)
			headers[i] = some_packet();
		compare(pair->plain, pair->other, headers, HEADERS);
		assert_int_equal(paths_of(pair->other), 0);
		followed += paths_of(pair->plain) > 1;
		sn_arena_reset(arena);
	}
	assert_true(followed > 100); /* programs */
}

/* A segment whose one class goes on to the next one; that of the last puts out. */
static segment_msg *step(struct sn_arena *arena, uint32_t number, uint32_t n, int32_t ttl)
{
	segment_msg *s = NEW(arena, segment);
	leg_msg *leg = new_leg(arena);

	s->name = (char *)"step";
	s->table = table_of(arena, NULL, 0, 1);
	s->classes = list(arena, 1);
	if (ttl)
		add_ttl(arena, leg, ttl);
	add_class(arena, s, number + 1 < n ? lead_to(leg, number + 1) : put_out(leg, 1));
	return s;
}

static program_msg *row_of_steps(struct sn_arena *arena, uint32_t n, int32_t ttl)
{
	program_msg *msg = new_program(arena, n);

	for (uint32_t i = 0; i < n; i++)
		msg->segments[msg->n_segments++] = step(arena, i, n, ttl);
	return msg;
}

/* Expectations about a row of n segments that lower the TTL by as much, with packets of some TTL. */
static const struct row {
	uint32_t n, paths;
	int32_t ttl;
	uint8_t with;
} rows[] = {
	{2, 1, -1, 64},	  {SN_FOLLOW_MAX, 1, -1, 64}, {SN_FOLLOW_MAX + 1, 0, -1, 64},
	{5, 1, -50, 255}, {6, 0, -50, 255}, /* more than TTLs are */
};

static void rows_of_segments_are_followed_as_far_as_ttls_last(void **state)
{
	struct pair *pair = *state;

	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		struct packet p = some_whole_packet();
		const uint8_t *sent;

		p.ttl = rows[i].with;
		p.payload_len = 30;
		load_both(pair, row_of_steps(&pair->plain->arena, rows[i].n, rows[i].ttl));
		send_packet(pair->plain, &p);
		sent = assert_sent(pair->plain, 1);
		assert_int_equal(ip_of(sent)[8], (uint8_t)(p.ttl + (int32_t)rows[i].n * rows[i].ttl));
		assert_int_equal(paths_of(pair->plain), rows[i].paths);
	}
}

static void a_circle_ends_as_it_does_without(void **state)
{
	struct pair *pair = *state;
	program_msg *msg = row_of_steps(&pair->plain->arena, 2, -1);
	struct packet p = some_whole_packet();

	msg->longest_way = 16;
	lead_to(msg->segments[1]->classes[0]->legs[0], 0);
	load_both(pair, msg);
	send_packet(pair->plain, &p);
	assert_dropped(pair->plain, SN_REASON_DEPTH);
	assert_int_equal(paths_of(pair->plain), 0);
}

static void a_way_is_no_longer_than_the_program_says(void **state)
{
	struct pair *pair = *state;
	program_msg *msg = row_of_steps(&pair->plain->arena, 3, 0);
	struct packet p = some_whole_packet();

	p.payload_len = 30;
	msg->longest_way = 2;
	load_both(pair, msg);
	send_packet(pair->plain, &p);
	assert_dropped(pair->plain, SN_REASON_DEPTH);
	msg->longest_way = 3;
	load_both(pair, msg);
	send_packet(pair->plain, &p);
	assert_sent(pair->plain, 1);
}

static void a_next_hop_that_is_not_known_is_asked_for(void **state)
{
	struct pair *pair = *state;
	program_msg *msg = row_of_steps(&pair->plain->arena, 2, -1);
	struct packet p = some_whole_packet();
	const uint8_t *asked;

	p.payload_len = 30;
	note_hop(&pair->plain->arena, msg->segments[0]->classes[0]->legs[0], UNKNOWN_HOP);
	load_both(pair, msg);
	send_packet(pair->plain, &p);
	assert_int_equal(pair->plain->n_out, 1);
	asked = pair->plain->out[0].data;
	assert_int_equal(sn_load16(asked + 12), 0x0806);
	assert_int_equal(sn_load32(asked + 38), UNKNOWN_HOP);
	assert_int_equal(paths_of(pair->plain), 1);
}

#define SIDE 520u /* classes of each of two segments: together more than there are paths, and links */

/* A segment that counts packets by one of their ports. */
static segment_msg *by_port(struct sn_arena *arena, const Sinter__Program__V1__Field *field, uint32_t number)
{
	segment_msg *s = NEW(arena, segment);

	s->name = (char *)"by port";
	s->table = table_of(arena, field, 1, SIDE);
	s->classes = list(arena, SIDE);
	for (uint32_t i = 0; i < SIDE; i++) {
		s->table->classes[i] = i;
		if (i < SIDE - 1) /* the last one is everything else */
			s->table->bounds[2 * i] = s->table->bounds[2 * i + 1] = 1000 + i;
		add_class(arena, s, number == 0 ? lead_to(new_leg(arena), 1) : put_out(new_leg(arena), 1));
	}
	return s;
}

static void more_ways_than_there_are_paths_go_segment_by_segment(void **state)
{
	static const Sinter__Program__V1__Field sport[] = {SINTER__PROGRAM__V1__FIELD__SPORT},
						dport[] = {SINTER__PROGRAM__V1__FIELD__DPORT};
	struct fixture *f = ((struct pair *)*state)->plain;
	struct sn_count classes[2 * SIDE] = {0};
	struct packet burst[SIDE / 2];

	f->msg = new_program(&f->arena, 2);
	f->msg->segments[f->msg->n_segments++] = by_port(&f->arena, sport, 0);
	f->msg->segments[f->msg->n_segments++] = by_port(&f->arena, dport, 1);
	load(f);
	for (uint32_t i = 0; i < 2 * SIDE; i++) {
		for (uint32_t j = 0; j < SIDE / 2; j++) {
			burst[j] = outward(SN_UDP, (uint16_t)(1000 + i / 2));
			burst[j].dport = (uint16_t)(1000 + i % 2 * SIDE / 2 + j);
			burst[j].payload_len = 30;
		}
		send_burst(f, burst, SIDE / 2);
		assert_int_equal(f->n_out, SIDE / 2);
	}
	assert_int_equal(paths_of(f), SN_PATHS_MAX);
	sn_counts_add(sn_worker_counts(f->worker), classes, NULL, NULL);
	for (uint32_t i = 0; i < 2 * SIDE; i++)
		assert_int_equal(classes[i].packets, SIDE);
}

#define WITH_PAIR(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PAIR(packets_leave_as_through_one_segment_after_the_other),
		WITH_PAIR(rows_of_segments_are_followed_as_far_as_ttls_last),
		WITH_PAIR(a_circle_ends_as_it_does_without),
		WITH_PAIR(a_way_is_no_longer_than_the_program_says),
		WITH_PAIR(a_next_hop_that_is_not_known_is_asked_for),
		WITH_PAIR(more_ways_than_there_are_paths_go_segment_by_segment),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
