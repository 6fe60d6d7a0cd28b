/* SPDX-License-Identifier: Apache-2.0 */
/* Plain frames, which are read only off the fast ways. */

#include "fixture.h"

#include "sn_plain.h"
#include "sn_rewrite.h"
#include "sn_sources.h"

#define FRAMES 16u

/* Frames in memory of their own, each in its buffer. */
struct frames {
	uint8_t buffer[FRAMES][sizeof(struct rte_mbuf) + FRAME_MAX] __attribute__((aligned(64)));
	struct rte_mbuf *m[FRAMES];
	struct sn_pkt pkts[FRAMES];
	struct sn_sources *sources;
};

static const uint64_t vlan_100[64] = {[1] = 1ull << 36};

static uint8_t *put_frame(struct frames *f, uint32_t i, const struct packet *p)
{
	struct rte_mbuf *m = (struct rte_mbuf *)f->buffer[i];

	memset(f->buffer[i], 0, sizeof(f->buffer[i]));
	m->buf_addr = f->buffer[i] + sizeof(*m);
	m->nb_segs = 1;
	m->data_len = m->pkt_len = write_frame(p, m->buf_addr);
	f->m[i] = m;
	return m->buf_addr;
}

static struct sn_parsed parse_frames(struct frames *f, uint32_t n)
{
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, 0, 0};

	return sn_parse(f->m, f->pkts, n, 3, sn_mac_number(mac), vlan_100, f->sources, false);
}

/* TCP or UDP, with and without what a frame may have behind its headers. */
static struct packet any_packet(void)
{
	static const uint8_t payload[64];
	bool tcp = dice(2) == 0;

	return (struct packet){.proto = tcp ? SN_TCP : SN_UDP,
			       .src = SN_SAMPLE_HOST,
			       .dst = SN_SAMPLE_REMOTE,
			       .sport = (uint16_t)dice(65536),
			       .dport = (uint16_t)dice(65536),
			       .ttl = (uint8_t)(1 + dice(255)),
			       .dscp = (uint8_t)dice(64),
			       .flags = tcp ? 0x10 : 0,
			       .frag = dice(2) == 0 ? 0x4000 : 0,
			       .payload = payload,
			       .payload_len = 12 + dice(40)};
}

/* A fragment of any protocol, and not the first. */
static struct packet any_fragment(void)
{
	struct packet p = any_packet();

	p.proto = dice(2) ? p.proto : (uint8_t)dice(256);
	p.frag = (uint16_t)(dice(8) << 13 | (1 + dice(0x1fff)));
	p.payload_len = 20 + dice(40);
	return p;
}

static void right_the_sum(uint8_t *frame)
{
	uint8_t *ip = ip_of(frame);

	sn_store16(ip + 10, 0);
	sn_store16(ip + 10, sn_sum_afresh(ip, (ip[0] & 15) * 4));
}

/* Now and then something behind the addresses of Ethernet is wrong, and often the checksum right again. */
static void spoil(uint8_t *frame)
{
	for (uint32_t n = dice(3); n > 0; n--)
		frame[14 + dice(36)] = (uint8_t)dice(256);
	if (dice(4) > 0 && (frame[14] & 15) < 10)
		right_the_sum(frame);
}

enum kind {
	OTHER,
	PLAIN,
	FRAGMENT,
};

/* The same frame with a tag is read field by field: that says whether the one without is plain. */
static enum kind kind_of(struct frames *f, const uint8_t *frame, uint32_t len)
{
	struct packet any = {.proto = SN_UDP, .src = SN_SAMPLE_HOST, .dst = SN_SAMPLE_REMOTE};
	struct sn_parsed parsed;
	uint8_t *tagged = put_frame(f, 0, &any);

	memcpy(tagged, frame, 12);
	sn_store16(tagged + 12, 0x8100);
	sn_store16(tagged + 14, 100);
	memcpy(tagged + 16, frame + 12, len - 12);
	f->m[0]->data_len = f->m[0]->pkt_len = (uint16_t)(len + 4);
	parsed = parse_frames(f, 1);
	assert_int_equal(parsed.plain | parsed.fragments, 0);
	if (f->pkts[0].reason != SN_REASON_NONE || (frame[14] & 15) != 5)
		return OTHER;
	if (f->pkts[0].frag == SN_FRAG_LATER)
		return FRAGMENT;
	return f->pkts[0].frag == SN_FRAG_WHOLE && f->pkts[0].sport != SN_PORT_ABSENT ? PLAIN : OTHER;
}

static void a_frame_is_plain_alone_and_among_others_if_it_is_right_in_all(void **state)
{
	static struct frames f, single;
	uint32_t n[FRAGMENT + 1] = {0};

	(void)state;
	f.sources = single.sources = sn_sources_create(NULL, 0);
	for (uint32_t round = 0; round < 4000; round++) {
		uint32_t spoiled = dice(FRAMES), one_in = dice(4);
		struct sn_parsed parsed;
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < FRAMES; i++) {
			struct packet p = any_packet();

			if (one_in > 0 && dice(one_in) == 0)
				p = any_fragment();
			put_frame(&f, i, &p);
			bytes += f.m[i]->pkt_len;
		}
		spoil(f.m[spoiled]->buf_addr);
		parsed = parse_frames(&f, FRAMES);
		assert_int_equal(parsed.bytes, bytes);
		for (uint32_t i = 0; i < FRAMES; i++) {
			enum kind kind = kind_of(&single, f.m[i]->buf_addr, f.m[i]->data_len);

			assert_int_equal(parsed.plain >> i & 1, kind == PLAIN);
			assert_int_equal(parsed.fragments >> i & 1, kind == FRAGMENT);
			n[kind]++;
		}
	}
	assert_true(n[PLAIN] > 20000);
	assert_true(n[FRAGMENT] > 20000);
	assert_true(n[OTHER] > 600);
	sn_sources_free(f.sources);
}

static void what_lost_its_tag_is_not_plain_nor_what_is_in_pieces_or_too_short(void **state)
{
	static struct frames f;

	(void)state;
	f.sources = sn_sources_create(NULL, 0);
	for (uint32_t round = 0; round < 8; round++) {
		uint32_t what = round % 4;
		bool fragments = round >= 4;
		struct sn_parsed parsed;

		for (uint32_t i = 0; i < FRAMES; i++) {
			struct packet p = fragments ? any_fragment() : any_packet();

			put_frame(&f, i, &p);
		}
		if (what == 1)
			f.m[9]->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
		if (what == 2)
			f.m[9]->data_len = SN_PLAIN_MIN - 1;
		if (what == 3)
			((uint8_t *)f.m[9]->buf_addr)[0] = 4; /* to another */
		parsed = parse_frames(&f, FRAMES);
		assert_int_equal(fragments ? parsed.fragments : parsed.plain,
				 what == 0 ? 0xffff : 0xffff & ~(1u << 9));
		assert_int_equal(fragments ? parsed.plain : parsed.fragments, 0);
	}
	sn_sources_free(f.sources);
}

static void a_plain_frame_s_packet_is_that_of_any_frame(void **state)
{
	static struct frames f;

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		bool fragment = round % 2;
		struct packet p = fragment ? any_fragment() : any_packet();
		struct sn_pkt plain, any;

		put_frame(&f, 0, &p);
		memset(&plain, 0xaa, sizeof(plain));
		memset(&any, 0xaa, sizeof(any));
		if (fragment)
			sn_parse_fragment(&plain, f.m[0], 3);
		else
			sn_parse_plain(&plain, f.m[0], 3);
		any.m = f.m[0];
		any.iface = 3;
		any.generated = 0;
		any.reason = SN_REASON_NONE;
		sn_parse_waited(&any);
		assert_memory_equal(&plain, &any, sizeof(plain));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_plain_alone_and_among_others_if_it_is_right_in_all),
		cmocka_unit_test(what_lost_its_tag_is_not_plain_nor_what_is_in_pieces_or_too_short),
		cmocka_unit_test(a_plain_frame_s_packet_is_that_of_any_frame),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
