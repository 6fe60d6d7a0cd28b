/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that lose their rules by a reset, and how they get them again. */
#include "flows_world.h"

static void rules_are_made_again_after_a_reset(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	drop_port_9(f);
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 1);
	add_cond(f, step_create(f, 7, 0, QUEUE, 1), SN_DST, 7, UINT32_MAX);
	update_well(f, "inside");
	stand_in[f->ports[0].id].rules = 1; /* less room than before */
	stand_in_lose(f->ports[0].id);
	assert_int_equal(list(f, "inside")->resets, 1);
	assert_string_equal(list(f, "inside")->lost, "no room for another rule");
	assert_int_equal(stand_in[f->ports[0].id].installed, 1);
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->n_flows, 1);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 2);
	assert_int_equal(list(f, "outside")->resets, 0);
}

/* A rule that has packets of the host to port 9 pass, above one that drops all to port 9; numbers 1 and 2. */
static void cover(struct flows *f, uint32_t queue)
{
	rule_msg *r = step_create(f, 1, 0, QUEUE, queue);

	add_cond(f, r, SN_SRC, SN_SAMPLE_HOST, UINT32_MAX);
	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
}

static void drop_below(struct flows *f)
{
	rule_msg *r = step_create(f, 2, 1, DROP, 0);

	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
}

static void after_a_reset_no_rule_is_there_without_those_that_it_relies_on(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];

	for (uint32_t made_anew = 0; made_anew < 2; made_anew++) {
		add_cond(f, step_create(f, 5, 0, QUEUE, 0), SN_DST, 5, UINT32_MAX);
		cover(f, 1);
		drop_below(f);
		update_well(f, "inside");
		if (made_anew) { /* the cover is younger than what relies on it */
			step_destroy(f, 1);
			cover(f, 1);
			update_well(f, "inside");
		}
		s->queues = 1; /* less than before: the cover is refused */
		stand_in_lose(f->ports[0].id);
		assert_string_equal(list(f, "inside")->lost, "no such queue");
		assert_int_equal(list(f, "inside")->n_flows, 1);
		assert_int_equal(list(f, "inside")->flows[0]->number, 5);
		assert_int_equal(s->installed, 1);
		s->queues = WORKERS;
		step_destroy(f, 5);
		update_well(f, "inside");
	}
}

static void after_a_reset_no_rule_jumps_where_rules_are_missing(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];

	step_create(f, 1, 1, QUEUE, 0)->table = 1;
	step_create(f, 2, 0, QUEUE, 1)->table = 1;
	step_create(f, 3, 0, JUMP, 0);
	update_well(f, "inside");
	step_destroy(f, 1);
	step_create(f, 1, 1, QUEUE, 1)->table = 1; /* is younger than what jumps there */
	update_well(f, "inside");
	s->rules = 2;
	stand_in_lose(f->ports[0].id);
	assert_int_equal(list(f, "inside")->n_flows, 2);
	assert_int_equal(list(f, "inside")->flows[0]->number, 1);
	assert_int_equal(list(f, "inside")->flows[1]->number, 2);
	s->rules = 1;
	stand_in_lose(f->ports[0].id);
	assert_int_equal(list(f, "inside")->n_flows, 1);
	assert_int_equal(list(f, "inside")->flows[0]->number, 1); /* the end of the table */
}

static void while_a_device_cannot_be_reset_its_driver_is_not_asked_for_its_rules(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	struct packet p = from_host(0, 9);

	drop_port_9(f);
	add_cond(f, step_create(f, 7, 0, QUEUE, 1), SN_DST, 7, UINT32_MAX);
	update_well(f, "inside");
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 1);
	s->stuck = true;
	stand_in_lose(f->ports[0].id);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(list(f, "inside")->n_flows, 2);
	assert_int_equal(s->resets, 1); /* not at each look */
	step_destroy(f, 7);
	update_well(f, "inside");
	sn_offload_flows(sn_engine_offload(f->engine), &f->ports[0])->reset_ns = 0; /* time passes */
	(void)list(f, "inside");
	assert_int_equal(s->resets, 2);
	assert_int_equal(sn_offload_flows(sn_engine_offload(f->engine), &f->ports[0])->pause_ns, 2 * SECOND);
	s->stuck = false;
	sn_offload_flows(sn_engine_offload(f->engine), &f->ports[0])->reset_ns = 0;
	assert_int_equal(list(f, "inside")->resets, 1);
	assert_int_equal(list(f, "inside")->n_flows, 1);
	assert_int_equal(s->installed, 1);
	assert_int_equal(sn_offload_flows(sn_engine_offload(f->engine), &f->ports[0])->pause_ns, 0);
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 2);
}

struct held {
	const struct sn_engine *engine;
	uint32_t looks, held;
};

static void look_for_held_workers(void *context)
{
	struct held *h = context;

	h->looks++;
	h->held += sn_threads_held(sn_engine_threads(h->engine));
}

static void workers_go_on_while_rules_are_made_again(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	struct held held = {.engine = f->engine};

	for (uint32_t i = 0; i < 9; i++)
		add_cond(f, step_create(f, i, 0, QUEUE, 1), SN_DST, i, UINT32_MAX);
	update_well(f, "inside");
	s->look = look_for_held_workers;
	s->context = &held;
	stand_in_lose(f->ports[0].id);
	(void)list(f, "inside");
	assert_int_equal(s->installed, 9);
	assert_int_equal(held.looks, 9);
	assert_int_equal(held.held, 0);
	s->rules = 0;
	stand_in_lose(f->ports[0].id);
	(void)list(f, "inside");
	assert_false(f->ports[0].watched); /* no rule is left */
	s->rules = STAND_IN_RULES;
	s->look = NULL;
}

static void a_refusal_that_another_way_made_good_is_not_told(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	const response_msg *r;

	s->spreads_not = true;
	add_cond(f, step_create(f, 1, 0, PASS, 0), SN_DST, 7, UINT32_MAX);
	r = update(f, "inside");
	assert_int_equal(r->flows_updated->done, 1);
	assert_string_equal(r->flows_updated->refused, "");
	stand_in_lose(f->ports[0].id);
	assert_string_equal(list(f, "inside")->lost, "");
	assert_int_equal(list(f, "inside")->n_flows, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_are_made_again_after_a_reset),
		TEST(after_a_reset_no_rule_is_there_without_those_that_it_relies_on),
		TEST(after_a_reset_no_rule_jumps_where_rules_are_missing),
		TEST(while_a_device_cannot_be_reset_its_driver_is_not_asked_for_its_rules),
		TEST(workers_go_on_while_rules_are_made_again),
		TEST(a_refusal_that_another_way_made_good_is_not_told),
	};

	return cmocka_run_group_tests(tests, start_flows, stop_eal);
}
