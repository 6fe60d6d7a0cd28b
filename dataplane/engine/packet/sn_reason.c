/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "program.pb-c.h"
#include "sn_reason.h"

_Static_assert((int)SN_REASON_NOT_HERE == (int)SINTER__PROGRAM__V1__DROP_REASON__DROP_NOT_HERE,
	       "the reasons are those of program.proto");
_Static_assert((int)SN_REASON_REVERSE_PATH == (int)SINTER__PROGRAM__V1__DROP_REASON__DROP_REVERSE_PATH,
	       "the reasons are those of program.proto");
_Static_assert((int)SN_REASON_CONSUMED == (int)SINTER__PROGRAM__V1__DROP_KIND__DROP_KIND_CONSUMED,
	       "the kinds are those of program.proto");
_Static_assert((int)SN_REASON_ARP == (int)SINTER__PROGRAM__V1__DROP_REASON__DROP_ARP,
	       "the reasons are those of program.proto");

struct reason {
	const char *name;
	enum sn_reason_kind kind;
};

static const struct reason reasons[SN_REASON_BUILTIN] = {
	[SN_REASON_NONE] = {"none", SN_REASON_REFUSAL},
	[SN_REASON_TRUNCATED] = {"truncated", SN_REASON_REFUSAL},
	[SN_REASON_OTHER_HOST] = {"other-host", SN_REASON_REFUSAL},
	[SN_REASON_VLAN_STACKED] = {"vlan-stacked", SN_REASON_REFUSAL},
	[SN_REASON_NOT_IP] = {"not-ip", SN_REASON_REFUSAL},
	[SN_REASON_IPV6] = {"ipv6", SN_REASON_REFUSAL},
	[SN_REASON_MALFORMED] = {"malformed", SN_REASON_REFUSAL},
	[SN_REASON_BAD_CHECKSUM] = {"bad-checksum", SN_REASON_REFUSAL},
	[SN_REASON_MARTIAN] = {"martian", SN_REASON_REFUSAL},
	[SN_REASON_ICMP_SUPPRESSED] = {"icmp-suppressed", SN_REASON_REFUSAL},
	[SN_REASON_ICMP_RATE] = {"icmp-rate", SN_REASON_REFUSAL},
	[SN_REASON_LOCAL] = {"local", SN_REASON_REFUSAL},
	[SN_REASON_NAT_UNSUPPORTED] = {"nat-unsupported", SN_REASON_REFUSAL},
	[SN_REASON_NAT_FRAGMENT] = {"nat-fragment", SN_REASON_REFUSAL},
	[SN_REASON_NAT_NO_BINDING] = {"nat-no-binding", SN_REASON_REFUSAL},
	[SN_REASON_NAT_EXHAUSTED] = {"nat-exhausted", SN_REASON_LOSS},
	[SN_REASON_NO_NEXT_HOP] = {"no-next-hop", SN_REASON_LOSS},
	[SN_REASON_NEIGHBOR_UNRESOLVED] = {"neighbor-unresolved", SN_REASON_LOSS},
	[SN_REASON_TOO_BIG] = {"too-big", SN_REASON_REFUSAL},
	[SN_REASON_ARP] = {"arp", SN_REASON_CONSUMED},
	[SN_REASON_TX_FULL] = {"tx-full", SN_REASON_LOSS},
	[SN_REASON_NO_MEMORY] = {"no-memory", SN_REASON_LOSS},
	[SN_REASON_DEPTH] = {"depth", SN_REASON_LOSS},
	[SN_REASON_TOO_BIG_ANSWERED] = {"too-big-answered", SN_REASON_REFUSAL},
	[SN_REASON_HANDOVER_FULL] = {"handover-full", SN_REASON_LOSS},
	[SN_REASON_NOT_OURS] = {"not-ours", SN_REASON_LOSS},
	[SN_REASON_NOT_HERE] = {"not-here", SN_REASON_LOSS},
	[SN_REASON_VLAN_UNKNOWN] = {"vlan-unknown", SN_REASON_REFUSAL},
	[SN_REASON_HOST_UNREACHABLE] = {"host-unreachable", SN_REASON_LOSS},
	[SN_REASON_OWN_SOURCE] = {"own-source", SN_REASON_REFUSAL},
	[SN_REASON_POOL_SOURCE] = {"pool-source", SN_REASON_REFUSAL},
	[SN_REASON_BROADCAST_SOURCE] = {"broadcast-source", SN_REASON_REFUSAL},
	[SN_REASON_DIRECTED_BROADCAST] = {"directed-broadcast", SN_REASON_REFUSAL},
	[SN_REASON_SOURCE_ROUTE] = {"source-route", SN_REASON_REFUSAL},
	[SN_REASON_REVERSE_PATH] = {"reverse-path", SN_REASON_REFUSAL},
};

const char *sn_reason_name(uint32_t reason)
{
	return reason < SN_REASON_BUILTIN ? reasons[reason].name : NULL;
}

uint32_t sn_reason_kind(uint32_t reason)
{
	return reason < SN_REASON_BUILTIN ? reasons[reason].kind : 0;
}
