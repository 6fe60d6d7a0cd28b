/* SPDX-License-Identifier: Apache-2.0 */
#include "napt_world.h"

void begin_world(struct world *w, enum sn_dependence mapping, uint32_t workers, enum sn_partition_by by)
{
	*w = (struct world){.now = 1000 * SECOND};
	sn_arena_init(&w->arena);
	w->msg = sn_sample_napt(&w->arena);
	w->msg->tables[0]->mapping = (Sinter__Program__V1__Dependence)mapping;
	w->state = sn_state_create(7, workers, (struct sn_partitioning){.by = by});
	assert_non_null(w->state);
}

void end_world(struct world *w)
{
	sn_state_free(w->state);
	sn_program_free(w->program);
	sn_arena_free(&w->arena);
}

void apply(struct world *w)
{
	struct sn_program *before = w->program;
	struct sn_error err = {0};

	w->program = sn_program_create(w->msg, NULL, &err);
	if (w->program == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sn_state_apply(w->state, w->program, &w->kept, &w->dropped), 0);
	sn_program_free(before);
}

struct sn_partition *part(struct world *w)
{
	return sn_state_partition(w->state, 0);
}
