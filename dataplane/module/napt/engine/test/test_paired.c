/* SPDX-License-Identifier: Apache-2.0 */
/* All sessions of an inside address have one outside address (RFC 4787 REQ-2). */

#include "napt_world.h"

#include "sn_tcp.h"

#define ADDRESSES 3u
#define HOSTS	  30u

static void make_world(struct world *w, enum sn_dependence mapping, enum sn_partition_by by)
{
	begin_world(w, mapping, 1, by);
	w->msg->tables[0]->max_sessions = 1000000;
	w->msg->tables[0]->pool[0]->last += ADDRESSES - 1;
	w->msg->tables[0]->paired = true;
	apply(w);
}

static struct sn_session *send_flow(struct world *w, uint32_t host, uint32_t i, uint8_t proto)
{
	struct sn_flow flow = {SN_SAMPLE_HOST + host, SN_SAMPLE_REMOTE + i / 60000,
			       (uint16_t)(1024 + i % 60000), 53, proto};
	struct sn_partition *p = sn_state_partition(w->state, 0);
	struct sn_session *s;

	if (sn_napt_forward(p, 0, sn_napt_shard(w->state, 0, &flow), &flow, true, w->now, &s) == SN_NAPT_NONE)
		return NULL;
	sn_session_use(w->state, s, NULL, false, w->now);
	return s;
}

static struct sn_session *reply_to(const struct world *w, const struct sn_session *s)
{
	const struct sn_flow back = {s->remote_addr, s->outside_addr, s->remote_port, s->outside_port,
				     s->proto};

	return sn_napt_return(w->state, 0, &back, w->now);
}

static void hosts_keep_their_address(void **state)
{
	const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_RSS};
	struct world w;

	(void)state;
	for (uint32_t c = 0; c < 4; c++) {
		uint32_t used[ADDRESSES] = {0};

		make_world(&w, c & 1 ? SN_ENDPOINT_INDEPENDENT : SN_ADDRESS_AND_PORT_DEPENDENT, cuts[c / 2]);
		for (uint32_t host = 0; host < HOSTS; host++) {
			struct sn_session *first = send_flow(&w, host, 0, SN_UDP);

			used[first->outside_addr - SN_SAMPLE_POOL]++;
			for (uint32_t i = 1; i < 100; i++) {
				struct sn_session *s = send_flow(&w, host, i, i & 1 ? SN_TCP : SN_UDP);

				assert_non_null(s);
				assert_int_equal(s->outside_addr, first->outside_addr);
				assert_ptr_equal(reply_to(&w, s), s);
			}
		}
		for (uint32_t i = 0; i < ADDRESSES; i++)
			assert_int_equal(used[i], HOSTS / ADDRESSES);
		end_world(&w);
	}
}

/* A host uses up the ports of its address, and none of another one. Each port serves once. */
static void an_address_runs_out_alone(void **state)
{
	static bool taken[ADDRESSES][65536];
	uint32_t made[2] = {0};
	struct world w;

	(void)state;
	memset(taken, 0, sizeof(taken));
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	for (uint32_t host = 0; host < 2; host++) {
		for (uint32_t i = 0; i < 100000; i++) {
			struct sn_session *s = send_flow(&w, host, i, SN_UDP);
			bool *port;

			if (s == NULL)
				continue;
			port = &taken[s->outside_addr - SN_SAMPLE_POOL][s->outside_port];
			assert_false(*port);
			*port = true;
			made[host]++;
		}
		assert_in_range(made[host], 60000, 64512);
	}
	end_world(&w);
}

/* Sessions live on, and what begins then has the host's address. */
static void a_pool_becomes_paired(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, SN_ADDRESS_AND_PORT_DEPENDENT, SN_PARTITION_BY_HOST);
	w.msg->tables[0]->paired = false;
	apply(&w);
	for (uint32_t i = 0; i < 100; i++)
		assert_non_null(send_flow(&w, 0, i, SN_UDP));
	w.msg->tables[0]->paired = true;
	apply(&w);
	assert_int_equal(w.kept, 100);
	for (uint32_t i = 100; i < 200; i++) {
		struct sn_session *s = send_flow(&w, 0, i, SN_UDP);

		assert_int_equal(s->outside_addr, SN_SAMPLE_POOL + SN_SAMPLE_HOST % ADDRESSES);
		assert_ptr_equal(reply_to(&w, s), s);
	}
	for (uint32_t i = 0; i < 100; i++) {
		struct sn_session *s = send_flow(&w, 0, i, SN_UDP);

		assert_ptr_equal(reply_to(&w, s), s);
	}
	w.now += 301 * SECOND;
	for (uint32_t i = 0; i < 60000; i++) /* ports of sessions that moved are free again */
		send_flow(&w, 0, i, SN_UDP);
	assert_in_range(sn_partition_entries(sn_state_partition(w.state, 0)), 55000, 60000);
	end_world(&w);
}

/* An opening that gives way gives its port to a host of its address. */
static void openings_give_way_to_hosts_of_their_address(void **state)
{
	struct world w;

	(void)state;
	for (uint32_t shared = 0; shared < 2; shared++) {
		uint32_t refused = 0;

		make_world(&w, shared ? SN_ENDPOINT_INDEPENDENT : SN_ADDRESS_AND_PORT_DEPENDENT,
			   SN_PARTITION_BY_HOST);
		for (uint32_t i = 0; i < 100000; i++) /* two hosts of one address */
			send_flow(&w, i & 1 ? ADDRESSES : 0, i / 2, SN_TCP);
		w.now += 2 * SECOND;
		for (uint32_t i = 0; i < 5000; i++) {
			struct sn_session *s = send_flow(&w, 2 * ADDRESSES, i, SN_TCP);

			refused += s == NULL;
			assert_true(s == NULL ||
				    s->outside_addr == SN_SAMPLE_POOL + SN_SAMPLE_HOST % ADDRESSES);
		}
		assert_in_range(refused, 0, 50);
		end_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_keep_their_address),
		cmocka_unit_test(an_address_runs_out_alone),
		cmocka_unit_test(a_pool_becomes_paired),
		cmocka_unit_test(openings_give_way_to_hosts_of_their_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
