/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NEIGH_H
#define SN_NEIGH_H

/*
 * Next hops and their addresses: static, or by ARP. A worker has its own, by interface and VLAN. A neighbour
 * in use is asked again and again whether it is still there, by the states of RFC 4861, section 7.3.2.
 * Packets only note when they used it; the tick does the rest.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "sn_tag.h"
#include "sn_wait.h"

struct sn_env;
struct sn_pkt;

enum sn_neigh_state {
	SN_NEIGH_FREE,
	SN_NEIGH_INCOMPLETE, /* asked, not answered yet */
	SN_NEIGH_FAILED,     /* asked, not answered */
	SN_NEIGH_DOWN,	     /* a stop, whose function is down: a closed one, or one with replicas */
	/* From here on packets are sent to it (RFC 4861, section 7.3.2). */
	SN_NEIGH_REACHABLE, /* known to be there a short time ago */
	SN_NEIGH_STALE,	    /* not used since */
	SN_NEIGH_DELAY,	    /* used since: it has a moment to be heard of */
	SN_NEIGH_PROBE,	    /* asked whether it is still there */
	SN_NEIGH_DISPUTED,  /* asked, as another one says that it has the address */
	SN_NEIGH_STATIC,
};

struct sn_neigh_info {
	uint32_t iface;
	uint32_t address;
	uint16_t vlan; /* SN_VLAN_ABSENT: untagged */
	uint8_t mac[6];
	enum sn_neigh_state state;
};

#define SN_NEIGH_NONE 0 /* index of no neighbour */

/* One cache line. The first 32 bytes are all that sending reads. */
struct sn_neigh {
	uint8_t l2[12]; /* destination and source as they are written */
	uint8_t iface;
	uint8_t state; /* enum sn_neigh_state */
	uint8_t asked; /* questions since the state began */
	bool named;    /* by decisions, perhaps */
	uint64_t used; /* by a packet, or heard of */
	uint64_t key;  /* sn_neigh_key(); 0: the entry is free */
	uint64_t due;  /* when the state ends or the next question is asked; STALE: when it began */
	uint32_t hash_next;
	uint16_t older, newer; /* of its list; SN_NEIGH_NONE: the end */
	struct sn_wait_queue queue;
	uint8_t claim[6]; /* who says that it has the address */
	uint16_t settled; /* 0: no dispute has ended a short time ago */
	uint32_t listed;  /* ms: when it came to the end of its list */
};
_Static_assert(sizeof(struct sn_neigh) == 64, "a neighbour is one cache line");

/* Hooks for changes of a neighbour. */
struct sn_neigh_hooks {
	void *ctx; /* of both */
	/* The entry of a neighbour that was usable is another one's from now on: who noted its place forgets
	 * it. */
	void (*renamed)(void *ctx);
	/* A packet, which is the hook's, whose neighbour by the interface did not answer. */
	void (*unreachable)(void *ctx, struct rte_mbuf *m, uint32_t iface, uint64_t now);
};

struct sn_neigh_list {
	uint16_t oldest, newest, n;
};

/* An interface's entries. */
struct sn_neigh_room {
	uint16_t n;		    /* all of them, with those that are configured */
	struct sn_neigh_list asked; /* that are asked for, or did not answer, by when that began */
	struct sn_neigh_list known; /* that were heard of: by when that was last, or by when they were used */
};

struct sn_neigh_table {
	struct sn_neigh *entries;
	uint32_t *buckets;
	uint32_t bucket_mask;
	uint32_t max;
	uint32_t fresh; /* entries from here on were never used */
	uint32_t free;	/* chain of those that were */
	uint16_t share; /* entries of an interface when all are in use */
	struct sn_neigh_room rooms[SN_IFACES_MAX];
	uint32_t hand;	     /* the entry that the tick visits next */
	uint64_t visited;    /* when the tick visited some last */
	uint64_t random;     /* state of the generator of reachable times */
	uint64_t may_ask;    /* by broadcast; 10^9 are worth one question */
	uint64_t may_ask_at; /* when that was so */
	uint64_t next_announcement;
	uint64_t announced;	/* interfaces, one bit each */
	uint64_t hosts_down;	/* interfaces whose host is down (sn_watch.h), as this worker knows */
	uint32_t announcements; /* that are still to be made */
	bool silent;
	struct sn_wait wait;
	struct rte_mbuf **gone; /* packets of a neighbour that did not answer, on their way out */
	struct sn_env *env;
	struct sn_neigh_hooks hooks;
};

/* waiting: packets, see sn_wait_init(). */
int sn_neigh_init(struct sn_neigh_table *t, struct sn_env *env, const struct sn_neigh_hooks *hooks,
		  uint32_t max, uint16_t waiting);
void sn_neigh_free(struct sn_neigh_table *t);

/* vlan: SN_VLAN_ABSENT of untagged packets. */
static inline uint64_t sn_neigh_key(uint8_t iface, uint16_t vlan, uint32_t address)
{
	return (uint64_t)iface << 48 | (uint64_t)vlan << 32 | address;
}

#define SN_NEIGH_STOP 0x8000 /* no VLAN */

/* That of packets that leave by an interface for a stop of the program with a nonce. It fits, but for its
 * first bit, beside the number in what is else the address. */
static inline uint64_t sn_neigh_stop_key(uint32_t out, uint16_t nonce, uint32_t continuation)
{
	return sn_neigh_key((uint8_t)out, SN_NEIGH_STOP | nonce >> 15,
			    (uint32_t)nonce << SN_CONTINUATION_BITS | continuation);
}

static inline uint32_t sn_neigh_address(const struct sn_neigh *n)
{
	return (uint32_t)n->key;
}

static inline uint16_t sn_neigh_vlan(const struct sn_neigh *n)
{
	return (uint16_t)(n->key >> 32);
}

static inline uint32_t sn_neigh_bucket(const struct sn_neigh_table *t, uint64_t key)
{
	return (uint32_t)((key ^ key >> 24) * 0x9e3779b97f4a7c15ull >> 40) & t->bucket_mask;
}

static inline struct sn_neigh *sn_neigh_find(const struct sn_neigh_table *t, uint64_t key)
{
	uint32_t i = t->buckets[sn_neigh_bucket(t, key)];

	while (i && t->entries[i].key != key)
		i = t->entries[i].hash_next;
	return i ? &t->entries[i] : NULL;
}

static inline bool sn_neigh_is_stop(const struct sn_neigh *n)
{
	return n->key && sn_neigh_vlan(n) & SN_NEIGH_STOP;
}

/* The nonce of the program that a stop's entry is of, and the number by which packets go on. */
static inline uint16_t sn_neigh_nonce(const struct sn_neigh *n)
{
	return (uint16_t)(n->key >> SN_CONTINUATION_BITS);
}

static inline uint32_t sn_neigh_continuation(const struct sn_neigh *n)
{
	return (uint32_t)n->key & (SN_CONTINUATIONS_MAX - 1);
}

static inline void sn_write_l2(uint8_t *frame, const struct sn_neigh *n)
{
	memcpy(frame, n->l2, sizeof(n->l2));
}

static inline bool sn_neigh_usable(const struct sn_neigh *n)
{
	return n->state >= SN_NEIGH_REACHABLE;
}

/* Hold a packet, complete but for its addresses, until the neighbour is known; it is the table's from here
 * on. The neighbour is not known, and not one that has just not answered (SN_NEIGH_FAILED). */
void sn_neigh_wait(struct sn_neigh_table *t, const struct sn_pkt *p, uint8_t iface, uint32_t address,
		   uint64_t now);

/*
 * The next hop of packets that leave for a stop of env->program, with their continuation's addresses: usable
 * unless the function is closed and down. That may be the program to come, which then has its entries when it
 * is applied. NULL: there is no room, as its interface has its share.
 */
struct sn_neigh *sn_neigh_of_stop(struct sn_neigh_table *t, uint32_t stop, uint32_t continuation);

/* Functions went down, or are up again: env->down has changed. */
void sn_neigh_turn_stops(struct sn_neigh_table *t);

/* A program to come will not: its entries go, and no decision names them. */
void sn_neigh_forget_ahead(struct sn_neigh_table *t);

/* A neighbour's address was heard of. to_us: it asks for one of ours, or answers us. False: nothing that
 * another worker would want to know, which may know more than this one. */
bool sn_neigh_hear(struct sn_neigh_table *t, uint64_t key, const uint8_t mac[6], bool to_us, uint64_t now);

/* Announce, ask again, give up, forget. */
void sn_neigh_tick(struct sn_neigh_table *t, uint64_t now);

/* Fit the table to env->program, the successor of `old` (may be NULL). */
void sn_neigh_apply(struct sn_neigh_table *t, const struct sn_program *old);

/* On the worker's thread, or while it is quiescent. Returns how many were written. */
size_t sn_neigh_list(const struct sn_neigh_table *t, struct sn_neigh_info *out, size_t max);

/* Lower-case name of a state: "incomplete", … */
const char *sn_neigh_state_name(enum sn_neigh_state state);

/* While the worker is quiescent: another engine answers for the program's addresses, or no longer. A silent
 * engine gives no neighbour a reason to send to it: it answers no request, announces nothing, and asks
 * without an address of its own, as a host that probes (RFC 5227, 2.1.1). */
void sn_neigh_silence(struct sn_neigh_table *t, bool silent);

/* Tell all neighbours on these interfaces, with the next ticks, where the program's addresses are now: a pod
 * that takes another's place has its addresses, but not its MAC. Nothing if silent. */
void sn_neigh_announce(struct sn_neigh_table *t, uint64_t ifaces);

#endif /* SN_NEIGH_H */
