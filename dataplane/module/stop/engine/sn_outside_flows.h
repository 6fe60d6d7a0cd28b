/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OUTSIDE_FLOWS_H
#define SN_OUTSIDE_FLOWS_H

/*
 * Flows at functions outside of the program, by tables: what their kinds have in common. An entry is a
 * session that is followed and translates nothing; entry.own_bit: its first packet came from the function's
 * outside.
 */

#include "sn_followed.h"
#include "sn_state_kind.h"

/* When flows of a table end. */
struct sn_flow_timeouts {
	uint32_t ms[SN_OWNER_TIMEOUTS];
};

/* As a program says them: of TCP's connections that are established, being opened, and closing, and of
 * others. 0, or what sn_build_fail() says of them, or of the number of flows. */
int sn_flow_timeouts_decode(struct sn_builder *b, struct sn_flow_timeouts *to, uint32_t flows,
			    const uint32_t from[static 5]);

int sn_outside_flows_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
			  struct sn_shard_size *size);

/* The entry of a flow in a table of the program, NULL: there is none. *is_return: the flow is in the other
 * direction than the one in which it began. */
struct sn_session *sn_outside_flows_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
					 const struct sn_flow *flow, bool from_outside, uint64_t now,
					 bool *is_return);

/* One for a flow that has none; to be undone if its first packet is dropped later. NULL: there is no room for
 * it. */
struct sn_session *sn_outside_flows_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
					  const struct sn_flow *flow, bool from_outside, uint64_t now);

/* A flow's entry ends before its time. */
void sn_outside_flows_end(struct sn_partition *partition, uint32_t table, struct sn_session *session);

#endif /* SN_OUTSIDE_FLOWS_H */
