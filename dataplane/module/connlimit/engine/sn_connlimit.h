/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CONNLIMIT_H
#define SN_CONNLIMIT_H

/*
 * Connections of hosts, of which each may have so many (docs/elements.md, "connlimit"): a state table for
 * each limiter. An entry is a session that begins inside and translates nothing; its host is a subscriber of
 * the program.
 */

#include "sn_followed.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_connlimit;

enum sn_connlimit_result {
	SN_CONNLIMIT_MADE,
	SN_CONNLIMIT_LIMITED, /* the host may not have another connection */
	SN_CONNLIMIT_FULL,    /* there is no room */
};

/* The connection that a packet from a side itself belongs to, in its direction; false: it tells none. */
bool sn_connlimit_flow(const struct sn_pkt *p, bool from_outside, struct sn_flow *flow);

/* The connection of a flow in a table of the program, NULL: there is none. */
struct sn_session *sn_connlimit_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				     const struct sn_flow *flow, bool from_outside, uint64_t now);

/* The connection of a flow from inside that has none: to be ended if the packet is dropped later. */
enum sn_connlimit_result sn_connlimit_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
					    const struct sn_flow *flow, uint64_t now,
					    struct sn_session **session);

/* The reason to drop what a host may not have in a table of the program. */
uint32_t sn_connlimit_reason(const struct sn_state *state, uint32_t table);

#endif /* SN_CONNLIMIT_H */
