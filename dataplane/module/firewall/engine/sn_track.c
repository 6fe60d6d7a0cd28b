/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that firewalls follow, as a kind of state. */

#include <stdlib.h>

#include "sn_session_impl.h"
#include "sn_track.h"

#define FLOWS_MAX     (1u << 24)
#define HALF_OPEN_MIN 2048u /* 16 in a shard */

/* What the state of a table depends on. */
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

/*
 * Before a NAPT all flows of one port of a host are of one shard: an eighth of all may be. Where addresses
 * tell the shard, all may be. Memory costs only what is used of it.
 */
static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	uint32_t max = table->config.max_entries, entries = max / 8 + 1024;
	size_t ring = openings_of(table) * sizeof(struct opening);

	if (partitioning->by == SN_PARTITION_BY_ADDRESS || entries > max)
		entries = max;
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

static struct sn_flow flow_of(const struct sn_session *s)
{
	return (struct sn_flow){s->inside_addr, s->remote_addr, s->inside_port, s->remote_port, s->proto};
}

static uint64_t hash_flow(const struct sn_state *state, uint32_t owner, const struct sn_flow *f)
{
	struct sn_flow_ends e = sn_flow_ends(f);

	return sn_hash2(e.low | (uint64_t)owner << 48, e.high << 8 | f->proto, state->seed);
}

static uint64_t hash(const struct sn_state *state, const struct sn_entry *e)
{
	struct sn_flow f = flow_of(session_of(e));

	return hash_flow(state, e->owner, &f);
}

/* The flow of a packet from the side that began, or from the other one. */
static bool is_along(const struct sn_session *s, const struct sn_flow *f, bool from_outside)
{
	return s->entry.own_bit == from_outside && s->inside_addr == f->src && s->remote_addr == f->dst &&
	       s->inside_port == f->sport && s->remote_port == f->dport;
}

static bool is_against(const struct sn_session *s, const struct sn_flow *f, bool from_outside)
{
	return s->entry.own_bit != from_outside && s->inside_addr == f->dst && s->remote_addr == f->src &&
	       s->inside_port == f->dport && s->remote_port == f->sport;
}

static struct sn_session *find(const struct sn_state_shard *sh, uint32_t owner, const struct sn_flow *f,
			       bool from_outside, uint64_t hash)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(sh, tier, hash); i > 0; i = at_index(sh, i)->hash_next) {
			struct sn_session *s = (struct sn_session *)at_index(sh, i);

			if ((is_along(s, f, from_outside) || is_against(s, f, from_outside)) &&
			    s->proto == f->proto && s->entry.owner == owner)
				return s;
		}
	}
	return NULL;
}

static bool is_there(const struct sn_state *state, const struct sn_state_table *t,
		     const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	struct sn_flow f = flow_of(session_of(e));

	(void)now;
	return find(sh, t->owner, &f, e->own_bit, hash_flow(state, t->owner, &f)) != NULL;
}

static uint32_t place(const struct sn_state *state, const struct sn_state_table *t, const struct sn_entry *e)
{
	struct sn_flow f = flow_of(session_of(e));

	return sn_flow_table_shard(state, t, &f, e->own_bit);
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	const struct sn_session *s = session_of(e);

	if ((s->outside_addr != s->inside_addr && !(s->seen & SN_SEEN_CHECKED)) ||
	    s->outside_port != s->inside_port)
		return "it is translated, which flows that are followed are not";
	if (!sn_has_ports(s->proto) && (s->inside_port || s->remote_port))
		return "its protocol has no ports, but it has";
	if (((e->shard ^ place(state, table, e)) & table->mask) != 0)
		return "its flow is another shard's";
	return NULL;
}

static int report(const struct sn_entry_info *info, struct sn_arena *arena,
		  Sinter__Program__V1__Session *session)
{
	static char opening[] = "opening", established[] = "established", closing[] = "closing",
		    open[] = "open";
	const struct sn_session *s = session_of(&info->line.entry);

	(void)arena;
	session->proto = s->proto;
	session->inside_address = s->inside_addr;
	session->remote_address = s->remote_addr;
	session->inside_port = s->inside_port;
	session->remote_port = s->remote_port;
	session->from_outside = s->entry.own_bit;
	session->state = s->proto != SN_TCP	     ? open
			 : s->seen & SN_SEEN_CLOSING ? closing
			 : is_established(s->seen)   ? established
						     : opening;
	return 0;
}

/* Of a flow that is checked, numbers lie where others have acknowledgments and windows. */
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
	.hash = hash,
	.quota_class = sn_session_quota_class,
	.timeout = sn_session_timeout,
	.place = place,
	.misfit = misfit,
	.is_taken = is_there,
	.victim = sn_session_victim,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = pack,
	.unpack = unpack,
	.release = release,
	.report = report,
};
SN_STATE_KIND(sn_track)

/* ---- the packet path ---- */

bool sn_track_flow(const struct sn_pkt *p, struct sn_flow *flow)
{
	*flow = (struct sn_flow){p->src, p->dst, 0, 0, p->proto};
	if (unlikely(p->frag != SN_FRAG_WHOLE))
		return false;
	if (likely(p->proto == SN_TCP || p->proto == SN_UDP)) {
		flow->sport = (uint16_t)p->sport;
		flow->dport = (uint16_t)p->dport;
		return p->sport != SN_PORT_ABSENT;
	}
	if (p->proto != SN_ICMP)
		return true;
	if (sn_is_query(p->icmp_type))
		flow->sport = p->id;
	else
		flow->dport = p->id;
	return sn_is_query(p->icmp_type) || sn_is_query_reply(p->icmp_type);
}

struct sn_session *sn_track_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				 const struct sn_flow *f, bool from_outside, uint64_t now, bool *is_return)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	struct sn_session *s = find(sh, t->owner, f, from_outside, hash_flow(partition->state, t->owner, f));

	if (!s)
		return NULL;
	if (unlikely(!sn_entry_live(&s->entry, now))) {
		sn_entry_expire(partition, t, sh, &s->entry);
		return NULL;
	}
	*is_return = s->entry.own_bit != from_outside;
	return s;
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
	s = session_begin(partition->state, sh, t->owner, shard, f->proto, class, now);
	s->entry.own_bit = from_outside;
	s->inside_addr = s->outside_addr = f->src;
	s->inside_port = s->outside_port = f->sport;
	s->remote_addr = f->dst;
	s->remote_port = f->dport;
	memset(s->ack, 0, sizeof(s->ack));
	memset(s->window, 0, sizeof(s->window));
	entry_settle(partition, t, sh, &s->entry, class, hash_flow(partition->state, t->owner, f));
	if (unlikely(place != NULL)) {
		*place = (struct opening){index_of(sh, &s->entry), s->entry.generation};
		((struct track_shard *)sh)->begun++;
	}
	sh->created++;
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
