/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_paths.h"

#include <stdlib.h>
#include <string.h>

#include "sn_hash.h"
#include "sn_lines.h"
#include "sn_range.h"

#define BUCKETS	  (2 * SN_PATHS_MAX)
#define STEPS_MAX (8 * SN_PATHS_MAX)

int sn_paths_init(struct sn_paths *p)
{
	*p = (struct sn_paths){
		.counts = sn_untouched(SN_PATHS_MAX, sizeof(*p->counts)),
		.first = sn_untouched(SN_PATHS_MAX + 1, sizeof(*p->first)),
		.steps = sn_untouched(STEPS_MAX, sizeof(*p->steps)),
		.buckets = sn_untouched(BUCKETS, sizeof(*p->buckets)),
	};
	return p->counts && p->first && p->steps && p->buckets ? 0 : -1;
}

void sn_paths_free(struct sn_paths *p)
{
	free(p->counts);
	free(p->first);
	free(p->steps);
	free(p->buckets);
}

uint32_t sn_paths_find(struct sn_paths *p, const uint32_t *steps, uint32_t n)
{
	uint64_t hash = n;
	uint32_t i, path;

	for (i = 0; i < n; i++)
		hash = sn_mum(hash ^ steps[i], 0x9e3779b97f4a7c15ull);
	for (i = hash & (BUCKETS - 1); p->buckets[i]; i = (i + 1) & (BUCKETS - 1)) {
		path = p->buckets[i] - 1;
		if (p->first[path + 1] - p->first[path] == n &&
		    !memcmp(&p->steps[p->first[path]], steps, n * sizeof(*steps)))
			return path;
	}
	path = p->n;
	if (path == SN_PATHS_MAX || n > STEPS_MAX - p->first[path])
		return SN_NO_INDEX;
	memcpy(&p->steps[p->first[path]], steps, n * sizeof(*steps));
	p->first[path + 1] = p->first[path] + n;
	p->buckets[i] = path + 1;
	__atomic_store_n(&p->n, path + 1, __ATOMIC_RELEASE); /* a reader sees whole paths only */
	return path;
}

uint32_t sn_paths_observed(const struct sn_paths *p, uint32_t path, uint32_t n)
{
	for (uint32_t i = p->first[path]; i < p->first[path] + n; i++)
		if ((p->steps[i] & SN_STEP_COPY) == SN_STEP_OBSERVED)
			return p->steps[i];
	return 0;
}

struct sn_count *sn_paths_count_of(uint32_t step, struct sn_count *classes, struct sn_count *counters)
{
	if ((step & SN_STEP_OBSERVED) == SN_STEP_OBSERVED)
		return NULL;
	if (step & SN_STEP_COUNTER)
		return counters ? &counters[step & ~SN_STEP_COUNTER] : NULL;
	return classes && !(step & SN_STEP_EACH) ? &classes[step] : NULL;
}

void sn_paths_add(const struct sn_paths *p, struct sn_count *classes, struct sn_count *counters)
{
	uint32_t n = __atomic_load_n(&p->n, __ATOMIC_ACQUIRE);

	for (uint32_t path = 0; path < n; path++) {
		for (uint32_t i = p->first[path]; i < p->first[path + 1]; i++) {
			struct sn_count *to = sn_paths_count_of(p->steps[i], classes, counters);

			if (to) {
				to->packets += p->counts[path].packets;
				to->bytes += p->counts[path].bytes;
			}
		}
	}
}
