/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REASON_H
#define SN_REASON_H

/*
 * Why a packet is dropped. The engine's own reasons have the numbers of
 * DropReason in program.proto; the chain's reasons follow from SN_REASON_CHAIN on,
 * in the order of Program.reasons.
 */

#include <stdint.h>

enum sn_reason {
	SN_REASON_NONE = 0, /* no class holds the packet: never in a total table */
	SN_REASON_TRUNCATED,
	SN_REASON_OTHER_HOST,
	SN_REASON_VLAN_STACKED,
	SN_REASON_NOT_IP,
	SN_REASON_IPV6,
	SN_REASON_MALFORMED,
	SN_REASON_BAD_CHECKSUM,
	SN_REASON_MARTIAN,
	SN_REASON_ICMP_SUPPRESSED,
	SN_REASON_ICMP_RATE,
	SN_REASON_LOCAL,
	SN_REASON_NAT_UNSUPPORTED,
	SN_REASON_NAT_FRAGMENT,
	SN_REASON_NAT_NO_BINDING,
	SN_REASON_NAT_EXHAUSTED,
	SN_REASON_NO_NEXT_HOP,
	SN_REASON_NEIGHBOR_UNRESOLVED,
	SN_REASON_TOO_BIG,
	SN_REASON_ARP,
	SN_REASON_TX_FULL,
	SN_REASON_NO_MEMORY,
	SN_REASON_DEPTH,
	SN_REASON_TOO_BIG_ANSWERED,
	SN_REASON_HANDOVER_FULL,
	SN_REASON_NOT_OURS,
	SN_REASON_NOT_HERE,
	SN_REASON_VLAN_UNKNOWN,
	SN_REASON_OWN_SOURCE,
	SN_REASON_POOL_SOURCE,
	SN_REASON_BROADCAST_SOURCE,
	SN_REASON_DIRECTED_BROADCAST,
	SN_REASON_SOURCE_ROUTE,
	SN_REASON_REVERSE_PATH,
	SN_REASON_HOST_UNREACHABLE,
	SN_REASON_BUILTIN = 45, /* above all of them; some numbers have no reason */
	SN_REASON_CHAIN = 64,
};

/* The kind of a reason: DropKind in program.proto. Those of the chain: sn_program_reason_kind(). */
enum sn_reason_kind {
	SN_REASON_DECISION = 1,
	SN_REASON_REFUSAL,
	SN_REASON_LOSS,
	SN_REASON_CONSUMED,
};

/* The kind of one of the engine's own reasons; 0 if there is no such reason. */
uint32_t sn_reason_kind(uint32_t reason);

/* The name that users see of one of the engine's own reasons ("not-ip"); NULL if there is no such reason. */
const char *sn_reason_name(uint32_t reason);

#endif /* SN_REASON_H */
