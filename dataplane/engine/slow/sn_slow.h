/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SLOW_H
#define SN_SLOW_H

/* The slow path's part of a worker. */

#include "sn_echoes.h"
#include "sn_env.h"
#include "sn_execution.h"
#include "sn_neigh.h"

/* ICMP errors that may be sent. */
struct sn_icmp_budget {
	uint32_t rate;	 /* this worker's share of the program's */
	uint64_t tokens; /* 10^9 are worth one error */
	uint64_t filled; /* when */
};

/* Uses of state on one way: by a packet out, its reply back, and what that causes; with room for some that
 * turn round. */
#define SN_JOURNAL_MAX (4 * SN_TABLES_MAX)

struct sn_slow {
	struct sn_env *env;
	struct sn_neigh_table *neighbors;
	struct sn_icmp_budget icmp;
	struct sn_echoes echoes;
	struct sn_use journal[SN_JOURNAL_MAX]; /* of a packet at work */
};

/* Fits the budget to env->program; n_workers share it. */
void sn_slow_apply(struct sn_slow *slow, uint32_t n_workers);

/* Whether an ICMP error may be sent now; then it counts. */
bool sn_slow_icmp_allowed(struct sn_slow *slow, uint64_t now);

#endif /* SN_SLOW_H */
