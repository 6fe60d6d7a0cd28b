/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of TCP streams. Bytes are kept where they belong, whatever order they come in, until the
 * stream is decided or over; rules are matched with those that are there from the beginning on without a gap.
 * A packet behind a gap passes: its receiver cannot use it before the one that fills the gap, and that one is
 * matched together with what lies behind it.
 */
#include <string.h>

#include "sn_carry.h"
#include "sn_inspect_impl.h"
#include "sn_lines.h"
#include "sn_parse.h"

/* ---- entries ---- */

static struct sn_flow flow_of(const struct inspect_stream *s)
{
	return (struct sn_flow){s->src, s->dst, s->sport, s->dport, SN_TCP};
}

static uint64_t hash_flow(const struct sn_state *state, uint32_t owner, const struct sn_flow *f)
{
	return sn_hash2((uint64_t)f->src << 32 | f->dst,
			(uint64_t)owner << 32 | (uint64_t)f->sport << 16 | f->dport, state->seed);
}

uint64_t sn_stream_hash(const struct sn_state *state, const struct sn_entry *e)
{
	struct sn_flow f = flow_of(stream_of(e));

	return hash_flow(state, e->owner, &f);
}

uint32_t sn_stream_place(const struct sn_state *state, const struct sn_state_table *t,
			 const struct sn_entry *e)
{
	struct sn_flow f = flow_of(stream_of(e));

	return sn_flow_table_shard(state, t, &f, e->own_bit);
}

const char *sn_stream_misfit(const struct sn_state *state, const struct sn_state_table *table,
			     const struct sn_entry *e)
{
	const struct inspect_config *c = table->config.own;
	const struct inspect_stream *s = stream_of(e);

	if (!c->depth)
		return "the inspector has no streams";
	if (s->drops > c->n_rules || s->marks > c->n_rules)
		return "it was matched by a rule that there is not";
	if (s->entry.own > INSPECT_OVER)
		return "it is not known how far it was looked at";
	if (((e->shard ^ sn_stream_place(state, table, e)) & table->mask) != 0)
		return "its flow is another shard's";
	return NULL;
}

/* The stream of a side among those with some ends: a host outside does not speak for who is inside. */
static struct sn_entry *find(const struct sn_state_shard *sh, uint32_t owner, const struct sn_flow *f,
			     bool from_outside, uint64_t hash)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(sh, tier, hash); i > 0; i = at_index(sh, i)->hash_next) {
			struct inspect_stream *s = stream_of(at_index(sh, i));

			if (s->src == f->src && s->dst == f->dst && s->sport == f->sport &&
			    s->dport == f->dport && s->entry.own_bit == from_outside &&
			    s->entry.owner == owner)
				return &s->entry;
		}
	}
	return NULL;
}

bool sn_stream_is_taken(const struct sn_state *state, const struct sn_state_table *t,
			const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	struct sn_flow f = flow_of(stream_of(e));

	(void)now;
	return find(sh, t->owner, &f, e->own_bit, hash_flow(state, t->owner, &f)) != NULL;
}

/* The one that would be forgotten first, of the shard or of another one of the worker's. */
struct sn_entry *sn_stream_victim(struct sn_partition *partition, struct sn_state_table *t,
				  struct sn_state_shard *sh, uint32_t owner, uint32_t class, uint64_t now)
{
	struct sn_entry *e = sn_state_first_due(sh);
	uint32_t from = (uint32_t)(now ^ now >> 16); /* whichever */

	(void)owner;
	(void)class;
	for (uint32_t i = 0; i <= t->mask && !e && !slab_empty(sh); i++)
		if (partition->owned[(from + i) & t->mask])
			e = sn_state_first_due(shard_at(t, (from + i) & t->mask));
	return e;
}

/* ---- entries elsewhere ---- */

/* Its bytes stay behind: a stream that is not decided begins again with its next packet. */
static void begin_again(struct inspect_stream *s)
{
	s->slot = 0;
	if (s->entry.own != INSPECT_DECIDED)
		s->entry.own = INSPECT_FRESH;
}

void sn_stream_hold(const struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		    struct sn_entry *e)
{
	(void)state;
	(void)sh;
	if (!inspector_of(t)->inherited)
		begin_again(stream_of(e));
}

void sn_stream_pack(const struct sn_entry *e, uint64_t now, uint8_t *record)
{
	const struct inspect_stream *s = stream_of(e);

	(void)now;
	sn_store32(record, s->src);
	sn_store32(record + 4, s->dst);
	sn_store16(record + 8, s->sport);
	sn_store16(record + 10, s->dport);
	sn_store16(record + 12, s->drops);
	sn_store16(record + 14, s->marks);
	sn_store32(record + SN_CARRY_OWN, s->begin);
	record[SN_CARRY_OWN + 4] = e->own;
	record[SN_CARRY_OWN + 5] = e->own_bit;
}

void sn_stream_unpack(struct sn_entry *e, uint64_t now, const uint8_t *record)
{
	struct inspect_stream *s = stream_of(e);

	(void)now;
	s->src = sn_load32(record);
	s->dst = sn_load32(record + 4);
	s->sport = sn_load16(record + 8);
	s->dport = sn_load16(record + 10);
	s->drops = sn_load16(record + 12);
	s->marks = sn_load16(record + 14);
	s->begin = sn_load32(record + SN_CARRY_OWN);
	s->have = 0;
	e->own = record[SN_CARRY_OWN + 4];
	e->own_bit = record[SN_CARRY_OWN + 5] & 1;
	begin_again(s);
}

/* ---- slots ---- */

static uint32_t words(uint32_t bits)
{
	return (bits + 63) / 64;
}

void sn_stream_lay_out(struct inspect_table *t, const struct inspect_config *c)
{
	t->depth = c->depth;
	t->n_slots = c->max;
	t->there_at = (uint32_t)sizeof(struct inspect_slot) + words(c->n_rules) * 8;
	t->bytes_at = t->there_at + words(c->depth) * 8;
	t->slot_size = (t->bytes_at + c->depth + SN_LINE - 1) & ~(uint32_t)(SN_LINE - 1);
}

static struct inspect_slot *slot_at(const struct inspect_table *t, uint32_t i)
{
	return (struct inspect_slot *)(t->slots + (size_t)(i - 1) * t->slot_size);
}

static bool take_slot(const struct inspect_table *t, struct inspect_stream *s)
{
	struct inspect_memory *m = t->memory;

	rte_spinlock_lock(&m->lock);
	s->slot = m->back;
	if (s->slot)
		m->back = slot_at(t, s->slot)->next;
	else if (m->fresh < t->n_slots)
		s->slot = ++m->fresh;
	rte_spinlock_unlock(&m->lock);
	if (!s->slot)
		return false;
	memset(slot_at(t, s->slot), 0, t->bytes_at);
	return true;
}

static void give_slot(const struct inspect_table *t, struct inspect_stream *s)
{
	struct inspect_memory *m = t->memory;

	if (!s->slot)
		return;
	rte_spinlock_lock(&m->lock);
	slot_at(t, s->slot)->next = m->back;
	m->back = s->slot;
	rte_spinlock_unlock(&m->lock);
	s->slot = 0;
}

void sn_stream_release(const struct sn_state *state, const struct sn_state_table *t,
		       struct sn_state_shard *sh, struct sn_entry *e, bool unused)
{
	(void)state;
	(void)sh;
	(void)unused;
	give_slot(inspector_of(t), stream_of(e));
}

/* ---- the packet path ---- */

static struct sn_entry *make(struct sn_partition *partition, struct sn_state_table *t, uint32_t shard,
			     const struct sn_flow *f, bool from_outside, uint64_t hash, uint64_t now)
{
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	struct inspect_stream *s;

	if (unlikely(!has_room(partition, t, sh, t->owner, 0, now))) {
		sh->cold->exhausted++;
		return NULL;
	}
	s = stream_of(slab_take(sh));
	s->entry.last_use = now;
	s->entry.timeout_ms = partition->state->owners[t->owner].timeout_ms[0];
	s->entry.owner = (uint16_t)t->owner;
	s->entry.shard = shard & (SN_SHARDS - 1);
	s->entry.own = INSPECT_FRESH;
	s->entry.own_bit = from_outside;
	s->src = f->src;
	s->dst = f->dst;
	s->sport = f->sport;
	s->dport = f->dport;
	s->slot = 0;
	entry_settle(partition, t, sh, &s->entry, 0, hash);
	sh->created++;
	return &s->entry;
}

enum sn_stream_result sn_inspect_stream(struct sn_partition *partition, uint32_t table, uint32_t shard,
					const struct sn_flow *flow, bool from_outside, bool wanted,
					uint64_t now, struct sn_entry **entry)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	uint64_t hash = hash_flow(partition->state, t->owner, flow);

	*entry = find(sh, t->owner, flow, from_outside, hash);
	if (likely(*entry && sn_entry_live(*entry, now)))
		return SN_STREAM_FOUND;
	if (*entry)
		sn_entry_expire(partition, t, sh, *entry);
	*entry = wanted ? make(partition, t, shard, flow, from_outside, hash, now) : NULL;
	return *entry ? SN_STREAM_MADE : SN_STREAM_NONE;
}

static bool is_there(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* Bytes at an offset below the depth go where they belong, but where some are. */
static void keep(const struct inspect_table *t, struct inspect_stream *s, struct inspect_slot *slot,
		 const uint8_t *from, uint32_t at, uint32_t len)
{
	uint64_t *there = (uint64_t *)((uint8_t *)slot + t->there_at);
	uint8_t *bytes = (uint8_t *)slot + t->bytes_at;

	if (likely(at == s->have && slot->end <= at)) {
		memcpy(bytes + at, from, len);
		s->have = slot->end = at + len;
		return;
	}
	for (uint32_t i = 0; i < len; i++) {
		if (is_there(there, at + i))
			continue;
		bytes[at + i] = from[i];
		there[(at + i) / 64] |= 1ull << (at + i) % 64;
	}
	if (slot->end < at + len)
		slot->end = at + len;
	while (s->have < slot->end && is_there(there, s->have))
		s->have++;
}

/* Whether there was room for a payload that begins at an offset, or need not be any. */
static bool join(const struct inspect_table *t, struct inspect_stream *s, int32_t at, const uint8_t *bytes,
		 uint32_t len)
{
	int64_t skip = (int64_t)s->have - at; /* bytes that were matched before */

	if (skip > 0) {
		if (skip >= (int64_t)len)
			return true;
		bytes += skip;
		len -= (uint32_t)skip;
		at = (int32_t)s->have;
	}
	if (len == 0 || (uint32_t)at >= t->depth)
		return true;
	if (len > t->depth - (uint32_t)at)
		len = t->depth - (uint32_t)at;
	if (unlikely(!s->slot && !take_slot(t, s)))
		return false;
	keep(t, s, slot_at(t, s->slot), bytes, (uint32_t)at, len);
	return true;
}

/* The rules that match what is there by now, and did not before. */
static void look(const struct sn_inspect_rules *r, const struct inspect_table *t, struct inspect_stream *s,
		 uint32_t worker, uint64_t *counts)
{
	const struct inspect_rule *rules = inspect_at(r, r->rules);
	struct inspect_slot *slot = slot_at(t, s->slot);
	const struct sn_payload payload = {(uint8_t *)slot + t->bytes_at, s->have, SN_PAYLOAD_STREAM};
	const uint32_t *matched;
	uint32_t n = sn_inspect_scan(r, worker, payload, &matched), drops = 0, marks = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t rule = matched[i];

		if (is_there(slot->matched, rule))
			continue;
		slot->matched[rule / 64] |= 1ull << rule % 64;
		counts[rule]++;
		if (rules[rule].reason != SN_REASON_NONE && (!drops || rule < drops - 1))
			drops = rule + 1;
		if (rules[rule].dscp != SN_INSPECT_KEEP_DSCP && (!marks || rule < marks - 1))
			marks = rule + 1;
	}
	if (!s->marks)
		s->marks = (uint16_t)marks;
	s->drops = (uint16_t)drops;
	if (drops || s->have == t->depth) {
		s->entry.own = INSPECT_DECIDED;
		give_slot(t, s);
	}
}

/* Whether a payload has bytes behind what was looked at. */
static bool goes_on(const struct inspect_stream *s, uint32_t seq, uint32_t len)
{
	return len > 0 && (int32_t)(seq + len - s->begin) > (int32_t)s->have;
}

/* A SYN that is not the one by which the stream began begins it again, and so do bytes behind its end. */
static void begin(const struct inspect_table *t, struct inspect_stream *s, uint32_t seq, uint32_t len,
		  bool syn)
{
	if (likely(s->entry.own != INSPECT_FRESH && (!syn || s->begin == seq) &&
		   !(s->entry.own == INSPECT_OVER && goes_on(s, seq, len))))
		return;
	give_slot(t, s);
	s->entry.own = INSPECT_LOOKS;
	s->begin = seq;
	s->have = 0;
	s->drops = s->marks = 0;
}

/* A stream that ends where it was looked at keeps no bytes: most are shorter than the depth. */
static void finish(const struct inspect_table *t, struct inspect_stream *s, uint32_t end)
{
	if (s->entry.own != INSPECT_LOOKS || end - s->begin != s->have)
		return;
	s->entry.own = INSPECT_OVER;
	give_slot(t, s);
}

struct sn_inspected sn_inspect_segment(struct sn_partition *partition, struct sn_inspect_rules *r,
				       uint32_t table, struct sn_entry *entry, const uint8_t *tcp,
				       struct sn_payload payload, uint64_t now)
{
	const struct inspect_rule *rules = inspect_at(r, r->rules);
	struct inspect_table *t = inspector_of(partition->state->tables[table]);
	struct sn_inspected result = {SN_REASON_NONE, SN_INSPECT_KEEP_DSCP};
	uint64_t *counts = inspect_count(t, partition, payload.len);
	struct inspect_stream *s = stream_of(entry);
	bool syn = tcp[13] & SN_TCP_SYN;
	uint32_t seq = sn_load32(tcp + 4) + syn, had;

	begin(t, s, seq, payload.len, syn);
	entry->last_use = now;
	had = s->have;
	if (entry->own == INSPECT_LOOKS) {
		if (!join(t, s, (int32_t)(seq - s->begin), payload.bytes, payload.len))
			return (struct sn_inspected){r->full, SN_INSPECT_KEEP_DSCP};
		if (s->have > had)
			look(r, t, s, partition_number(partition), counts);
		if (tcp[13] & (SN_TCP_FIN | SN_TCP_RST))
			finish(t, s, seq + payload.len);
	}
	if (s->drops)
		result.reason = rules[s->drops - 1].reason;
	else if (s->marks)
		result.dscp = rules[s->marks - 1].dscp;
	return result;
}
