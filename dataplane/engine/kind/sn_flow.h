/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FLOW_H
#define SN_FLOW_H

/* Which flow of a NAPT a packet belongs to, as it is now: asked where state is used and where it is foreseen.
 */

#include "sn_icmp.h"
#include "sn_napt.h"
#include "sn_plain.h"
#include "sn_state_kind.h"

/* The side of a NAPT that a packet comes from. */
enum sn_flow_side {
	SN_FLOW_INSIDE, /* of ICMP's queries requests are translated */
	SN_FLOW_OUTSIDE,
};

/* The flow that a packet itself belongs to; false: none. */
static inline bool sn_flow_of(const struct sn_pkt *p, enum sn_flow_side side, struct sn_flow *flow)
{
	*flow = (struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto};
	switch (p->proto) {
	case SN_TCP:
	case SN_UDP:
		return p->sport != SN_PORT_ABSENT;
	case SN_ICMP:
		flow->sport = side == SN_FLOW_INSIDE ? p->id : 0;
		flow->dport = side == SN_FLOW_INSIDE ? 0 : p->id;
		return side == SN_FLOW_INSIDE ? sn_is_query(p->icmp_type) : sn_is_query_reply(p->icmp_type);
	}
	flow->sport = flow->dport = 0;
	return !sn_is_sealed(p->proto);
}

/* The flow of a plain frame. */
static inline struct sn_flow sn_flow_of_plain(const uint8_t *f)
{
	return (struct sn_flow){sn_load32(f + SN_PLAIN_SRC), sn_load32(f + SN_PLAIN_DST),
				sn_load16(f + SN_PLAIN_SPORT), sn_load16(f + SN_PLAIN_DPORT),
				f[SN_PLAIN_PROTO]};
}

/* The flow, in the direction of the error, of the packet that an ICMP error quotes. */
static inline struct sn_flow sn_flow_quoted(const struct sn_quote *q)
{
	return (struct sn_flow){q->dst, q->src, q->dport, q->sport, q->proto};
}

static inline struct sn_flow sn_flow_turned(const struct sn_flow *f)
{
	return (struct sn_flow){f->dst, f->src, f->dport, f->sport, f->proto};
}

/* The shard of a flow by its source, as a NAPT tells it of an end inside or outside; see sn_cuts.h. */
uint32_t sn_flow_shard(const struct sn_state *state, enum sn_cut_by by, const struct sn_flow *flow);

/*
 * Flows that firewalls follow (docs/elements.md, "track"): a state table each. An entry is a session whose
 * inside is the side that began the flow, and which translates nothing; so the fast ways use it as a NAPT's.
 * entry.own_bit: that side is the firewall's outside.
 */

extern const struct sn_state_kind sn_track;

/* The flow of a packet itself, in its direction; false: it tells none. */
bool sn_track_flow(const struct sn_pkt *p, struct sn_flow *flow);

/* The shard of a flow by both of its ends, which is that of its other direction, too. */
uint32_t sn_track_shard(const struct sn_state *state, const struct sn_flow *flow);

/* The same in a table of the program, by what that is cut by. from_outside: the firewall's inside is the
 * destination. */
uint32_t sn_track_shard_in(const struct sn_state *state, uint32_t table, const struct sn_flow *flow,
			   bool from_outside);

/* The entry of a flow in a table of the program, NULL: there is none. *is_return: the flow is in the other
 * direction than the one in which it began. */
struct sn_session *sn_track_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				 const struct sn_flow *flow, bool from_outside, uint64_t now,
				 bool *is_return);

/* The same, made if there is none. NULL: there is no room for it. *made: it was made, and is to be ended if
 * the packet is dropped later. */
struct sn_session *sn_track_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
				  const struct sn_flow *flow, bool from_outside, uint64_t now,
				  bool *is_return, bool *made);

/* The flow begins again, from its other side. Decisions that remember the entry do not hold any more. */
void sn_track_turn(const struct sn_state *state, struct sn_session *s);

/* Of ICMP's queries, requests come from the side that began, replies from the other. */
static inline bool sn_track_fits(const struct sn_session *s, uint32_t icmp_type, bool is_return)
{
	return s->proto != SN_ICMP || sn_is_query((uint8_t)icmp_type) == !is_return;
}

#endif /* SN_FLOW_H */
