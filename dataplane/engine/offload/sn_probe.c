/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_probe.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#define SN_PROBE_MAGIC	0x53746565u /* before a probe's series */
#define SN_PROBE_SOURCE 0x0a630000u /* addresses and ports that a match leaves open begin here */
#define SN_PROBE_TARGET 0x0a640000u
#define SN_PROBE_SPORT	20000
#define SN_PROBE_DPORT	30000

/* The bits that the condition asks for, and the rest as it would be without. */
static uint32_t under(const struct sn_cond *c, uint32_t otherwise)
{
	return (c->value & c->mask) | (otherwise & ~c->mask);
}

size_t sn_probe_write(const struct sn_steer_match *m, uint32_t series, uint32_t number,
		      uint8_t frame[SN_PROBE_LEN])
{
	bool tagged = m->conds[SN_VLAN].mask != 0 && m->conds[SN_VLAN].value < SN_VLAN_ABSENT;
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)frame;
	struct rte_vlan_hdr *vlan = (struct rte_vlan_hdr *)(eth + 1);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + sizeof(*eth) + (tagged ? 4 : 0));
	uint8_t proto = (uint8_t)under(&m->conds[SN_PROTO], IPPROTO_UDP);
	size_t l4_len = proto == IPPROTO_TCP ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
	size_t ip_len = sizeof(*ip) + l4_len + 2 * sizeof(uint32_t);
	uint16_t sport = (uint16_t)under(&m->conds[SN_SPORT], SN_PROBE_SPORT + number);
	uint16_t dport = (uint16_t)under(&m->conds[SN_DPORT], SN_PROBE_DPORT + number);
	uint32_t mark[2] = {rte_cpu_to_be_32(SN_PROBE_MAGIC), rte_cpu_to_be_32(series)};

	memset(frame, 0, SN_PROBE_LEN);
	eth->src_addr = (struct rte_ether_addr){{0x02, 0x53, 0x6e, 0, 0, 1}};
	eth->dst_addr = (struct rte_ether_addr){{0x02, 0x53, 0x6e, 0, 0, 2}};
	if (!rte_is_zero_ether_addr(&m->mac))
		rte_ether_addr_copy(&m->mac, &eth->dst_addr);
	eth->ether_type = rte_cpu_to_be_16(tagged ? RTE_ETHER_TYPE_VLAN : RTE_ETHER_TYPE_IPV4);
	if (tagged)
		*vlan = (struct rte_vlan_hdr){rte_cpu_to_be_16((uint16_t)m->conds[SN_VLAN].value),
					      rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)};
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16((uint16_t)ip_len);
	ip->time_to_live = 64;
	ip->next_proto_id = proto;
	ip->src_addr = rte_cpu_to_be_32(under(&m->conds[SN_SRC], SN_PROBE_SOURCE + number));
	ip->dst_addr = rte_cpu_to_be_32(under(&m->conds[SN_DST], SN_PROBE_TARGET + number));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	/* Both protocols begin with their ports; UDP's length follows, and its checksum may be left out. */
	if (proto == IPPROTO_TCP)
		*(struct rte_tcp_hdr *)(ip + 1) =
			(struct rte_tcp_hdr){.data_off = sizeof(struct rte_tcp_hdr) << 2};
	else
		((struct rte_udp_hdr *)(ip + 1))->dgram_len =
			rte_cpu_to_be_16((uint16_t)(ip_len - sizeof(*ip)));
	((struct rte_udp_hdr *)(ip + 1))->src_port = rte_cpu_to_be_16(sport);
	((struct rte_udp_hdr *)(ip + 1))->dst_port = rte_cpu_to_be_16(dport);
	memcpy((uint8_t *)(ip + 1) + l4_len, mark, sizeof(mark));
	return RTE_MAX((size_t)((uint8_t *)ip - frame) + ip_len,
		       (size_t)RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN);
}

uint32_t sn_probe_series(const uint8_t *frame, size_t len)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)frame;
	size_t at = sizeof(*eth);
	const struct rte_ipv4_hdr *ip;
	uint32_t mark[2];

	if (len < RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN)
		return 0;
	if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN))
		at += sizeof(struct rte_vlan_hdr);
	ip = (const struct rte_ipv4_hdr *)(frame + at);
	at += sizeof(*ip) +
	      (ip->next_proto_id == IPPROTO_TCP ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr));
	if (at + sizeof(mark) > len)
		return 0;
	memcpy(mark, frame + at, sizeof(mark));
	return mark[0] == rte_cpu_to_be_32(SN_PROBE_MAGIC) ? rte_be_to_cpu_32(mark[1]) : 0;
}
