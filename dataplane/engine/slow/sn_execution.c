/* SPDX-License-Identifier: Apache-2.0 */
/* Acts of operations on a packet, beside those on its state. */

#include "sn_continuation.h"
#include "sn_icmp.h"
#include "sn_output.h"
#include "sn_rewrite.h"
#include "sn_slow.h"
#include "sn_tap.h"
#include "sn_wires.h"

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
	return sn_slow_icmp_allowed(x->slow, x->now);
}

struct sn_echoes *sn_execution_echoes(struct sn_execution *x)
{
	return &x->slow->echoes;
}

void sn_execution_tell_events(struct sn_execution *x, const struct sn_pkt *p)
{
	sn_env_tell_events(x->slow->env, p->m);
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
	sn_output_count_drop(x->slow->env, p->m, sn_source(p->m), len, SN_REASON_TOO_BIG_ANSWERED);
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
	sn_output_count_drop(x->slow->env, p->m, sn_source(p->m), p->frame_len, SN_REASON_HOST_UNREACHABLE);
	reason =
		sn_icmp_error(p, SN_ICMP_UNREACHABLE, 1, 0, sn_entry_address(x->program, p), ifc->answer_ttl);
	if (reason)
		return sn_drop(reason);
	p->iface = (uint8_t)iface;
	return sn_to_segment(ifc->segment);
}

struct sn_verdict sn_execution_output(struct sn_execution *x, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &x->program->interfaces[iface];
	struct sn_slow *slow = x->slow;
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
	n = sn_neigh_find(slow->neighbors, sn_neigh_key((uint8_t)iface, p->vlan, hop));
	known = n && sn_neigh_usable(n);
	if (known && x->keep) {
		n->named = true;
		x->keeper->keep(x->keeper, x, p, n);
	}
	if (x->warm_up)
		return sn_done();
	if (n && n->state == SN_NEIGH_FAILED)
		return sn_execution_unreachable(x, p, iface);
	if (!sn_rewrite(p))
		return sn_drop(SN_REASON_NO_MEMORY);
	if (!known) {
		sn_neigh_wait(slow->neighbors, p, iface, hop, x->now);
		return sn_done();
	}
	n->used = x->now;
	sn_write_l2(rte_pktmbuf_mtod(p->m, uint8_t *), n);
	sn_output_send(slow->env, iface, p->m);
	return sn_done();
}

bool sn_execution_down(const struct sn_execution *x, uint64_t wires)
{
	return (x->slow->env->down & wires) != 0;
}

struct sn_verdict sn_execution_stop(struct sn_execution *x, struct sn_pkt *p, uint32_t stop)
{
	const struct sn_stop *s = &x->program->stops[stop];
	uint32_t continuation = sn_continuation_of(x->program, stop, p->next_hop, p->iface);
	struct sn_slow *slow = x->slow;
	bool down = slow->env->down >> s->back & 1 && s->when_down;
	struct sn_neigh *n;

	if (unlikely(down && s->when_down == SN_DOWN_DROP) && !x->warm_up)
		return sn_drop(s->down);
	/* Also with DF: a wire is within the chain, and its MTU is none of the path that the sender would
	 * learn. What goes past the function (sn_past.h) does not take the wire. */
	if (!down && p->ip_len > x->program->interfaces[s->out].mtu)
		return sn_drop(SN_REASON_TOO_BIG);
	sn_journal_commit(x);
	n = sn_neigh_of_stop(slow->neighbors, stop, continuation);
	if (n && x->keep) {
		n->named = true;
		x->keeper->keep(x->keeper, x, p, n);
	}
	if (x->warm_up)
		return sn_done();
	if (!sn_rewrite(p))
		return sn_drop(SN_REASON_NO_MEMORY);
	if (n)
		sn_write_l2(rte_pktmbuf_mtod(p->m, uint8_t *), n);
	else
		sn_wires_address(slow->env, s->back, continuation, rte_pktmbuf_mtod(p->m, uint8_t *));
	sn_output_send(slow->env, (uint16_t)s->out, p->m);
	return sn_done();
}

/* Notes for the cache that packets that follow are copied here. What is not the same for all of them, but for
 * addresses and ports that they come or leave with, no decision says. */
static void note_copy(struct sn_execution *x, const struct sn_pkt *p, uint32_t iface)
{
	uint32_t dscp = p->dscp == p->dscp0 ? SN_COPY_KEEP_DSCP : p->dscp;

	if (!x->keep)
		return;
	x->keep = x->n_copied < SN_COPIED_MAX && !x->varying && p->vlan == p->vlan0 && !p->stripped;
	if (!x->keep)
		return;
	x->copied[x->n_copied++] = (struct sn_copied){.step = x->n_steps,
						      .src = p->src,
						      .dst = p->dst,
						      .sport = p->sport,
						      .dport = p->dport,
						      .id = p->id};
	sn_execution_step(x, SN_STEP_COPY | iface | (uint32_t)(uint8_t)(p->ttl0 - p->ttl) << SN_COPY_TTL_DEC |
				     dscp << SN_COPY_DSCP);
}

struct sn_verdict sn_execution_tap(struct sn_execution *x, struct sn_pkt *p, uint32_t iface)
{
	note_copy(x, p, iface);
	if (!x->warm_up)
		sn_tap_send(x->slow->env, p, iface);
	return sn_done();
}
