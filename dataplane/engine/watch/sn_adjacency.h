/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ADJACENCY_H
#define SN_ADJACENCY_H

/* How packets of a class, or of a path of classes, leave. */

#include <stdint.h>

#include "sn_continuation.h"
#include "sn_program.h"

/*
 * Of what is SN_SIMPLE_OUTPUT or SN_SIMPLE_FORWARD: all that the fast ways read of the class and its
 * interface, in half a line. What has one shape differs in next hop and counters alone. Of SN_SIMPLE_STOP the
 * key has the interface, and as address the place of the next hop that the class notes; net is the stop.
 */
struct sn_adjacency {
	uint64_t key;	    /* sn_neigh_key() of untagged packets; without address: there is no next hop */
	uint32_t net, mask; /* destinations that are neighbours themselves; 1 and 0: none, as one is noted */
	uint32_t head_move; /* by which the TTL falls; see sn_rewrite.h */
	uint32_t first_counter;
	uint16_t n_counters;
	uint16_t mtu;
	uint16_t neigh; /* where packets went last; see sn_neigh.h */
	uint8_t simple; /* of all classes: enum sn_simple */
	uint8_t shape;	/* of SN_SIMPLE_OUTPUT without counters; 0: none */
};
_Static_assert(sizeof(struct sn_adjacency) == 32, "two share a line");

/* The reason of SN_SIMPLE_DROP. */
static inline uint32_t sn_adjacency_reason(const struct sn_adjacency *a)
{
	return (uint32_t)a->key;
}

#define SN_SHAPES_MAX 32 /* one for each interface and number of hops, or two */

/* The shapes that there are so far, one adjacency of each. */
struct sn_shapes {
	uint32_t n;
	struct sn_adjacency all[SN_SHAPES_MAX];
};

struct sn_adjacency sn_adjacency_of(const struct sn_program *program, const struct sn_class *class,
				    struct sn_shapes *shapes);

#endif /* SN_ADJACENCY_H */
