/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NAPT_H
#define SN_NAPT_H

/* The NAPTs' sessions: the packet path. */

#include <rte_branch_prediction.h>

#include "sn_state.h"

struct sn_state_shard;

/* TCP as far as a NAPT follows it (docs/elements.md, "napt"). */
enum sn_tcp_seen {
	SN_SEEN_ANSWERED = 1,
	SN_SEEN_ACKNOWLEDGED = 2,
	SN_SEEN_CLOSING = 4,
	SN_SEEN_TCP = 7,
	SN_SEEN_BY_ADDRESS = 8, /* not of TCP: whatever the remote port, such sessions are in one chain */
	SN_SEEN_CHECKED = 16,	/* of a strict firewall: segments have to fit the connection's windows */
	SN_SEEN_SAID = 32,	/* the side that did not begin has sent a segment of these */
};

/* What of a remote endpoint a mapping or filter depends on (RFC 4787 sections 4.1 and 5); as on the wire. */
enum sn_dependence {
	SN_ADDRESS_AND_PORT_DEPENDENT,
	SN_ADDRESS_DEPENDENT,
	SN_ENDPOINT_INDEPENDENT,
};

#define SN_SCALES_NONE 0xff

/*
 * One binding. Its owner is a run; entry.own is the scales of TCP's windows: low half those from inside; 15:
 * none. What a flow is on its two sides stays as it is from the session's beginning to its end, but for a
 * flow that turns (sn_track_turn()): both have another generation then.
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
	uint16_t outside_port;
	uint16_t remote_port;
	uint8_t proto;
	uint8_t seen; /* enum sn_tcp_seen */
	union {
		struct { /* of TCP's last packet from inside and outside, in network order */
			uint32_t ack[2];
			uint16_t window[2];
		};
		struct {		      /* SN_SEEN_CHECKED, see sn_track_window.c */
			uint32_t ends[2];     /* behind the last byte from inside, and from outside */
			uint32_t inside_edge; /* up to where the inside lets the other side send */
		};
		uint32_t back_next; /* without ports: to find it from outside */
	};
};
_Static_assert(sizeof(struct sn_session) == sizeof(struct sn_entry_line), "a session is one cache line");

/* Whether addresses, ports and protocol of a session are those of a decision that was made about it, when it
 * had the owner and the generation: it is still there, used by itself, and has them (one that is checked has
 * an edge instead of an address). */
static inline bool sn_session_tells(const struct sn_session *s, uint32_t owner, uint32_t generation)
{
	return s->entry.live && s->entry.generation == generation && s->entry.owner == owner &&
	       !sn_entry_bundled(&s->entry) && !(s->seen & SN_SEEN_CHECKED);
}

struct sn_flow {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t proto;
};

enum sn_napt_result {
	SN_NAPT_FOUND,
	SN_NAPT_MADE,	 /* reserved: take it back with sn_session_end() if the packet is dropped later */
	SN_NAPT_NONE,	 /* no port is free, or no session wanted to be made */
	SN_NAPT_FULL,	 /* from outside: it might be made, but there is no room */
	SN_NAPT_LIMITED, /* its subscriber may not have another one: sn_napt_limit() says why */
};

/*
 * The shard of a flow that starts inside, and meets a run first. It is the same for a flow that another NAPT
 * has translated, whose port tells the shard of what it met there: from wherever packets or errors about it
 * come.
 */
uint32_t sn_napt_shard(const struct sn_state *state, uint32_t run, const struct sn_flow *flow);

/* Where a look-up of a flow will read; its first line is on its way, the second is known when that is there.
 */
struct sn_napt_hint {
	const struct sn_state_shard *shard;
	uint64_t hash;
	uint32_t number;     /* of the shard */
	bool counted;	     /* with its subscriber's sessions, … */
	uint64_t subscriber; /* … which are expected there */
};

struct sn_napt_hint sn_napt_prefetch(const struct sn_state *state, uint32_t run, uint32_t shard,
				     const struct sn_flow *flow);

/* Bit i of `which`: hints[i]. */
void sn_napt_prefetch_sessions(const struct sn_state *state, const struct sn_napt_hint *hints,
			       uint64_t which);

/* The session of a run by the flow as it is inside; made if there is none and make is set. */
enum sn_napt_result sn_napt_forward(struct sn_partition *partition, uint32_t run, uint32_t shard,
				    const struct sn_flow *flow, bool make, uint64_t now,
				    struct sn_session **session);

/* The same of a flow that is most likely new, by the hash of its hint. FOUND: it is not, or it was known
 * once; nothing was done. */
enum sn_napt_result sn_napt_open(struct sn_partition *partition, uint32_t run, uint32_t shard,
				 const struct sn_flow *flow, uint64_t hash, uint64_t now,
				 struct sn_session **session);

/* The shard of a flow's return packets; of a small pool's it is told but for its high bits. */
uint32_t sn_napt_return_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *flow);

/* The session by the flow as its return packets are outside: NULL if there is none. Its shard is the part's.
 */
struct sn_session *sn_napt_return(const struct sn_state *state, uint32_t table, const struct sn_flow *flow,
				  uint64_t now);

/* The same; made if there is none and the filter of the mapping lets the flow begin from outside. LIMITED: by
 * the limits of *run. */
enum sn_napt_result sn_napt_come(struct sn_partition *partition, uint32_t table, const struct sn_flow *flow,
				 uint64_t now, struct sn_session **session, uint32_t *run);

/* The reason to drop what a run's subscribers may not have. */
uint32_t sn_napt_limit(const struct sn_state *state, uint32_t run);

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

#endif /* SN_NAPT_H */
