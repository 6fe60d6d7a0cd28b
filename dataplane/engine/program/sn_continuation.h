/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CONTINUATION_H
#define SN_CONTINUATION_H

/*
 * Packets that come back from a stop go on by a continuation: the stop, the next hop that they had noted, and
 * the interface by which they had come. All that there can be are known when a program is built, so a frame
 * has but a number (sn_tag.h). Packets that are at a stop while further programs are loaded go on in the
 * last one, if that has the stop and the interface still.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_program.h"

struct sn_continuation {
	uint32_t segment;
	uint32_t next_hop; /* 0: none noted */
	uint32_t place;	   /* of the next hop among the program's */
	uint32_t number;   /* by this program; SN_NO_INDEX: it has no such next hop */
	uint8_t entry;	   /* interface */
};

/* The place of a next hop among those that the program's operations note; that of none, 0, if they do not. */
uint32_t sn_continuation_place(const struct sn_program *p, uint32_t hop);

static inline uint32_t sn_continuation_number(const struct sn_program *p, uint32_t stop, uint32_t place,
					      uint32_t entry)
{
	return (stop * p->n_hops + place) * p->n_interfaces + entry;
}

/* The number of one. A next hop that no operation of the program notes, as one of the program before, is
 * none. */
uint32_t sn_continuation_of(const struct sn_program *p, uint32_t stop, uint32_t next_hop, uint32_t entry);

/* The stop of a number, and the interface by which its packets came. */
static inline const struct sn_stop *sn_continuation_stop(const struct sn_program *p, uint32_t number)
{
	return &p->stops[number / p->n_interfaces / p->n_hops];
}

static inline uint32_t sn_continuation_entry(const struct sn_program *p, uint32_t number)
{
	return number % p->n_interfaces;
}

/* That of a frame which came by an interface, by its source address. False: it has none, or one of another
 * stop's side, or of a program that is not among the last ones. */
bool sn_continuation_find(const struct sn_program *p, uint32_t iface, const uint8_t mac[6],
			  struct sn_continuation *to);

#endif /* SN_CONTINUATION_H */
