/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include <stdio.h>

#include "sn_carry.h"
#include "sn_session.h"
#include "sn_state_impl.h"

#define SECOND	  1000000000ull
#define N_ENTRIES 300
#define N_WORKERS 3

void kind_flow_use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	(void)state;
	e->last_use = now;
}

bool kind_flows_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	const struct sn_session *s = (const struct sn_session *)a, *u = (const struct sn_session *)b;

	return s->inside_addr == u->inside_addr && s->remote_addr == u->remote_addr &&
	       s->inside_port == u->inside_port && s->remote_port == u->remote_port && s->proto == u->proto &&
	       s->seen == u->seen && a_now - a->last_use == b_now - b->last_use;
}

bool kind_sessions_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	(void)a_now;
	(void)b_now;
	return a->own == b->own && !memcmp(a + 1, b + 1, sizeof(*a));
}

/* An engine's state, with the program in force. */
struct side {
	const struct kind_case *kind;
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	struct sn_program *program;
	struct sn_state *state;
	uint64_t now;
	uint64_t kept, dropped; /* by the last load */
};

static void load(struct side *s)
{
	struct sn_error err = {0};
	struct sn_program *next = sn_program_create(s->msg, s->program, &err);

	if (next == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sn_state_apply(s->state, next, &s->kept, &s->dropped), 0);
	sn_program_free(s->program);
	s->program = next;
}

static void side_init(struct side *s, const struct kind_case *kind, uint64_t now)
{
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->now = now;
	sn_arena_init(&s->arena);
	s->msg = kind->program(&s->arena);
	s->state = sn_state_create(7, N_WORKERS, kind->partitioning);
	assert_non_null(s->state);
	load(s);
}

static void side_free(struct side *s)
{
	sn_program_free(s->program);
	sn_state_free(s->state);
	sn_arena_free(&s->arena);
}

static struct sn_entry *get(struct side *s, uint32_t i, bool make)
{
	uint32_t shard = s->kind->shard(s->state, i);
	struct sn_partition *p = sn_state_partition(s->state, sn_state_owner(s->state, shard));

	assert_true(p->owned[shard]);
	return s->kind->get(p, shard, i, make, s->now);
}

static void make_all(struct side *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_non_null(get(s, i, true));
}

static uint32_t found(struct side *s, uint32_t n)
{
	uint32_t have = 0;

	for (uint32_t i = 0; i < n; i++)
		have += get(s, i, false) != NULL;
	return have;
}

/* Every shard has its turn, of each worker. */
static void tick(struct side *s)
{
	for (uint32_t w = 0; w < N_WORKERS; w++)
		for (uint32_t i = 0; i < SN_SHARDS; i++)
			sn_partition_tick(sn_state_partition(s->state, w), s->now);
}

static struct sn_state_stats stats_of(const struct side *s)
{
	struct sn_state_stats stats;

	sn_state_stats(s->state, 0, &stats);
	return stats;
}

static size_t listed(const struct side *s)
{
	static struct sn_entry_info infos[4 * N_ENTRIES];

	return sn_state_entries(s->state, 0, s->now, infos, 4 * N_ENTRIES);
}

/* All quotas are accounted for: what is left and what is used are the limit. */
static void assert_quotas(const struct side *s)
{
	int64_t left = s->state->carried.left[0];

	for (uint32_t w = 0; w < N_WORKERS; w++)
		left += sn_state_partition(s->state, w)->left[0];
	assert_int_equal(left + (int64_t)stats_of(s).sessions, s->msg->tables[0]->max_sessions);
}

void entries_are_made_once_and_found(void **state)
{
	struct sn_entry *made[N_ENTRIES];
	struct side s;

	side_init(&s, *state, 1000 * SECOND);
	assert_int_equal(found(&s, N_ENTRIES), 0);
	for (uint32_t i = 0; i < N_ENTRIES; i++)
		made[i] = get(&s, i, true);
	for (uint32_t i = 0; i < N_ENTRIES; i++) {
		assert_non_null(made[i]);
		assert_true(sn_entry_live(made[i], s.now));
		assert_int_equal(made[i]->shard, s.kind->shard(s.state, i));
		assert_ptr_equal(get(&s, i, false), made[i]);
		assert_ptr_equal(get(&s, i, true), made[i]);
	}
	assert_int_equal(stats_of(&s).created, N_ENTRIES);
	assert_quotas(&s);
	side_free(&s);
}

void entries_end_when_they_were_not_used(void **state)
{
	const struct sn_entry *e;
	struct side s;

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, N_ENTRIES);
	s.now += s.kind->idle_ns;
	assert_int_equal(found(&s, N_ENTRIES), N_ENTRIES);
	s.now += SECOND;
	assert_int_equal(found(&s, N_ENTRIES / 2), 0);
	tick(&s);
	assert_int_equal(stats_of(&s).sessions, 0);
	assert_int_equal(stats_of(&s).expired, N_ENTRIES);
	assert_quotas(&s);
	e = get(&s, 0, true);
	assert_int_equal(e->last_use, s.now);
	side_free(&s);
}

void a_used_entry_lives_on(void **state)
{
	struct side s;

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, 2);
	for (int i = 0; i < 5; i++) {
		s.now += s.kind->idle_ns / 2;
		tick(&s);
		s.kind->use(s.state, get(&s, 1, false), s.now);
	}
	assert_null(get(&s, 0, false));
	assert_int_equal(stats_of(&s).sessions, 1);
	side_free(&s);
}

void an_entry_that_is_undone_was_never_there(void **state)
{
	struct sn_entry *e;
	uint32_t generation;
	struct side s;

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, N_ENTRIES);
	e = get(&s, N_ENTRIES, true);
	generation = e->generation;
	sn_entry_undo(sn_state_partition(s.state, sn_state_owner(s.state, e->shard)), e);
	assert_int_not_equal(e->generation, generation);
	assert_null(get(&s, N_ENTRIES, false));
	assert_int_equal(found(&s, N_ENTRIES), N_ENTRIES);
	assert_int_equal(stats_of(&s).created, N_ENTRIES);
	assert_int_equal(stats_of(&s).expired, 0);
	assert_quotas(&s);
	assert_ptr_equal(get(&s, N_ENTRIES, true), e);
	side_free(&s);
}

/* Makes so many more, of numbers from first on; returns how many were made. Workers share what is left as
 * they ask for it. */
static uint32_t make_more(struct side *s, uint32_t first, uint32_t n)
{
	uint32_t made = 0;

	for (uint32_t i = first; i < first + n; i++) {
		bool done = get(s, i, true) != NULL;

		if (sn_state_starved(s->state))
			sn_state_level(s->state);
		made += done || get(s, i, true) != NULL;
	}
	return made;
}

void a_full_table_refuses_or_evicts_and_fills_again(void **state)
{
	struct side s;
	uint32_t more;

	side_init(&s, *state, 1000 * SECOND);
	s.msg->tables[0]->max_sessions = 60;
	load(&s);
	make_more(&s, 0, 200);
	assert_int_equal(stats_of(&s).sessions, 60);
	assert_quotas(&s);
	s.now += 2 * SECOND;
	more = make_more(&s, 200, 200);
	assert_int_equal(stats_of(&s).sessions, 60);
	if (s.kind->evicts) {
		assert_true(more > 0);
		assert_true(stats_of(&s).evicted >= more);
	} else {
		assert_int_equal(more, 0);
		assert_int_equal(stats_of(&s).evicted, 0);
	}
	assert_true(stats_of(&s).exhausted > 0 || s.kind->evicts);
	assert_int_equal(stats_of(&s).created - stats_of(&s).evicted, 60);
	assert_int_equal(listed(&s), 60);
	assert_quotas(&s);
	s.now += s.kind->idle_ns + 2 * SECOND;
	tick(&s);
	assert_int_equal(stats_of(&s).sessions, 0);
	assert_int_equal(make_more(&s, 400, 60), 60);
	side_free(&s);
}

void a_unit_goes_to_another_worker_with_its_entries(void **state)
{
	struct side s;
	uint32_t units;

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, N_ENTRIES);
	units = sn_state_units(s.state);
	for (uint32_t unit = 0; unit < units; unit++) {
		uint32_t from = sn_state_owner(s.state, unit), to = (from + 1) % N_WORKERS;

		if (sn_state_partition(s.state, from)->n_owned < 2)
			continue;
		sn_partition_give(sn_state_partition(s.state, from), unit);
		sn_partition_take(sn_state_partition(s.state, to), unit);
		sn_state_moved(s.state, unit, to);
		assert_quotas(&s);
	}
	assert_int_equal(found(&s, N_ENTRIES), N_ENTRIES);
	assert_int_equal(make_more(&s, N_ENTRIES, N_ENTRIES), N_ENTRIES);
	assert_quotas(&s);
	s.now += s.kind->idle_ns + SECOND;
	tick(&s);
	assert_int_equal(stats_of(&s).sessions, 0);
	assert_quotas(&s);
	side_free(&s);
}

/* ---- between engines ---- */

static void put_all(struct side *s, enum sn_shard_place place)
{
	for (uint32_t unit = 0; unit < sn_state_units(s->state); unit++)
		sn_state_set_place(s->state, unit, place);
}

static void mark_all(bool shards[SN_SHARDS])
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		shards[i] = true;
}

/* The records of all, read in pieces; to be freed. */
static uint8_t *read_all(const struct side *s, size_t *n)
{
	uint8_t *records = calloc(4 * N_ENTRIES, SN_CARRY_BYTES);
	bool shards[SN_SHARDS];
	uint64_t cursor = 0;

	mark_all(shards);
	*n = 0;
	do
		*n += sn_carry_read(s->state, shards, &cursor, s->now, records + *n * SN_CARRY_BYTES, 77);
	while (cursor != 0);
	return records;
}

/* Leave nothing that the next load of the state would find. */
static void forget_all(struct side *s)
{
	bool shards[SN_SHARDS];

	mark_all(shards);
	sn_carry_forget(s->state, shards);
	sn_state_level(s->state);
}

static int put_records(struct side *s, const uint8_t *records, size_t n)
{
	bool shards[SN_SHARDS];
	struct sn_error err = {0};
	int rc;

	mark_all(shards);
	rc = sn_carry_put(s->state, shards, records, n, s->now, &err);
	assert_true(rc == 0 || err.text[0] != '\0');
	sn_state_level(s->state);
	return rc;
}

void entries_go_to_another_engine_as_they_are(void **state)
{
	struct side a, b;
	uint8_t *records, *again;
	size_t n, m;

	side_init(&a, *state, 1000 * SECOND);
	side_init(&b, *state, 7 * SECOND); /* its clock began later */
	make_all(&a, N_ENTRIES);
	a.now += a.kind->idle_ns / 4;
	for (uint32_t i = 0; i < N_ENTRIES; i += 2)
		a.kind->use(a.state, get(&a, i, false), a.now);
	put_all(&b, SN_SHARD_TAKING);
	sn_carry_reserve(b.state, 0, N_ENTRIES);
	records = read_all(&a, &n);
	assert_int_equal(n, N_ENTRIES);
	assert_int_equal(put_records(&b, records, n), 0);
	put_all(&b, SN_SHARD_HERE);
	assert_quotas(&b);
	for (uint32_t i = 0; i < N_ENTRIES; i++) {
		const struct sn_entry *was = get(&a, i, false), *is = get(&b, i, false);

		assert_non_null(is);
		assert_int_equal(b.now - is->last_use, a.now - was->last_use);
		assert_int_equal(is->timeout_ms, was->timeout_ms);
		assert_int_equal(is->shard, was->shard);
		assert_true(a.kind->alike(was, a.now, is, b.now));
	}
	again = read_all(&b, &m);
	assert_int_equal(m, n);
	assert_memory_equal(again, records, n * SN_CARRY_BYTES);
	free(again);
	/* The taker holds what its entries hold. */
	assert_int_equal(make_more(&b, N_ENTRIES, N_ENTRIES), N_ENTRIES);
	forget_all(&a);
	assert_int_equal(stats_of(&a).sessions, 0);
	assert_quotas(&a);
	assert_int_equal(found(&a, N_ENTRIES), 0);
	assert_int_equal(make_more(&a, 0, N_ENTRIES), N_ENTRIES);
	b.now += b.kind->idle_ns + SECOND;
	tick(&b);
	assert_int_equal(stats_of(&b).sessions, 0);
	assert_quotas(&b);
	free(records);
	side_free(&a);
	side_free(&b);
}

/* One record with each of its bytes as it should not be: it is refused, or an entry like any other. */
void what_is_no_entry_is_refused_and_harms_nobody(void **state)
{
	struct side a, b;
	uint8_t *records, record[SN_CARRY_BYTES];
	uint32_t refused = 0, admitted = 0;
	size_t n;

	side_init(&a, *state, 1000 * SECOND);
	side_init(&b, *state, 2000 * SECOND);
	make_all(&a, 8);
	records = read_all(&a, &n);
	for (uint32_t byte = 0; byte < SN_CARRY_BYTES; byte++) {
		for (uint32_t bit = 0; bit < 9; bit++) {
			memcpy(record, records, SN_CARRY_BYTES);
			record[byte] = bit < 8 ? record[byte] ^ 1u << bit : 0xff;
			if (put_records(&b, record, 1) == 0)
				admitted++;
			else
				refused++;
			assert_int_equal(listed(&b), stats_of(&b).sessions);
			assert_quotas(&b);
			b.now += b.kind->idle_ns + SECOND;
			if (bit % 2)
				tick(&b);
			forget_all(&b);
			assert_int_equal(stats_of(&b).sessions, 0);
			assert_quotas(&b);
		}
	}
	assert_true(refused > 0 && admitted > 0);
	/* The second of two same records is refused, or is the same entry. */
	memcpy(record, records, SN_CARRY_BYTES);
	assert_int_equal(put_records(&b, record, 1), 0);
	assert_int_equal(make_more(&b, 0, N_ENTRIES), N_ENTRIES);
	assert_quotas(&b);
	free(records);
	side_free(&a);
	side_free(&b);
}

/* ---- from program to program ---- */

void entries_outlive_a_program_whose_table_they_fit(void **state)
{
	struct sn_entry before[N_ENTRIES];
	struct side s;

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, N_ENTRIES);
	load(&s);
	assert_int_equal(s.kept, N_ENTRIES);
	s.now += SECOND;
	for (uint32_t i = 0; i < N_ENTRIES; i++)
		before[i] = *get(&s, i, false);
	s.msg->tables[0]->max_sessions += 7; /* the table is made again */
	load(&s);
	assert_int_equal(s.kept, N_ENTRIES);
	assert_int_equal(s.dropped, 0);
	assert_quotas(&s);
	for (uint32_t i = 0; i < N_ENTRIES; i++) {
		const struct sn_entry *e = get(&s, i, false);

		assert_non_null(e);
		assert_int_equal(e->last_use, before[i].last_use);
		assert_int_equal(e->timeout_ms, before[i].timeout_ms);
	}
	s.msg->tables[0]->max_sessions = 100;
	load(&s);
	assert_int_equal(s.kept, 100);
	assert_int_equal(s.dropped, N_ENTRIES - 100);
	assert_int_equal(found(&s, N_ENTRIES), 100);
	assert_quotas(&s);
	s.now += s.kind->idle_ns + SECOND;
	tick(&s);
	assert_int_equal(stats_of(&s).sessions, 0);
	side_free(&s);
}

void entries_end_with_their_table(void **state)
{
	struct side s;
	char name[64];

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, N_ENTRIES);
	snprintf(name, sizeof(name), "%s2", s.msg->tables[0]->name);
	s.msg->tables[0]->name = name;
	load(&s);
	assert_int_equal(s.kept, 0);
	assert_int_equal(s.dropped, N_ENTRIES);
	assert_int_equal(found(&s, N_ENTRIES), 0);
	assert_quotas(&s);
	side_free(&s);
}

void statistics_tell_of_every_entry(void **state)
{
	static struct sn_entry_info infos[2 * N_ENTRIES];
	uint64_t sum = 0;
	struct side s;

	side_init(&s, *state, 1000 * SECOND);
	make_all(&s, N_ENTRIES);
	s.now += SECOND;
	for (uint32_t unit = 0; unit < sn_state_units(s.state); unit++) {
		struct sn_state_stats stats;

		sn_state_unit_stats(s.state, unit, &stats);
		sum += stats.sessions;
	}
	assert_int_equal(sum, N_ENTRIES);
	assert_int_equal(sn_state_entries(s.state, 0, s.now, infos, 10), 10);
	assert_int_equal(sn_state_entries(s.state, 0, s.now, infos, 2 * N_ENTRIES), N_ENTRIES);
	for (uint32_t i = 0; i < N_ENTRIES; i++) {
		Sinter__Program__V1__Session session;

		sinter__program__v1__session__init(&session);
		assert_int_equal(infos[i].idle_ns, SECOND);
		assert_ptr_equal(infos[i].kind, s.program->tables[0].kind);
		assert_non_null(infos[i].owner);
		assert_int_equal(infos[i].kind->report(&infos[i], &s.arena, &session), 0);
		assert_true(protobuf_c_message_get_packed_size(&session.base) > 0);
	}
	side_free(&s);
}
