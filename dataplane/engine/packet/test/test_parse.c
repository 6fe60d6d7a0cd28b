/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_parse.h"
#include "sn_rewrite.h"
#include "sn_sources.h"

#define MAC_LEN 6

/* One fault of a frame that is else a good UDP packet from host to remote. */
struct wrong {
	const char *what;
	uint32_t reason;
	void (*spoil)(uint8_t *frame, uint32_t *len);
	struct packet packet; /* if not UDP */
};

static void resum(uint8_t *f)
{
	uint8_t *ip = ip_of(f);

	sn_store16(ip + 10, 0);
	sn_store16(ip + 10, sn_sum_afresh(ip, (ip[0] & 15) * 4));
}

static void cut_ethernet(uint8_t *f, uint32_t *len)
{
	(void)f;
	*len = 13;
}

static void other_mac(uint8_t *f, uint32_t *len)
{
	(void)len;
	f[5] ^= 0x80;
}

static void broadcast(uint8_t *f, uint32_t *len)
{
	(void)len;
	memset(f, 0xff, MAC_LEN);
}

static void broadcast_cut_tag(uint8_t *f, uint32_t *len)
{
	broadcast(f, len);
	sn_store16(f + 12, 0x8100);
	*len = 16;
}

static void cut_tag(uint8_t *f, uint32_t *len)
{
	sn_store16(f + 12, 0x88a8);
	*len = 17;
}

static void two_tags(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 12, 0x88a8);
	sn_store16(f + 16, 0x8100);
}

static void ipv6(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 12, 0x86dd);
}

static void lldp(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 12, 0x88cc);
}

static void cut_ip(uint8_t *f, uint32_t *len)
{
	(void)f;
	*len = 14 + 19;
}

static void version5(uint8_t *f, uint32_t *len)
{
	(void)len;
	f[14] = 0x55;
}

static void short_header(uint8_t *f, uint32_t *len)
{
	(void)len;
	f[14] = 0x44;
}

static void total_in_header(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 16, 19);
}

static void total_beyond_frame(uint8_t *f, uint32_t *len)
{
	sn_store16(f + 16, *len - 14 + 1);
	resum(f);
}

static void header_beyond_frame(uint8_t *f, uint32_t *len)
{
	f[14] = 0x4f;
	sn_store16(f + 16, 60);
	*len = 14 + 50;
}

static void bad_sum(uint8_t *f, uint32_t *len)
{
	(void)len;
	f[24] ^= 1;
}

static void total_in_transport(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 16, 20 + (f[23] == SN_TCP ? 19 : 7));
	resum(f);
}

static void tcp_offset_4(uint8_t *f, uint32_t *len)
{
	(void)len;
	f[14 + 20 + 12] = 0x40;
}

static void tcp_offset_beyond(uint8_t *f, uint32_t *len)
{
	(void)len;
	f[14 + 20 + 12] = 0xf0;
}

static void udp_length_7(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 14 + 20 + 4, 7);
}

static void udp_length_beyond(uint8_t *f, uint32_t *len)
{
	(void)len;
	sn_store16(f + 14 + 20 + 4, 8 + 11 + 1);
}

static void arp(uint8_t *f, uint32_t *len)
{
	broadcast(f, len);
	sn_store16(f + 12, 0x0806);
}

static void none(uint8_t *f, uint32_t *len)
{
	(void)f;
	(void)len;
}

#define UDP_FROM(s)                                                                   \
	{                                                                             \
		.proto = SN_UDP, .src = s, .dst = SN_SAMPLE_REMOTE, .payload_len = 11 \
	}
#define UDP_TO(d)                                                                   \
	{                                                                           \
		.proto = SN_UDP, .src = SN_SAMPLE_HOST, .dst = d, .payload_len = 11 \
	}
#define TCP                                                                                        \
	{                                                                                          \
		.proto = SN_TCP, .src = SN_SAMPLE_HOST, .dst = SN_SAMPLE_REMOTE, .payload_len = 11 \
	}
#define ICMP                                                                                \
	{                                                                                   \
		.proto = SN_ICMP, .src = SN_SAMPLE_HOST, .dst = SN_SAMPLE_REMOTE, .type = 8 \
	}

static const struct wrong wrongs[] = {
	{"13 bytes", SN_REASON_TRUNCATED, cut_ethernet, {0}},
	{"another host's address", SN_REASON_OTHER_HOST, other_mac, {0}},
	{"broadcast that is not ARP", SN_REASON_OTHER_HOST, broadcast, {0}},
	{"broadcast with half a tag", SN_REASON_OTHER_HOST, broadcast_cut_tag, {0}},
	{"half a tag", SN_REASON_TRUNCATED, cut_tag, {0}},
	{"two tags", SN_REASON_VLAN_STACKED, two_tags, {0}},
	{"IPv6", SN_REASON_IPV6, ipv6, {0}},
	{"LLDP", SN_REASON_NOT_IP, lldp, {0}},
	{"broadcast ARP", SN_REASON_ARP, arp, {0}},
	{"19 bytes of IP", SN_REASON_TRUNCATED, cut_ip, {0}},
	{"IP version 5", SN_REASON_MALFORMED, version5, {0}},
	{"IHL 4", SN_REASON_MALFORMED, short_header, {0}},
	{"total length 19", SN_REASON_MALFORMED, total_in_header, {0}},
	{"total length beyond the frame", SN_REASON_TRUNCATED, total_beyond_frame, {0}},
	{"IP header beyond the frame",
	 SN_REASON_TRUNCATED,
	 header_beyond_frame,
	 {.proto = SN_UDP, .payload_len = 40}},
	{"wrong header checksum", SN_REASON_BAD_CHECKSUM, bad_sum, {0}},
	{"7 bytes of UDP", SN_REASON_NAT_UNSUPPORTED, total_in_transport, {0}},
	{"19 bytes of TCP", SN_REASON_NAT_UNSUPPORTED, total_in_transport, TCP},
	{"7 bytes of ICMP", SN_REASON_NAT_UNSUPPORTED, total_in_transport, ICMP},
	{"TCP data offset 4", SN_REASON_NAT_UNSUPPORTED, tcp_offset_4, TCP},
	{"TCP data offset beyond the packet", SN_REASON_NAT_UNSUPPORTED, tcp_offset_beyond, TCP},
	{"UDP length 7", SN_REASON_NAT_UNSUPPORTED, udp_length_7, {0}},
	{"UDP length beyond the packet", SN_REASON_NAT_UNSUPPORTED, udp_length_beyond, {0}},
	{"source 0.1.2.3", SN_REASON_MARTIAN, none, UDP_FROM(0x00010203)},
	{"source 127.0.0.1", SN_REASON_MARTIAN, none, UDP_FROM(0x7f000001)},
	{"source 224.0.0.1", SN_REASON_MARTIAN, none, UDP_FROM(0xe0000001)},
	{"destination 0.0.0.0", SN_REASON_MARTIAN, none, UDP_TO(0)},
	{"destination 127.255.255.255", SN_REASON_MARTIAN, none, UDP_TO(0x7fffffff)},
	{"destination 239.1.1.1", SN_REASON_MARTIAN, none, UDP_TO(0xef010101)},
	{"destination 255.255.255.255", SN_REASON_MARTIAN, none, UDP_TO(0xffffffff)},
};

static void every_malformed_frame_is_dropped_under_its_own_reason(void **state)
{
	struct fixture *f = *state;

	load(f);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		const struct wrong *w = &wrongs[i];
		struct packet p = w->packet.proto ? w->packet : outward(SN_UDP, 5000);
		uint8_t frame[FRAME_MAX];
		uint32_t len;

		if (w->packet.proto && !p.src && !p.dst) {
			p.src = SN_SAMPLE_HOST;
			p.dst = SN_SAMPLE_REMOTE;
		}
		len = write_frame(&p, frame);
		w->spoil(frame, &len);
		send_frame(f, 0, frame, len);
		if (f->n_drops != 1 || f->drops[0].reason != w->reason || f->n_out)
			fail_msg("%s: dropped as %s, want %s", w->what,
				 f->n_drops ? sn_reason_name(f->drops[0].reason) : "nothing",
				 sn_reason_name(w->reason));
	}
	assert_int_equal(sessions(f), 0);
}

static void transport_headers_that_no_host_would_take_are_forwarded_as_they_are(void **state)
{
	struct fixture *f = *state;

	f->msg = sn_sample_wire(&f->arena);
	load(f);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		const struct wrong *w = &wrongs[i];
		struct packet p = w->packet.proto ? w->packet : outward(SN_UDP, 5000);
		uint8_t frame[FRAME_MAX];
		uint32_t len;

		if (w->reason != SN_REASON_NAT_UNSUPPORTED)
			continue;
		len = write_frame(&p, frame);
		w->spoil(frame, &len);
		send_frame(f, 0, frame, len);
		assert_int_equal(f->n_out, 1);
		assert_int_equal(f->out[0].len, len);
		assert_memory_equal(f->out[0].data + 14, frame + 14, len - 14);
	}
}

static void tiny_first_fragments_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_TCP, 5000);
	uint8_t frame[FRAME_MAX];
	uint32_t len;

	f->msg = sn_sample_wire(&f->arena);
	load(f);
	p.frag = 0x2000;
	len = write_frame(&p, frame);
	total_in_transport(frame, &len);
	send_frame(f, 0, frame, len);
	assert_dropped(f, SN_REASON_TRUNCATED);
}

static void addresses_at_the_edge_of_the_martians_pass(void **state)
{
	static const uint32_t good[] = {0x01000000, 0x7effffff, 0x80000000, 0xdfffffff};
	struct fixture *f = *state;

	f->msg = sn_sample_wire(&f->arena);
	load(f);
	for (size_t i = 0; i < 4; i++) {
		struct packet p = UDP_FROM(good[i]), q = UDP_TO(good[i]);

		send_packet(f, &p);
		assert_sent(f, 1);
		send_packet(f, &q);
		assert_sent(f, 1);
	}
}

static void fields_are_read_as_they_are_on_the_wire(void **state)
{
	struct packet p = {.proto = SN_TCP,
			   .src = SN_SAMPLE_HOST,
			   .dst = SN_SAMPLE_REMOTE,
			   .sport = 1,
			   .dport = 65535,
			   .ttl = 7,
			   .dscp = 46,
			   .flags = 0x12,
			   .tag = 0xe064,
			   .options = 2,
			   .frag = 0x4000};
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, 0, 0};
	const uint64_t vlans[64] = {[1] = 1ull << 36};
	uint8_t buffer[sizeof(struct rte_mbuf) + FRAME_MAX] __attribute__((aligned(64))) = {0};
	struct rte_mbuf *m = (struct rte_mbuf *)buffer;
	struct sn_sources *sources = sn_sources_create(NULL, 0);
	struct sn_pkt k;

	(void)state;
	m->buf_addr = buffer + sizeof(*m);
	m->nb_segs = 1;
	m->data_len = m->pkt_len = write_frame(&p, m->buf_addr);
	sn_parse(&m, &k, 1, 3, sn_mac_number(mac), vlans, sources, false);
	assert_int_equal(k.reason, SN_REASON_NONE);
	assert_int_equal(k.vlan, 100);
	assert_int_equal(k.dscp, 46);
	assert_int_equal(k.ttl, 7);
	assert_int_equal(k.tcp_flags, 0x12);
	assert_int_equal(k.sport, 1);
	assert_int_equal(k.dport, 65535);
	assert_int_equal(k.icmp_type, SN_BYTE_ABSENT);
	assert_int_equal(k.frag, SN_FRAG_WHOLE);
	assert_int_equal(k.df, 1);
	assert_int_equal(k.l3, 18);
	assert_int_equal(k.l4, 18 + 28);
	assert_int_equal(k.iface, 3);
	p.frag = 0x2001; /* a later fragment has no ports */
	m->data_len = m->pkt_len = write_frame(&p, m->buf_addr);
	sn_parse(&m, &k, 1, 3, sn_mac_number(mac), vlans, sources, false);
	assert_int_equal(k.reason, SN_REASON_NONE);
	assert_int_equal(k.frag, SN_FRAG_LATER);
	assert_int_equal(k.sport, SN_PORT_ABSENT);
	assert_int_equal(k.tcp_flags, SN_BYTE_ABSENT);
	sn_sources_free(sources);
}

#define REFUSED_MAX 64u

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 32);
}

static bool is_martian(uint32_t a)
{
	return a >> 24 == 0 || a >> 24 == 127 || a >= 0xe0000000;
}

/* Ascending and disjoint, of all sizes; some touch. Returns how many. */
static size_t draw_refused(uint64_t *seed, Sinter__Program__V1__RefusedSources *refused)
{
	uint64_t at = next_random(seed) >> (next_random(seed) % 32);
	size_t want = next_random(seed) % (REFUSED_MAX + 1), n = 0;

	for (; n < want; n++) {
		uint64_t last = at + (next_random(seed) >> (8 + next_random(seed) % 24));

		if (last > UINT32_MAX)
			break;
		sinter__program__v1__refused_sources__init(&refused[n]);
		refused[n].first = (uint32_t)at;
		refused[n].last = (uint32_t)last;
		refused[n].reason = SINTER__PROGRAM__V1__DROP_REASON__DROP_OWN_SOURCE;
		at = last + 1 +
		     (next_random(seed) % 4 ? next_random(seed) >> (4 + next_random(seed) % 24) : 0);
	}
	return n;
}

/* Whether the first look says what it has to: true for all that is not let in. Returns whether it does. */
static bool look_at(const struct sn_sources *sources, uint32_t src, uint32_t dst)
{
	uint8_t addresses[8];
	bool refused =
		is_martian(src) || is_martian(dst) || sn_sources_reason(sources, src) != SN_REASON_NONE;
	bool suspect;

	sn_store32(addresses, src);
	sn_store32(addresses + 4, dst);
	suspect = sn_sources_suspect(sources, addresses);
	if (refused)
		assert_true(suspect);
	return suspect;
}

static void what_an_interface_refuses_is_suspect_at_the_first_look(void **state)
{
	static const uint32_t corners[] = {0,	       0x00ffffff, 0x01000000, 0x7effffff, 0x7f000000,
					   0x7fffffff, 0x80000000, 0xdfffffff, 0xe0000000, 0xffffffff};
	const uint32_t good = 0x0a000001;
	Sinter__Program__V1__RefusedSources messages[REFUSED_MAX], *refused[REFUSED_MAX];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < REFUSED_MAX; i++)
		refused[i] = &messages[i];
	for (int round = 0; round < 2000; round++) {
		size_t n = draw_refused(&seed, messages);
		struct sn_sources *s = sn_sources_create(refused, n);

		assert_non_null(s);
		for (size_t i = 0; i < n; i++)
			for (uint32_t d = 0; d < 3; d++) {
				look_at(s, messages[i].first + d - 1, good);
				look_at(s, messages[i].last + d - 1, good);
			}
		for (size_t i = 0; i < sizeof(corners) / sizeof(*corners); i++) {
			look_at(s, corners[i], good);
			look_at(s, good, corners[i]);
			look_at(s, next_random(&seed), next_random(&seed));
		}
		sn_sources_free(s);
	}
}

static void hosts_between_a_few_refused_addresses_are_not_suspect(void **state)
{
	Sinter__Program__V1__RefusedSources messages[] = {
		SINTER__PROGRAM__V1__REFUSED_SOURCES__INIT, SINTER__PROGRAM__V1__REFUSED_SOURCES__INIT,
		SINTER__PROGRAM__V1__REFUSED_SOURCES__INIT, SINTER__PROGRAM__V1__REFUSED_SOURCES__INIT};
	Sinter__Program__V1__RefusedSources *refused[] = {&messages[0], &messages[1], &messages[2],
							  &messages[3]};
	const uint32_t ends[][2] = {{0x0a000000, 0x0a000001},
				    {0x0a0000ff, 0x0a0000ff},
				    {0xc6336400, 0xc63364ff},
				    {0xcb007101, 0xcb007101}};
	struct sn_sources *s;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		messages[i].first = ends[i][0];
		messages[i].last = ends[i][1];
		messages[i].reason = SINTER__PROGRAM__V1__DROP_REASON__DROP_OWN_SOURCE;
	}
	s = sn_sources_create(refused, 4);
	assert_non_null(s);
	for (uint32_t src = 0x0a000002; src < 0x0a0000ff; src++)
		assert_false(look_at(s, src, 0xcb007101));
	assert_false(look_at(s, 0x01000000, 0xdfffffff));
	assert_false(look_at(s, 0xdfffffff, 0x01000000));
	assert_true(look_at(s, 0x0a000001, 0xcb007101));
	assert_true(look_at(s, 0x0a000002, 0xe0000000));
	sn_sources_free(s);
}

/* VLAN 10 is the interfaces', no other. */
static void with_vlan_10(struct fixture *f)
{
	f->msg = sn_sample_wire(&f->arena);
	sn_sample_vlan(&f->arena, f->msg, 10);
	load(f);
}

static void a_frame_of_a_vlan_that_the_interface_has_not_is_dropped(void **state)
{
	static const uint16_t others[] = {1, 9, 11, 4094, 4095, 0xe009};
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	with_vlan_10(f);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		p.tag = others[i];
		send_packet(f, &p);
		assert_dropped(f, SN_REASON_VLAN_UNKNOWN);
	}
	p.tag = 10;
	send_packet(f, &p);
	assert_sent(f, 1);
	/* The other interface has it no longer. */
	f->msg->interfaces[1]->n_vlans = 0;
	f->msg->interfaces[1]->n_neighbors = 1;
	load(f);
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_VLAN_UNKNOWN);
}

static void a_priority_tag_is_taken_off(void **state)
{
	static const uint16_t tags[] = {0xe000, 0x1000, 0x2000};
	struct fixture *f = *state;
	struct packet plain = outward(SN_UDP, 5000), p = plain;
	uint8_t frame[FRAME_MAX], want[FRAME_MAX];

	with_vlan_10(f);
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		uint32_t len;

		p.tag = tags[i];
		len = write_frame(&plain, want);
		send_frame(f, 0, frame, write_frame(&p, frame));
		assert_sent(f, 1);
		assert_int_equal(f->out[0].len, len);
		assert_memory_equal(f->out[0].data + 12, want + 12, len - 12);
	}
}

static void options_padding_and_tag_are_carried_along(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[FRAME_MAX];
	uint32_t len;

	with_vlan_10(f);
	p.options = 3;
	p.tag = 0xa00a;
	len = write_frame(&p, frame);
	memset(frame + len, 0xee, 9);
	send_frame(f, 0, frame, len + 9);
	assert_sent(f, 1);
	assert_int_equal(f->out[0].len, len + 9);
	assert_memory_equal(f->out[0].data + 12, frame + 12, len + 9 - 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_interface_refuses_is_suspect_at_the_first_look),
		cmocka_unit_test(hosts_between_a_few_refused_addresses_are_not_suspect),
		cmocka_unit_test_setup_teardown(
			transport_headers_that_no_host_would_take_are_forwarded_as_they_are, open_fixture,
			close_fixture),
		cmocka_unit_test_setup_teardown(tiny_first_fragments_are_dropped, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(every_malformed_frame_is_dropped_under_its_own_reason,
						open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(addresses_at_the_edge_of_the_martians_pass, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(a_frame_of_a_vlan_that_the_interface_has_not_is_dropped,
						open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_priority_tag_is_taken_off, open_fixture, close_fixture),
		cmocka_unit_test(fields_are_read_as_they_are_on_the_wire),
		cmocka_unit_test_setup_teardown(options_padding_and_tag_are_carried_along, open_fixture,
						close_fixture),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
