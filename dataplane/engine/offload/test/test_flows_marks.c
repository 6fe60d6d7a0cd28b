/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of devices as classes: when they are believed, and how a wrong one is found. */
#include "flows_world.h"

/* Which class the sample's packets have: 0 passes, 1 is port 9. */
static void mark_classes(struct flows *f, uint32_t generation)
{
	rule_msg *r = step_create(f, 1, 0, QUEUE, 0);

	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
	r->mark = generation << SHIFT | 2;
	step_create(f, 2, 1, QUEUE, 0)->mark = generation << SHIFT | 1;
	update_well(f, "inside");
}

static void a_believed_mark_is_the_class(void **state)
{
	struct flows *f = *state;
	struct packet p;

	mark_classes(f, GENERATION);
	p = from_host(0, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0); /* not asked to */
	believe(f, "inside");
	for (uint32_t host = 1; host < 9; host++) {
		p = from_host(host, 80);
		assert_int_equal(come(f, 0, &p), 1);
		p = from_host(host, 9);
		assert_int_equal(come(f, 0, &p), 0);
	}
	assert_int_equal(stats(f, 0)->marked, 16);
	assert_int_equal(stats(f, 0)->misclassified, 0);
	assert_int_equal(stats(f, 0)->flow_mismarked, 0);
	assert_true(list(f, "inside")->believed);
}

static void a_marked_packet_of_another_workers_shard_counts_once(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(100, 80);

	mark_classes(f, GENERATION);
	believe(f, "inside");
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(handed(f), 1);
	assert_int_equal(stats(f, 0)->rx_packets, 1);
	assert_int_equal(stats(f, 0)->marked, 1);
}

static void marks_of_another_generation_are_not_believed(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	mark_classes(f, GENERATION);
	believe(f, "inside");
	load_program(f, GENERATION + 1);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0);
	load_program(f, GENERATION);
	p = from_host(1, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 1);
}

static void packets_about_to_die_and_fragments_are_classified_whatever_their_mark(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	mark_classes(f, GENERATION);
	believe(f, "inside");
	p.ttl = 1;
	come(f, 0, &p);
	p.ttl = 64;
	p.frag = 0x2000;
	come(f, 0, &p);
	assert_int_equal(stats(f, 0)->marked, 0);
	assert_int_equal(stats(f, 0)->misclassified, 0); /* not so much as looked at */
}

static void a_wrong_mark_is_found_and_marks_are_no_longer_believed(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	/* Class 0 becomes class 1, which drops. */
	stand_in[f->ports[0].id].mark_errors = 1;
	mark_classes(f, GENERATION);
	believe(f, "inside");
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(come(f, 0, &p), 1); /* the worker knows, the control thread does not yet */
	assert_int_equal(stats(f, 0)->misclassified, 1);
	assert_int_equal(stats(f, 0)->flow_mismarked, 2);
	assert_false(list(f, "inside")->believed);
	p = from_host(1, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0);
	/* Until somebody asks to. */
	stand_in[f->ports[0].id].mark_errors = 0;
	believe(f, "inside");
	p = from_host(2, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 1);
}

static void a_mark_of_no_class_is_not_believed(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	step_create(f, 2, 1, QUEUE, 0)->mark = GENERATION << SHIFT | 4; /* the segment has three */
	update_well(f, "inside");
	believe(f, "inside");
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0);
	assert_int_equal(stats(f, 0)->misclassified, 0);
}

static void marks_that_cannot_be_are_refused_with_the_program(void **state)
{
	struct flows *f = *state;
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__Load load = SINTER__CONTROL__V1__LOAD__INIT;
	Sinter__Flows__V1__Marks marks = SINTER__FLOWS__V1__MARKS__INIT;

	load.program = sn_sample_encode(&f->arena, f->program);
	load.marks = &marks;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	marks.shift = 29;
	assert_says(ask(f, &request)->error, "shift 29, want 1..28");
	marks.shift = 20;
	marks.generation = 16;
	assert_says(ask(f, &request)->error, "generation 16, want 0..15");
	load.marks = NULL;
	ask_well(f, &request);
	assert_says(update_with(f, "inside", SINTER__FLOWS__V1__MARK_BELIEF__BELIEVED, NULL)->error,
		    "no program with marks");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_believed_mark_is_the_class),
		TEST(a_marked_packet_of_another_workers_shard_counts_once),
		TEST(marks_of_another_generation_are_not_believed),
		TEST(packets_about_to_die_and_fragments_are_classified_whatever_their_mark),
		TEST(a_wrong_mark_is_found_and_marks_are_no_longer_believed),
		TEST(a_mark_of_no_class_is_not_believed),
		TEST(marks_that_cannot_be_are_refused_with_the_program),
	};

	return cmocka_run_group_tests(tests, start_flows, stop_eal);
}
