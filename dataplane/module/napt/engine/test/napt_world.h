/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_NAPT_WORLD_H
#define SN_TEST_NAPT_WORLD_H

/* The state of a program's NAPT, without workers: sessions begin and end by calls. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sample.h"

#include "sn_napt_mapping.h"

#define SECOND 1000000000ull

struct world {
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg; /* the sample NAPT, to be changed before apply() */
	struct sn_program *program;
	struct sn_state *state;
	uint64_t now;
	uint64_t kept, dropped; /* sessions, by the last apply() */
};

void begin_world(struct world *w, enum sn_dependence mapping, uint32_t workers, enum sn_partition_by by);
void end_world(struct world *w);

/* Makes the message's program the one in force. */
void apply(struct world *w);

/* The first worker's. */
struct sn_partition *part(struct world *w);

#endif /* SN_TEST_NAPT_WORLD_H */
