/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PATHS_H
#define SN_PATHS_H

/*
 * A path is a list of classes and counters that packets met together. The fast ways count their packets
 * there, in one place, and readers add them to all that is on the path. Paths come and go with the program.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_count.h"

#define SN_PATHS_MAX	65536u
#define SN_STEP_COUNTER 0x80000000u /* the step is a counter, else a class */
#define SN_STEP_EACH	0x40000000u /* or an operation that is to be done to each packet: nothing is counted */
#define SN_STEP_ENTRY	0x20000000u /* which has state for that */
#define SN_STEP_OBSERVED                                                                  \
	(SN_STEP_COUNTER | SN_STEP_EACH) /* or the packet is observed: nothing is counted \
					  */
#define SN_STEP_CHANGED 1u		 /* and then it is no longer as it came */
/*
 * Or a copy leaves: nothing is counted. The low bits say by which wire, by how much its TTL was lowered, and
 * which DSCP it has; its addresses and ports are the packet's as it came, or as it leaves.
 */
#define SN_STEP_COPY	  (SN_STEP_OBSERVED | SN_STEP_ENTRY)
#define SN_COPY_TTL_DEC	  8 /* shifts of numbers of eight bits */
#define SN_COPY_DSCP	  16
#define SN_COPY_KEEP_DSCP 0xffu
#define SN_COPY_LEAVES	  (1u << 24)

struct sn_paths {
	uint32_t n;
	struct sn_count *counts; /* by path */
	uint32_t *first;	 /* path p has the steps first[p] … first[p + 1] - 1 */
	uint32_t *steps;
	uint32_t *buckets; /* path + 1 */
};

/* -1 without memory; sn_paths_free() in any case. */
int sn_paths_init(struct sn_paths *paths);
void sn_paths_free(struct sn_paths *paths);

/* The path with these steps, SN_NO_INDEX if there is no room for another. */
uint32_t sn_paths_find(struct sn_paths *paths, const uint32_t *steps, uint32_t n);

static inline bool sn_step_copies(uint32_t step)
{
	return (step & SN_STEP_COPY) == SN_STEP_COPY;
}

/* The step at which a packet that comes n steps along a path is observed; 0: it is not. */
uint32_t sn_paths_observed(const struct sn_paths *paths, uint32_t path, uint32_t n);

/* The counter of a step in these arrays, of which each may be NULL; NULL: it has none. */
struct sn_count *sn_paths_count_of(uint32_t step, struct sn_count *classes, struct sn_count *counters);

/* Adds what was counted on paths. It may run beside the worker. */
void sn_paths_add(const struct sn_paths *paths, struct sn_count *classes, struct sn_count *counters);

#endif /* SN_PATHS_H */
