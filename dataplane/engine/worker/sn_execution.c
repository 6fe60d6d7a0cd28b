/* SPDX-License-Identifier: Apache-2.0 */
/* What operations may do with a packet and its worker. */

#include "sn_bundle.h"
#include "sn_icmp.h"
#include "sn_rewrite.h"
#include "sn_worker_impl.h"

struct sn_verdict sn_execution_each(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op,
				    struct sn_entry *entry)
{
	uint8_t dscp = p->dscp;
	struct sn_verdict v;

	if (entry && x->n_uses == SN_JOURNAL_MAX)
		return sn_drop(SN_REASON_DEPTH);
	if (entry)
		x->uses[x->n_uses++] = (struct sn_use){.entry = entry, .each = true, .done = 1};
	sn_execution_step(x, (uint32_t)(op - x->program->ops) | SN_STEP_EACH | (entry ? SN_STEP_ENTRY : 0));
	x->each = true;
	x->varying |= op->writes;
	if (x->warm_up)
		return sn_pass();
	v = sn_operation_of(op)->each(x->program, op, x->partition, entry, p, x->now);
	/* The decision is that of packets as they mostly are. */
	x->keep &= p->dscp == dscp;
	return v;
}

/* The packet's flow, as the packet is now. */
static struct sn_flow_cell flow_of(const struct sn_pkt *p)
{
	struct sn_flow_cell flow = {.src = p->src, .dst = p->dst, .proto = p->proto, .iface = p->iface};

	if (p->sport != SN_PORT_ABSENT) {
		flow.sport = (uint16_t)p->sport;
		flow.dport = (uint16_t)p->dport;
	} else if (p->icmp_type != SN_BYTE_ABSENT) {
		flow.dport = (uint16_t)(p->icmp_type << 8);
	}
	return flow;
}

void sn_execution_observe(struct sn_execution *x, const struct sn_pkt *p)
{
	struct sn_flow_cell flow = flow_of(p);
	bool changed =
		(p->src ^ p->src0) | (p->dst ^ p->dst0) | (p->sport ^ p->sport0) | (p->dport ^ p->dport0);

	/* A decision has one cell. */
	x->keep &= !x->observed;
	x->observed = true;
	x->seen = flow;
	sn_execution_step(x, SN_STEP_OBSERVED | (changed ? SN_STEP_CHANGED : 0));
	if (!x->warm_up)
		sn_observer_packet(x->counts->observer, &flow, p->ip_len, sn_pkt_tcp_flags(p), x->now);
}

bool sn_execution_may_send_error(struct sn_execution *x)
{
	return sn_worker_icmp_allowed(x->worker, x->now);
}

struct sn_echoes *sn_execution_echoes(struct sn_execution *x)
{
	return &x->worker->echoes;
}

void sn_execution_tell_events(struct sn_execution *x, const struct sn_pkt *p)
{
	sn_worker_tell_events(x->worker, p->m);
}

/* ---- the packet leaves ---- */

/* Make the error that p is too big, unless there may be none: the reason is returned, for which p is to be
 * dropped. */
static enum sn_reason too_big_error(struct sn_execution *x, struct sn_pkt *p, const struct sn_interface *ifc)
{
	if (sn_icmp_suppressed(p))
		return SN_REASON_ICMP_SUPPRESSED;
	if (!sn_execution_may_send_error(x))
		return SN_REASON_ICMP_RATE;
	return sn_icmp_error(p, SN_ICMP_UNREACHABLE, 4, (uint16_t)ifc->mtu, sn_entry_address(x->program, p),
			     ifc->answer_ttl);
}

/* The interface answers as the router behind it would. */
static struct sn_verdict too_big(struct sn_execution *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->program->interfaces[iface];
	uint32_t len = p->frame_len;
	enum sn_reason reason;

	x->keep = false;
	if (!p->df)
		return sn_drop(SN_REASON_TOO_BIG);
	sn_journal_commit(x);
	reason = too_big_error(x, p, ifc);
	if (reason)
		return sn_drop(reason);
	sn_worker_count_drop(x->worker, p->m, sn_source(p->m), len, SN_REASON_TOO_BIG_ANSWERED);
	p->iface = iface;
	return sn_to_segment(ifc->segment);
}

/* The interface tells the sender that the next hop did not answer (RFC 1812, section 5.2.7.1). */
struct sn_verdict sn_execution_unreachable(struct sn_execution *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->program->interfaces[iface];
	enum sn_reason reason;

	x->keep = false;
	if (sn_icmp_suppressed(p) || !sn_execution_may_send_error(x))
		return sn_drop(SN_REASON_NEIGHBOR_UNRESOLVED);
	/* Now, as a trace shows the packet and not its answer. */
	sn_worker_count_drop(x->worker, p->m, sn_source(p->m), p->frame_len, SN_REASON_HOST_UNREACHABLE);
	reason =
		sn_icmp_error(p, SN_ICMP_UNREACHABLE, 1, 0, sn_entry_address(x->program, p), ifc->answer_ttl);
	if (reason)
		return sn_drop(reason);
	p->iface = (uint8_t)iface;
	return sn_to_segment(ifc->segment);
}

/* The state that a decision uses: sessions first, then what those operations have that are done to each
 * packet, in their order. False: it is more than an entry can name. */
static bool remember_state(const struct sn_execution *x, struct sn_cache_entry *e)
{
	struct sn_bundle_uses uses;
	uint32_t n = 0;

	if (!sn_journal_sessions(x, &uses) || uses.n > SN_CACHE_SESSIONS)
		return false;
	for (; n < uses.n; n++) {
		e->sessions[n] = sn_cache_entry_word(uses.entries[n]);
		if (uses.returns >> n & 1)
			e->flags |= SN_CACHE_RETURN0 << n;
	}
	for (uint32_t i = 0; i < x->n_uses; i++) {
		if (!x->uses[i].each)
			continue;
		if (n == SN_CACHE_SESSIONS)
			return false;
		e->flags |= SN_CACHE_EACH0 << n;
		e->sessions[n++] = sn_cache_entry_word(x->uses[i].entry);
	}
	return true;
}

/* The packets of a kept decision are counted in its cell. What is there is the running program's. */
static void observe_kept(const struct sn_execution *x, const struct sn_cache_entry *kept)
{
	struct sn_worker *w = x->worker;
	const struct sn_counts *running = x->warm_up ? w->warm_up.counts : w->counts;

	sn_observer_place(running->observer, sn_cache_cell(&w->cache, kept), &x->seen);
}

/* The only session on the way, if a short decision would say all there is about the flow; else NULL. What is
 * observed then is the packet as it comes, or as it leaves. */
static const struct sn_session *told_by(const struct sn_execution *x, const struct sn_pkt *p)
{
	const struct sn_flow_cell *f = &x->seen;

	if (x->n_uses != 1 || x->each)
		return NULL;
	if (x->observed &&
	    (f->src != p->src || f->dst != p->dst || f->sport != p->sport || f->dport != p->dport) &&
	    (f->src != p->src0 || f->dst != p->dst0 || f->sport != p->sport0 || f->dport != p->dport0))
		return NULL;
	return (const struct sn_session *)x->uses[0].entry;
}

/* Keep the decision for the packets of this flow that follow. */
static void remember(struct sn_execution *x, const struct sn_pkt *p, const struct sn_neigh *n)
{
	struct sn_worker *w = x->worker;
	struct sn_cache_entry entry, *e = &entry, *kept;
	uint8_t ttl_dec = p->ttl0 - p->ttl;
	uint32_t path;

	if (x->min_ttl > 255 || !sn_cache_current(&w->cache, x->key) || sn_journal_spans_shards(x))
		return;
	memset(e, 0, sizeof(*e));
	if (!remember_state(x, e))
		return;
	path = sn_paths_find(&w->counts->paths, x->steps, x->n_steps);
	if (path == SN_NO_INDEX)
		return;
	e->addresses = x->key->addresses;
	e->ports_key = x->key->ports;
	e->signature = x->key->signature;
	e->src = rte_cpu_to_be_32(p->src);
	e->dst = rte_cpu_to_be_32(p->dst);
	e->sport = rte_cpu_to_be_16(p->proto == SN_ICMP ? p->id : p->sport);
	e->dport = rte_cpu_to_be_16(p->dport);
	e->head_move = sn_head_move_of(ttl_dec, sn_ip_diff(p));
	e->l4_diff = rte_cpu_to_be_16(sn_l4_diff(p));
	e->neigh = n - w->neigh.entries;
	e->vlan = p->vlan != p->vlan0 || p->stripped ? p->vlan : SN_CACHE_KEEP_VLAN;
	e->dscp = p->dscp != p->dscp0 ? p->dscp : SN_CACHE_KEEP_DSCP;
	e->path = path;
	e->shard = x->n_uses > 0 ? x->uses[0].entry->shard : SN_PKT_NO_SHARD;
	e->min_ttl = x->min_ttl > ttl_dec ? x->min_ttl : ttl_dec;
	e->flags |= (p->stripped ? SN_CACHE_STRIPPED : 0) | (x->each ? SN_CACHE_EACH : 0) |
		    (x->each || e->vlan != SN_CACHE_KEEP_VLAN ? SN_CACHE_READ : 0) |
		    (x->observed ? SN_CACHE_OBSERVED : 0);
	kept = sn_cache_keep(&w->cache, e, x->hash, told_by(x, p));
	if (x->observed && kept)
		observe_kept(x, kept);
}

struct sn_verdict sn_execution_output(struct sn_execution *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->program->interfaces[iface];
	struct sn_worker *w = x->worker;
	struct sn_neigh *n;
	uint32_t hop = p->next_hop;
	bool known;

	if (!hop)
		hop = ((p->dst ^ ifc->address) & ifc->mask) == 0 ? p->dst : ifc->gateway;
	if (!hop)
		return sn_drop(SN_REASON_NO_NEXT_HOP);
	if (!sn_vlans_have(ifc->vlans, p->vlan))
		return sn_drop(SN_REASON_VLAN_UNKNOWN);
	if (p->ip_len > ifc->mtu)
		return too_big(x, p, iface);
	sn_journal_commit(x);
	n = sn_neigh_find(&w->neigh, sn_neigh_key((uint8_t)iface, p->vlan, hop));
	known = n && sn_neigh_usable(n);
	if (known && x->keep)
		remember(x, p, n);
	if (x->warm_up)
		return sn_done();
	if (n && n->state == SN_NEIGH_FAILED)
		return sn_execution_unreachable(x, p, iface);
	if (!sn_rewrite(p))
		return sn_drop(SN_REASON_NO_MEMORY);
	if (!known) {
		sn_neigh_wait(w, p, iface, hop, x->now);
		return sn_done();
	}
	n->used = x->now;
	sn_write_l2(rte_pktmbuf_mtod(p->m, uint8_t *), n);
	sn_worker_send(w, iface, p->m);
	return sn_done();
}
