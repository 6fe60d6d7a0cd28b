/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WINDOW_H
#define SN_WINDOW_H

/* Sessions of TCP whose segments are checked: SN_SEEN_CHECKED. */

#include "sn_parse.h"
#include "sn_session.h"

/* The flow, which begins, is checked or not. */
void sn_window_check(struct sn_session *s, bool checked);

/* Whether a segment of a flow that is checked is one that its receiver may take. length: what it takes of the
 * sequence numbers. */
bool sn_window_fits(const struct sn_session *s, const uint8_t *tcp, uint32_t length, bool is_return);

/* Note a segment that passes, before sn_session_use() does. */
void sn_window_move(struct sn_session *s, const uint8_t *tcp, uint32_t length, bool is_return);

/* The flow begins again, from its other side if it turns, and is checked or not. Nobody remembers the entry
 * any more: no decision, and no place among those that are opening. */
void sn_session_again(const struct sn_state *state, struct sn_session *s, bool turns, bool checked);

/* The sequence numbers that a TCP packet takes: as it came, since nothing on its way changes that. */
static inline uint32_t sn_window_length(const struct sn_pkt *p, const uint8_t *tcp)
{
	uint32_t header = (uint32_t)(p->l4 - p->l3) + (tcp[12] >> 4) * 4u;

	return p->ip_len - header + ((tcp[13] & SN_TCP_SYN) != 0) + ((tcp[13] & SN_TCP_FIN) != 0);
}

#endif /* SN_WINDOW_H */
