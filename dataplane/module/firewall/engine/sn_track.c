/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that firewalls follow, as a kind of state. */

#include <stdlib.h>

#include "sn_followed.h"
#include "sn_track.h"

#define FLOWS_MAX     (1u << 24)
#define HALF_OPEN_MIN 2048u /* 16 in a shard */

/* The configuration that the state of a table depends on. */
struct track_config {
	uint32_t openings; /* of a shard; 0: it remembers none */
};

/* A TCP flow that began: its entry, if that has the generation still. */
struct opening {
	uint32_t index; /* 0: none */
	uint32_t generation;
};

struct track_shard {
	struct sn_state_shard shard;
	struct opening *openings; /* the last ones, in a ring */
	uint32_t begun;		  /* so many in all */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct track_shard) == 128, "two lines");

struct rules {
	uint32_t timeout_ms[SN_OWNER_TIMEOUTS];
	bool strict;
};

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->tracking != NULL;
}

static int check_timeout(struct sn_builder *b, const char *field, uint32_t ms)
{
	return ms ? 0 : sn_build_fail(b, "%s is 0, want at least 1", field);
}

static int decode_half_open(struct sn_builder *b, struct sn_table_config *to, uint32_t max)
{
	struct track_config *own = sn_build_array(1, sizeof(*own));

	to->own = own;
	to->own_size = sizeof(*own);
	if (!own)
		return sn_build_no_memory(b);
	if (max != 0 && (max < HALF_OPEN_MIN || max > FLOWS_MAX))
		return sn_build_fail(b, "max_half_open is %u, want 0 or %u..%u", max, HALF_OPEN_MIN,
				     FLOWS_MAX);
	own->openings = (max + SN_SHARDS - 1) / SN_SHARDS;
	return 0;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Tracking *k = from->tracking;
	struct rules *r = sn_build_array(1, sizeof(*r));
	int rc;

	to->rules = r;
	if (!r)
		return sn_build_no_memory(b);
	rc = check_timeout(b, "tcp_ms", k->tcp_ms);
	if (!rc)
		rc = check_timeout(b, "tcp_transitory_ms", k->tcp_transitory_ms);
	if (!rc)
		rc = check_timeout(b, "udp_ms", k->udp_ms);
	if (!rc)
		rc = check_timeout(b, "icmp_ms", k->icmp_ms);
	if (!rc && (from->max_sessions < 1 || from->max_sessions > FLOWS_MAX))
		rc = sn_build_fail(b, "max_sessions is %u, want 1..%u flows", from->max_sessions, FLOWS_MAX);
	r->timeout_ms[SN_PROTO_TCP] = k->tcp_transitory_ms;
	r->timeout_ms[SN_PROTO_UDP] = r->timeout_ms[SN_PROTO_OTHER] = k->udp_ms;
	r->timeout_ms[SN_PROTO_ICMP] = k->icmp_ms;
	r->timeout_ms[SN_SESSION_ESTABLISHED] = k->tcp_ms;
	r->strict = k->strict;
	return rc ? rc : decode_half_open(b, to, k->max_half_open);
}

static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	const struct rules *r = from->rules;

	memcpy(to->timeout_ms, r->timeout_ms, sizeof(to->timeout_ms));
}

bool sn_track_is_strict(const struct sn_table_config *table)
{
	return ((const struct rules *)table->rules)->strict;
}

static uint32_t openings_of(const struct sn_state_table *t)
{
	return ((const struct track_config *)t->config.own)->openings;
}

static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	uint32_t entries = sn_followed_entries(table, partitioning);
	size_t ring = openings_of(table) * sizeof(struct opening);

	*size = (struct sn_shard_size){SN_SHARDS, entries, entries / 8 + 1, ring, 0, 0};
	return 0;
}

static void shard_init(const struct sn_state_table *table, struct sn_state_shard *shard, uint32_t number,
		       void *memory, void *rows)
{
	(void)table;
	(void)number;
	(void)rows;
	((struct track_shard *)shard)->openings = memory;
}

/* ---- an entry ---- */

/* A checked flow has numbers where others have acknowledgments and windows. */
static void pack(const struct sn_entry *e, uint64_t now, uint8_t *record)
{
	const struct sn_session *s = session_of(e);

	sn_session_pack(e, now, record);
	if (!(s->seen & SN_SEEN_CHECKED))
		return;
	sn_store32(record + 32, s->ends[0]);
	sn_store32(record + 36, s->ends[1]);
	sn_store32(record + 40, s->inside_edge);
}

static void unpack(struct sn_entry *e, uint64_t now, const uint8_t *record)
{
	struct sn_session *s = (struct sn_session *)e;

	sn_session_unpack(e, now, record);
	if (s->proto != SN_TCP || !(record[21] & SN_SEEN_CHECKED))
		return;
	s->seen |= record[21] & (SN_SEEN_CHECKED | SN_SEEN_SAID);
	s->ends[0] = sn_load32(record + 32);
	s->ends[1] = sn_load32(record + 36);
	s->inside_edge = sn_load32(record + 40);
}

/* A flow that was made and is unmade again, which the last ones are, has its place no more. */
static void release(const struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		    struct sn_entry *e, bool unused)
{
	struct track_shard *ts = (struct track_shard *)sh;
	uint32_t n = openings_of(t);
	struct opening *last;

	(void)state;
	if (likely(!unused || n == 0 || ts->begun == 0))
		return;
	last = &ts->openings[(ts->begun - 1) % n];
	if (last->index != index_of(sh, e) || last->generation != e->generation)
		return;
	last->index = 0;
	ts->begun--;
}

const struct sn_state_kind sn_track = {
	.name = "tracking",
	.claims = claims,
	.decode = decode,
	.table_owner = table_owner,
	.table_size = sizeof(struct sn_state_table),
	.shard_size = sizeof(struct track_shard),
	.table_init = table_init,
	.shard_init = shard_init,
	.hash = sn_followed_hash,
	.quota_class = sn_session_quota_class,
	.timeout = sn_session_timeout,
	.place = sn_followed_place,
	.misfit = sn_followed_misfit,
	.is_taken = sn_followed_is_there,
	.victim = sn_session_victim,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = pack,
	.unpack = unpack,
	.release = release,
	.report = sn_followed_report,
};
SN_STATE_KIND(sn_track)

/* ---- the packet path ---- */

struct sn_session *sn_track_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				 const struct sn_flow *f, bool from_outside, uint64_t now, bool *is_return)
{
	return followed_find(partition, partition->state->tables[table], shard, f, from_outside, now,
			     is_return);
}

static bool is_half_open(const struct sn_session *s)
{
	return !(s->seen & SN_SEEN_CLOSING) && !is_established(s->seen);
}

/* The place of a TCP flow that begins, among the last ones; the one that had it ends, if it is still half
 * open. NULL: its shard remembers none. */
static struct opening *place_of(struct sn_partition *partition, const struct sn_state_table *t,
				struct sn_state_shard *sh, uint64_t now)
{
	struct track_shard *ts = (struct track_shard *)sh;
	struct opening *o;
	struct sn_entry *e;

	if (likely(openings_of(t) == 0))
		return NULL;
	o = &ts->openings[ts->begun % openings_of(t)];
	if (o->index == 0)
		return o;
	e = at_index(sh, o->index);
	if (e->live && e->generation == o->generation && is_half_open(session_of(e)) &&
	    sn_entry_last_use(e) != now)
		sn_entry_evict(partition, t, sh, e, now);
	return o;
}

static struct sn_session *make(struct sn_partition *partition, struct sn_state_table *t, uint32_t shard,
			       const struct sn_flow *f, bool from_outside, uint64_t now)
{
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	enum sn_proto_class class = class_of(f->proto);
	struct opening *place = class == SN_PROTO_TCP ? place_of(partition, t, sh, now) : NULL;
	struct sn_session *s;

	if (unlikely(!has_room(partition, t, sh, t->owner, class, now))) {
		sh->cold->exhausted++;
		return NULL;
	}
	s = followed_begin(partition, t, shard, f, from_outside, now);
	if (unlikely(place != NULL)) {
		*place = (struct opening){index_of(sh, &s->entry), s->entry.generation};
		((struct track_shard *)sh)->begun++;
	}
	return s;
}

struct sn_session *sn_track_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
				  const struct sn_flow *f, bool from_outside, uint64_t now, bool *is_return,
				  bool *made)
{
	struct sn_session *s = sn_track_find(partition, table, shard, f, from_outside, now, is_return);

	*made = !s;
	if (s)
		return s;
	*is_return = false;
	return make(partition, partition->state->tables[table], shard, f, from_outside, now);
}
