/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FLOW_H
#define SN_FLOW_H

/* Which flow a packet belongs to, as it is now, and that flow's shard: asked where state is used and where it
 * is foreseen. */

#include "sn_hash.h"
#include "sn_icmp.h"
#include "sn_plain.h"
#include "sn_program.h"
#include "sn_session.h"

struct sn_state_table;

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

/* The shard of a flow by its source, as state tells it of an end inside or outside; see sn_cuts.h. */
uint32_t sn_flow_shard(const struct sn_state *state, enum sn_cut_by by, const struct sn_flow *flow);

/* The same by SN_CUT_BY_HOST: a call of its own, as each packet of a new flow makes it. */
uint32_t sn_flow_host_shard(const struct sn_state *state, const struct sn_flow *flow);

/* The shard of a flow without ports, whose two directions know the remote and nothing else in common: all
 * have one where NAPTs tell shards by both ends. */
uint32_t sn_flow_portless_shard(const struct sn_state *state, uint32_t remote);

/* The ends of a flow in an order that both directions have. */
struct sn_flow_ends {
	uint64_t low, high; /* address and port */
};

static inline struct sn_flow_ends sn_flow_ends(const struct sn_flow *f)
{
	uint64_t src = (uint64_t)f->src << 16 | f->sport, dst = (uint64_t)f->dst << 16 | f->dport;

	return src < dst ? (struct sn_flow_ends){src, dst} : (struct sn_flow_ends){dst, src};
}

/* The shard of a flow by both of its ends, which is that of its other direction, too. */
uint32_t sn_flow_both_shard(const struct sn_state *state, const struct sn_flow *flow);

/* The same in a table of flows whose inside is told, by what the table is cut by. from_outside: the inside is
 * the destination. */
uint32_t sn_flow_table_shard(const struct sn_state *state, const struct sn_state_table *t,
			     const struct sn_flow *flow, bool from_outside);

/* The same in a table of the program. */
uint32_t sn_flow_shard_in(const struct sn_state *state, uint32_t table, const struct sn_flow *flow,
			  bool from_outside);

#endif /* SN_FLOW_H */
