/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that go past functions: in their order, by one interface at a time, and no more than there is room
 * for. */
#include "fixture.h"

#include "sn_env.h"
#include "sn_past.h"
#include "sn_wires.h"

#define LEN 100

static struct rte_mbuf frames[SN_PAST_MAX + 1];
static const struct sn_stop to_inside = {.back = 2}, to_outside = {.back = 3, .down = 1};

struct world {
	struct sn_env env;
	struct sn_counts counts;
	struct sn_count counters[2];
};

static int open_world(void **state)
{
	struct world *w = NULL;

	assert_int_equal(posix_memalign((void **)&w, 64, sizeof(*w)), 0);
	memset(w, 0, sizeof(*w));
	w->counts.counters = w->counters;
	w->env.counts = &w->counts;
	w->env.addresses.ports[2] = 12;
	w->env.addresses.ports[3] = 13;
	for (uint32_t i = 0; i <= SN_PAST_MAX; i++)
		frames[i] = (struct rte_mbuf){.pkt_len = LEN,
					      .ol_flags = RTE_MBUF_F_RX_VLAN_STRIPPED |
							  RTE_MBUF_F_RX_FDIR_ID | RTE_MBUF_F_RX_RSS_HASH};
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	free(*state);
	return 0;
}

/* The next ones are these. */
static void assert_next(struct world *w, uint32_t first, uint32_t n, uint32_t by)
{
	struct rte_mbuf *next[SN_BURST_MAX];
	uint32_t iface;

	assert_int_equal(sn_past_next(&w->env, next, &iface), n);
	assert_int_equal(iface, by);
	for (uint32_t i = 0; i < n; i++) {
		assert_ptr_equal(next[i], &frames[first + i]);
		assert_int_equal(next[i]->port, w->env.addresses.ports[by]);
		assert_int_equal(next[i]->ol_flags, RTE_MBUF_F_RX_RSS_HASH);
	}
}

static void they_come_in_their_order_by_one_interface_at_a_time(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < 70; i++)
		assert_true(sn_past_put(&w->env, &frames[i], &to_inside));
	for (uint32_t i = 70; i < 73; i++)
		assert_true(sn_past_put(&w->env, &frames[i], &to_outside));
	assert_true(sn_past_put(&w->env, &frames[73], &to_inside));
	assert_next(w, 0, SN_BURST_MAX, 2);
	assert_next(w, SN_BURST_MAX, 70 - SN_BURST_MAX, 2);
	assert_next(w, 70, 3, 3);
	assert_next(w, 73, 1, 2);
	assert_int_equal(w->env.past.n, 0);
	assert_int_equal(w->counters[0].packets, 71);
	assert_int_equal(w->counters[1].packets, 3);
	assert_int_equal(w->counters[1].bytes, 3 * LEN);
}

static void who_finds_no_room_is_told(void **state)
{
	struct world *w = *state;

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < SN_PAST_MAX; i++)
			assert_true(sn_past_put(&w->env, &frames[i], &to_inside));
		assert_false(sn_past_put(&w->env, &frames[SN_PAST_MAX], &to_inside));
		for (uint32_t i = 0; i < SN_PAST_MAX; i += SN_BURST_MAX)
			assert_next(w, i, SN_BURST_MAX, 2);
		for (uint32_t i = 0; i < 100; i++) /* so that the next round goes around the end */
			assert_true(sn_past_put(&w->env, &frames[i], &to_outside));
		assert_next(w, 0, SN_BURST_MAX, 3);
		assert_next(w, SN_BURST_MAX, 100 - SN_BURST_MAX, 3);
	}
}

static void probes_and_frames_for_functions_that_are_up_are_sent(void **state)
{
	struct sn_stop stops[2] = {to_inside, to_outside};
	struct sn_program program = {.stops = stops, .n_stops = 2, .n_interfaces = 4, .n_hops = 1};
	struct world *w = *state;
	uint8_t frame[LEN] = {0};

	w->env.program = &program;
	frames[0].buf_addr = frame;
	sn_store16(frame + 12, 0x0800);
	sn_tag_write(frame + 6, (struct sn_tag){.continuation = 4}); /* of the second */
	assert_null(sn_past_stop(&w->env, &frames[0]));
	w->env.down = 1u << 3;
	assert_null(sn_past_stop(&w->env, &frames[0]));
	stops[1].when_down = SN_DOWN_DROP;
	assert_null(sn_past_stop(&w->env, &frames[0]));
	stops[1].when_down = SN_DOWN_BYPASS;
	assert_ptr_equal(sn_past_stop(&w->env, &frames[0]), &stops[1]);
	sn_store16(frame + 12, SN_PROBE_TYPE);
	assert_null(sn_past_stop(&w->env, &frames[0]));
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(they_come_in_their_order_by_one_interface_at_a_time),
		WITH_WORLD(who_finds_no_room_is_told),
		WITH_WORLD(probes_and_frames_for_functions_that_are_up_are_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
