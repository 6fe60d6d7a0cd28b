/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_COUNTS_H
#define SN_COUNTS_H

/*
 * Counters of one program on one worker; they come and go with the program. A path is a list of classes and
 * counters that packets met together; the cached way counts its packets there, in one
 * place, and readers add them to all that is on the path.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "sn_count.h"
#include "sn_memo.h"
#include "sn_program.h"

#define SN_PATHS_MAX	  65536u
#define SN_PATH_BUCKETS	  (2 * SN_PATHS_MAX)
#define SN_PATH_STEPS_MAX (8 * SN_PATHS_MAX)
#define SN_STEP_COUNTER	  0x80000000u /* the step is a counter, else a class */
#define SN_STEP_EACH	  0x40000000u /* or an operation that is to be done to each packet: nothing is counted */
#define SN_STEP_ENTRY	  0x20000000u /* which has state for that */
#define SN_STEP_OBSERVED                                                                  \
	(SN_STEP_COUNTER | SN_STEP_EACH) /* or the packet is observed: nothing is counted \
					  */
#define SN_STEP_CHANGED 1u		 /* and then it is no longer as it came */
_Static_assert(SN_INDEX_END <= SN_STEP_ENTRY, "a step tells what it is");

/*
 * How packets of a class leave that is SN_SIMPLE_OUTPUT or SN_SIMPLE_FORWARD: all that the fast ways read of
 * the class and its interface, in half a line. Classes of one shape differ in next hop and counters alone.
 */
struct sn_adjacency {
	uint64_t key;	    /* sn_neigh_key() of untagged packets; without address: there is no next hop */
	uint32_t net, mask; /* destinations that are neighbours themselves; 1 and 0: none */
	uint32_t head_move; /* by which the TTL falls; see sn_rewrite.h */
	uint32_t first_counter;
	uint16_t n_counters;
	uint16_t mtu;
	uint16_t neigh; /* where packets went last; see sn_neigh.h */
	uint8_t simple; /* of all classes: enum sn_simple */
	uint8_t shape;	/* of SN_SIMPLE_OUTPUT without counters; 0: none */
};
_Static_assert(sizeof(struct sn_adjacency) == 32, "two share a line");

struct sn_counts {
	const struct sn_program *program;
	uint32_t n_classes, n_counters, n_reasons, n_segments;
	struct sn_count *classes;
	struct sn_count *counters;
	struct sn_count *reasons;
	struct sn_adjacency *adjacencies; /* by class */
	struct sn_memo **memos;		  /* by segment; NULL: it has none */
	struct sn_observer *observer;	  /* of the program's observation; NULL: it has none */
	/* paths: id p has the steps first[p] … first[p + 1] - 1 */
	uint32_t n_paths;
	struct sn_count *paths;
	uint32_t *first;
	uint32_t *steps;
	uint32_t *buckets; /* path + 1 */
};

struct sn_counts *sn_counts_create(const struct sn_program *program);
void sn_counts_free(struct sn_counts *counts);

/* Goes on with what was observed for the program before, if that was the same. */
void sn_counts_go_on(struct sn_counts *counts, const struct sn_counts *before);

/* The step at which a packet that comes n steps along a path is observed; 0: it is not. */
uint32_t sn_counts_observed(const struct sn_counts *counts, uint32_t path, uint32_t n);

/* Counts a packet that came n steps along a path, and no further. */
void sn_counts_part(struct sn_counts *counts, uint32_t path, uint32_t n, uint32_t bytes);

/* Adds to arrays of program->n_classes, n_counters and n_reasons; each may be NULL. It may run beside the
 * worker. */
void sn_counts_add(const struct sn_counts *counts, struct sn_count *classes, struct sn_count *counters,
		   struct sn_count *reasons);

/* The path with these steps, SN_NO_INDEX if there is no room for another. */
uint32_t sn_counts_path(struct sn_counts *c, const uint32_t *steps, uint32_t n);

#endif /* SN_COUNTS_H */
