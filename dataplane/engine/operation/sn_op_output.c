/* SPDX-License-Identifier: Apache-2.0 */
/* output: the packet leaves by an interface; one that is too big is answered by it. */

#include <errno.h>

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_icmp.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	to->value = from->output;
	if (sn_build_index(b, sn_operation_of(to)->name, from->output, b->p->n_interfaces))
		return -EINVAL;
	if (b->p->interfaces[from->output].wire)
		return sn_build_fail(b,
				     "output is %u (%.64s), a wire: packets leave by it for its stop alone",
				     from->output, b->p->interfaces[from->output].name);
	return 0;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_execution_output(x, p, op->value);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct sn_interface *ifc = &look->program->interfaces[op->value];

	if (p->ip_len <= ifc->mtu || !p->df || sn_icmp_suppressed(p))
		return sn_done();
	sn_icmp_foresee_error(p, SN_ICMP_UNREACHABLE, 4, sn_entry_address(look->program, p));
	p->iface = op->value;
	p->ttl = ifc->answer_ttl;
	return sn_to_segment(ifc->segment);
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	c->simple = SN_SIMPLE_OUTPUT;
	c->target = op->value;
	return true;
}

/* The packet may be too big, or the next hop may not answer. */
static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	(void)i;
	return (struct sn_lead){SN_LED_ERROR, p->interfaces[op->value].segment};
}

static const struct sn_operation output = {
	.name = "output",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT,
	.way = SN_WAY_OUTPUT,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.simplify = simplify,
	.leads = leads,
};
SN_OPERATION(output)
