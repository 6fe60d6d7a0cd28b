/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NAPT_IMPL_H
#define SN_NAPT_IMPL_H

/* The inside of a NAPT's state, beside sessions; for the files that keep it. */

#include "sn_napt.h"
#include "sn_rss.h"
#include "sn_session_impl.h"

#define BACK_HEADS 1024u /* of chains by which sessions without ports are found from outside */
#define BACK_ADDRS                                                                              \
	32u /* of a pool are used for them at most: with every partitioning a table has as many \
	     */
#define SLOT_FREE  0x80000000u
#define REST_SHIFT 24	      /* ports rest for multiples of 17 ms */
#define REST_MAX   604800000u /* ms */
#define REST_AHEAD 80000000u  /* of these multiples: a week of timeout, and one of rest */

/*
 * Outside addresses and ports that serve alike. A slot never used is 0; one in use holds the session's
 * index + 1; a free one SLOT_FREE and the next free one + 1, so that the port that rests longest is taken
 * next. One that is reserved looks as the last free one, but is in no list.
 */
struct queue {
	uint32_t fresh; /* slots from here on were never used (or are taken by sessions that moved in) */
	uint32_t head;	/* + 1; 0: none */
	uint32_t tail;
	uint32_t hand; /* the slot that is looked at next for an opening that may end */
};

struct napt_shard;

/* A queue with its slots; numbers of slots in the queue count from the first of these. */
struct list {
	const struct napt_shard *shard;
	enum sn_proto_class class;
	struct queue *queue;
	uint32_t begin; /* slots of the shard and protocol before it */
	uint32_t n;
	struct sn_stretch *stretch; /* that they are; NULL: a part of one */
	uint32_t *rests;	    /* until when slots of the shard and protocol rest; NULL: they do not */
};

/*
 * The ports of a pool by the bucket that they alone would hash to: a return packet's bucket is its port's,
 * and that of the rest of its words.
 */
struct cosets {
	uint32_t first[SN_RSS_BUCKETS + 1]; /* into port */
	uint16_t port[65536];
	uint16_t position[65536]; /* by port */
};

/* Behind what all shards have: the rest of line 2 is read by look-ups from outside, line 3 only by what makes
 * and ends sessions. */
struct napt_shard {
	struct sn_state_shard shard;
	uint32_t port_base; /* the shard's first port */
	uint32_t n_slots;
	uint32_t *slots;       /* in rows; see slot_at() */
	uint32_t apart : 28;   /* slots from one protocol's to the next one's */
	uint32_t slot_log : 4; /* words of a slot, as a power of two */
	uint32_t portless;     /* sessions without ports */
	struct queue *queues;  /* where lists are many: by protocol, coset and address */
	/* line 3 */
	struct queue queue[SN_PORTED]; /* of all slots */
	uint32_t *back;		       /* heads: index + 1; behind them those of mappings, and rests */
	uint64_t reaped;	       /* when all that had expired was reclaimed for a stranger */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct napt_shard) == 192, "three cache lines");

/* Ports of an address of the pool that others have. */
struct napt_reserved {
	uint32_t address;
	uint16_t first, last;
	uint32_t class; /* enum sn_proto_class */
};

/* A table's configuration, beside that of all; behind the pool are n_reserved of these, see reserved_of(). */
struct napt_config {
	uint64_t n_addresses;
	uint32_t port_min, port_max;
	uint32_t n_pool;
	uint32_t n_reserved;
	uint8_t mapping, filtering; /* enum sn_dependence */
	bool shared;		    /* some table of the program has mappings that sessions share */
	bool paired;		    /* an inside address has one outside address */
	uint32_t rest_ms;	    /* for how long a port rests */
	uint32_t pad;		    /* 0 */
	struct sn_range pool[];	    /* ascending, disjoint */
};

static inline struct napt_reserved *reserved_of(struct napt_config *c)
{
	return (struct napt_reserved *)&c->pool[c->n_pool];
}

struct napt_table {
	struct sn_state_table table;
	uint32_t shift;
	uint32_t n_addresses; /* that are used */
	uint32_t port_min, port_max;
	struct cosets *cosets;	    /* SN_PARTITION_BY_RSS */
	uint8_t mapping, filtering; /* enum sn_dependence */
	/* SN_PARTITION_BY_RSS: a shard is told by the inside end of a flow alone, and its ports by theirs:
	 * flows of one mapping are in one shard, wherever devices take their packets. */
	bool by_end;
	bool paired;	  /* an inside address has one outside address: each of these has lists of its own */
	uint32_t n_heads; /* of chains by which a shard's mappings are found, a power of two */
	uint32_t n_pool;
	uint32_t n_slots; /* of a shard and protocol: what there is memory for */
	uint64_t rest_ns; /* for how long a port rests */
	const struct sn_range *pool;
	uint32_t *pool_base; /* number of addresses before the range */
};

static inline struct sn_session *session_at(const struct napt_shard *sh, uint32_t index)
{
	return (struct sn_session *)at_index(&sh->shard, index);
}

static inline struct napt_shard *napt_shard_at(const struct napt_table *t, uint32_t number)
{
	return &((struct napt_shard *)t->table.shards)[number];
}

static inline uint64_t hash_whole(const struct sn_state *state, uint32_t run, const struct sn_flow *f)
{
	return sn_hash2((uint64_t)f->src << 32 | f->dst,
			(uint64_t)f->sport << 48 | (uint64_t)f->dport << 32 | run << 8 | f->proto,
			state->seed);
}

/* Where filters ask whether there is a session with an address, all of these are in one chain. */
static inline uint64_t hash_inside(const struct sn_state *state, const struct napt_table *t, uint32_t run,
				   const struct sn_flow *f)
{
	struct sn_flow by_address;

	if (likely(t->filtering != SN_ADDRESS_DEPENDENT))
		return hash_whole(state, run, f);
	by_address = *f;
	by_address.dport = 0;
	return hash_whole(state, run, &by_address);
}

/* The session's own table is not asked: it may be on its way to another one. */
static inline uint64_t hash_session(const struct sn_state *state, const struct sn_session *s)
{
	bool by_address = s->seen & SN_SEEN_BY_ADDRESS;
	struct sn_flow f = {s->inside_addr, s->remote_addr, s->inside_port, by_address ? 0 : s->remote_port,
			    s->proto};

	return hash_whole(state, s->entry.owner, &f);
}

/* The session of a flow, be it live or not. */
static inline struct sn_session *session_find(const struct napt_shard *sh, uint32_t run,
					      const struct sn_flow *f, uint64_t hash)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(&sh->shard, tier, hash); i;) {
			struct sn_session *s = session_at(sh, i);

			i = s->entry.hash_next;
			if (s->inside_addr == f->src && s->inside_port == f->sport &&
			    s->remote_addr == f->dst && s->remote_port == f->dport && s->proto == f->proto &&
			    s->entry.owner == run)
				return s;
		}
	}
	return NULL;
}

/* ---- ports ---- */

static inline uint32_t address_index(const struct napt_table *t, uint32_t address)
{
	uint32_t range = sn_range_of(t->pool, t->n_pool, address), index;

	if (range == SN_NO_INDEX)
		return SN_NO_INDEX;
	index = t->pool_base[range] + (address - t->pool[range].first);
	return index < t->n_addresses ? index : SN_NO_INDEX;
}

static inline uint32_t coset_of(const struct napt_table *t, uint16_t words)
{
	return sn_rss_bucket(words) & t->table.mask;
}

/* A slot of a protocol, and of a list. */
static inline uint32_t *slot_at(const struct napt_shard *sh, enum sn_proto_class class, uint32_t slot)
{
	return &sh->slots[in_rows(&sh->shard, ROW_WORDS, (class * sh->apart + slot) << sh->slot_log)];
}

static inline uint32_t *list_slot(const struct list *l, uint32_t slot)
{
	return slot_at(l->shard, l->class, l->begin + slot);
}

/* Whether a shard and protocol have several. */
static inline bool has_lists(const struct napt_table *t)
{
	return t->cosets != NULL || t->paired;
}

/* The number of the address that flows of an inside address have; contiguous ones spread evenly. */
static inline uint32_t paired_index(const struct napt_table *t, uint32_t inside)
{
	return inside % t->n_addresses;
}

/* Until when the slots of a protocol rest, as time >> REST_SHIFT; NULL: ports of the table do not. */
static inline uint32_t *rests_of(const struct napt_table *t, const struct napt_shard *sh,
				 enum sn_proto_class class)
{
	return unlikely(t->rest_ns) ? &sh->back[BACK_HEADS + t->n_heads + class * t->n_slots] : NULL;
}

/* The outside ports that serve alike, of the address with an index, for a protocol. */
static inline struct list list_of(const struct napt_table *t, struct napt_shard *sh,
				  enum sn_proto_class class, uint32_t coset, uint32_t address)
{
	const struct cosets *c = t->cosets;
	struct list l = {.shard = sh,
			 .class = class,
			 .queue = &sh->queue[class],
			 .n = sh->n_slots,
			 .stretch = &sh->shard.stretches[STRETCH_PARTS + class],
			 .rests = rests_of(t, sh, class)};

	if (likely(!has_lists(t)))
		return l;
	l.stretch = NULL;
	if (!c) {
		l.n = sh->n_slots / t->n_addresses;
		l.begin = address * l.n;
		l.queue = &sh->queues[class * t->n_addresses + address];
		return l;
	}
	l.n = c->first[coset + 1] - c->first[coset];
	l.begin = c->first[coset] * t->n_addresses + address * l.n;
	l.queue = &sh->queues[(class * (t->table.mask + 1) + coset) * t->n_addresses + address];
	return l;
}

static inline struct list list_of_session(const struct napt_table *t, struct napt_shard *sh,
					  const struct sn_session *s)
{
	if (likely(!has_lists(t)))
		return list_of(t, sh, ported_class_of(s->proto), 0, 0);
	return list_of(t, sh, ported_class_of(s->proto), t->cosets ? coset_of(t, s->outside_port) : 0,
		       address_index(t, s->outside_addr));
}

/* The slot of an outside address and port; neighbouring slots are of different addresses. */
static inline uint32_t slot_of(const struct napt_table *t, const struct napt_shard *sh, uint32_t address,
			       uint32_t port)
{
	uint32_t index;
	uint64_t slot;

	if (port < sh->port_base || port > t->port_max)
		return SN_NO_INDEX;
	index = address_index(t, address);
	if (index == SN_NO_INDEX)
		return SN_NO_INDEX;
	if (t->cosets) {
		uint32_t coset = coset_of(t, port), first = t->cosets->first[coset];

		return first * t->n_addresses + index * (t->cosets->first[coset + 1] - first) +
		       t->cosets->position[port] - first;
	}
	if (t->paired) {
		uint32_t of_address = (port - sh->port_base) >> t->shift, n = sh->n_slots / t->n_addresses;

		return of_address < n ? index * n + of_address : SN_NO_INDEX;
	}
	slot = (uint64_t)((port - sh->port_base) >> t->shift) * t->n_addresses + index;
	return slot < sh->n_slots ? slot : SN_NO_INDEX;
}

static inline uint32_t slot_of_session(const struct napt_table *t, const struct napt_shard *sh,
				       const struct sn_session *s)
{
	return slot_of(t, sh, s->outside_addr, s->outside_port);
}

/* ---- sessions without ports ---- */

/* The chain of all sessions of a protocol with a remote, among others. */
static inline uint32_t *back_head(const struct sn_state *state, const struct napt_shard *sh, uint8_t proto,
				  uint32_t remote)
{
	return &sh->back[sn_hash2(remote, proto, state->seed) & (BACK_HEADS - 1)];
}

static inline void back_link(const struct sn_state *state, struct napt_shard *sh, struct sn_session *s)
{
	uint32_t *head = back_head(state, sh, s->proto, s->remote_addr);

	s->back_next = *head;
	*head = index_of(&sh->shard, &s->entry);
	sh->portless++;
}

static inline void back_unlink(const struct sn_state *state, struct napt_shard *sh,
			       const struct sn_session *s)
{
	uint32_t *link = back_head(state, sh, s->proto, s->remote_addr),
		 index = index_of(&sh->shard, &s->entry);

	while (*link != index)
		link = &session_at(sh, *link)->back_next;
	*link = s->back_next;
	sh->portless--;
}

/* The live session of a flow, as its return packets are outside. */
static inline struct sn_session *back_find(const struct sn_state *state, const struct napt_shard *sh,
					   const struct sn_flow *f, uint64_t now)
{
	for (uint32_t i = *back_head(state, sh, f->proto, f->src); i;) {
		struct sn_session *s = session_at(sh, i);

		if (s->remote_addr == f->src && s->outside_addr == f->dst && s->proto == f->proto &&
		    sn_entry_live(&s->entry, now))
			return s;
		i = s->back_next;
	}
	return NULL;
}

/* Sessions without ports that a shard has room for: strangers may choose remotes as they like. Where one has
 * them all, they may have a part of what is for those with ports. */
static inline uint32_t portless_max(const struct sn_state *state, const struct napt_shard *sh)
{
	return sh->shard.slab_max / (state->by_ends ? 4 : 25) + 1; /* see sn_napt_table_init() */
}

static inline bool may_be_portless(const struct napt_table *t, uint32_t address)
{
	return address_index(t, address) < BACK_ADDRS;
}

static inline uint32_t return_shard(const struct sn_state *state, const struct napt_table *t,
				    const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return sn_flow_portless_shard(state, f->src) & t->table.mask;
	if (state->partitioning.by != SN_PARTITION_BY_RSS)
		return f->dport & t->table.mask;
	return sn_rss_bucket(t->by_end ? sn_rss_words(0, f->dst, 0, f->dport)
				       : sn_rss_words(f->src, f->dst, f->sport, f->dport)) &
	       t->table.mask;
}

/* ---- what the files do for one another ---- */

int sn_napt_decode(struct sn_builder *b, struct sn_table_config *to,
		   const Sinter__Program__V1__StateTable *from);
int sn_napt_table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		       struct sn_shard_size *size);
void sn_napt_table_free(struct sn_state_table *table);
void sn_napt_shard_init(const struct sn_state_table *table, struct sn_state_shard *shard, uint32_t number,
			void *memory, void *rows);

/* Flows before there is an operation; see sn_state_kind.h. */
void sn_napt_prefetch(const struct sn_state *state, uint32_t run, const struct sn_flow *flows, uint64_t which,
		      struct sn_flow_hint *hints);
enum sn_open sn_napt_open(struct sn_partition *partition, uint32_t run, const struct sn_flow *flow,
			  const struct sn_flow_hint *hint, uint64_t now, struct sn_session **session,
			  uint32_t *reason);

/* Have a session hold its place: a port, or a place among those without. */
void sn_napt_hold(const struct sn_state *state, const struct sn_state_table *table,
		  struct sn_state_shard *shard, struct sn_entry *e);
void sn_napt_release(const struct sn_state *state, const struct sn_state_table *table,
		     struct sn_state_shard *shard, struct sn_entry *e, bool unused);

/* Counts what all sessions of a table have; see sn_state_kind.h. */
void sn_napt_count_subscribers(const struct sn_state *state, const struct sn_state_table *table);

/* Counts a session that is to begin, with a port if that is to be new. False: its subscriber may not have
 * another one. */
bool sn_napt_subscriber_take(struct sn_partition *partition, uint32_t run, uint32_t shard,
			     const struct sn_flow *f, bool new_port, uint64_t now);

/* It does not begin. */
void sn_napt_subscriber_untake(const struct sn_state *state, uint32_t run, uint32_t shard,
			       const struct sn_flow *f, bool new_port);

#endif /* SN_NAPT_IMPL_H */
