/* SPDX-License-Identifier: Apache-2.0 */
/* From which segments plain frames may be followed before anything is done to them, and what holds of all
 * ways then. */

#include "sn_program_build.h"

/* Whether classes that lead on leave all fields as they were. */
static bool is_readable(const struct sn_classifier *table)
{
	return table->plain.possible && !(table->reads >> SN_TTL & 1);
}

/* Add what is known of ways behind a segment. Whether some of it was not. */
static bool add_ways(const struct sn_program *p, struct sn_segment *s)
{
	struct sn_follows before = s->follows;

	for (uint32_t i = 0; i < s->n_classes && s->readable; i++) {
		const struct sn_class *c = &p->classes[s->first_class + i];
		const struct sn_follows *behind;

		if (!sn_class_leads(p, c))
			continue;
		behind = &p->segments[c->target].follows;
		s->follows.possible = true;
		s->follows.slow |= behind->slow;
		s->follows.reads |= behind->reads;
	}
	return s->follows.slow != before.slow || s->follows.reads != before.reads;
}

void sn_build_follows(struct sn_program *p)
{
	bool more = !p->stateful;

	for (uint32_t i = 0; i < p->n_segments; i++) {
		struct sn_segment *s = &p->segments[i];

		s->readable = is_readable(&s->table);
		s->follows.slow = s->table.table && sn_table_is_slow(s->table.table);
		s->follows.reads = s->table.reads;
	}
	while (more) {
		more = false;
		for (uint32_t i = p->n_segments; i-- > 0;)
			more |= add_ways(p, &p->segments[i]);
	}
}
