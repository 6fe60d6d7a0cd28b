/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_METER_H
#define SN_METER_H

/*
 * Meters: a state table each, that packets are measured by. Its entries are subscribers, with a pair of
 * buckets each; without subscribers there is one pair for all packets, and no entry.
 */

#include "sn_bucket.h"
#include "sn_state.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_meter;

#define SN_METER_KEEP_DSCP 0xff

/* The act on packets of a colour. */
struct sn_meter_action {
	uint32_t reason; /* they are dropped for it; SN_REASON_NONE: they are not */
	uint32_t dscp;	 /* that they get, or SN_METER_KEEP_DSCP */
};

/* The part of a table that the operation needs to know; of the program, as it changes without the state. */
struct sn_meter_rules {
	uint64_t comes[SN_COLORS]; /* bit per DSCP of packets that come as yellow, or red */
	struct sn_meter_action actions[SN_COLORS];
	uint32_t bits; /* tokens per byte; 0: one per packet */
	uint32_t mask; /* of a subscriber's prefix; 0: there are no subscribers */
	uint32_t prefix_len;
	bool destination; /* tells the subscriber, else the source does */
	bool marks;
};

enum sn_meter_result {
	SN_METER_FOUND,
	SN_METER_MADE,
	SN_METER_NONE, /* no entry can make room, or none was wanted to be made */
};

/* A subscriber's entry in a table of the program; made with full buckets if there is none and make is set. */
enum sn_meter_result sn_meter_subscriber(struct sn_partition *partition, uint32_t table, uint32_t shard,
					 uint32_t prefix, bool make, uint64_t now, struct sn_entry **entry);

/* Measures a packet of so many bytes, for so many tokens; subscriber: NULL if the table has none. */
enum sn_color sn_meter_measure(struct sn_partition *partition, uint32_t table, struct sn_entry *subscriber,
			       enum sn_color came, uint64_t tokens, uint32_t bytes, uint64_t now);

#endif /* SN_METER_H */
