/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_eal.h>

#include "sample.h"
#include "sn_frame.h"
#include "sn_harness.h"
#include "sn_request.h"

#define SECOND_NS 1000000000ull

/* An engine with the sample NAPT, asked by control messages. */
struct fixture {
	struct sn_harness harness;
	struct sn_requests requests;
	struct sn_arena arena; /* of programs and messages made here */
	uint64_t now;
	Sinter__Control__V1__StartTrace start;
	struct sn_error err;
};

static int start_eal(void **state)
{
	struct sn_error err;

	(void)state;
	if (sn_harness_eal("test", &err) != 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	return 0;
}

static int stop_eal(void **state)
{
	(void)state;
	return rte_eal_cleanup();
}

static void load(struct fixture *f)
{
	struct sn_engine_loaded loaded;

	if (sn_engine_load(f->harness.engine, sn_sample_napt(&f->arena), (const uint8_t *)"hash", 4, &loaded,
			   &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static int open_workers(void **state, unsigned int n)
{
	struct fixture *f = calloc(1, sizeof(*f));

	sn_arena_init(&f->arena);
	if (sn_harness_open(&f->harness, &(struct sn_harness_config){.n_workers = n}, &f->err) != 0)
		fail_msg("%s", f->err.text);
	sn_requests_init(&f->requests, f->harness.engine, sn_harness_inject, &f->harness);
	sinter__control__v1__start_trace__init(&f->start);
	f->now = SECOND_NS;
	*state = f;
	return 0;
}

static int close_engine(void **state)
{
	struct fixture *f = *state;

	sn_requests_free(&f->requests);
	sn_harness_close(&f->harness);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

/* Packets of as many hosts to a port, all in one round. */
static void send_packets(struct fixture *f, uint16_t dport, size_t n)
{
	Sinter__Control__V1__InjectedPacket injected[64], *list[64];
	struct sn_sample_packet packet = {
		.src = SN_SAMPLE_HOST,
		.dst = SN_SAMPLE_REMOTE,
		.sport = 5000,
		.dport = dport,
		.ttl = 64,
	};
	uint8_t frames[64][SN_SAMPLE_FRAME];

	assert_true(n <= 64);
	for (size_t i = 0; i < n; i++, packet.src++) {
		sinter__control__v1__injected_packet__init(&injected[i]);
		injected[i].data.data = frames[i];
		injected[i].data.len = sn_sample_udp(&packet, frames[i]);
		list[i] = &injected[i];
	}
	if (sn_harness_round(&f->harness, f->now, list, n, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void wait_seconds(struct fixture *f, uint64_t seconds)
{
	f->now += seconds * SECOND_NS;
	send_packets(f, 53, 0);
}

static int open_engine(void **state)
{
	return open_workers(state, 1);
}

static int open_loaded(void **state)
{
	open_engine(state);
	load(*state);
	wait_seconds(*state, 0);
	return 0;
}

static int open_two_workers(void **state)
{
	open_workers(state, 2);
	load(*state);
	wait_seconds(*state, 0);
	return 0;
}

static Sinter__Control__V1__Response *ask(struct fixture *f, const Sinter__Control__V1__Request *request)
{
	size_t len = sinter__control__v1__request__get_packed_size(request), reply_len;
	uint8_t *bytes = malloc(len + 1), *reply;
	Sinter__Control__V1__Response *response;

	sinter__control__v1__request__pack(request, bytes);
	assert_int_equal(sn_requests_answer(&f->requests, bytes, len, &reply, &reply_len), 0);
	response = sinter__control__v1__response__unpack(&f->arena.allocator, reply_len - SN_FRAME_HEADER,
							 reply + SN_FRAME_HEADER);
	assert_non_null(response);
	free(bytes);
	free(reply);
	return response;
}

static Sinter__Control__V1__Response *ask_start(struct fixture *f)
{
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_START_TRACE;
	request.start_trace = &f->start;
	return ask(f, &request);
}

static const Sinter__Control__V1__TraceStarted *start(struct fixture *f)
{
	Sinter__Control__V1__Response *response = ask_start(f);

	assert_string_equal(response->error, "");
	return response->trace_started;
}

static Sinter__Control__V1__Response *ask_read(struct fixture *f)
{
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__ReadTrace body = SINTER__CONTROL__V1__READ_TRACE__INIT;

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_READ_TRACE;
	request.read_trace = &body;
	return ask(f, &request);
}

static const Sinter__Control__V1__Traced *read_trace(struct fixture *f)
{
	Sinter__Control__V1__Response *response = ask_read(f);

	assert_string_equal(response->error, "");
	return response->traced;
}

static void stop(struct fixture *f)
{
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__StopTrace body = SINTER__CONTROL__V1__STOP_TRACE__INIT;

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_STOP_TRACE;
	request.stop_trace = &body;
	assert_string_equal(ask(f, &request)->error, "");
}

static void assert_refused(struct fixture *f, const char *why)
{
	assert_string_equal(ask_start(f)->error, why);
}

/* ---- tests ---- */

static void a_trace_says_what_it_is_of_and_tells_packets_once(void **state)
{
	struct fixture *f = *state;
	const Sinter__Control__V1__TraceStarted *started = start(f);
	const Sinter__Control__V1__Traced *traced;
	const Sinter__Control__V1__TracedPacket *packet;

	assert_int_equal(started->hash.len, 4);
	assert_memory_equal(started->hash.data, "hash", 4);
	assert_int_equal(started->n_interfaces, 2);
	assert_string_equal(started->interfaces[1], "outside");
	assert_int_equal(started->n_segments, 4);
	assert_string_equal(started->segments[2], "return");
	assert_int_equal(started->trace->one_in, 1);
	assert_int_equal(started->trace->snap_len, 256);
	assert_int_equal(started->trace->max_packets, 1000);
	assert_int_equal(started->trace->duration_ns, 10 * SECOND_NS);

	send_packets(f, 53, 2);
	traced = read_trace(f);
	assert_int_equal(traced->n_packets, 2);
	assert_int_equal(traced->received, 2);
	assert_int_equal(traced->examined, 2);
	assert_string_equal(traced->over, "");
	packet = traced->packets[1];
	assert_int_equal(packet->number, 2);
	assert_int_equal(packet->time_ns, f->now);
	assert_int_equal(packet->n_classes, 1);
	assert_int_equal(packet->n_frames, 2);
	assert_int_equal(packet->frames[0]->kind, SINTER__CONTROL__V1__TRACED_FRAME__KIND__RECEIVED);
	assert_int_equal(packet->frames[1]->kind, SINTER__CONTROL__V1__TRACED_FRAME__KIND__SENT);
	assert_int_equal(packet->frames[1]->interface, 1);
	assert_int_equal(packet->frames[1]->length, SN_SAMPLE_FRAME);
	assert_memory_equal(packet->frames[1]->data.data, f->harness.bytes + f->harness.out[1].offset,
			    SN_SAMPLE_FRAME);
	assert_int_equal(read_trace(f)->n_packets, 0);
}

static void classes_are_chosen_by_segment_and_drops_by_reason(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__TraceClasses of_name = SINTER__CONTROL__V1__TRACE_CLASSES__INIT,
					  of_index = SINTER__CONTROL__V1__TRACE_CLASSES__INIT,
					  *classes[] = {&of_name, &of_index};
	char *reasons[] = {(char *)"martian", (char *)"discard"};
	uint32_t which[] = {2, 1};
	const Sinter__Control__V1__Traced *traced;

	of_name.segment = (char *)"inside";
	of_name.n_classes = 2;
	of_name.classes = which;
	of_index.segment = (char *)"3";
	f->start.n_classes = 2;
	f->start.classes = classes;
	start(f);
	send_packets(f, 53, 1);
	send_packets(f, 9, 1);
	traced = read_trace(f);
	assert_int_equal(traced->n_packets, 1);
	assert_int_equal(traced->packets[0]->classes[0]->segment, 0);
	assert_int_equal(traced->packets[0]->classes[0]->class_, 1);
	stop(f);

	f->start.n_classes = 0;
	f->start.n_reasons = 2;
	f->start.reasons = reasons;
	start(f);
	send_packets(f, 53, 1);
	send_packets(f, 9, 1);
	traced = read_trace(f);
	assert_int_equal(traced->n_packets, 1);
	assert_string_equal(traced->packets[0]->drops[0], "discard");
	stop(f);

	of_name.n_classes = 0; /* all of the segment */
	f->start.n_classes = 1;
	f->start.n_reasons = 0;
	start(f);
	send_packets(f, 53, 1);
	send_packets(f, 9, 1);
	assert_int_equal(read_trace(f)->n_packets, 2);
}

static void a_trace_ends_with_enough_packets_and_says_so_with_the_last(void **state)
{
	struct fixture *f = *state;
	const Sinter__Control__V1__Traced *traced;

	f->start.max_packets = 3;
	start(f);
	send_packets(f, 53, 5);
	traced = read_trace(f);
	assert_int_equal(traced->n_packets, 3);
	assert_string_equal(traced->over, "it has as many packets as were asked for");
	assert_string_equal(ask_read(f)->error, "trace: there is none; one that is not read for 60 s ends");
	start(f);
	send_packets(f, 53, 1);
	assert_int_equal(read_trace(f)->packets[0]->number, 1);
}

static void a_trace_ends_with_its_time(void **state)
{
	struct fixture *f = *state;

	f->start.duration_ns = 2 * SECOND_NS;
	start(f);
	wait_seconds(f, 1);
	assert_string_equal(read_trace(f)->over, "");
	wait_seconds(f, 1);
	assert_string_equal(read_trace(f)->over, "its time is over");
}

static void a_trace_ends_with_its_program_and_tells_what_it_has(void **state)
{
	struct fixture *f = *state;
	const Sinter__Control__V1__Traced *traced;

	start(f);
	send_packets(f, 9, 1);
	load(f);
	send_packets(f, 9, 1);
	traced = read_trace(f);
	assert_int_equal(traced->n_packets, 1);
	assert_string_equal(traced->packets[0]->drops[0], "discard");
	assert_string_equal(traced->over, "another program runs, whose classes are others");
}

static void a_trace_that_nobody_reads_ends(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(sn_requests_tick(&f->requests), -1);
	f->start.duration_ns = 3600 * SECOND_NS;
	start(f);
	wait_seconds(f, 59);
	assert_int_equal(sn_requests_tick(&f->requests), 1000);
	read_trace(f);
	wait_seconds(f, 59);
	assert_int_equal(sn_requests_tick(&f->requests), 1000);
	wait_seconds(f, 1);
	assert_int_equal(sn_requests_tick(&f->requests), -1);
	assert_string_equal(ask_read(f)->error, "trace: there is none; one that is not read for 60 s ends");
}

static void there_is_one_trace_at_a_time(void **state)
{
	struct fixture *f = *state;

	start(f);
	wait_seconds(f, 3);
	assert_refused(f, "trace: there is one already, for another 7 s at most: one at a time");
	stop(f);
	start(f);
	stop(f);
	stop(f); /* there is none: done */
}

static void what_cannot_be_traced_is_said(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__TraceClasses classes = SINTER__CONTROL__V1__TRACE_CLASSES__INIT,
					  *list[] = {&classes};
	char *reasons[] = {(char *)"bad-luck"};
	uint32_t three = 3;

	f->start.n_classes = 1;
	f->start.classes = list;
	classes.segment = (char *)"insid";
	assert_refused(f, "trace: the program has no segment \"insid\"; its first is \"inside\"");
	classes.segment = (char *)"inside";
	classes.n_classes = 1;
	classes.classes = &three;
	assert_refused(f, "trace: segment \"inside\" has no class 3, its classes are 0..2");
	f->start.n_classes = 0;
	f->start.n_reasons = 1;
	f->start.reasons = reasons;
	assert_refused(f, "trace: the program has no drop reason \"bad-luck\"; statistics name those that "
			  "occurred");
	f->start.n_reasons = 0;
	f->start.snap_len = 16385;
	assert_refused(f, "trace: snap length is 16385, at most 16384");
	f->start.snap_len = 0;
	f->start.duration_ns = 3601 * SECOND_NS;
	assert_refused(f, "trace: duration is 3601 s, at most 3600");
	f->start.duration_ns = 0;
	f->start.max_packets = 1000001;
	assert_refused(f, "trace: packets is 1000001, at most 1000000");
}

static void without_a_program_there_is_nothing_to_trace(void **state)
{
	assert_refused(*state, "trace: no program is loaded");
}

static void a_packet_that_is_handed_to_another_worker_is_told_once(void **state)
{
	struct fixture *f = *state;
	const Sinter__Control__V1__Traced *traced;
	unsigned int of_worker[2] = {0};
	uint64_t handed = 0;

	start(f);
	send_packets(f, 53, 64);
	assert_int_equal(f->harness.n_out, 64);
	traced = read_trace(f);
	assert_int_equal(traced->n_packets, 64);
	assert_int_equal(traced->received, 64);
	assert_int_equal(traced->examined, 64);
	for (size_t i = 0; i < 64; i++) {
		const struct sn_state *state_of = sn_engine_state(f->harness.engine);

		assert_int_equal(traced->packets[i]->n_frames, 2);
		assert_true(traced->packets[i]->shard > 0);
		assert_int_equal(
			sn_state_owner(state_of, (traced->packets[i]->shard - 1) % sn_state_units(state_of)),
			traced->packets[i]->worker);
		of_worker[traced->packets[i]->worker]++;
	}
	assert_true(of_worker[0] > 0);
	assert_true(of_worker[1] > 0);
	for (unsigned int i = 0; i < 2; i++)
		handed += sn_worker_stats(worker_of(f->harness.engine, i))->handed;
	assert_true(handed > 0);
}

int main(void)
{
#define TRACING_TEST(test) cmocka_unit_test_setup_teardown(test, open_loaded, close_engine)
	const struct CMUnitTest tests[] = {
		TRACING_TEST(a_trace_says_what_it_is_of_and_tells_packets_once),
		TRACING_TEST(classes_are_chosen_by_segment_and_drops_by_reason),
		TRACING_TEST(a_trace_ends_with_enough_packets_and_says_so_with_the_last),
		TRACING_TEST(a_trace_ends_with_its_time),
		TRACING_TEST(a_trace_ends_with_its_program_and_tells_what_it_has),
		TRACING_TEST(a_trace_that_nobody_reads_ends),
		TRACING_TEST(there_is_one_trace_at_a_time),
		TRACING_TEST(what_cannot_be_traced_is_said),
		cmocka_unit_test_setup_teardown(a_packet_that_is_handed_to_another_worker_is_told_once,
						open_two_workers, close_engine),
		cmocka_unit_test_setup_teardown(without_a_program_there_is_nothing_to_trace, open_engine,
						close_engine),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
