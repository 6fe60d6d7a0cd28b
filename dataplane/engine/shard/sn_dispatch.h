/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_DISPATCH_H
#define SN_DISPATCH_H

/*
 * The shard of a packet, before anything is done to it: which state its way through the program
 * will meet first. A look ahead without effects; whoever then runs the packet checks that the state
 * which it meets is its own.
 */

#include <stdint.h>

#include "sn_parse.h"
#include "sn_program.h"
#include "sn_state.h"

/* A look ahead, for what operations foresee. */
struct sn_look {
	const struct sn_program *program;
	const struct sn_state *state;
	uint32_t steps; /* classifications on all ways of the packet that are still looked at */
};

/* class is the packet's in the segment, SN_TABLE_NONE if it is not known. SN_PKT_NO_SHARD: it meets no state.
 */
uint32_t sn_dispatch_shard(const struct sn_program *program, const struct sn_state *state,
			   const struct sn_pkt *p, uint32_t segment, uint32_t class);

#endif /* SN_DISPATCH_H */
