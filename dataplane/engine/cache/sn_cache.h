/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CACHE_H
#define SN_CACHE_H

/*
 * A worker's exact memory of decisions: what a packet of this flow, by this
 * interface, with these values in the other fields that some table reads, became. Eight entries
 * share a bucket; their 16-bit tags lie together, so that a look-up compares all of them at once and
 * reads the one line of the entry that it wants. A new generation forgets all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_ahead.h"
#include "sn_hash.h"
#include "sn_observer.h"
#include "sn_plain.h"
#include "sn_program.h"
#include "sn_entry.h"

#define SN_CACHE_WAYS	   8
#define SN_CACHE_SHORTS	   7 /* short decisions of a cache line */
#define SN_CACHE_SESSIONS  2
#define SN_CACHE_KEEP_DSCP 0xff
#define SN_CACHE_KEEP_VLAN 0xffff

/* The bits of a flow's hash that count. Tags are those from 48 on, of short decisions from 54 on: the tests'
 * build has so few that flows share them all the time. */
#ifndef SN_CACHE_HASH_BITS
#define SN_CACHE_HASH_BITS UINT64_MAX
#endif

enum sn_cache_flag {
	SN_CACHE_RETURN0 = 1, /* the packet uses session 0 in the return direction */
	SN_CACHE_RETURN1 = 2,
	SN_CACHE_STRIPPED = 4,
	SN_CACHE_EACH = 8, /* operations on the path (SN_STEP_EACH) are to be done to each packet */
	SN_CACHE_EACH0 =
		16, /* session 0 is the state of one of these (SN_STEP_ENTRY): they have them in order */
	SN_CACHE_EACH1 = 32,
	SN_CACHE_READ = 64,	 /* packets are to be read: for what is done to each, or for their tag */
	SN_CACHE_OBSERVED = 128, /* packets are counted in the entry's cell */
};

/* Where packets come from, as a number: an interface, or from here on a continuation (sn_continuation.h). */
#define SN_CACHE_CONTINUATIONS	   SN_IFACES_MAX
#define SN_CACHE_CONTINUATIONS_MAX (UINT16_MAX + 1u - SN_CACHE_CONTINUATIONS)

struct sn_cache_key {
	uint64_t addresses;
	uint64_t ports; /* source, destination; 8 bits of protocol, 16 of ingress, 8 of generation */
	uint32_t signature;
};

/* One cache line: 20 bytes of key, 44 of decision. */
struct sn_cache_entry {
	uint64_t addresses;
	uint64_t ports_key;
	/* 16 bytes of what to write, as it lies in a plain frame from the TTL on; in network order */
	uint32_t head_move; /* see sn_rewrite.h */
	uint32_t src, dst;
	uint16_t sport, dport; /* of ICMP sport is the identifier */
	uint32_t signature;
	uint16_t l4_diff; /* see sn_rewrite.h; in network order */
	uint16_t neigh;
	uint16_t vlan;
	uint16_t path;
	uint8_t shard;	 /* of the state on the way, SN_PKT_NO_SHARD if there is none */
	uint8_t min_ttl; /* a packet below it is none of this entry's */
	uint8_t dscp;
	uint8_t flags;
	uint64_t sessions[SN_CACHE_SESSIONS]; /* pointer and generation; 0: none */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sn_cache_entry) == 64, "an entry is one cache line");

/* How a short decision names what it needs: by its slot a session that has the flow as it comes, and by the
 * slot behind, if there is one, another entry. */
enum sn_cache_form_how {
	SN_CACHE_TWO = 1,	       /* there is another one */
	SN_CACHE_BACK = 2,	       /* the packet comes from the session's outside */
	SN_CACHE_OTHER_FIRST = 4,      /* the other is the first or the only one that the decision uses */
	SN_CACHE_BOTH = 8,	       /* both are used */
	SN_CACHE_LEAVES_BY_OTHER = 16, /* the other has the flow as it leaves: two functions translate it */
	SN_CACHE_OTHER_BACK = 32,      /* the packet goes to the other's inside */
};

/*
 * Where flows are more than the entries, most decisions are kept short: a session, which has all that is the
 * flow's own, and a form, which has what its decision has in common with many others. Another entry is named,
 * too, if it is used on the way, if it leads a bundle that the session is in (sn_bundle.h), or if it alone
 * has the flow as it leaves.
 */
struct sn_cache_form {
	uint32_t high[2]; /* of the addresses of the session and the other: what slots leave out */
	uint32_t signature;
	uint16_t owner; /* of the session */
	uint16_t neigh;
	uint16_t path;
	uint16_t ingress;
	uint8_t min_ttl;
	uint8_t ttl_dec;
	uint8_t flags;
	uint8_t how;   /* enum sn_cache_form_how */
	uint16_t next; /* an older form with the same hash; none in use ends the chain */
	uint8_t pad[6];
};
_Static_assert(sizeof(struct sn_cache_form) == 32, "two share a line");
_Static_assert(offsetof(struct sn_cache_form, next) == 24, "three words tell forms apart");
#define SN_CACHE_FORM_WORDS 3 /* that tell forms apart: all before `next` */
#define SN_CACHE_FORM_HEADS 4096u

/* A session of a short decision; it is empty if its form is none of those in use. The generation is the
 * session's, all of it: a session that ended has no decision, whoever has its line now. */
struct sn_cache_slot {
	uint64_t form : 16;
	uint64_t tag : 2;   /* what follows the first 8 bits */
	uint64_t guest : 1; /* it belongs to the bucket beside, which was full */
	uint64_t other : 1; /* it is no decision: the slot before it names its form, and another session */
	uint64_t line : 23; /* bits 6 to 28 of the session's address */
	uint64_t generation : 21;
};
_Static_assert(1u << 21 == SN_GENERATIONS, "a slot has all of it");

/* A cache line. Tags are compared all at once. */
struct sn_cache_shorts {
	uint8_t tags[SN_CACHE_SHORTS];
	uint8_t away; /* guests in the bucket beside that belong here */
	struct sn_cache_slot slots[SN_CACHE_SHORTS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sn_cache_shorts) == 64, "a bucket is one cache line");

struct sn_cache_short_table {
	struct sn_cache_shorts *buckets; /* NULL: none */
	struct sn_stretch *stretch;
	uint32_t mask;
	uint32_t used; /* slots that were filled, at least */
};

struct sn_cache {
	uint16_t *tags; /* SN_CACHE_WAYS per bucket; 0: empty */
	struct sn_cache_entry *entries;
	struct sn_flow_cell *cells; /* by entry; untouched where nothing is observed */
	void *cells_memory;
	uint32_t swept; /* the cell that is looked at next */
	uint32_t mask;	/* buckets - 1 */
	uint8_t generation;
	uint8_t hand; /* the way that a full bucket gives up next */
	uint8_t turn; /* of decisions that find no room */
	bool crowded; /* there is no room for short decisions, or not enough */
	uint64_t seed;
	struct sn_growing *memory; /* of entries, forms and short decisions, whose stretches are … */
	struct sn_stretch *all;	   /* … that of the entries, … */
	struct sn_stretch
		*rooms; /* … and one for each size of a table of short decisions, the smallest first */
	struct sn_cache_short_table shorts;
	struct sn_cache_short_table
		before;	       /* from which flows go to the one as they come; see sn_cache_tick() */
	uint64_t before_until; /* ns */
	uint32_t coming;       /* buckets of the table whose memory is being brought; 0: none is */
	struct sn_cache_form *forms;
	uint16_t *heads;     /* the newest form of each hash, if it is in use */
	uint32_t first_form; /* in use; those before belong to what was forgotten */
	uint32_t n_forms;
};

/* entries: a power of two, at least SN_CACHE_WAYS; 0 or -ENOMEM. */
int sn_cache_init(struct sn_cache *c, uint32_t entries);
void sn_cache_free(struct sn_cache *c);

/* Asks for the memory of all entries, and of short decisions for so many sessions, if it has none yet; true:
 * it is there. */
bool sn_cache_prepare(struct sn_cache *c, uint32_t sessions);

/* Whether some decisions are short. */
static inline bool sn_cache_has_shorts(const struct sn_cache *c)
{
	return c->shorts.buckets != NULL;
}

/* Gives up the memory of short decisions. */
void sn_cache_rest(struct sn_cache *c);

/* Forget all. */
void sn_cache_flush(struct sn_cache *c);

/* Sessions on the way that have a flow as it comes, and as it leaves. NULL: none has. */
struct sn_session;
struct sn_cache_told {
	const struct sn_session *comes, *leaves;
};

/* Keep a decision, whose entry has its key. Where it is; NULL: it is kept short. replaces: some take the
 * place of others, which may have ended, even if they could be kept short. */
struct sn_cache_entry *sn_cache_keep(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
				     struct sn_cache_told told, bool replaces);

/* Room for short decisions follows the sessions that there are; once per tick. */
void sn_cache_tick(struct sn_cache *c, uint32_t sessions, uint64_t now);

/* The slot of a short decision that may be a flow's, by its tag alone; false: there is none. */
struct sn_cache_short {
	const struct sn_cache_form *form;
	const struct sn_session *session;
	const struct sn_entry *other; /* if there is one */
	uint32_t generation;	      /* of the session when it was kept */
	uint32_t others;	      /* the same of the other */
};
bool sn_cache_find_short(struct sn_cache *c, uint64_t hash, struct sn_cache_short *found);

/* The short decisions in one of sn_cache_n_shorts() buckets; how many there are. */
uint32_t sn_cache_n_shorts(const struct sn_cache *c);
uint32_t sn_cache_list_shorts(const struct sn_cache *c, uint32_t bucket,
			      struct sn_cache_short found[SN_CACHE_SHORTS]);

/* A short decision as an entry, be it the flow's or not. False: a session has ended. */
bool sn_cache_expand(const struct sn_cache *c, const struct sn_cache_short *s, struct sn_cache_entry *e);

/* Whether a packet's decision depends on nothing but its key (and on a TTL that is high enough). */
static inline bool sn_cache_eligible(const struct sn_pkt *p)
{
	if (p->frag != SN_FRAG_WHOLE)
		return false;
	if (likely(p->sport != SN_PORT_ABSENT))
		return true;
	return p->icmp_type == SN_ICMP_ECHO_REQUEST || p->icmp_type == SN_ICMP_ECHO_REPLY ||
	       (p->proto != SN_TCP && p->proto != SN_UDP && p->proto != SN_ICMP);
}

static inline uint32_t sn_cache_ingress(uint64_t ports)
{
	return (uint32_t)(ports >> 8) & UINT16_MAX;
}

/* The key of a packet as it came in. */
static inline uint64_t sn_cache_key_of(const struct sn_cache *c, const struct sn_atoms *atoms,
				       const struct sn_pkt *p, uint32_t ingress, struct sn_cache_key *key)
{
	uint32_t signature = p->vlan | (uint32_t)atoms->dscp[p->dscp & 63] << 13;
	uint16_t sport = p->sport0;

	if (p->proto == SN_TCP) {
		signature |= (uint32_t)atoms->tcp_flags[p->tcp_flags & 255] << 19;
	} else if (p->proto == SN_ICMP) {
		signature |= (uint32_t)atoms->icmp_code[p->icmp_code & 255] << 19 |
			     (uint32_t)(p->icmp_type & 8) << 27;
		sport = p->id0;
	}
	key->addresses = (uint64_t)p->src0 << 32 | p->dst0;
	key->ports = (uint64_t)sport << 48 | (uint64_t)p->dport0 << 32 | (uint32_t)p->proto << 24 |
		     ingress << 8 | c->generation;
	key->signature = signature;
	return sn_hash2(key->addresses, key->ports ^ (uint64_t)signature << 3, c->seed) & SN_CACHE_HASH_BITS;
}

/* The same of a plain frame. */
static inline uint64_t sn_cache_key_of_plain(const struct sn_cache *c, const struct sn_atoms *atoms,
					     const uint8_t *f, uint32_t ingress, struct sn_cache_key *key)
{
	uint32_t proto = f[SN_PLAIN_PROTO], tcp_flags = atoms->tcp_flags[f[SN_PLAIN_TCP_FLAGS]];

	key->addresses = sn_load64(f + SN_PLAIN_SRC);
	key->ports =
		(uint64_t)sn_load32(f + SN_PLAIN_SPORT) << 32 | proto << 24 | ingress << 8 | c->generation;
	key->signature = SN_VLAN_ABSENT | (uint32_t)atoms->dscp[f[SN_PLAIN_TOS] >> 2] << 13 |
			 sn_choose(proto == SN_TCP, tcp_flags << 19, 0);
	return sn_hash2(key->addresses, key->ports ^ (uint64_t)key->signature << 3, c->seed) &
	       SN_CACHE_HASH_BITS;
}

static inline uint32_t sn_cache_bucket(const struct sn_cache *c, uint64_t hash)
{
	return hash & c->mask;
}

static inline uint16_t sn_cache_tag(uint64_t hash)
{
	return (hash >> 48) | 1;
}

static inline void sn_cache_prefetch_tags(const struct sn_cache *c, uint64_t hash)
{
	rte_prefetch0(&c->tags[sn_cache_bucket(c, hash) * SN_CACHE_WAYS]);
	if (c->shorts.buckets)
		rte_prefetch0(&c->shorts.buckets[hash >> 16 & c->shorts.mask]);
	if (unlikely(c->before.buckets != NULL))
		rte_prefetch0(&c->before.buckets[hash >> 16 & c->before.mask]);
}

/* Bit i: way i has the tag. */
static inline uint32_t sn_cache_match(const uint16_t *tags, uint16_t tag)
{
#ifdef __SSE2__
	__m128i eq = _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)tags), _mm_set1_epi16((short)tag));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(eq, _mm_setzero_si128()));
#else
	uint32_t bits = 0;

	for (int i = 0; i < SN_CACHE_WAYS; i++)
		bits |= (uint32_t)(tags[i] == tag) << i;
	return bits;
#endif
}

/* The entry that may be the flow's, by its tag alone; NULL if there is none. */
static inline struct sn_cache_entry *sn_cache_candidate(const struct sn_cache *c, uint64_t hash)
{
	uint32_t bucket = sn_cache_bucket(c, hash);
	uint32_t ways = sn_cache_match(&c->tags[bucket * SN_CACHE_WAYS], sn_cache_tag(hash));

	return ways ? &c->entries[bucket * SN_CACHE_WAYS + (uint32_t)__builtin_ctz(ways)] : NULL;
}

/* Whether an entry is one of the cache's own; else it was built from a short decision, for one burst. */
static inline bool sn_cache_has(const struct sn_cache *c, const struct sn_cache_entry *e)
{
	return (size_t)(e - c->entries) < (size_t)(c->mask + 1) * SN_CACHE_WAYS;
}

/* Where the packets of an entry that is SN_CACHE_OBSERVED are counted; of a short decision there is no such
 * place. */
static inline struct sn_flow_cell *sn_cache_cell(const struct sn_cache *c, const struct sn_cache_entry *e)
{
	return &c->cells[e - c->entries];
}

/* Brings the cells of those among n entries whose packets are counted there; NULL among them is none. */
void sn_cache_prefetch_cells(const struct sn_cache *c, const struct sn_cache_entry *const *entries,
			     uint32_t n);

/* Whether an entry that is not there yet takes the place of none. */
static inline bool sn_cache_has_room(const struct sn_cache *c, uint64_t hash)
{
	return sn_cache_match(&c->tags[sn_cache_bucket(c, hash) * SN_CACHE_WAYS], 0) != 0;
}

/* Where an entry that is not there yet will most likely be put. */
static inline const struct sn_cache_entry *sn_cache_vacant(const struct sn_cache *c, uint64_t hash)
{
	uint32_t bucket = sn_cache_bucket(c, hash);
	uint32_t ways = sn_cache_match(&c->tags[bucket * SN_CACHE_WAYS], 0);

	return &c->entries[bucket * SN_CACHE_WAYS +
			   (ways ? (uint32_t)__builtin_ctz(ways) : c->hand % SN_CACHE_WAYS)];
}

/* Whether nothing was forgotten since the key was made. */
static inline bool sn_cache_current(const struct sn_cache *c, const struct sn_cache_key *key)
{
	return (uint8_t)key->ports == c->generation;
}

static inline bool sn_cache_is(const struct sn_cache_entry *e, const struct sn_cache_key *key)
{
	return ((e->addresses ^ key->addresses) | (e->ports_key ^ key->ports) |
		(e->signature ^ key->signature)) == 0;
}

/* An entry of state and its generation in one word: an entry lies at a multiple of
 * 64, below 2^47. */
#define SN_CACHE_GENERATION (SN_GENERATIONS - 1)

static inline uint64_t sn_cache_entry_word(const struct sn_entry *e)
{
	return (uint64_t)(uintptr_t)e << 17 | (e->generation & SN_CACHE_GENERATION);
}

static inline struct sn_entry *sn_cache_entry_of(uint64_t word)
{
	return (struct sn_entry *)(uintptr_t)(word >> 23 << 6);
}

static inline bool sn_cache_entry_same(uint64_t word, const struct sn_entry *e)
{
	return (((uint32_t)word ^ e->generation) & SN_CACHE_GENERATION) == 0;
}

#endif /* SN_CACHE_H */
