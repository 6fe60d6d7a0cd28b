/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of a pool that others have, such as those of port forwards, are never chosen. */

#include "napt_world.h"

#include "sn_tcp.h"

#define FIRST 5000u /* of the pool's ports */
#define PORTS 512u

/* So many UDP ports of the pool's only address, from the first one on, are reserved. */
static void reserve(struct world *w, uint32_t n)
{
	Sinter__Program__V1__ReservedPorts *reserved = sn_arena_alloc(&w->arena, sizeof(*reserved));

	sinter__program__v1__reserved_ports__init(reserved);
	reserved->proto = SN_UDP;
	reserved->address = SN_SAMPLE_POOL;
	reserved->first = FIRST;
	reserved->last = FIRST + n - 1;
	w->msg->tables[0]->reserved = sn_arena_alloc(&w->arena, sizeof(reserved));
	w->msg->tables[0]->reserved[0] = reserved;
	w->msg->tables[0]->n_reserved = n > 0;
	apply(w);
}

static void make_world(struct world *w, enum sn_dependence mapping, enum sn_partition_by by)
{
	Sinter__Program__V1__StateTable *t;

	begin_world(w, mapping, 1, by);
	t = w->msg->tables[0];
	t->port_min = FIRST;
	t->port_max = FIRST + PORTS - 1;
	t->pool[0]->last = t->pool[0]->first;
}

/* Sessions from as many inside ports to one remote as get a port; none gets a reserved one, but of another
 * protocol. */
static uint32_t fill(struct world *w, uint8_t proto)
{
	uint32_t made = 0;

	for (uint32_t i = 1; i < 20000; i++) {
		const struct sn_flow f = {SN_SAMPLE_HOST, SN_SAMPLE_REMOTE, (uint16_t)i, 53, proto};
		struct sn_session *s = NULL;

		if (sn_napt_forward(sn_state_partition(w->state, 0), 0, sn_napt_shard(w->state, 0, &f), &f,
				    true, SECOND, &s) == SN_NAPT_NONE)
			continue;
		made++;
		if (proto == SN_UDP)
			assert_false(s->outside_port >= w->msg->tables[0]->reserved[0]->first &&
				     s->outside_port <= w->msg->tables[0]->reserved[0]->last);
	}
	return made;
}

static void reserved_ports_are_never_chosen(void **state)
{
	const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_ADDRESS,
					     SN_PARTITION_BY_RSS};
	const enum sn_dependence mappings[] = {SN_ADDRESS_AND_PORT_DEPENDENT, SN_ADDRESS_DEPENDENT,
					       SN_ENDPOINT_INDEPENDENT};
	struct world w;

	(void)state;
	for (uint32_t c = 0; c < 3; c++) {
		for (uint32_t m = 0; m < 3; m++) {
			uint32_t shares = cuts[c] == SN_PARTITION_BY_ADDRESS ? PORTS / 8 : PORTS;

			make_world(&w, mappings[m], cuts[c]);
			reserve(&w, 100);
			assert_in_range(fill(&w, SN_UDP), shares - (shares == PORTS ? 100 : 20), shares);
			assert_in_range(fill(&w, SN_TCP), shares, PORTS);
			end_world(&w);
		}
	}
}

/* A port is reserved while sessions have ports: those that have it end, and no other one does. */
static void sessions_of_other_ports_stay(void **state)
{
	const enum sn_dependence mappings[] = {SN_ADDRESS_AND_PORT_DEPENDENT, SN_ENDPOINT_INDEPENDENT};
	struct world w;
	uint32_t made;

	(void)state;
	for (uint32_t m = 0; m < 2; m++) {
		make_world(&w, mappings[m], SN_PARTITION_BY_HOST);
		reserve(&w, 0);
		made = fill(&w, SN_UDP);
		assert_int_equal(made, PORTS);
		reserve(&w, 30);
		assert_int_equal(w.dropped, 30);
		assert_int_equal(w.kept, PORTS - 30);
		fill(&w, SN_UDP);
		reserve(&w, 0); /* and can be chosen again */
		assert_int_equal(w.dropped, 0);
		assert_int_equal(w.kept, PORTS - 30);
		end_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserved_ports_are_never_chosen),
		cmocka_unit_test(sessions_of_other_ports_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
