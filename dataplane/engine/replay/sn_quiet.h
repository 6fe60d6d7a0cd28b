/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_QUIET_H
#define SN_QUIET_H

/*
 * Tells what was measured while the core was ours alone. On a virtual machine the core's other hyper-thread
 * may be a neighbour's, which takes up to a half of the core: no clock and no counter of the guest shows it,
 * but work that keeps all execution units busy takes longer. A probe is such work. Values that are measured
 * between two quick probes count as quiet. After a slow one it may be waited for a quiet core, as neighbours
 * work for seconds and measuring takes some milliseconds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_histogram.h"

#define SN_QUIET_VALUES 32 /* of a slice, between two probes */

struct sn_quiet {
	uint64_t limit;	   /* TSC cycles of a quick probe, at most; 0: no probes are made */
	uint64_t patience; /* TSC cycles that are left to wait */
	uint32_t n;	   /* values since the last probe */
	bool quick;	   /* that probe */
	uint64_t slice[SN_QUIET_VALUES];
	struct sn_histogram probes; /* TSC cycles */
	struct sn_histogram values; /* between two quick probes */
};

/* The TSC cycles of a probe: some 2,000. */
uint64_t sn_quiet_probe(void);

/* Waits for a quiet core, some TSC cycles at most. Returns how many it waited. */
uint64_t sn_quiet_wait(uint64_t limit, uint64_t most);

/* patience: TSC cycles to wait at most, all waits together. */
void sn_quiet_init(struct sn_quiet *quiet, uint64_t limit, uint64_t patience);

/*
 * Ends a slice with a probe that took so long. The slice's values count if the probe before it was quick,
 * too. So the first slice after a slow one does not count: others have pushed what was ours out of the core's
 * caches.
 */
void sn_quiet_end(struct sn_quiet *quiet, uint64_t probe);

/* Ends a slice with a probe, and waits if it is slow. */
void sn_quiet_rest(struct sn_quiet *quiet);

/* Adds a value. Whether the slice is full: its end is to be noted before the next value comes. */
static inline bool sn_quiet_add(struct sn_quiet *quiet, uint64_t value)
{
	quiet->slice[quiet->n++] = value;
	return quiet->n == SN_QUIET_VALUES;
}

#endif /* SN_QUIET_H */
