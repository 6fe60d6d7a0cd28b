/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FLOW_H
#define SN_FLOW_H

/* Which flow of a NAPT a packet belongs to, as it is now: asked where state is used and where it is foreseen.
 */

#include "sn_icmp.h"
#include "sn_state.h"

/* The flow that a packet itself belongs to: TCP, UDP, ICMP echo of the given type. */
static inline bool sn_flow_of(const struct sn_pkt *p, uint8_t echo, struct sn_flow *flow)
{
	*flow = (struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto};
	switch (p->proto) {
	case SN_TCP:
	case SN_UDP:
		return p->sport != SN_PORT_ABSENT;
	case SN_ICMP:
		flow->sport = echo == SN_ICMP_ECHO_REQUEST ? p->id : 0;
		flow->dport = echo == SN_ICMP_ECHO_REQUEST ? 0 : p->id;
		return p->icmp_type == echo;
	}
	return false;
}

/* The flow, in the direction of the error, of the packet that an ICMP error quotes. */
static inline struct sn_flow sn_flow_quoted(const struct sn_quote *q)
{
	return (struct sn_flow){q->dst, q->src, q->dport, q->sport, q->proto};
}

#endif /* SN_FLOW_H */
