/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ANSWER_H
#define SN_ANSWER_H

/* Packets that a generator sends about a packet: decided by its fields, then built from its bytes. */

#include "sn_parse.h"
#include "sn_program.h"
#include "sn_reason.h"

enum sn_answer_kind {
	SN_ANSWER_NONE,
	SN_ANSWER_ECHO,
	SN_ANSWER_FRAGMENT, /* an echo reply, if the fragment is of a request: see sn_echoes.h */
	SN_ANSWER_ERROR,
	SN_ANSWER_RESET,
};

struct sn_answer {
	uint8_t kind;	/* enum sn_answer_kind */
	uint8_t reason; /* of SN_ANSWER_NONE: why the packet is dropped */
	uint8_t type, code;
	uint32_t source; /* of an error */
};

/* The packet that the generator sends about this one as it is now; address is that of the interface by which
 * it came.
 */
struct sn_answer sn_answer_of(const struct sn_generator *g, const struct sn_pkt *p, uint32_t address);

/* Whether the checksum of a packet that a host answers is right, or cannot be told (RFC 792; RFC 1122,
 * sections 4.1.3.4 and 4.2.2.7): a fragment's covers others. Generators that are no hosts do not ask.
 */
bool sn_answer_sum_ok(const struct sn_generator *g, const struct sn_pkt *p);

/* Make the packet into its answer, which there is; SN_REASON_NO_MEMORY if it does not fit its
 * buffer. */
enum sn_reason sn_answer_make(struct sn_pkt *p, const struct sn_answer *a);

/* The same as far as classification and state see it; the buffer is not touched. */
void sn_answer_foresee(struct sn_pkt *p, const struct sn_answer *a);

#endif /* SN_ANSWER_H */
