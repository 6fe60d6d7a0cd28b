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

/* The same by SN_CUT_BY_HOST: a call of its own, as each packet of a new flow makes it. */
uint32_t sn_flow_host_shard(const struct sn_state *state, const struct sn_flow *flow);

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

/* The same in a table itself. */
uint32_t sn_track_shard_of(const struct sn_state *state, const struct sn_state_table *t,
			   const struct sn_flow *flow, bool from_outside);

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

/* The flow begins again, from its other side if it turns, and is checked or not. Nobody remembers the entry
 * any more: no decision, and no place among those that are opening. */
void sn_track_again(const struct sn_state *state, struct sn_session *s, bool turns, bool checked);

/* ---- a strict firewall's flows, whose segments are checked: sn_track_window.c ---- */

/* Whether flows of a table that begin with a SYN are checked. */
bool sn_track_is_strict(const struct sn_table_config *table);

/* The flow, which begins, is checked or not. */
void sn_track_check(struct sn_session *s, bool checked);

/* Whether a segment of a flow that is checked is one that its receiver may take. length: what it takes of the
 * sequence numbers. */
bool sn_track_fits_window(const struct sn_session *s, const uint8_t *tcp, uint32_t length, bool is_return);

/* Note a segment that passes, before sn_session_use() does. */
void sn_track_move(struct sn_session *s, const uint8_t *tcp, uint32_t length, bool is_return);

/* What a TCP packet takes of the sequence numbers: as it came, since nothing on its way changes that. */
static inline uint32_t sn_track_length(const struct sn_pkt *p, const uint8_t *tcp)
{
	uint32_t header = (uint32_t)(p->l4 - p->l3) + (tcp[12] >> 4) * 4u;

	return p->ip_len - header + ((tcp[13] & SN_TCP_SYN) != 0) + ((tcp[13] & SN_TCP_FIN) != 0);
}

/* Of ICMP's queries, requests come from the side that began, replies from the other. */
static inline bool sn_track_fits(const struct sn_session *s, uint32_t icmp_type, bool is_return)
{
	return s->proto != SN_ICMP || sn_is_query((uint8_t)icmp_type) == !is_return;
}

#endif /* SN_FLOW_H */
