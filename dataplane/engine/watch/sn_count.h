/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_COUNT_H
#define SN_COUNT_H

#include <stdint.h>

struct sn_count {
	uint64_t packets;
	uint64_t bytes;
};

static inline void sn_count_add(struct sn_count *c, uint32_t bytes)
{
	c->packets++;
	c->bytes += bytes;
}

#endif /* SN_COUNT_H */
