/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FLOW_H
#define SN_FLOW_H

/* Which flow of a NAPT a packet belongs to, as it is now: asked where state is used and where it is foreseen.
 */

#include "sn_icmp.h"
#include "sn_napt.h"

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

/* The flow, in the direction of the error, of the packet that an ICMP error quotes. */
static inline struct sn_flow sn_flow_quoted(const struct sn_quote *q)
{
	return (struct sn_flow){q->dst, q->src, q->dport, q->sport, q->proto};
}

#endif /* SN_FLOW_H */
