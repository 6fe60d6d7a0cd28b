/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_exec.h"

#include "sn_output.h"
#include "sn_segment.h"

static void drop(struct sn_execution *x, struct sn_pkt *p, uint32_t reason)
{
	if (!x->warm_up)
		sn_output_drop(x->slow->env, p->m, reason);
}

static void count_leg(struct sn_execution *x, const struct sn_leg *leg, const struct sn_pkt *p)
{
	const uint32_t *ids = &x->program->leg_counters[leg->first_counter];

	for (uint32_t i = 0; i < leg->n_counters; i++)
		sn_execution_count(x, ids[i], p);
}

/* Whether what the operation does to this packet is what it does to all of the flow, but for what `each`
 * does. */
static bool can_keep(const struct sn_execution *x, const struct sn_op *op)
{
	if (op->traits & SN_OP_UNCACHEABLE)
		return false;
	return !(op->writes & x->varying) || sn_operation_of(op)->each;
}

/* Operation after operation; the last one does not say PASS. A warm-up is over when its decision cannot be
 * kept. */
static struct sn_verdict run_leg(struct sn_execution *x, struct sn_pkt *p, const struct sn_leg *leg)
{
	const struct sn_op *op = sn_leg_op(x->program, leg, 0);
	struct sn_verdict v;

	count_leg(x, leg, p);
	do {
		x->keep &= can_keep(x, op);
		if (unlikely(x->warm_up && !x->keep))
			return sn_done();
		v = sn_operation_of(op)->execute(x, p, op);
		op++;
	} while (v.kind == SN_VERDICT_PASS);
	return v;
}

static uint32_t classify(struct sn_execution *x, const struct sn_pkt *p, const struct sn_segment *s)
{
	x->keep &= !sn_segment_is_low(s, p);
	return sn_segment_class(s, p);
}

static void run_segments(struct sn_execution *x, struct sn_pkt *p, struct sn_verdict v, uint32_t class,
			 uint32_t depth);

/* The only leg whose packets are no copies that nothing comes of; n: there are none, or more. */
static uint32_t main_leg(const struct sn_execution *x, const struct sn_leg *legs, uint32_t n)
{
	uint32_t found = n;

	for (uint32_t i = 0; i < n; i++) {
		if (sn_operation_of(sn_leg_op(x->program, &legs[i], legs[i].n_ops - 1))->taps)
			continue;
		if (found < n)
			return n;
		found = i;
	}
	return found;
}

/* Has the decision of a packet make the copies as well, if what happens to them is the same for all packets
 * of the flow. That is found out before the packet leaves and its decision is kept, without effect. */
static void note_copies(struct sn_execution *x, const struct sn_pkt *p, const struct sn_leg *legs, uint32_t n,
			uint32_t main)
{
	bool each = x->each, observed = x->observed, warm_up = x->warm_up;
	uint32_t mark = x->n_uses;

	x->warm_up = true;
	for (uint32_t i = 0; i < n && x->keep; i++) {
		uint32_t copied = x->n_copied;
		struct sn_pkt copy = *p;

		if (i == main)
			continue;
		(void)run_leg(x, &copy, &legs[i]);
		x->keep &= x->n_copied > copied;
		sn_journal_roll_back(x, mark);
	}
	x->keep &= x->each == each && x->observed == observed;
	x->warm_up = warm_up;
}

/* Each leg acts on a copy of the packet as it is here; the last on the packet itself. */
static struct sn_verdict run_legs(struct sn_execution *x, struct sn_pkt *p, const struct sn_leg *legs,
				  uint32_t n, uint32_t depth)
{
	uint32_t mark = x->n_uses, main = x->keep ? main_leg(x, legs, n) : n;
	bool keep;

	x->keep &= main < n;
	if (x->keep)
		note_copies(x, p, legs, n, main);
	if (x->warm_up)
		return x->keep ? run_leg(x, p, &legs[main]) : sn_done();
	keep = x->keep;
	x->copies += n - 1;
	if (x->copies > SN_COPIES_MAX)
		return sn_drop(SN_REASON_DEPTH);
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct sn_pkt copy = *p;

		copy.m = sn_output_copy(x->slow->env, p->m, p->frame_len);
		if (!copy.m)
			continue;
		x->keep = keep && i == main;
		run_segments(x, &copy, run_leg(x, &copy, &legs[i]), SN_TABLE_NONE, depth);
		sn_journal_roll_back(x, mark);
	}
	x->keep = keep && main == n - 1;
	return run_leg(x, p, &legs[n - 1]);
}

static struct sn_verdict run_segment(struct sn_execution *x, struct sn_pkt *p, const struct sn_segment *s,
				     uint32_t class, uint32_t depth)
{
	uint32_t floor = s->ttl_floor + (uint8_t)(p->ttl0 - p->ttl);
	const struct sn_class *c;

	if (class == SN_TABLE_NONE)
		class = classify(x, p, s);
	if (class == SN_TABLE_NONE)
		return sn_drop(SN_REASON_NONE);
	if (floor > x->min_ttl)
		x->min_ttl = floor;
	class += s->first_class;
	if (!x->warm_up) {
		sn_count_add(&x->counts->classes[class], p->frame_len);
		if (unlikely(x->slow->env->trace))
			sn_trace_class(x->slow->env->trace, class);
	}
	x->keep &= !(s->table.reads & x->varying);
	sn_execution_step(x, class);
	c = &x->program->classes[class];
	if (c->n_legs > 1)
		return run_legs(x, p, &x->program->legs[c->first_leg], c->n_legs, depth);
	return run_leg(x, p, &x->program->legs[c->first_leg]);
}

/* Takes a packet of which this is known on to its end. class: its class in the first segment. */
static void run_segments(struct sn_execution *x, struct sn_pkt *p, struct sn_verdict v, uint32_t class,
			 uint32_t depth)
{
	while (v.kind == SN_VERDICT_SEGMENT) {
		if (unlikely(depth++ == x->program->longest_way))
			v = sn_drop(SN_REASON_DEPTH);
		else
			v = run_segment(x, p, &x->program->segments[v.value], class, depth);
		class = SN_TABLE_NONE;
	}
	if (v.kind == SN_VERDICT_DROP)
		drop(x, p, v.value);
	else if (v.kind == SN_VERDICT_HAND_OVER)
		/* It came here for state that is ours, and needs state that is not: no worker has both. */
		drop(x, p, SN_REASON_NOT_OURS);
}

static void init(struct sn_execution *x, struct sn_slow *slow, uint64_t now)
{
	const struct sn_env *env = slow->env;

	/* Not the arrays: they are as large as they are long. */
	x->slow = slow;
	x->program = env->program;
	x->counts = env->counts;
	x->state = env->state;
	x->partition = env->partition;
	x->now = now;
	x->uses = slow->journal;
	x->n_uses = 0;
	x->copies = 0;
	x->keeper = NULL;
	x->keep = false;
	x->warm_up = false;
	x->min_ttl = 0;
	x->varying = 0;
	x->each = false;
	x->observed = false;
	x->n_copied = 0;
	x->n_steps = 0;
}

static void run(struct sn_slow *slow, struct sn_pkt *p, uint32_t segment, uint32_t class,
		const struct sn_keeper *keeper, bool warm_up, uint64_t now)
{
	struct sn_execution x;

	init(&x, slow, now);
	x.keeper = keeper;
	x.keep = keeper != NULL;
	x.warm_up = warm_up;
	run_segments(&x, p, sn_to_segment(segment), class, 0);
	sn_journal_roll_back(&x, 0);
}

void sn_exec(struct sn_slow *slow, struct sn_pkt *p, uint32_t segment, uint32_t class,
	     const struct sn_keeper *keeper, uint64_t now)
{
	run(slow, p, segment, class, keeper, false, now);
}

void sn_exec_warm_up(struct sn_slow *slow, struct sn_pkt *p, uint32_t segment, uint32_t class,
		     const struct sn_keeper *keeper, uint64_t now)
{
	run(slow, p, segment, class, keeper, true, now);
}

void sn_exec_unreachable(struct sn_slow *slow, struct rte_mbuf *m, uint32_t iface, uint64_t now)
{
	uint32_t entry = sn_env_iface_of(slow->env, m->port);
	/* The interface by which it came may be gone. */
	struct sn_pkt p = {.m = m, .iface = (uint8_t)(entry == SN_NO_INDEX ? iface : entry)};
	struct sn_execution x;

	sn_parse_waited(&p);
	init(&x, slow, now);
	run_segments(&x, &p, sn_execution_unreachable(&x, &p, iface), SN_TABLE_NONE, 0);
	sn_journal_roll_back(&x, 0);
}
