/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ARP_H
#define SN_ARP_H

/* ARP on the wire (RFC 826): questions, answers, announcements (RFC 5227). */

#include <stdbool.h>
#include <stdint.h>

#include "sn_neigh.h"

/* Asks for a neighbour's address, all (unicast: only who had it last). source: of the packet that wants to
 * know. */
void sn_arp_ask(struct sn_worker *w, const struct sn_neigh *n, bool unicast, uint32_t source);

/* Tells all on an interface where its addresses are. */
void sn_arp_announce(struct sn_worker *w, uint8_t iface);

/* An ARP frame that Entry let pass. Stays the caller's. A copy (w->taking) is learnt from, not answered.
 * True: the other workers may learn from it. */
bool sn_arp_receive(struct sn_worker *w, const struct sn_pkt *p, uint64_t now);

#endif /* SN_ARP_H */
