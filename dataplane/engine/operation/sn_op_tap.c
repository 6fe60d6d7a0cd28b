/* SPDX-License-Identifier: Apache-2.0 */
/* tap: the packet leaves for a function outside of the program that gets copies, and does not come back. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	to->value = from->tap->out;
	return sn_build_wire(b, "tap.out", from->tap->out);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_execution_tap(x, p, op->value);
}

static const struct sn_operation tap = {
	.name = "tap",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_TAP,
	.decode_outcome = decode,
	.execute = execute,
	.taps = true,
};
SN_OPERATION(tap)
