/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_steer.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#define SN_STEER_MAGIC	0x53746565u /* before a probe's series */
#define SN_STEER_SOURCE 0x0a630000u /* addresses and ports that a match leaves open begin here */
#define SN_STEER_TARGET 0x0a640000u
#define SN_STEER_SPORT	20000
#define SN_STEER_DPORT	30000

/* A pattern with its specifications and masks. */
struct pattern {
	struct rte_flow_item items[5];
	unsigned int n;
	struct rte_flow_item_eth eth, eth_mask;
	struct rte_flow_item_vlan vlan, vlan_mask;
	struct rte_flow_item_ipv4 ip, ip_mask;
	struct rte_flow_item_tcp tcp, tcp_mask;
	struct rte_flow_item_udp udp, udp_mask;
};

static void add(struct pattern *p, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	p->items[p->n++] = (struct rte_flow_item){.type = type, .spec = spec, .mask = mask};
}

static void add_ports(struct pattern *p, const struct sn_steer_match *m)
{
	rte_be16_t sport = rte_cpu_to_be_16(m->sport), dport = rte_cpu_to_be_16(m->dport);
	rte_be16_t sport_mask = m->sport != 0 ? UINT16_MAX : 0, dport_mask = m->dport != 0 ? UINT16_MAX : 0;

	if (m->proto == IPPROTO_TCP) {
		p->tcp.hdr.src_port = sport;
		p->tcp.hdr.dst_port = dport;
		p->tcp_mask.hdr.src_port = sport_mask;
		p->tcp_mask.hdr.dst_port = dport_mask;
		add(p, RTE_FLOW_ITEM_TYPE_TCP, &p->tcp, &p->tcp_mask);
	} else if (m->proto == IPPROTO_UDP) {
		p->udp.hdr.src_port = sport;
		p->udp.hdr.dst_port = dport;
		p->udp_mask.hdr.src_port = sport_mask;
		p->udp_mask.hdr.dst_port = dport_mask;
		add(p, RTE_FLOW_ITEM_TYPE_UDP, &p->udp, &p->udp_mask);
	}
}

/* Items without a condition have neither specification nor mask: some drivers refuse empty masks. */
static void make_pattern(struct pattern *p, const struct sn_steer_match *m)
{
	bool mac = !rte_is_zero_ether_addr(&m->mac), addresses = (m->src_mask | m->dst_mask) != 0;

	memset(p, 0, sizeof(*p));
	rte_ether_addr_copy(&m->mac, &p->eth.dst);
	memset(&p->eth_mask.dst, UINT8_MAX, sizeof(p->eth_mask.dst));
	add(p, RTE_FLOW_ITEM_TYPE_ETH, mac ? &p->eth : NULL, mac ? &p->eth_mask : NULL);
	if (m->vlan != 0) {
		p->vlan.tci = rte_cpu_to_be_16(m->vlan);
		p->vlan_mask.tci = rte_cpu_to_be_16(m->priority ? 0xefff : 0x0fff); /* not DEI */
		add(p, RTE_FLOW_ITEM_TYPE_VLAN, &p->vlan, &p->vlan_mask);
	}
	if (addresses || m->proto != 0) {
		p->ip.hdr.src_addr = rte_cpu_to_be_32(m->src);
		p->ip.hdr.dst_addr = rte_cpu_to_be_32(m->dst);
		p->ip_mask.hdr.src_addr = rte_cpu_to_be_32(m->src_mask);
		p->ip_mask.hdr.dst_addr = rte_cpu_to_be_32(m->dst_mask);
		add(p, RTE_FLOW_ITEM_TYPE_IPV4, addresses ? &p->ip : NULL, addresses ? &p->ip_mask : NULL);
	}
	add_ports(p, m);
	add(p, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
}

struct rte_flow *sn_steer_install(uint16_t port, const struct sn_steer_rule *rule, char *err, size_t err_len)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue queue = {.index = rule->queue};
	const struct rte_flow_action actions[] = {
		{.type = rule->drop ? RTE_FLOW_ACTION_TYPE_DROP : RTE_FLOW_ACTION_TYPE_QUEUE,
		 .conf = rule->drop ? NULL : &queue},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error = {0};
	struct rte_flow *flow = NULL;
	struct pattern p;
	int rc;

	make_pattern(&p, &rule->match);
	rc = rte_flow_validate(port, &attr, p.items, actions, &error);
	if (rc == 0)
		flow = rte_flow_create(port, &attr, p.items, actions, &error);
	if (flow == NULL)
		snprintf(err, err_len, "%s", error.message != NULL ? error.message : strerror(-rc));
	return flow;
}

void sn_steer_remove(uint16_t port, struct rte_flow *flow)
{
	struct rte_flow_error error;

	rte_flow_destroy(port, flow, &error); /* there is nothing else to do about it */
}

size_t sn_steer_probe(const struct sn_steer_match *m, uint32_t series, uint32_t number,
		      uint8_t frame[SN_STEER_PROBE_LEN])
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)frame;
	struct rte_vlan_hdr *vlan = (struct rte_vlan_hdr *)(eth + 1);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + sizeof(*eth) + (m->vlan != 0 ? 4 : 0));
	size_t l4_len = m->proto == IPPROTO_TCP ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
	size_t ip_len = sizeof(*ip) + l4_len + 2 * sizeof(uint32_t);
	uint16_t sport = m->sport != 0 ? m->sport : (uint16_t)(SN_STEER_SPORT + number);
	uint16_t dport = m->dport != 0 ? m->dport : (uint16_t)(SN_STEER_DPORT + number);
	uint32_t mark[2] = {rte_cpu_to_be_32(SN_STEER_MAGIC), rte_cpu_to_be_32(series)};

	memset(frame, 0, SN_STEER_PROBE_LEN);
	eth->src_addr = (struct rte_ether_addr){{0x02, 0x53, 0x6e, 0, 0, 1}};
	eth->dst_addr = (struct rte_ether_addr){{0x02, 0x53, 0x6e, 0, 0, 2}};
	if (!rte_is_zero_ether_addr(&m->mac))
		rte_ether_addr_copy(&m->mac, &eth->dst_addr);
	eth->ether_type = rte_cpu_to_be_16(m->vlan != 0 ? RTE_ETHER_TYPE_VLAN : RTE_ETHER_TYPE_IPV4);
	if (m->vlan != 0)
		*vlan = (struct rte_vlan_hdr){rte_cpu_to_be_16(m->vlan),
					      rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)};
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16((uint16_t)ip_len);
	ip->time_to_live = 64;
	ip->next_proto_id = m->proto != 0 ? m->proto : IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32((m->src & m->src_mask) | ((SN_STEER_SOURCE + number) & ~m->src_mask));
	ip->dst_addr = rte_cpu_to_be_32((m->dst & m->dst_mask) | ((SN_STEER_TARGET + number) & ~m->dst_mask));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	/* Both protocols begin with their ports; UDP's length follows, and its checksum may be left out. */
	if (ip->next_proto_id == IPPROTO_TCP)
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

uint32_t sn_steer_series(const uint8_t *frame, size_t len)
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
	return mark[0] == rte_cpu_to_be_32(SN_STEER_MAGIC) ? rte_be_to_cpu_32(mark[1]) : 0;
}
