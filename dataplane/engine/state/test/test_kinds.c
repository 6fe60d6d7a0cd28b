/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of state by the tests that every kind must pass; and one that is nothing but an example: it
 * counts the packets of each address. */

#include "kinds.h"
#include "sample.h"

#include "sn_carry.h"
#include "sn_napt.h"
#include "sn_parse.h"
#include "sn_state_impl.h"
#include "sn_tcp.h"

/* ---- NAPT ---- */

static struct sn_flow flow_of(uint32_t i)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i % 50, SN_SAMPLE_REMOTE, (uint16_t)(2000 + i), 80, SN_UDP};
}

static uint32_t napt_shard(const struct sn_state *state, uint32_t i)
{
	struct sn_flow flow = flow_of(i);

	return sn_napt_shard(state, 0, &flow);
}

static struct sn_entry *get_session(struct sn_partition *partition, uint32_t shard,
				    const struct sn_flow *flow, bool make, uint64_t now)
{
	struct sn_session *s;
	struct sn_flow back;

	if (sn_napt_forward(partition, 0, shard, flow, make, now, &s) == SN_NAPT_NONE)
		return NULL;
	back = (struct sn_flow){s->remote_addr, s->outside_addr, s->remote_port, s->outside_port, s->proto};
	assert_ptr_equal(sn_napt_return(partition->state, 0, &back, now), s);
	return &s->entry;
}

static struct sn_entry *napt_get(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
				 uint64_t now)
{
	struct sn_flow flow = flow_of(i);

	return get_session(partition, shard, &flow, make, now);
}

static void napt_use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	sn_session_use(state, (struct sn_session *)e, NULL, false, now);
}

static const struct kind_case napt_by_host = {
	.program = sn_sample_napt,
	.idle_ns = 300000000000,
	.shard = napt_shard,
	.get = napt_get,
	.use = napt_use,
	.alike = kind_sessions_alike,
};

static const struct kind_case napt_by_rss = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = sn_sample_napt,
	.idle_ns = 300000000000,
	.shard = napt_shard,
	.get = napt_get,
	.use = napt_use,
	.alike = kind_sessions_alike,
};

/* TCP openings that nobody answers give way. */
static struct sn_entry *napt_get_opening(struct sn_partition *partition, uint32_t shard, uint32_t i,
					 bool make, uint64_t now)
{
	struct sn_flow flow = flow_of(i);

	flow.proto = SN_TCP;
	return get_session(partition, shard, &flow, make, now);
}

static uint32_t napt_shard_of_opening(const struct sn_state *state, uint32_t i)
{
	struct sn_flow flow = flow_of(i);

	flow.proto = SN_TCP;
	return sn_napt_shard(state, 0, &flow);
}

static const struct kind_case napt_openings = {
	.program = sn_sample_napt,
	.idle_ns = 240000000000,
	.evicts = true,
	.shard = napt_shard_of_opening,
	.get = napt_get_opening,
	.use = napt_use,
	.alike = kind_sessions_alike,
};

/* ---- packets of each address ---- */

struct count_table {
	struct sn_state_table table;
	uint32_t timeout_ms;
	uint64_t ticked[8]; /* by worker: when */
};

struct count_config {
	uint32_t timeout_ms;
	uint32_t addresses; /* the last one, from 0 on */
};

/* Without ports, with one direction. It knows a time of its own. */
struct count {
	struct sn_entry entry;
	uint32_t address;
	uint32_t packets;
	uint64_t since;
	uint64_t pad[2];
};
_Static_assert(sizeof(struct count) == sizeof(struct sn_entry_line), "one cache line");

static bool count_claims(const Sinter__Program__V1__StateTable *msg)
{
	return strncmp(msg->name, "count", 5) == 0;
}

/* The ports of the message are its timeout and its last address: the schema knows nothing of this kind. */
static int count_decode(struct sn_builder *b, struct sn_table_config *to,
			const Sinter__Program__V1__StateTable *from)
{
	struct count_config *c = sn_build_array(1, sizeof(*c));

	to->own = c;
	to->own_size = sizeof(*c);
	if (!c)
		return sn_build_no_memory(b);
	to->rules = strdup("for operations");
	c->timeout_ms = from->port_min;
	c->addresses = from->port_max;
	return 0;
}

static int count_table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
			    struct sn_shard_size *size)
{
	const struct count_config *c = table->config.own;

	(void)partitioning;
	((struct count_table *)table)->timeout_ms = c->timeout_ms;
	*size = (struct sn_shard_size){SN_SHARDS, table->config.max_entries, table->config.max_entries, 0, 0,
				       0};
	return 0;
}

static uint64_t count_hash_of(const struct sn_state *state, uint32_t owner, uint32_t address)
{
	return sn_hash2(address, owner, state->seed);
}

static uint64_t count_hash(const struct sn_state *state, const struct sn_entry *e)
{
	return count_hash_of(state, e->owner, ((const struct count *)e)->address);
}

static uint32_t count_timeout(const struct sn_state *state, const struct sn_entry *e)
{
	return ((const struct count_table *)table_of(state, e))->timeout_ms;
}

static uint32_t count_shard(const struct sn_state *state, uint32_t i)
{
	(void)state;
	return i & (SN_SHARDS - 1);
}

static const char *count_misfit(const struct sn_state *state, const struct sn_state_table *t,
				const struct sn_entry *e)
{
	const struct count_config *c = t->config.own;
	const struct count *n = (const struct count *)e;

	if (n->address > c->addresses)
		return "its address is not the table's";
	return e->shard == count_shard(state, n->address) ? NULL : "its address is another shard's";
}

static void count_tick(struct sn_partition *partition, struct sn_state_table *t, uint64_t now)
{
	((struct count_table *)t)->ticked[partition_number(partition)] = now;
}

static struct sn_entry *count_victim(struct sn_partition *partition, struct sn_state_table *t,
				     struct sn_state_shard *sh, uint32_t owner, uint32_t class, uint64_t now)
{
	(void)partition;
	(void)t;
	(void)owner;
	(void)class;
	(void)now;
	return sn_state_first_due(sh);
}

static void count_pack(const struct sn_entry *e, uint64_t now, uint8_t *record)
{
	const struct count *n = (const struct count *)e;

	sn_store32(record, n->address);
	sn_store32(record + 4, n->packets);
	sn_store64(record + SN_CARRY_OWN, now - n->since);
}

static void count_unpack(struct sn_entry *e, uint64_t now, const uint8_t *record)
{
	struct count *n = (struct count *)e;

	n->address = sn_load32(record);
	n->packets = sn_load32(record + 4);
	n->since = now - sn_load64(record + SN_CARRY_OWN);
}

static int count_report(const struct sn_entry_info *info, struct sn_arena *arena,
			Sinter__Program__V1__Session *session)
{
	const struct count *n = (const struct count *)&info->line;

	(void)arena;
	session->inside_address = n->address + 1;
	return 0;
}

/* The packets of all addresses, as there is no field for them, are what was exhausted. */
static int count_report_table(const struct sn_state *state, const struct sn_state_table *t,
			      struct sn_arena *arena, Sinter__Program__V1__TableStats *stats)
{
	(void)state;
	(void)arena;
	stats->exhausted = 0;
	for (uint32_t i = 0; i <= t->mask; i++) {
		const struct sn_state_shard *sh = shard_at(t, i);

		for (uint32_t j = 0; j < slab_used(sh); j++)
			stats->exhausted += ((const struct count *)used_entry(sh, j))->packets;
	}
	return 0;
}

static const struct sn_state_kind count = {
	.name = "count",
	.claims = count_claims,
	.decode = count_decode,
	.table_size = sizeof(struct count_table),
	.shard_size = 128,
	.table_init = count_table_init,
	.hash = count_hash,
	.timeout = count_timeout,
	.tick = count_tick,
	.misfit = count_misfit,
	.victim = count_victim,
	.pack = count_pack,
	.unpack = count_unpack,
	.report = count_report,
	.report_table = count_report_table,
};
SN_STATE_KIND(count)

static struct sn_entry *count_find(struct sn_partition *partition, struct sn_state_table *t,
				   struct sn_state_shard *sh, uint32_t address, uint64_t hash, uint64_t now)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(sh, tier, hash); i > 0; i = at_index(sh, i)->hash_next) {
			struct sn_entry *e = at_index(sh, i);

			if (((struct count *)e)->address != address || e->owner != t->owner)
				continue;
			if (sn_entry_live(e, now))
				return e;
			sn_entry_expire(partition, t, sh, e);
			return NULL;
		}
	}
	return NULL;
}

static struct sn_entry *count_get(struct sn_partition *partition, uint32_t shard, uint32_t address, bool make,
				  uint64_t now)
{
	struct sn_state_table *t = partition->state->tables[0];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	uint64_t hash = count_hash_of(partition->state, t->owner, address);
	struct sn_entry *e = count_find(partition, t, sh, address, hash, now);
	struct count *n;

	if (e != NULL || !make)
		return e;
	if (!has_room(partition, t, sh, t->owner, 0, now)) {
		sh->cold->exhausted++;
		return NULL;
	}
	e = slab_take(sh);
	e->last_use = now;
	e->timeout_ms = ((struct count_table *)t)->timeout_ms;
	e->owner = (uint16_t)t->owner;
	e->shard = shard & (SN_SHARDS - 1);
	n = (struct count *)e;
	n->address = address;
	n->packets = 1;
	n->since = now;
	entry_settle(partition, t, sh, e, 0, hash);
	sh->created++;
	return e;
}

static void count_use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	const struct sn_state_table *t = table_of(state, e);

	((struct count *)e)->packets++;
	entry_refresh(shard_at(t, e->shard & t->mask), e, count_timeout(state, e), now);
}

static bool count_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	const struct count *m = (const struct count *)a, *n = (const struct count *)b;

	return m->address == n->address && m->packets == n->packets && a_now - m->since == b_now - n->since;
}

static Sinter__Program__V1__Program *count_program(struct sn_arena *arena)
{
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));

	sinter__program__v1__state_table__init(table);
	table->name = (char *)"count";
	table->port_min = 20000;
	table->port_max = 65535;
	table->max_sessions = 5000;
	msg->tables = sn_arena_alloc(arena, sizeof(table));
	msg->tables[0] = table;
	msg->n_tables = 1;
	return msg;
}

static const struct kind_case counts = {
	.program = count_program,
	.idle_ns = 20000000000,
	.evicts = true,
	.shard = count_shard,
	.get = count_get,
	.use = count_use,
	.alike = count_alike,
};

/* ---- kinds beside each other ---- */

static void assert_refused(Sinter__Program__V1__Program *msg, const char *why)
{
	struct sn_error err = {0};

	assert_null(sn_program_create(msg, NULL, &err));
	if (strstr(err.text, why) == NULL)
		fail_msg("\"%s\", want \"…%s…\"", err.text, why);
}

static void runs_lead_into_tables_that_have_them(void **state)
{
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;

	(void)state;
	sn_arena_init(&arena);
	msg = sn_sample_napt(&arena);
	msg->tables[0]->name = (char *)"count";
	assert_refused(msg, "runs[0] (nat): table is 0 (count), which is of kind count, want a NAPT's");
	msg = sn_sample_napt(&arena);
	msg->segments[0] = msg->segments[1]; /* nothing uses the run */
	msg->n_runs = 0;
	msg->tables[0]->name = (char *)"count";
	assert_refused(msg, "state_return is 0 (count), which is of kind count, want a NAPT's");
	sn_arena_free(&arena);
}

static void a_table_that_becomes_another_kinds_begins_empty(void **state)
{
	struct sn_state *s = sn_state_create(1, 1, (struct sn_partitioning){0});
	uint64_t kept, dropped, now = 1000000000000;
	struct sn_program *napt, *counting;
	Sinter__Program__V1__Program *msg;
	struct sn_arena arena;
	struct sn_error err = {0};

	(void)state;
	sn_arena_init(&arena);
	counting = sn_program_create(count_program(&arena), NULL, &err);
	assert_non_null(counting);
	assert_int_equal(sn_state_apply(s, counting, &kept, &dropped), 0);
	for (uint32_t i = 0; i < 40; i++)
		assert_non_null(count_get(sn_state_partition(s, 0), count_shard(s, i), i, true, now));
	/* A NAPT of the same name. */
	msg = sn_sample_napt(&arena);
	msg->runs[0]->name = msg->tables[0]->name;
	napt = sn_program_create(msg, NULL, &err);
	assert_non_null(napt);
	free(napt->tables[0].name);
	napt->tables[0].name = strdup("count");
	free(napt->runs[0].name);
	napt->runs[0].name = strdup("count");
	assert_int_equal(sn_state_apply(s, napt, &kept, &dropped), 0);
	assert_int_equal(kept, 0);
	assert_int_equal(dropped, 40);
	assert_non_null(napt_get(sn_state_partition(s, 0), napt_shard(s, 1), 1, true, now));
	assert_int_equal(sn_state_apply(s, counting, &kept, &dropped), 0);
	assert_int_equal(kept, 0);
	assert_int_equal(dropped, 1);
	sn_state_free(s);
	sn_program_free(napt);
	sn_program_free(counting);
	sn_arena_free(&arena);
}

static void kinds_have_their_tables_in_one_program(void **state)
{
	struct sn_state *s = sn_state_create(1, 1, (struct sn_partitioning){0});
	uint64_t kept, dropped, now = 1000000000000;
	struct sn_state_stats sessions, counters;
	Sinter__Program__V1__TableStats figures;
	Sinter__Program__V1__StateTable *tables[2];
	Sinter__Program__V1__Program *msg;
	struct sn_program *program;
	struct sn_arena arena;
	struct sn_error err = {0};

	(void)state;
	sn_arena_init(&arena);
	msg = sn_sample_napt(&arena);
	tables[0] = count_program(&arena)->tables[0];
	tables[1] = msg->tables[0];
	msg->tables = tables;
	msg->n_tables = 2;
	msg->runs[0]->table = 1;
	msg->segments[1]->classes[0]->legs[0]->state_return = 1;
	program = sn_program_create(msg, NULL, &err);
	if (program == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sn_state_apply(s, program, &kept, &dropped), 0);
	for (uint32_t i = 0; i < 40; i++) {
		struct sn_flow flow = flow_of(i);
		struct sn_session *session;

		assert_non_null(count_get(sn_state_partition(s, 0), count_shard(s, i), i, true, now));
		assert_int_equal(sn_napt_forward(sn_state_partition(s, 0), 0, sn_napt_shard(s, 0, &flow),
						 &flow, i % 2, now, &session),
				 i % 2 ? SN_NAPT_MADE : SN_NAPT_NONE);
	}
	sinter__program__v1__table_stats__init(&figures);
	assert_int_equal(sn_state_report_table(s, 1, &arena, &figures), 0);
	assert_int_equal(figures.exhausted, 0); /* a NAPT adds none */
	assert_int_equal(sn_state_report_table(s, 0, &arena, &figures), 0);
	assert_int_equal(figures.exhausted, 40);
	sn_state_stats(s, 0, &counters);
	sn_state_stats(s, 1, &sessions);
	assert_int_equal(counters.sessions, 40);
	assert_int_equal(sessions.sessions, 20);
	sn_state_free(s);
	sn_program_free(program);
	sn_arena_free(&arena);
}

static void a_worker_ticks_for_all_tables(void **state)
{
	struct sn_state *s = sn_state_create(1, 3, (struct sn_partitioning){0});
	const struct count_table *t;
	struct sn_program *program;
	struct sn_arena arena;
	struct sn_error err = {0};
	uint64_t kept, dropped;

	(void)state;
	sn_arena_init(&arena);
	program = sn_program_create(count_program(&arena), NULL, &err);
	assert_non_null(program);
	assert_int_equal(sn_state_apply(s, program, &kept, &dropped), 0);
	t = (const struct count_table *)s->tables[0];
	assert_null(t->table.config.rules);
	assert_non_null(program->tables[0].rules);
	sn_partition_tick(sn_state_partition(s, 2), 5000);
	sn_partition_tick(sn_state_partition(s, 0), 7000);
	assert_int_equal(t->ticked[0], 7000);
	assert_int_equal(t->ticked[1], 0);
	assert_int_equal(t->ticked[2], 5000);
	sn_state_free(s);
	sn_program_free(program);
	sn_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(napt_by_host),
		KIND_TESTS(napt_by_rss),
		KIND_TESTS(napt_openings),
		KIND_TESTS(counts),
		cmocka_unit_test(runs_lead_into_tables_that_have_them),
		cmocka_unit_test(a_table_that_becomes_another_kinds_begins_empty),
		cmocka_unit_test(kinds_have_their_tables_in_one_program),
		cmocka_unit_test(a_worker_ticks_for_all_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
