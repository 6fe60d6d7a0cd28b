/* SPDX-License-Identifier: Apache-2.0 */
/* An outside port rests before it is used again (RFC 6888 REQ-8). */

#include "napt_world.h"

#include "sn_tcp.h"

#define UDP_S  300u
#define REST_S 120u
#define PORTS  64u /* one shard */

static void make_world_of(struct world *w, enum sn_dependence mapping, enum sn_partition_by by, uint32_t most)
{
	Sinter__Program__V1__StateTable *table;

	begin_world(w, mapping, 1, by);
	table = w->msg->tables[0];
	table->port_rest_ms = REST_S * 1000;
	table->max_sessions = most;
	table->port_max = table->port_min + PORTS - 1;
	apply(w);
}

static void make_world(struct world *w, enum sn_dependence mapping, enum sn_partition_by by)
{
	make_world_of(w, mapping, by, 0);
}

static struct sn_session *send_to(struct world *w, uint32_t remote, uint16_t sport, uint8_t proto)
{
	struct sn_flow flow = {SN_SAMPLE_HOST, SN_SAMPLE_REMOTE + remote, sport, 53, proto};
	struct sn_session *s;

	if (sn_napt_forward(part(w), 0, sn_napt_shard(w->state, 0, &flow), &flow, true, w->now, &s) ==
	    SN_NAPT_NONE)
		return NULL;
	sn_session_use(w->state, s, NULL, false, w->now);
	return s;
}

static void tick(struct world *w)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		sn_partition_tick(part(w), w->now);
}

/* All ports are used at once, end at once, and come back at once, whenever somebody looked at what was over.
 */
static void ports_rest_after_their_last_session(void **state)
{
	const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_RSS};
	struct world w;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		bool looks = i & 1;

		make_world(&w, i & 2 ? SN_ENDPOINT_INDEPENDENT : SN_ADDRESS_AND_PORT_DEPENDENT, cuts[i / 4]);
		for (uint16_t port = 0; port < PORTS; port++)
			assert_non_null(send_to(&w, 0, port, SN_UDP));
		assert_null(send_to(&w, 0, 1000, SN_UDP));
		assert_non_null(send_to(&w, 0, 1000, SN_TCP));
		w.now += (UDP_S + 1) * SECOND;
		if (looks)
			tick(&w);
		assert_null(send_to(&w, 0, 1000, SN_UDP));
		w.now += (REST_S - 2) * SECOND;
		assert_null(send_to(&w, 0, 1000, SN_UDP));
		w.now += 2 * SECOND;
		for (uint16_t port = 0; port < PORTS; port++)
			assert_non_null(send_to(&w, 0, 1000 + port, SN_UDP));
		assert_null(send_to(&w, 0, 2000, SN_UDP));
		end_world(&w);
	}
}

static void a_port_that_was_not_used_does_not_rest(void **state)
{
	struct sn_session *s;
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	for (uint32_t i = 0; i < 10 * PORTS; i++) {
		s = send_to(&w, 0, (uint16_t)i, SN_UDP);
		assert_non_null(s);
		sn_session_end(part(&w), s); /* its packet was dropped */
	}
	end_world(&w);
}

/* The session of a mapping that is over last counts, in whichever order they are reclaimed. */
static void a_mapping_rests_after_all_of_its_sessions(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_PARTITION_BY_HOST);
	for (uint32_t i = 0; i < 100; i++) {
		for (uint16_t port = 0; port < PORTS; port++)
			assert_non_null(send_to(&w, i, port, SN_UDP));
		w.now += SECOND;
	}
	w.now += (UDP_S + REST_S - 2) * SECOND; /* the last ones were over REST_S - 1 ago */
	assert_null(send_to(&w, 0, 1000, SN_UDP));
	w.now += 2 * SECOND;
	assert_non_null(send_to(&w, 0, 1000, SN_UDP));
	end_world(&w);
}

/* A port that an opening gave up would have to rest: it keeps it. */
static void openings_do_not_give_way(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	for (uint16_t port = 0; port < PORTS; port++)
		assert_non_null(send_to(&w, 0, port, SN_TCP));
	w.now += 2 * SECOND;
	assert_null(send_to(&w, 0, 1000, SN_TCP));
	assert_int_equal(sn_partition_entries(part(&w)), PORTS);
	end_world(&w);
}

/* An opening gives way where sessions are few, not ports. Its port rests from then on, not from when the
 * opening would have expired. */
static void a_port_rests_from_when_its_session_gave_way(void **state)
{
	struct world w;

	(void)state;
	make_world_of(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST, PORTS - 1);
	for (uint16_t port = 0; port < PORTS - 1; port++)
		assert_non_null(send_to(&w, 0, port, SN_TCP));
	w.now += 2 * SECOND;
	assert_non_null(send_to(&w, 0, 1000, SN_TCP)); /* by the last port that was never used */
	assert_null(send_to(&w, 0, 1001, SN_TCP));
	w.now += (REST_S + 1) * SECOND;
	assert_non_null(send_to(&w, 0, 1002, SN_TCP));
	end_world(&w);
}

/* The same where another program has no place for it. */
static void a_port_rests_from_when_a_program_ended_its_session(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	for (uint16_t port = 0; port < PORTS; port++)
		assert_non_null(send_to(&w, 0, port, SN_UDP));
	w.now += SECOND;
	tick(&w);
	w.msg->runs[0]->name = (char *)"another";
	apply(&w);
	assert_int_equal(sn_partition_entries(part(&w)), 0);
	w.now += (REST_S - 1) * SECOND;
	assert_null(send_to(&w, 0, 1000, SN_UDP));
	w.now += 2 * SECOND;
	assert_non_null(send_to(&w, 0, 1000, SN_UDP));
	end_world(&w);
}

/* Times of rest are kept in 32 bits, which a year is longer than. */
static void years_do_not_have_ports_rest(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	for (uint32_t years = 0; years < 4; years++) {
		for (uint16_t port = 0; port < PORTS; port++)
			assert_non_null(send_to(&w, 0, port, SN_UDP));
		w.now += (UDP_S + REST_S - 1) * SECOND;
		assert_null(send_to(&w, 0, 1000, SN_UDP));
		w.now += 500 * 24 * 3600 * SECOND;
	}
	end_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_rest_after_their_last_session),
		cmocka_unit_test(a_port_that_was_not_used_does_not_rest),
		cmocka_unit_test(a_mapping_rests_after_all_of_its_sessions),
		cmocka_unit_test(openings_do_not_give_way),
		cmocka_unit_test(a_port_rests_from_when_its_session_gave_way),
		cmocka_unit_test(a_port_rests_from_when_a_program_ended_its_session),
		cmocka_unit_test(years_do_not_have_ports_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
