/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of one subscriber of a NAPT (RFC 6888 REQ-4, REQ-5). */

#include <pthread.h>
#include <stdatomic.h>

#include "napt_world.h"

#include "sn_carry.h"
#include "sn_reason.h"
#include "sn_tcp.h"

#define LIMIT	16128u /* a quarter of an address */
#define FLOOD	160000u
#define OTHERS	200u
#define WORKERS 3u

static Sinter__Program__V1__SubscriberLimits *limits_of(struct world *w)
{
	return w->msg->subscribers[0];
}

static void make_world(struct world *w, enum sn_dependence mapping, uint32_t workers, enum sn_partition_by by)
{
	Sinter__Program__V1__SubscriberLimits *limits;

	begin_world(w, mapping, workers, by);
	w->msg->tables[0]->max_sessions = 193536;
	limits = sn_arena_alloc(&w->arena, sizeof(*limits));
	sinter__program__v1__subscriber_limits__init(limits);
	limits->name = (char *)"nat";
	limits->prefix_len = 32;
	limits->max_sessions = limits->max_ports = LIMIT;
	w->msg->subscribers = sn_arena_alloc(&w->arena, sizeof(limits));
	w->msg->subscribers[0] = limits;
	w->msg->n_subscribers = 1;
	w->msg->runs[0]->subscribers = 1;
	apply(w);
}

/* The i-th flow of a host. */
static struct sn_flow flow_of(uint32_t host, uint32_t i)
{
	return (struct sn_flow){SN_SAMPLE_HOST + host, SN_SAMPLE_REMOTE + i / 60000,
				(uint16_t)(1024 + i % 60000), 53, SN_UDP};
}

/* A packet from inside, on the worker that has its shard. */
static enum sn_napt_result send_flow(struct world *w, struct sn_flow flow)
{
	uint32_t shard = sn_napt_shard(w->state, 0, &flow);
	struct sn_partition *p = sn_state_partition(w->state, sn_state_owner(w->state, shard));
	struct sn_session *s;
	enum sn_napt_result result = sn_napt_forward(p, 0, shard, &flow, true, w->now, &s);

	if (result == SN_NAPT_MADE || result == SN_NAPT_FOUND)
		sn_session_use(w->state, s, NULL, false, w->now);
	return result;
}

static void tick(struct world *w, uint32_t workers)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		for (uint32_t j = 0; j < workers; j++)
			sn_partition_tick(sn_state_partition(w->state, j), w->now);
}

/* The use of a host; zeroes: it is not among the ten heaviest. */
static struct sn_subscriber use_of(struct world *w, uint32_t host)
{
	struct sn_subscriber heaviest[10];
	uint64_t all;
	uint32_t n = sn_subscribers_heaviest(sn_state_subscribers(w->state), 0, heaviest, 10, &all);

	for (uint32_t i = 0; i < n; i++)
		if (heaviest[i].prefix == SN_SAMPLE_HOST + host)
			return heaviest[i];
	return (struct sn_subscriber){0};
}

/* One host sends to 160,000 places. It gets its share of the address, and 200 others get all they want. */
static void one_host_does_not_starve_others(void **state)
{
	const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_RSS};
	struct world w;

	(void)state;
	for (uint32_t c = 0; c < 2; c++) {
		uint32_t made = 0, limited = 0;
		struct sn_subscriber use;

		make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, WORKERS, cuts[c]);
		for (uint32_t i = 0; i < FLOOD; i++) {
			enum sn_napt_result result = send_flow(&w, flow_of(0, i));

			made += result == SN_NAPT_MADE;
			limited += result == SN_NAPT_LIMITED;
		}
		assert_int_equal(made, LIMIT);
		assert_int_equal(limited, FLOOD - LIMIT);
		for (uint32_t host = 1; host <= OTHERS; host++)
			for (uint32_t i = 0; i < 100; i++)
				assert_int_equal(send_flow(&w, flow_of(host, i)), SN_NAPT_MADE);
		use = use_of(&w, 0);
		assert_int_equal(use.sessions, LIMIT);
		assert_int_equal(use.ports[SN_PROTO_UDP], LIMIT);
		assert_int_equal(use.refused, FLOOD - LIMIT);
		end_world(&w);
	}
}

/* A world whose host 0 has all of the 100 sessions that it may have. */
static void make_full_world(struct world *w)
{
	make_world(w, SN_ADDRESS_AND_PORT_DEPENDENT, 1, SN_PARTITION_BY_HOST);
	limits_of(w)->max_sessions = 100;
	apply(w);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(send_flow(w, flow_of(0, i)), SN_NAPT_MADE);
}

static void a_session_that_ended_counts_no_more(void **state)
{
	struct world w;
	uint64_t all;

	(void)state;
	make_full_world(&w);
	assert_int_equal(send_flow(&w, flow_of(0, 100)), SN_NAPT_LIMITED);
	w.now += 301 * SECOND; /* nobody has looked since */
	for (uint32_t i = 100; i < 200; i++)
		assert_int_equal(send_flow(&w, flow_of(0, i)), SN_NAPT_MADE);
	assert_int_equal(send_flow(&w, flow_of(0, 200)), SN_NAPT_LIMITED);
	w.now += 301 * SECOND;
	tick(&w, 1);
	w.now += SECOND;
	tick(&w, 1);
	sn_subscribers_heaviest(sn_state_subscribers(w.state), 0, &(struct sn_subscriber){0}, 1, &all);
	assert_int_equal(all, 0);
	end_world(&w);
}

/* A host that keeps sending above its limit has the worker look for sessions that expired, but not all the
 * time: what has just expired may count a moment longer. */
static void a_host_at_its_limit_does_not_keep_the_worker_busy(void **state)
{
	struct world w;
	uint64_t full;

	(void)state;
	make_full_world(&w);
	full = w.now;
	w.now = full + 300 * SECOND - 5000;
	assert_int_equal(send_flow(&w, flow_of(0, 100)), SN_NAPT_LIMITED);
	w.now = full + 300 * SECOND + 5000;
	assert_int_equal(send_flow(&w, flow_of(0, 100)), SN_NAPT_LIMITED);
	w.now += SECOND / 100;
	assert_int_equal(send_flow(&w, flow_of(0, 100)), SN_NAPT_MADE);
	end_world(&w);
}

/* With shared mappings an inside port has one outside port, whoever it sends to. */
static void ports_are_those_of_mappings(void **state)
{
	struct sn_flow flow = flow_of(0, 0);
	struct sn_subscriber use;
	struct world w;

	(void)state;
	make_world(&w, SN_ENDPOINT_INDEPENDENT, 1, SN_PARTITION_BY_HOST);
	limits_of(&w)->max_ports = 2;
	apply(&w);
	for (uint32_t i = 0; i < 1000; i++) {
		flow.dst++;
		assert_int_equal(send_flow(&w, flow), SN_NAPT_MADE);
	}
	assert_int_equal(send_flow(&w, flow_of(0, 1)), SN_NAPT_MADE);
	assert_int_equal(send_flow(&w, flow_of(0, 2)), SN_NAPT_LIMITED);
	flow = flow_of(0, 2);
	flow.proto = SN_TCP;
	assert_int_equal(send_flow(&w, flow), SN_NAPT_MADE); /* each protocol has its ports */
	use = use_of(&w, 0);
	assert_int_equal(use.sessions, 1002);
	assert_int_equal(use.ports[SN_PROTO_UDP], 2);
	assert_int_equal(use.ports[SN_PROTO_TCP], 1);
	w.msg->runs[0]->udp_ms += 1000; /* all are counted again */
	apply(&w);
	use = use_of(&w, 0);
	assert_int_equal(use.sessions, 1002);
	assert_int_equal(use.ports[SN_PROTO_UDP], 2);
	end_world(&w);
}

/* A lower limit ends no session, and lets none begin before there are few enough. */
static void another_program_counts_what_is_there(void **state)
{
	struct world w;

	(void)state;
	for (int larger = 0; larger < 2; larger++) {
		make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, WORKERS, SN_PARTITION_BY_HOST);
		for (uint32_t i = 0; i < 500; i++)
			assert_int_equal(send_flow(&w, flow_of(i % 2, i)), SN_NAPT_MADE);
		limits_of(&w)->max_ports = 200;
		w.msg->tables[0]->pool[0]->last += larger; /* another table */
		apply(&w);
		assert_int_equal(use_of(&w, 0).sessions, 250);
		assert_int_equal(use_of(&w, 1).ports[SN_PROTO_UDP], 250);
		assert_int_equal(send_flow(&w, flow_of(0, 0)), SN_NAPT_FOUND);
		assert_int_equal(send_flow(&w, flow_of(0, 1000)), SN_NAPT_LIMITED);
		limits_of(&w)->prefix_len = 24;
		limits_of(&w)->max_ports = 501;
		apply(&w);
		assert_int_equal(send_flow(&w, flow_of(2, 1000)), SN_NAPT_MADE);
		assert_int_equal(send_flow(&w, flow_of(3, 1000)), SN_NAPT_LIMITED);
		w.msg->runs[0]->subscribers = 0;
		w.msg->n_subscribers = 0;
		apply(&w);
		assert_null(sn_state_subscribers(w.state));
		assert_int_equal(send_flow(&w, flow_of(3, 1000)), SN_NAPT_MADE);
		end_world(&w);
	}
}

static void sessions_that_move_count_where_they_are(void **state)
{
	static uint8_t records[500 * SN_CARRY_BYTES];
	bool all[SN_SHARDS];
	struct sn_error err = {0};
	struct world w, to;
	uint64_t cursor = 0;

	(void)state;
	memset(all, 1, sizeof(all));
	for (int shared = 0; shared < 2; shared++) {
		enum sn_dependence mapping = shared ? SN_ENDPOINT_INDEPENDENT : SN_ADDRESS_AND_PORT_DEPENDENT;

		make_world(&w, mapping, 1, SN_PARTITION_BY_HOST);
		make_world(&to, mapping, 1, SN_PARTITION_BY_HOST);
		sn_state_set_key(to.state, sn_state_key(w.state));
		for (uint32_t i = 0; i < 500; i++) {
			struct sn_flow flow = flow_of(0, i / 2);

			flow.dst += i % 2;
			assert_int_equal(send_flow(&w, flow), SN_NAPT_MADE);
		}
		assert_int_equal(sn_carry_read(w.state, all, &cursor, w.now, records, 500), 500);
		assert_int_equal(sn_carry_put(to.state, all, records, 500, to.now, &err), 0);
		sn_carry_forget(w.state, all);
		assert_int_equal(use_of(&w, 0).sessions, 0);
		assert_int_equal(use_of(&to, 0).sessions, 500);
		assert_int_equal(use_of(&to, 0).ports[SN_PROTO_UDP], shared ? 250 : 500);
		cursor = 0;
		end_world(&w);
		end_world(&to);
	}
}

/* The count of a session is given back if it finds no port, if its packet is dropped, or if it gives
 * way to another one. */
static void what_does_not_begin_does_not_count(void **state)
{
	struct sn_flow flow = flow_of(0, 0);
	uint32_t shard, made = 0;
	struct sn_session *s;
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, 1, SN_PARTITION_BY_HOST);
	limits_of(&w)->max_sessions = limits_of(&w)->max_ports = 100000;
	apply(&w);
	shard = sn_napt_shard(w.state, 0, &flow);
	assert_int_equal(sn_napt_forward(sn_state_partition(w.state, 0), 0, shard, &flow, true, w.now, &s),
			 SN_NAPT_MADE);
	sn_session_end(sn_state_partition(w.state, 0), s);
	assert_int_equal(use_of(&w, 0).sessions, 0);
	for (uint32_t i = 0; i < 70000; i++)
		made += send_flow(&w, flow_of(0, i)) == SN_NAPT_MADE;
	assert_in_range(made, 40000, 64512); /* nat-exhausted before the limit */
	assert_int_equal(use_of(&w, 0).sessions, made);
	made = 0;
	for (uint32_t i = 0; i < 70000; i++) {
		flow = flow_of(1, i);
		flow.proto = SN_TCP;
		made += send_flow(&w, flow) == SN_NAPT_MADE;
	}
	w.now += 2 * SECOND; /* openings without replies give way */
	for (uint32_t i = 0; i < 1000; i++) {
		flow = flow_of(2, i);
		flow.proto = SN_TCP;
		assert_int_equal(send_flow(&w, flow), SN_NAPT_MADE);
	}
	assert_int_equal(use_of(&w, 1).sessions + use_of(&w, 2).sessions,
			 use_of(&w, 1).ports[SN_PROTO_TCP] + use_of(&w, 2).ports[SN_PROTO_TCP]);
	assert_in_range(use_of(&w, 1).sessions, made - 1000, made);
	assert_int_equal(use_of(&w, 2).sessions, 1000);
	end_world(&w);
}

/* ---- records ---- */

#define RECORDS 16384u /* of a program without sessions */

static struct sn_subscriber_change one_of(uint32_t host, uint32_t shard, int n)
{
	return (struct sn_subscriber_change){0, SN_SAMPLE_HOST + host, SN_PROTO_UDP, shard, n, n};
}

/* Whichever shards' sessions have had them. */
static void all_records_are_used(void **state)
{
	struct sn_subscriber_limits limits = {(char *)"nat", 32, 2, 2, 0};
	const struct sn_program program = {.n_subscribers = 1, .subscribers = &limits};
	struct sn_subscribers *s = sn_subscribers_create(&program, 7);
	struct sn_subscriber heaviest;
	uint64_t all;

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < RECORDS; i++) {
			struct sn_subscriber_change c = one_of(i, i % 3 + round, 1);

			assert_true(sn_subscribers_take(s, &c));
		}
		for (uint32_t shard = 0; shard < SN_SHARDS; shard++) {
			struct sn_subscriber_change known = one_of(shard, shard, 1),
						    more = one_of(RECORDS, shard, 1);

			assert_false(sn_subscribers_take(s, &more));
			assert_true(sn_subscribers_take(s, &known));
			assert_false(sn_subscribers_take(s, &known)); /* it has two */
			known.sessions = known.ports = -1;
			sn_subscribers_count(s, &known);
		}
		sn_subscribers_heaviest(s, 0, &heaviest, 1, &all);
		assert_int_equal(all, RECORDS);
		assert_int_equal(heaviest.sessions, 1);
		for (uint32_t i = 0; i < RECORDS; i++) {
			struct sn_subscriber_change c = one_of(i, 100 + i % 2, -1);

			sn_subscribers_count(s, &c);
		}
		assert_int_equal(sn_subscribers_heaviest(s, 0, &heaviest, 1, &all), 0);
	}
	sn_subscribers_free(s);
}

/* ---- threads ---- */

#define THREADS 4u
#define ROUNDS	20000u
#define FEW	10u /* sessions that a host may have */

static struct sn_subscribers *counted;
static _Atomic uint32_t held[8]; /* by host */
static _Atomic uint32_t too_many;

/* Sessions of eight hosts begin, a few at a time, and end. */
static void *begin_and_end(void *ctx)
{
	(void)ctx;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t host = i % 8, mine = 0;
		struct sn_subscriber_change c = {0, SN_SAMPLE_HOST + host, SN_PROTO_UDP, i % SN_SHARDS, 1, 1};

		while (mine < 5 && sn_subscribers_take(counted, &c)) {
			mine++;
			atomic_fetch_add(&too_many, atomic_fetch_add(&held[host], 1) >= FEW);
		}
		c.sessions = c.ports = -1;
		for (; mine > 0; mine--) {
			atomic_fetch_sub(&held[host], 1);
			sn_subscribers_count(counted, &c);
		}
	}
	return NULL;
}

static void workers_count_together(void **state)
{
	struct sn_subscriber_limits limits = {(char *)"nat", 32, FEW, FEW, 0};
	const struct sn_program program = {.n_subscribers = 1, .subscribers = &limits};
	struct sn_subscriber heaviest;
	pthread_t threads[THREADS];
	uint64_t all;

	(void)state;
	counted = sn_subscribers_create(&program, 7);
	assert_non_null(counted);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, begin_and_end, NULL), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&too_many), 0);
	assert_int_equal(sn_subscribers_heaviest(counted, 0, &heaviest, 1, &all), 0);
	assert_int_equal(all, 0);
	sn_subscribers_free(counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_host_does_not_starve_others),
		cmocka_unit_test(a_session_that_ended_counts_no_more),
		cmocka_unit_test(a_host_at_its_limit_does_not_keep_the_worker_busy),
		cmocka_unit_test(ports_are_those_of_mappings),
		cmocka_unit_test(another_program_counts_what_is_there),
		cmocka_unit_test(sessions_that_move_count_where_they_are),
		cmocka_unit_test(what_does_not_begin_does_not_count),
		cmocka_unit_test(all_records_are_used),
		cmocka_unit_test(workers_count_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
