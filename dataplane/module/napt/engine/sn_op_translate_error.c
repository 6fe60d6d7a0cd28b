/* SPDX-License-Identifier: Apache-2.0 */
/* translate_error: an ICMP error about a packet that a fixed translation has changed gets what that had
 * before; any other one stays as it is. */

#include <stdlib.h>

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_icmp.h"

#define MAPPINGS_MAX 512u

/* The sides of a mapping. */
enum side {
	INSIDE,
	OUTSIDE,
	SIDES,
};

struct mapping {
	uint32_t address[SIDES];
	uint32_t mask;
	uint16_t port[SIDES]; /* the first */
	uint32_t ports;	      /* 0: of addresses alone */
	uint8_t proto;
};

struct translation {
	uint32_t n;
	bool from_inside;
	struct mapping mappings[];
};

static int decode_mapping(struct sn_builder *b, struct mapping *to,
			  const Sinter__Program__V1__FixedMapping *from)
{
	uint32_t last = 65536 - (from->ports ? from->ports : 1);

	if (from->prefix_len < 8 || from->prefix_len > 32)
		return sn_build_fail(b, "prefix_len is %u, want 8..32", from->prefix_len);
	to->mask = UINT32_MAX << (32 - from->prefix_len);
	if ((from->inside | from->outside) & ~to->mask)
		return sn_build_fail(b, "inside %#x or outside %#x has host bits, want prefixes of length %u",
				     from->inside, from->outside, from->prefix_len);
	to->address[INSIDE] = from->inside;
	to->address[OUTSIDE] = from->outside;
	if (!from->proto)
		return from->ports | from->inside_port | from->outside_port
			       ? sn_build_fail(b,
					       "has ports, but proto is 0: want no ports, or proto 6 or 17")
			       : 0;
	if (from->proto != SN_TCP && from->proto != SN_UDP)
		return sn_build_fail(b, "proto is %u, want 0, 6 or 17", from->proto);
	if (from->prefix_len != 32)
		return sn_build_fail(b, "prefix_len is %u, but it has ports: want 32", from->prefix_len);
	if (!from->ports || from->ports > 65535 || !from->inside_port || from->inside_port > last ||
	    !from->outside_port || from->outside_port > last)
		return sn_build_fail(b, "ports are %u from %u and %u on, want ranges within 1..65535",
				     from->ports, from->inside_port, from->outside_port);
	to->proto = (uint8_t)from->proto;
	to->ports = from->ports;
	to->port[INSIDE] = (uint16_t)from->inside_port;
	to->port[OUTSIDE] = (uint16_t)from->outside_port;
	return 0;
}

/*
 * Nothing is said to be written: an error that is of no mapping, which alone meets a NAPT behind this, is as
 * it was; and one that is of a mapping meets what that mapping's packets meet, of which `add` and `set` say
 * what is written. The class is followed by predict().
 */
static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const Sinter__Program__V1__TranslateError *m = from->translate_error;
	struct translation *t;
	int rc;

	if (m->n_mappings < 1 || m->n_mappings > MAPPINGS_MAX)
		return sn_build_fail(b, "translate_error has %zu mappings, want 1..%u", m->n_mappings,
				     MAPPINGS_MAX);
	t = sn_build_array(1, sizeof(*t) + m->n_mappings * sizeof(*t->mappings));
	rc = sn_build_operands(b, to, t);
	if (rc)
		return rc;
	t->n = (uint32_t)m->n_mappings;
	t->from_inside = m->from_inside;
	for (uint32_t i = 0; i < t->n && !rc; i++)
		rc = decode_mapping(b, &t->mappings[i], m->mappings[i]);
	return rc;
}

static bool holds(const struct mapping *m, enum side side, uint32_t address)
{
	return (address & m->mask) == m->address[side];
}

/* The mapping of a quoted packet's end; NULL: it is of none. */
static const struct mapping *find(const struct translation *t, enum side side, uint8_t proto,
				  uint32_t address, uint16_t port)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct mapping *m = &t->mappings[i];

		if (!holds(m, side, address))
			continue;
		if (!m->ports || (m->proto == proto && port >= m->port[side] &&
				  (uint32_t)(port - m->port[side]) < m->ports))
			return m;
	}
	return NULL;
}

/* The address on the other side. */
static uint32_t address_of(const struct mapping *m, enum side from, uint32_t address)
{
	return address - m->address[from] + m->address[!from];
}

static uint16_t port_of(const struct mapping *m, enum side from, uint16_t port)
{
	return (uint16_t)(port - m->port[from] + m->port[!from]);
}

/* About a packet that left: its source is what it had before. */
static void from_outside(const struct translation *t, struct sn_pkt *p)
{
	struct sn_quote *q = &p->quote;
	const struct mapping *m = p->dst == q->src ? find(t, OUTSIDE, q->proto, q->src, q->sport) : NULL;

	if (!m)
		return;
	p->dst = q->src = address_of(m, OUTSIDE, q->src);
	if (m->ports)
		q->sport = port_of(m, OUTSIDE, q->sport);
}

/* About a packet that was delivered. Who sends it and has an outside address has that, any other one the
 * packet's. */
static void from_inside(const struct translation *t, struct sn_pkt *p)
{
	struct sn_quote *q = &p->quote;
	const struct mapping *m = find(t, INSIDE, q->proto, q->dst, q->dport), *own = NULL;

	if (!m)
		return;
	q->dst = address_of(m, INSIDE, q->dst);
	if (m->ports)
		q->dport = port_of(m, INSIDE, q->dport);
	for (uint32_t i = 0; i < t->n && !own; i++)
		if (!t->mappings[i].ports && holds(&t->mappings[i], INSIDE, p->src))
			own = &t->mappings[i];
	p->src = own ? address_of(own, INSIDE, p->src) : q->dst;
}

static void translate(const struct sn_program *program, struct sn_pkt *p, const struct sn_op *op)
{
	const struct translation *t = program->operands[op->value];

	if (p->frag != SN_FRAG_WHOLE || !sn_icmp_quote(p))
		return;
	if (t->from_inside)
		from_inside(t, p);
	else
		from_outside(t, p);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	translate(x->program, p, op);
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	translate(look->program, p, op);
	return sn_pass();
}

static const struct sn_operation translate_error = {
	.name = "translate_error",
	.wire = SINTER__PROGRAM__V1__OP__OP_TRANSLATE_ERROR,
	.traits = SN_OP_ON_PACKET | SN_OP_UNCACHEABLE,
	.decode = decode,
	.execute = execute,
	.predict = predict,
};
SN_OPERATION(translate_error)
