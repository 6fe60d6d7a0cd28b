/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for devices: that they are made as asked, and what they do is checked by the packets that come. */
#include "flows_world.h"

#include "sn_offload.h"
#include "sn_shards.h"

/* A rule per shard, in both directions: numbers are shards. */
static void steer_shards(struct flows *f)
{
	uint32_t units = sn_state_units(sn_engine_state(f->engine));

	for (uint32_t s = 0; s < units; s++)
		add_cond(f, step_create(f, s, 0, QUEUE, sn_state_owner(sn_engine_state(f->engine), s)),
			 SN_SRC, s, units - 1);
	update_well(f, "inside");
	for (uint32_t s = 0; s < units; s++) {
		rule_msg *r = step_create(f, s, 0, QUEUE, sn_state_owner(sn_engine_state(f->engine), s));

		add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
		add_cond(f, r, SN_DPORT, s, units - 1);
	}
	update_well(f, "outside");
}

/* Packets of many hosts' flows, there and back. */
static void exchange(struct flows *f)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		struct packet p = from_host(host, 80);

		assert_int_equal(come(f, 0, &p), 1);
		p = inward(SN_UDP, f->last_sport);
		p.dst = f->last_src;
		assert_int_equal(come(f, 1, &p), 1);
		assert_int_equal(f->last_dst, SN_SAMPLE_HOST + host);
		if (host % 64 == 0)
			(void)stats(f, 0);
	}
}

static void each_packet_comes_to_the_owner_of_its_shard_in_both_directions(void **state)
{
	struct flows *f = *state;
	const Sinter__Control__V1__PortStats *s;
	const Sinter__Flows__V1__FlowList *l;
	uint32_t executed = 0;

	for (uint32_t shard = 0; shard < sn_state_units(sn_engine_state(f->engine)); shard += 2) {
		uint64_t blocked;
		struct sn_error err;

		assert_int_equal(sn_shards_move(sn_engine_shards(f->engine), shard, 1, &blocked, &err), 0);
	}
	steer_shards(f);
	exchange(f);
	assert_int_equal(handed(f), 0);
	for (unsigned int port = 0; port < 2; port++) {
		s = stats(f, port);
		assert_int_equal(s->strays, 0);
		assert_in_range(s->flow_checked, HOSTS / 2, HOSTS);
		assert_int_equal(s->flow_misqueued + s->flow_undropped + s->flow_mismarked, 0);
	}
	l = list(f, "outside");
	for (size_t i = 0; i < l->n_flows; i++)
		executed += l->flows[i]->verdict == SINTER__FLOWS__V1__FLOW_STATE__VERDICT__EXECUTED;
	assert_in_range(executed, l->n_flows / 2, l->n_flows);
}

static void a_device_that_ignores_rules_is_found_out(void **state)
{
	struct flows *f = *state;
	const Sinter__Flows__V1__FlowList *l;
	uint32_t ignored = 0;

	stand_in[f->ports[0].id].ignores = true;
	for (uint32_t shard = 0; shard < sn_state_units(sn_engine_state(f->engine)); shard += 2) {
		uint64_t blocked;
		struct sn_error err;

		assert_int_equal(sn_shards_move(sn_engine_shards(f->engine), shard, 1, &blocked, &err), 0);
	}
	steer_shards(f);
	exchange(f);
	assert_in_range(stats(f, 0)->strays, HOSTS / 8, HOSTS);
	assert_in_range(stats(f, 0)->flow_misqueued, HOSTS / 8, HOSTS);
	assert_int_equal(stats(f, 1)->flow_misqueued, 0);
	l = list(f, "inside");
	for (size_t i = 0; i < l->n_flows; i++)
		ignored += l->flows[i]->verdict == SINTER__FLOWS__V1__FLOW_STATE__VERDICT__IGNORED;
	assert_in_range(ignored, 1, l->n_flows);
}

static void a_rule_that_drops_is_seen_by_its_counter(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);
	const Sinter__Flows__V1__FlowList *l;

	assert_int_equal(sn_offload_watch(sn_engine_offload(f->engine)), -1); /* nothing to watch */
	drop_port_9(f);
	assert_in_range(sn_offload_watch(sn_engine_offload(f->engine)), 1, 100); /* ms */
	assert_int_equal(list(f, "inside")->flows[0]->verdict,
			 SINTER__FLOWS__V1__FLOW_STATE__VERDICT__UNSEEN);
	for (uint32_t i = 0; i < 3; i++)
		come(f, 0, &p);
	assert_int_equal(stats(f, 0)->rx_packets, 0);
	l = list(f, "inside");
	assert_int_equal(l->flows[0]->packets, 3);
	assert_in_range(l->flows[0]->bytes, 3 * 42, 3 * 1500);
	assert_int_equal(l->flows[0]->verdict, SINTER__FLOWS__V1__FLOW_STATE__VERDICT__EXECUTED);
}

static void a_drop_that_is_not_executed_is_found_out(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	stand_in[f->ports[0].id].ignores_drops = true;
	drop_port_9(f);
	assert_int_equal(come(f, 0, &p), 0); /* software drops it */
	assert_int_equal(stats(f, 0)->flow_undropped, 1);
	assert_int_equal(list(f, "inside")->flows[0]->verdict,
			 SINTER__FLOWS__V1__FLOW_STATE__VERDICT__IGNORED);
}

static void what_came_before_a_rule_says_nothing_of_it(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	stand_in[f->ports[0].id].ignores_drops = true;
	drop_port_9(f);
	f->now = now_of(f->engine);
	come(f, 0, &p);
	assert_int_equal(stats(f, 0)->flow_checked, 0);
}

static void of_two_rules_the_one_above_decides(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	step_create(f, 1, 3, DROP, 0);
	add_cond(f, step_create(f, 2, 2, JUMP, 0), SN_SRC, p.src, UINT32_MAX);
	add_cond(f, step_create(f, 3, 1, PASS, 0), SN_SRC, p.src + 1, UINT32_MAX);
	step_create(f, 4, 0, QUEUE, 1)->table = 1;
	update_well(f, "inside");
	p.dport = 80;
	assert_int_equal(come(f, 0, &p), 1);
	p.src++;
	assert_int_equal(come(f, 0, &p), 1);
	p.src++;
	assert_int_equal(come(f, 0, &p), 0);
	assert_int_equal(stats(f, 0)->flow_checked, 2);
	assert_int_equal(stats(f, 0)->flow_misqueued + stats(f, 0)->flow_undropped, 0);
	assert_int_equal(list(f, "inside")->flows[1]->agreed, 1); /* the jump, by what it led to */
	assert_int_equal(list(f, "inside")->flows[3]->agreed, 1);
}

static void an_update_ends_at_the_first_step_that_is_refused(void **state)
{
	struct flows *f = *state;
	const response_msg *r;

	stand_in[f->ports[0].id].rules = 3;
	for (uint32_t i = 0; i < 5; i++)
		add_cond(f, step_create(f, 10 + i, 0, QUEUE, 1), SN_DST, i, UINT32_MAX);
	step_destroy(f, 10);
	r = update(f, "inside");
	assert_string_equal(r->error, "");
	assert_int_equal(r->flows_updated->done, 3);
	assert_string_equal(r->flows_updated->refused, "no room for another rule");
	assert_int_equal(list(f, "inside")->n_flows, 3);
	/* A rule that exists can be replaced. */
	step_destroy(f, 11);
	add_cond(f, step_create(f, 11, 0, QUEUE, 0), SN_DST, 11, UINT32_MAX);
	update_well(f, "inside");
	assert_int_equal(stand_in[f->ports[0].id].installed, 3);
}

static void an_update_that_cannot_be_does_nothing(void **state)
{
	struct flows *f = *state;

	step_create(f, 1, 0, DROP, 0);
	step_create(f, 2, 0, QUEUE, WORKERS);
	assert_says(update(f, "inside")->error, "step 1, rule 2: queue 2, the port has 2");
	step_create(f, 1, 0, DROP, 0);
	step_create(f, 1, 0, DROP, 0);
	assert_says(update(f, "inside")->error, "step 1: there is already a rule 1");
	step_create(f, 1, 0, DROP, 0);
	step_destroy(f, 2);
	assert_says(update(f, "inside")->error, "step 1: there is no rule 2");
	step_create(f, 1, 0, DROP, 0)->table = 2;
	assert_says(update(f, "inside")->error, "table 2, there are 2");
	step_create(f, 1, 0, JUMP, 0)->table = 1;
	assert_says(update(f, "inside")->error, "a jump from table 1");
	step_create(f, 1, 0, DROP, 0)->mark = 7;
	assert_says(update(f, "inside")->error, "mark 0x7 on packets that are dropped");
	add_cond(f, step_create(f, 1, 0, DROP, 0), SN_DPORT, 9, 0xffff);
	assert_says(update(f, "inside")->error, "want a rule for one protocol");
	step_create(f, 1, 0, DROP, 0);
	assert_says(update(f, "elsewhere")->error, "interface \"elsewhere\" is bound to no device");
	step_create(f, 1, 0, DROP, 0);
	assert_says(update_with(f, "inside", SINTER__FLOWS__V1__MARK_BELIEF__BELIEF_KEPT,
				&(struct turn){.shard = 128})
			    ->error,
		    "turn: shard 128");
	assert_int_equal(stand_in[f->ports[0].id].created, 0);
}

static void rules_follow_a_shard_to_its_owner(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);
	uint32_t shard = p.src % sn_state_units(sn_engine_state(f->engine));
	uint64_t blocked;
	struct sn_error err;
	const response_msg *r;

	steer_shards(f);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(sn_shards_move(sn_engine_shards(f->engine), shard, 1, &blocked, &err), 0);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->strays, 1);
	step_destroy(f, shard);
	add_cond(f, step_create(f, shard, 0, QUEUE, 1), SN_SRC, shard,
		 sn_state_units(sn_engine_state(f->engine)) - 1);
	r = update_with(f, "inside", SINTER__FLOWS__V1__MARK_BELIEF__BELIEF_KEPT,
			&(struct turn){.shard = shard, .from = 0});
	assert_string_equal(r->error, "");
	assert_int_equal(r->flows_updated->done, 2);
	assert_in_range(r->flows_updated->blocked_ns, 1, SECOND);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->strays, 1);
	assert_int_equal(sn_worker_stats(worker_of(f->engine, 1))->drops[SN_REASON_NOT_OURS].packets, 0);
}

static void a_cut_that_rules_forbid_changes_nothing_and_ends_nothing(void **state)
{
	struct flows *f = *state;
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__PartitionShards shards = SINTER__CONTROL__V1__PARTITION_SHARDS__INIT;
	Sinter__Control__V1__Partitioning partitioning = SINTER__CONTROL__V1__PARTITIONING__INIT;

	partitioning.by = SINTER__CONTROL__V1__PARTITIONING__BY__HOST;
	shards.partitioning = &partitioning;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_PARTITION_SHARDS;
	request.partition_shards = &shards;
	add_cond(f, step_create(f, 7, 0, QUEUE, 1), SN_DST, 7, UINT32_MAX);
	update_well(f, "inside");
	assert_says(ask(f, &request)->error, "shards: interface inside has flow rules");
	assert_false(f->requests.shutdown);
	step_destroy(f, 7);
	update_well(f, "inside");
	ask_well(f, &request);
	assert_int_equal(sn_state_partitioning(sn_engine_state(f->engine)).by, SN_PARTITION_BY_HOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_packet_comes_to_the_owner_of_its_shard_in_both_directions),
		TEST(a_device_that_ignores_rules_is_found_out),
		TEST(a_rule_that_drops_is_seen_by_its_counter),
		TEST(a_drop_that_is_not_executed_is_found_out),
		TEST(what_came_before_a_rule_says_nothing_of_it),
		TEST(of_two_rules_the_one_above_decides),
		TEST(an_update_ends_at_the_first_step_that_is_refused),
		TEST(an_update_that_cannot_be_does_nothing),
		TEST(rules_follow_a_shard_to_its_owner),
		cmocka_unit_test_setup_teardown(a_cut_that_rules_forbid_changes_nothing_and_ends_nothing,
						open_without_program, close_flows),
	};

	return cmocka_run_group_tests(tests, start_flows, stop_eal);
}
