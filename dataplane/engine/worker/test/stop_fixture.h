/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_STOP_FIXTURE_H
#define SN_TEST_STOP_FIXTURE_H

/* A worker whose program has packets make a stop: the test is the function that gets and returns them. */

#include "fixture.h"

#include "sn_trace.h"

typedef Sinter__Program__V1__Leg leg_msg;

#define OUT    2 /* the wires */
#define BACK   3
#define BEHIND 3		       /* segment behind the stop of the sample wire's first */
#define OTHER  (SN_SAMPLE_GATEWAY + 1) /* a further neighbor of the outside */

extern const uint8_t gateway_mac[6], other_mac[6];

/* The sample wire; packets that come in by "a" make a stop, and leave by "b" to the gateway. */
int open_stop(void **state);

/* The only leg of a segment's first class, with more operations or a stop at its end. */
leg_msg *leg_of(struct fixture *f, uint32_t segment);
Sinter__Program__V1__Op *add_op(struct fixture *f, uint32_t segment, Sinter__Program__V1__Op__OpCase op_case);
void lower_ttl(struct fixture *f, uint32_t segment);
void note_hop(struct fixture *f, uint32_t segment, uint32_t hop);
Sinter__Program__V1__Stop *add_stop(struct fixture *f, uint32_t segment);

/* OTHER becomes a static neighbor of an interface. */
void add_other(struct sn_arena *arena, Sinter__Program__V1__Interface *outside);

/* A packet of the inside host leaves for its stop. */
void send_out(struct fixture *f, uint16_t port);

/* The next record of a trace, without its bytes; false: there is none. */
bool take_record(struct sn_trace *trace, struct sn_trace_packet *head);

#endif /* SN_TEST_STOP_FIXTURE_H */
