/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_COUNTS_H
#define SN_COUNTS_H

/* Counters of one program on one worker; they come and go with the program. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "sn_adjacency.h"
#include "sn_count.h"
#include "sn_follow.h"
#include "sn_memo.h"
#include "sn_paths.h"
#include "sn_program.h"

_Static_assert(SN_INDEX_END <= SN_STEP_ENTRY, "a step tells what it is");

struct sn_counts {
	const struct sn_program *program;
	uint32_t n_classes, n_counters, n_reasons, n_segments;
	struct sn_count *classes;
	struct sn_count *counters;
	struct sn_count *reasons;
	struct sn_adjacency *adjacencies; /* by class */
	struct sn_shapes shapes;	  /* of these, and of follow.ends */
	struct sn_memo **memos;		  /* by segment; NULL: it has none */
	struct sn_observer *observer;	  /* of the program's observation; NULL: it has none */
	struct sn_paths paths;
	struct sn_follow follow;
};

struct sn_counts *sn_counts_create(const struct sn_program *program);
void sn_counts_free(struct sn_counts *counts);

/* Goes on with what was observed for the program before, if that was the same. */
void sn_counts_go_on(struct sn_counts *counts, const struct sn_counts *before);

/* Counts a packet that came n steps along a path, and no further. */
void sn_counts_part(struct sn_counts *counts, uint32_t path, uint32_t n, uint32_t bytes);

/* Adds to arrays of program->n_classes, n_counters and n_reasons; each may be NULL. It may run beside the
 * worker. */
void sn_counts_add(const struct sn_counts *counts, struct sn_count *classes, struct sn_count *counters,
		   struct sn_count *reasons);

#endif /* SN_COUNTS_H */
