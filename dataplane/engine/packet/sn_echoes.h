/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ECHOES_H
#define SN_ECHOES_H

/*
 * Echo requests in fragments to own addresses: the last first fragments, so that those that follow are known
 * to belong to one. Each is answered as it comes. A device gives all fragments of a datagram to one worker.
 */

#include <stdbool.h>
#include <stdint.h>

#define SN_ECHOES 64
#define SN_ECHO_LIFE_NS                                                                                     \
	(30ull * 1000000000) /* a receiver waits as long for the rest (RFC 791, section 3.2: 15 s at least) \
			      */

struct sn_echo {
	uint32_t src, dst;
	uint16_t id; /* of the IP header */
	uint64_t until;
};

struct sn_echoes {
	struct sn_echo last[SN_ECHOES];
	uint32_t next;
};

/* A first fragment of an echo request came. */
static inline void sn_echoes_note(struct sn_echoes *e, uint32_t src, uint32_t dst, uint16_t id, uint64_t now)
{
	e->last[e->next++ % SN_ECHOES] = (struct sn_echo){src, dst, id, now + SN_ECHO_LIFE_NS};
}

/* Whether a later fragment is of such a request. */
static inline bool sn_echoes_know(const struct sn_echoes *e, uint32_t src, uint32_t dst, uint16_t id,
				  uint64_t now)
{
	for (uint32_t i = 0; i < SN_ECHOES; i++)
		if (e->last[i].src == src && e->last[i].dst == dst && e->last[i].id == id &&
		    now <= e->last[i].until)
			return true;
	return false;
}

#endif /* SN_ECHOES_H */
