/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that are used together: what one has seen, all have, whichever ends first. */

#include "kinds.h"
#include "sample.h"

#include "sn_bundle.h"
#include "sn_carry.h"
#include "sn_session_impl.h"
#include "sn_tcp.h"
#include "sn_track.h"

#define S      1000000000ull
#define TABLES 3
#define ROOM   100000u /* sessions of each */

struct world {
	struct sn_arena arena;
	struct sn_program *program;
	struct sn_state *state;
	struct sn_partition *partition;
	uint64_t now;
};

static char *const names[TABLES] = {(char *)"a/flows", (char *)"b/flows", (char *)"c/flows"};
static const uint32_t transitory_s[TABLES] = {20, 10, 30};

/* Three tables of followed flows, of which the second forgets first; alike: they have the same times. */
static Sinter__Program__V1__Program *tracking_program(struct sn_arena *arena, uint32_t udp_s, bool alike)
{
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);

	msg->n_tables = TABLES;
	msg->tables = sn_arena_alloc(arena, TABLES * sizeof(*msg->tables));
	for (uint32_t i = 0; i < TABLES; i++) {
		Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));
		Sinter__Program__V1__Tracking *t = sn_arena_alloc(arena, sizeof(*t));

		sinter__program__v1__state_table__init(table);
		sinter__program__v1__tracking__init(t);
		t->tcp_ms = 100000 + 1000 * (alike ? 0 : i);
		t->tcp_transitory_ms = transitory_s[alike ? 0 : i] * 1000;
		t->udp_ms = (udp_s + (alike ? 0 : i)) * 1000;
		t->icmp_ms = 5000;
		table->name = names[i];
		table->tracking = t;
		table->max_sessions = ROOM;
		msg->tables[i] = table;
	}
	return msg;
}

static void load_as(struct world *w, uint32_t udp_s, bool alike)
{
	struct sn_error err = {0};
	struct sn_program *before = w->program;
	uint64_t kept, dropped;

	w->program = sn_program_create(tracking_program(&w->arena, udp_s, alike), NULL, &err);
	if (!w->program)
		fail_msg("%s", err.text);
	assert_int_equal(sn_state_apply(w->state, w->program, &kept, &dropped), 0);
	sn_program_free(before);
}

static void load(struct world *w, uint32_t udp_s)
{
	load_as(w, udp_s, false);
}

static int open_world(void **state)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	sn_arena_init(&w.arena);
	w.now = 1000 * S;
	w.state = sn_state_create(1, 1, (struct sn_partitioning){0});
	assert_non_null(w.state);
	load(&w, 40);
	w.partition = sn_state_partition(w.state, 0);
	*state = &w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	sn_state_free(w->state);
	sn_program_free(w->program);
	sn_arena_free(&w->arena);
	return 0;
}

static struct sn_flow flow_of(uint32_t i, uint8_t proto)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i / 1000, SN_SAMPLE_REMOTE, (uint16_t)(1024 + i % 1000), 80,
				proto};
}

/* The flow's session in a table; turned: the other side began it. */
static struct sn_session *session(struct world *w, uint32_t table, uint32_t i, uint8_t proto, bool turned)
{
	struct sn_flow f = flow_of(i, proto);
	bool is_return, made;

	if (turned)
		f = sn_flow_turned(&f);
	return sn_track_begin(w->partition, table, sn_flow_both_shard(w->state, &f), &f, turned, w->now,
			      &is_return, &made);
}

static struct sn_session *find(struct world *w, uint32_t table, uint32_t i, uint8_t proto)
{
	struct sn_flow f = flow_of(i, proto);
	bool is_return;

	return sn_track_find(w->partition, table, sn_flow_both_shard(w->state, &f), &f, false, w->now,
			     &is_return);
}

static struct sn_bundle_uses uses_of(struct world *w, uint32_t i, uint8_t proto, uint32_t turned)
{
	struct sn_bundle_uses uses = {.n = TABLES, .returns = turned};

	for (uint32_t t = 0; t < TABLES; t++)
		uses.entries[t] = &session(w, t, i, proto, turned >> t & 1)->entry;
	return uses;
}

struct tcp {
	uint8_t bytes[20];
};

static struct tcp segment(uint8_t flags, uint32_t seq, uint32_t ack)
{
	struct tcp t = {{0}};

	sn_store32(t.bytes + 4, seq);
	sn_store32(t.bytes + 8, ack);
	t.bytes[12] = 0x50;
	t.bytes[13] = flags;
	sn_store16(t.bytes + 14, 1000);
	return t;
}

/* A segment of the flow passes all sessions one by one; back: from the side that answers. */
static void pass_each(struct world *w, const struct sn_bundle_uses *uses, const struct tcp *t, bool back)
{
	for (uint32_t i = 0; i < uses->n; i++)
		sn_session_use(w->state, (struct sn_session *)uses->entries[i], t->bytes,
			       back ^ (uses->returns >> i & 1), w->now);
}

static void establish(struct world *w, const struct sn_bundle_uses *uses)
{
	struct tcp syn = segment(SN_TCP_SYN, 1, 0), syn_ack = segment(SN_TCP_SYN | SN_TCP_ACK, 7, 2),
		   ack = segment(SN_TCP_ACK, 2, 8);

	pass_each(w, uses, &syn, false);
	pass_each(w, uses, &syn_ack, true);
	pass_each(w, uses, &ack, false);
	pass_each(w, uses, &ack, true);
	pass_each(w, uses, &ack, false);
}

static void one_use_refreshes_all(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 1, SN_UDP, 0);
	struct sn_entry *leader = sn_bundle_make(w->state, &uses, w->now);

	assert_ptr_equal(leader, uses.entries[0]); /* it has the shortest time */
	assert_ptr_equal(sn_bundle_leader(w->state, &uses), leader);
	for (uint32_t i = 0; i < 10; i++) {
		w->now += 39 * S;
		assert_true(sn_entry_live_itself(leader, w->now));
		sn_session_use(w->state, (struct sn_session *)leader, NULL, false, w->now);
		for (uint32_t t = 0; t < TABLES; t++)
			assert_int_equal(sn_entry_last_use(uses.entries[t]), w->now);
		sn_partition_tick(w->partition, w->now);
	}
	for (uint32_t t = 0; t < TABLES; t++)
		assert_ptr_equal(find(w, t, 1, SN_UDP), uses.entries[t]);
}

/* Each has its own time after the last use, whichever was used for it. */
static void those_that_wait_longer_live_longer(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 1, SN_UDP, 0);

	sn_bundle_make(w->state, &uses, w->now);
	w->now += 30 * S;
	sn_session_use(w->state, (struct sn_session *)uses.entries[0], NULL, false, w->now);
	w->now += 40 * S + 500000000;
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		sn_partition_tick(w->partition, w->now);
	assert_null(find(w, 0, 1, SN_UDP));
	assert_ptr_equal(find(w, 1, 1, SN_UDP), uses.entries[1]);
	assert_false(sn_entry_bundled(uses.entries[1]));
	assert_int_equal(w->now - uses.entries[1]->last_use, 40 * S + 500000000);
	w->now += S;
	assert_null(find(w, 1, 1, SN_UDP));
	assert_ptr_equal(find(w, 2, 1, SN_UDP), uses.entries[2]);
	w->now += S;
	assert_null(find(w, 2, 1, SN_UDP));
}

static void a_connection_closes_for_all(void **state)
{
	struct world *w = *state;

	for (uint32_t turned = 0; turned < 1u << TABLES; turned++) {
		struct sn_bundle_uses uses = uses_of(w, 2 + turned, SN_TCP, turned);
		struct tcp data = segment(SN_TCP_ACK, 2, 99), fin = segment(SN_TCP_FIN | SN_TCP_ACK, 2, 100);
		struct sn_session *leader;
		bool back;

		establish(w, &uses);
		leader = (struct sn_session *)sn_bundle_make(w->state, &uses, w->now);
		assert_non_null(leader);
		assert_ptr_equal(leader, uses.entries[0]);
		back = turned & 1;
		w->now += S;
		sn_session_use(w->state, leader, data.bytes, back, w->now);
		assert_true(leader->entry.leads);
		w->now += S;
		sn_session_use(w->state, leader, fin.bytes, back, w->now);
		assert_false(leader->entry.leads);
		for (uint32_t t = 0; t < TABLES; t++) {
			struct sn_session *s = (struct sn_session *)uses.entries[t];

			assert_int_equal(s->seen, SN_SEEN_ANSWERED | SN_SEEN_ACKNOWLEDGED | SN_SEEN_CLOSING);
			assert_int_equal(s->entry.timeout_ms, transitory_s[t] * 1000);
			assert_int_equal(rte_be_to_cpu_32(s->ack[turned >> t & 1]), 100);
		}
	}
}

/* A segment that moves all alike leaves them together, and decisions about them as they are. */
static void those_that_move_alike_stay_together(void **state)
{
	struct tcp syn = segment(SN_TCP_SYN, 1, 0), syn_ack = segment(SN_TCP_SYN | SN_TCP_ACK, 7, 2),
		   ack = segment(SN_TCP_ACK, 2, 8), fin = segment(SN_TCP_FIN | SN_TCP_ACK, 2, 100),
		   old = segment(SN_TCP_RST, 60000, 0);
	struct world *w = *state;

	load_as(w, 40, true);
	for (uint32_t turned = 0; turned < 1u << TABLES; turned++) {
		struct sn_bundle_uses uses = uses_of(w, 200 + turned, SN_TCP, turned);
		struct sn_session *leader;
		uint32_t generation;
		bool back = turned & 1;

		pass_each(w, &uses, &syn, false);
		pass_each(w, &uses, &syn_ack, true);
		leader = (struct sn_session *)sn_bundle_make(w->state, &uses, w->now);
		if (turned != 0 && turned != (1u << TABLES) - 1) {
			assert_null(leader); /* of some flows the other side has to acknowledge */
			continue;
		}
		assert_ptr_equal(leader, uses.entries[0]);
		generation = leader->entry.generation;
		w->now += S;
		sn_session_use(w->state, leader, ack.bytes, back, w->now);
		w->now += S;
		sn_session_use(w->state, leader, old.bytes, back, w->now);
		for (uint32_t t = 0; t < TABLES; t++)
			assert_int_equal(sn_entry_last_use(uses.entries[t]), w->now - S);
		sn_session_use(w->state, leader, fin.bytes, back, w->now);
		assert_int_equal(leader->entry.generation, generation);
		assert_ptr_equal(sn_bundle_leader(w->state, &uses), leader);
		for (uint32_t t = 0; t < TABLES; t++) {
			struct sn_session *s = (struct sn_session *)uses.entries[t];

			assert_int_equal(s->seen, leader->seen);
			assert_true(s->seen & SN_SEEN_CLOSING);
			assert_int_equal(s->entry.timeout_ms, transitory_s[0] * 1000);
			assert_int_equal(sn_entry_last_use(&s->entry), w->now);
		}
		sn_bundle_part(w->state, &leader->entry);
		for (uint32_t t = 0; t < TABLES; t++) {
			struct sn_session *s = (struct sn_session *)uses.entries[t];

			assert_int_equal(s->entry.last_use, w->now);
			assert_int_equal(rte_be_to_cpu_32(s->ack[turned >> t & 1]), 100);
		}
	}
}

/* Each entry judges an RST by the acknowledgments that the leader has seen. */
static void a_reset_is_judged_by_what_the_leader_saw(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 20, SN_TCP, 2);
	struct tcp data = segment(SN_TCP_ACK, 2, 50000), rst = segment(SN_TCP_RST, 50100, 0),
		   old = segment(SN_TCP_RST, 8, 0);
	struct sn_session *leader;

	establish(w, &uses);
	leader = (struct sn_session *)sn_bundle_make(w->state, &uses, w->now);
	assert_non_null(leader);
	sn_session_use(w->state, leader, data.bytes, false, w->now);
	sn_session_use(w->state, leader, old.bytes, true, w->now);
	for (uint32_t t = 0; t < TABLES; t++)
		assert_int_equal(((struct sn_session *)uses.entries[t])->seen & SN_SEEN_CLOSING, 0);
	pass_each(w, &uses, &rst, true);
	for (uint32_t t = 0; t < TABLES; t++)
		assert_int_equal(((struct sn_session *)uses.entries[t])->seen & SN_SEEN_CLOSING,
				 SN_SEEN_CLOSING);
}

static void what_would_change_differently_is_no_bundle(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 30, SN_TCP, 0);
	struct tcp syn = segment(SN_TCP_SYN, 1, 0), syn_ack = segment(SN_TCP_SYN | SN_TCP_ACK, 7, 2);

	pass_each(w, &uses, &syn, false);
	sn_session_use(w->state, (struct sn_session *)uses.entries[2], syn_ack.bytes, true, w->now);
	assert_null(sn_bundle_make(w->state, &uses, w->now)); /* only the third is answered */
	uses = uses_of(w, 31, SN_TCP, 0);
	establish(w, &uses);
	uses.entries[1]->last_use--;
	assert_null(sn_bundle_make(w->state, &uses, w->now)); /* the second was not used with the others */
	uses.entries[1]->last_use++;
	uses.entries[2] = uses.entries[1];
	assert_null(sn_bundle_make(w->state, &uses, w->now)); /* one twice */
	uses.n = 2;
	assert_non_null(sn_bundle_make(w->state, &uses, w->now));
	assert_null(sn_bundle_make(w->state, &uses, w->now)); /* they are one already */
}

static void fewer_uses_are_not_those_of_the_bundle(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 40, SN_UDP, 4), some;

	assert_non_null(sn_bundle_make(w->state, &uses, w->now));
	some = uses;
	some.n = 2;
	assert_null(sn_bundle_leader(w->state, &some));
	some = uses;
	some.returns ^= 1; /* one in the other direction */
	assert_null(sn_bundle_leader(w->state, &some));
	some.returns = ~uses.returns; /* all in the other direction */
	assert_ptr_equal(sn_bundle_leader(w->state, &some), uses.entries[0]);
}

/* Those of the second half that are in a bundle. */
static uint32_t new_ones(struct sn_entry *const *entries, uint32_t n)
{
	uint32_t bundled = 0;

	for (uint32_t i = n / 2; i < n; i++)
		bundled += sn_entry_bundled(entries[i]);
	return bundled;
}

/* The first that translates leads, of those with the shortest timeout: decisions need no other then. */
static void of_equals_one_that_translates_leads(void **state)
{
	static const struct {
		uint32_t translating, timeouts_ms[TABLES], leads;
	} cases[] = {
		{0, {10, 10, 10}, 0}, {2, {10, 10, 10}, 1}, {6, {10, 10, 10}, 1}, {4, {10, 10, 10}, 2},
		{7, {10, 10, 10}, 0}, {1, {10, 9, 10}, 1},  {4, {10, 9, 9}, 2},	  {2, {9, 10, 9}, 0},
	};
	struct world *w = *state;

	for (uint32_t i = 0; i < RTE_DIM(cases); i++) {
		struct sn_bundle_uses uses = uses_of(w, 70 + i, SN_UDP, 0);

		uses.translating = cases[i].translating;
		for (uint32_t t = 0; t < TABLES; t++)
			uses.entries[t]->timeout_ms = cases[i].timeouts_ms[t];
		assert_ptr_equal(sn_bundle_make(w->state, &uses, w->now), uses.entries[cases[i].leads]);
	}
}

/* Decisions remember entries by their generations. */
static void those_that_join_or_lead_have_another_generation(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 45, SN_UDP, 0);
	uint32_t before[TABLES];

	for (uint32_t t = 0; t < TABLES; t++)
		before[t] = uses.entries[t]->generation;
	sn_bundle_make(w->state, &uses, w->now);
	for (uint32_t t = 0; t < TABLES; t++)
		assert_int_not_equal(uses.entries[t]->generation, before[t]);
	before[0] = uses.entries[0]->generation;
	sn_bundle_part(w->state, uses.entries[TABLES - 1]);
	assert_int_not_equal(uses.entries[0]->generation, before[0]);
}

/* All of a program's flows have room, or nearly: shards have about as many. */
static void there_is_room_for_the_flows_of_the_program(void **state)
{
	enum { FLOWS = ROOM };
	struct world *w = *state;
	uint32_t bundled = 0;

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < FLOWS; i++) {
			struct sn_bundle_uses uses = uses_of(w, i, SN_UDP, 0);

			bundled += sn_bundle_make(w->state, &uses, w->now) == uses.entries[0];
			assert_true(round > 0 || sn_bundle_leader(w->state, &uses) == uses.entries[0]);
		}
		assert_in_range(bundled, FLOWS * 99ull / 100, FLOWS);
		sn_bundle_part_all(w->state);
		bundled = 0;
	}
}

/* More flows of a shard than there is room for: some part, and others have their place; none has another time
 * than it would have had. */
static void bundles_give_way_to_others(void **state)
{
	enum { FLOWS = 10000 };
	static struct sn_entry *first[FLOWS], *last[FLOWS];
	struct world *w = *state;
	uint32_t n = 0, bundled = 0;

	for (uint32_t i = 0; n < FLOWS; i++) {
		struct sn_flow flow = flow_of(i, SN_UDP);
		struct sn_bundle_uses uses;

		if (sn_flow_both_shard(w->state, &flow) % SN_SHARDS != 5)
			continue;
		w->now += 100000;
		uses = uses_of(w, i, SN_UDP, 0);
		first[n] = uses.entries[0];
		last[n] = uses.entries[TABLES - 1];
		sn_bundle_make(w->state, &uses, w->now);
		if (n++ % 2 == 0)
			uses.entries[0]->last_use++; /* used again */
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		bundled += sn_entry_bundled(last[i]);
		assert_int_equal(sn_entry_bundled(first[i]), sn_entry_bundled(last[i]));
		if (sn_entry_bundled(last[i]))
			assert_ptr_equal(last[i]->leader, first[i]);
	}
	assert_in_range(bundled, ROOM / SN_SHARDS, FLOWS / 4);
	assert_in_range(new_ones(last, FLOWS), 1, bundled); /* places are not the first ones' for good */
	sn_bundle_part_all(w->state);
	for (uint32_t i = 0; i < FLOWS; i++)
		assert_false(sn_entry_bundled(first[i]) || sn_entry_bundled(last[i]));
}

/* A program with other times has each entry for itself. */
static void another_program_parts_them(void **state)
{
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 50, SN_UDP, 0);

	sn_bundle_make(w->state, &uses, w->now);
	w->now += 3 * S;
	sn_session_use(w->state, (struct sn_session *)uses.entries[0], NULL, false, w->now);
	load(w, 40); /* the same */
	assert_true(sn_entry_bundled(uses.entries[0]));
	load(w, 50);
	for (uint32_t t = 0; t < TABLES; t++) {
		struct sn_session *s = find(w, t, 50, SN_UDP);

		assert_non_null(s);
		assert_false(sn_entry_bundled(&s->entry));
		assert_int_equal(s->entry.last_use, w->now);
		assert_int_equal(s->entry.timeout_ms, (50 + t) * 1000);
	}
}

/* To another engine each goes with what it would have had. */
static void entries_are_carried_as_if_used_one_by_one(void **state)
{
	static uint8_t records[TABLES * SN_CARRY_BYTES];
	struct world *w = *state;
	struct sn_bundle_uses uses = uses_of(w, 60, SN_TCP, 2);
	struct tcp data = segment(SN_TCP_ACK, 2, 4242);
	bool shards[SN_SHARDS];
	uint64_t cursor = 0;

	memset(shards, true, sizeof(shards));
	establish(w, &uses);
	assert_non_null(sn_bundle_make(w->state, &uses, w->now));
	w->now += 5 * S;
	sn_session_use(w->state, (struct sn_session *)uses.entries[0], data.bytes, false, w->now);
	w->now += S;
	assert_int_equal(sn_carry_read(w->state, shards, &cursor, w->now, records, TABLES), TABLES);
	for (uint32_t i = 0; i < TABLES; i++) {
		struct sn_session came = {0};

		assert_int_equal(sn_load64(records + i * SN_CARRY_BYTES + 24), S);
		sn_session_unpack(&came.entry, w->now, records + i * SN_CARRY_BYTES);
		assert_int_equal(rte_be_to_cpu_32(came.ack[i == 1]), 4242);
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_use_refreshes_all),
		TEST(those_that_wait_longer_live_longer),
		TEST(a_connection_closes_for_all),
		TEST(those_that_move_alike_stay_together),
		TEST(a_reset_is_judged_by_what_the_leader_saw),
		TEST(what_would_change_differently_is_no_bundle),
		TEST(fewer_uses_are_not_those_of_the_bundle),
		TEST(of_equals_one_that_translates_leads),
		TEST(those_that_join_or_lead_have_another_generation),
		TEST(there_is_room_for_the_flows_of_the_program),
		TEST(bundles_give_way_to_others),
		TEST(another_program_parts_them),
		TEST(entries_are_carried_as_if_used_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
