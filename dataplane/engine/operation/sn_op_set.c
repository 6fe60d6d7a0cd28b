/* SPDX-License-Identifier: Apache-2.0 */
/* set: a constant is written into a field. */

#include "sn_execution.h"

/* The largest value that may be written into a field; 0: none may. */
static uint32_t value_max(uint32_t field)
{
	switch (field) {
	case SN_VLAN:
	case SN_SRC:
	case SN_DST:
	case SN_DSCP:
	case SN_TTL:
		return sn_field_max(field);
	case SN_SPORT:
	case SN_DPORT: /* a port cannot be made absent */
		return SN_PORT_ABSENT - 1;
	}
	return 0;
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	uint32_t field = (uint32_t)from->set->field, max = value_max(field);

	if (max == 0)
		return sn_build_fail(
			b, "field %u cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT", field);
	if (from->set->value > max)
		return sn_build_fail(b, "sets %s to %u, want at most %u", sn_field_name(field),
				     from->set->value, max);
	to->value = from->set->value;
	to->writes = 1u << field;
	if (field == SN_TTL)
		to->traits |= SN_OP_RAISES_TTL | SN_OP_UNCACHEABLE;
	return 0;
}

/* The one that it writes. */
static enum sn_field field_of(const struct sn_op *op)
{
	return (enum sn_field)__builtin_ctz(op->writes);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	(void)x;
	sn_pkt_set(p, field_of(op), op->value);
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	(void)look;
	sn_pkt_set(p, field_of(op), op->value);
	return sn_pass();
}

static const struct sn_operation set = {
	.name = "set",
	.wire = SINTER__PROGRAM__V1__OP__OP_SET,
	.traits = SN_OP_ON_PACKET,
	.decode = decode,
	.execute = execute,
	.predict = predict,
};
SN_OPERATION(set)
