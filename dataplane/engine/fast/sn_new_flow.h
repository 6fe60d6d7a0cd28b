/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NEW_FLOW_H
#define SN_NEW_FLOW_H

/* A packet that opens a session, of a class that says all but the session. */

#include "sn_decided.h"
#include "sn_flow.h"
#include "sn_simple.h"
#include "sn_state_kind.h"

/* Writes what a session says from inside. */
static inline void translate_plain(struct sn_view v, const struct sn_session *s, uint32_t ttl_dec)
{
	uint32_t addresses = sn_diff32(s->inside_addr, s->outside_addr);
	uint16_t head = sn_diff_norm(addresses + sn_diff16(ttl_dec << 8, 0));
	uint16_t l4 = sn_diff_norm(addresses + sn_diff16(s->inside_port, s->outside_port));

	move_head(v.ip, sn_head_move_of((uint8_t)ttl_dec, head));
	sn_store32(v.ip + 12, s->outside_addr);
	sn_store16(v.l4, s->outside_port);
	sn_move_mixed(v.l4, sn_plain_tcp(v.proto), rte_cpu_to_be_16(l4));
}

/*
 * The plain packet i, of a class that is SN_SIMPLE_FORWARD and whose hint is there, opens a session. What the
 * slow path does, in the same order, of a packet of which all that may come between is known not to come.
 * False: that is not known, or the flow has a session; nothing was done.
 */
static __rte_noinline bool forward_new(struct sn_fast *f, uint32_t i, uint32_t class, uint64_t now)
{
	struct sn_known k = known_of(f, now);
	const struct sn_flow_hint *hint = &f->env.burst.hints[i];
	const struct sn_class *c = &k.classes[class];
	struct sn_view v = view_of_plain(f->env.burst.frames[i]);
	struct sn_adjacency *a = &k.adjacencies[class];
	struct sn_flow flow = sn_flow_of_plain(v.f);
	struct sn_neigh *n = neighbor_of(k, v, a);
	uint32_t reason = 0;
	enum sn_open result;
	struct sn_session *s;

	if (unlikely(!n || !f->env.partition->owned[hint->number]))
		return false;
	result = sn_state_kinds[c->kind]->open(f->env.partition, c->state_run, &flow, hint, now, &s, &reason);
	if (result == SN_OPEN_KNOWN)
		return false;
	count_simple(k, a, &k.class_counts[class], v.frame_len);
	sn_env_tell_events(k.env, v.m);
	if (unlikely(result == SN_OPEN_DROP)) {
		sn_output_drop(&f->env, v.m, reason);
		return true;
	}
	use_session(k, v, &s->entry, 0);
	n->used = now;
	translate_plain(v, s, sn_head_ttl_dec(a->head_move));
	sn_write_l2(v.f, n);
	sn_output_send(&f->env, (uint16_t)iface_of(a), v.m);
	return true;
}

#endif /* SN_NEW_FLOW_H */
