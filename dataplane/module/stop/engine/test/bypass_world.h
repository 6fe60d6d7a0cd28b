/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_BYPASS_WORLD_H
#define SN_TEST_BYPASS_WORLD_H

/* Programs whose packets go through functions, or past them: the test is the functions. */

#include "fixture.h"

#include "sn_passing.h"

#define OUT  2 /* the wires */
#define BACK 3

enum { INSIDE, OUTSIDE };

struct bypass_options {
	uint32_t packets;   /* of a flow, that a function wants to see */
	uint32_t flows;	    /* of a table; 0: 5000 */
	uint32_t functions; /* in a row; 0: one */
	bool untold;	    /* no table tells a SYN from other segments */
	bool twice;	    /* each packet that comes back counts in two operations */
	bool plain;	    /* all packets go through the last function, and none counts */
};

/* The sample wire with functions between its interfaces. */
Sinter__Program__V1__Program *bypassed_wire(struct sn_arena *arena, struct bypass_options o);

/* The sample wire so, in place of what runs. */
void load_bypass(struct fixture *f, struct bypass_options o);

/* A packet of the inside host, with ACK if it is TCP's; its answer; one with other flags. */
struct packet out(uint8_t proto, uint16_t port);
struct packet back(struct packet p);
struct packet with(struct packet p, uint8_t flags);

/* A packet goes to the function, which keeps it; or lets it through. */
void held_back(struct fixture *f, struct packet p);
void through(struct fixture *f, struct packet p);

/* It goes past; by a decision that is known. */
void past(struct fixture *f, struct packet p);
void past_as_known(struct fixture *f, struct packet p);

/* One of these with as many equal packets. */
void many(struct fixture *f, void (*how)(struct fixture *f, struct packet p), struct packet p, uint32_t n);

/* Packets that decisions were known for. */
uint64_t hits(const struct fixture *f);

/* The state of the first function's table. */
struct sn_state_stats stats_of(const struct fixture *f);

#endif /* SN_TEST_BYPASS_WORLD_H */
