/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TAG_H
#define SN_TAG_H

/*
 * The source address of a frame that is on its way to a stop, which says how it goes on when it comes back:
 * 02:<nonce, 16 bits>:<shard, 7 bits; continuation, 17 bits>, in network order. It names a class of packets
 * and no packet, so nobody keeps anything for it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_parse.h"

#define SN_TAG_FIRST	     0x02 /* a local address of one station */
#define SN_CONTINUATION_BITS 17
#define SN_CONTINUATIONS_MAX (1u << SN_CONTINUATION_BITS)

struct sn_tag {
	uint16_t nonce;	       /* of the program */
	uint8_t shard;	       /* below 128 */
	uint32_t continuation; /* below SN_CONTINUATIONS_MAX */
};

static inline void sn_tag_write(uint8_t mac[6], struct sn_tag tag)
{
	uint32_t low = (uint32_t)tag.shard << SN_CONTINUATION_BITS | tag.continuation;

	mac[0] = SN_TAG_FIRST;
	sn_store16(mac + 1, tag.nonce);
	mac[3] = (uint8_t)(low >> 16);
	sn_store16(mac + 4, (uint16_t)low);
}

/* False: it is none. */
static inline bool sn_tag_read(const uint8_t mac[6], struct sn_tag *tag)
{
	uint32_t low = (uint32_t)mac[3] << 16 | sn_load16(mac + 4);

	tag->nonce = sn_load16(mac + 1);
	tag->shard = (uint8_t)(low >> SN_CONTINUATION_BITS);
	tag->continuation = low & (SN_CONTINUATIONS_MAX - 1);
	return mac[0] == SN_TAG_FIRST;
}

#endif /* SN_TAG_H */
