/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_answer.h"
#include "sn_exec_impl.h"
#include "sn_icmp.h"
#include "sn_rewrite.h"

/* ---- counters ---- */

static void step(struct exec *x, uint32_t id)
{
	if (!x->keep)
		return;
	if (x->n_steps == STEPS_MAX)
		x->keep = false;
	else
		x->steps[x->n_steps++] = id;
}

static void count(struct exec *x, uint32_t counter, const struct sn_pkt *p)
{
	if (!x->warm_up)
		sn_count_add(&x->w->counts->counters[counter], p->frame_len);
	step(x, counter | SN_STEP_COUNTER);
}

static void count_leg(struct exec *x, const struct sn_leg *leg, const struct sn_pkt *p)
{
	const uint32_t *ids = &x->w->program->leg_counters[leg->first_counter];

	for (uint32_t i = 0; i < leg->n_counters; i++)
		count(x, ids[i], p);
}

/* ---- operations ---- */

static void add_ttl(struct exec *x, struct sn_pkt *p, int32_t value)
{
	/* Only a TTL that just sinks is the same difference for every packet. */
	if (value > 0 || -value > p->ttl)
		x->keep = false;
	p->ttl += value;
}

static enum sn_reason run_ops(struct exec *x, struct sn_pkt *p, const struct sn_leg *leg)
{
	const struct sn_op *op = &x->w->program->ops[leg->first_op], *end = op + leg->n_ops;
	enum sn_reason reason;

	for (; op < end; op++) {
		switch (op->kind) {
		case SN_OP_SET:
			sn_pkt_set(p, op->field, op->value);
			x->keep &= op->field != SN_TTL;
			break;
		case SN_OP_ADD_TTL:
			add_ttl(x, p, (int32_t)op->value);
			break;
		case SN_OP_NEXT_HOP:
			p->next_hop = op->value;
			break;
		case SN_OP_STATE_FORWARD:
			reason = sn_exec_forward(x, p, op->value);
			if (reason)
				return reason;
			break;
		case SN_OP_COUNT:
			count(x, op->value, p);
			break;
		}
	}
	return SN_REASON_NONE;
}

/* ---- outcomes ---- */

/* The address of the interface by which the packet came: mostly that by which an error about it leaves (RFC
 * 1812, section 4.3.2.4). */
static uint32_t entry_address(const struct exec *x, const struct sn_pkt *p)
{
	return x->w->program->interfaces[p->iface].address;
}

/* Make the error that p is too big, unless there may be none; then p is dropped and the reason returned. */
static enum sn_reason too_big_error(struct exec *x, struct sn_pkt *p, const struct sn_interface *ifc)
{
	enum sn_reason reason;

	x->keep = false;
	if (sn_icmp_suppressed(p))
		reason = SN_REASON_ICMP_SUPPRESSED;
	else if (!sn_worker_icmp_allowed(x->w, x->now))
		reason = SN_REASON_ICMP_RATE;
	else
		reason = sn_icmp_error(p, SN_ICMP_UNREACHABLE, 4, (uint16_t)ifc->mtu, entry_address(x, p),
				       ifc->answer_ttl);
	if (reason)
		drop(x, p, reason);
	return reason;
}

/* Whether a fragment to an own address is of an echo request, as its first one tells. */
static bool is_echo_fragment(struct exec *x, const struct sn_pkt *p)
{
	uint16_t id = sn_load16(rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l3 + 4));

	if (p->frag == SN_FRAG_LATER)
		return sn_echoes_know(&x->w->echoes, p->src, p->dst, id, x->now);
	sn_echoes_note(&x->w->echoes, p->src, p->dst, id, x->now);
	return true;
}

static struct next generate(struct exec *x, struct sn_pkt *p, const struct sn_generator *g)
{
	struct sn_answer a = sn_answer_of(g, p, entry_address(x, p));
	enum sn_reason reason;

	sn_exec_commit(x);
	x->keep = false;
	if (x->warm_up)
		return ended;
	if (a.kind == SN_ANSWER_FRAGMENT && !is_echo_fragment(x, p))
		reason = SN_REASON_LOCAL;
	else if (a.kind == SN_ANSWER_NONE)
		reason = a.reason;
	else if (!sn_answer_sum_ok(g, p))
		reason = SN_REASON_BAD_CHECKSUM;
	else if (a.kind != SN_ANSWER_ECHO && a.kind != SN_ANSWER_FRAGMENT &&
		 !sn_worker_icmp_allowed(x->w, x->now))
		reason = SN_REASON_ICMP_RATE;
	else
		reason = sn_answer_make(p, &a);
	return reason ? drop(x, p, reason) : (struct next){g->segment};
}

/* The interface answers as the router behind it would. */
static struct next too_big(struct exec *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->w->program->interfaces[iface];
	uint32_t len = p->frame_len;

	if (!p->df)
		return drop(x, p, SN_REASON_TOO_BIG);
	sn_exec_commit(x);
	if (too_big_error(x, p, ifc))
		return ended;
	sn_worker_count_drop(x->w, p->m, sn_source(p->m), len, SN_REASON_TOO_BIG_ANSWERED);
	p->iface = iface;
	return (struct next){ifc->segment};
}

/* The interface tells the sender that the next hop did not answer (RFC 1812, section 5.2.7.1). */
static struct next host_unreachable(struct exec *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->w->program->interfaces[iface];
	enum sn_reason reason;

	x->keep = false;
	if (sn_icmp_suppressed(p) || !sn_worker_icmp_allowed(x->w, x->now))
		return drop(x, p, SN_REASON_NEIGHBOR_UNRESOLVED);
	/* Now, as a trace shows the packet and not its answer. */
	sn_worker_count_drop(x->w, p->m, sn_source(p->m), p->frame_len, SN_REASON_HOST_UNREACHABLE);
	reason = sn_icmp_error(p, SN_ICMP_UNREACHABLE, 1, 0, entry_address(x, p), ifc->answer_ttl);
	if (reason)
		return drop(x, p, reason);
	p->iface = (uint8_t)iface;
	return (struct next){ifc->segment};
}

/* Keep the decision for the packets of this flow that follow. */
static void remember(struct exec *x, const struct sn_pkt *p, const struct sn_neigh *n)
{
	struct sn_worker *w = x->w;
	struct sn_cache_entry *e;
	uint32_t path;

	if (x->n_uses > SN_CACHE_SESSIONS || x->min_ttl > 255 || !sn_cache_current(&w->cache, x->key) ||
	    sn_exec_spans_shards(x))
		return;
	path = sn_counts_path(w->counts, x->steps, x->n_steps);
	if (path == SN_NO_INDEX)
		return;
	e = sn_cache_place(&w->cache, x->key, x->hash);
	e->addresses = x->key->addresses;
	e->ports_key = x->key->ports;
	e->signature = x->key->signature;
	e->src = rte_cpu_to_be_32(p->src);
	e->dst = rte_cpu_to_be_32(p->dst);
	e->sport = rte_cpu_to_be_16(p->proto == SN_ICMP ? p->id : p->sport);
	e->dport = rte_cpu_to_be_16(p->dport);
	e->ip_diff = sn_ip_diff(p);
	e->l4_diff = sn_l4_diff(p);
	e->neigh = n - w->neigh.entries;
	e->vlan = p->vlan != p->vlan0 || p->stripped ? p->vlan : SN_CACHE_KEEP_VLAN;
	e->dscp = p->dscp != p->dscp0 ? p->dscp : SN_CACHE_KEEP_DSCP;
	e->path = path;
	e->shard = x->n_uses > 0 ? x->uses[0].session->shard : SN_PKT_NO_SHARD;
	e->ttl_dec = p->ttl0 - p->ttl;
	e->min_ttl = x->min_ttl > e->ttl_dec ? x->min_ttl : e->ttl_dec;
	e->flags = p->stripped ? SN_CACHE_STRIPPED : 0;
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++) {
		e->sessions[i] = i < x->n_uses ? sn_cache_session(x->uses[i].session) : 0;
		if (i < x->n_uses && x->uses[i].is_return)
			e->flags |= SN_CACHE_RETURN0 << i;
	}
}

static struct next output(struct exec *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->w->program->interfaces[iface];
	struct sn_worker *w = x->w;
	struct sn_neigh *n;
	uint32_t hop = p->next_hop;
	bool known;

	if (!hop)
		hop = ((p->dst ^ ifc->address) & ifc->mask) == 0 ? p->dst : ifc->gateway;
	if (!hop)
		return drop(x, p, SN_REASON_NO_NEXT_HOP);
	if (!sn_vlans_have(ifc->vlans, p->vlan))
		return drop(x, p, SN_REASON_VLAN_UNKNOWN);
	if (p->ip_len > ifc->mtu)
		return too_big(x, p, iface);
	sn_exec_commit(x);
	n = sn_neigh_find(&w->neigh, sn_neigh_key((uint8_t)iface, p->vlan, hop));
	known = n && sn_neigh_usable(n);
	if (known && x->keep)
		remember(x, p, n);
	if (x->warm_up)
		return ended;
	if (n && n->state == SN_NEIGH_FAILED)
		return host_unreachable(x, p, iface);
	if (!sn_rewrite(p))
		return drop(x, p, SN_REASON_NO_MEMORY);
	if (!known) {
		sn_neigh_wait(w, p, iface, hop, x->now);
		return ended;
	}
	n->used = x->now;
	sn_write_l2(rte_pktmbuf_mtod(p->m, uint8_t *), n);
	sn_worker_send(w, iface, p->m);
	return ended;
}

static struct next run_leg(struct exec *x, struct sn_pkt *p, const struct sn_leg *leg)
{
	enum sn_reason reason;

	count_leg(x, leg, p);
	reason = run_ops(x, p, leg);
	if (reason)
		return drop(x, p, reason);
	switch ((enum sn_outcome)leg->outcome) {
	case SN_OUT_OUTPUT:
		return output(x, p, leg->target);
	case SN_OUT_DROP:
		return drop(x, p, leg->target);
	case SN_OUT_GENERATOR:
		return generate(x, p, &x->w->program->generators[leg->target]);
	case SN_OUT_SEGMENT:
		return (struct next){leg->target};
	case SN_OUT_STATE_RETURN:
		return sn_exec_return(x, p, leg->target);
	}
	return ended;
}

/* ---- segment after segment ---- */

static uint32_t classify(struct exec *x, const struct sn_pkt *p, const struct sn_segment *s)
{
	x->keep &= !sn_segment_is_low(s, p);
	return sn_segment_class(s, p);
}

static void run_segments(struct exec *x, struct sn_pkt *p, struct next next, uint32_t class, uint32_t depth);

/* Each leg acts on a copy of the packet as it is here; the last on the packet itself. */
static void run_legs(struct exec *x, struct sn_pkt *p, const struct sn_leg *legs, uint32_t n, uint32_t depth)
{
	uint32_t mark = x->n_uses;

	x->keep = false;
	if (x->warm_up)
		return;
	x->copies += n - 1;
	if (x->copies > SN_COPIES_MAX) {
		drop(x, p, SN_REASON_DEPTH);
		return;
	}
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct sn_pkt copy = *p;

		copy.m = rte_pktmbuf_copy(p->m, x->w->pool, 0, UINT32_MAX);
		if (!copy.m || (copy.m->nb_segs > 1 && rte_pktmbuf_linearize(copy.m))) {
			rte_pktmbuf_free(copy.m);
			sn_worker_count_drop(x->w, NULL, sn_source(p->m), p->frame_len, SN_REASON_NO_MEMORY);
			continue;
		}
		sn_source_set(copy.m, sn_source(p->m));
		run_segments(x, &copy, run_leg(x, &copy, &legs[i]), SN_TABLE_NONE, depth);
		sn_exec_roll_back(x, mark);
	}
	run_segments(x, p, run_leg(x, p, &legs[n - 1]), SN_TABLE_NONE, depth);
}

static void run_segments(struct exec *x, struct sn_pkt *p, struct next next, uint32_t class, uint32_t depth)
{
	const struct sn_program *program = x->w->program;

	while (next.segment != SN_NO_INDEX) {
		const struct sn_segment *s = &program->segments[next.segment];
		const struct sn_class *c;
		uint32_t floor = s->ttl_floor + (uint8_t)(p->ttl0 - p->ttl);

		if (unlikely(depth++ == program->longest_way)) {
			drop(x, p, SN_REASON_DEPTH);
			return;
		}
		if (class == SN_TABLE_NONE)
			class = classify(x, p, s);
		if (class == SN_TABLE_NONE) {
			drop(x, p, SN_REASON_NONE);
			return;
		}
		if (floor > x->min_ttl)
			x->min_ttl = floor;
		class += s->first_class;
		if (!x->warm_up) {
			sn_count_add(&x->w->counts->classes[class], p->frame_len);
			if (unlikely(x->w->trace))
				sn_trace_class(x->w->trace, class);
		}
		step(x, class);
		c = &program->classes[class];
		class = SN_TABLE_NONE;
		if (c->n_legs > 1) {
			run_legs(x, p, &program->legs[c->first_leg], c->n_legs, depth);
			return;
		}
		next = run_leg(x, p, &program->legs[c->first_leg]);
	}
}

static void init(struct exec *x, struct sn_worker *w, uint64_t now)
{
	/* Not the arrays: they are as large as they are long. */
	x->w = w;
	x->now = now;
	x->uses = w->journal;
	x->n_uses = 0;
	x->copies = 0;
	x->key = NULL;
	x->keep = false;
	x->warm_up = false;
	x->min_ttl = 0;
	x->n_steps = 0;
}

static void run(struct sn_worker *w, struct sn_pkt *p, uint32_t segment, uint32_t class,
		const struct sn_cache_key *key, uint64_t hash, bool warm_up, uint64_t now)
{
	struct exec x;

	init(&x, w, now);
	x.key = key;
	x.hash = hash;
	x.keep = key != NULL;
	x.warm_up = warm_up;
	run_segments(&x, p, (struct next){segment}, class, 0);
	sn_exec_roll_back(&x, 0);
}

void sn_exec(struct sn_worker *w, struct sn_pkt *p, uint32_t segment, uint32_t class,
	     const struct sn_cache_key *key, uint64_t hash, uint64_t now)
{
	run(w, p, segment, class, key, hash, false, now);
}

void sn_exec_warm_up(struct sn_worker *w, struct sn_pkt *p, uint32_t segment, uint32_t class,
		     const struct sn_cache_key *key, uint64_t hash, uint64_t now)
{
	run(w, p, segment, class, key, hash, true, now);
}

void sn_exec_unreachable(struct sn_worker *w, struct rte_mbuf *m, uint32_t iface, uint64_t now)
{
	uint32_t entry = sn_worker_iface_of(w, m->port);
	/* The interface by which it came may be gone. */
	struct sn_pkt p = {.m = m, .iface = (uint8_t)(entry == SN_NO_INDEX ? iface : entry)};
	struct exec x;

	sn_parse_waited(&p);
	init(&x, w, now);
	run_segments(&x, &p, host_unreachable(&x, &p, iface), SN_TABLE_NONE, 0);
	sn_exec_roll_back(&x, 0);
}
