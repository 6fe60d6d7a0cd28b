/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TCP_H
#define SN_TCP_H

/* The effect of a packet on its session: docs/elements.md, "napt", TCP state. */

#include <rte_branch_prediction.h>

#include "sn_parse.h"
#include "sn_session.h"

/* A window that a side announced, by the scales of both. */
uint32_t sn_session_scaled(const struct sn_session *session, uint32_t window, bool of_outside);

/* A TCP packet that may move its connection's state, and so the session's timeout. */
void sn_session_tcp(const struct sn_state *state, struct sn_session *session, const uint8_t *tcp,
		    bool is_return, uint64_t now);

/* The same of one that leads a bundle, whose entries may be moved differently: each is used for itself. */
void sn_session_tcp_each(const struct sn_state *state, struct sn_session *leader, const uint8_t *tcp,
			 bool is_return, uint64_t now);

/*
 * The flags that may move a session's state. A SYN moves none unless it has options or follows one that had,
 * or opens a closed connection again; one of a bundle may move others of that. Of a connection that is
 * checked no segment has its numbers kept.
 */
static inline uint8_t sn_session_wary(const struct sn_session *s, const uint8_t *tcp)
{
	uint8_t options = tcp[12] >= 0x60, scaled = s->entry.own != SN_SCALES_NONE;
	uint8_t closing = (s->seen & SN_SEEN_CLOSING) != 0, leads = s->entry.leads;
	uint8_t checked = (s->seen & SN_SEEN_CHECKED) != 0;

	return SN_TCP_FIN | SN_TCP_RST | (options | scaled | closing | leads) * SN_TCP_SYN |
	       checked * (SN_TCP_SYN | SN_TCP_ACK);
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

/* The same out of line: for packets that open or close. */
void sn_session_use_rare(const struct sn_state *state, struct sn_session *s, const uint8_t *tcp,
			 bool is_return, uint64_t now);

/*
 * The same for a packet that is TCP or else UDP, of 20 bytes or more from l4 on: which of the two takes no
 * branch, as flows of both come mixed. tcp: as sn_plain_tcp(); is_return: 0 or 1. False: the packet may move
 * the session's state, and sn_session_use_rare() is called for. Such packets are few.
 */
static inline bool sn_session_use_mixed(struct sn_session *s, const uint8_t *l4, uint32_t tcp,
					uint32_t is_return, uint64_t now)
{
	uint32_t flags = l4[13] & tcp, news = is_return ? SN_SEEN_ANSWERED & tcp : flags >> 3 & s->seen << 1,
		 ack;
	uint16_t window;

	news &= ~(uint32_t)s->seen & (SN_SEEN_ANSWERED | SN_SEEN_ACKNOWLEDGED);
	if (unlikely((flags & (SN_TCP_FIN | SN_TCP_SYN | SN_TCP_RST)) | news))
		return false;
	s->entry.last_use = now;
	memcpy(&ack, l4 + 8, 4);
	memcpy(&window, l4 + 14, 2);
	s->ack[is_return] = ack & tcp;
	s->window[is_return] = (uint16_t)(window & tcp);
	return true;
}

#endif /* SN_TCP_H */
