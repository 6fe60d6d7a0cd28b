/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PLAN_H
#define SN_PLAN_H

/* A program with what runs it: the ports of its interfaces and counters for each worker. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"
#include "sn_ledger.h"
#include "sn_port.h"
#include "sn_program.h"
#include "sn_worker.h"

#define SN_WORKERS_MAX 64
#define SN_HASH_LEN    32 /* of SHA-256 */

struct sn_plan {
	struct sn_program *program;
	struct sn_port *ports[SN_IFACES_MAX]; /* by interface; all NULL without ports (harness) */
	uint8_t macs[SN_IFACES_MAX]
		    [6];       /* of the devices, for interfaces whose address the program leaves open */
	struct sn_marks marks; /* that devices write for this program */
	unsigned int n_workers;
	struct sn_counts *counts[SN_WORKERS_MAX];
	uint8_t hash[SN_HASH_LEN]; /* as the client named the program */
	size_t hash_len;
};

/*
 * Builds the plan off the packet path. like: the running one, or NULL, fibs: FIBs that it has not, or NULL
 * (see sn_program_create_with). ports may be NULL: interfaces are then numbers only. NULL on error, with a
 * message in err.
 */
struct sn_plan *sn_plan_create(const Sinter__Program__V1__Program *message, const struct sn_plan *like,
			       const struct sn_fibs *fibs, const struct sn_ports *ports,
			       unsigned int n_workers, struct sn_error *err);
void sn_plan_free(struct sn_plan *plan);

/* Counts of plans that are gone, by name. */
struct sn_totals {
	struct sn_ledger reasons; /* drops, under the reasons that the chain gives: decisions, … */
	struct sn_ledger losses;  /* … and losses */
	struct sn_ledger counters;
};

/* Frees a plan (or NULL) that no worker runs any more; what it counted by name is added to the totals. */
void sn_plan_retire(struct sn_plan *plan, struct sn_totals *totals);

/* Whether state made for one program fits the other as it is: same tables and runs at the same indexes. */
bool sn_plan_same_state(const struct sn_plan *a, const struct sn_plan *b);

#endif /* SN_PLAN_H */
