/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet is answered with is foreseen as it is made, also where the answer is answered: else a look
 * ahead sends the packet to a worker that lacks the state which the last answer meets.
 */
#include "fixture.h"

#include <stdio.h>

#include "sn_answer.h"
#include "sn_icmp.h"
#include "sn_plain.h"
#include "sn_sources.h"

#define ROUNDS	  200000
#define ANSWERS	  3u /* one after the other */
#define ANSWERED  (ROUNDS / 4)
#define AGAIN	  (ROUNDS / 100)
#define INTERFACE 0x0a000001u

struct buffer {
	struct rte_mbuf m;
	uint8_t data[RTE_PKTMBUF_HEADROOM + FRAME_MAX] __attribute__((aligned(64)));
};

/* Any protocol, with and without options, whole and in fragments. */
static struct packet any_packet(void)
{
	static const uint8_t protocols[] = {SN_TCP, SN_TCP, SN_UDP, SN_ICMP, 50, 47};
	static const uint8_t types[] = {0, 3, 8, 11, 13, 14, 42};
	static const uint16_t frags[] = {0, 0, 0, 0x4000, 0x4000, 0x2000, 0x2004, 0x0004};
	static const uint8_t payload[600];

	return (struct packet){.proto = protocols[dice(sizeof(protocols))],
			       .src = SN_SAMPLE_HOST,
			       .dst = SN_SAMPLE_REMOTE,
			       .sport = (uint16_t)dice(65536),
			       .dport = (uint16_t)dice(65536),
			       .ttl = (uint8_t)(1 + dice(255)),
			       .dscp = (uint8_t)dice(64),
			       .type = types[dice(sizeof(types))],
			       .flags = (uint8_t)dice(64),
			       .options = (uint8_t)(dice(2) ? dice(11) : 0),
			       .frag = frags[dice(RTE_DIM(frags))],
			       .tag = dice(2) ? 100 : 0,
			       .seq = dice(1000000),
			       .payload = payload,
			       .payload_len = 8 + dice(sizeof(payload) - 8)};
}

static struct sn_generator any_generator(void)
{
	static const uint8_t kinds[] = {
		SINTER__PROGRAM__V1__GENERATOR__KIND__ECHO_REPLY,
		SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST,
		SINTER__PROGRAM__V1__GENERATOR__KIND__REJECT,
		SINTER__PROGRAM__V1__GENERATOR__KIND__REJECT,
		SINTER__PROGRAM__V1__GENERATOR__KIND__ICMP_ERROR,
	};

	return (struct sn_generator){.kind = kinds[dice(sizeof(kinds))],
				     .type = dice(2) ? SN_ICMP_UNREACHABLE : SN_ICMP_TIME_EXCEEDED,
				     .code = dice(2) ? 1 : 0,
				     .source = dice(2) ? 0xc0000201 : 0};
}

static void parse(struct buffer *b, const struct packet *p, struct sn_pkt *k, struct sn_sources *sources)
{
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, 0, 0};
	const uint64_t vlans[64] = {[1] = 1ull << 36};
	struct rte_mbuf *m = &b->m;
	struct sn_parsed parsed;

	memset(m, 0, sizeof(*m));
	m->buf_addr = b->data;
	m->buf_len = sizeof(b->data);
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->nb_segs = 1;
	m->data_len = m->pkt_len = write_frame(p, b->data + RTE_PKTMBUF_HEADROOM);
	parsed = sn_parse(&m, k, 1, 0, sn_mac_number(mac), vlans, sources, false);
	if (parsed.plain)
		sn_parse_plain(k, m, 0);
	if (parsed.fragments)
		sn_parse_fragment(k, m, 0);
	assert_int_equal(k->reason, SN_REASON_NONE);
}

#define SAME(field) assert_int_equal(seen->field, made->field)

static void assert_same(struct sn_pkt *seen, struct sn_pkt *made)
{
	bool quotes = sn_icmp_quote(made);

	SAME(src);
	SAME(dst);
	SAME(proto);
	SAME(sport);
	SAME(dport);
	SAME(tcp_flags);
	SAME(icmp_type);
	SAME(icmp_code);
	SAME(id);
	SAME(ttl);
	SAME(dscp);
	SAME(frag);
	SAME(df);
	SAME(vlan);
	SAME(ip_len);
	SAME(next_hop);
	assert_int_equal(sn_icmp_quote(seen), quotes);
	if (!quotes)
		return;
	SAME(quote.src);
	SAME(quote.dst);
	SAME(quote.proto);
	SAME(quote.sport);
	SAME(quote.dport);
	SAME(quote.icmp_type);
}

static void an_answer_is_foreseen_as_it_is_made(void **state)
{
	struct sn_sources *sources = sn_sources_create(NULL, 0);
	uint32_t n[ANSWERS] = {0};
	struct buffer *b = NULL;

	(void)state;
	assert_int_equal(posix_memalign((void **)&b, 64, sizeof(*b)), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct packet p = any_packet();
		struct sn_pkt made, seen;

		parse(b, &p, &made, sources);
		seen = made;
		for (uint32_t i = 0; i < ANSWERS; i++) {
			struct sn_generator g = any_generator();
			struct sn_answer a = sn_answer_of(&g, &made, INTERFACE),
					 ahead = sn_answer_of(&g, &seen, INTERFACE);

			assert_int_equal(ahead.kind, a.kind);
			if (a.kind == SN_ANSWER_NONE)
				break;
			n[i]++;
			sn_answer_foresee(&seen, &ahead); /* before the frame is another */
			assert_int_equal(sn_answer_make(&made, &a), SN_REASON_NONE);
			assert_same(&seen, &made);
		}
	}
	printf("%u packets were answered, %u of their answers, %u of those\n", n[0], n[1], n[2]);
	assert_true(n[0] > ANSWERED && n[1] > AGAIN);
	free(b);
	sn_sources_free(sources);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_foreseen_as_it_is_made),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
