/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRACK_H
#define SN_TRACK_H

/*
 * Flows that firewalls follow (docs/elements.md, "track"): a state table each. An entry is a session whose
 * inside is the side that began the flow, and which translates nothing; so the fast ways use it as any.
 * entry.own_bit: that side is the firewall's outside.
 */

#include "sn_followed.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_track;

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

#endif /* SN_TRACK_H */
