/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_EACH_H
#define SN_EACH_H

/* A packet by a decision of a flow each of whose packets is looked at, or has something done to it. */

#include "sn_decided.h"
#include "sn_execution.h"
#include "sn_output.h"
#include "sn_tap.h"
#include "sn_window.h"

/* The TCP header of a packet whose numbers a strict firewall asks for; NULL: of this session's none does. */
static inline const uint8_t *checked_by(const struct sn_pkt *p, const struct sn_entry *e)
{
	const struct sn_session *s = (const struct sn_session *)e;

	if (!e || p->proto != SN_TCP || !(s->seen & SN_SEEN_CHECKED))
		return NULL;
	return rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
}

static inline bool is_own(const struct sn_cache_entry *e, uint32_t i)
{
	return e->flags & SN_CACHE_EACH0 << i;
}

/* Whether a packet fits the windows of its sessions; else it is none of the decision's. */
static inline bool fits_windows(const struct sn_pkt *p, const struct sn_cache_entry *e,
				struct sn_entry *const *sessions)
{
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++) {
		const uint8_t *tcp = is_own(e, i) ? NULL : checked_by(p, sessions[i]);

		if (tcp && !sn_window_fits((const struct sn_session *)sessions[i], tcp,
					   sn_window_length(p, tcp), e->flags >> i & SN_CACHE_RETURN0))
			return false;
	}
	return true;
}

/* The packet leaves: sessions whose windows it moves are used, and those that operations had; the others are
 * left. */
static inline void use_own(struct sn_fast *f, const struct sn_pkt *p, const struct sn_cache_entry *e,
			   struct sn_entry **sessions, uint64_t now)
{
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++) {
		struct sn_session *s = (struct sn_session *)sessions[i];
		const uint8_t *tcp = is_own(e, i) ? NULL : checked_by(p, sessions[i]);
		bool is_return = e->flags >> i & SN_CACHE_RETURN0;

		if (tcp) {
			sn_window_move(s, tcp, sn_window_length(p, tcp), is_return);
			sn_session_use_rare(f->env.state, s, tcp, is_return, now);
		}
		if (tcp || is_own(e, i))
			sessions[i] = NULL;
	}
}

/* The classes of the first steps of a cached decision's path. */
static void trace_path(struct sn_env *env, uint32_t path, uint32_t steps)
{
	const struct sn_paths *paths = &env->counts->paths;

	for (uint32_t i = paths->first[path]; i < paths->first[path] + steps; i++)
		if (!(paths->steps[i] & (SN_STEP_COUNTER | SN_STEP_EACH)))
			sn_trace_class(env->trace, paths->steps[i]);
}

/* A copy leaves, by what a step says of it. The packet is still as it came. */
static __rte_noinline void copy_decided(struct sn_env *env, const struct sn_pkt *p,
					const struct sn_cache_entry *e, uint32_t step)
{
	uint32_t dscp = step >> SN_COPY_DSCP & 0xff;
	struct sn_pkt copy = *p;

	copy.m = sn_output_copy(env, p->m, p->frame_len);
	if (!copy.m)
		return;
	copy.ttl = p->ttl0 - (uint8_t)(step >> SN_COPY_TTL_DEC);
	copy.dscp = dscp == SN_COPY_KEEP_DSCP ? p->dscp0 : (uint8_t)dscp;
	if (step & SN_COPY_LEAVES) {
		copy.src = rte_be_to_cpu_32(e->src);
		copy.dst = rte_be_to_cpu_32(e->dst);
		if (p->sport != SN_PORT_ABSENT) {
			copy.sport = rte_be_to_cpu_16(e->sport);
			copy.dport = rte_be_to_cpu_16(e->dport);
		} else if (p->proto == SN_ICMP) {
			copy.id = rte_be_to_cpu_16(e->sport);
		}
	}
	sn_tap_send(env, &copy, step & (SN_IFACES_MAX - 1));
}

/* The operations on each packet, step by step on the decision's path. The step at which it is to be
 * dropped, with the reason; the path's end: it is not. */
static uint32_t do_each(struct sn_fast *f, struct sn_pkt *p, const struct sn_cache_entry *e,
			struct sn_entry *const *sessions, uint64_t now, uint32_t *reason)
{
	const struct sn_paths *paths = &f->env.counts->paths;
	uint32_t slot = 0, i;

	for (i = paths->first[e->path]; i < paths->first[e->path + 1]; i++) {
		uint32_t step = paths->steps[i];
		const struct sn_op *op = &f->env.program->ops[step & (SN_STEP_ENTRY - 1)];
		struct sn_entry *entry = NULL;
		struct sn_verdict v;

		if (sn_step_copies(step))
			copy_decided(&f->env, p, e, step);
		if (step & SN_STEP_COUNTER || !(step & SN_STEP_EACH))
			continue;
		if (step & SN_STEP_ENTRY) {
			while (!(e->flags & SN_CACHE_EACH0 << slot))
				slot++;
			entry = sessions[slot++];
		}
		v = sn_operation_of(op)->each(f->env.program, op, f->env.partition, entry, p, now);
		if (v.kind == SN_VERDICT_DROP) {
			*reason = v.value;
			break;
		}
	}
	return i - paths->first[e->path];
}

/* A decided packet ends at a step of its path. */
static void drop_decided(struct sn_fast *f, struct sn_pkt *p, uint32_t path, uint32_t steps, uint32_t reason)
{
	sn_counts_part(f->env.counts, path, steps, p->frame_len);
	if (f->env.trace)
		trace_path(&f->env, path, steps);
	sn_output_drop(&f->env, p->m, reason);
}

/* A decided packet of a flow each of whose packets has something done to it, which may drop it or change its
 * DSCP; or each of which is looked at. */
static __rte_noinline bool forward_each(struct sn_fast *f, struct sn_pkt *p, const struct sn_cache_entry *e,
					uint64_t now)
{
	struct sn_known k = known_of(f, now);
	const struct sn_paths *paths = &f->env.counts->paths;
	uint32_t length = paths->first[e->path + 1] - paths->first[e->path], steps, reason = 0;
	struct sn_cache_entry own = *e;
	struct sn_entry *s[SN_CACHE_SESSIONS];
	uint8_t dscp = e->dscp != SN_CACHE_KEEP_DSCP ? e->dscp : p->dscp;

	/* After this nothing may refuse the decision, or what is done to each packet would be done twice. */
	if (!holds(k, view_of(p), e, &s[0], &s[1]) || !fits_windows(p, e, s) ||
	    (e->vlan != SN_CACHE_KEEP_VLAN && rte_pktmbuf_headroom(p->m) < SN_TAG_LEN))
		return false;
	p->dscp = dscp;
	steps = do_each(f, p, e, s, now, &reason);
	if (e->flags & SN_CACHE_OBSERVED && sn_paths_observed(paths, e->path, steps))
		observe(k, e, p->ip_len, sn_pkt_tcp_flags(p));
	if (steps < length) {
		drop_decided(f, p, e->path, steps, reason);
		return true;
	}
	if (p->dscp != dscp) {
		own.dscp = p->dscp;
		own.head_move = sn_head_move_of(
			sn_head_ttl_dec(e->head_move),
			sn_diff_norm(sn_head_diff(e->head_move) + sn_diff16(dscp << 2, p->dscp << 2)));
	}
	use_own(f, p, e, s, now);
	return send_tagged(k, p, &own, s[0], s[1]);
}

#endif /* SN_EACH_H */
