/* SPDX-License-Identifier: Apache-2.0 */
#include "assign_world.h"

#include "sn_parse.h"
#include "sn_wires.h"

#define NEW(arena, name) sn_sample_message(arena, &sinter__program__v1__##name##__descriptor)
#define SEGMENTS_MAX	 16
#define WIRES		 (2 * REPLICAS)

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__Leg leg_msg;

static char *const names[REPLICAS] = {(char *)"ips/a", (char *)"ips/b", (char *)"ips/c"};

/* Where a program is made. */
struct making {
	struct sn_arena *arena;
	program_msg *msg;
	struct assign_options o;
	uint32_t wires;		   /* the segment of packets that only come by a wire */
	uint32_t tables[REPLICAS]; /* of each replica */
};

/* A segment with one leg; its number. */
static uint32_t add_segment(const struct making *m, const char *name, leg_msg *only)
{
	Sinter__Program__V1__Segment *segment = NEW(m->arena, segment);

	segment->name = (char *)(uintptr_t)name;
	segment->table = NEW(m->arena, table);
	segment->table->n_classes = 1;
	segment->table->classes = sn_arena_alloc(m->arena, sizeof(uint32_t));
	segment->table->classes[0] = 0;
	segment->n_classes = 1;
	segment->classes = sn_arena_alloc(m->arena, sizeof(void *));
	segment->classes[0] = NEW(m->arena, class);
	segment->classes[0]->n_legs = 1;
	segment->classes[0]->legs = sn_arena_alloc(m->arena, sizeof(void *));
	segment->classes[0]->legs[0] = only;
	assert_true(m->msg->n_segments < SEGMENTS_MAX);
	m->msg->segments[m->msg->n_segments] = segment;
	return (uint32_t)m->msg->n_segments++;
}

/* All programs have those of all replicas, so that a wire is the same port in each. */
static void add_wires(struct making *m)
{
	static const char *const wires[WIRES] = {"ips/a/in",  "ips/a/out", "ips/b/in",
						 "ips/b/out", "ips/c/in",  "ips/c/out"};
	Sinter__Program__V1__Interface **all =
		sn_arena_alloc(m->arena, (m->msg->n_interfaces + WIRES) * sizeof(*all));
	leg_msg *drop = NEW(m->arena, leg);

	drop->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_DROP;
	drop->drop = NEW(m->arena, drop);
	drop->drop->reason_case = SINTER__PROGRAM__V1__DROP__REASON_BUILTIN;
	drop->drop->builtin = SINTER__PROGRAM__V1__DROP_REASON__DROP_LOCAL;
	m->wires = add_segment(m, "wires", drop);
	memcpy(all, m->msg->interfaces, m->msg->n_interfaces * sizeof(*all));
	m->msg->interfaces = all;
	for (uint32_t i = 0; i < WIRES; i++) {
		Sinter__Program__V1__Interface *wire = NEW(m->arena, interface);

		wire->name = (char *)(uintptr_t)wires[i];
		wire->address = SN_SAMPLE_OUT + i;
		wire->prefix_len = 32;
		wire->mtu = m->o.mtu ? m->o.mtu : 1500;
		wire->segment = m->wires;
		wire->wire = true;
		all[m->msg->n_interfaces++] = wire;
	}
}

static void add_table(struct making *m, uint32_t replica)
{
	Sinter__Program__V1__StateTable *table = NEW(m->arena, state_table);
	Sinter__Program__V1__Assignment *assignment = NEW(m->arena, assignment);

	assignment->tcp_ms = 100000;
	assignment->tcp_transitory_ms = assignment->udp_ms = 20000;
	assignment->tcp_closing_ms = 1000;
	assignment->icmp_ms = 5000;
	table->name = names[replica];
	table->assignment = assignment;
	table->max_sessions = m->o.flows ? m->o.flows : 5000;
	m->tables[replica] = (uint32_t)m->msg->n_tables;
	m->msg->tables[m->msg->n_tables++] = table;
}

/* The segment of packets of a side that leave for a replica. They go on as the sample has it. */
static uint32_t add_replica(const struct making *m, uint32_t replica, uint32_t side)
{
	Sinter__Program__V1__Assigned *assigned = NEW(m->arena, assigned);
	Sinter__Program__V1__Stop *stop = NEW(m->arena, stop);
	leg_msg *leg = NEW(m->arena, leg);

	assigned->table = m->tables[replica];
	assigned->from_outside = side == OUTSIDE;
	sn_sample_op(m->arena, leg, SINTER__PROGRAM__V1__OP__OP_ASSIGNED)->assigned = assigned;
	stop->out = WIRE(replica, side);
	stop->back = OTHER_END(stop->out);
	stop->segment = side;
	stop->down_case =
		m->o.open ? SINTER__PROGRAM__V1__STOP__DOWN_BYPASS : SINTER__PROGRAM__V1__STOP__DOWN_DROP;
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_STOP;
	leg->stop = stop;
	return add_segment(m, "replica", leg);
}

/* The segment of packets of a side before they are at a replica. */
static uint32_t add_assign(const struct making *m, uint32_t side)
{
	Sinter__Program__V1__Assign *assign = NEW(m->arena, assign);
	leg_msg *leg = NEW(m->arena, leg);

	assign->from_outside = side == OUTSIDE;
	assign->replicas = sn_arena_alloc(m->arena, REPLICAS * sizeof(*assign->replicas));
	for (uint32_t i = 0; i < REPLICAS; i++) {
		Sinter__Program__V1__Replica *r = NEW(m->arena, replica);

		if (!(m->o.with >> i & 1))
			continue;
		r->table = m->tables[i];
		r->segment = add_replica(m, i, side);
		r->key = 0x9e3779b97f4a7c15u * (i + 1);
		r->draining = m->o.draining >> i & 1;
		r->inside = WIRE(i, INSIDE);
		r->outside = WIRE(i, OUTSIDE);
		assign->replicas[assign->n_replicas++] = r;
	}
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_ASSIGN;
	leg->assign = assign;
	return add_segment(m, "assign", leg);
}

program_msg *assigned_wire(struct sn_arena *arena, struct assign_options o)
{
	static char *reason = (char *)"ips/down", *counter = (char *)"ips/bypassed";
	struct making m = {.arena = arena, .msg = sn_sample_wire(arena), .o = o};
	Sinter__Program__V1__Segment **segments = sn_arena_alloc(arena, SEGMENTS_MAX * sizeof(*segments));

	memcpy(segments, m.msg->segments, m.msg->n_segments * sizeof(*segments));
	m.msg->segments = segments;
	m.msg->n_reasons = m.msg->n_counters = 1;
	m.msg->reasons = &reason;
	m.msg->counters = &counter;
	m.msg->tables = sn_arena_alloc(arena, REPLICAS * sizeof(*m.msg->tables));
	add_wires(&m);
	for (uint32_t i = 0; i < REPLICAS; i++)
		if (o.with >> i & 1)
			add_table(&m, i);
	for (uint32_t side = INSIDE; side <= OUTSIDE; side++)
		m.msg->interfaces[side]->segment = add_assign(&m, side);
	return m.msg;
}

int open_assign(void **state)
{
	struct fixture *f;

	open_fixture(state);
	f = *state;
	for (uint8_t i = 0; i < 2 + WIRES; i++)
		sn_worker_set_mac(f->worker, i, (const uint8_t[]){0x02, 0x73, 0x6e, 0, 0, i});
	return 0;
}

void load_assign(struct fixture *f, struct assign_options o)
{
	f->msg = assigned_wire(&f->arena, o);
	load(f);
}

/* ---- packets ---- */

struct packet remote(struct packet p, uint32_t number)
{
	*(p.iface == INSIDE ? &p.dst : &p.src) += number;
	return p;
}

struct packet turned(struct packet p)
{
	bool replied = p.proto == SN_ICMP && p.type == SN_ICMP_ECHO_REPLY;

	p = back(p);
	if (replied)
		p.type = SN_ICMP_ECHO_REQUEST;
	return p;
}

uint32_t replica_of(struct fixture *f, struct packet p)
{
	uint32_t wire;

	send_packet(f, &p);
	if (f->n_drops)
		fail_msg("dropped as %s", sn_program_reason(f->program, f->drops[0].reason));
	assert_int_equal(f->n_out, 1);
	wire = f->out[0].iface;
	assert_in_range(wire, WIRE(0, INSIDE), WIRE(REPLICAS - 1, OUTSIDE));
	assert_int_equal((wire - WIRE(0, INSIDE)) % 2, p.iface);
	assert_checksums(f->out[0].data, f->out[0].len);
	return (wire - WIRE(0, INSIDE)) / 2;
}

uint32_t cross(struct fixture *f, struct packet p)
{
	uint32_t replica = replica_of(f, p);

	send_back(f, (uint16_t)WIRE(replica, !p.iface));
	assert_sent(f, !p.iface);
	return replica;
}

void goes_by(struct fixture *f, struct packet p, uint32_t replica)
{
	assert_int_equal(cross(f, p), replica);
}

void known_goes_by(struct fixture *f, struct packet p, uint32_t replica)
{
	uint64_t before = hits(f);

	assert_int_equal(replica_of(f, p), replica);
	assert_int_equal(hits(f), before + 1);
}

uint32_t choice(struct fixture *f, struct packet p)
{
	p.frag = 0x2000;
	p.payload_len = 24;
	return replica_of(f, p);
}

uint32_t remote_of(struct fixture *f, uint32_t replica)
{
	uint32_t number = 0;

	while (choice(f, remote(out(SN_UDP, 5000), number)) != replica)
		assert_true(++number < 100);
	return number;
}

/* ---- replicas ---- */

void probe(struct fixture *f, uint32_t n, uint64_t silent)
{
	struct sent probes[WIRES];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t sent;

		tick(f, 10 * MS);
		sent = f->n_out;
		assert_in_range(sent, 1, WIRES);
		memcpy(probes, f->out, sent * sizeof(*probes));
		for (uint32_t j = 0; j < sent; j++) {
			uint16_t back = (uint16_t)OTHER_END(probes[j].iface);

			if (!(silent >> back & 1))
				send_frame(f, back, probes[j].data, probes[j].len);
		}
	}
	forget(f);
}

void fall(struct fixture *f, uint64_t silent)
{
	probe(f, SN_PROBES_LOST_CLOSED + 2, silent);
}

struct sn_state_stats flows_at(const struct fixture *f, uint32_t replica)
{
	struct sn_state_stats stats;
	uint32_t table = 0;

	while (strcmp(f->program->tables[table].name, names[replica]))
		table++;
	assert_true(table < f->program->n_tables);
	sn_state_stats(f->state, table, &stats);
	return stats;
}
