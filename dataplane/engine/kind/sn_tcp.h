/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TCP_H
#define SN_TCP_H

/* What a packet does to its session: docs/elements.md, "napt", TCP state. */

#include <rte_branch_prediction.h>

#include "sn_parse.h"
#include "sn_napt.h"

/* A TCP packet that may move its connection's state, and so the session's timeout. */
void sn_session_tcp(const struct sn_state *state, struct sn_session *session, const uint8_t *tcp,
		    bool is_return, uint64_t now);

/*
 * The flags that may move a session's state. A SYN moves none unless it has options or follows one that had,
 * or opens a closed connection again. Which one it is takes no branch: SYN comes mixed with all else.
 */
static inline uint8_t sn_session_wary(const struct sn_session *s, const uint8_t *tcp)
{
	uint8_t options = tcp[12] >= 0x60, scaled = s->entry.own != SN_SCALES_NONE;
	uint8_t closing = (s->seen & SN_SEEN_CLOSING) != 0;

	return SN_TCP_FIN | SN_TCP_RST | (options | scaled | closing) * SN_TCP_SYN;
}

/* A packet that commits uses the session. tcp: its TCP header, NULL if it has none. */
static inline void sn_session_use(const struct sn_state *state, struct sn_session *s, const uint8_t *tcp,
				  bool is_return, uint64_t now)
{
	uint8_t flags, seen;

	if (!tcp) {
		s->entry.last_use = now;
		return;
	}
	flags = tcp[13];
	/* ACK from inside acknowledges what was answered. */
	seen = is_return ? SN_SEEN_ANSWERED : flags >> 3 & s->seen << 1 & SN_SEEN_ACKNOWLEDGED;
	if (unlikely((flags & sn_session_wary(s, tcp)) | (seen & ~s->seen))) {
		sn_session_tcp(state, s, tcp, is_return, now);
		return;
	}
	s->entry.last_use = now;
	memcpy(&s->ack[is_return], tcp + 8, 4);
	memcpy(&s->window[is_return], tcp + 14, 2);
}

/*
 * The same for a packet that is TCP or else UDP, of 20 bytes or more from l4 on: which of the two takes no
 * branch, as flows of both come mixed.
 */
static inline void sn_session_use_mixed(const struct sn_state *state, struct sn_session *s, const uint8_t *l4,
					bool is_tcp, bool is_return, uint64_t now)
{
	uint32_t all = -(uint32_t)is_tcp, ack;
	uint8_t flags = (uint8_t)(l4[13] & all), seen;
	uint16_t window;

	seen = is_return ? SN_SEEN_ANSWERED & all : flags >> 3 & s->seen << 1 & SN_SEEN_ACKNOWLEDGED;
	if (unlikely((flags & sn_session_wary(s, l4)) | (seen & ~s->seen))) {
		sn_session_tcp(state, s, l4, is_return, now);
		return;
	}
	s->entry.last_use = now;
	memcpy(&ack, l4 + 8, 4);
	memcpy(&window, l4 + 14, 2);
	s->ack[is_return] = ack & all;
	s->window[is_return] = (uint16_t)(window & all);
}

#endif /* SN_TCP_H */
