/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of a strict firewall's flows fit the windows of both ends, or do not: docs/elements.md, "track".
 */

#include "sn_window.h"
#include "sn_state_impl.h"
#include "sn_tcp.h"

#define JUDGED	   (SN_TCP_SYN | SN_TCP_ACK | SN_TCP_RST | SN_TCP_FIN)
#define WINDOW_MAX 65535u

/* Sequence numbers compare by their distance (RFC 9293, section 3.4). */
static bool at_most(uint32_t a, uint32_t b)
{
	return (int32_t)(b - a) >= 0;
}

/* How far a side lets the other one send. */
static uint32_t *edge_of(struct sn_session *s, bool outside)
{
	return outside ? &s->outside_edge : &s->inside_edge;
}

static bool spoke(const struct sn_session *s, bool outside)
{
	return !outside || s->seen & SN_SEEN_SAID;
}

/* The largest window that a side can announce. */
static uint32_t reach_of(const struct sn_session *s, bool outside)
{
	return sn_session_scaled(s, WINDOW_MAX, outside);
}

void sn_window_check(struct sn_session *s, bool checked)
{
	s->seen &= (uint8_t) ~(SN_SEEN_CHECKED | SN_SEEN_SAID);
	memset(s->ends, 0, sizeof(s->ends));
	s->inside_edge = 0;
	if (checked) {
		s->seen |= SN_SEEN_CHECKED;
		s->outside_edge = 0;
	} else {
		s->outside_addr = s->inside_addr;
	}
}

static bool fits_acknowledged(const struct sn_session *s, uint32_t ack, bool is_return)
{
	uint32_t end = s->ends[!is_return];

	return spoke(s, !is_return) && at_most(ack, end) && at_most(end - reach_of(s, is_return), ack);
}

bool sn_window_fits(const struct sn_session *s, const uint8_t *tcp, uint32_t length, bool is_return)
{
	uint32_t seq = sn_load32(tcp + 4), end = s->ends[is_return];
	uint32_t edge = is_return ? s->inside_edge : s->outside_edge;
	uint8_t flags = tcp[13] & JUDGED;

	if (flags == SN_TCP_SYN)
		return true;
	if ((flags & SN_TCP_ACK) && !fits_acknowledged(s, sn_load32(tcp + 8), is_return))
		return false;
	if (!spoke(s, is_return))
		return !(flags & SN_TCP_RST) || flags & SN_TCP_ACK;
	if (flags & SN_TCP_RST)
		return seq == end || (at_most(end, seq) && at_most(seq, edge));
	/* A probe of a closed window lies behind its edge (RFC 9293, section 3.8.6.1). */
	return (at_most(seq, edge) || at_most(seq, end)) &&
	       at_most(end - reach_of(s, !is_return), seq + length);
}

/* The first that a side says tells how far the other one has let it send, at least. */
static void begin(struct sn_session *s, uint32_t end, bool is_return)
{
	s->ends[is_return] = end;
	*edge_of(s, !is_return) = end;
}

void sn_window_move(struct sn_session *s, const uint8_t *tcp, uint32_t length, bool is_return)
{
	uint32_t end = sn_load32(tcp + 4) + length, window = sn_load16(tcp + 14), edge;
	uint8_t flags = tcp[13] & JUDGED;

	if (flags & SN_TCP_RST)
		return;
	if (flags == SN_TCP_SYN && !is_return &&
	    (!(s->seen & SN_SEEN_ANSWERED) || s->seen & SN_SEEN_CLOSING)) {
		s->seen &= (uint8_t)~SN_SEEN_SAID;
		begin(s, end, false);
		return;
	}
	if (!spoke(s, is_return)) {
		s->seen |= SN_SEEN_SAID;
		begin(s, end, true);
	} else if (flags == SN_TCP_SYN) {
		return;
	} else if (!at_most(end, s->ends[is_return])) {
		s->ends[is_return] = end;
	}
	if (!(flags & SN_TCP_ACK))
		return;
	if (!(flags & SN_TCP_SYN))
		window = sn_session_scaled(s, window, is_return);
	edge = sn_load32(tcp + 8) + window;
	if (!at_most(edge, *edge_of(s, is_return)))
		*edge_of(s, is_return) = edge;
}

static void turn_round(struct sn_session *s)
{
	uint32_t address = s->inside_addr;
	uint16_t port = s->inside_port;

	s->inside_addr = s->outside_addr = s->remote_addr;
	s->inside_port = s->outside_port = s->remote_port;
	s->remote_addr = address;
	s->remote_port = port;
	s->entry.own_bit ^= 1;
}

void sn_session_again(const struct sn_state *state, struct sn_session *s, bool turns, bool checked)
{
	if (turns)
		turn_round(s);
	if (checked || s->seen & SN_SEEN_CHECKED)
		sn_window_check(s, checked);
	entry_outdate(state, &s->entry);
}
