/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_dispatch.h"
#include "sn_icmp.h"
#include "sn_parse.h"
#include "sn_program.h"
#include "sn_program_cycles.h"
#include "sn_reason.h"
#include "sn_utf8.h"

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__Interface interface_msg;
typedef Sinter__Program__V1__StateTable table_msg;
typedef Sinter__Program__V1__Run run_msg;
typedef Sinter__Program__V1__Generator generator_msg;
typedef Sinter__Program__V1__Segment segment_msg;
typedef Sinter__Program__V1__Class class_msg;
typedef Sinter__Program__V1__Leg leg_msg;
typedef Sinter__Program__V1__Op op_msg;

#define NS_PER_MS 1000000ull
#define OPS_MAX	  256
#define AT_LEN	  160

/* What is being built, and where to say what is wrong with it. */
struct builder {
	struct sn_program *p;
	const program_msg *msg;
	const struct sn_program *like; /* the one before */
	char *err;
	size_t len;
	char at[AT_LEN]; /* the part of the message at work */
};

__attribute__((format(printf, 2, 3))) static int fail(struct builder *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(b->err, b->len, "%s: ", b->at);
	if (n < 0 || (size_t)n >= b->len)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(b->err + n, b->len - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

__attribute__((format(printf, 2, 3))) static void at(struct builder *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->at, sizeof(b->at), fmt, ap);
	va_end(ap);
}

static int check_index(struct builder *b, const char *field, uint32_t i, size_t n)
{
	return i < n ? 0 : fail(b, "%s is %u, but there are only %zu", field, i, n);
}

static int no_memory(struct builder *b)
{
	fail(b, "no memory");
	return -ENOMEM;
}

/* calloc() that takes 0. */
static void *array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

static int copy_name(struct builder *b, char **to, const char *from)
{
	if (!sn_utf8_valid(from))
		return fail(b, "a name is not UTF-8");
	*to = strdup(from);
	return *to ? 0 : no_memory(b);
}

static int copy_names(struct builder *b, char ***to, uint32_t *count, char **from, size_t n)
{
	*to = array(n, sizeof(**to));
	if (!*to)
		return no_memory(b);
	for (*count = 0; *count < n; ++*count) {
		int rc = copy_name(b, &(*to)[*count], from[*count]);

		if (rc)
			return rc;
	}
	return 0;
}

static bool has_vlan(const struct sn_interface *ifc, uint32_t vlan)
{
	return vlan < SN_VLAN_ABSENT && sn_vlans_have(ifc->vlans, (uint16_t)vlan);
}

static int build_vlans(struct builder *b, struct sn_interface *to, const interface_msg *from)
{
	if (from->n_vlans == 0)
		return 0;
	to->vlans = array(SN_VLAN_ABSENT / 64, sizeof(*to->vlans));
	if (!to->vlans)
		return no_memory(b);
	for (size_t i = 0; i < from->n_vlans; i++) {
		if (from->vlans[i] < 1 || from->vlans[i] > 4094 ||
		    (i && from->vlans[i] <= from->vlans[i - 1]))
			return fail(b, "vlans[%zu] is %u, want 1..4094, each above the one before", i,
				    from->vlans[i]);
		to->vlans[from->vlans[i] / 64] |= 1ull << from->vlans[i] % 64;
	}
	return 0;
}

static int check_refused(struct builder *b, const interface_msg *from)
{
	for (size_t i = 0; i < from->n_refused; i++) {
		const Sinter__Program__V1__RefusedSources *r = from->refused[i];

		if (r->first > r->last || (i && r->first <= from->refused[i - 1]->last))
			return fail(b, "refused[%zu] is %#x-%#x, want ascending, disjoint ranges", i,
				    r->first, r->last);
		if (!sn_sources_may_say(r->reason))
			return fail(b, "refused[%zu].reason is %d, want that of a source", i, (int)r->reason);
	}
	return 0;
}

static int build_interface(struct builder *b, struct sn_interface *to, const interface_msg *from)
{
	if (!from->name[0])
		return fail(b, "has no name");
	if (from->prefix_len > 32)
		return fail(b, "prefix_len is %u, want at most 32", from->prefix_len);
	if (from->mtu < 68 || from->mtu > 65535) /* RFC 791: every link carries 68 bytes */
		return fail(b, "mtu is %u, want 68..65535", from->mtu);
	if (from->answer_ttl > 255)
		return fail(b, "answer_ttl is %u, want 0..255", from->answer_ttl);
	if (from->mac.len != 0 && from->mac.len != sizeof(to->mac))
		return fail(b, "mac has %zu bytes, want 6 or none", from->mac.len);
	if (check_index(b, "segment", from->segment, b->msg->n_segments))
		return -EINVAL;
	if (check_refused(b, from))
		return -EINVAL;
	to->address = from->address;
	to->mask = from->prefix_len ? UINT32_MAX << (32 - from->prefix_len) : 0;
	to->gateway = from->gateway;
	to->mtu = from->mtu;
	to->answer_ttl = from->answer_ttl ? (uint8_t)from->answer_ttl : SN_ANSWER_TTL;
	to->segment = from->segment;
	to->has_mac = from->mac.len != 0;
	if (to->has_mac)
		memcpy(to->mac, from->mac.data, sizeof(to->mac));
	to->sources = sn_sources_create(from->refused, from->n_refused);
	if (build_vlans(b, to, from))
		return -EINVAL;
	to->neighbors = array(from->n_neighbors, sizeof(*to->neighbors));
	to->proxy = array(from->n_proxy, sizeof(*to->proxy));
	if (!to->sources || !to->neighbors || !to->proxy)
		return no_memory(b);
	for (size_t i = 0; i < from->n_neighbors; i++) {
		if (from->neighbors[i]->mac.len != 6)
			return fail(b, "neighbors[%zu]: mac has %zu bytes, want 6", i,
				    from->neighbors[i]->mac.len);
		if (from->neighbors[i]->vlan && !has_vlan(to, from->neighbors[i]->vlan))
			return fail(b, "neighbors[%zu].vlan is %u, want one of the interface's, or 0", i,
				    from->neighbors[i]->vlan);
		to->neighbors[i].address = from->neighbors[i]->address;
		to->neighbors[i].vlan =
			from->neighbors[i]->vlan ? (uint16_t)from->neighbors[i]->vlan : SN_VLAN_ABSENT;
		memcpy(to->neighbors[i].mac, from->neighbors[i]->mac.data, 6);
	}
	to->n_neighbors = from->n_neighbors;
	to->n_proxy = from->n_proxy;
	for (size_t i = 0; i < from->n_proxy; i++)
		to->proxy[i] = from->proxy[i];
	return copy_name(b, &to->name, from->name);
}

static int build_interfaces(struct builder *b)
{
	size_t n = b->msg->n_interfaces;

	at(b, "interfaces");
	if (n > SN_IFACES_MAX)
		return fail(b, "there are %zu, want at most %d", n, SN_IFACES_MAX);
	b->p->interfaces = array(n, sizeof(*b->p->interfaces));
	if (!b->p->interfaces)
		return no_memory(b);
	b->p->n_interfaces = n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		at(b, "interfaces[%zu] (%.64s)", i, b->msg->interfaces[i]->name);
		rc = build_interface(b, &b->p->interfaces[i], b->msg->interfaces[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int compare_range(const void *a, const void *b)
{
	const struct sn_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int build_table(struct builder *b, struct sn_table_config *to, const table_msg *from)
{
	if (!from->n_pool)
		return fail(b, "pool is empty");
	if (from->port_min > from->port_max || from->port_max > 65535)
		return fail(b, "ports are %u-%u, want an ascending range up to 65535", from->port_min,
			    from->port_max);
	to->port_min = from->port_min;
	to->port_max = from->port_max;
	to->max_sessions = from->max_sessions;
	to->pool = array(from->n_pool, sizeof(*to->pool));
	if (!to->pool)
		return no_memory(b);
	to->n_pool = from->n_pool;
	for (size_t i = 0; i < from->n_pool; i++) {
		to->pool[i] = (struct sn_range){from->pool[i]->first, from->pool[i]->last};
		if (to->pool[i].first > to->pool[i].last)
			return fail(b, "pool[%zu] is %#x-%#x, want an ascending range", i, to->pool[i].first,
				    to->pool[i].last);
		to->n_addresses += (uint64_t)to->pool[i].last - to->pool[i].first + 1;
	}
	qsort(to->pool, to->n_pool, sizeof(*to->pool), compare_range);
	for (size_t i = 1; i < to->n_pool; i++)
		if (to->pool[i].first <= to->pool[i - 1].last)
			return fail(b, "pool holds %#x twice, want disjoint ranges", to->pool[i].first);
	return copy_name(b, &to->name, from->name);
}

static int build_tables(struct builder *b)
{
	size_t n = b->msg->n_tables;

	at(b, "tables");
	if (n > SN_TABLES_MAX)
		return fail(b, "there are %zu, want at most %d", n, SN_TABLES_MAX);
	b->p->tables = array(n, sizeof(*b->p->tables));
	if (!b->p->tables)
		return no_memory(b);
	b->p->n_tables = n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		at(b, "tables[%zu] (%.64s)", i, b->msg->tables[i]->name);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(b->msg->tables[i]->name, b->msg->tables[j]->name))
				return fail(b, "name is that of tables[%zu], want names that differ", j);
		rc = build_table(b, &b->p->tables[i], b->msg->tables[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int build_run(struct builder *b, struct sn_run *to, const run_msg *from)
{
	if (check_index(b, "table", from->table, b->msg->n_tables) ||
	    check_index(b, "segment", from->segment, b->msg->n_segments))
		return -EINVAL;
	to->table = from->table;
	to->segment = from->segment;
	to->max_sessions = from->max_sessions;
	to->addresses = from->addresses;
	to->tcp_ns = from->tcp_ms * NS_PER_MS;
	to->tcp_transitory_ns = from->tcp_transitory_ms * NS_PER_MS;
	to->udp_ns = from->udp_ms * NS_PER_MS;
	to->icmp_ns = from->icmp_ms * NS_PER_MS;
	return copy_name(b, &to->name, from->name);
}

static int build_runs(struct builder *b)
{
	size_t n = b->msg->n_runs;

	at(b, "runs");
	if (n > SN_RUNS_MAX)
		return fail(b, "there are %zu, want at most %d", n, SN_RUNS_MAX);
	b->p->runs = array(n, sizeof(*b->p->runs));
	if (!b->p->runs)
		return no_memory(b);
	b->p->n_runs = n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		at(b, "runs[%zu] (%.64s)", i, b->msg->runs[i]->name);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(b->msg->runs[i]->name, b->msg->runs[j]->name))
				return fail(b, "name is that of runs[%zu], want names that differ", j);
		rc = build_run(b, &b->p->runs[i], b->msg->runs[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int build_generators(struct builder *b)
{
	size_t n = b->msg->n_generators;

	at(b, "generators");
	b->p->generators = array(n, sizeof(*b->p->generators));
	if (!b->p->generators)
		return no_memory(b);
	b->p->n_generators = n;
	for (size_t i = 0; i < n; i++) {
		const generator_msg *from = b->msg->generators[i];

		at(b, "generators[%zu] (%.64s)", i, from->name);
		if (from->kind < SINTER__PROGRAM__V1__GENERATOR__KIND__ICMP_ERROR ||
		    from->kind > SINTER__PROGRAM__V1__GENERATOR__KIND__REJECT)
			return fail(b, "kind is %d, want ICMP_ERROR, ECHO_REPLY, LOCAL_HOST or REJECT",
				    (int)from->kind);
		if (from->type > 255)
			return fail(b, "type is %u, want at most 255", from->type);
		if (from->code > 255)
			return fail(b, "code is %u, want at most 255", from->code);
		if (!sn_utf8_valid(from->name))
			return fail(b, "a name is not UTF-8");
		if (check_index(b, "segment", from->segment, b->msg->n_segments))
			return -EINVAL;
		b->p->generators[i] = (struct sn_generator){
			.kind = from->kind,
			.type = from->type,
			.code = from->code,
			.source = from->source,
			.segment = from->segment,
		};
	}
	return 0;
}

static int build_set(struct builder *b, struct sn_op *to, const Sinter__Program__V1__SetField *from)
{
	uint32_t field = (uint32_t)from->field, max;

	switch (field) {
	case SN_VLAN:
	case SN_SRC:
	case SN_DST:
	case SN_DSCP:
	case SN_TTL:
		max = sn_field_max(field);
		break;
	case SN_SPORT:
	case SN_DPORT: /* a port cannot be made absent */
		max = SN_PORT_ABSENT - 1;
		break;
	default:
		return fail(b, "field %u cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT",
			    field);
	}
	if (from->value > max)
		return fail(b, "sets %s to %u, want at most %u", sn_field_name(field), from->value, max);
	*to = (struct sn_op){.kind = SN_OP_SET, .field = field, .value = from->value};
	return 0;
}

static int build_op(struct builder *b, struct sn_op *to, const op_msg *from)
{
	switch (from->op_case) {
	case SINTER__PROGRAM__V1__OP__OP_SET:
		return build_set(b, to, from->set);
	case SINTER__PROGRAM__V1__OP__OP_ADD_TTL:
		if (from->add_ttl < -255 || from->add_ttl > 255)
			return fail(b, "add_ttl is %d, want -255..255", from->add_ttl);
		*to = (struct sn_op){.kind = SN_OP_ADD_TTL, .value = (uint32_t)from->add_ttl};
		return 0;
	case SINTER__PROGRAM__V1__OP__OP_NEXT_HOP:
		*to = (struct sn_op){.kind = SN_OP_NEXT_HOP, .value = from->next_hop};
		return 0;
	case SINTER__PROGRAM__V1__OP__OP_STATE_FORWARD:
		b->p->stateful = true;
		*to = (struct sn_op){.kind = SN_OP_STATE_FORWARD, .value = from->state_forward};
		return check_index(b, "state_forward", from->state_forward, b->msg->n_runs);
	case SINTER__PROGRAM__V1__OP__OP_COUNT:
		*to = (struct sn_op){.kind = SN_OP_COUNT, .value = from->count};
		return check_index(b, "count", from->count, b->msg->n_counters);
	default:
		return fail(b, "an operation is empty");
	}
}

static int build_drop(struct builder *b, struct sn_leg *to, const Sinter__Program__V1__Drop *from)
{
	to->outcome = SN_OUT_DROP;
	switch (from->reason_case) {
	case SINTER__PROGRAM__V1__DROP__REASON_CHAIN:
		to->target = SN_REASON_CHAIN + from->chain;
		return check_index(b, "drop.chain", from->chain, b->msg->n_reasons);
	case SINTER__PROGRAM__V1__DROP__REASON_BUILTIN:
		to->target = (uint32_t)from->builtin;
		if (to->target == SN_REASON_NONE || !sn_reason_name(to->target))
			return fail(b, "drop.builtin %d is no drop reason", (int)from->builtin);
		return 0;
	default:
		return fail(b, "drop has no reason");
	}
}

static int build_outcome(struct builder *b, struct sn_leg *to, const leg_msg *from)
{
	switch (from->outcome_case) {
	case SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT:
		to->outcome = SN_OUT_OUTPUT;
		to->target = from->output;
		return check_index(b, "output", from->output, b->msg->n_interfaces);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_DROP:
		return build_drop(b, to, from->drop);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR:
		to->outcome = SN_OUT_GENERATOR;
		to->target = from->generator;
		return check_index(b, "generator", from->generator, b->msg->n_generators);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT:
		to->outcome = SN_OUT_SEGMENT;
		to->target = from->segment;
		return check_index(b, "segment", from->segment, b->msg->n_segments);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_STATE_RETURN:
		b->p->stateful = true;
		to->outcome = SN_OUT_STATE_RETURN;
		to->target = from->state_return;
		return check_index(b, "state_return", from->state_return, b->msg->n_tables);
	default:
		return fail(b, "has no outcome");
	}
}

static int build_leg(struct builder *b, struct sn_leg *to, const leg_msg *from)
{
	struct sn_program *p = b->p;
	int rc;

	if (from->n_ops > OPS_MAX)
		return fail(b, "has %zu ops, want at most %d", from->n_ops, OPS_MAX);
	if (from->n_counters > UINT16_MAX)
		return fail(b, "has %zu counters, want at most %d", from->n_counters, UINT16_MAX);
	to->first_op = p->n_ops;
	to->n_ops = from->n_ops;
	for (size_t i = 0; i < from->n_ops; i++) {
		rc = build_op(b, &p->ops[p->n_ops++], from->ops[i]);
		if (rc)
			return rc;
	}
	to->first_counter = p->n_leg_counters;
	to->n_counters = from->n_counters;
	for (size_t i = 0; i < from->n_counters; i++) {
		if (from->counters[i] >= b->msg->n_counters)
			return fail(b, "counters[%zu] is %u, but there are only %zu", i, from->counters[i],
				    b->msg->n_counters);
		p->leg_counters[p->n_leg_counters++] = from->counters[i];
	}
	return build_outcome(b, to, from);
}

/* What the stateless fast path needs to know of a class, if it is one for it. */
static void simplify(const struct sn_program *p, struct sn_class *c)
{
	const struct sn_leg *leg = &p->legs[c->first_leg];
	int32_t ttl = 0;

	c->simple = SN_SIMPLE_NOT;
	c->state_run = SN_NO_INDEX;
	for (uint32_t i = 0; i < leg->n_ops; i++) {
		const struct sn_op *op = &p->ops[leg->first_op + i];

		if (op->kind == SN_OP_STATE_FORWARD) {
			c->state_run = op->value;
			return;
		}
	}
	if (c->n_legs != 1 || (leg->outcome != SN_OUT_OUTPUT && leg->outcome != SN_OUT_DROP))
		return;
	c->next_hop = 0;
	for (uint32_t i = 0; i < leg->n_ops; i++) {
		const struct sn_op *op = &p->ops[leg->first_op + i];

		if (op->kind == SN_OP_ADD_TTL && (int32_t)op->value <= 0)
			ttl -= (int32_t)op->value;
		else if (op->kind == SN_OP_NEXT_HOP)
			c->next_hop = op->value;
		else if (leg->outcome == SN_OUT_OUTPUT)
			return;
	}
	if (ttl > 255)
		return;
	c->simple = leg->outcome == SN_OUT_DROP ? SN_SIMPLE_DROP : SN_SIMPLE_OUTPUT;
	c->ttl_dec = ttl;
	c->target = leg->target;
	c->first_counter = leg->first_counter;
	c->n_counters = leg->n_counters;
}

static int build_classes(struct builder *b, uint32_t s)
{
	const segment_msg *from = b->msg->segments[s];
	struct sn_program *p = b->p;

	for (size_t i = 0; i < from->n_classes; i++) {
		const class_msg *cm = from->classes[i];
		struct sn_class *c = &p->classes[p->n_classes++];

		at(b, "segments[%u] (%.64s): classes[%zu]", s, from->name, i);
		if (cm->n_legs < 1 || cm->n_legs > SN_LEGS_MAX)
			return fail(b, "has %zu legs, want 1..%d", cm->n_legs, SN_LEGS_MAX);
		c->first_leg = p->n_legs;
		c->n_legs = cm->n_legs;
		for (size_t j = 0; j < cm->n_legs; j++) {
			int rc;

			at(b, "segments[%u] (%.64s): classes[%zu].legs[%zu]", s, from->name, i, j);
			rc = build_leg(b, &p->legs[p->n_legs++], cm->legs[j]);
			if (rc)
				return rc;
		}
		simplify(p, c);
	}
	return 0;
}

/* The segment of the same name in the program before. */
static const struct sn_segment *segment_before(const struct builder *b, const char *name)
{
	for (uint32_t s = 0; b->like && s < b->like->n_segments; s++)
		if (!strcmp(b->like->segments[s].name, name))
			return &b->like->segments[s];
	return NULL;
}

static int build_segment(struct builder *b, uint32_t s)
{
	const segment_msg *from = b->msg->segments[s];
	const struct sn_segment *like = segment_before(b, from->name);
	struct sn_segment *to = &b->p->segments[s];
	int rc;

	at(b, "segments[%u] (%.64s)", s, from->name);
	if (from->ttl_floor > 256)
		return fail(b, "ttl_floor is %u, want at most 256", from->ttl_floor);
	rc = copy_name(b, &to->name, from->name);
	if (rc)
		return rc;
	to->ttl_floor = from->ttl_floor;
	to->frag_max = from->whole_only ? SN_FRAG_WHOLE : SN_FRAG_LATER;
	to->first_class = b->p->n_classes;
	to->n_classes = from->n_classes;
	rc = build_classes(b, s);
	if (rc)
		return rc;
	at(b, "segments[%u] (%.64s): table", s, from->name);
	rc = sn_classifier_init(&to->table, from->table, to->n_classes, false, like ? &like->table : NULL,
				b->at, b->err, b->len);
	if (rc || (!to->ttl_floor && !from->whole_only && !from->low))
		return rc;
	b->p->cacheable &= !to->table.reads_ttl;
	at(b, "segments[%u] (%.64s): low", s, from->name);
	return sn_classifier_init(&to->low, from->low, to->n_classes, true, like ? &like->low : NULL, b->at,
				  b->err, b->len);
}

/* The arrays' sizes are known from the message: none is moved later. */
static int allocate(struct builder *b)
{
	struct sn_program *p = b->p;
	size_t classes = 0, legs = 0, ops = 0, counters = 0;

	at(b, "segments");
	for (size_t s = 0; s < b->msg->n_segments; s++) {
		const segment_msg *sm = b->msg->segments[s];

		classes += sm->n_classes;
		for (size_t c = 0; c < sm->n_classes; c++) {
			legs += sm->classes[c]->n_legs;
			for (size_t l = 0; l < sm->classes[c]->n_legs; l++) {
				ops += sm->classes[c]->legs[l]->n_ops;
				counters += sm->classes[c]->legs[l]->n_counters;
			}
		}
	}
	if (classes >= 1u << 31 || legs >= 1u << 31 || ops >= 1u << 31 || counters >= 1u << 31 ||
	    b->msg->n_counters >= 1u << 31)
		return fail(
			b, "%zu classes, %zu legs, %zu operations, %zu counters: want less than 2^31 of each",
			classes, legs, ops, counters);
	p->segments = array(b->msg->n_segments, sizeof(*p->segments));
	p->classes = array(classes, sizeof(*p->classes));
	p->legs = array(legs, sizeof(*p->legs));
	p->ops = array(ops, sizeof(*p->ops));
	p->leg_counters = array(counters, sizeof(*p->leg_counters));
	p->atoms = array(1, sizeof(*p->atoms));
	if (!p->segments || !p->classes || !p->legs || !p->ops || !p->leg_counters || !p->atoms)
		return no_memory(b);
	return 0;
}

static int build_segments(struct builder *b)
{
	b->p->n_segments = b->msg->n_segments;
	for (uint32_t s = 0; s < b->msg->n_segments; s++) {
		int rc = build_segment(b, s);

		if (rc)
			return rc;
	}
	return sn_program_check_cycles(b->p, b->err, b->len);
}

static bool sets_field(const struct sn_program *p, enum sn_field field)
{
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->ops[i].kind == SN_OP_SET && p->ops[i].field == field)
			return true;
	return false;
}

/* The atoms of one field, refined by every table. A field that is written keeps its values apart: the rewrite
 * depends on them. */
static int refine(struct builder *b, uint16_t *atoms, uint32_t n, enum sn_field field)
{
	uint32_t count = 1;
	int rc = 0;

	memset(atoms, 0, n * sizeof(*atoms));
	if (sets_field(b->p, field)) {
		for (uint32_t v = 0; v < n; v++)
			atoms[v] = v;
		return 0;
	}
	for (size_t s = 0; !rc && s < b->msg->n_segments; s++)
		rc = sn_atoms_refine(atoms, n, &count, b->msg->segments[s]->table, field);
	return rc;
}

static int build_atoms(struct builder *b)
{
	static const enum sn_field small_fields[] = {SN_DSCP, SN_TCP_FLAGS, SN_ICMP_CODE};
	struct sn_atoms *a = b->p->atoms;
	uint8_t *const small[] = {a->dscp, a->tcp_flags, a->icmp_code};
	uint8_t *const typical[] = {a->typical.dscp, a->typical.tcp_flags, a->typical.icmp_code};
	const uint32_t sizes[] = {64, 256, 256};
	uint16_t atoms[256];

	if (!b->p->stateful) /* no cache */
		return 0;
	at(b, "segments");
	/* Acknowledgements, otherwise the least value. */
	for (int i = 0; i < 3; i++) {
		if (refine(b, atoms, sizes[i], small_fields[i]))
			return no_memory(b);
		for (uint32_t v = sizes[i]; v-- > 0;) {
			small[i][v] = atoms[v];
			typical[i][atoms[v]] = v;
		}
	}
	a->typical.tcp_flags[a->tcp_flags[SN_TCP_ACK]] = SN_TCP_ACK;
	return 0;
}

static int build(struct builder *b)
{
	int rc;

	at(b, "program");
	if (b->msg->schema != SN_SCHEMA)
		return fail(b,
			    "schema is %u, this engine reads %d: synthesize the chain again with the "
			    "engine's release",
			    b->msg->schema, SN_SCHEMA);
	rc = copy_name(b, &b->p->chain, b->msg->chain);
	if (rc)
		return rc;
	at(b, "segments");
	if (!b->msg->n_segments)
		return fail(b, "there are none, want at least one");
	b->p->icmp_rate = b->msg->icmp_rate;
	if (b->msg->longest_way < 1 || b->msg->longest_way > SN_WAY_MAX)
		return fail(b, "longest_way is %u, want 1..%d", b->msg->longest_way, SN_WAY_MAX);
	b->p->longest_way = b->msg->longest_way;
	b->p->cacheable = true;
	rc = copy_names(b, &b->p->counters, &b->p->n_counters, b->msg->counters, b->msg->n_counters);
	if (!rc)
		rc = copy_names(b, &b->p->reasons, &b->p->n_reasons, b->msg->reasons, b->msg->n_reasons);
	if (!rc)
		rc = build_interfaces(b);
	if (!rc)
		rc = build_tables(b);
	if (!rc)
		rc = build_runs(b);
	if (!rc)
		rc = build_generators(b);
	if (!rc)
		rc = allocate(b);
	if (!rc)
		rc = build_segments(b);
	if (!rc)
		rc = build_atoms(b);
	if (!rc && sn_dispatch_prepare(b->p))
		rc = no_memory(b);
	return rc;
}

struct sn_program *sn_program_create(const program_msg *msg, const struct sn_program *like, char *err,
				     size_t len)
{
	struct builder b = {.p = calloc(1, sizeof(*b.p)), .msg = msg, .like = like, .err = err, .len = len};

	at(&b, "program");
	if (!b.p) {
		no_memory(&b);
		return NULL;
	}
	if (build(&b)) {
		sn_program_free(b.p);
		return NULL;
	}
	return b.p;
}

static void free_names(char **names, uint32_t n)
{
	for (uint32_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}

void sn_program_free(struct sn_program *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_interfaces; i++) {
		free(p->interfaces[i].name);
		sn_sources_free(p->interfaces[i].sources);
		free(p->interfaces[i].neighbors);
		free(p->interfaces[i].proxy);
		free(p->interfaces[i].vlans);
	}
	for (uint32_t i = 0; i < p->n_tables; i++) {
		free(p->tables[i].name);
		free(p->tables[i].pool);
	}
	for (uint32_t i = 0; i < p->n_runs; i++)
		free(p->runs[i].name);
	for (uint32_t i = 0; i < p->n_segments; i++) {
		free(p->segments[i].name);
		sn_classifier_free(&p->segments[i].table);
		sn_classifier_free(&p->segments[i].low);
	}
	free_names(p->counters, p->n_counters);
	free_names(p->reasons, p->n_reasons);
	free(p->interfaces);
	free(p->tables);
	free(p->runs);
	free(p->segments);
	free(p->generators);
	free(p->classes);
	free(p->legs);
	free(p->ops);
	free(p->leg_counters);
	free(p->atoms);
	free(p->chain);
	free(p);
}

const char *sn_program_reason(const struct sn_program *p, uint32_t reason)
{
	if (reason >= SN_REASON_CHAIN)
		return reason - SN_REASON_CHAIN < p->n_reasons ? p->reasons[reason - SN_REASON_CHAIN] : NULL;
	return sn_reason_name(reason);
}
