/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_quiet.h"

#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#define ROUNDS 256
#define IN_A_ROW                                                                                           \
	16 /* quick probes that a quiet core has at least: between two things that it does, a neighbour is \
	      quiet, too */

/* Xorshift (Marsaglia 2003): six dependent instructions. */
static inline uint64_t step(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

/* Six chains side by side want more instructions per cycle than a core has, so any that another thread takes
 * are missed. They stay in general registers: vector instructions change the clock of some cores. */
uint64_t sn_quiet_probe(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, begin = rte_rdtsc();

	for (int i = 0; i < ROUNDS; i++) {
		a = step(a);
		b = step(b);
		c = step(c);
		d = step(d);
		e = step(e);
		f = step(f);
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	}
	return rte_rdtsc() - begin;
}

uint64_t sn_quiet_wait(uint64_t limit, uint64_t most)
{
	uint64_t begin = rte_rdtsc(), waited = 0;

	for (unsigned int quick = 0; quick < IN_A_ROW && waited < most; waited = rte_rdtsc() - begin)
		quick = sn_quiet_probe() <= limit ? quick + 1 : 0;
	return waited;
}

void sn_quiet_init(struct sn_quiet *quiet, uint64_t limit, uint64_t patience)
{
	memset(quiet, 0, sizeof(*quiet));
	quiet->limit = limit;
	quiet->patience = patience;
}

void sn_quiet_end(struct sn_quiet *quiet, uint64_t probe)
{
	bool quick = probe <= quiet->limit;

	sn_histogram_add(&quiet->probes, probe);
	for (uint32_t i = 0; quiet->quick && quick && i < quiet->n; i++)
		sn_histogram_add(&quiet->values, quiet->slice[i]);
	quiet->quick = quick;
	quiet->n = 0;
}

void sn_quiet_rest(struct sn_quiet *quiet)
{
	sn_quiet_end(quiet, sn_quiet_probe());
	if (!quiet->quick)
		quiet->patience -= RTE_MIN(quiet->patience, sn_quiet_wait(quiet->limit, quiet->patience));
}
