/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

#include "sn_parse.h"
#include "sn_trace.h"

/* Classes of the sample, numbered through. */
enum { OUTWARD = 0, DISCARDED = 1, EXPIRED = 2, INWARD = 3, BACK = 4, ANSWER = 7, CLASSES = 8 };

#define RECORD_MAX 65536
#define RECORDS	   20000 /* that cross from thread to thread */

/* One packet's record in a worker's trace. */
struct record {
	struct sn_trace_packet head;
	uint32_t classes[SN_TRACE_CLASSES];
	uint32_t drops[SN_TRACE_DROPS];
	struct sn_trace_frame frames[SN_TRACE_FRAMES];
	uint8_t bytes[RECORD_MAX];
};

struct rig {
	struct sn_trace_rules rules;
	struct sn_trace *trace;
	struct record record;
};

/* Traces all that the fixture's worker does from now on. */
static struct rig *trace(struct fixture *f, bool *classes, bool *reasons)
{
	struct rig *r = calloc(1, sizeof(*r));

	r->rules = (struct sn_trace_rules){
		.one_in = 1,
		.snap_len = 256,
		.max_packets = 100000,
		.until_ns = UINT64_MAX,
		.classes = classes,
		.reasons = reasons,
		.seed = 1,
		.epoch = 1,
	};
	r->trace = sn_trace_create(&r->rules, 0);
	assert_non_null(r->trace);
	sn_worker_set_trace(f->worker, r->trace);
	return r;
}

static void end(struct fixture *f, struct rig *r)
{
	sn_worker_set_trace(f->worker, NULL);
	sn_trace_free(r->trace);
	free(r);
}

/* The next record; false: there is none. */
static bool next(struct rig *r)
{
	struct sn_trace_ring *ring = sn_trace_ring(r->trace);
	uint32_t len = sn_trace_ring_next(ring);
	struct record *to = &r->record;
	uint8_t data[RECORD_MAX], *at = data;

	if (len == 0)
		return false;
	assert_true(len <= sizeof(data));
	sn_trace_ring_take(ring, data, len);
#define TAKE(field, size)                    \
	do {                                 \
		memcpy((field), at, (size)); \
		at += (size);                \
	} while (0)
	TAKE(&to->head, sizeof(to->head));
	TAKE(to->classes, to->head.n_classes * sizeof(*to->classes));
	TAKE(to->drops, to->head.n_drops * sizeof(*to->drops));
	TAKE(to->frames, to->head.n_frames * sizeof(*to->frames));
	memcpy(to->bytes, at, len - (size_t)(at - data));
#undef TAKE
	return true;
}

/* The bytes of a record's frame. */
static const uint8_t *frame(const struct record *r, uint32_t index)
{
	const uint8_t *at = r->bytes;

	for (uint32_t i = 0; i < index; i++)
		at += r->frames[i].kept;
	return at;
}

static void assert_frame(const struct record *r, uint32_t index, enum sn_trace_kind kind, uint32_t iface)
{
	assert_true(index < r->head.n_frames);
	assert_int_equal(r->frames[index].kind, kind);
	assert_int_equal(r->frames[index].iface, iface);
}

static void assert_classes(const struct record *r, uint32_t n, const uint32_t *classes)
{
	assert_int_equal(r->head.n_classes, n);
	assert_memory_equal(r->classes, classes, n * sizeof(*classes));
}

#define ASSERT_CLASSES(record, ...)                                                    \
	assert_classes((record), sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
		       (uint32_t[]){__VA_ARGS__})

static void a_packet_is_told_as_it_came_and_as_it_left_on_the_slow_and_the_cached_way(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;
	uint8_t came[FRAME_MAX];
	uint32_t len = write_frame(&out, came);
	struct rig *r;

	load(f);
	r = trace(f, NULL, NULL);
	for (uint64_t i = 1; i <= 4; i++) {
		send_packet(f, &out);
		assert_true(next(r));
		assert_int_equal(r->record.head.number, i);
		assert_int_equal(r->record.head.time_ns, f->now);
		ASSERT_CLASSES(&r->record, OUTWARD);
		assert_int_equal(r->record.head.n_frames, 2);
		assert_frame(&r->record, 0, SN_TRACE_RECEIVED, 0);
		assert_int_equal(r->record.frames[0].length, len);
		assert_memory_equal(frame(&r->record, 0), came, len);
		assert_frame(&r->record, 1, SN_TRACE_SENT, 1);
		assert_memory_equal(frame(&r->record, 1), f->out[0].data, f->out[0].len);
	}
	assert_int_equal(sn_worker_stats(f->worker)->cache_hits, 2);
	in = inward(SN_UDP, sport_of(f->out[0].data));
	send_packet(f, &in);
	assert_true(next(r));
	ASSERT_CLASSES(&r->record, INWARD, BACK);
	assert_frame(&r->record, 1, SN_TRACE_SENT, 0);
	assert_false(next(r));
	end(f, r);
}

static void a_drop_is_told_with_its_reason(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct rig *r;

	load(f);
	r = trace(f, NULL, NULL);
	out.dport = 9;
	send_packet(f, &out);
	assert_true(next(r));
	ASSERT_CLASSES(&r->record, DISCARDED);
	assert_int_equal(r->record.head.n_drops, 1);
	assert_int_equal(r->record.drops[0], SN_REASON_CHAIN);
	assert_int_equal(r->record.head.n_frames, 1);
	send_frame(f, 0, (const uint8_t *)"short", 5); /* met no class */
	assert_true(next(r));
	assert_int_equal(r->record.head.n_classes, 0);
	assert_int_equal(r->record.drops[0], SN_REASON_TRUNCATED);
	end(f, r);
}

static void an_answer_belongs_to_the_packet_that_is_answered(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct rig *r;

	load(f);
	r = trace(f, NULL, NULL);
	out.ttl = 1;
	send_packet(f, &out);
	assert_true(next(r));
	ASSERT_CLASSES(&r->record, EXPIRED, ANSWER);
	assert_frame(&r->record, 1, SN_TRACE_SENT, 0);
	assert_int_equal(l4_of(frame(&r->record, 1))[0], 11);
	end(f, r);
}

static void copies_are_told_each(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct rig *r;

	add_leg(f, 0, 0);
	load(f);
	r = trace(f, NULL, NULL);
	send_packet(f, &out);
	assert_true(next(r));
	assert_int_equal(r->record.head.n_frames, 3);
	assert_frame(&r->record, 1, SN_TRACE_SENT, 1);
	assert_frame(&r->record, 2, SN_TRACE_SENT, 1);
	end(f, r);
}

static void only_packets_of_the_wanted_classes_are_taken(void **state)
{
	struct fixture *f = *state;
	struct packet burst[6];
	bool classes[CLASSES] = {[DISCARDED] = true};
	struct rig *r;

	load(f);
	r = trace(f, classes, NULL);
	for (int i = 0; i < 6; i++) {
		burst[i] = outward(SN_UDP, 5000 + i);
		burst[i].dport = i % 3 == 1 ? 9 : 53;
	}
	send_burst(f, burst, 6);
	assert_true(next(r));
	assert_int_equal(r->record.head.number, 2);
	assert_true(next(r));
	assert_int_equal(r->record.head.number, 5);
	assert_false(next(r));
	assert_int_equal(sn_trace_counts(r->trace).received, 6);
	end(f, r);
}

static void what_the_port_did_not_take_is_told_as_not_sent(void **state)
{
	struct fixture *f = *state;
	bool reasons[SN_REASON_CHAIN + 1] = {[SN_REASON_TX_FULL] = true};
	struct packet burst[5];
	struct rig *r;

	load(f);
	r = trace(f, NULL, reasons);
	for (int i = 0; i < 5; i++)
		burst[i] = outward(SN_UDP, i);
	f->tx_limit = 3;
	send_burst(f, burst, 5);
	for (uint64_t number = 4; number <= 5; number++) {
		assert_true(next(r));
		assert_int_equal(r->record.head.number, number);
		assert_frame(&r->record, 1, SN_TRACE_NOT_SENT, 1);
		assert_int_equal(sport_of(frame(&r->record, 0)), number - 1);
	}
	assert_false(next(r));
	end(f, r);
}

/* The outside gateway has no static neighbour any more. */
static void forget_gateway(struct fixture *f)
{
	f->msg->interfaces[1]->n_neighbors = 0;
}

static void
a_packet_that_waits_for_an_address_is_told_with_the_question_and_again_when_it_is_given_up(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct rig *r;

	forget_gateway(f);
	load(f);
	r = trace(f, NULL, NULL);
	send_packet(f, &out);
	assert_true(next(r));
	assert_int_equal(r->record.head.n_drops, 0);
	assert_int_equal(r->record.head.n_frames, 2);
	assert_int_equal(frame(&r->record, 1)[12] << 8 | frame(&r->record, 1)[13], 0x0806);
	for (int i = 0; i < 4; i++)
		sn_worker_tick(f->worker, f->now += SECOND);
	assert_true(next(r));
	assert_int_equal(r->record.head.number, 0);
	assert_true(r->record.head.time_ns > f->now - 2 * SECOND);
	assert_int_equal(r->record.drops[0], SN_REASON_HOST_UNREACHABLE);
	assert_frame(&r->record, 0, SN_TRACE_NOT_SENT, SN_TRACE_NO_IFACE);
	assert_int_equal(src_of(frame(&r->record, 0)), SN_SAMPLE_POOL);
	assert_false(next(r));
	end(f, r);
}

static void one_of_so_many_is_watched_without_a_rhythm(void **state)
{
	struct fixture *f = *state;
	struct packet burst[32];
	uint32_t by_place[32] = {0}, sum = 0;
	struct rig *r;

	load(f);
	r = trace(f, NULL, NULL);
	r->rules.one_in = 8;
	for (int i = 0; i < 32; i++)
		burst[i] = outward(SN_UDP, 5000);
	for (int round = 0; round < 1000; round++) {
		send_burst(f, burst, 32);
		while (next(r)) {
			by_place[(r->record.head.number - 1) % 32]++;
			sum++;
		}
	}
	assert_in_range(sum, 3800, 4200);
	for (int i = 0; i < 32; i++)
		assert_in_range(by_place[i], 60, 200);
	end(f, r);
}

static void frames_are_cut_at_the_snap_length_and_told_with_their_own(void **state)
{
	struct fixture *f = *state;
	static const uint8_t payload[1000];
	struct packet out = outward(SN_UDP, 5000);
	struct rig *r;

	load(f);
	out.payload = payload;
	out.payload_len = sizeof(payload);
	r = trace(f, NULL, NULL);
	send_packet(f, &out);
	assert_true(next(r));
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(r->record.frames[i].length, 14 + 20 + 8 + sizeof(payload));
		assert_int_equal(r->record.frames[i].kept, 256);
	}
	assert_int_equal(src_of(frame(&r->record, 1)), SN_SAMPLE_POOL);
	end(f, r);
}

static void packets_for_which_there_is_no_room_are_counted_and_the_rest_is_whole(void **state)
{
	struct fixture *f = *state;
	struct packet burst[32];
	uint64_t taken = 0, rounds = 1000;
	struct rig *r;

	load(f);
	for (int i = 0; i < 32; i++)
		burst[i] = outward(SN_UDP, 5000 + i);
	r = trace(f, NULL, NULL);
	for (uint64_t i = 0; i < rounds; i++)
		send_burst(f, burst, 32);
	while (next(r)) {
		taken++;
		assert_int_equal(r->record.head.number, taken); /* the first ones stay */
		assert_int_equal(sport_of(frame(&r->record, 0)), 5000 + (taken - 1) % 32);
	}
	assert_in_range(taken, 5000, 31000);
	assert_int_equal(sn_trace_counts(r->trace).missed, 32 * rounds - taken);
	for (uint64_t i = 0; i < rounds; i++) { /* there is room again, around the ring's end */
		send_burst(f, burst, 32);
		for (uint64_t j = 0; j < 32; j++)
			assert_true(next(r));
	}
	end(f, r);
}

/* Writes records of all sizes, each full of its number's low byte. */
static void *write_records(void *ring)
{
	uint8_t bytes[300];

	for (uint32_t i = 0; i < RECORDS;) {
		uint32_t len = 1 + i % sizeof(bytes);

		if (!sn_trace_ring_begin(ring, len)) {
			sched_yield();
			continue;
		}
		memset(bytes, (int)i, len);
		sn_trace_ring_put(ring, bytes, len / 2);
		sn_trace_ring_put(ring, bytes + len / 2, len - len / 2);
		sn_trace_ring_publish(ring);
		i++;
	}
	return NULL;
}

static void a_reader_beside_the_writer_sees_whole_records_in_their_order(void **state)
{
	struct sn_trace_ring ring;
	pthread_t writer;
	uint8_t bytes[300];

	(void)state;
	assert_int_equal(sn_trace_ring_init(&ring, 1 << 12), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_records, &ring), 0);
	for (uint32_t i = 0; i < RECORDS;) {
		uint32_t len = sn_trace_ring_next(&ring);

		if (len == 0) {
			sched_yield();
			continue;
		}
		assert_int_equal(len, 1 + i % sizeof(bytes));
		sn_trace_ring_take(&ring, bytes, len);
		for (uint32_t j = 0; j < len; j++)
			if (bytes[j] != (uint8_t)i)
				fail_msg("record %u, byte %u: %u", i, j, bytes[j]);
		i++;
	}
	pthread_join(writer, NULL);
	assert_int_equal(sn_trace_ring_next(&ring), 0);
	sn_trace_ring_free(&ring);
}

static void a_trace_takes_no_more_than_it_was_asked_for(void **state)
{
	struct fixture *f = *state;
	struct packet burst[8];
	struct rig *r;
	int taken = 0;

	load(f);
	for (int i = 0; i < 8; i++)
		burst[i] = outward(SN_UDP, 5000);
	r = trace(f, NULL, NULL);
	r->rules.max_packets = 5;
	r->rules.until_ns = f->now + SECOND;
	send_burst(f, burst, 8);
	send_burst(f, burst, 8);
	while (next(r))
		taken++;
	assert_int_equal(taken, 5);
	r->rules.max_packets = 100;
	f->now += SECOND;
	send_burst(f, burst, 8);
	assert_false(next(r));
	end(f, r);
}

static void another_program_ends_a_trace(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct rig *r;

	load(f);
	r = trace(f, NULL, NULL);
	load(f);
	send_packet(f, &out);
	assert_true(r->rules.program_gone);
	assert_false(next(r));
	end(f, r);
}

static void a_trace_changes_nothing_that_leaves(void **state)
{
	struct fixture *f = *state;
	struct packet burst[40];
	static struct sent before[EVENTS_MAX];
	uint32_t n_before, drops_before;
	struct rig *r;

	load(f);
	for (int i = 0; i < 40; i++) {
		burst[i] = outward(i % 2 ? SN_UDP : SN_TCP, 5000 + i % 7);
		burst[i].dport = i % 5 == 0 ? 9 : 53;
		burst[i].ttl = i % 11 == 0 ? 1 : 64;
	}
	send_burst(f, burst, 40); /* from now on all sessions are there */
	send_burst(f, burst, 40);
	n_before = f->n_out;
	drops_before = f->n_drops;
	memcpy(before, f->out, sizeof(before));
	r = trace(f, NULL, NULL);
	r->rules.one_in = 3;
	for (int i = 0; i < 5; i++) {
		f->now += SECOND;
		send_burst(f, burst, 40);
		assert_int_equal(f->n_out, n_before);
		assert_int_equal(f->n_drops, drops_before);
		for (uint32_t j = 0; j < n_before; j++) {
			assert_int_equal(f->out[j].iface, before[j].iface);
			assert_int_equal(f->out[j].source, before[j].source);
			assert_int_equal(f->out[j].len, before[j].len);
			assert_memory_equal(f->out[j].data, before[j].data, before[j].len);
		}
	}
	end(f, r);
}

/* A packet by the first interface is classified twice, and goes back. */
static void every_class_is_told_of_a_packet_that_is_followed(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct rig *r;

	f->msg = sn_sample_wire(&f->arena);
	f->msg->segments[0]->classes[0]->legs[0]->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	f->msg->segments[0]->classes[0]->legs[0]->segment = 1;
	p.dst = SN_SAMPLE_HOST;
	p.payload_len = 30; /* else it is not plain */
	load(f);
	r = trace(f, NULL, NULL);
	for (uint32_t i = 0; i < 3; i++) {
		send_packet(f, &p);
		assert_true(next(r));
		ASSERT_CLASSES(&r->record, 0, 1);
		assert_frame(&r->record, 1, SN_TRACE_SENT, 0);
		p.options ^= 1; /* then it goes segment by segment */
	}
	assert_int_equal(sn_worker_counts(f->worker)->paths.n, 1);
	end(f, r);
}

int main(void)
{
#define TRACE_TEST(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)
	const struct CMUnitTest tests[] = {
		TRACE_TEST(a_packet_is_told_as_it_came_and_as_it_left_on_the_slow_and_the_cached_way),
		TRACE_TEST(a_drop_is_told_with_its_reason),
		TRACE_TEST(an_answer_belongs_to_the_packet_that_is_answered),
		TRACE_TEST(copies_are_told_each),
		TRACE_TEST(only_packets_of_the_wanted_classes_are_taken),
		TRACE_TEST(what_the_port_did_not_take_is_told_as_not_sent),
		TRACE_TEST(
			a_packet_that_waits_for_an_address_is_told_with_the_question_and_again_when_it_is_given_up),
		TRACE_TEST(one_of_so_many_is_watched_without_a_rhythm),
		TRACE_TEST(frames_are_cut_at_the_snap_length_and_told_with_their_own),
		TRACE_TEST(packets_for_which_there_is_no_room_are_counted_and_the_rest_is_whole),
		cmocka_unit_test(a_reader_beside_the_writer_sees_whole_records_in_their_order),
		TRACE_TEST(a_trace_takes_no_more_than_it_was_asked_for),
		TRACE_TEST(another_program_ends_a_trace),
		TRACE_TEST(a_trace_changes_nothing_that_leaves),
		TRACE_TEST(every_class_is_told_of_a_packet_that_is_followed),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
