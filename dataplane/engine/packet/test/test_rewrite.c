/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_rewrite.h"

/* docs/elements.md, "Checksums", word by word. */
static uint16_t by_the_book(uint16_t c, const uint16_t *was, const uint16_t *is, int n)
{
	uint32_t d = 0;

	for (int i = 0; i < n; i++)
		d += (uint16_t)~was[i] + is[i];
	while (d >> 16)
		d = (d & 0xffff) + (d >> 16);
	if (d == 0 || d == 0xffff)
		return c;
	d += (uint16_t)~c;
	while (d >> 16)
		d = (d & 0xffff) + (d >> 16);
	return ~d;
}

static void a_checksum_moves_as_the_book_says(void **state)
{
	static const uint16_t edges[] = {0, 1, 0x00ff, 0x7fff, 0x8000, 0xfffe, 0xffff};
	const int n = sizeof(edges) / sizeof(*edges);

	(void)state;
	for (int c = 0; c < n; c++)
		for (int a = 0; a < n; a++)
			for (int b = 0; b < n; b++)
				for (int d = 0; d < n; d++) {
					uint16_t was[2] = {edges[a], 0x1234}, is[2] = {edges[b], edges[d]};
					uint32_t old = (uint32_t)was[0] << 16 | was[1];
					uint32_t now = (uint32_t)is[0] << 16 | is[1];

					assert_int_equal(
						sn_sum_move(edges[c], sn_diff_norm(sn_diff32(old, now))),
						by_the_book(edges[c], was, is, 2));
				}
}

static void a_udp_checksum_of_zero_stays_and_one_that_becomes_zero_is_written_ffff(void **state)
{
	uint8_t sum[2] = {0, 0};

	(void)state;
	sn_move_udp_at(sum, 0x1234);
	assert_int_equal(sn_load16(sum), 0);
	sn_store16(sum, 0x1234); /* ~C + D = 0xffff */
	sn_move_udp_at(sum, 0x1234);
	assert_int_equal(sn_load16(sum), 0xffff);
	sn_store16(sum, 0xffff); /* what did not move stays as it was */
	sn_move_udp_at(sum, 0);
	assert_int_equal(sn_load16(sum), 0xffff);
}

/* TTL, protocol and checksum in one word, and the transport checksum without a branch: for all
 * checksums. */
static void the_short_ways_move_a_checksum_as_the_long_ones(void **state)
{
	static const uint16_t diffs[] = {0, 1, 0x00ff, 0x0100, 0x7fff, 0x8000, 0xfeff, 0xfffe};

	(void)state;
	for (uint32_t sum = 0; sum <= 0xffff; sum++)
		for (size_t i = 0; i < sizeof(diffs) / sizeof(*diffs); i++) {
			uint8_t ttl = sum % 255 + 1, dec = (uint8_t)(ttl - i % 3 * (ttl / 2));
			uint8_t head[4] = {ttl, SN_TCP}, tcp[20] = {0}, udp[20] = {0}, long_way[2];
			uint16_t raw = rte_cpu_to_be_16(diffs[i]), want;
			uint32_t word;

			sn_store16(head + 2, (uint16_t)sum);
			memcpy(&word, head, sizeof(word));
			word = sn_head_moved(word, sn_head_move_of(dec, diffs[i]));
			memcpy(head, &word, sizeof(word));
			want = sn_sum_move((uint16_t)sum, diffs[i]);
			assert_int_equal(head[0], ttl - dec);
			assert_int_equal(head[1], SN_TCP);
			assert_int_equal(sn_load16(head + 2), want);

			sn_store16(tcp + 16, (uint16_t)sum);
			sn_move_mixed(tcp, UINT32_MAX, raw);
			assert_int_equal(sn_load16(tcp + 16), want);
			sn_store16(udp + 6, (uint16_t)sum);
			sn_store16(long_way, (uint16_t)sum);
			sn_move_mixed(udp, 0, raw);
			sn_move_udp_at(long_way, diffs[i]);
			assert_memory_equal(udp + 6, long_way, 2);
		}
}

static void a_wrong_checksum_stays_wrong_by_the_same_amount(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_TCP, 5000);
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(&p, frame);
	uint16_t sum = sn_load16(l4_of(frame) + 16);

	load(f);
	sn_store16(l4_of(frame) + 16, sum + 1);
	for (int i = 0; i < 3; i++) { /* decided again, then from the cache */
		send_frame(f, 0, frame, len);
		assert_int_equal(f->n_out, 1);
		sn_store16(l4_of(f->out[0].data) + 16, sn_load16(l4_of(f->out[0].data) + 16) - 1);
		assert_checksums(f->out[0].data, f->out[0].len);
	}
}

static void a_udp_packet_without_checksum_gets_none(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(&p, frame);

	load(f);
	sn_store16(l4_of(frame) + 6, 0);
	for (int i = 0; i < 3; i++) {
		send_frame(f, 0, frame, len);
		assert_int_equal(f->n_out, 1);
		assert_int_equal(sn_load16(l4_of(f->out[0].data) + 6), 0);
	}
}

/* Program: one operation more on what comes from inside. */
static void set(struct fixture *f, enum sn_field field, uint32_t value)
{
	Sinter__Program__V1__Leg *leg = f->msg->segments[0]->classes[0]->legs[0];
	Sinter__Program__V1__Op **ops = sn_arena_alloc(&f->arena, (leg->n_ops + 1) * sizeof(*ops));
	Sinter__Program__V1__Op *op = sn_arena_alloc(&f->arena, sizeof(*op));
	Sinter__Program__V1__SetField *s = sn_arena_alloc(&f->arena, sizeof(*s));

	sinter__program__v1__op__init(op);
	sinter__program__v1__set_field__init(s);
	s->field = (Sinter__Program__V1__Field)field;
	s->value = value;
	op->op_case = SINTER__PROGRAM__V1__OP__OP_SET;
	op->set = s;
	memcpy(ops, leg->ops, leg->n_ops * sizeof(*ops));
	ops[leg->n_ops++] = op;
	leg->ops = ops;
}

static void constants_are_written_with_their_checksums_decided_or_cached(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_TCP, 5000);

	set(f, SN_DST, 0xc6336407);
	set(f, SN_DPORT, 8080);
	set(f, SN_DSCP, 46);
	load(f);
	for (int i = 0; i < 5; i++) {
		const uint8_t *frame;

		p.dscp = i % 2 ? 46 : 0; /* no two values of a written field share a decision */
		send_packet(f, &p);
		frame = assert_sent(f, 1);
		assert_int_equal(dst_of(frame), 0xc6336407);
		assert_int_equal(dport_of(frame), 8080);
		assert_int_equal(ip_of(frame)[1], 46 << 2);
		assert_int_equal(ip_of(frame)[8], 63);
	}
	assert_int_equal(sn_worker_stats(f->worker)->cache_hits, 2);
}

static void a_tag_is_added_changed_or_stripped(void **state)
{
	static const struct {
		uint16_t was;
		uint32_t first, then; /* set to; 0: not */
		uint16_t is;	      /* 0: untagged */
	} cases[] = {
		{0, 100, 0, 100},     {0xa005, 100, 0, 0xa064}, /* PCP and DEI stay */
		{0xa005, 4096, 0, 0}, {0xa005, 4096, 100, 100}, /* a new tag has none */
		{0, 4096, 0, 0},      {0, 100, 4096, 0},	{0xa005, 5, 0, 0xa005},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct packet p = outward(SN_UDP, 5000);

		f->msg = sn_sample_napt(&f->arena);
		set(f, SN_VLAN, cases[i].first);
		if (cases[i].then)
			set(f, SN_VLAN, cases[i].then);
		sn_sample_vlan(&f->arena, f->msg, 5);
		sn_sample_vlan(&f->arena, f->msg, 100);
		load(f);
		p.tag = cases[i].was;
		for (int j = 0; j < 2; j++) {
			const uint8_t *frame;

			send_packet(f, &p);
			frame = assert_sent(f, 1);
			assert_int_equal(f->out[0].len, (cases[i].is ? 18 : 14) + 20 + 8 + 11);
			assert_int_equal(sn_load16(frame + 12), cases[i].is ? 0x8100 : 0x0800);
			if (cases[i].is) {
				assert_int_equal(sn_load16(frame + 14), cases[i].is);
				assert_int_equal(sn_load16(frame + 16), 0x0800);
			}
		}
	}
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_checksum_moves_as_the_book_says),
		cmocka_unit_test(a_udp_checksum_of_zero_stays_and_one_that_becomes_zero_is_written_ffff),
		cmocka_unit_test(the_short_ways_move_a_checksum_as_the_long_ones),
		WITH_FIXTURE(a_wrong_checksum_stays_wrong_by_the_same_amount),
		WITH_FIXTURE(a_udp_packet_without_checksum_gets_none),
		WITH_FIXTURE(constants_are_written_with_their_checksums_decided_or_cached),
		WITH_FIXTURE(a_tag_is_added_changed_or_stripped),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
