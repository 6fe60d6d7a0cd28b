/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PARTITIONING_H
#define SN_PARTITIONING_H

#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"

/* Ways to tell the shard of a flow. */
enum sn_partition_by {
	/* A hash of the inside host's address and port; a shard owns the outside ports whose low bits are its
	 * number. */
	SN_PARTITION_BY_HOST,
	/* Bits of the inside host's address, which a device's flow rules can match; ports as above. */
	SN_PARTITION_BY_ADDRESS,
	/* The bucket into which a device hashes the packet (see sn_rss.h); a session's outside port is one of
	 * those that take its return packets into the same. */
	SN_PARTITION_BY_RSS,
};

#define SN_PARTITION_BIT_MAX 25

struct sn_partitioning {
	enum sn_partition_by by;
	uint32_t shift; /* SN_PARTITION_BY_ADDRESS: the lowest of the bits, at most SN_PARTITION_BIT_MAX */
};

/* Reads "host", "address:BIT" or "rss". 0, or -1 with a message in err. */
int sn_partitioning_parse(const char *text, struct sn_partitioning *partitioning, struct sn_error *err);

#endif /* SN_PARTITIONING_H */
