/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ARP_H
#define SN_ARP_H

/* ARP on the wire (RFC 826): questions, answers, announcements (RFC 5227). */

#include <stdbool.h>
#include <stdint.h>

#include "sn_neigh.h"

#define SN_ARP_LEN     28
#define SN_ARP_REQUEST 1
#define SN_ARP_REPLY   2

/* The contents of an ARP packet. */
struct sn_arp {
	uint32_t sender, target;
	const uint8_t *mac; /* the sender's */
	bool to_us;	    /* it asks for an address of ours, or answers us */
};

/* Asks for a neighbour's address, all (unicast: only who had it last). source: of the packet that wants to
 * know. */
void sn_arp_ask(struct sn_neigh_table *t, const struct sn_neigh *n, bool unicast, uint32_t source);

/* Tells all on an interface where its addresses are. */
void sn_arp_announce(struct sn_neigh_table *t, uint8_t iface);

/* Tells who asks. */
void sn_arp_answer(struct sn_neigh_table *t, const struct sn_pkt *p, const struct sn_arp *heard);

#endif /* SN_ARP_H */
