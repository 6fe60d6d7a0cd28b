/* SPDX-License-Identifier: Apache-2.0 */
#include "bypass_world.h"

#include "sn_parse.h"

#define SWAP(a, b)                      \
	do {                            \
		__typeof__(a) swap = a; \
		a = b;                  \
		b = swap;               \
	} while (0)

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__Leg leg_msg;
typedef Sinter__Program__V1__Table table_msg;

#define NEW(arena, name) sn_sample_message(arena, &sinter__program__v1__##name##__descriptor)
#define SYNS		 32 /* ranges of flags */
#define SEGMENTS_MAX	 32

/* Where a program is made. */
struct making {
	struct sn_arena *arena;
	program_msg *msg;
	struct bypass_options o;
};

static leg_msg *leg_to(const struct making *m, uint32_t segment)
{
	leg_msg *leg = NEW(m->arena, leg);

	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	leg->segment = segment;
	return leg;
}

/* The flags of packets that begin a connection. */
static Sinter__Program__V1__BitSet *openings(const struct making *m)
{
	Sinter__Program__V1__BitSet *set = NEW(m->arena, bit_set);

	set->field = SINTER__PROGRAM__V1__FIELD__TCP_FLAGS;
	set->ranges = sn_arena_alloc(m->arena, 256 * sizeof(*set->ranges));
	for (uint32_t flags = 0; flags < 256; flags += 2) {
		if (!sn_tcp_opens(flags))
			continue;
		set->ranges[set->n_ranges++] = flags;
		set->ranges[set->n_ranges++] = flags + 1;
	}
	return set;
}

/* All packets are of class 0. */
static table_msg *constant(const struct making *m)
{
	table_msg *table = NEW(m->arena, table);

	table->n_classes = 1;
	table->classes = sn_arena_alloc(m->arena, sizeof(*table->classes));
	table->classes[0] = 0;
	return table;
}

/* The same, but for those that begin a connection. */
static table_msg *by_opening(const struct making *m)
{
	static uint32_t classes[] = {1, 0};
	static uint64_t required[] = {1, 0};
	table_msg *table = NEW(m->arena, table);

	table->n_bits = 1;
	table->bits = sn_arena_alloc(m->arena, sizeof(*table->bits));
	table->bits[0] = openings(m);
	table->n_classes = table->n_required = 2;
	table->classes = classes;
	table->required = required;
	return table;
}

/* A segment with a class for each leg; its number. */
static uint32_t add_segment(const struct making *m, const char *name, table_msg *table, leg_msg *first,
			    leg_msg *second)
{
	Sinter__Program__V1__Segment *segment = NEW(m->arena, segment);
	leg_msg *legs[] = {first, second};

	segment->name = (char *)(uintptr_t)name;
	segment->table = table;
	segment->n_classes = second ? 2 : 1;
	segment->classes = sn_arena_alloc(m->arena, 2 * sizeof(void *));
	for (uint32_t i = 0; i < segment->n_classes; i++) {
		segment->classes[i] = NEW(m->arena, class);
		segment->classes[i]->n_legs = 1;
		segment->classes[i]->legs = sn_arena_alloc(m->arena, sizeof(void *));
		segment->classes[i]->legs[0] = legs[i];
	}
	m->msg->segments[m->msg->n_segments] = segment;
	return (uint32_t)m->msg->n_segments++;
}

static void count_in(const struct making *m, leg_msg *leg, uint32_t function, uint32_t side)
{
	Sinter__Program__V1__Passed *passed = NEW(m->arena, passed);

	passed->table = function;
	passed->from_outside = side == OUTSIDE;
	for (uint32_t i = 0; i <= m->o.twice; i++)
		sn_sample_op(m->arena, leg, SINTER__PROGRAM__V1__OP__OP_PASSED)->passed = passed;
}

/* Packets of a side come to a function, and go on behind it; the number of the segment where they do. */
static uint32_t add_function(const struct making *m, uint32_t function, uint32_t side, uint32_t behind)
{
	Sinter__Program__V1__Bypass *bypass = NEW(m->arena, bypass);
	bool plain = m->o.plain && function + 1 == m->msg->n_tables;
	leg_msg *through = leg_to(m, behind), *leg = NEW(m->arena, leg);
	Sinter__Program__V1__Segment **segments = m->msg->segments;
	Sinter__Program__V1__Stop *stop = sn_sample_stop(m->arena, m->msg, through);

	/* It has made another list, without room. */
	memcpy(segments, m->msg->segments, m->msg->n_segments * sizeof(*segments));
	m->msg->segments = segments;
	if (!plain)
		count_in(m, segments[stop->segment]->classes[0]->legs[0], function, side);
	bypass->table = function;
	bypass->from_outside = side == OUTSIDE;
	bypass->through = add_segment(m, "through", constant(m), through, NULL);
	bypass->past = behind;
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_BYPASS;
	leg->bypass = bypass;
	if (plain)
		return bypass->through;
	if (m->o.untold)
		return add_segment(m, "bypass", constant(m), leg, NULL);
	return add_segment(m, "bypass", by_opening(m), leg, leg_to(m, bypass->through));
}

static void add_table(const struct making *m, const char *name)
{
	Sinter__Program__V1__StateTable *table = NEW(m->arena, state_table);
	Sinter__Program__V1__Passing *passing = NEW(m->arena, passing);

	/* The last function forgets first. */
	passing->tcp_ms = 100000 - 1000 * (uint32_t)m->msg->n_tables;
	passing->tcp_transitory_ms = passing->udp_ms = 20000 - 1000 * (uint32_t)m->msg->n_tables;
	passing->tcp_closing_ms = 1000;
	passing->icmp_ms = 5000;
	passing->packets = m->o.packets;
	table->name = (char *)(uintptr_t)name;
	table->passing = passing;
	table->max_sessions = m->o.flows ? m->o.flows : 5000;
	m->msg->tables[m->msg->n_tables++] = table;
}

program_msg *bypassed_wire(struct sn_arena *arena, struct bypass_options o)
{
	static const char *const names[] = {"ips", "ids", "probe"};
	struct making m = {arena, sn_sample_wire(arena), o};
	Sinter__Program__V1__Segment **segments = sn_arena_alloc(arena, SEGMENTS_MAX * sizeof(*segments));
	uint32_t n = o.functions ? o.functions : 1;

	assert_true(n <= RTE_DIM(names));
	memcpy(segments, m.msg->segments, m.msg->n_segments * sizeof(*segments));
	m.msg->segments = segments;
	m.msg->tables = sn_arena_alloc(arena, n * sizeof(*m.msg->tables));
	for (uint32_t i = 0; i < n; i++)
		add_table(&m, names[i]);
	for (uint32_t side = INSIDE; side <= OUTSIDE; side++) {
		uint32_t at = side;

		for (uint32_t i = n; i-- > 0;)
			at = add_function(&m, i, side, at);
		m.msg->interfaces[side]->segment = at;
	}
	return m.msg;
}

/* ---- packets ---- */

void load_bypass(struct fixture *f, struct bypass_options o)
{
	f->msg = bypassed_wire(&f->arena, o);
	load(f);
}

struct packet out(uint8_t proto, uint16_t port)
{
	struct packet p = outward(proto, port);

	p.flags = SN_TCP_ACK;
	return p;
}

struct packet back(struct packet p)
{
	p.iface = !p.iface;
	SWAP(p.src, p.dst);
	if (p.proto == SN_ICMP)
		p.type = SN_ICMP_ECHO_REPLY;
	else
		SWAP(p.sport, p.dport);
	return p;
}

struct packet with(struct packet p, uint8_t flags)
{
	p.flags = flags;
	return p;
}

uint64_t hits(const struct fixture *f)
{
	return sn_worker_stats(f->worker)->cache_hits;
}

void held_back(struct fixture *f, struct packet p)
{
	send_packet(f, &p);
	assert_sent(f, OUT);
}

void through(struct fixture *f, struct packet p)
{
	held_back(f, p);
	send_back(f, BACK);
	assert_sent(f, !p.iface);
}

void past(struct fixture *f, struct packet p)
{
	send_packet(f, &p);
	assert_sent(f, !p.iface);
}

void past_as_known(struct fixture *f, struct packet p)
{
	uint64_t before = hits(f);

	past(f, p);
	assert_int_equal(hits(f), before + 1);
}

void many(struct fixture *f, void (*how)(struct fixture *f, struct packet p), struct packet p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		how(f, p);
}

struct sn_state_stats stats_of(const struct fixture *f)
{
	struct sn_state_stats stats;

	sn_state_stats(f->state, 0, &stats);
	return stats;
}
