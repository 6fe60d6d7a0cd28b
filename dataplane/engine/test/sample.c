/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <assert.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "sn_program.h"

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__Interface interface_msg;
typedef Sinter__Program__V1__Segment segment_msg;
typedef Sinter__Program__V1__Table table_msg;
typedef Sinter__Program__V1__Class class_msg;
typedef Sinter__Program__V1__Leg leg_msg;
typedef Sinter__Program__V1__Op op_msg;

void *sn_sample_message(struct sn_arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
	void *message = sn_arena_alloc(arena, descriptor->sizeof_message);

	assert(message != NULL);
	protobuf_c_message_init(descriptor, message);
	return message;
}

#define NEW(arena, name) sn_sample_message(arena, &sinter__program__v1__##name##__descriptor)

/* An array that holds the given elements. */
static void *copy(struct sn_arena *arena, const void *from, size_t size)
{
	void *to = sn_arena_alloc(arena, size);

	assert(to != NULL);
	return memcpy(to, from, size);
}

#define LIST(arena, type, ...) copy(arena, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))

static interface_msg *interface(struct sn_arena *arena, const char *name, uint32_t address, uint32_t segment,
				uint32_t neighbor)
{
	static const uint8_t mac[6] = {0x02, 0xaa, 0, 0, 0, 1};
	interface_msg *interface = NEW(arena, interface);
	Sinter__Program__V1__Neighbor *entry = NEW(arena, neighbor);

	entry->address = neighbor;
	entry->mac.data = (uint8_t *)mac;
	entry->mac.len = sizeof(mac);
	interface->name = (char *)name;
	interface->address = address;
	interface->prefix_len = 24;
	interface->mtu = 1500;
	interface->segment = segment;
	interface->n_neighbors = 1;
	interface->neighbors = LIST(arena, Sinter__Program__V1__Neighbor *, entry);
	return interface;
}

static op_msg *add_ttl(struct sn_arena *arena, int32_t by)
{
	op_msg *op = NEW(arena, op);

	op->op_case = SINTER__PROGRAM__V1__OP__OP_ADD_TTL;
	op->add_ttl = by;
	return op;
}

static op_msg *state_forward(struct sn_arena *arena, uint32_t run)
{
	op_msg *op = NEW(arena, op);

	op->op_case = SINTER__PROGRAM__V1__OP__OP_STATE_FORWARD;
	op->state_forward = run;
	return op;
}

static leg_msg *leg(struct sn_arena *arena, Sinter__Program__V1__Leg__OutcomeCase outcome, uint32_t target)
{
	leg_msg *leg = NEW(arena, leg);

	leg->outcome_case = outcome;
	if (outcome == SINTER__PROGRAM__V1__LEG__OUTCOME_DROP) {
		leg->drop = NEW(arena, drop);
		leg->drop->reason_case = SINTER__PROGRAM__V1__DROP__REASON_CHAIN;
		leg->drop->chain = target;
	} else {
		leg->output = target; /* all outcomes but a drop are a number in one union */
	}
	return leg;
}

static class_msg *class(struct sn_arena *arena, leg_msg *leg)
{
	class_msg *class = NEW(arena, class);

	class->n_legs = 1;
	class->legs = LIST(arena, leg_msg *, leg);
	return class;
}

/* Every packet is of one class. */
static table_msg *constant(struct sn_arena *arena, uint32_t only)
{
	table_msg *table = NEW(arena, table);

	table->n_classes = 1;
	table->classes = LIST(arena, uint32_t, only);
	return table;
}

/* Destination port 9 is of one class, the rest of another. */
static table_msg *discard_port(struct sn_arena *arena, uint32_t discard, uint32_t rest)
{
	table_msg *table = NEW(arena, table);

	table->n_dims = 1;
	table->dims = LIST(arena, Sinter__Program__V1__Field, SINTER__PROGRAM__V1__FIELD__DPORT);
	table->n_bounds = 4;
	table->bounds = LIST(arena, uint32_t, 9, 9, 0, SN_PORT_ABSENT);
	table->n_classes = 2;
	table->classes = LIST(arena, uint32_t, discard, rest);
	return table;
}

static segment_msg *segment(struct sn_arena *arena, const char *name, table_msg *table, class_msg *first)
{
	segment_msg *segment = NEW(arena, segment);

	segment->name = (char *)name;
	segment->table = table;
	segment->n_classes = 1;
	segment->classes = LIST(arena, class_msg *, first);
	return segment;
}

program_msg *sn_sample_wire(struct sn_arena *arena)
{
	program_msg *program = NEW(arena, program);

	program->schema = SN_SCHEMA;
	program->longest_way = 64;
	program->chain = (char *)"wire";
	program->n_interfaces = 2;
	program->interfaces =
		LIST(arena, interface_msg *, interface(arena, "a", SN_SAMPLE_INSIDE, 0, SN_SAMPLE_HOST),
		     interface(arena, "b", SN_SAMPLE_OUTSIDE, 1, SN_SAMPLE_GATEWAY));
	program->interfaces[1]->gateway = SN_SAMPLE_GATEWAY;
	program->n_segments = 2;
	program->segments =
		LIST(arena, segment_msg *,
		     segment(arena, "from-a", constant(arena, 0),
			     class(arena, leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT, 1))),
		     segment(arena, "from-b", constant(arena, 0),
			     class(arena, leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT, 0))));
	return program;
}

/* A segment that drops port 9, answers what dies, and does the rest's leg to the rest. */
static segment_msg *routed(struct sn_arena *arena, const char *name, leg_msg *rest, uint32_t expired)
{
	segment_msg *routed = segment(arena, name, discard_port(arena, 1, 0), class(arena, rest));

	routed->ttl_floor = 2;
	routed->low = discard_port(arena, 1, 2);
	routed->n_classes = 3;
	routed->classes =
		LIST(arena, class_msg *, class(arena, rest),
		     class(arena, leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_DROP, 0)),
		     class(arena, leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR, expired)));
	return routed;
}

program_msg *sn_sample_napt(struct sn_arena *arena)
{
	program_msg *program = NEW(arena, program);
	Sinter__Program__V1__StateTable *table = NEW(arena, state_table);
	Sinter__Program__V1__AddressRange *pool = NEW(arena, address_range);
	Sinter__Program__V1__Run *run = NEW(arena, run);
	Sinter__Program__V1__Generator *expired = NEW(arena, generator);
	leg_msg *out = leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT, 1);
	leg_msg *in = leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT, 0);
	leg_msg *back = leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_STATE_RETURN, 0);

	pool->first = pool->last = SN_SAMPLE_POOL;
	table->name = (char *)"nat";
	table->n_pool = 1;
	table->pool = LIST(arena, Sinter__Program__V1__AddressRange *, pool);
	table->port_min = 1024;
	table->port_max = 65535;
	table->max_sessions = 10000;
	run->name = (char *)"nat";
	run->segment = 2;
	run->tcp_ms = 7200000;
	run->tcp_transitory_ms = 240000;
	run->udp_ms = 300000;
	run->icmp_ms = 60000;
	expired->name = (char *)"router/expired";
	expired->type = 11;
	expired->segment = 3;
	out->n_ops = 2;
	out->ops = LIST(arena, op_msg *, add_ttl(arena, -1), state_forward(arena, 0));
	in->n_ops = 1;
	in->ops = LIST(arena, op_msg *, add_ttl(arena, -1));

	program->schema = SN_SCHEMA;
	program->longest_way = 64;
	program->chain = (char *)"sample";
	program->icmp_rate = 100;
	program->n_interfaces = 2;
	program->interfaces =
		LIST(arena, interface_msg *, interface(arena, "inside", SN_SAMPLE_INSIDE, 0, SN_SAMPLE_HOST),
		     interface(arena, "outside", SN_SAMPLE_OUTSIDE, 1, SN_SAMPLE_GATEWAY));
	program->interfaces[1]->gateway = SN_SAMPLE_GATEWAY;
	program->interfaces[1]->n_proxy = 1;
	program->interfaces[1]->proxy = LIST(arena, uint32_t, SN_SAMPLE_POOL);
	program->n_tables = 1;
	program->tables = LIST(arena, Sinter__Program__V1__StateTable *, table);
	program->n_runs = 1;
	program->runs = LIST(arena, Sinter__Program__V1__Run *, run);
	program->n_generators = 1;
	program->generators = LIST(arena, Sinter__Program__V1__Generator *, expired);
	program->n_reasons = 1;
	program->reasons = LIST(arena, char *, (char *)"discard");
	program->n_segments = 4;
	program->segments =
		LIST(arena, segment_msg *, routed(arena, "inside", out, 0),
		     segment(arena, "outside", constant(arena, 0), class(arena, back)),
		     routed(arena, "return", in, 0),
		     segment(arena, "answers", constant(arena, 0),
			     class(arena, leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT, 0))));
	return program;
}

void sn_sample_hosts(struct sn_arena *arena, program_msg *napt, uint32_t n)
{
	interface_msg *inside = napt->interfaces[0];
	Sinter__Program__V1__Neighbor *hosts = sn_arena_alloc(arena, n * sizeof(*hosts));
	Sinter__Program__V1__Neighbor **list = sn_arena_alloc(arena, n * sizeof(*list));

	for (uint32_t i = 0; i < n; i++) {
		hosts[i] = *inside->neighbors[0];
		hosts[i].address = SN_SAMPLE_HOST + i;
		list[i] = &hosts[i];
	}
	inside->neighbors = list;
	inside->n_neighbors = n;
}

static void add_vlan(struct sn_arena *arena, interface_msg *to, uint16_t vlan)
{
	Sinter__Program__V1__Neighbor **list = sn_arena_alloc(arena, (to->n_neighbors + 1) * sizeof(*list));
	Sinter__Program__V1__Neighbor *there = sn_arena_alloc(arena, sizeof(*there));
	uint32_t *vlans = sn_arena_alloc(arena, (to->n_vlans + 1) * sizeof(*vlans));

	*there = *to->neighbors[0];
	there->vlan = vlan;
	memcpy(list, to->neighbors, to->n_neighbors * sizeof(*list));
	list[to->n_neighbors++] = there;
	to->neighbors = list;
	if (to->n_vlans)
		memcpy(vlans, to->vlans, to->n_vlans * sizeof(*vlans));
	vlans[to->n_vlans++] = vlan;
	to->vlans = vlans;
}

void sn_sample_vlan(struct sn_arena *arena, program_msg *program, uint16_t vlan)
{
	for (size_t i = 0; i < program->n_interfaces; i++)
		add_vlan(arena, program->interfaces[i], vlan);
}

/* An array that has room for one element more. */
static void *longer(struct sn_arena *arena, const void *from, size_t n, size_t size)
{
	void *to = sn_arena_alloc(arena, (n + 1) * size);

	assert(to != NULL);
	return n ? memcpy(to, from, n * size) : to;
}

op_msg *sn_sample_op(struct sn_arena *arena, leg_msg *leg, Sinter__Program__V1__Op__OpCase op_case)
{
	op_msg *op = NEW(arena, op);

	op->op_case = op_case;
	leg->ops = longer(arena, leg->ops, leg->n_ops, sizeof(op));
	leg->ops[leg->n_ops++] = op;
	return op;
}

static uint32_t add_segment(struct sn_arena *arena, program_msg *program, const char *name, leg_msg *only)
{
	program->segments = longer(arena, program->segments, program->n_segments, sizeof(*program->segments));
	program->segments[program->n_segments] = segment(arena, name, constant(arena, 0), class(arena, only));
	return (uint32_t)program->n_segments++;
}

static void add_wire(struct sn_arena *arena, program_msg *program, const char *name, uint32_t address,
		     uint32_t segment)
{
	interface_msg *wire = interface(arena, name, address, segment, 0);

	wire->n_neighbors = 0;
	wire->wire = true;
	program->interfaces =
		longer(arena, program->interfaces, program->n_interfaces, sizeof(*program->interfaces));
	program->interfaces[program->n_interfaces++] = wire;
}

static void add_wires(struct sn_arena *arena, program_msg *program)
{
	leg_msg *drop = leg(arena, SINTER__PROGRAM__V1__LEG__OUTCOME_DROP, 0);
	uint32_t segment = add_segment(arena, program, "wires", drop);

	drop->drop->reason_case = SINTER__PROGRAM__V1__DROP__REASON_BUILTIN;
	drop->drop->builtin = SINTER__PROGRAM__V1__DROP_REASON__DROP_LOCAL;
	add_wire(arena, program, "out", SN_SAMPLE_OUT, segment);
	add_wire(arena, program, "back", SN_SAMPLE_BACK, segment);
}

Sinter__Program__V1__Stop *sn_sample_stop(struct sn_arena *arena, program_msg *program, leg_msg *leg)
{
	Sinter__Program__V1__Stop *stop = NEW(arena, stop);
	leg_msg *behind = NEW(arena, leg);

	if (!program->interfaces[program->n_interfaces - 1]->wire)
		add_wires(arena, program);
	*behind = *leg;
	behind->n_ops = behind->n_counters = 0;
	stop->out = (uint32_t)program->n_interfaces - 2;
	stop->back = stop->out + 1;
	stop->segment = add_segment(arena, program, "behind", behind);
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_STOP;
	leg->stop = stop;
	return stop;
}

size_t sn_sample_udp(const struct sn_sample_packet *packet, uint8_t frame[SN_SAMPLE_FRAME])
{
	struct rte_ether_hdr *ether = (struct rte_ether_hdr *)frame;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0x00, 0x00, packet->interface};
	size_t len = SN_SAMPLE_FRAME - sizeof(*ether);

	memset(frame, 0, SN_SAMPLE_FRAME);
	memcpy(ether->dst_addr.addr_bytes, mac, sizeof(mac));
	ether->src_addr.addr_bytes[0] = 0x02;
	ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16((uint16_t)len);
	ip->time_to_live = packet->ttl;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32(packet->src);
	ip->dst_addr = rte_cpu_to_be_32(packet->dst);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->src_port = rte_cpu_to_be_16(packet->sport);
	udp->dst_port = rte_cpu_to_be_16(packet->dport);
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(*ip)));
	udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
	return SN_SAMPLE_FRAME;
}

ProtobufCBinaryData sn_sample_encode(struct sn_arena *arena, const Sinter__Program__V1__Program *program)
{
	ProtobufCBinaryData data = {.len = sinter__program__v1__program__get_packed_size(program)};

	data.data = sn_arena_alloc(arena, data.len);
	if (!data.data)
		abort();
	sinter__program__v1__program__pack(program, data.data);
	return data;
}
