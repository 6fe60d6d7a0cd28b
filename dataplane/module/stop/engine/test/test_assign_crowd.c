/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand flows at a function of which there are one, two and one replicas again. */

#include "assign_world.h"

#define FLOWS 10000u
#define OLD   5000u /* those that begin while there is one replica */
#define HOSTS 100u
#define NONE  0xffu

/* The replica that each has met. */
static uint8_t met[FLOWS];

static struct packet of_flow(uint32_t i)
{
	return remote(out(SN_UDP, (uint16_t)(5000 + i / HOSTS)), i % HOSTS);
}

/* Two packets of each flow that one replica has, or of all that any has: each comes out, and meets no other
 * one. */
static void pass(struct fixture *f, uint32_t first, uint32_t last, uint32_t replicas)
{
	for (uint32_t i = first; i < last; i++) {
		struct packet p = of_flow(i);

		if (met[i] != NONE && !(replicas >> met[i] & 1))
			continue;
		if (met[i] == NONE)
			met[i] = (uint8_t)cross(f, p);
		else
			goes_by(f, p, met[i]);
		goes_by(f, turned(p), met[i]);
	}
}

static uint32_t flows_of(uint32_t replica)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FLOWS; i++)
		n += met[i] == replica;
	return n;
}

static void no_flow_sees_two_replicas_and_none_is_lost_while_one_comes_and_goes(void **state)
{
	struct assign_options o = {.with = 1, .flows = 200000};
	struct fixture *f = *state;

	memset(met, NONE, sizeof(met));
	load_assign(f, o);
	pass(f, 0, OLD, BOTH);
	assert_int_equal(flows_of(0), OLD);
	o.with = BOTH;
	load_assign(f, o);
	assert_int_equal(f->kept, OLD);
	pass(f, 0, FLOWS, BOTH);
	assert_in_range(flows_of(1), OLD / 3, OLD * 2 / 3);
	assert_int_equal(flows_of(0) + flows_of(1), FLOWS);
	o.draining = 2;
	load_assign(f, o);
	pass(f, 0, FLOWS, BOTH);
	assert_int_equal(flows_at(f, 1).sessions, flows_of(1));
	while (flows_at(f, 1).sessions > 0) { /* those of the replica that drains have no more packets */
		tick(f, 5 * SECOND);
		pass(f, 0, FLOWS, 1);
	}
	o = (struct assign_options){.with = 1, .flows = 200000};
	load_assign(f, o);
	assert_int_equal(f->kept, flows_of(0));
	pass(f, 0, FLOWS, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			no_flow_sees_two_replicas_and_none_is_lost_while_one_comes_and_goes, open_assign,
			close_fixture),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
