/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PASSING_H
#define SN_PASSING_H

/*
 * Flows of which a function outside of the program has let packets through (docs/elements.md, "bypass"): a
 * state table each. An entry (sn_outside_flows.h) counts the flow's packets (SN_SEEN_COUNTED) until they are
 * enough, and the flow goes past the function then.
 */

#include "sn_classifier.h"
#include "sn_outside_flows.h"

extern const struct sn_state_kind sn_passing;

static inline bool sn_passing_is_past(const struct sn_session *s)
{
	return !(s->seen & SN_SEEN_COUNTED);
}

/* Whether a packet of a flow begins a connection: the function sees that, whatever it has seen before. */
static inline bool sn_passing_opens(const struct sn_pkt *p)
{
	return p->proto == SN_TCP && sn_tcp_opens(p->tcp_flags);
}

/* Whether a decision about a packet of a flow could meet one that begins a connection. */
static inline bool sn_passing_meets_openings(const struct sn_program *program, const struct sn_pkt *p)
{
	const struct sn_atoms *a = program->atoms;

	return p->proto == SN_TCP && a->opening[a->tcp_flags[sn_pkt_tcp_flags(p)]];
}

/* One for a flow that has none, which so many packets have to pass; to be undone if its first one is dropped
 * later. NULL: there is no room for it. */
struct sn_session *sn_passing_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
				    const struct sn_flow *flow, bool from_outside, uint16_t packets,
				    uint64_t now);

/* The packets that a flow of the table has to have. */
uint16_t sn_passing_packets(const struct sn_table_config *table);

#endif /* SN_PASSING_H */
