/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of one inside address and port share an outside one (RFC 4787 sections 4.1 and 5). */

#include "napt_world.h"

#include "sn_carry.h"
#include "sn_tcp.h"

#define PEERS 100000u

static void make_world(struct world *w, enum sn_dependence mapping, enum sn_dependence filtering,
		       enum sn_partition_by by)
{
	begin_world(w, mapping, 1, by);
	w->msg->tables[0]->max_sessions = 4 * PEERS;
	w->msg->tables[0]->filtering = (Sinter__Program__V1__Dependence)filtering;
	apply(w);
}

static struct sn_flow flow_to(uint32_t remote, uint16_t sport, uint16_t dport)
{
	return (struct sn_flow){SN_SAMPLE_HOST, remote, sport, dport, SN_UDP};
}

/* The session of a flow from inside, which is used; NULL: none, and no room for it. */
static struct sn_session *send_to(struct world *w, struct sn_flow flow)
{
	uint32_t shard = sn_napt_shard(w->state, 0, &flow);
	struct sn_session *s = NULL;

	if (sn_napt_forward(part(w), 0, shard, &flow, true, w->now, &s) == SN_NAPT_NONE)
		return NULL;
	sn_session_use(w->state, s, NULL, false, w->now);
	return s;
}

/* A packet from outside comes to where a session is. */
static enum sn_napt_result come(struct world *w, const struct sn_session *to, uint32_t remote, uint16_t port,
				struct sn_session **s)
{
	const struct sn_flow back = {remote, to->outside_addr, port, to->outside_port, to->proto};
	uint32_t run;
	enum sn_napt_result result = sn_napt_come(part(w), 0, &back, w->now, s, &run);

	if (*s)
		sn_session_use(w->state, *s, NULL, true, w->now);
	return result;
}

static void tick(struct world *w)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		sn_partition_tick(part(w), w->now);
}

static const struct napt_table *table(const struct world *w)
{
	return (const struct napt_table *)w->state->tables[0];
}

/* Mappings of the table, by their slots. */
static uint32_t mappings(const struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= table(w)->table.mask; i++) {
		const struct napt_shard *sh = napt_shard_at(table(w), i);

		for (uint32_t class = 0; class < SN_PORTED; class ++)
			for (uint32_t slot = 0; slot < sh->n_slots; slot++)
				n += is_mapped(mapping_at(sh, class, slot));
	}
	return n;
}

static void one_port_serves_any_number_of_peers(void **state)
{
	const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_ADDRESS,
					     SN_PARTITION_BY_RSS};

	(void)state;
	for (uint32_t c = 0; c < 3; c++) {
		struct sn_session *first, *s, *found;
		struct world w;

		make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_AND_PORT_DEPENDENT, cuts[c]);
		first = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 53));
		assert_non_null(first);
		for (uint32_t i = 1; i < PEERS; i++) {
			s = send_to(&w, flow_to(SN_SAMPLE_REMOTE + i, 5000, (uint16_t)i));
			assert_non_null(s);
			assert_int_equal(s->outside_addr, first->outside_addr);
			assert_int_equal(s->outside_port, first->outside_port);
			assert_int_equal(come(&w, first, SN_SAMPLE_REMOTE + i, (uint16_t)i, &found),
					 SN_NAPT_FOUND);
			assert_ptr_equal(found, s);
			assert_int_equal(come(&w, first, SN_SAMPLE_REMOTE + i, (uint16_t)(i + 1), &found),
					 SN_NAPT_NONE);
		}
		assert_int_equal(mappings(&w), 1);
		s = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5001, 53));
		assert_true(s->outside_port != first->outside_port);
		assert_int_equal(mappings(&w), 2);
		end_world(&w);
	}
}

static void a_mapping_ends_with_its_last_session(void **state)
{
	struct sn_session *a, *b, *s;
	struct world w;

	(void)state;
	make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_ENDPOINT_INDEPENDENT, SN_PARTITION_BY_HOST);
	a = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 53));
	w.now += 200 * SECOND;
	b = send_to(&w, flow_to(SN_SAMPLE_REMOTE + 1, 5000, 53));
	assert_int_equal(a->outside_port, b->outside_port);
	w.now += 200 * SECOND; /* the first one is over */
	tick(&w);
	assert_int_equal(mappings(&w), 1);
	assert_int_equal(come(&w, b, SN_SAMPLE_REMOTE + 2, 7, &s), SN_NAPT_MADE);
	sn_session_end(part(&w), s); /* its packet was dropped */
	assert_int_equal(mappings(&w), 1);
	w.now += 101 * SECOND; /* so is the second, but nobody has looked */
	assert_int_equal(come(&w, b, SN_SAMPLE_REMOTE + 3, 7, &s), SN_NAPT_NONE);
	assert_int_equal(mappings(&w), 0);
	assert_int_equal(sn_partition_entries(part(&w)), 0);
	end_world(&w);
}

static void filters_let_in_whom_they_say(void **state)
{
	struct sn_session *a, *s;
	struct world w;

	(void)state;
	make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_DEPENDENT, SN_PARTITION_BY_HOST);
	a = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 53));
	assert_int_equal(come(&w, a, SN_SAMPLE_REMOTE + 1, 53, &s), SN_NAPT_NONE);
	for (uint16_t i = 1; i < REMOTE_PORTS; i++)
		assert_int_equal(come(&w, a, SN_SAMPLE_REMOTE, 100 + i, &s), SN_NAPT_MADE);
	assert_int_equal(come(&w, a, SN_SAMPLE_REMOTE, 99, &s), SN_NAPT_FULL);
	assert_null(send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 99)));
	assert_non_null(send_to(&w, flow_to(SN_SAMPLE_REMOTE + 1, 5000, 99)));
	assert_int_equal(come(&w, a, SN_SAMPLE_REMOTE, 101, &s), SN_NAPT_FOUND);
	end_world(&w);
}

static void address_dependent_mappings_are_by_remote_address(void **state)
{
	struct sn_session *a, *b, *c;
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_DEPENDENT, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	a = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 53));
	b = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 54));
	c = send_to(&w, flow_to(SN_SAMPLE_REMOTE + 1, 5000, 53));
	assert_int_equal(a->outside_port, b->outside_port);
	assert_true(a->outside_port != c->outside_port);
	assert_int_equal(mappings(&w), 2);
	for (uint32_t i = 2; i < 400; i++) /* some are in one chain */
		assert_non_null(send_to(&w, flow_to(SN_SAMPLE_REMOTE + i, 5000, 53)));
	assert_int_equal(mappings(&w), 400);
	end_world(&w);
}

struct behaviour {
	enum sn_dependence mapping, filtering;
};

static const struct behaviour behaviours[] = {
	{SN_ENDPOINT_INDEPENDENT, SN_ENDPOINT_INDEPENDENT},
	{SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_DEPENDENT},
	{SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_AND_PORT_DEPENDENT},
	{SN_ADDRESS_DEPENDENT, SN_ADDRESS_DEPENDENT},
	{SN_ADDRESS_DEPENDENT, SN_ADDRESS_AND_PORT_DEPENDENT},
	{SN_ADDRESS_AND_PORT_DEPENDENT, SN_ADDRESS_AND_PORT_DEPENDENT},
};

#define SENT 4u

/* Whether a session has the port of another one. */
static bool shares(const struct sn_session *s, const struct sn_session *with)
{
	return s->outside_addr == with->outside_addr && s->outside_port == with->outside_port;
}

/* Whether a remote may begin a flow by the port of a session, of those that there are. */
static bool may_begin(struct behaviour b, struct sn_session *const sessions[SENT],
		      const struct sn_session *to, uint32_t remote)
{
	if (to->proto == SN_ICMP || b.filtering == SN_ADDRESS_AND_PORT_DEPENDENT)
		return false;
	for (uint32_t i = 0; i < SENT; i++)
		if (shares(sessions[i], to) && sessions[i]->remote_addr == remote)
			return true;
	return b.filtering == SN_ENDPOINT_INDEPENDENT;
}

/* A remote sends to the port of a session, and a router an error about what was sent from that port. */
static void assert_comes_by_its_own(struct world *w, struct behaviour b,
				    struct sn_session *const sessions[SENT], const struct sn_session *to,
				    uint32_t remote, uint16_t port)
{
	const struct sn_flow back = {remote, to->outside_addr, port, to->outside_port, to->proto};
	uint64_t entries = sn_partition_entries(part(w));
	struct sn_session *own = NULL, *s;

	for (uint32_t i = 0; i < SENT; i++)
		if (shares(sessions[i], to) && sessions[i]->remote_addr == remote &&
		    sessions[i]->remote_port == port)
			own = sessions[i];
	assert_ptr_equal(sn_napt_return(w->state, 0, &back, w->now), own);
	if (own || !may_begin(b, sessions, to, remote)) {
		assert_int_equal(come(w, to, remote, port, &s), own ? SN_NAPT_FOUND : SN_NAPT_NONE);
		assert_ptr_equal(s, own);
	} else {
		assert_int_equal(come(w, to, remote, port, &s), SN_NAPT_MADE);
		assert_true(shares(s, to));
		assert_int_equal(s->inside_addr, to->inside_addr);
		assert_int_equal(s->inside_port, to->inside_port);
		sn_session_end(part(w), s);
	}
	assert_int_equal(sn_partition_entries(part(w)), entries);
}

/* Whatever the behaviour: who knows the port that a host has towards one remote has not the one towards
 * another, though both are of one host and port inside. */
static void a_packet_comes_by_its_own_mapping_alone(void **state)
{
	const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_ADDRESS,
					     SN_PARTITION_BY_RSS};
	const uint8_t protocols[] = {SN_TCP, SN_UDP, SN_ICMP};

	(void)state;
	for (uint32_t i = 0; i < 3 * 3 * 6; i++) {
		struct behaviour b = behaviours[i / 9];
		uint8_t proto = protocols[i / 3 % 3];
		uint16_t port = proto == SN_ICMP ? 0 : 53;
		const struct sn_flow flows[SENT] = {
			{SN_SAMPLE_HOST, SN_SAMPLE_REMOTE, 5000, port, proto},
			{SN_SAMPLE_HOST, SN_SAMPLE_REMOTE + 1, 5000, port, proto},
			{SN_SAMPLE_HOST + 1, SN_SAMPLE_REMOTE + 1, 5000, port, proto},
			{SN_SAMPLE_HOST, SN_SAMPLE_REMOTE + 2, 5001, port, proto},
		};
		struct sn_session *sessions[SENT];
		struct world w;

		make_world(&w, b.mapping, b.filtering, cuts[i % 3]);
		for (uint32_t n = 0; n < SENT; n++)
			assert_non_null(sessions[n] = send_to(&w, flows[n]));
		if (b.mapping != SN_ADDRESS_AND_PORT_DEPENDENT) /* then shards may have a port each */
			assert_int_equal(shares(sessions[0], sessions[1]),
					 b.mapping == SN_ENDPOINT_INDEPENDENT);
		for (uint32_t n = 0; n < SENT; n++) {
			for (uint32_t remote = SN_SAMPLE_REMOTE; remote < SN_SAMPLE_REMOTE + 4; remote++) {
				assert_comes_by_its_own(&w, b, sessions, sessions[n], remote, port);
				if (proto != SN_ICMP)
					assert_comes_by_its_own(&w, b, sessions, sessions[n], remote, 54);
			}
		}
		end_world(&w);
	}
}

/* Another pool, and another number of the run: all sessions go to a new table, or stay in one that is as it
 * was. */
static void mappings_survive_another_program(void **state)
{
	struct sn_session *a, *b, *s;
	uint16_t port;
	struct world w;

	(void)state;
	for (int larger = 0; larger < 2; larger++) {
		make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_ENDPOINT_INDEPENDENT, SN_PARTITION_BY_HOST);
		a = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 53));
		b = send_to(&w, flow_to(SN_SAMPLE_REMOTE + 1, 5000, 53));
		assert_int_equal(a->outside_port, b->outside_port);
		port = a->outside_port;
		w.msg->tables[0]->pool[0]->last += larger;
		w.msg->runs[0]->udp_ms += 1000; /* entries are visited */
		apply(&w);
		assert_int_equal(mappings(&w), 1);
		for (uint32_t i = 0; i < 3; i++) {
			s = send_to(&w, flow_to(SN_SAMPLE_REMOTE + i, 5000, 53));
			assert_int_equal(s->outside_port, port);
		}
		assert_int_equal(sn_partition_entries(part(&w)), 3);
		end_world(&w);
	}
}

static void sessions_of_a_mapping_are_carried_in_any_order(void **state)
{
	uint8_t records[8 * SN_CARRY_BYTES], reversed[8 * SN_CARRY_BYTES];
	bool all[SN_SHARDS];
	struct sn_error err = {0};
	struct sn_session *a, *s;
	struct world w, to;
	uint64_t cursor = 0;
	size_t n;

	(void)state;
	memset(all, 1, sizeof(all));
	make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_DEPENDENT, SN_PARTITION_BY_HOST);
	make_world(&to, SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_DEPENDENT, SN_PARTITION_BY_HOST);
	sn_state_set_key(to.state, sn_state_key(w.state));
	a = send_to(&w, flow_to(SN_SAMPLE_REMOTE, 5000, 53));
	for (uint16_t i = 1; i < 8; i++)
		send_to(&w, flow_to(SN_SAMPLE_REMOTE + i % 3, 5000, 53 + i));
	n = sn_carry_read(w.state, all, &cursor, w.now, records, 8);
	assert_int_equal(n, 8);
	for (size_t i = 0; i < n; i++)
		memcpy(reversed + SN_CARRY_BYTES * (n - 1 - i), records + SN_CARRY_BYTES * i, SN_CARRY_BYTES);
	assert_int_equal(sn_carry_put(to.state, all, reversed, n, to.now, &err), 0);
	sn_state_level(to.state);
	assert_int_equal(mappings(&to), 1);
	s = send_to(&to, flow_to(SN_SAMPLE_REMOTE + 9, 5000, 80));
	assert_int_equal(s->outside_port, a->outside_port);
	assert_int_equal(come(&to, s, SN_SAMPLE_REMOTE + 2, 9, &s), SN_NAPT_MADE);
	/* None of them comes twice, nor one that says it has another port. */
	assert_int_equal(sn_carry_put(to.state, all, records, 1, to.now, &err), -1);
	sn_carry_forget(w.state, all);
	assert_int_equal(mappings(&w), 0);
	end_world(&w);
	end_world(&to);
}

/* A TCP opening that has its port for itself gives it up for another one; sessions that share theirs do not.
 */
static void openings_without_answers_give_way(void **state)
{
	struct sn_flow flow = {SN_SAMPLE_HOST, SN_SAMPLE_REMOTE, 0, 80, SN_TCP};
	uint32_t made = 0, refused = 0;
	struct world w;

	(void)state;
	make_world(&w, SN_ENDPOINT_INDEPENDENT, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	for (uint32_t i = 1; i < 65536; i++) {
		flow.sport = (uint16_t)i;
		made += send_to(&w, flow) != NULL;
	}
	assert_in_range(made, 40000, 64512);
	w.now += 2 * SECOND;
	flow.src++;
	for (uint32_t i = 1; i < 20000; i++) {
		flow.sport = (uint16_t)i;
		refused += send_to(&w, flow) == NULL;
	}
	assert_int_equal(refused, 0);
	end_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_port_serves_any_number_of_peers),
		cmocka_unit_test(a_mapping_ends_with_its_last_session),
		cmocka_unit_test(filters_let_in_whom_they_say),
		cmocka_unit_test(address_dependent_mappings_are_by_remote_address),
		cmocka_unit_test(a_packet_comes_by_its_own_mapping_alone),
		cmocka_unit_test(mappings_survive_another_program),
		cmocka_unit_test(sessions_of_a_mapping_are_carried_in_any_order),
		cmocka_unit_test(openings_without_answers_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
