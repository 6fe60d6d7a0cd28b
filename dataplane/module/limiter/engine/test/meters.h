/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_METERS_H
#define SN_TEST_METERS_H

/* Programs with a meter, and what it has counted. */

#include "fixture.h"

#include "sn_bucket.h"
#include "sn_state.h"

#define EXCEEDED SN_REASON_CHAIN /* the program's only reason */

/*
 * The sample wire: what comes by "a" is measured by meter "limit", 8 Mbit/s and 10,000 bytes, and dropped
 * beyond; subscribers: by its source. *meter: to be changed before it is loaded.
 */
Sinter__Program__V1__Program *metered_wire(struct sn_arena *arena, bool subscribers,
					   Sinter__Program__V1__Meter **meter);

/* The first leg of a segment measures by a table. */
void measure_in(struct sn_arena *arena, Sinter__Program__V1__Program *msg, uint32_t segment, uint32_t table);

Sinter__Program__V1__MeterAction *drop_it(struct sn_arena *arena);
Sinter__Program__V1__MeterAction *mark_it(struct sn_arena *arena, uint32_t dscp);

struct colors {
	uint64_t packets[SN_COLORS], bytes[SN_COLORS];
};

/* The colours of a table of the program, by its statistics. */
struct colors colors_of(const struct sn_state *state, uint32_t table);

#endif /* SN_TEST_METERS_H */
