/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WATCH_H
#define SN_WATCH_H

/*
 * Hosts that are functions of the chain, such as a router of somebody else's: whether they answer ARP. They
 * are asked with and without packets for them, so that it is known when one is gone. Packets are not sent to
 * it then for as long as a neighbour is believed that has no watch. Workers share what they know, by the port
 * of the host's interface; one of them asks, whichever finds it due.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sn_neigh.h"
#include "sn_turn.h"

#define SN_WATCH_NS	    1000000000ull      /* between two questions */
#define SN_WATCH_UNANSWERED 3		       /* in a row: it is down. One answer: it is up */
#define SN_WATCH_PAST_NS    (10 * SN_WATCH_NS) /* without a question: what was known is forgotten */

struct sn_watch {
	atomic_bool heard; /* since the last question */
	atomic_bool down;
	_Atomic uint64_t questions, answers;
	/* Written by who asks: */
	uint64_t asked_at;
	uint32_t address;
	uint32_t unanswered;
};

struct sn_watches {
	struct sn_turn turn;		      /* to ask */
	struct sn_watch hosts[SN_IFACES_MAX]; /* by port */
};

/* NULL without memory. */
struct sn_watches *sn_watches_create(void);
void sn_watches_free(struct sn_watches *watches);

/* That of the host at a port's interface; NULL: nobody knows it. */
const struct sn_watch *sn_watches_of(const struct sn_watches *watches, uint16_t port);

/* That of an interface of the program, and its neighbour's key. */
struct sn_watch *sn_watch_at(const struct sn_env *env, uint32_t iface);
uint64_t sn_watch_key(const struct sn_env *env, uint32_t iface);

/* A neighbour is believed to have its address. */
void sn_watch_hear(const struct sn_neigh_table *t, const struct sn_neigh *n);

#endif /* SN_WATCH_H */
