/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRACK_H
#define SN_TRACK_H

/*
 * Flows that firewalls follow (docs/elements.md, "track"): a state table each. An entry is a session whose
 * inside is the side that began the flow, and which translates nothing; so the fast ways use it as any.
 * entry.own_bit: that side is the firewall's outside.
 */

#include "sn_flow.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_track;

/* The flow of a packet itself, in its direction; false: it tells none. */
bool sn_track_flow(const struct sn_pkt *p, struct sn_flow *flow);

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

/* Whether flows of a table that begin with a SYN are checked. */
bool sn_track_is_strict(const struct sn_table_config *table);

/* Of ICMP's queries, requests come from the side that began, replies from the other. */
static inline bool sn_track_fits(const struct sn_session *s, uint32_t icmp_type, bool is_return)
{
	return s->proto != SN_ICMP || sn_is_query((uint8_t)icmp_type) == !is_return;
}

#endif /* SN_TRACK_H */
