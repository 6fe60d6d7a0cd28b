/* SPDX-License-Identifier: Apache-2.0 */
/* meter: the packet is measured, and dropped or marked by its colour. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_meter.h"

static const struct sn_meter_rules *rules_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->tables[op->value].rules;
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const struct sn_meter_rules *r;
	int rc = sn_build_table_of(b, "meter", from->meter, &sn_meter, "a meter's");

	if (rc)
		return rc;
	to->value = from->meter;
	r = rules_of(b->p, to);
	if (r->marks)
		to->writes = 1u << SN_DSCP;
	if (r->mask)
		to->traits |= SN_OP_OWN_SHARD;
	return 0;
}

static uint32_t prefix_of(const struct sn_meter_rules *r, const struct sn_pkt *p)
{
	return (r->destination ? p->dst : p->src) & r->mask;
}

static uint32_t shard_of(const struct sn_state *state, const struct sn_meter_rules *r, const struct sn_pkt *p)
{
	return sn_prefix_shard(state, prefix_of(r, p), r->prefix_len);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct sn_meter_rules *r = rules_of(x->program, op);
	enum sn_meter_result result;
	struct sn_entry *e;
	uint32_t shard;

	if (!r->mask)
		return sn_execution_each(x, p, op, NULL);
	shard = shard_of(x->state, r, p);
	if (unlikely(!x->partition->owned[shard])) {
		x->keep = false;
		return p->generated ? sn_pass() : sn_hand_over_to(shard);
	}
	result =
		sn_meter_subscriber(x->partition, op->value, shard, prefix_of(r, p), !x->warm_up, x->now, &e);
	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	/* A subscriber's first packet is often its last. */
	x->keep &= result == SN_METER_FOUND;
	/* As if it had been evicted at once. */
	return likely(e != NULL) ? sn_execution_each(x, p, op, e) : sn_pass();
}

static enum sn_color came_as(const struct sn_meter_rules *r, const struct sn_pkt *p)
{
	if (likely(!(r->comes[SN_YELLOW] | r->comes[SN_RED])))
		return SN_GREEN;
	if (r->comes[SN_RED] >> p->dscp & 1)
		return SN_RED;
	return r->comes[SN_YELLOW] >> p->dscp & 1 ? SN_YELLOW : SN_GREEN;
}

static struct sn_verdict each(const struct sn_program *program, const struct sn_op *op,
			      struct sn_partition *partition, struct sn_entry *entry, struct sn_pkt *p,
			      uint64_t now)
{
	const struct sn_meter_rules *r = rules_of(program, op);
	uint64_t tokens = r->bits ? (uint64_t)r->bits * p->ip_len : 1;
	const struct sn_meter_action *a = &r->actions[sn_meter_measure(
		partition, op->value, entry, came_as(r, p), tokens, p->ip_len, now)];

	if (a->reason != SN_REASON_NONE)
		return sn_drop(a->reason);
	if (a->dscp != SN_METER_KEEP_DSCP)
		p->dscp = (uint8_t)a->dscp;
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct sn_meter_rules *r = rules_of(look->program, op);

	return r->mask ? sn_hand_over_to(shard_of(look->state, r, p)) : sn_pass();
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct sn_meter_rules *r = rules_of(p, op);

	return (struct sn_cut){.destination = r->destination, .prefix_len = (uint8_t)r->prefix_len};
}

static const struct sn_operation meter = {
	.name = "meter",
	.wire = SINTER__PROGRAM__V1__OP__OP_METER,
	.decode = decode,
	.execute = execute,
	.each = each,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(meter)
