/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WIRES_H
#define SN_WIRES_H

/*
 * What is known of functions outside of the program: whether they answer, and what spot checks say of them
 * (sn_spot.h). A probe leaves by one of a function's wires, as a packet
 * does that makes a stop, and the function bridges it: it comes back by the other. Workers share what they
 * know, by the port by which probes come back; one of them sends, whichever finds it due.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sn_env.h"
#include "sn_spot.h"
#include "sn_tag.h"
#include "sn_turn.h"

/* The second of the types for experiments (IEEE 802, clause 9.2.4): nobody else forwards by it. */
#define SN_PROBE_TYPE	 0x88b6
#define SN_PROBE_AT_PORT 22 /* of its frame: by which port it comes back */

#define SN_PROBES_NS 10000000ull /* between two probes of a wire */
/*
 * Lost in a row: it is down. What goes past an open function had better do so at once. What is for a closed
 * one is lost either way, unless the function is late only, as processes are that share a CPU: so it has
 * time.
 */
#define SN_PROBES_LOST_OPEN   5
#define SN_PROBES_LOST_CLOSED 100
#define SN_PROBES_BACK	      3			    /* in a row: it is up again */
#define SN_PROBES_PAST_NS     (1000 * SN_PROBES_NS) /* without one: what was known is forgotten */

struct sn_wire {
	/* Since the last probe: one came back; a packet did, of those that left for the function. */
	atomic_bool heard, passed;
	atomic_bool down;
	_Atomic uint64_t probes, answers; /* that left, that came back */
	/* Written by who sends: */
	uint64_t sent_at;
	uint32_t lost, back;
	struct sn_spots spots;
};

struct sn_wires {
	uint64_t key;			     /* of this engine's probes */
	struct sn_turn turn;		     /* to send them */
	struct sn_wire wires[SN_IFACES_MAX]; /* by port */
};

/* NULL without memory, or without a random number. */
struct sn_wires *sn_wires_create(void);
void sn_wires_free(struct sn_wires *wires);

/* The wire by which a port's packets come back from stops; NULL: nobody knows it. */
const struct sn_wire *sn_wires_of(const struct sn_wires *wires, uint16_t port);

/* The addresses of a frame that leaves for a stop: to the port by which it comes back, which takes no others,
 * and from its continuation. */
static inline void sn_wires_address(const struct sn_env *env, uint32_t back, uint32_t continuation,
				    uint8_t l2[12])
{
	memcpy(l2, &env->addresses.macs[back], 6);
	sn_tag_write(l2 + 6,
		     (struct sn_tag){.nonce = env->program->nonce, .shard = 0, .continuation = continuation});
}

/* Sends probes and has spot checks made if they are due, and has the worker know who is down: between two
 * bursts. */
void sn_wires_tick(struct sn_env *env, uint64_t now);

/* The worker knows who is down, by a program that it has just got. */
void sn_wires_look(struct sn_env *env);

/* Packets that had left for a function came back by a wire, this one first: it is not down, even if it is so
 * full that probes are lost. */
void sn_wires_passed(struct sn_env *env, uint16_t iface, const struct rte_mbuf *m);

/* A probe has not left, as its wire does not take it. */
static inline void sn_wires_unsent(const struct sn_env *env, const struct rte_mbuf *m)
{
	uint16_t port = sn_load16(rte_pktmbuf_mtod_offset(m, const uint8_t *, SN_PROBE_AT_PORT));

	if (env->wires && port < SN_IFACES_MAX)
		atomic_fetch_sub_explicit(&env->wires->wires[port].probes, 1, memory_order_relaxed);
}

/* Takes the probes out of frames that came in by a wire, and counts them as received. How many frames are
 * left, in their order. */
uint32_t sn_wires_hear(struct sn_env *env, uint16_t iface, struct rte_mbuf **frames, uint32_t n);

#endif /* SN_WIRES_H */
