/* SPDX-License-Identifier: Apache-2.0 */
/* Shards and their workers: whose a packet is, what workers share, and into how many units a program can be
 * cut. */
#include "shards_world.h"

#include "sn_parse.h"

static void shards_are_split_evenly_among_the_workers(void **state)
{
	struct world *w = *state;
	uint32_t owned[WORKERS] = {0};

	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), SN_SHARDS);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		owned[sn_state_owner(sn_engine_state(w->engine), i)]++;
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_in_range(owned[i], SN_SHARDS / WORKERS, SN_SHARDS / WORKERS + 1);
		assert_int_equal(sn_state_partition(sn_engine_state(w->engine), i)->n_owned, owned[i]);
	}
}

static void both_directions_of_a_flow_are_its_owners_whoever_receives(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < 300; i++)
		for (uint32_t n = 0; n < 9; n++)
			send_flow(w, n % WORKERS, i, n > 0 && dice(2));
	for (uint32_t i = 0; i < 300; i++) {
		assert_false(w->flows[i].wandered);
		assert_int_equal(w->flows[i].worker, owner_of(w, i));
	}
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(w->n_out, 2700);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_in_range(stats_of(w, i)->packets, 600, 1200);
		assert_true(stats_of(w, i)->cache_hits > 200);
	}
}

static void a_million_flows_through_nat_are_each_seen_by_one_worker(void **state)
{
	struct world *w = *state;
	const uint32_t n = 1000000;
	uint64_t handed = 0, taken = 0, packets = 0, of_shards = 0;

	w->msg->tables[0]->pool[0]->last = SN_SAMPLE_POOL + 31;
	w->msg->tables[0]->max_sessions = 0;
	open_workers(w, 2);
	load_message(w);
	for (uint32_t turn = 0; turn < 3; turn++) { /* out, back, out */
		for (uint32_t i = 0; i < n; i += 32) {
			struct rte_mbuf *burst[32];

			for (uint32_t j = 0; j < 32; j++)
				burst[j] = next_packet(w, i + j, turn == 1);
			receive(w, (i / 32 + turn) % 2, turn == 1, burst, 32);
			settle(w);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (w->flows[i].wandered || w->flows[i].seen[0] != 2 || w->flows[i].seen[1] != 1)
			fail_msg("flow %u was seen by two workers or lost a packet", i);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n);
	for (uint32_t i = 0; i < 2; i++) {
		handed += stats_of(w, i)->handed;
		taken += stats_of(w, i)->taken;
		packets += stats_of(w, i)->packets;
		for (uint32_t s = 0; s < SN_SHARDS; s++) {
			const struct sn_shard_count *count = &stats_of(w, i)->shards[s];

			assert_int_equal(count->packets > 0,
					 sn_state_owner(sn_engine_state(w->engine), s) == i);
			of_shards += count->packets;
		}
	}
	assert_int_equal(packets, 3 * n);
	assert_in_range(of_shards, 3 * n / 20 * 19, 3 * n / 20 * 21); /* large bursts are counted by lot */
	assert_int_equal(handed, taken);
	assert_in_range(handed, n, 2 * n); /* every other packet comes to the wrong worker */
}

static void a_ring_that_is_full_costs_packets_under_a_reason_of_their_own(void **state)
{
	struct world *w = *state;
	uint32_t flow, more = 100;
	uint64_t handed;

	open_workers(w, WORKERS);
	load_message(w);
	flow = flow_of_worker(w, 1, 0);
	w->n_out = 0;
	handed = stats_of(w, 0)->handed;
	for (uint32_t i = 0; i < SN_EXCHANGE_RING + more; i++) {
		struct rte_mbuf *m = next_packet(w, flow, false);

		receive(w, 0, 0, &m, 1);
	}
	assert_int_equal(w->n_drops, more);
	assert_string_equal(sn_reason_name(w->last_reason), "handover-full");
	assert_int_equal(stats_of(w, 0)->drops[SN_REASON_HANDOVER_FULL].packets, more);
	assert_int_equal(stats_of(w, 0)->handed - handed, SN_EXCHANGE_RING);
	settle(w);
	assert_int_equal(w->n_out, SN_EXCHANGE_RING);
}

static void icmp_errors_go_to_the_worker_of_the_flow_that_they_quote(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < 60; i++) {
		struct packet error = {.proto = SN_ICMP, .type = 3, .code = 1, .payload_len = 28};
		struct packet about = outward(SN_UDP, FIRST_PORT + i);
		uint8_t quoted[FRAME_MAX], frame[FRAME_MAX];
		struct rte_mbuf *m;

		send_flow(w, i % WORKERS, i, false);
		move(w, shard_of(w, i), dice(WORKERS));
		error.payload = quoted + 14;
		if (i % 2) { /* from outside, about what went out */
			about.src = w->flows[i].outside_addr;
			about.sport = w->flows[i].outside_port;
			error.iface = 1;
			error.src = 0xcb007101;
			error.dst = about.src;
		} else { /* from inside, about what came back */
			about = (struct packet){.proto = SN_UDP,
						.src = SN_SAMPLE_REMOTE,
						.dst = SN_SAMPLE_HOST,
						.sport = 80,
						.dport = FIRST_PORT + i};
			error.src = SN_SAMPLE_HOST;
			error.dst = SN_SAMPLE_REMOTE;
		}
		write_frame(&about, quoted);
		m = buffer(frame, write_frame(&error, frame));
		w->watched = NULL;
		receive(w, dice(WORKERS), error.iface, &m, 1);
		settle(w);
		assert_non_null(w->watched);
		assert_int_equal(w->current, WORKERS - 1); /* settled */
		if (i % 2) {
			assert_int_equal(dst_of(w->watched), SN_SAMPLE_HOST);
			assert_int_equal(sn_load16(l4_of(w->watched) + 8 + 20), FIRST_PORT + i);
		} else {
			assert_int_equal(src_of(w->watched), w->flows[i].outside_addr);
			assert_int_equal(sn_load16(l4_of(w->watched) + 8 + 22), w->flows[i].outside_port);
		}
	}
	assert_int_equal(w->n_drops, 0);
}

static void the_rate_of_icmp_errors_is_that_of_all_workers_together(void **state)
{
	struct world *w = *state;
	struct packet p = outward(SN_TCP, 5000);
	uint8_t frame[FRAME_MAX];

	open_workers(w, WORKERS);
	load_message(w); /* with 100 errors per second */
	p.ttl = 1;
	for (uint32_t i = 0; i < 60 * WORKERS; i++) {
		struct rte_mbuf *m = buffer(frame, write_frame(&p, frame));

		receive(w, i % WORKERS, 0, &m, 1);
		settle(w);
	}
	assert_int_equal(w->n_out, 100);
	assert_int_equal(w->n_drops, 60 * WORKERS - 100);
	assert_string_equal(sn_reason_name(w->last_reason), "icmp-rate");
}

static void assert_lines(const void *memory)
{
	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % 64, 0);
}

static void what_a_worker_writes_begins_a_cache_line_of_its_own(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < WORKERS; i++) {
		const struct sn_mailbox *mailbox = mailbox_of(w->engine, i);
		const void *written[SN_WORKER_BLOCKS];
		const struct sn_partition *partition = sn_state_partition(sn_engine_state(w->engine), i);

		sn_worker_blocks(worker_of(w->engine, i), written);
		for (uint32_t j = 0; j < SN_WORKER_BLOCKS; j++)
			assert_lines(written[j]);
		assert_lines(mailbox);
		assert_lines(partition);
		assert_lines(partition->left);
		assert_lines(partition->reap_from);
		for (uint32_t j = 0; j < WORKERS; j++)
			if (i != j)
				assert_lines(mailbox->exchange->rings[i * WORKERS + j]);
	}
}

static void fragments_are_dropped_where_they_come(void **state)
{
	struct world *w = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[FRAME_MAX];

	open_workers(w, WORKERS);
	load_message(w);
	p.frag = 0x2000;
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct rte_mbuf *m = buffer(frame, write_frame(&p, frame));

		receive(w, i, 0, &m, 1);
		assert_int_equal(stats_of(w, i)->drops[SN_REASON_NAT_FRAGMENT].packets, 1);
		assert_int_equal(stats_of(w, i)->handed, 0);
	}
}

static void sessions_expire_where_their_shard_is(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < 300; i++)
		send_flow(w, i % WORKERS, i, false);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		move(w, i, 2);
	tick_all(w);
	assert_int_equal(sum_sessions(w), 300);
	let_pass(w->engine, 301 * SECOND);
	for (uint32_t n = 0; n < SN_SHARDS; n++)
		for (uint32_t i = 0; i < 2; i++)
			sn_worker_tick(worker_of(w->engine, i), now_of(w->engine));
	assert_int_equal(sum_sessions(w), 300); /* they own nothing */
	tick_all(w);
	assert_int_equal(sum_sessions(w), 0);
}

static void limits_hold_for_all_workers_together(void **state)
{
	struct world *w = *state;
	uint32_t opened = 0;

	w->msg->tables[0]->max_sessions = 50;
	w->msg->runs[0]->max_sessions = 40;
	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < SN_SHARDS; i++) /* one worker has it all, but not all room */
		move(w, i, i < SN_SHARDS / 2 ? 0 : 1);
	for (uint32_t i = 0; i < 1000; i++) {
		opened += opens(w, i);
		if (i % 10 == 9)
			sn_shards_level(sn_engine_shards(w->engine));
		assert_true(opened <= 40);
	}
	assert_int_equal(opened, 40);
	assert_int_equal(sum_sessions(w), 40);
	let_pass(w->engine, 301 * SECOND);
	tick_all(w);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		move(w, i, 2);
	for (uint32_t i = 1000; i < 1041; i++)
		assert_int_equal(opens(w, i), i < 1040); /* the room came with the shards */
}

static void a_program_that_cannot_be_cut_stays_with_one_worker(void **state)
{
	struct world *w = *state;
	Sinter__Program__V1__Leg *out = w->msg->segments[0]->classes[0]->legs[0];

	/* A packet that goes out is looked up as if it came back: a hairpin. */
	out->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	out->segment = 1;
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), 1);
	assert_int_equal(sn_shards_begin(sn_engine_shards(w->engine), 1, 0, &w->err), -1);
	assert_string_equal(w->err.text, "move: shard 1, there are 1");
	move(w, 0, 2);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_true(sn_state_partition(sn_engine_state(w->engine), 2)->owned[i]);
}

/* Packets that go out are copied to another port, whose own address replies to hosts inside. */
static void add_capture(struct world *w, Sinter__Program__V1__Leg *from_capture)
{
	static Sinter__Program__V1__Interface capture;
	static Sinter__Program__V1__Interface *interfaces[3];
	static Sinter__Program__V1__Segment segment;
	static Sinter__Program__V1__Segment *segments[5];
	static Sinter__Program__V1__Class only, *classes = &only;
	static Sinter__Program__V1__Generator host, *generators[2];
	static Sinter__Program__V1__Leg copy, *legs[2], *last;
	Sinter__Program__V1__Class *out = w->msg->segments[0]->classes[0];

	sinter__program__v1__leg__init(&copy);
	copy.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT;
	copy.output = 2;
	legs[0] = out->legs[0];
	legs[1] = &copy;
	out->legs = legs;
	out->n_legs = 2;
	host = *w->msg->generators[0];
	host.name = (char *)"capture/host";
	host.kind = SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST;
	host.type = 0;
	generators[0] = w->msg->generators[0];
	generators[1] = &host;
	w->msg->generators = generators;
	w->msg->n_generators = 2;
	capture = *w->msg->interfaces[0];
	capture.name = (char *)"capture";
	capture.address = SN_SAMPLE_INSIDE + 0x10000;
	capture.segment = 4;
	capture.n_neighbors = 0;
	memcpy(interfaces, w->msg->interfaces, 2 * sizeof(*interfaces));
	interfaces[2] = &capture;
	w->msg->interfaces = interfaces;
	w->msg->n_interfaces = 3;
	only = *w->msg->segments[3]->classes[0];
	last = from_capture;
	only.legs = &last;
	segment = *w->msg->segments[3];
	segment.name = (char *)"capture";
	segment.classes = &classes;
	memcpy(segments, w->msg->segments, 4 * sizeof(*segments));
	segments[4] = &segment;
	w->msg->segments = segments;
	w->msg->n_segments = 5;
}

static void errors_about_copies_that_nobody_answers_do_not_hinder_the_cut(void **state)
{
	struct world *w = *state;
	Sinter__Program__V1__Leg leg = SINTER__PROGRAM__V1__LEG__INIT;

	leg.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR;
	leg.generator = 1;
	add_capture(w, &leg);
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), SN_SHARDS);
}

static void a_program_whose_errors_about_copies_meet_state_is_not_cut(void **state)
{
	struct world *w = *state;
	Sinter__Program__V1__Leg leg = SINTER__PROGRAM__V1__LEG__INIT;

	leg.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT; /* by the NAPT */
	leg.segment = 0;
	add_capture(w, &leg);
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), 1);
}

static void a_small_pool_has_as_many_units_as_it_can_feed(void **state)
{
	struct world *w = *state;

	w->msg->tables[0]->port_min = 2000;
	w->msg->tables[0]->port_max = 2255;
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), 4);
	for (uint32_t n = 0; n < 400; n++) {
		move(w, dice(4), dice(WORKERS));
		send_flow(w, dice(WORKERS), n % 20, n >= 20 && dice(2));
	}
	all_packets_came(w, 20);
	assert_int_equal(w->n_drops, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(shards_are_split_evenly_among_the_workers),
		WITH_WORLD(both_directions_of_a_flow_are_its_owners_whoever_receives),
		WITH_WORLD(a_million_flows_through_nat_are_each_seen_by_one_worker),
		WITH_WORLD(a_ring_that_is_full_costs_packets_under_a_reason_of_their_own),
		WITH_WORLD(icmp_errors_go_to_the_worker_of_the_flow_that_they_quote),
		WITH_WORLD(the_rate_of_icmp_errors_is_that_of_all_workers_together),
		WITH_WORLD(what_a_worker_writes_begins_a_cache_line_of_its_own),
		WITH_WORLD(fragments_are_dropped_where_they_come),
		WITH_WORLD(sessions_expire_where_their_shard_is),
		WITH_WORLD(limits_hold_for_all_workers_together),
		WITH_WORLD(a_program_that_cannot_be_cut_stays_with_one_worker),
		WITH_WORLD(errors_about_copies_that_nobody_answers_do_not_hinder_the_cut),
		WITH_WORLD(a_program_whose_errors_about_copies_meet_state_is_not_cut),
		WITH_WORLD(a_small_pool_has_as_many_units_as_it_can_feed),
		WITH_RSS_WORLD(both_directions_of_a_flow_are_its_owners_whoever_receives),
		WITH_RSS_WORLD(icmp_errors_go_to_the_worker_of_the_flow_that_they_quote),
		WITH_RSS_WORLD(limits_hold_for_all_workers_together),
		WITH_RSS_WORLD(a_small_pool_has_as_many_units_as_it_can_feed),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
