/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A bucket is a cache line of four entries: key and class. An entry whose bucket is full lies in the other of
 * a pair of buckets. All keys of a bulk are made first, and their lines asked for; those that are not known
 * are classified together.
 *
 * Traffic is judged by windows of packets. A memo that misses too often in several windows on end pauses, and
 * longer from time to time: a trial costs little beside a pause.
 */

#include <stdlib.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "sn_hash.h"
#include "sn_huge.h"
#include "sn_memo.h"
#include "sn_plain.h"

#define WAYS	    4u
#define BUCKETS	    32768u /* a power of two: 2 MiB, one huge page */
#define BULK_MAX    64u
#define WINDOW	    65536u /* packets */
#define TRIAL	    3u	   /* windows on end that miss too often, before a pause */
#define MISSES	    4u	   /* too often: more than every fourth packet */
#define PAUSE_MIN   (64ull * WINDOW)
#define PAUSE_MAX   (4096ull * WINDOW)
#define RARELY	    8u /* while it serves, every eighth packet that finds no room takes another's */
#define CLASS_SHIFT 48
#define KEY_BITS    ((1ull << CLASS_SHIFT) - 1)

/* The second word of a key: ports, 2 bits and the DSCP's atom, the atom of the TCP flags, (class). */
#define PORTS	    0xffffffffull
#define DSCP_SHIFT  32
#define TCP_BIT	    (1ull << 38)
#define USED_BIT    (1ull << 39) /* no key is 0 */
#define FLAGS_SHIFT 40

struct key {
	uint64_t addresses;
	uint64_t rest;
};

struct bucket {
	uint64_t addresses[WAYS];
	uint64_t rest[WAYS]; /* and the class from CLASS_SHIFT on; 0: free */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

struct sn_memo {
	const struct sn_classifier *classifier;
	const struct sn_atoms *atoms;
	struct bucket *buckets;
	struct key reads; /* the bits of keys that the classifier reads */
	uint64_t seed;
	uint64_t pausing; /* packets to come until the next trial */
	uint64_t pause;	  /* how many the next pause has */
	uint32_t seen;	  /* of this window */
	uint32_t missed;
	uint32_t bad_windows; /* on end */
	uint32_t turn;
} __attribute__((aligned(64)));

#define FITS                                                                                              \
	(1u << SN_SRC | 1u << SN_DST | 1u << SN_SPORT | 1u << SN_DPORT | 1u << SN_PROTO | 1u << SN_DSCP | \
	 1u << SN_TCP_FLAGS)
/* The same in all plain frames. */
#define FIXED (1u << SN_VLAN | 1u << SN_FRAG | 1u << SN_ICMP_TYPE | 1u << SN_ICMP_CODE)

bool sn_memo_is_use(const struct sn_classifier *c)
{
	return c->table != NULL && sn_table_is_slow(c->table) && c->plain.possible &&
	       !(c->reads & ~(FITS | FIXED));
}

static bool reads(const struct sn_classifier *c, enum sn_field field)
{
	return c->reads >> field & 1;
}

/* As a frame of ones would give. */
static struct key read_bits(const struct sn_classifier *c)
{
	uint8_t addresses[8] = {0}, ports[4] = {0};
	struct key k;

	if (reads(c, SN_SRC))
		memset(addresses, 0xff, 4);
	if (reads(c, SN_DST))
		memset(addresses + 4, 0xff, 4);
	if (reads(c, SN_SPORT))
		memset(ports, 0xff, 2);
	if (reads(c, SN_DPORT))
		memset(ports + 2, 0xff, 2);
	k.addresses = sn_load64(addresses);
	k.rest = USED_BIT | sn_load32(ports);
	if (reads(c, SN_PROTO) || reads(c, SN_TCP_FLAGS))
		k.rest |= TCP_BIT;
	if (reads(c, SN_DSCP))
		k.rest |= 63ull << DSCP_SHIFT;
	if (reads(c, SN_TCP_FLAGS))
		k.rest |= 255ull << FLAGS_SHIFT;
	return k;
}

struct sn_memo *sn_memo_create(const struct sn_classifier *c, const struct sn_atoms *atoms)
{
	struct sn_memo *memo = aligned_alloc(64, sizeof(*memo));

	if (memo == NULL)
		return NULL;
	*memo = (struct sn_memo){.classifier = c, .atoms = atoms, .reads = read_bits(c), .pause = PAUSE_MIN};
	memo->buckets = sn_huge_alloc(BUCKETS * sizeof(*memo->buckets));
	if (memo->buckets == NULL) {
		free(memo);
		return NULL;
	}
	memo->seed = 0xe7037ed1a0b428dbull ^ (uintptr_t)memo->buckets;
	memset(memo->buckets, 0, BUCKETS * sizeof(*memo->buckets)); /* which no packet has to wait for */
	return memo;
}

void sn_memo_free(struct sn_memo *memo)
{
	if (memo == NULL)
		return;
	free(memo->buckets);
	free(memo);
}

bool sn_memo_is_on(const struct sn_memo *memo)
{
	return memo->pausing == 0;
}

static inline struct key key_of(const struct sn_memo *memo, const uint8_t *f)
{
	const struct sn_atoms *atoms = memo->atoms;
	bool tcp = f[SN_PLAIN_PROTO] == SN_TCP;
	uint64_t of_tcp = TCP_BIT | (uint64_t)atoms->tcp_flags[f[SN_PLAIN_TCP_FLAGS]] << FLAGS_SHIFT;
	uint64_t rest = USED_BIT | sn_load32(f + SN_PLAIN_SPORT) |
			(uint64_t)(atoms->dscp[f[SN_PLAIN_TOS] >> 2] & 63) << DSCP_SHIFT |
			(of_tcp & -(uint64_t)tcp);

	return (struct key){sn_load64(f + SN_PLAIN_SRC) & memo->reads.addresses, rest & memo->reads.rest};
}

static inline uint32_t home_of(const struct sn_memo *memo, struct key k)
{
	return sn_mum(k.addresses ^ memo->seed, k.rest ^ 0x9e3779b97f4a7c15ull) & (BUCKETS - 1);
}

/* Bit per way: it has the key. */
static inline uint32_t ways_of(const struct bucket *b, struct key k)
{
#ifdef __AVX2__
	const __m256i *addresses = (const __m256i *)b->addresses, *rest = (const __m256i *)b->rest;
	__m256i first =
		_mm256_cmpeq_epi64(_mm256_load_si256(addresses), _mm256_set1_epi64x((long long)k.addresses));
	__m256i second = _mm256_cmpeq_epi64(
		_mm256_and_si256(_mm256_load_si256(rest), _mm256_set1_epi64x((long long)KEY_BITS)),
		_mm256_set1_epi64x((long long)k.rest));

	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_and_si256(first, second)));
#else
	uint32_t ways = 0;

	for (uint32_t i = 0; i < WAYS; i++)
		ways |= (uint32_t)((b->addresses[i] == k.addresses) & ((b->rest[i] & KEY_BITS) == k.rest))
			<< i;
	return ways;
#endif
}

/* Of the first way in `ways`; whatever if there is none. */
static inline uint32_t class_in(const struct bucket *b, uint32_t ways)
{
	return (uint32_t)(b->rest[__builtin_ctz(ways | 1u << (WAYS - 1))] >> CLASS_SHIFT);
}

static bool put_if_free(struct bucket *b, struct key k, uint64_t class)
{
	for (uint32_t i = 0; i < WAYS; i++) {
		if (b->rest[i] != 0)
			continue;
		b->addresses[i] = k.addresses;
		b->rest[i] = k.rest | class << CLASS_SHIFT;
		return true;
	}
	return false;
}

/*
 * Where there is no room another entry goes. While the memo serves, seldom: or flows that come in turn, a few
 * more than there is room for, would all be gone whenever they come.
 */
static void put(struct sn_memo *memo, uint32_t home, struct key k, uint64_t class)
{
	struct bucket *b = &memo->buckets[home];
	uint32_t way;

	if (class >> (64 - CLASS_SHIFT) || put_if_free(b, k, class) ||
	    put_if_free(&memo->buckets[home ^ 1], k, class))
		return;
	memo->turn++;
	if (memo->bad_windows == 0 && memo->turn % RARELY != 0)
		return;
	way = memo->turn / RARELY % WAYS;
	b->addresses[way] = k.addresses;
	b->rest[way] = k.rest | class << CLASS_SHIFT;
}

/* The k frames of `index` are not in their buckets. How many were in none. */
static uint32_t find_missed(struct sn_memo *memo, const uint8_t *const *frames, const struct key *keys,
			    const uint32_t *homes, const uint8_t *index, uint32_t *classes, uint32_t k)
{
	const uint8_t *unknown[BULK_MAX];
	uint32_t found[BULK_MAX], left = 0;
	uint8_t at[BULK_MAX];

	for (uint32_t j = 0; j < k; j++) {
		uint32_t i = index[j];
		const struct bucket *other = &memo->buckets[homes[i] ^ 1];
		uint32_t ways = ways_of(other, keys[i]);

		classes[i] = class_in(other, ways);
		unknown[left] = frames[i];
		at[left] = (uint8_t)i;
		left += ways == 0;
	}
	if (left == 0)
		return 0;
	sn_classifier_lookup_plain(memo->classifier, unknown, found, left);
	for (uint32_t j = 0; j < left; j++) {
		classes[at[j]] = found[j];
		put(memo, homes[at[j]], keys[at[j]], found[j]);
	}
	return left;
}

/* A window is over. */
static void judge(struct sn_memo *memo)
{
	if (memo->missed <= memo->seen / MISSES) {
		memo->bad_windows = 0;
		memo->pause = PAUSE_MIN;
	} else if (++memo->bad_windows == TRIAL) {
		memo->pausing = memo->pause;
		memo->pause = 2 * memo->pause < PAUSE_MAX ? 2 * memo->pause : PAUSE_MAX;
		memo->bad_windows = 0;
	}
	memo->seen = memo->missed = 0;
}

void sn_memo_lookup(struct sn_memo *memo, const uint8_t *const *frames, uint32_t *classes, unsigned int n)
{
	struct key keys[BULK_MAX];
	uint32_t homes[BULK_MAX], k = 0;
	uint8_t index[BULK_MAX];

	if (memo->pausing > 0) {
		memo->pausing -= memo->pausing < n ? memo->pausing : n;
		sn_classifier_lookup_plain(memo->classifier, frames, classes, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		keys[i] = key_of(memo, frames[i]);
		homes[i] = home_of(memo, keys[i]);
		__builtin_prefetch(&memo->buckets[homes[i]]);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct bucket *b = &memo->buckets[homes[i]];
		uint32_t ways = ways_of(b, keys[i]);

		classes[i] = class_in(b, ways);
		index[k] = (uint8_t)i;
		k += ways == 0;
	}
	if (k > 0)
		memo->missed += find_missed(memo, frames, keys, homes, index, classes, k);
	memo->seen += n;
	if (memo->seen >= WINDOW)
		judge(memo);
}
