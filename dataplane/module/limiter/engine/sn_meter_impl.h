/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_METER_IMPL_H
#define SN_METER_IMPL_H

/* The inside of meters; for the files that keep them. */

#include "sn_meter.h"
#include "sn_state_impl.h"

#define METER_WORKERS_MAX 64

/* A table's configuration: what its state depends on. */
struct meter_config {
	struct sn_bucket_limits limits;
	uint32_t prefix_len; /* of subscribers; 0: there are none */
	uint32_t destination;
	uint64_t bits;
};

/* A subscriber. last_use is when its buckets were filled. */
struct subscriber {
	struct sn_entry entry;
	struct sn_buckets buckets;
	uint32_t prefix;
	uint32_t config; /* a hash of the table's */
	uint64_t pad;
};
_Static_assert(sizeof(struct subscriber) == sizeof(struct sn_entry_line), "a subscriber is one cache line");

struct meter_count {
	uint64_t packets, bytes;
};

/* The tokens that a worker has taken of a bucket that all share. */
struct meter_pot {
	uint64_t has;
	uint64_t lease; /* what it had when it was taken */
	uint64_t seen;	/* what the bucket had left then */
};

/* A worker's: it shares no line with others. */
struct meter_part {
	struct meter_pot pots[SN_BUCKETS];
	uint64_t chunk[SN_BUCKETS]; /* that is taken at a time, mostly */
	uint64_t asked;		    /* when it looked into the buckets last; 0: never */
	struct meter_count counts[SN_COLORS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct meter_part) == 128, "two cache lines");

/* The buckets of a table without subscribers. Full ones have their capacity less what workers have taken. */
struct meter_common {
	_Atomic bool busy; /* a worker is at them */
	uint64_t filled;   /* when */
	struct sn_buckets buckets;
	uint64_t leased[SN_BUCKETS];
	struct meter_part parts[METER_WORKERS_MAX];
} __attribute__((aligned(64)));

struct meter_table {
	struct sn_state_table table;
	struct sn_bucket_limits limits;
	uint32_t timeout_ms; /* until buckets that are empty are full */
	uint32_t config;     /* a hash */
	struct meter_common *common;
};

static inline struct meter_part *meter_part_of(const struct meter_table *t,
					       const struct sn_partition *partition)
{
	return &t->common->parts[partition_number(partition)];
}

/* ---- what the files do for one another ---- */

/* Measure a packet with a table without subscribers. */
enum sn_color sn_meter_measure_common(struct sn_partition *partition, struct meter_table *t,
				      enum sn_color came, uint64_t cost, uint64_t now);

/* A worker that has not asked for tokens lately gives back what it has. */
void sn_meter_tick(struct sn_partition *partition, struct sn_state_table *table, uint64_t now);

#endif /* SN_METER_IMPL_H */
