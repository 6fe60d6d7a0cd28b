/* SPDX-License-Identifier: Apache-2.0 */
/* Load balancers' sessions as a kind of state, and the table by which new flows are spread. */

#include "kinds.h"
#include "sample.h"

#include "sn_backends.h"
#include "sn_balancer.h"
#include "sn_parse.h"
#include "sn_state_impl.h"
#include "sn_tcp.h"

#define VIRTUAL 0xcb007150u /* 203.0.113.80 */
#define SERVER	0xc633640bu /* 198.51.100.11 and on */
#define SECOND	1000000000ull

static struct sn_balancer_rules rules;

static void set_backends(const uint16_t *weights, uint32_t n)
{
	memset(&rules, 0, sizeof(rules));
	for (uint32_t i = 0; i < n; i++)
		rules.backends[i] = (struct sn_backend){.address = SERVER + i, .weight = weights[i]};
	rules.n_backends = n;
	sn_maglev_fill(rules.entries, rules.backends, n);
}

/* ---- the table ---- */

static uint32_t sum_of_entries(void)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < SN_MAGLEV_ENTRIES; i++) {
		h = (h ^ rules.entries[i] >> 8) * 16777619u;
		h = (h ^ (rules.entries[i] & 0xff)) * 16777619u;
	}
	return h;
}

/* The vectors of the oracle's test (module/balancer/oracle/maglev_test.go). */
static void tables_are_those_of_the_vectors(void **state)
{
	static const struct {
		uint16_t weights[7];
		uint32_t n, sum;
	} vectors[] = {
		{{1, 1, 1}, 3, 0x1dfd1577},
		{{2, 1, 0}, 3, 0xd9d53a82},
		{{256, 1}, 2, 0x6c84411a},
		{{0, 0}, 2, 0x3b08bca3},
		{{5, 3, 7, 1, 1, 100, 2}, 7, 0xd4fe5791},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		set_backends(vectors[i].weights, vectors[i].n);
		assert_int_equal(sum_of_entries(), vectors[i].sum);
	}
}

/* ---- as a kind ---- */

static Sinter__Program__V1__Program *balanced(struct sn_arena *arena)
{
	static const uint16_t weights[] = {1, 1, 1};
	static char *reasons[] = {(char *)"lb/no-backend", (char *)"lb/full", (char *)"lb/no-session"};
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));
	Sinter__Program__V1__Balancer *b = sn_arena_alloc(arena, sizeof(*b));

	sinter__program__v1__state_table__init(table);
	sinter__program__v1__balancer__init(b);
	b->tcp_ms = 900000;
	b->tcp_transitory_ms = 240000;
	b->udp_ms = 30000;
	b->full = 1;
	b->no_session = 2;
	table->name = (char *)"lb";
	table->max_sessions = 5000;
	table->balancer = b;
	msg->n_tables = 1;
	msg->tables = sn_arena_alloc(arena, sizeof(table));
	msg->tables[0] = table;
	msg->n_reasons = 3;
	msg->reasons = reasons;
	set_backends(weights, 3);
	return msg;
}

static struct sn_flow flow_of(uint32_t i, uint8_t proto)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i % 50, VIRTUAL, (uint16_t)(2000 + i), 80, proto};
}

static uint32_t shard_of(const struct sn_state *state, uint32_t i)
{
	const struct sn_flow f = flow_of(i, SN_UDP);

	return sn_balancer_shard(state, 0, &f);
}

static struct sn_entry *get_session(struct sn_partition *partition, const struct sn_flow *f, bool make,
				    uint64_t now)
{
	enum sn_balancer_result result;
	struct sn_session *s;
	struct sn_flow back;

	result = sn_balancer_forth(partition, 0, &rules, f, make, now, &s);
	if (result != SN_BALANCER_FOUND && result != SN_BALANCER_MADE)
		return NULL;
	back = (struct sn_flow){s->inside_addr, f->src, s->inside_port, f->sport, f->proto};
	assert_ptr_equal(sn_balancer_back(partition->state, 0, &rules, &back, now), s);
	return &s->entry;
}

static struct sn_entry *get(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
			    uint64_t now)
{
	struct sn_flow f = flow_of(i, SN_UDP);

	(void)shard;
	return get_session(partition, &f, make, now);
}

static struct sn_entry *get_opening(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
				    uint64_t now)
{
	struct sn_flow f = flow_of(i, SN_TCP);

	(void)shard;
	return get_session(partition, &f, make, now);
}

static void use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	sn_session_use(state, (struct sn_session *)e, NULL, true, now);
}

static const struct kind_case flows = {
	.program = balanced,
	.idle_ns = 30 * SECOND,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = kind_sessions_alike,
};

/* TCP openings that no backend answers give way. */
static const struct kind_case openings = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = balanced,
	.idle_ns = 240 * SECOND,
	.evicts = true,
	.shard = shard_of,
	.get = get_opening,
	.use = use,
	.alike = kind_sessions_alike,
};

/* ---- what only load balancers do ---- */

struct world {
	struct sn_arena arena;
	struct sn_program *program;
	struct sn_state *state;
};

static struct sn_partition *world_init_as(struct world *w, bool direct)
{
	Sinter__Program__V1__Program *msg;
	struct sn_error err = {0};
	uint64_t kept, dropped;

	sn_arena_init(&w->arena);
	msg = balanced(&w->arena);
	msg->tables[0]->balancer->direct = direct;
	w->program = sn_program_create(msg, NULL, &err);
	if (w->program == NULL)
		fail_msg("%s", err.text);
	w->state = sn_state_create(1, 1, (struct sn_partitioning){0});
	assert_non_null(w->state);
	assert_int_equal(sn_state_apply(w->state, w->program, &kept, &dropped), 0);
	return sn_state_partition(w->state, 0);
}

static struct sn_partition *world_init(struct world *w)
{
	return world_init_as(w, false);
}

static void world_free(struct world *w)
{
	sn_state_free(w->state);
	sn_program_free(w->program);
	sn_arena_free(&w->arena);
}

/* One port of a client's is in one chain, however many services it is sent to. */
static void a_clients_port_has_few_sessions(void **state)
{
	static uint16_t weights[128];
	struct sn_partition *p;
	struct sn_session *s;
	struct world w;

	(void)state;
	p = world_init(&w);
	for (uint32_t i = 0; i < 128; i++)
		weights[i] = 1;
	set_backends(weights, 128);
	for (uint32_t i = 0; i < 100; i++) {
		struct sn_flow f = {SN_SAMPLE_HOST, VIRTUAL, 2000, (uint16_t)(80 + i), SN_UDP};
		enum sn_balancer_result result = sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s);

		assert_int_equal(result, i < 64 ? SN_BALANCER_MADE : SN_BALANCER_FULL);
	}
	world_free(&w);
}

static void a_session_ends_with_its_backend_and_comes_back_with_it(void **state)
{
	static const uint16_t weights[] = {1, 1, 1};
	struct sn_flow f = {SN_SAMPLE_HOST, VIRTUAL, 2000, 80, SN_UDP}, back;
	struct sn_session *s, *other;
	struct sn_partition *p;
	struct world w;

	(void)state;
	p = world_init(&w);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s), SN_BALANCER_MADE);
	back = (struct sn_flow){s->inside_addr, f.src, 80, 2000, SN_UDP};
	rules.n_backends = 0;
	assert_null(sn_balancer_back(w.state, 0, &rules, &back, SECOND));
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, false, SECOND, &other), SN_BALANCER_NONE);
	set_backends(weights, 3);
	assert_ptr_equal(sn_balancer_back(w.state, 0, &rules, &back, SECOND), s);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, false, SECOND, &other), SN_BALANCER_FOUND);
	world_free(&w);
}

/* A flow whose session is with the last backend, which another one takes the place of in the table. */
static struct sn_session *session_of_last(struct sn_partition *p, struct sn_flow *f)
{
	struct sn_session *s;

	for (;; f->sport++) {
		assert_int_equal(sn_balancer_forth(p, 0, &rules, f, true, SECOND, &s), SN_BALANCER_MADE);
		if (s->inside_addr == SERVER + 2)
			return s;
		sn_session_end(p, s);
	}
}

/* A packet that is dropped leaves no trace: the old session ends with the first packet that leaves. */
static void a_session_makes_way_when_its_flow_goes_elsewhere(void **state)
{
	static const uint16_t weights[] = {1, 1, 1};
	struct sn_flow f = {SN_SAMPLE_HOST, VIRTUAL, 2000, 80, SN_UDP};
	struct sn_session *old, *s, *again;
	struct sn_partition *p;
	struct world w;

	(void)state;
	p = world_init(&w);
	old = session_of_last(p, &f);
	rules.backends[2].address = SERVER + 100;
	for (uint32_t i = 0; i < 3; i++) { /* dropped each time */
		assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s), SN_BALANCER_MOVED);
		assert_int_equal(s->inside_addr, SERVER + 100);
		assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &again),
				 SN_BALANCER_FOUND);
		assert_ptr_equal(again, s);
		sn_session_end(p, s);
	}
	set_backends(weights, 3);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s), SN_BALANCER_FOUND);
	assert_ptr_equal(s, old);

	rules.backends[2].address = SERVER + 100;
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s), SN_BALANCER_MOVED);
	sn_entry_replace(p, &s->entry); /* it leaves */
	set_backends(weights, 3);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &again), SN_BALANCER_MOVED);
	assert_int_equal(again->inside_addr, SERVER + 2); /* the first session is over */
	world_free(&w);
}

/* Flows of a backend that is gone find others also where there are as many sessions as there may be. */
static void a_flow_goes_elsewhere_from_a_full_table(void **state)
{
	struct sn_flow f = {SN_SAMPLE_HOST, VIRTUAL, 2000, 80, SN_UDP}, other = f;
	struct sn_session *s;
	struct sn_partition *p;
	struct world w;

	(void)state;
	p = world_init(&w);
	session_of_last(p, &f);
	while (other.src++, sn_balancer_forth(p, 0, &rules, &other, true, SECOND, &s) == SN_BALANCER_MADE)
		;
	rules.backends[2].address = SERVER + 100;
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s), SN_BALANCER_MOVED);
	sn_entry_replace(p, &s->entry);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &other, true, SECOND, &s), SN_BALANCER_FULL);
	world_free(&w);
}

/* Two services that a client asks from one port have one backend, unless its replies had to tell them apart.
 */
static void two_services_have_one_backend_if_it_is_direct(void **state)
{
	struct sn_flow web = {SN_SAMPLE_HOST, VIRTUAL, 2000, 80, SN_TCP}, other = web;
	struct sn_session *s, came;

	(void)state;
	other.dst++;
	for (int direct = 0; direct < 2; direct++) {
		static const uint16_t weights[] = {1};
		struct sn_partition *p;
		struct world w;

		p = world_init_as(&w, direct);
		set_backends(weights, 1);
		rules.direct = direct;
		assert_int_equal(sn_balancer_forth(p, 0, &rules, &web, true, SECOND, &s), SN_BALANCER_MADE);
		came = *s; /* by a transfer */
		came.outside_addr++;
		assert_int_equal(sn_balancer.is_taken(w.state, w.state->tables[0],
						      shard_at(w.state->tables[0], s->entry.shard),
						      &came.entry, SECOND),
				 !direct);
		assert_int_equal(sn_balancer_forth(p, 0, &rules, &other, true, SECOND, &s),
				 direct ? SN_BALANCER_MADE : SN_BALANCER_FULL);
		world_free(&w);
	}
}

/*
 * A session that has expired, and that nobody has swept yet, has the backend that another one of its client's
 * port has by now. It is in the way neither of that one's transfer nor of its move to a table of another
 * size.
 */
static void an_expired_session_is_in_no_ones_way(void **state)
{
	static const uint16_t weights[] = {1};
	struct sn_flow web = {SN_SAMPLE_HOST, VIRTUAL, 2000, 80, SN_UDP},
		       other = {SN_SAMPLE_HOST, VIRTUAL, 2000, 81, SN_UDP};
	Sinter__Program__V1__Program *msg;
	struct sn_error err = {0};
	struct sn_partition *p;
	struct sn_program *next;
	struct sn_session *s, came;
	uint64_t kept, dropped;
	struct world w;

	(void)state;
	p = world_init(&w);
	set_backends(weights, 1);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &web, true, SECOND, &s), SN_BALANCER_MADE);
	came = *s;
	came.outside_port = other.dport;
	p->now = 32 * SECOND;
	assert_false(sn_balancer.is_taken(w.state, w.state->tables[0],
					  shard_at(w.state->tables[0], s->entry.shard), &came.entry, p->now));
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &other, true, p->now, &s), SN_BALANCER_MADE);
	msg = balanced(&w.arena);
	msg->tables[0]->max_sessions += 1000;
	set_backends(weights, 1);
	next = sn_program_create(msg, NULL, &err);
	assert_non_null(next);
	assert_int_equal(sn_state_apply(w.state, next, &kept, &dropped), 0);
	assert_int_equal(kept, 1);
	assert_int_equal(dropped, 0);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &other, false, p->now, &s), SN_BALANCER_FOUND);
	sn_program_free(next);
	world_free(&w);
}

/* ---- what is said of backends ---- */

static void a_backend_that_is_down_is_not_listed(void **state)
{
	static const uint16_t weights[] = {1, 1, 1};
	struct sn_flow f = {SN_SAMPLE_HOST, VIRTUAL, 2000, 80, SN_UDP};
	struct sn_session *s, *other;
	struct sn_partition *p;
	struct world w;

	(void)state;
	p = world_init(&w);
	set_backends(weights, 3);
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, true, SECOND, &s), SN_BALANCER_MADE);
	rules.backends[s->inside_addr - SERVER].down = true;
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, false, SECOND, &other), SN_BALANCER_NONE);
	rules.backends[s->inside_addr - SERVER].down = false;
	assert_int_equal(sn_balancer_forth(p, 0, &rules, &f, false, SECOND, &other), SN_BALANCER_FOUND);
	world_free(&w);
}

/* The sample has two backends. */
static Sinter__Program__V1__Program *with_two_backends(struct sn_arena *arena)
{
	Sinter__Program__V1__Program *msg = balanced(arena);
	Sinter__Program__V1__Balancer *b = msg->tables[0]->balancer;

	b->n_backends = 2;
	b->backends = sn_arena_alloc(arena, 2 * sizeof(void *));
	for (uint32_t i = 0; i < 2; i++) {
		b->backends[i] = sn_arena_alloc(arena, sizeof(*b->backends[i]));
		sinter__program__v1__backend__init(b->backends[i]);
		b->backends[i]->address = SERVER + i;
		b->backends[i]->weight = 3;
	}
	return msg;
}

/* Packets go on to them behind a stop. */
static void backends_are_next_hops_if_it_is_direct(void **state)
{
	static const uint32_t want[] = {0, SERVER, SERVER + 1};

	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		Sinter__Program__V1__Backend two[2], *list[] = {&two[0], &two[1]};
		Sinter__Program__V1__Program *msg;
		Sinter__Program__V1__Leg *leg;
		struct sn_error err = {0};
		struct sn_program *p;
		struct sn_arena arena;

		sn_arena_init(&arena);
		msg = balanced(&arena);
		for (uint32_t i = 0; i < 2; i++) {
			sinter__program__v1__backend__init(&two[i]);
			two[i].address = SERVER + i;
			two[i].weight = i;
		}
		msg->tables[0]->balancer->direct = direct;
		msg->tables[0]->balancer->backends = list;
		msg->tables[0]->balancer->n_backends = 2;
		leg = msg->segments[0]->classes[0]->legs[0];
		sn_sample_op(&arena, leg, SINTER__PROGRAM__V1__OP__OP_BALANCE)->balance = 0;
		sn_sample_stop(&arena, msg, leg);
		p = sn_program_create(msg, NULL, &err);
		if (!p)
			fail_msg("%s", err.text);
		assert_int_equal(p->n_hops, direct ? 3 : 1);
		assert_memory_equal(p->hops, want, p->n_hops * sizeof(*want));
		sn_program_free(p);
		sn_arena_free(&arena);
	}
}

static void what_is_said_of_backends_is_kept_and_changes_programs(void **state)
{
	Sinter__Program__V1__BackendState of = SINTER__PROGRAM__V1__BACKEND_STATE__INIT, *list[] = {&of};
	Sinter__Program__V1__SetBackends said = SINTER__PROGRAM__V1__SET_BACKENDS__INIT;
	Sinter__Program__V1__Backend *const *got;
	struct sn_backends none = {0}, kept, same;
	struct sn_error err;
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;

	(void)state;
	sn_arena_init(&arena);
	msg = with_two_backends(&arena);
	got = msg->tables[0]->balancer->backends;
	assert_true(sn_backends_concern(msg));
	said.states = list;
	said.n_states = 1;
	of.table = (char *)"lb";
	of.address = SERVER + 1;
	of.weight = 7;
	of.down = true;
	assert_int_equal(sn_backends_create(&kept, &said, &err), 0);
	assert_int_equal(sn_backends_create(&same, &said, &err), 0);
	assert_true(sn_backends_same(&kept, &same));
	assert_false(sn_backends_same(&kept, &none));
	assert_int_equal(sn_backends_apply(&none, msg), 0);
	assert_int_equal(got[1]->weight, 3);
	assert_int_equal(sn_backends_apply(&kept, msg), 0);
	assert_int_equal(got[0]->weight, 3);
	assert_false(got[0]->down);
	assert_int_equal(got[1]->weight, 7);
	assert_true(got[1]->down);
	sn_backends_free(&kept);
	sn_backends_free(&same);
	of.weight = 257;
	assert_int_equal(sn_backends_create(&kept, &said, &err), -1);
	assert_string_equal(err.text, "set backends: states[0].weight is 257, want at most 256");
	of.weight = 0;
	of.port = 65536;
	assert_int_equal(sn_backends_create(&kept, &said, &err), -1);
	assert_string_equal(err.text, "set backends: states[0].port is 65536, want at most 65535");
	sn_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_those_of_the_vectors),
		KIND_TESTS(flows),
		KIND_TESTS(openings),
		cmocka_unit_test(a_clients_port_has_few_sessions),
		cmocka_unit_test(a_session_ends_with_its_backend_and_comes_back_with_it),
		cmocka_unit_test(a_session_makes_way_when_its_flow_goes_elsewhere),
		cmocka_unit_test(a_flow_goes_elsewhere_from_a_full_table),
		cmocka_unit_test(two_services_have_one_backend_if_it_is_direct),
		cmocka_unit_test(an_expired_session_is_in_no_ones_way),
		cmocka_unit_test(a_backend_that_is_down_is_not_listed),
		cmocka_unit_test(backends_are_next_hops_if_it_is_direct),
		cmocka_unit_test(what_is_said_of_backends_is_kept_and_changes_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
