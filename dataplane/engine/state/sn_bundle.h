/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_BUNDLE_H
#define SN_BUNDLE_H

/*
 * Entries that the packets of one flow use together: a NAPT's session, a firewall's, a balancer's. One of
 * them leads, and is used for all: a packet of a known flow writes one entry, however many functions keep
 * state of it. This is SNF's shared state (PeerJ CS 2:e98, "Managing stateful functions"), found at run time:
 * functions share as long as a flow's packets meet all of them, and part when one meets fewer, when the
 * entries would change differently, or when one ends.
 *
 * What is the same for all kinds is kept by reading through: a follower was used when its leader was
 * (sn_entry_last_use()). What is a kind's own is told it as they part (sn_state_kind.catch_up). The leader's
 * timeout is the shortest, so as long as it lives, all do. Of those with this timeout the one leads that says
 * most of the flow: then a short decision needs no other.
 *
 * A bundle is of its leader's shard, and moves with that; all of its entries are one worker's.
 */

#include "sn_state.h"

#define SN_BUNDLE_MAX 14 /* entries */

/* Entries, a bit for each that a packet uses in the direction of returns, and one for each behind which the
 * packet is another flow's. */
struct sn_bundle_uses {
	struct sn_entry *entries[SN_BUNDLE_MAX];
	uint32_t n;
	uint32_t returns;
	uint32_t translating;
};

/* The leader, if the uses are those of all entries of one bundle, in its directions; else NULL. */
struct sn_entry *sn_bundle_leader(const struct sn_state *state, const struct sn_bundle_uses *uses);

/*
 * Makes a bundle of two or more entries that are in none, and were used just now. Decisions that remember
 * one of them do not hold any more. The leader; NULL: they would not be changed alike, or there is no room.
 */
struct sn_entry *sn_bundle_make(const struct sn_state *state, const struct sn_bundle_uses *uses,
				uint64_t now);

/* Each entry of an entry's bundle is for itself again, as if it had been used with each packet. Decisions
 * that remember the leader do not hold any more. */
void sn_bundle_part(const struct sn_state *state, struct sn_entry *e);

/* The same of all bundles. */
void sn_bundle_part_all(const struct sn_state *state);

/*
 * For a packet that may change the entries of a leader's bundle differently: each is for itself while it is
 * used, as a packet from the leader's inside would use it. Then they are together again, as if they had been
 * all the time, if they were changed alike; else they part.
 */
struct sn_bundle;
struct sn_bundle *sn_bundle_loosen(const struct sn_state *state, struct sn_entry *leader,
				   struct sn_bundle_uses *uses);
void sn_bundle_tighten(const struct sn_state *state, struct sn_bundle *bundle);

#endif /* SN_BUNDLE_H */
