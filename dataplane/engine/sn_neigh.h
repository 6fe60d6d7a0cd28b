/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NEIGH_H
#define SN_NEIGH_H

/* Next hops and their addresses: static, or by ARP (RFC 826). A worker has its own. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_parse.h"
#include "sn_worker.h"

#define SN_NEIGH_NONE 0 /* index of no neighbour */
#define SN_NEIGH_WAIT 4 /* packets that wait for an answer */

/* One cache line. The first 24 bytes are all that sending reads. */
struct sn_neigh {
	uint8_t l2[12]; /* destination and source as they are written */
	uint8_t iface;
	uint8_t state; /* enum sn_neigh_state */
	uint8_t n_wait;
	bool named; /* by decisions, perhaps: it was usable */
	uint64_t used;
	uint64_t age; /* usable while now - used <= age */
	uint32_t address;
	uint32_t hash_next;
	uint64_t asked_first;
	uint64_t asked_last;
	uint16_t vlan;	       /* of the packet that asked */
	uint16_t older, newer; /* of those that are asked for; SN_NEIGH_NONE: the end */
	uint16_t pad;
};
_Static_assert(sizeof(struct sn_neigh) == 64, "a neighbour is one cache line");

struct sn_neigh_table {
	struct sn_neigh *entries;
	struct rte_mbuf *(*waiting)[SN_NEIGH_WAIT];
	uint32_t *buckets;
	uint32_t bucket_mask;
	uint32_t max;
	uint32_t fresh;		 /* entries from here on were never used */
	uint32_t free;		 /* chain of those that were */
	uint16_t oldest, newest; /* that are asked for; SN_NEIGH_NONE: none is */
	uint64_t next_visit;
	uint64_t next_announcement;
	uint64_t announced;	/* interfaces, one bit each */
	uint32_t announcements; /* that are still to be made */
	bool silent;
};

int sn_neigh_init(struct sn_neigh_table *t, uint32_t max);
void sn_neigh_free(struct sn_neigh_table *t);

static inline uint32_t sn_neigh_bucket(const struct sn_neigh_table *t, uint8_t iface, uint32_t address)
{
	return ((address ^ (uint32_t)iface << 24) * 0x9e3779b1u >> 8) & t->bucket_mask;
}

static inline struct sn_neigh *sn_neigh_find(struct sn_neigh_table *t, uint8_t iface, uint32_t address)
{
	uint32_t i = t->buckets[sn_neigh_bucket(t, iface, address)];

	while (i && (t->entries[i].address != address || t->entries[i].iface != iface))
		i = t->entries[i].hash_next;
	return i ? &t->entries[i] : NULL;
}

static inline bool sn_neigh_usable(const struct sn_neigh *n, uint64_t now)
{
	return n->state >= SN_NEIGH_REACHABLE && now - n->used <= n->age;
}

/* Hold a packet, complete but for its addresses, until the neighbour is known; it is the table's from here
 * on. */
void sn_neigh_wait(struct sn_worker *w, const struct sn_pkt *p, uint8_t iface, uint32_t address,
		   uint64_t now);

/* An ARP frame that Entry let pass. Stays the caller's. A copy (w->taking) is learnt from, not answered.
 * True: the other workers may learn from it. */
bool sn_neigh_arp(struct sn_worker *w, const struct sn_pkt *p, uint64_t now);

/* While the worker is quiescent: another engine answers for the program's addresses, or no longer. Who is
 * silent gives no neighbour a reason to send to it: it answers no request, announces nothing, and asks
 * without an address of its own, as who probes (RFC 5227, 2.1.1). */
void sn_neigh_silence(struct sn_worker *w, bool silent);

/* Tell all neighbours on these interfaces, with the next ticks, where the program's addresses are now: a pod
 * that takes another's place has its addresses, but not its MAC. Nothing if silent. */
void sn_neigh_announce(struct sn_worker *w, uint64_t ifaces);

/* Announce, ask again, give up, forget. */
void sn_neigh_tick(struct sn_worker *w, uint64_t now);

/* Fit the table to w->program, the successor of `old` (may be NULL). */
void sn_neigh_apply(struct sn_worker *w, const struct sn_program *old);

#endif /* SN_NEIGH_H */
