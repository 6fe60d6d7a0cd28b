/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_ARP_H
#define SN_TEST_ARP_H

/* ARP of other hosts, and a gateway of the outside whose MAC they have to tell. */

#include "fixture.h"

#define HOST_MAC    ((const uint8_t[]){0x02, 0xbb, 0, 0, 0, 9})
#define NEXT_MAC    ((const uint8_t[]){0x02, 0xbb, 0, 0, 0, 10})
#define ALL_MAC	    ((const uint8_t[]){0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
#define INSIDE_MAC  ((const uint8_t[]){0x02, 0x73, 0x6e, 0, 0, 0})
#define OUTSIDE_MAC ((const uint8_t[]){0x02, 0x73, 0x6e, 0, 0, 1})
#define GATEWAY2    (SN_SAMPLE_OUTSIDE + 8)
#define ARP_REQUEST 1
#define ARP_REPLY   2
#define ARP_FRAME   64 /* room for one */

/* A frame of a host whose MAC it is from, and its length. Tag 0: without. */
uint32_t write_arp(uint8_t *f, const uint8_t *to, const uint8_t *from, uint16_t tag, uint16_t op,
		   uint32_t sender, uint32_t target);

/* From HOST_MAC, to the outside interface. */
void send_arp(struct fixture *f, const uint8_t *to, uint16_t tag, uint16_t op, uint32_t sender,
	      uint32_t target);

/* Load f->msg with GATEWAY2, which is not known. */
void unknown_gateway(struct fixture *f);
void gateway_answers(struct fixture *f);
/* A host of the outside answers us: SN_SAMPLE_OUTSIDE + host. */
void answer_of(struct fixture *f, uint32_t host);
/* The table's entry of an address; of state SN_NEIGH_FREE: nothing. */
struct sn_neigh_info entry_of(const struct fixture *f, uint32_t address);
bool knows(const struct fixture *f, uint32_t address);

/* The destination of the frame, an ARP question; NULL: it is none. */
const uint8_t *asked(const struct sent *s);
/* It asks for GATEWAY2; vlan 0: without a tag. */
void assert_asks(const struct sent *s, const uint8_t *to, uint16_t vlan);

#endif /* SN_TEST_ARP_H */
