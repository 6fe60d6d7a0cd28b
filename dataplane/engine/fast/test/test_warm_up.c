/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_parse.h"

#define REASON_DISCARD SN_REASON_CHAIN /* the sample's only one */

static const uint8_t protocols[] = {SN_TCP, SN_UDP, SN_ICMP};

static const struct sn_worker_stats *stats(struct fixture *f)
{
	return sn_worker_stats(f->worker);
}

static uint16_t go_out(struct fixture *f, const struct packet *p)
{
	send_packet(f, p);
	return sport_of(assert_sent(f, 1));
}

/* A flow of each protocol that the cache knows in both directions. */
static void open_flows(struct fixture *f, struct packet *out, struct packet *in)
{
	for (int i = 0; i < 3; i++) {
		out[i] = outward(protocols[i], 5000);
		out[i].flags = 0x10;
		in[i] = inward(protocols[i], go_out(f, &out[i]));
		in[i].flags = 0x10;
		for (int j = 0; j < 2; j++) {
			go_out(f, &out[i]);
			send_packet(f, &in[i]);
			assert_sent(f, 0);
		}
	}
}

static void flows_are_known_to_a_warmed_up_program_in_both_directions(void **state)
{
	struct fixture *f = *state;
	struct packet out[3], in[3];
	struct sent before[6];
	uint64_t hits, misses;

	load(f);
	open_flows(f, out, in);
	for (int i = 0; i < 3; i++) {
		send_packet(f, &out[i]);
		before[2 * i] = f->out[0];
		send_packet(f, &in[i]);
		before[2 * i + 1] = f->out[0];
	}
	hits = stats(f)->cache_hits;
	misses = stats(f)->cache_misses;
	load_warmed_up(f);
	for (int i = 0; i < 3; i++) {
		const struct packet *packets[] = {&out[i], &in[i]};

		for (int j = 0; j < 2; j++) {
			const struct sent *b = &before[2 * i + j];

			send_packet(f, packets[j]);
			assert_int_equal(f->n_out, 1);
			assert_int_equal(f->out[0].len, b->len);
			assert_memory_equal(f->out[0].data, b->data, b->len);
		}
	}
	assert_int_equal(stats(f)->cache_hits, hits + 6);
	assert_int_equal(stats(f)->cache_misses, misses);
}

static void a_warmed_up_program_decides_as_it_says_not_as_the_one_before(void **state)
{
	struct fixture *f = *state;
	struct packet out[3], in[3];

	load(f);
	open_flows(f, out, in);
	f->msg->segments[0]->table->bounds[0] = f->msg->segments[0]->table->bounds[1] = out[1].dport;
	load_warmed_up(f);
	send_packet(f, &out[1]);
	assert_dropped(f, REASON_DISCARD);
	send_packet(f, &in[1]);
	assert_sent(f, 0);
}

static void until_the_swap_the_old_program_decides(void **state)
{
	struct fixture *f = *state;
	struct sn_program *next;
	struct sn_counts *counts;
	struct packet out[3], in[3];

	load(f);
	open_flows(f, out, in);
	f->msg->segments[0]->table->bounds[0] = f->msg->segments[0]->table->bounds[1] = out[1].dport;
	next = sn_program_create(f->msg, f->program, &f->err);
	assert_non_null(next);
	counts = sn_counts_create(next);
	while (!sn_worker_warm_up(f->worker, next, counts, f->now)) {
		for (int i = 0; i < 3; i++) {
			go_out(f, &out[i]);
			send_packet(f, &in[i]);
			assert_sent(f, 0);
		}
	}
	go_out(f, &out[1]);
	sn_counts_free(sn_worker_set_program(f->worker, next, counts));
	sn_program_free(f->program);
	f->program = next;
	send_packet(f, &out[1]);
	assert_dropped(f, REASON_DISCARD);
}

static uint64_t counted(const struct fixture *f)
{
	struct sn_count classes[64] = {0}, counters[64] = {0}, reasons[64] = {0};
	uint64_t sum = 0;

	sn_counts_add(sn_worker_counts(f->worker), classes, counters, reasons);
	for (int i = 0; i < 64; i++)
		sum += classes[i].packets + counters[i].packets + reasons[i].packets;
	return sum;
}

static void a_warm_up_counts_nothing_sends_nothing_and_drops_nothing(void **state)
{
	struct fixture *f = *state;
	struct sn_worker_stats before;
	struct packet out[3], in[3];

	load(f);
	open_flows(f, out, in);
	f->msg->segments[0]->table->bounds[0] = f->msg->segments[0]->table->bounds[1] = out[1].dport;
	before = *stats(f);
	f->n_out = f->n_drops = 0;
	load_warmed_up(f);
	assert_int_equal(f->n_out, 0);
	assert_int_equal(f->n_drops, 0);
	assert_memory_equal(&before, stats(f), sizeof(before));
	assert_int_equal(counted(f), 0);
	go_out(f, &out[2]);
	assert_true(counted(f) > 0);
}

static void a_warm_up_keeps_no_idle_session_alive_and_makes_none(void **state)
{
	struct fixture *f = *state;
	struct sn_state_stats s;
	struct packet out[3], in[3];

	load(f);
	open_flows(f, out, in);
	f->now += 200 * SECOND;
	load_warmed_up(f);
	f->now += 101 * SECOND; /* UDP's 300 s since the last packet are over */
	send_packet(f, &in[1]);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
	load_warmed_up(f);
	sn_state_stats(f->state, 0, &s);
	assert_int_equal(s.created, 3);
	go_out(f, &out[1]);
	sn_state_stats(f->state, 0, &s);
	assert_int_equal(s.created, 4);
}

static void values_that_only_the_new_program_tells_apart_are_told_apart(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__Segment *segment;
	Sinter__Program__V1__BitSet *set;
	struct packet out[3], in[3];
	uint32_t range[] = {46, 46};
	uint64_t *required;

	load(f);
	open_flows(f, out, in);
	out[1].dscp = 46; /* the old program does not care: the entry is the same */
	go_out(f, &out[1]);
	/* The new one drops what has it: the first box asks for DSCP 46 instead of a port. */
	segment = f->msg->segments[0];
	set = sn_arena_alloc(&f->arena, sizeof(*set));
	sinter__program__v1__bit_set__init(set);
	set->field = (Sinter__Program__V1__Field)SN_DSCP;
	set->n_ranges = 2;
	set->ranges = range;
	required = sn_arena_alloc(&f->arena, segment->table->n_classes * sizeof(*required));
	memset(required, 0, segment->table->n_classes * sizeof(*required));
	required[0] = 1;
	segment->table->n_bits = 1;
	segment->table->bits = &set;
	segment->table->n_required = segment->table->n_classes;
	segment->table->required = required;
	segment->table->bounds[0] = 0;
	segment->table->bounds[1] = SN_PORT_ABSENT;
	load_warmed_up(f);
	send_packet(f, &out[1]);
	assert_dropped(f, REASON_DISCARD);
	out[1].dscp = 0;
	go_out(f, &out[1]);
}

static void where_interfaces_change_nothing_is_warmed_up(void **state)
{
	struct fixture *f = *state;
	struct packet out[3], in[3];
	uint64_t misses;

	load(f);
	open_flows(f, out, in);
	f->msg->interfaces[1]->mtu = 1400;
	misses = stats(f)->cache_misses;
	load_warmed_up(f);
	go_out(f, &out[0]);
	assert_int_equal(stats(f)->cache_misses, misses + 1);
}

static void a_warm_up_that_no_swap_follows_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct sn_program *never;
	struct sn_counts *counts;
	struct packet out[3], in[3];
	uint64_t misses;

	load(f);
	open_flows(f, out, in);
	never = sn_program_create(f->msg, f->program, &f->err);
	assert_non_null(never);
	counts = sn_counts_create(never);
	sn_worker_warm_up(f->worker, never, counts, f->now);
	load(f);
	sn_counts_free(counts);
	sn_program_free(never);
	misses = stats(f)->cache_misses;
	go_out(f, &out[0]);
	assert_int_equal(stats(f)->cache_misses, misses + 1);
	load_warmed_up(f);
	go_out(f, &out[0]);
	assert_int_equal(stats(f)->cache_misses, misses + 1);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(flows_are_known_to_a_warmed_up_program_in_both_directions),
		WITH_FIXTURE(a_warmed_up_program_decides_as_it_says_not_as_the_one_before),
		WITH_FIXTURE(until_the_swap_the_old_program_decides),
		WITH_FIXTURE(a_warm_up_counts_nothing_sends_nothing_and_drops_nothing),
		WITH_FIXTURE(a_warm_up_keeps_no_idle_session_alive_and_makes_none),
		WITH_FIXTURE(values_that_only_the_new_program_tells_apart_are_told_apart),
		WITH_FIXTURE(where_interfaces_change_nothing_is_warmed_up),
		WITH_FIXTURE(a_warm_up_that_no_swap_follows_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
