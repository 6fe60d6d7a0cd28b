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

#include "fixture.h"
#include "sn_probe.h"
#include "stand_in.h"

static const struct sn_steer_match nothing = {0};
static struct sn_steer_match everything;

/* A match of conditions, field by field. */
static void make_everything(void)
{
	everything.mac = (struct rte_ether_addr){{2, 0, 0, 0, 0, 1}};
	everything.conds[SN_VLAN] = sn_cond_is(SN_VLAN, 100);
	everything.conds[SN_SRC] = sn_cond_is(SN_SRC, 0x0a000001);
	everything.conds[SN_DST] = (struct sn_cond){.value = 0x0a020000, .mask = 0xffff0000};
	everything.conds[SN_PROTO] = sn_cond_is(SN_PROTO, IPPROTO_TCP);
	everything.conds[SN_SPORT] = sn_cond_is(SN_SPORT, 1024);
	everything.conds[SN_DPORT] = sn_cond_is(SN_DPORT, 443);
}

static void a_probe_has_what_its_match_asks_for(void **state)
{
	uint8_t frame[SN_PROBE_LEN];
	const struct rte_ether_hdr *eth = (const void *)frame;
	const struct rte_vlan_hdr *vlan = (const void *)(eth + 1);
	const struct rte_ipv4_hdr *ip = (const void *)(vlan + 1);
	const struct rte_udp_hdr *ports = (const void *)(ip + 1);

	(void)state;
	for (uint32_t number = 0; number < 16; number++) {
		sn_probe_write(&everything, 1, number, frame);
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
	uint8_t first[SN_PROBE_LEN], second[SN_PROBE_LEN];
	const struct rte_ipv4_hdr *a = (const void *)(first + RTE_ETHER_HDR_LEN);
	const struct rte_ipv4_hdr *b = (const void *)(second + RTE_ETHER_HDR_LEN);
	const struct rte_udp_hdr *a_ports = (const void *)(a + 1), *b_ports = (const void *)(b + 1);

	(void)state;
	sn_probe_write(&nothing, 1, 0, first);
	sn_probe_write(&nothing, 1, 1, second);
	assert_int_not_equal(a->src_addr, b->src_addr);
	assert_int_not_equal(a->dst_addr, b->dst_addr);
	assert_int_not_equal(a_ports->src_port, b_ports->src_port);
	assert_int_not_equal(a_ports->dst_port, b_ports->dst_port);
}

static void a_probe_is_a_sound_packet(void **state)
{
	const struct sn_steer_match *const matches[] = {&nothing, &everything};
	uint8_t frame[SN_PROBE_LEN];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		size_t len = sn_probe_write(matches[i], 1, 7, frame);
		size_t at = RTE_ETHER_HDR_LEN + (matches[i] == &everything ? sizeof(struct rte_vlan_hdr) : 0);
		const struct rte_ipv4_hdr *ip = (const void *)(frame + at);

		assert_in_range(len, RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN, SN_PROBE_LEN);
		assert_in_range(at + rte_be_to_cpu_16(ip->total_length), at + 28, len);
		assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	}
}

static void a_probe_is_known_by_its_series(void **state)
{
	uint8_t frame[SN_PROBE_LEN];
	size_t len;

	(void)state;
	len = sn_probe_write(&everything, 7, 3, frame);
	assert_int_equal(sn_probe_series(frame, len), 7);
	len = sn_probe_write(&nothing, 8, 3, frame);
	assert_int_equal(sn_probe_series(frame, len), 8);
	/* Some devices cut padding off, none cuts into the packet: what is too short is no probe. */
	assert_int_equal(sn_probe_series(frame, RTE_ETHER_HDR_LEN), 0);
	memset(frame + len - 20, 0, 20);
	assert_int_equal(sn_probe_series(frame, len), 0);
}

/* ---- rules, executed by the stand-in ---- */

static const struct sn_steer_device device = {.port = 0, .queues = 4};

/* Whether a rule with this match sends the packet to its queue, where no packet comes otherwise. */
static bool taken(const struct sn_steer_match *match, const struct packet *packet)
{
	const struct sn_steer_rule rule = {.match = *match, .action = SN_STEER_QUEUE, .queue = 3};
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(packet, frame), mark;
	struct sn_error err = {0};
	struct rte_flow *flow;
	int queue;

	stand_in[0].queues = 4;
	if (sn_steer_check(&rule, &err) != 0)
		fail_msg("%s", err.text);
	flow = sn_steer_install(&device, &rule, &err);
	if (flow == NULL)
		fail_msg("%s", err.text);
	stand_in[0].queues = 3;
	queue = stand_in_receive(0, frame, len, &mark);
	assert_int_equal(sn_steer_remove(&device, flow, &err), 0);
	return queue == 3;
}

static const struct packet base = {
	.proto = IPPROTO_TCP,
	.ttl = 7,
	.flags = 0x12,
	.dscp = 10,
	.tag = 0x6064, /* priority 3, VLAN 100 */
	.src = 0x0a0000c1,
	.dst = 0xc0000205,
	.sport = 1500,
	.dport = 443,
	.payload_len = 4,
};

/* A condition that holds for the packet, and one that does not. */
struct rule_case {
	const char *name;
	enum sn_field field;
	struct sn_cond yes, no;
	uint8_t proto; /* of the rule; 0: any */
};

static void assert_takes(const struct rule_case *c, const struct packet *packet)
{
	struct sn_steer_match match = {0};

	if (c->proto != 0)
		match.conds[SN_PROTO] = sn_cond_is(SN_PROTO, c->proto);
	match.conds[c->field] = c->yes;
	if (!taken(&match, packet))
		fail_msg("%s: a rule for the packet does not take it", c->name);
	match.conds[c->field] = c->no;
	if (taken(&match, packet))
		fail_msg("%s: a rule for other packets takes it", c->name);
}

static void a_rule_takes_what_it_asks_for_and_nothing_else(void **state)
{
	const struct packet ping = {
		.proto = IPPROTO_ICMP, .type = 8, .code = 0, .src = base.src, .dst = base.dst, .sport = 7};
	const struct rule_case cases[] = {
		{"a VLAN", SN_VLAN, sn_cond_is(SN_VLAN, 100), sn_cond_is(SN_VLAN, 101), 0},
		{"a tag",
		 SN_VLAN,
		 {.value = 0, .mask = SN_VLAN_ABSENT},
		 sn_cond_is(SN_VLAN, SN_VLAN_ABSENT),
		 0},
		{"a source", SN_SRC, sn_cond_is(SN_SRC, base.src), sn_cond_is(SN_SRC, base.src + 1), 0},
		{"bits of the source",
		 SN_SRC,
		 {.value = 0xc0, .mask = 0xd0},
		 {.value = 0x10, .mask = 0x10},
		 0},
		{"bits that are zero", SN_SRC, {.value = 0, .mask = 0x20}, {.value = 0, .mask = 0x40}, 0},
		{"a prefix",
		 SN_DST,
		 {.value = 0xc0000200, .mask = 0xffffff00},
		 {.value = 0xc0000300, .mask = 0xffffff00},
		 0},
		{"addresses",
		 SN_DST,
		 {.value = 0xc0000200, .last = 0xc0000205},
		 {.value = 0xc0000206, .last = 0xc0000207},
		 0},
		{"a protocol", SN_PROTO, sn_cond_is(SN_PROTO, 6), sn_cond_is(SN_PROTO, 47), 0},
		{"a DSCP", SN_DSCP, sn_cond_is(SN_DSCP, 10), sn_cond_is(SN_DSCP, 11), 0},
		{"TTLs", SN_TTL, {.value = 0, .last = 7}, {.value = 8, .last = 255}, 0},
		{"a source port", SN_SPORT, sn_cond_is(SN_SPORT, 1500), sn_cond_is(SN_SPORT, 1501), 6},
		{"bits of the port",
		 SN_DPORT,
		 {.value = 0x80, .mask = 0xc0},
		 {.value = 0x40, .mask = 0xc0},
		 6},
		{"ports", SN_DPORT, {.value = 400, .last = 443}, {.value = 444, .last = 65535}, 6},
		{"TCP flags", SN_TCP_FLAGS, {.value = 0x02, .mask = 0x06}, {.value = 0x04, .mask = 0x04}, 6},
		{"an ICMP type", SN_ICMP_TYPE, sn_cond_is(SN_ICMP_TYPE, 8), sn_cond_is(SN_ICMP_TYPE, 0), 1},
	};

	(void)state;
	stand_in_reset(4);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_takes(&cases[i], cases[i].proto == IPPROTO_ICMP ? &ping : &base);
}

static void a_rule_for_whole_packets_takes_no_fragments(void **state)
{
	struct sn_steer_match match = {.conds[SN_FRAG] = sn_cond_is(SN_FRAG, 0)};
	struct packet p = base;

	(void)state;
	stand_in_reset(4);
	p.frag = 0x4000; /* do not fragment */
	assert_true(taken(&match, &p));
	p.frag = 0x2000;
	assert_false(taken(&match, &p));
	p.frag = 0x0001;
	assert_false(taken(&match, &p));
}

static void a_destination_address_is_matched_whole(void **state)
{
	struct sn_steer_match match = {.mac = {{0x02, 0x73, 0x6e, 0, 0, 1}}};
	struct packet p = base;

	(void)state;
	stand_in_reset(4);
	assert_false(taken(&match, &p));
	p.iface = 1; /* to whose address it is sent */
	assert_true(taken(&match, &p));
}

static void a_rule_that_cannot_be_is_explained(void **state)
{
	const struct {
		struct sn_steer_match match;
		const char *why;
	} cases[] = {
		{{.conds[SN_DSCP] = {.value = 64, .mask = 0xff}}, "dscp: value 0x40"},
		{{.conds[SN_SRC] = {.value = 3, .mask = 2}}, "under its mask"},
		{{.conds[SN_SRC] = {.value = 3, .last = 2}}, "not above the last"},
		{{.conds[SN_DPORT] = {.value = 3, .mask = 0xffff}}, "one protocol"},
		{{.conds[SN_TCP_FLAGS] = {.value = 2, .mask = 2}}, "rule for TCP"},
		{{.conds[SN_ICMP_TYPE] = {.value = 8, .mask = 0xff}}, "rule for ICMP"},
		{{.conds[SN_FRAG] = {.value = 1, .mask = 3}}, "whole packets only"},
		{{.conds[SN_VLAN] = {.value = 4097, .mask = 0x1fff}}, "0x1000 for frames without"},
	};
	struct sn_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sn_steer_rule rule = {.match = cases[i].match};

		assert_int_equal(sn_steer_check(&rule, &err), -1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].why);
	}
}

static void the_drivers_words_come_back(void **state)
{
	const struct sn_steer_rule rule = {.action = SN_STEER_DROP};
	struct sn_error err = {0};

	(void)state;
	stand_in_reset(4);
	stand_in[0].drops = false;
	assert_null(sn_steer_install(&device, &rule, &err));
	assert_string_equal(err.text, "no drops");
}

/* DPDK 22.11 reads the mask in the wrong byte order: with bit 4 it would match another VLAN. */
static void net_tap_is_not_asked_for_a_vlan_that_it_would_mistake(void **state)
{
	const struct sn_steer_device tap = sn_steer_device(0, "net_tap", 4);
	struct sn_steer_rule rule = {.action = SN_STEER_QUEUE};
	struct sn_error err = {0};
	struct rte_flow *flow;

	(void)state;
	stand_in_reset(4);
	rule.match.conds[SN_VLAN] = sn_cond_is(SN_VLAN, 100);
	flow = sn_steer_install(&tap, &rule, &err);
	assert_non_null(flow);
	assert_int_equal(sn_steer_remove(&tap, flow, &err), 0);
	rule.match.conds[SN_VLAN] = sn_cond_is(SN_VLAN, 0x10);
	assert_null(sn_steer_install(&tap, &rule, &err));
	assert_non_null(strstr(err.text, "another VLAN"));
}

/* It would turn a mask for UDP and ICMP, which differ in one bit, into ICMP. */
static void net_tap_is_not_asked_for_protocols_by_mask(void **state)
{
	const struct sn_steer_device tap = sn_steer_device(0, "net_tap", 4);
	struct sn_steer_rule rule = {.action = SN_STEER_QUEUE};
	struct sn_error err = {0};
	struct rte_flow *flow;

	(void)state;
	stand_in_reset(4);
	rule.match.conds[SN_PROTO] = sn_cond_is(SN_PROTO, IPPROTO_UDP);
	flow = sn_steer_install(&tap, &rule, &err);
	assert_non_null(flow);
	assert_int_equal(sn_steer_remove(&tap, flow, &err), 0);
	rule.match.conds[SN_PROTO] = (struct sn_cond){.value = IPPROTO_ICMP, .mask = 0xff ^ 0x10};
	assert_null(sn_steer_install(&tap, &rule, &err));
	assert_non_null(strstr(err.text, "other protocols"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_takes_what_it_asks_for_and_nothing_else),
		cmocka_unit_test(a_rule_for_whole_packets_takes_no_fragments),
		cmocka_unit_test(a_destination_address_is_matched_whole),
		cmocka_unit_test(a_rule_that_cannot_be_is_explained),
		cmocka_unit_test(the_drivers_words_come_back),
		cmocka_unit_test(net_tap_is_not_asked_for_a_vlan_that_it_would_mistake),
		cmocka_unit_test(net_tap_is_not_asked_for_protocols_by_mask),
		cmocka_unit_test(a_probe_has_what_its_match_asks_for),
		cmocka_unit_test(probes_differ_in_what_their_match_leaves_open),
		cmocka_unit_test(a_probe_is_a_sound_packet),
		cmocka_unit_test(a_probe_is_known_by_its_series),
	};

	make_everything();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
