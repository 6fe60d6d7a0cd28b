/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "sn_steer.h"

static const struct sn_steer_match nothing = {0};
static const struct sn_steer_match everything = {
	.mac = {{2, 0, 0, 0, 0, 1}},
	.vlan = 100,
	.src = 0x0a000001,
	.src_mask = UINT32_MAX,
	.dst = 0x0a020000,
	.dst_mask = 0xffff0000,
	.proto = IPPROTO_TCP,
	.sport = 1024,
	.dport = 443,
};

static void a_probe_has_what_its_match_asks_for(void **state)
{
	uint8_t frame[SN_STEER_PROBE_LEN];
	const struct rte_ether_hdr *eth = (const void *)frame;
	const struct rte_vlan_hdr *vlan = (const void *)(eth + 1);
	const struct rte_ipv4_hdr *ip = (const void *)(vlan + 1);
	const struct rte_udp_hdr *ports = (const void *)(ip + 1);

	(void)state;
	for (uint32_t number = 0; number < 16; number++) {
		sn_steer_probe(&everything, 1, number, frame);
		assert_memory_equal(&eth->dst_addr, &everything.mac, sizeof(everything.mac));
		assert_int_equal(rte_be_to_cpu_16(eth->ether_type), RTE_ETHER_TYPE_VLAN);
		assert_int_equal(rte_be_to_cpu_16(vlan->vlan_tci), 100);
		assert_int_equal(rte_be_to_cpu_16(vlan->eth_proto), RTE_ETHER_TYPE_IPV4);
		assert_int_equal(rte_be_to_cpu_32(ip->src_addr), 0x0a000001);
		assert_int_equal(rte_be_to_cpu_32(ip->dst_addr) >> 16, 0x0a02);
		assert_int_equal(ip->next_proto_id, IPPROTO_TCP);
		assert_int_equal(rte_be_to_cpu_16(ports->src_port), 1024);
		assert_int_equal(rte_be_to_cpu_16(ports->dst_port), 443);
	}
}

static void probes_differ_in_what_their_match_leaves_open(void **state)
{
	uint8_t first[SN_STEER_PROBE_LEN], second[SN_STEER_PROBE_LEN];
	const struct rte_ipv4_hdr *a = (const void *)(first + RTE_ETHER_HDR_LEN);
	const struct rte_ipv4_hdr *b = (const void *)(second + RTE_ETHER_HDR_LEN);
	const struct rte_udp_hdr *a_ports = (const void *)(a + 1), *b_ports = (const void *)(b + 1);

	(void)state;
	sn_steer_probe(&nothing, 1, 0, first);
	sn_steer_probe(&nothing, 1, 1, second);
	assert_int_not_equal(a->src_addr, b->src_addr);
	assert_int_not_equal(a->dst_addr, b->dst_addr);
	assert_int_not_equal(a_ports->src_port, b_ports->src_port);
	assert_int_not_equal(a_ports->dst_port, b_ports->dst_port);
}

static void a_probe_is_a_sound_packet(void **state)
{
	const struct sn_steer_match *const matches[] = {&nothing, &everything};
	uint8_t frame[SN_STEER_PROBE_LEN];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		size_t len = sn_steer_probe(matches[i], 1, 7, frame);
		size_t at = RTE_ETHER_HDR_LEN + (matches[i]->vlan != 0 ? sizeof(struct rte_vlan_hdr) : 0);
		const struct rte_ipv4_hdr *ip = (const void *)(frame + at);

		assert_in_range(len, RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN, SN_STEER_PROBE_LEN);
		assert_in_range(at + rte_be_to_cpu_16(ip->total_length), at + 28, len);
		assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	}
}

static void a_probe_is_known_by_its_series(void **state)
{
	uint8_t frame[SN_STEER_PROBE_LEN];
	size_t len;

	(void)state;
	len = sn_steer_probe(&everything, 7, 3, frame);
	assert_int_equal(sn_steer_series(frame, len), 7);
	len = sn_steer_probe(&nothing, 8, 3, frame);
	assert_int_equal(sn_steer_series(frame, len), 8);
	/* Some devices cut padding off, none cuts into the packet: what is too short is no probe. */
	assert_int_equal(sn_steer_series(frame, RTE_ETHER_HDR_LEN), 0);
	memset(frame + len - 20, 0, 20);
	assert_int_equal(sn_steer_series(frame, len), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_probe_has_what_its_match_asks_for),
		cmocka_unit_test(probes_differ_in_what_their_match_leaves_open),
		cmocka_unit_test(a_probe_is_a_sound_packet),
		cmocka_unit_test(a_probe_is_known_by_its_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
