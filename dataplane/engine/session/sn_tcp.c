/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_session_impl.h"
#include "sn_tcp.h"

/* A session's knowledge of a TCP connection: docs/elements.md, "napt", TCP state. */

#define OPTION_END   0
#define OPTION_NOP   1
#define OPTION_SCALE 3
#define SCALE_MAX    14 /* RFC 7323, section 2.3 */
#define SCALE_NONE   15

/* The window scale of a SYN, whose data offset was checked at entry. */
static uint8_t scale_of(const uint8_t *tcp)
{
	const uint8_t *o = tcp + 20, *end = tcp + (tcp[12] >> 4) * 4;

	while (o < end && *o != OPTION_END) {
		if (*o == OPTION_NOP) {
			o++;
			continue;
		}
		if (end - o < 2 || o[1] < 2 || o[1] > end - o)
			break;
		if (o[0] == OPTION_SCALE && o[1] == 3)
			return o[2] < SCALE_MAX ? o[2] : SCALE_MAX;
		o += o[1];
	}
	return SCALE_NONE;
}

uint32_t sn_session_scaled(const struct sn_session *s, uint32_t window, bool of_outside)
{
	uint8_t forth = s->entry.own & 15, back = s->entry.own >> 4;

	if (forth == SCALE_NONE || back == SCALE_NONE)
		return window;
	return window << (of_outside ? back : forth);
}

/* Whether the receiver of an RST expects its sequence number: an attacker has to guess it. */
static bool in_window(const struct sn_session *s, const uint8_t *tcp, bool is_return)
{
	uint32_t window = rte_be_to_cpu_16(s->window[!is_return]);
	uint32_t ahead = sn_load32(tcp + 4) - rte_be_to_cpu_32(s->ack[!is_return]);

	return ahead <= sn_session_scaled(s, window, !is_return);
}

/* The session is used, and has the timeout that its state asks for. */
static void refresh(const struct sn_state *state, struct sn_session *s, uint64_t now)
{
	const struct sn_state_table *t = table_of(state, &s->entry);

	entry_refresh(shard_at(t, s->entry.shard & t->mask), &s->entry,
		      timeout_of(&state->owners[s->entry.owner], s->proto, s->seen), now);
}

static void note_scale(struct sn_session *s, const uint8_t *tcp, bool is_return)
{
	uint8_t scale = scale_of(tcp);

	s->entry.own = is_return ? (s->entry.own & 0x0f) | scale << 4 : (s->entry.own & 0xf0) | scale;
}

void sn_session_tcp(const struct sn_state *state, struct sn_session *s, const uint8_t *tcp, bool is_return,
		    uint64_t now)
{
	bool checked = s->seen & SN_SEEN_CHECKED, one_sided = state->owners[s->entry.owner].one_sided;
	uint8_t flags = tcp[13];

	if (unlikely(s->entry.leads)) {
		sn_session_tcp_each(state, s, tcp, is_return, now);
		return;
	}
	if (flags & SN_TCP_RST) {
		if (!is_established(s->seen) || (!checked && !one_sided && !in_window(s, tcp, is_return)))
			return;
		s->seen |= SN_SEEN_CLOSING;
		refresh(state, s, now);
		return;
	}
	if ((s->seen & SN_SEEN_CLOSING) && (flags & (SN_TCP_SYN | SN_TCP_ACK)) == SN_TCP_SYN) {
		s->seen = (uint8_t)((s->seen & ~SN_SEEN_TCP) | (one_sided ? SN_SEEN_ANSWERED : 0));
		s->entry.own = SN_SCALES_NONE;
	}
	if (is_return)
		s->seen |= SN_SEEN_ANSWERED;
	else if ((s->seen & SN_SEEN_ANSWERED) && (flags & (SN_TCP_SYN | SN_TCP_ACK)) == SN_TCP_ACK)
		s->seen |= SN_SEEN_ACKNOWLEDGED;
	if (flags & SN_TCP_FIN)
		s->seen |= SN_SEEN_CLOSING;
	if ((flags & SN_TCP_SYN) && !(s->seen & SN_SEEN_ACKNOWLEDGED))
		note_scale(s, tcp, is_return);
	if (!checked) {
		memcpy(&s->ack[is_return], tcp + 8, 4);
		memcpy(&s->window[is_return], tcp + 14, 2);
	}
	refresh(state, s, now);
}

void sn_session_tcp_each(const struct sn_state *state, struct sn_session *leader, const uint8_t *tcp,
			 bool is_return, uint64_t now)
{
	struct sn_bundle_uses all;
	struct sn_bundle *bundle = sn_bundle_loosen(state, &leader->entry, &all);

	for (uint32_t i = 0; i < all.n; i++)
		sn_session_use(state, (struct sn_session *)all.entries[i], tcp,
			       is_return ^ (all.returns >> i & 1), now);
	sn_bundle_tighten(state, bundle);
}

/* ---- in a bundle ---- */

/* Whether packets of one side leave what was seen as it is: of inside, those with ACK. */
static bool is_settled(const struct sn_session *s, bool from_outside)
{
	if (from_outside)
		return s->seen & SN_SEEN_ANSWERED;
	return !(s->seen & SN_SEEN_ANSWERED) || s->seen & SN_SEEN_ACKNOWLEDGED;
}

/* A packet that leaves the leader as it is, but for its use, leaves the entry so. */
static bool follows(const struct sn_session *l, const struct sn_session *s, bool turned)
{
	/* Any packet from outside is looked at if the leader is not answered. */
	if (is_settled(l, true) && !is_settled(s, !turned))
		return false;
	/* If it is not acknowledged, those from inside with ACK are, and others are not. */
	return is_settled(s, turned) || (!is_settled(l, false) && !turned);
}

bool sn_session_is_alike(const struct sn_entry *leader, const struct sn_entry *e, bool turned)
{
	const struct sn_session *l = (const struct sn_session *)leader, *s = (const struct sn_session *)e;

	if (l->proto != s->proto || ((l->seen | s->seen) & (SN_SEEN_CHECKED | SN_SEEN_COUNTED)))
		return false;
	if (l->proto != SN_TCP)
		return true;
	return l->ack[0] == s->ack[turned] && l->ack[1] == s->ack[!turned] &&
	       l->window[0] == s->window[turned] && l->window[1] == s->window[!turned] &&
	       follows(l, s, turned);
}

void sn_session_catch_up(struct sn_entry *e, const struct sn_entry *leader, bool turned)
{
	const struct sn_session *l = (const struct sn_session *)leader;
	struct sn_session *s = (struct sn_session *)e;

	if (s->proto != SN_TCP)
		return;
	for (uint32_t side = 0; side < 2; side++) {
		s->ack[side ^ turned] = l->ack[side];
		s->window[side ^ turned] = l->window[side];
	}
}

void sn_session_use_rare(const struct sn_state *state, struct sn_session *s, const uint8_t *tcp,
			 bool is_return, uint64_t now)
{
	sn_session_use(state, s, tcp, is_return, now);
}
