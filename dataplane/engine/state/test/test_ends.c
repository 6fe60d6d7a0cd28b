/* SPDX-License-Identifier: Apache-2.0 */
/* NAPTs tell the shard of a flow from inside by its host, or by both of its ends: which, and for how long. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample.h"

#include "sn_flow.h"
#include "sn_napt.h"
#include "sn_rss.h"
#include "sn_state_impl.h"

#define SECOND 1000000000ull
#define FLOWS  200u

/* Ways in which a program can be cut. */
enum can {
	BY_HOST = 1,
	BY_ENDS = 2,
};

struct world {
	struct sn_arena arena;
	struct sn_state *state;
	struct sn_program *program;
	uint64_t kept, dropped;
};

/* The state gets a program of a NAPT; its name tells whether it has the sessions of the one before. */
static void apply(struct world *w, enum can can, const char *name)
{
	Sinter__Program__V1__Program *msg = sn_sample_napt(&w->arena);
	struct sn_error err = {0};
	struct sn_program *program;

	msg->tables[0]->name = msg->runs[0]->name = (char *)name;
	program = sn_program_create(msg, NULL, &err);
	assert_non_null(program);
	for (uint32_t by_hash = 0; by_hash < 2; by_hash++) {
		program->unpartitioned[by_hash][false] = !(can & BY_HOST);
		program->unpartitioned[by_hash][true] = !(can & BY_ENDS);
	}
	assert_int_equal(sn_state_apply(w->state, program, &w->kept, &w->dropped), 0);
	sn_program_free(w->program);
	w->program = program;
}

static struct sn_flow flow_of(uint32_t i)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i % 7, SN_SAMPLE_REMOTE + i, (uint16_t)(2000 + i), 80,
				SN_UDP};
}

static struct sn_session *get(struct world *w, uint32_t i, bool make)
{
	struct sn_flow flow = flow_of(i);
	struct sn_session *s = NULL;

	sn_napt_forward(sn_state_partition(w->state, 0), 0, sn_napt_shard(w->state, 0, &flow), &flow, make,
			1000 * SECOND, &s);
	return s;
}

static void make_all(struct world *w)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		assert_non_null(get(w, i, true));
}

static uint32_t found(struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FLOWS; i++)
		n += get(w, i, false) != NULL;
	return n;
}

static void assert_told(const struct world *w, bool by_ends, uint32_t units)
{
	assert_int_equal(sn_state_by_ends(w->state), by_ends);
	assert_int_equal(sn_state_units(w->state), units);
}

static int open_by(void **state, struct sn_partitioning partitioning)
{
	static struct world w;

	w = (struct world){.state = sn_state_create(7, 1, partitioning)};
	sn_arena_init(&w.arena);
	*state = &w;
	return w.state ? 0 : -1;
}

static int open_world(void **state)
{
	return open_by(state, (struct sn_partitioning){0});
}

static int open_rss(void **state)
{
	return open_by(state, (struct sn_partitioning){SN_PARTITION_BY_RSS, 0});
}

static int close_world(void **state)
{
	struct world *w = *state;

	sn_state_free(w->state);
	sn_program_free(w->program);
	sn_arena_free(&w->arena);
	return 0;
}

static void by_host_if_that_can_be(void **state)
{
	struct world *w = *state;

	apply(w, BY_HOST | BY_ENDS, "nat");
	assert_told(w, false, SN_SHARDS);
	apply(w, BY_ENDS, "nat");
	assert_told(w, true, SN_SHARDS);
	apply(w, BY_HOST, "nat");
	assert_told(w, false, SN_SHARDS);
	apply(w, 0, "nat");
	assert_told(w, false, 1);
}

static void both_ends_spread_the_flows_of_an_inside_port(void **state)
{
	struct world *w = *state;
	bool seen[2][SN_SHARDS] = {0};
	uint32_t n[2] = {0};

	for (uint32_t by_ends = 0; by_ends < 2; by_ends++) {
		apply(w, by_ends ? BY_ENDS : BY_HOST, "nat");
		for (uint32_t i = 0; i < FLOWS; i++) {
			struct sn_flow f = flow_of(i), back;
			uint32_t shard;

			f.src = SN_SAMPLE_HOST;
			f.sport = 2000;
			shard = sn_napt_shard(w->state, 0, &f);
			back = sn_flow_turned(&f);
			n[by_ends] += !seen[by_ends][shard];
			seen[by_ends][shard] = true;
			if (by_ends)
				assert_int_equal(sn_napt_shard(w->state, 0, &back), shard);
		}
	}
	assert_int_equal(n[0], 1);
	assert_in_range(n[1], SN_SHARDS / 2, SN_SHARDS);
}

/* There is nothing in such a flow that all who see it know. */
static void flows_without_ports_have_one_shard_by_ends(void **state)
{
	struct world *w = *state;
	uint32_t first = 0;

	apply(w, BY_ENDS, "nat");
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct sn_flow f = {SN_SAMPLE_HOST + i, SN_SAMPLE_REMOTE + i, 0, 0, 47};
		struct sn_flow back = {SN_SAMPLE_REMOTE + i, SN_SAMPLE_POOL, 0, 0, 47};

		if (i == 0)
			first = sn_napt_shard(w->state, 0, &f);
		assert_int_equal(sn_napt_shard(w->state, 0, &f), first);
		assert_int_equal(sn_flow_both_shard(w->state, &f), first);
		assert_int_equal(sn_napt_return_shard(w->state, 0, &back), first);
	}
}

static void sessions_stay_where_their_ports_are(void **state)
{
	struct world *w = *state;

	apply(w, BY_HOST | BY_ENDS, "nat");
	make_all(w);
	apply(w, BY_ENDS, "nat");
	assert_told(w, false, 1);
	assert_int_equal(found(w), FLOWS);
	apply(w, BY_HOST, "nat");
	assert_told(w, false, SN_SHARDS);
	assert_int_equal(found(w), FLOWS);
}

static void sessions_by_ends_stay_so(void **state)
{
	struct world *w = *state;

	apply(w, BY_ENDS, "nat");
	make_all(w);
	apply(w, BY_HOST | BY_ENDS, "nat");
	assert_told(w, true, SN_SHARDS);
	assert_int_equal(found(w), FLOWS);
	apply(w, BY_HOST, "nat");
	assert_told(w, true, 1);
	assert_int_equal(found(w), FLOWS);
}

static void sessions_of_a_napt_that_is_gone_decide_nothing(void **state)
{
	struct world *w = *state;

	apply(w, BY_HOST, "nat");
	make_all(w);
	apply(w, BY_ENDS, "other");
	assert_told(w, true, SN_SHARDS);
	assert_int_equal(w->dropped, FLOWS);
}

/* Another engine may have none, and would tell shards otherwise. */
static void engines_that_share_the_state_go_by_the_program(void **state)
{
	struct world *w = *state;

	sn_state_set_key(w->state, 5);
	apply(w, BY_HOST | BY_ENDS, "nat");
	make_all(w);
	apply(w, BY_ENDS, "nat");
	assert_told(w, true, SN_SHARDS);
	assert_int_equal(w->dropped, FLOWS);
	assert_int_equal(found(w), 0);
	make_all(w);
	apply(w, BY_HOST | BY_ENDS, "nat");
	assert_told(w, false, SN_SHARDS);
	assert_int_equal(w->dropped, FLOWS);
	make_all(w);
	apply(w, BY_HOST, "nat");
	assert_int_equal(w->kept, FLOWS);
	assert_int_equal(found(w), FLOWS);
}

static void by_ends_is_by_the_hash_of_devices(void **state)
{
	struct world *w = *state;

	apply(w, BY_ENDS, "nat");
	assert_told(w, true, SN_SHARDS);
	make_all(w);
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct sn_session *s = get(w, i, false);
		struct sn_flow f = flow_of(i);
		struct sn_flow back = {s->remote_addr, s->outside_addr, s->remote_port, s->outside_port,
				       s->proto};
		uint32_t shard = sn_rss_bucket(sn_rss_words(f.src, f.dst, f.sport, f.dport));

		assert_int_equal(s->entry.shard, shard);
		assert_int_equal(sn_flow_both_shard(w->state, &f), shard);
		assert_int_equal(sn_napt_return_shard(w->state, 0, &back), shard);
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_host_if_that_can_be),
		TEST(both_ends_spread_the_flows_of_an_inside_port),
		TEST(flows_without_ports_have_one_shard_by_ends),
		TEST(sessions_stay_where_their_ports_are),
		TEST(sessions_by_ends_stay_so),
		TEST(sessions_of_a_napt_that_is_gone_decide_nothing),
		TEST(engines_that_share_the_state_go_by_the_program),
		cmocka_unit_test_setup_teardown(by_ends_is_by_the_hash_of_devices, open_rss, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
