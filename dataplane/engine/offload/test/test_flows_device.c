/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of a device with rules, found by trying. */
#include "flows_world.h"

static uint32_t matching_of(const Sinter__Flows__V1__Device *d, enum sn_field field)
{
	for (size_t i = 0; i < d->flows->n_fields; i++)
		if ((enum sn_field)d->flows->fields[i]->field == field)
			return d->flows->fields[i]->matching;
	return SINTER__FLOWS__V1__FLOW_CAPABILITIES__MATCHING__NEVER;
}

static bool has_refusal(const Sinter__Flows__V1__Device *d, const char *of, const char *words)
{
	for (size_t i = 0; i < d->flows->n_refusals; i++)
		if (strcmp(d->flows->refusals[i]->of, of) == 0)
			return strcmp(d->flows->refusals[i]->words, words) == 0;
	return false;
}

static void what_a_device_can_do_is_found_by_trying(void **state)
{
	struct flows *f = *state;
	const Sinter__Flows__V1__Device *d = device(f, 0);

	assert_string_equal(d->interface, "inside");
	assert_string_equal(d->driver, "net_ring");
	assert_int_equal(d->queues, WORKERS);
	assert_int_equal(d->flows->rules, 0); /* not tried */
	assert_int_equal(d->flows->priorities, 64);
	assert_int_equal(d->flows->mark_bits, 24);
	assert_true(d->flows->drop && d->flows->count && d->flows->queue && d->flows->jump);
	assert_true(d->flows->dst_mac && d->flows->untagged);
	assert_int_equal(d->flows->fragments,
			 SINTER__FLOWS__V1__FLOW_CAPABILITIES__FRAGMENTS__FRAGMENTS_TOLD);
	for (enum sn_field field = 0; field < SN_FIELDS; field++)
		if (field != SN_FRAG)
			assert_int_equal(matching_of(d, field),
					 SINTER__FLOWS__V1__FLOW_CAPABILITIES__MATCHING__RANGED);
	assert_int_equal(d->flows->n_refusals, 0);
	assert_int_equal(stand_in[f->ports[0].id].installed, 0);
}

static void what_a_device_can_do_is_tried_with_no_packet_that_may_come(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	struct packet p = from_host(0, 80);
	uint8_t frame[FRAME_MAX] = {0};

	s->bystander = frame;
	for (uint32_t bit = 0; bit < 8; bit++) { /* what is like 255.255.255.255 and a host's address */
		p.src = ~(UINT32_C(1) << (24 + bit));
		if (p.src >> 28 == 15)
			continue;
		write_frame(&p, frame);
		(void)device(f, 0);
	}
	assert_true(s->created > 0);
	assert_int_equal(s->disturbed, 0);
}

static void what_a_device_cannot_do_comes_with_its_drivers_words(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	const Sinter__Flows__V1__Device *d;

	s->masks = s->ranges = s->marks = s->jumps = s->counts = false;
	s->priorities = 1;
	s->rules = 40;
	d = device(f, 100);
	assert_int_equal(d->flows->rules, 40);
	assert_int_equal(d->flows->priorities, 1);
	assert_int_equal(d->flows->mark_bits, 0);
	assert_false(d->flows->jump || d->flows->count);
	assert_true(d->flows->drop && d->flows->queue);
	assert_int_equal(matching_of(d, SN_SRC), SINTER__FLOWS__V1__FLOW_CAPABILITIES__MATCHING__EXACT);
	assert_int_equal(matching_of(d, SN_DPORT), SINTER__FLOWS__V1__FLOW_CAPABILITIES__MATCHING__EXACT);
	assert_true(has_refusal(d, "src by prefix", "whole values only"));
	assert_true(has_refusal(d, "count", "no counters"));
	assert_true(has_refusal(d, "priority 1", "no such priority"));
	assert_int_equal(s->installed, 0);
	s->rules = 0;
	d = device(f, 100);
	assert_string_equal(d->flows->refused, "this device knows no rules");
	assert_int_equal(d->flows->n_fields, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_device_can_do_is_found_by_trying),
		TEST(what_a_device_can_do_is_tried_with_no_packet_that_may_come),
		TEST(what_a_device_cannot_do_comes_with_its_drivers_words),
	};

	return cmocka_run_group_tests(tests, start_flows, stop_eal);
}
