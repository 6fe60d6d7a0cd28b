/* SPDX-License-Identifier: Apache-2.0 */
/* Meters as a kind of state. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_arena.h"
#include "sn_carry.h"
#include "sn_lines.h"
#include "sn_messages.h"
#include "sn_meter_impl.h"
#include "sn_parse.h"

#define SUBSCRIBERS_MAX (1u << 24)
#define LOOKED		16u /* entries, for one that may end */

typedef Sinter__Program__V1__Meter meter_msg;

static struct subscriber *subscriber_of(const struct sn_entry *e)
{
	return (struct subscriber *)e;
}

static const struct meter_table *meter_of(const struct sn_state_table *t)
{
	return (const struct meter_table *)t;
}

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->meter != NULL;
}

/* Milliseconds, rounded up, until a bucket that is empty is full. */
static uint64_t ms_to_fill(uint64_t units, uint64_t rate)
{
	return units ? (units / rate) / NS_PER_MS + 1 : 0;
}

static uint64_t timeout_of(const struct sn_bucket_limits *l)
{
	uint64_t committed = ms_to_fill(l->capacity[SN_COMMITTED], l->rate);
	uint64_t second = ms_to_fill(l->capacity[SN_SECOND], sn_bucket_rate(l, SN_SECOND));

	if (!l->peak_rate)
		return committed + second;
	return committed > second ? committed : second;
}

static int decode_limits(struct sn_builder *b, struct sn_bucket_limits *to, const meter_msg *from)
{
	if (from->rate == 0 || (from->peak_rate && from->peak_rate < from->rate))
		return sn_build_fail(
			b,
			"rate is %llu, peak_rate %llu: want a rate above 0, and a peak rate of at least that",
			(unsigned long long)from->rate, (unsigned long long)from->peak_rate);
	if (from->burst == 0 || from->burst > SN_TOKENS_MAX || from->excess_burst > SN_TOKENS_MAX)
		return sn_build_fail(b, "bursts are %llu and %llu, want 1..%llu, the second may be 0",
				     (unsigned long long)from->burst, (unsigned long long)from->excess_burst,
				     SN_TOKENS_MAX);
	to->capacity[SN_COMMITTED] = from->burst * SN_TOKEN;
	to->capacity[SN_SECOND] = from->excess_burst * SN_TOKEN;
	to->rate = from->rate;
	to->peak_rate = from->peak_rate;
	if (from->subscribers && timeout_of(to) > UINT32_MAX)
		return sn_build_fail(b, "its buckets are full after %llu ms, want at most %u",
				     (unsigned long long)timeout_of(to), UINT32_MAX);
	return 0;
}

static int decode_subscribers(struct sn_builder *b, struct sn_meter_rules *rules,
			      const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Subscribers *s = from->meter->subscribers;

	if (!s)
		return 0;
	if (s->prefix_len < 1 || s->prefix_len > 32)
		return sn_build_fail(b, "subscribers.prefix_len is %u, want 1..32", s->prefix_len);
	if (from->max_sessions < 1 || from->max_sessions > SUBSCRIBERS_MAX)
		return sn_build_fail(b, "max_sessions is %u, want 1..%u subscribers", from->max_sessions,
				     SUBSCRIBERS_MAX);
	rules->destination = s->destination;
	rules->prefix_len = s->prefix_len;
	rules->mask = UINT32_MAX << (32 - s->prefix_len);
	return 0;
}

static int decode_action(struct sn_builder *b, struct sn_meter_rules *rules, enum sn_color color,
			 const Sinter__Program__V1__MeterAction *from)
{
	struct sn_meter_action *to = &rules->actions[color];

	*to = (struct sn_meter_action){SN_REASON_NONE, SN_METER_KEEP_DSCP};
	if (!from)
		return 0;
	switch (from->action_case) {
	case SINTER__PROGRAM__V1__METER_ACTION__ACTION_DROP:
		to->reason = SN_REASON_CHAIN + from->drop;
		return sn_build_index(b, "drop", from->drop, b->msg->n_reasons);
	case SINTER__PROGRAM__V1__METER_ACTION__ACTION_DSCP:
		if (from->dscp > 63)
			return sn_build_fail(b, "dscp is %u, want at most 63", from->dscp);
		to->dscp = from->dscp;
		rules->marks = true;
		return 0;
	default:
		return sn_build_fail(b, "what is done to a colour is neither drop nor dscp");
	}
}

static int decode_rules(struct sn_builder *b, struct sn_meter_rules *to,
			const Sinter__Program__V1__StateTable *from)
{
	const meter_msg *m = from->meter;
	int rc;

	if (m->unit != SINTER__PROGRAM__V1__METER__UNIT__BITS &&
	    m->unit != SINTER__PROGRAM__V1__METER__UNIT__PACKETS)
		return sn_build_fail(b, "unit is %d, want BITS or PACKETS", (int)m->unit);
	if (m->comes_yellow & m->comes_red)
		return sn_build_fail(b, "comes_yellow and comes_red have DSCP %d in common",
				     __builtin_ctzll(m->comes_yellow & m->comes_red));
	to->bits = m->unit == SINTER__PROGRAM__V1__METER__UNIT__BITS ? 8 : 0;
	to->comes[SN_YELLOW] = m->comes_yellow;
	to->comes[SN_RED] = m->comes_red;
	rc = decode_subscribers(b, to, from);
	if (!rc)
		rc = decode_action(b, to, SN_GREEN, NULL);
	if (!rc)
		rc = decode_action(b, to, SN_YELLOW, m->yellow);
	return rc ? rc : decode_action(b, to, SN_RED, m->red);
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	struct sn_meter_rules *rules = sn_build_array(1, sizeof(*rules));
	struct meter_config *c = sn_build_array(1, sizeof(*c));
	int rc;

	to->rules = rules;
	to->own = c;
	to->own_size = sizeof(*c);
	if (!rules || !c)
		return sn_build_no_memory(b);
	rc = decode_rules(b, rules, from);
	c->prefix_len = rules->prefix_len;
	c->destination = rules->destination;
	c->bits = rules->bits;
	return rc ? rc : decode_limits(b, &c->limits, from->meter);
}

/* ---- in memory ---- */

static uint32_t hash_of(const struct meter_config *c)
{
	const struct sn_bucket_limits *l = &c->limits;
	uint64_t h = sn_hash2(l->rate, l->peak_rate, c->bits);

	h = sn_hash2(l->capacity[SN_COMMITTED], l->capacity[SN_SECOND], h);
	return (uint32_t)sn_hash2(c->prefix_len, c->destination, h);
}

/*
 * Hashed, subscribers are spread evenly, and twice as many as there are on the average is never reached. By
 * address all may be of one shard: its memory costs only what is used of it.
 */
static struct sn_shard_size size_for(uint32_t subscribers, enum sn_partition_by by)
{
	uint32_t even = 2 * (subscribers / SN_SHARDS) + 64;

	if (by == SN_PARTITION_BY_ADDRESS)
		return (struct sn_shard_size){SN_SHARDS, subscribers, subscribers / 8 + 1, 0, 0, 0};
	even = even < subscribers ? even : subscribers;
	return (struct sn_shard_size){SN_SHARDS, even, even, 0, 0, 0};
}

static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	struct meter_table *t = (struct meter_table *)table;
	const struct meter_config *c = table->config.own;

	*size = size_for(c->prefix_len ? table->config.max_entries : 1, partitioning->by);
	t->limits = c->limits;
	t->timeout_ms = c->prefix_len ? (uint32_t)timeout_of(&c->limits) : 0;
	t->config = hash_of(c);
	t->common = sn_lines(1, sizeof(*t->common));
	if (!t->common)
		return -ENOMEM;
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		t->common->buckets.has[i] = c->limits.capacity[i];
	return 0;
}

static void table_free(struct sn_state_table *table)
{
	free(((struct meter_table *)table)->common);
}

/* ---- an entry ---- */

static uint64_t hash_subscriber(const struct sn_state *state, uint32_t owner, uint32_t prefix)
{
	return sn_hash2(prefix, owner, state->seed);
}

static uint64_t hash(const struct sn_state *state, const struct sn_entry *e)
{
	return hash_subscriber(state, e->owner, subscriber_of(e)->prefix);
}

static uint32_t timeout(const struct sn_state *state, const struct sn_entry *e)
{
	return meter_of(table_of(state, e))->timeout_ms;
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	const struct meter_config *c = table->config.own;
	const struct meter_table *t = meter_of(table);
	const struct subscriber *s = subscriber_of(e);

	if (s->config != t->config)
		return "its rates, bursts or prefixes are not the table's";
	if (s->prefix & ~(UINT32_MAX << (32 - c->prefix_len)))
		return "its prefix is longer than the table's";
	if (e->shard != sn_prefix_shard(state, s->prefix, c->prefix_len))
		return "its prefix is another shard's";
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		if (s->buckets.has[i] > t->limits.capacity[i])
			return "it has more tokens than a bucket holds";
	return NULL;
}

static struct sn_entry *find(const struct sn_state_shard *sh, uint32_t owner, uint32_t prefix, uint64_t hash)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(sh, tier, hash); i > 0; i = at_index(sh, i)->hash_next) {
			struct sn_entry *e = at_index(sh, i);

			if (subscriber_of(e)->prefix == prefix && e->owner == owner)
				return e;
		}
	}
	return NULL;
}

static bool is_there(const struct sn_state *state, const struct sn_state_table *t,
		     const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	(void)now;
	return find(sh, t->owner, subscriber_of(e)->prefix,
		    hash_subscriber(state, t->owner, subscriber_of(e)->prefix)) != NULL;
}

/*
 * The one of those looked at that is idle for the longest time. If the shard has few, and it is the table
 * that is full, some of other shards are looked at, too.
 */
static struct sn_entry *victim(struct sn_partition *partition, struct sn_state_table *t,
			       struct sn_state_shard *sh, uint32_t owner, uint32_t class, uint64_t now)
{
	struct sn_entry *first = sn_state_first_due(sh);
	uint32_t looked = sh->live, from = (uint32_t)(now ^ now >> 16); /* whichever */

	(void)owner;
	(void)class;
	for (uint32_t i = 0; i <= t->mask && (!first || looked < LOOKED) && !slab_empty(sh); i++) {
		struct sn_state_shard *other = shard_at(t, (from + i) & t->mask);
		struct sn_entry *e;

		if (other == sh || other->live == 0 || !partition->owned[(from + i) & t->mask])
			continue;
		looked += other->live;
		e = sn_state_first_due(other);
		if (e && (!first || (int64_t)(e->last_use - first->last_use) < 0))
			first = e;
	}
	return first;
}

/* ---- an entry elsewhere ---- */

static void pack(const struct sn_entry *e, uint64_t now, uint8_t *record)
{
	const struct subscriber *s = subscriber_of(e);

	(void)now; /* buckets were filled when the entry was used */
	sn_store32(record, s->prefix);
	sn_store32(record + 4, s->config);
	sn_store64(record + SN_CARRY_OWN, s->buckets.has[SN_COMMITTED]);
	sn_store64(record + SN_CARRY_OWN + 8, s->buckets.has[SN_SECOND]);
}

static void unpack(struct sn_entry *e, uint64_t now, const uint8_t *record)
{
	struct subscriber *s = subscriber_of(e);

	(void)now;
	s->prefix = sn_load32(record);
	s->config = sn_load32(record + 4);
	s->buckets.has[SN_COMMITTED] = sn_load64(record + SN_CARRY_OWN);
	s->buckets.has[SN_SECOND] = sn_load64(record + SN_CARRY_OWN + 8);
}

static int report(const struct sn_entry_info *info, struct sn_arena *arena,
		  Sinter__Program__V1__Session *session)
{
	(void)arena;
	session->inside_address = subscriber_of(&info->line.entry)->prefix;
	return 0;
}

static int report_color(struct sn_arena *arena, const struct meter_count *count,
			Sinter__Program__V1__MeterCount **to)
{
	*to = SN_NEW(arena, Sinter__Program__V1__MeterCount, sinter__program__v1__meter_count__init);
	if (!*to)
		return -1;
	(*to)->packets = count->packets;
	(*to)->bytes = count->bytes;
	return 0;
}

static int report_table(const struct sn_state *state, const struct sn_state_table *table,
			struct sn_arena *arena, Sinter__Program__V1__TableStats *stats)
{
	struct meter_count sums[SN_COLORS] = {0};

	for (uint32_t i = 0; i < state->n_partitions; i++) {
		const struct meter_count *counts = meter_of(table)->common->parts[i].counts;

		for (uint32_t c = 0; c < SN_COLORS; c++) {
			sums[c].packets += counts[c].packets;
			sums[c].bytes += counts[c].bytes;
		}
	}
	stats->meter = SN_NEW(arena, Sinter__Program__V1__MeterStats, sinter__program__v1__meter_stats__init);
	if (!stats->meter || report_color(arena, &sums[SN_GREEN], &stats->meter->green) ||
	    report_color(arena, &sums[SN_YELLOW], &stats->meter->yellow))
		return -1;
	return report_color(arena, &sums[SN_RED], &stats->meter->red);
}

const struct sn_state_kind sn_meter = {
	.name = "meter",
	.claims = claims,
	.decode = decode,
	.table_size = sizeof(struct meter_table),
	.shard_size = 128,
	.table_init = table_init,
	.table_free = table_free,
	.tick = sn_meter_tick,
	.hash = hash,
	.timeout = timeout,
	.gives_way = true,
	.misfit = misfit,
	.is_taken = is_there,
	.victim = victim,
	.pack = pack,
	.unpack = unpack,
	.report = report,
	.report_table = report_table,
};
SN_STATE_KIND(sn_meter)

/* ---- the packet path ---- */

static struct sn_entry *make(struct sn_partition *partition, struct sn_state_table *t, uint32_t shard,
			     uint32_t prefix, uint64_t hash, uint64_t now)
{
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	struct subscriber *s;

	if (unlikely(!has_room(partition, t, sh, t->owner, 0, now))) {
		sh->cold->exhausted++;
		return NULL;
	}
	s = subscriber_of(slab_take(sh));
	s->entry.last_use = now;
	s->entry.timeout_ms = meter_of(t)->timeout_ms;
	s->entry.owner = (uint16_t)t->owner;
	s->entry.shard = shard & (SN_SHARDS - 1);
	s->prefix = prefix;
	s->config = meter_of(t)->config;
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		s->buckets.has[i] = meter_of(t)->limits.capacity[i];
	entry_settle(partition, t, sh, &s->entry, 0, hash);
	sh->created++;
	sn_state_note_made(partition, t, &s->entry, now);
	return &s->entry;
}

enum sn_meter_result sn_meter_subscriber(struct sn_partition *partition, uint32_t table, uint32_t shard,
					 uint32_t prefix, bool wanted, uint64_t now, struct sn_entry **entry)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	uint64_t hash = hash_subscriber(partition->state, t->owner, prefix);

	*entry = find(sh, t->owner, prefix, hash);
	if (likely(*entry && sn_entry_live(*entry, now)))
		return SN_METER_FOUND;
	if (*entry)
		sn_entry_expire(partition, t, sh, *entry);
	*entry = wanted ? make(partition, t, shard, prefix, hash, now) : NULL;
	return *entry ? SN_METER_MADE : SN_METER_NONE;
}

static inline enum sn_color measure_subscriber(const struct meter_table *t, struct sn_entry *e,
					       enum sn_color came, uint64_t cost, uint64_t now)
{
	struct sn_buckets *b = &subscriber_of(e)->buckets;

	/* Clocks of workers, between which it went, differ a little. */
	if ((int64_t)(now - e->last_use) > 0) {
		sn_buckets_fill(b, &t->limits, now - e->last_use);
		e->last_use = now;
	}
	return sn_buckets_take(b, &t->limits, came, cost);
}

enum sn_color sn_meter_measure(struct sn_partition *partition, uint32_t table, struct sn_entry *subscriber,
			       enum sn_color came, uint64_t tokens, uint32_t bytes, uint64_t now)
{
	struct meter_table *t = (struct meter_table *)partition->state->tables[table];
	struct meter_count *counts = meter_part_of(t, partition)->counts;
	uint64_t cost = tokens * SN_TOKEN;
	enum sn_color color = subscriber ? measure_subscriber(t, subscriber, came, cost, now)
					 : sn_meter_measure_common(partition, t, came, cost, now);

	counts[color].packets++;
	counts[color].bytes += bytes;
	return color;
}
