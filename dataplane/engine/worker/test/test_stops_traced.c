/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that are traced on both sides of a function. */

#include "stop_fixture.h"

#include "sn_parse.h"
#include "sn_spot.h"
#include "sn_wires.h"

#define RARELY 1000000 /* one in so many is looked at: the first one, and no other of a test */

/* A trace of the fixture's worker. */
struct rig {
	struct sn_trace_rules rules;
	struct sn_trace *trace;
};

static struct rig *trace(struct fixture *f, uint8_t epoch, uint32_t one_in, bool *classes)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->rules = (struct sn_trace_rules){
		.one_in = one_in,
		.snap_len = 64,
		.max_packets = 1000,
		.until_ns = UINT64_MAX,
		.classes = classes,
		.seed = 1,
		.epoch = epoch,
	};
	r->trace = sn_trace_create(&r->rules, 3);
	assert_non_null(r->trace);
	sn_worker_set_trace(f->worker, r->trace);
	return r;
}

/* The trace has a packet by its number, and whose way it goes on; 0: it is another one's. */
static void assert_traced(struct rig *r, uint64_t number, uint64_t first)
{
	struct sn_trace_packet head;

	assert_true(take_record(r->trace, &head));
	assert_int_equal(head.number, number);
	assert_int_equal(head.first_number, first);
	assert_int_equal(head.first_worker, first ? 3 : 0);
}

static void assert_no_more(struct rig *r)
{
	struct sn_trace_packet head;

	assert_false(take_record(r->trace, &head));
}

/* The trace has nothing else. */
static void end(struct fixture *f, struct rig *r)
{
	assert_no_more(r);
	sn_worker_set_trace(f->worker, NULL);
	sn_trace_free(r->trace);
	free(r);
}

static bool left_alone(const struct fixture *f)
{
	return f->out[0].data[6] == SN_SPOT_FIRST;
}

static void a_packet_is_the_same_one_behind_its_function(void **state)
{
	struct fixture *f = *state;
	struct rig *r;

	load(f);
	r = trace(f, 1, 1, NULL);
	send_out(f, 5000);
	assert_true(left_alone(f));
	send_back(f, BACK);
	assert_sent(f, 1);
	send_out(f, 5001);
	send_back(f, BACK);
	assert_traced(r, 1, 0);
	assert_traced(r, 2, 1);
	assert_traced(r, 3, 0);
	assert_traced(r, 4, 3);
	end(f, r);
}

static void so_it_is_behind_a_second_one(void **state)
{
	struct fixture *f = *state;
	struct rig *r;

	add_stop(f, BEHIND);
	load(f);
	r = trace(f, 1, RARELY, NULL);
	send_out(f, 5000);
	send_back(f, BACK);
	assert_int_equal(f->n_out, 1);
	assert_true(f->program->interfaces[f->out[0].iface].wire);
	send_back(f, f->program->n_interfaces - 1);
	assert_sent(f, 1);
	assert_traced(r, 1, 0);
	assert_traced(r, 2, 1);
	assert_traced(r, 3, 1);
	end(f, r);
}

static void a_packet_that_is_looked_at_is_followed_and_no_other(void **state)
{
	struct fixture *f = *state;
	struct rig *r;

	load(f);
	r = trace(f, 1, RARELY, NULL);
	for (uint16_t i = 0; i < 3; i++) {
		send_out(f, 5000 + i);
		send_back(f, BACK);
		assert_sent(f, 1);
	}
	assert_traced(r, 1, 0);
	assert_traced(r, 2, 1);
	end(f, r);
}

/* A function may send one frame again and again. */
static void a_packet_that_comes_back_twice_is_followed_once(void **state)
{
	struct fixture *f = *state;
	struct sent left;
	struct rig *r;

	load(f);
	r = trace(f, 1, RARELY, NULL);
	send_out(f, 5000);
	left = f->out[0];
	for (uint32_t i = 0; i < 3; i++) {
		f->out[0] = left;
		f->n_out = 1;
		send_back(f, BACK);
		assert_sent(f, 1);
	}
	assert_traced(r, 1, 0);
	assert_traced(r, 2, 1);
	end(f, r);
}

static void a_packet_that_is_not_wanted_is_not_followed(void **state)
{
	struct fixture *f = *state;
	bool classes[64] = {false};
	struct rig *r;

	load(f);
	assert_in_range(f->program->n_classes, 1, 64);
	r = trace(f, 1, 1, classes);
	send_out(f, 5000);
	send_back(f, BACK);
	assert_no_more(r);
	classes[f->program->segments[BEHIND].first_class] = true;
	send_out(f, 5001);
	send_back(f, BACK);
	assert_traced(r, 4, 3); /* for its own sake */
	assert_no_more(r);
	classes[f->program->segments[BEHIND].first_class] = false;
	classes[f->program->segments[0].first_class] = true;
	send_out(f, 5002);
	send_back(f, BACK);
	assert_traced(r, 5, 0);
	assert_traced(r, 6, 5); /* for the first part's */
	end(f, r);
}

static void a_trace_does_not_follow_what_an_earlier_one_began(void **state)
{
	struct fixture *f = *state;
	struct rig *r;

	load(f);
	r = trace(f, 1, 1, NULL);
	send_out(f, 5000);
	assert_traced(r, 1, 0);
	end(f, r);
	r = trace(f, 2, 1, NULL);
	send_back(f, BACK);
	assert_traced(r, 1, 0);
	end(f, r);
}

/* All spots of a way may be taken by packets that do not come back: half of them are left for checks. */
static void packets_that_do_not_come_back_leave_others_to_be_checked(void **state)
{
	struct fixture *f = *state;
	uint64_t checked;
	struct rig *r;

	load(f);
	r = trace(f, 1, 1, NULL);
	for (uint16_t i = 0; i < SN_SPOTS; i++) {
		send_out(f, 5000 + i);
		assert_int_equal(left_alone(f), i < SN_SPOTS / 2);
		assert_traced(r, i + 1u, 0);
	}
	end(f, r);
	checked = atomic_load(&sn_wires_of(f->wires, BACK)->spots.checked);
	assert_int_equal(checked, SN_SPOTS / 2);
	tick(f, 2 * SN_SPOTS_NS);
	forget(f);
	send_out(f, 6000);
	assert_true(left_alone(f));
	assert_int_equal(atomic_load(&sn_wires_of(f->wires, BACK)->spots.checked), checked + 1);
}

static void a_packet_that_goes_past_a_function_is_followed(void **state)
{
	static char *counter = (char *)"ips/bypassed";
	struct packet out = outward(SN_UDP, 5000);
	struct fixture *f = *state;
	struct rig *r;

	f->msg->n_counters = 1;
	f->msg->counters = &counter;
	leg_of(f, 0)->stop->down_case = SINTER__PROGRAM__V1__STOP__DOWN_BYPASS;
	load(f);
	for (uint32_t i = 0; i <= SN_PROBES_LOST_OPEN; i++)
		tick(f, 10 * MS);
	r = trace(f, 1, RARELY, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		send_packet(f, &out);
		assert_sent(f, 1);
	}
	assert_traced(r, 1, 0);
	assert_traced(r, 2, 1);
	end(f, r);
}

#define STOP_TEST(test) cmocka_unit_test_setup_teardown(test, open_stop, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STOP_TEST(a_packet_is_the_same_one_behind_its_function),
		STOP_TEST(so_it_is_behind_a_second_one),
		STOP_TEST(a_packet_that_is_looked_at_is_followed_and_no_other),
		STOP_TEST(a_packet_that_comes_back_twice_is_followed_once),
		STOP_TEST(a_packet_that_is_not_wanted_is_not_followed),
		STOP_TEST(a_trace_does_not_follow_what_an_earlier_one_began),
		STOP_TEST(packets_that_do_not_come_back_leave_others_to_be_checked),
		STOP_TEST(a_packet_that_goes_past_a_function_is_followed),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
