/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_ASSIGN_WORLD_H
#define SN_TEST_ASSIGN_WORLD_H

/* Programs whose packets go through one of several replicas of a function: the test is the replicas. */

#include "bypass_world.h"

#include "sn_assignment.h"

#define REPLICAS 3u
#define BOTH	 3u /* the first two: bit per replica */

/* The wire of a replica at a side, and the other one. */
#define WIRE(replica, side) (2 + 2 * (replica) + (side))
#define OTHER_END(wire)	    ((wire) ^ 1)

struct assign_options {
	uint32_t with;	   /* bit per replica that the program has */
	uint32_t draining; /* bit per replica */
	uint32_t flows;	   /* of a table; 0: 5000 */
	uint32_t mtu;	   /* of the wires; 0: 1500 */
	bool open;	   /* packets go past a replica that is down; else they are dropped */
};

/* The sample wire with replicas of a function between its interfaces. */
Sinter__Program__V1__Program *assigned_wire(struct sn_arena *arena, struct assign_options o);

/* A fixture with addresses for all wires. */
int open_assign(void **state);

/* The sample wire so, in place of what runs. */
void load_assign(struct fixture *f, struct assign_options o);

/* The same packet to, or from, another host at the outside. */
struct packet remote(struct packet p, uint32_t number);

/* A packet of the same flow in the other direction. */
struct packet turned(struct packet p);

/* A packet leaves for a replica, which keeps it; which one. */
uint32_t replica_of(struct fixture *f, struct packet p);

/* The same, and the replica lets it through. */
uint32_t cross(struct fixture *f, struct packet p);

/* So it goes by one. */
void goes_by(struct fixture *f, struct packet p, uint32_t replica);

/* And by a decision that is known. */
void known_goes_by(struct fixture *f, struct packet p, uint32_t replica);

/* The replica that hosts' addresses tell. No packet of a flow is sent. */
uint32_t choice(struct fixture *f, struct packet p);

/* The number of a host whose flows with the inside host go to a replica, if they are new. */
uint32_t remote_of(struct fixture *f, uint32_t replica);

/* Time for n probes, of which those that should come back by some wires do not: bit per wire. */
void probe(struct fixture *f, uint32_t n, uint64_t silent);

/* So many that it is known who is down. */
void fall(struct fixture *f, uint64_t silent);

/* The flows that are a replica's. */
struct sn_state_stats flows_at(const struct fixture *f, uint32_t replica);

#endif /* SN_TEST_ASSIGN_WORLD_H */
