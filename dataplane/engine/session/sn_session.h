/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SESSION_H
#define SN_SESSION_H

/*
 * A session: an entry that follows one flow in both of its directions, with TCP's connections. Kinds whose
 * entries are sessions differ in how they find and make them, and in what they translate. Workers use and
 * remember them without knowing the kind.
 */

#include <rte_branch_prediction.h>

#include "sn_state.h"

struct sn_state_shard;

/* TCP as far as a session follows it (docs/elements.md, "napt"). */
enum sn_tcp_seen {
	SN_SEEN_ANSWERED = 1,
	SN_SEEN_ACKNOWLEDGED = 2,
	SN_SEEN_CLOSING = 4,
	SN_SEEN_TCP = 7,
	SN_SEEN_BY_ADDRESS = 8, /* not of TCP: whatever the remote port, such sessions are in one chain */
	SN_SEEN_CHECKED = 16,	/* of a strict firewall: segments have to fit the connection's windows */
	SN_SEEN_SAID = 32,	/* the side that did not begin has sent a segment of these */
	SN_SEEN_COUNTED = 64,	/* its packets are counted, until so many have come: sn_session.remaining */
};

#define SN_SCALES_NONE 0xff

/*
 * Its owner is a run or a table; entry.own is the scales of TCP's windows: low half those from inside; 15:
 * none. What a flow is on its two sides stays as it is from the session's beginning to its end, but for a
 * flow that turns (sn_session_again()): both have another generation then.
 */
struct sn_session {
	struct sn_entry entry;
	uint32_t inside_addr;
	union {
		uint32_t outside_addr;
		uint32_t outside_edge; /* SN_SEEN_CHECKED, of which nothing is translated; see inside_edge */
	};
	uint32_t remote_addr;
	uint16_t inside_port; /* or ICMP identifier */
	union {
		uint16_t outside_port;
		uint16_t remaining; /* SN_SEEN_COUNTED, of which nothing is translated: packets to come */
	};
	uint16_t remote_port;
	uint8_t proto;
	uint8_t seen; /* enum sn_tcp_seen */
	union {
		struct { /* of TCP's last packet from inside and outside, in network order */
			uint32_t ack[2];
			uint16_t window[2];
		};
		struct {		      /* SN_SEEN_CHECKED, see sn_window.c */
			uint32_t ends[2];     /* behind the last byte from inside, and from outside */
			uint32_t inside_edge; /* up to where the inside lets the other side send */
		};
		uint32_t back_next; /* without ports: to find it from outside */
	};
};
_Static_assert(sizeof(struct sn_session) == sizeof(struct sn_entry_line), "a session is one cache line");

/* Whether addresses, ports and protocol of a session are those of a decision that was made about it, when it
 * had the owner and the generation: it is still there, and has them (one that is checked has an edge instead
 * of an address, and one that is counted a number instead of a port). */
static inline bool sn_session_tells(const struct sn_session *s, uint32_t owner, uint32_t generation)
{
	return s->entry.live && s->entry.generation == generation && s->entry.owner == owner &&
	       !(s->seen & (SN_SEEN_CHECKED | SN_SEEN_COUNTED));
}

/* Whether the flow is another one behind the function. */
static inline bool sn_session_translates(const struct sn_session *s)
{
	return s->inside_addr != s->outside_addr || s->inside_port != s->outside_port;
}

/* A session that translates nothing has its packets counted, until so many have come; 1 at least. */
static inline void sn_session_count(struct sn_session *s, uint16_t packets)
{
	s->seen |= SN_SEEN_COUNTED;
	s->remaining = packets;
}

/* One more has come. */
static inline void sn_session_count_down(struct sn_session *s)
{
	if (!(s->seen & SN_SEEN_COUNTED) || --s->remaining > 0)
		return;
	s->seen &= (uint8_t)~SN_SEEN_COUNTED;
	s->outside_port = s->inside_port;
}

struct sn_flow {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t proto;
};

/* Where a look-up of a flow will read; its first line is on its way, the second is known when that is there.
 */
struct sn_flow_hint {
	const struct sn_state_shard *shard;
	uint64_t hash;
	uint32_t number;     /* of the shard */
	bool counted;	     /* with its subscriber's sessions, … */
	uint64_t subscriber; /* … which are expected there */
};

/* The program's run of a session. */
static inline uint32_t sn_session_run(const struct sn_session *session)
{
	return session->entry.owner;
}

/* Give a session and its port back, as if it had never been. */
static inline void sn_session_end(struct sn_partition *partition, struct sn_session *session)
{
	sn_entry_undo(partition, &session->entry);
}

#endif /* SN_SESSION_H */
