/* SPDX-License-Identifier: Apache-2.0 */
/* Whether functions outside of the program keep the order of a flow's packets, as they say. */

#include "stop_fixture.h"

#include "sn_parse.h"
#include "sn_spot.h"
#include "sn_wires.h"

static void open_with(void **state, uint32_t never)
{
	struct fixture *f;

	open_stop(state);
	f = *state;
	leg_of(f, 0)->stop->never = never;
	load(f);
}

static int open_in_order(void **state)
{
	open_with(state, SN_NEVER_REORDERS);
	return 0;
}

static int open_in_any_order(void **state)
{
	open_with(state, SN_NEVER_DROPS | SN_NEVER_RESIZES | SN_NEVER_ORIGINATES);
	return 0;
}

static bool is_checked(const struct sent *out)
{
	return out->data[6] == SN_SPOT_FIRST;
}

/* A packet that is checked leaves, and another one behind it, at once; whether that is checked, too. */
static bool send_two(struct fixture *f, uint16_t first, uint16_t second)
{
	struct packet out[2] = {outward(SN_UDP, first), outward(SN_UDP, second)};

	tick(f, 10 * MS + f->now % 2);
	send_burst(f, out, 2);
	assert_int_equal(f->n_out, 2);
	assert_true(is_checked(&f->out[0]));
	return is_checked(&f->out[1]);
}

static void turn(struct fixture *f)
{
	struct sent first = f->out[0];

	f->out[0] = f->out[1];
	f->out[1] = first;
}

/* Those that are to come back do so: both go on, whatever is found. */
static void come_back(struct fixture *f)
{
	uint32_t n = f->n_out;

	send_back(f, BACK);
	assert_int_equal(f->n_out, n);
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(f->out[i].data, gateway_mac, 6);
}

static void assert_reordered(const struct fixture *f, uint32_t packets)
{
	const struct sn_spots *spots = &sn_wires_of(f->wires, BACK)->spots;

	for (uint32_t i = 0; i < SN_SPOT_CONTRADICTIONS; i++)
		assert_int_equal(atomic_load(&spots->contradicted[i]), i == SN_SPOT_REORDERED ? packets : 0);
}

static void a_packet_that_overtakes_is_found(void **state)
{
	struct fixture *f = *state;

	for (uint32_t n = 1; n <= 100; n++) { /* more than there are addresses */
		assert_true(send_two(f, 5000, 5000));
		turn(f);
		come_back(f);
		assert_reordered(f, n);
	}
}

static void packets_in_order_are_not(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 100; i++) {
		assert_true(send_two(f, 5000, 5000));
		come_back(f);
	}
	assert_reordered(f, 0);
}

static void packets_of_other_flows_may_overtake(void **state)
{
	struct fixture *f = *state;

	assert_false(send_two(f, 5000, 5001));
	turn(f);
	come_back(f);
	assert_reordered(f, 0);
}

static void one_whose_other_is_dropped_has_not_overtaken(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 100; i++) {
		assert_true(send_two(f, 5000, 5000));
		turn(f);
		f->n_out = 1; /* the first one never comes */
		come_back(f);
		tick(f, 70 * SECOND);
	}
	assert_true(send_two(f, 5000, 5000));
	come_back(f);
	assert_reordered(f, 0);
}

static void one_that_is_late_by_long_is_found(void **state)
{
	struct fixture *f = *state;
	struct sent first;

	assert_true(send_two(f, 5000, 5000));
	first = f->out[0];
	turn(f);
	f->n_out = 1;
	come_back(f);
	tick(f, 10 * SECOND);
	tick(f, 10 * SECOND);
	f->out[0] = first;
	f->n_out = 1;
	come_back(f);
	assert_reordered(f, 1);
}

static void one_that_may_reorder_has_one_packet_checked(void **state)
{
	struct fixture *f = *state;

	assert_false(send_two(f, 5000, 5000));
	turn(f);
	come_back(f);
	assert_reordered(f, 0);
}

#define ORDER_TEST(test) cmocka_unit_test_setup_teardown(test, open_in_order, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORDER_TEST(a_packet_that_overtakes_is_found),
		ORDER_TEST(packets_in_order_are_not),
		ORDER_TEST(packets_of_other_flows_may_overtake),
		ORDER_TEST(one_whose_other_is_dropped_has_not_overtaken),
		ORDER_TEST(one_that_is_late_by_long_is_found),
		cmocka_unit_test_setup_teardown(one_that_may_reorder_has_one_packet_checked,
						open_in_any_order, close_fixture),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
