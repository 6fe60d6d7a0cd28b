/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SPOT_H
#define SN_SPOT_H

/*
 * Spot checks of functions outside of the program: whether they change what they declare, and how long they
 * take. Now and then a frame leaves for one from an address that no other frame has, instead of its
 * continuation's. So it is known when it comes back, whatever the function has done to it, and no other
 * packet is taken for it. It goes on by its continuation then. Packets that are traced leave so, too.
 *
 * An address is 06:<key, 28 bits; port, 6 bits; number, 6 bits>: a local one, and no tag (sn_tag.h). There
 * are few, so a bridge that learns has to know few.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_field.h"
#include "sn_parse.h"

struct sn_env;
struct sn_stop;

#define SN_SPOT_FIRST	  0x06
#define SN_SPOTS	  64		 /* of a way: frames at a function at once */
#define SN_SPOTS_NS	  10000000ull	 /* between two of a way */
#define SN_SPOT_MISSED_NS 5000000000ull	 /* a frame that takes longer to come back counts as lost, … */
#define SN_SPOT_LOST_NS	  60000000000ull /* … and is not known any more */
#define SN_SPOT_LATELY_NS 60000000000ull /* a function is contradicted for so long */

/* Contradictions to a function's declaration: changes of fields (enum sn_field), and: */
enum sn_contradiction {
	SN_SPOT_TTL_RAISED = SN_FIELDS,
	SN_SPOT_DROPPED,
	SN_SPOT_RESIZED,
	SN_SPOT_ORIGINATED,
	SN_SPOT_REORDERED,
	SN_SPOT_CONTRADICTIONS,
};

/* Times at a function, each below 2^i us; the last one has no bound. */
#define SN_SPOT_TIMES 25

/* The fields by which a frame is compared. */
struct sn_spot_fields {
	uint32_t src, dst, sport, dport;
	uint16_t vlan, id, len;
	uint8_t proto, dscp, ttl;
	bool whole; /* not a fragment */
};

/* A worker that changes `state` to SN_SPOT_HELD has the rest to itself. */
enum sn_spot_state {
	SN_SPOT_FREE,
	SN_SPOT_HELD,
	SN_SPOT_AWAY, /* at the function, … */
	SN_SPOT_LATE, /* … for longer than SN_SPOT_MISSED_NS */
	SN_SPOT_BACK, /* a second frame that comes from it may have the same address */
};

struct sn_spot {
	_Atomic uint32_t state;
	uint32_t allowed;  /* bit per contradiction that would be none */
	uint8_t source[6]; /* the continuation's address */
	_Atomic uint64_t sent_at;
	struct sn_spot_fields fields;
	struct sn_spot *before; /* of the flow's packet that left before it, at the same time; NULL: none */
	_Atomic bool overtaken; /* the flow's packet that left behind it has come back */
	uint64_t mark;		/* of a packet that is traced (sn_trace_mark.h); 0: it is not */
};

/* A way through a function. Times are in ns. */
struct sn_spots {
	_Atomic uint64_t due;
	_Atomic uint32_t next;
	_Atomic uint64_t checked, returned, lost;
	_Atomic uint64_t contradicted[SN_SPOT_CONTRADICTIONS]; /* packets */
	_Atomic uint64_t contradicted_at[SN_SPOT_CONTRADICTIONS];
	_Atomic uint64_t times[SN_SPOT_TIMES], time;
	struct sn_spot spots[SN_SPOTS];
};

/* Whether the way's next frame is to be checked. It says so to one who asks, once in SN_SPOTS_NS, and counts
 * those that are lost. */
bool sn_spots_due(struct sn_spots *spots, uint64_t now);

/* One of n frames that are about to be sent by a wire is checked, if there is one that can be. */
void sn_spot_send(struct sn_env *env, uint16_t iface, struct rte_mbuf **frames, uint32_t n);

/* A frame that is about to be sent by a wire is traced: it gets the mark when it is back, if there is room.
 * Half of a way's spots are for such frames, so that many that do not come back leave others to be checked.
 */
void sn_spot_follow(struct sn_env *env, uint16_t iface, struct rte_mbuf *m, uint64_t mark);

/* A frame was not sent after all. */
void sn_spot_forget(struct sn_env *env, uint16_t iface, const struct rte_mbuf *m);

/* Whether a frame that came by a wire has been checked: then it has the address of its continuation again. */
bool sn_spot_back(struct sn_env *env, uint16_t iface, struct rte_mbuf *m, uint64_t now);

/* Frames came by a wire without a continuation: what the function sends on its own. */
void sn_spot_untagged(struct sn_env *env, uint16_t iface, struct rte_mbuf *const *frames, uint32_t n,
		      uint64_t now);

/* Bit per contradiction that is none at a stop, as its function declares it. */
uint32_t sn_spot_allowed(const struct sn_stop *stop);

#endif /* SN_SPOT_H */
