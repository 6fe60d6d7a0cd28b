/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ICMP_H
#define SN_ICMP_H

/* ICMP: packets that the engine makes, and packets that errors quote. */

#include "sn_parse.h"
#include "sn_reason.h"

#define SN_ANSWER_TTL 64

/* Read the packet that an ICMP error quotes; true if it may be of a NAPT's flow (p->quote is set then). */
bool sn_icmp_quote(struct sn_pkt *p);

/* Whether no error may be sent about the packet (RFC 1122, section 3.2.2). */
bool sn_icmp_suppressed(const struct sn_pkt *p);

/* Make the packet into the ICMP error about it, as it is now; SN_REASON_NO_MEMORY if it does not fit its
 * buffer. */
enum sn_reason sn_icmp_error(struct sn_pkt *p, uint8_t type, uint8_t code, uint16_t mtu, uint32_t source,
			     uint8_t ttl);

/* The same as far as classification and state see it; neither buffer nor shard is touched. */
void sn_icmp_foresee_error(struct sn_pkt *p, uint8_t type, uint8_t code, uint32_t source);

/* Make an echo request, or a fragment of one, into its reply. */
void sn_icmp_echo(struct sn_pkt *p);

#endif /* SN_ICMP_H */
