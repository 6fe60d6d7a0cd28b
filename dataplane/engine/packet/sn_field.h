/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FIELD_H
#define SN_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Field numbers of headerspace.Field and program.proto. */
enum sn_field {
	SN_VLAN,
	SN_SRC,
	SN_DST,
	SN_PROTO,
	SN_DSCP,
	SN_TTL,
	SN_FRAG,
	SN_SPORT,
	SN_DPORT,
	SN_TCP_FLAGS,
	SN_ICMP_TYPE,
	SN_ICMP_CODE,
	SN_FIELDS,
	/* No field of a packet: the number that the segment's FIB has for the destination. */
	SN_ROUTE = SN_FIELDS,
};

/* Fields by which the flows of a protocol are told apart, as a set. */
#define SN_FIELDS_OF_FLOWS (1u << SN_SRC | 1u << SN_DST | 1u << SN_SPORT | 1u << SN_DPORT)

/* A field's value in a packet that lacks it: one more than its width allows. */
#define SN_VLAN_ABSENT 4096u
#define SN_PORT_ABSENT 65536u
#define SN_BYTE_ABSENT 256u

/* Whether frames of a VLAN (a bit for each in vlans) may come in and leave; those without a tag always may.
 */
static inline bool sn_vlans_have(const uint64_t *vlans, uint16_t vlan)
{
	return vlan == SN_VLAN_ABSENT || (vlans != NULL && vlans[vlan / 64] >> vlan % 64 & 1);
}

#endif /* SN_FIELD_H */
