/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_STAND_IN_H
#define SN_TEST_STAND_IN_H

/*
 * A stand-in for devices that execute flow rules, as no device of a test machine does: behind the rte_flow
 * API, for any port. It reads patterns as rte_flow.h says, and frames byte by byte; it shares no code with
 * the engine. How packets come out of a port's queues is the test's matter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_flow.h>

#define STAND_IN_PORTS	 4
#define STAND_IN_RULES	 4096
#define STAND_IN_DROPPED -1

/* A device, by port; what it can do is zero at first. */
struct stand_in {
	uint32_t rules;	     /* room for */
	uint32_t priorities; /* levels */
	uint16_t queues;
	bool masks; /* any bits of addresses and ports; else whole values */
	bool ranges;
	bool drops, counts, marks, jumps;
	/* How it deceives: */
	bool ignores;	      /* takes rules, and does nothing with them */
	bool ignores_drops;   /* does everything else */
	uint32_t mark_errors; /* added to marks */
	bool stuck;	      /* cannot be reset */
	bool spreads_not;     /* knows no RSS action */
	/* The events: */
	uint32_t installed;
	uint32_t created, destroyed;
	uint32_t resets;	  /* that were tried */
	const uint8_t *bystander; /* a frame; NULL: none is looked at */
	uint32_t disturbed;	  /* rules that were made which hold for it */
	/* Called before a rule is made; may be NULL. */
	void (*look)(void *context);
	void *context;
};

extern struct stand_in stand_in[STAND_IN_PORTS];

/* All that a good device can do, with no rules. */
void stand_in_reset(uint16_t queues);

/* The queue in which the device puts a frame, or STAND_IN_DROPPED; and the mark that it gives it, 0: none. */
int stand_in_receive(uint16_t port, const uint8_t *frame, size_t len, uint32_t *mark);

/* The device was reset by another: its rules are gone, and its driver says that it has to be reset. */
void stand_in_lose(uint16_t port);

#endif /* SN_TEST_STAND_IN_H */
