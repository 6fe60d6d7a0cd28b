/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SEGMENT_H
#define SN_SEGMENT_H

/* The class of one packet in a segment, by whichever of its tables decides. */

#include "sn_parse.h"
#include "sn_program.h"

/* Whether the segment's other table decides: low TTLs, fragments. */
static inline bool sn_segment_is_low(const struct sn_segment *s, const struct sn_pkt *p)
{
	return p->ttl < s->ttl_floor || p->frag > s->frag_max;
}

/* A packet's class in a segment, SN_TABLE_NONE if it has none. */
static inline uint32_t sn_segment_class(const struct sn_segment *s, const struct sn_pkt *p)
{
	static const uint8_t index[1];
	uint32_t class;

	sn_classifier_lookup(sn_segment_is_low(s, p) ? &s->low : &s->table, p, index, &class, 1);
	return class;
}

#endif /* SN_SEGMENT_H */
