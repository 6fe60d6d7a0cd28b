/* SPDX-License-Identifier: Apache-2.0 */
/* assign: the packet goes on to the replica that has its flow, or to one that is chosen. */

#include <inttypes.h>

#include "sn_assignment.h"
#include "sn_continuation.h"
#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_hash.h"

_Static_assert(SN_REPLICAS_MAX <= SN_LEADS_MAX, "each is a way on");

struct replica {
	uint32_t table, segment;
	uint64_t key;
	uint64_t wires; /* bit per interface */
	bool draining;
};

struct assign {
	struct replica replicas[SN_REPLICAS_MAX];
	uint32_t n;
	bool from_outside;
};

static const struct assign *assign_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

/* ---- decoded ---- */

static int decode_replica(struct sn_builder *b, struct replica *to, const Sinter__Program__V1__Replica *from)
{
	if (sn_build_table_of(b, "assign.replicas.table", from->table, &sn_assignment, "one of assignment") ||
	    sn_build_index(b, "assign.replicas.segment", from->segment, b->msg->n_segments) ||
	    sn_build_wire(b, "assign.replicas.inside", from->inside) ||
	    sn_build_wire(b, "assign.replicas.outside", from->outside))
		return -EINVAL;
	*to = (struct replica){from->table, from->segment, from->key,
			       1ull << from->inside | 1ull << from->outside, from->draining};
	return 0;
}

static int check_pair(struct sn_builder *b, const struct replica *r, const struct replica *other)
{
	if (r->key == other->key)
		return sn_build_fail(b,
				     "assign.replicas.key is %#" PRIx64
				     ", which another one has, want a key of its own",
				     r->key);
	if (r->table == other->table)
		return sn_build_fail(
			b, "assign.replicas.table is %u, which another one has, want a table of its own",
			r->table);
	return 0;
}

static int check_pairs(struct sn_builder *b, const struct assign *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (check_pair(b, &a->replicas[i], &a->replicas[j]))
				return -EINVAL;
	return 0;
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	const Sinter__Program__V1__Assign *m = from->assign;
	struct sn_replicas group = {.n = m->n_replicas};
	struct assign *a = sn_build_array(1, sizeof(*a));

	if (sn_build_operands(b, to, a))
		return -ENOMEM;
	if (m->n_replicas < 1 || m->n_replicas > SN_REPLICAS_MAX)
		return sn_build_fail(b, "assign has %zu replicas, want 1..%u", m->n_replicas,
				     SN_REPLICAS_MAX);
	a->from_outside = m->from_outside;
	for (; a->n < m->n_replicas; a->n++) {
		if (decode_replica(b, &a->replicas[a->n], m->replicas[a->n]))
			return -EINVAL;
		group.wires[a->n] = a->replicas[a->n].wires;
	}
	return check_pairs(b, a) ? -EINVAL : sn_build_replicas(b, &group);
}

/* ---- chosen ---- */

enum fitness {
	UP = 1,
	WILLING = 2,
};

static uint32_t fitness_of(const struct sn_execution *x, const struct replica *r)
{
	return (sn_execution_down(x, r->wires) ? 0 : UP) | (r->draining ? 0 : WILLING);
}

/* The replica with the highest weight of those that fit; NULL: none does. */
static const struct replica *highest(const struct sn_execution *x, const struct assign *a, uint64_t hosts,
				     uint32_t fit)
{
	const struct replica *best = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct replica *r = &a->replicas[i];
		uint64_t weight = sn_mix(hosts ^ r->key);

		if ((fitness_of(x, r) & fit) == fit && (!best || weight > most)) {
			best = r;
			most = weight;
		}
	}
	return best;
}

/* By rendezvous hashing of two hosts, in any order (Thaler and Ravishankar, 1998): fragments, and further
 * flows of these, go to the same replica. */
static const struct replica *pick(const struct sn_execution *x, const struct assign *a, uint32_t first,
				  uint32_t second)
{
	static const uint32_t fits[] = {UP | WILLING, UP, WILLING, 0};
	uint64_t hosts = sn_mix((uint64_t)RTE_MIN(first, second) << 32 | RTE_MAX(first, second));
	const struct replica *r = NULL;

	for (uint32_t i = 0; !r; i++)
		r = highest(x, a, hosts, fits[i]);
	return r;
}

/* ---- packets ---- */

/* The quoted packet was on its way to where the error comes from. */
static uint32_t shard_of(const struct sn_state *state, const struct assign *a, const struct sn_flow *flow,
			 bool quoted)
{
	return sn_flow_shard_in(state, a->replicas[0].table, flow, a->from_outside != quoted);
}

/* Whether the flows of a replica that is down have a better one. */
static bool is_given_up(const struct sn_execution *x, const struct assign *a, const struct replica *r)
{
	return sn_execution_down(x, r->wires) && highest(x, a, 0, UP);
}

/* The replica that has a flow; NULL: none, or none that is to keep it. */
static const struct replica *holder(struct sn_execution *x, const struct assign *a,
				    const struct sn_flow *flow, uint32_t shard, bool from_outside)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct replica *r = &a->replicas[i];
		bool is_return;
		struct sn_session *s = sn_outside_flows_find(x->partition, r->table, shard, flow,
							     from_outside, x->now, &is_return);

		if (!s)
			continue;
		if (likely(!is_given_up(x, a, r)))
			return r;
		if (!x->warm_up)
			sn_outside_flows_end(x->partition, r->table, s);
		return NULL;
	}
	return NULL;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct assign *a = assign_of(x->program, op);
	const struct replica *r = NULL;
	struct sn_flow flow;
	uint32_t shard;
	bool quoted;

	if (sn_followed_told(p, &flow, &quoted)) {
		shard = shard_of(x->state, a, &flow, quoted);
		if (unlikely(!x->partition->owned[shard]))
			return sn_hand_over_to(shard);
		r = holder(x, a, &flow, shard, a->from_outside != quoted);
	}
	/* Without a holder it holds for this packet alone: the flow may find room, or another replica. */
	x->keep = x->keep && r && !quoted;
	if (!r)
		r = pick(x, a, flow.src, flow.dst);
	return sn_to_segment(r->segment);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct assign *a = assign_of(look->program, op);
	struct sn_flow flow;
	bool quoted;

	if (!sn_followed_told(p, &flow, &quoted))
		return sn_to_segment(a->replicas[0].segment);
	return sn_hand_over_to(shard_of(look->state, a, &flow, quoted));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct assign *a = assign_of(p, op);

	return (struct sn_cut){
		.of = SN_CUT_OF_FLOW, .destination = a->from_outside, .table = a->replicas[0].table};
}

static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	const struct assign *a = assign_of(p, op);

	return i < a->n ? (struct sn_lead){SN_LED_PACKET, a->replicas[i].segment}
			: (struct sn_lead){SN_LED_NOTHING, 0};
}

static const struct sn_operation assign_op = {
	.name = "assign",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_ASSIGN,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
	.leads = leads,
	.n_leads = SN_REPLICAS_MAX,
};
SN_OPERATION(assign_op)
