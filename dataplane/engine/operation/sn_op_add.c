/* SPDX-License-Identifier: Apache-2.0 */
/* add: a constant is added to an address or a port, as fixed translations do to all of a range. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	uint32_t field = (uint32_t)from->add->field;
	bool is_port = field == SN_SPORT || field == SN_DPORT;

	if (!is_port && field != SN_SRC && field != SN_DST)
		return sn_build_fail(b, "nothing can be added to field %u: want SRC, DST, SPORT or DPORT",
				     field);
	if (is_port && from->add->value >= SN_PORT_ABSENT)
		return sn_build_fail(b, "adds %u to %s, want at most %u", from->add->value,
				     sn_field_name(field), SN_PORT_ABSENT - 1);
	to->value = from->add->value;
	to->writes = 1u << field;
	return 0;
}

/* Modulo the field's size; a port that is absent stays so. */
static void add_to(struct sn_pkt *p, const struct sn_op *op)
{
	switch (__builtin_ctz(op->writes)) {
	case SN_SRC:
		p->src += op->value;
		break;
	case SN_DST:
		p->dst += op->value;
		break;
	case SN_SPORT:
		sn_pkt_set(p, SN_SPORT, (uint16_t)(p->sport + op->value));
		break;
	case SN_DPORT:
		sn_pkt_set(p, SN_DPORT, (uint16_t)(p->dport + op->value));
		break;
	}
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	(void)x;
	add_to(p, op);
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	(void)look;
	add_to(p, op);
	return sn_pass();
}

static const struct sn_operation add = {
	.name = "add",
	.wire = SINTER__PROGRAM__V1__OP__OP_ADD,
	.traits = SN_OP_ON_PACKET,
	.decode = decode,
	.execute = execute,
	.predict = predict,
};
SN_OPERATION(add)
