/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A bucket is a cache line of four entries: key and class. An entry whose bucket is full lies in the other of
 * a pair of buckets. All keys of a bulk are made first, and their lines asked for; those that are not known
 * are classified together.
 *
 * Traffic is judged by windows of packets. A memo that misses too often in several windows on end looks
 * whether more room would help: it remembers every 16th header only, as if it had 16 times the room. If these
 * recur it grows, else it pauses, and longer from time to time: a trial costs little beside a pause.
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

#define WAYS	     4u
#define BUCKETS	     32768u /* at first, a power of two: 2 MiB, one huge page */
#define BUCKETS_MAX  (16u * BUCKETS)
#define BULK_MAX     64u
#define WINDOW	     65536u	  /* packets */
#define TRIAL	     3u		  /* windows on end that miss too often, before something is done */
#define TRIAL_GROWN  32u	  /* the same after growth: all flows have to come by once */
#define MISSES	     4u		  /* too often: more than every fourth packet */
#define SAMPLED	     16u	  /* headers of which one is remembered while it is sampling */
#define WINDOW_SMALL (WINDOW / 4) /* of sampled packets */
#define TRIAL_SAMPLE 12u
#define CLEARED	     1024u /* buckets per look-up, so that no packet waits long for it */
#define PAUSE_MIN    (64ull * WINDOW)
#define PAUSE_MAX    (4096ull * WINDOW)
#define RARELY	     8u /* while it serves, every eighth packet that finds no room takes another's */
#define CLASS_SHIFT  48
#define KEY_BITS     ((1ull << CLASS_SHIFT) - 1)

/* The second word of a key: ports, the DSCP's atom, 2 bits, the atom of the TCP flags, (class). */
#define DSCP_SHIFT  32
#define TCP_BIT	    (1ull << 38)
#define USED_BIT    (1ull << 39) /* no key is 0 */
#define FLAGS_SHIFT 40
#define NOT_TCP	    256u /* in place of flags */

struct key {
	uint64_t addresses;
	uint64_t rest;
};

struct bucket {
	uint64_t addresses[WAYS];
	uint64_t rest[WAYS]; /* and the class from CLASS_SHIFT on; 0: free */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

enum mode {
	ASKED,
	SAMPLING,
	CLEARING, /* larger memory, before its use */
	PAUSING,
};

/* How much of frames goes into keys. */
enum reading {
	READS_ADDRESSES,
	READS_PORTS, /* and the protocol, and TCP flags */
	READS_DSCP,  /* too */
};

struct sn_memo {
	struct sn_memo_source source;
	struct bucket *buckets; /* in use: `first` or `larger` */
	uint32_t mask;		/* their number - 1 */
	enum mode mode;
	struct key reads; /* the bits of addresses and ports that the source reads */
	enum reading reading;
	uint64_t seed;
	uint64_t pausing; /* packets to come until the next trial */
	uint64_t pause;	  /* how many the next pause has */
	uint32_t seen;	  /* of this window */
	uint32_t missed;
	uint32_t bad_windows; /* on end */
	uint32_t turn;
	uint32_t sampled; /* headers that were new while sampling */
	struct bucket *first;
	struct bucket *larger; /* NULL: not grown */
	uint32_t n_larger;
	uint32_t n_cleared; /* of them */
	/* The rest of the second word. */
	uint16_t by_flags[NOT_TCP + 1]; /* from DSCP_SHIFT on */
	uint8_t by_dscp[64];
} __attribute__((aligned(64)));

#define FITS                                                                                              \
	(1u << SN_SRC | 1u << SN_DST | 1u << SN_SPORT | 1u << SN_DPORT | 1u << SN_PROTO | 1u << SN_DSCP | \
	 1u << SN_TCP_FLAGS)
/* The same in all plain frames. */
#define FIXED (1u << SN_VLAN | 1u << SN_FRAG | 1u << SN_ICMP_TYPE | 1u << SN_ICMP_CODE)

static void look_up_class(const void *of, const uint8_t *const *frames, uint32_t *classes, unsigned int n)
{
	sn_classifier_lookup_plain(of, frames, classes, n);
}

struct sn_memo_source sn_memo_source_of(const struct sn_classifier *c)
{
	return (struct sn_memo_source){
		.look_up = look_up_class,
		.of = c,
		.reads = c->reads,
		.slow = c->table != NULL && sn_table_is_slow(c->table) && c->plain.possible,
	};
}

bool sn_memo_is_use(const struct sn_memo_source *source)
{
	return source->slow && !(source->reads & ~(FITS | FIXED));
}

static bool reads(const struct sn_memo_source *source, enum sn_field field)
{
	return source->reads >> field & 1;
}

static uint64_t mask_of(const struct sn_memo_source *source, enum sn_field first, enum sn_field second,
			size_t len)
{
	uint8_t ones[16] = {0};
	uint64_t mask = 0;

	if (reads(source, first))
		memset(ones, 0xff, len);
	if (reads(source, second))
		memset(ones + len, 0xff, len);
	memcpy(&mask, ones, 2 * len);
	return mask;
}

/* The fields that the source reads of frames, and how a key tells it. */
static void init_reading(struct sn_memo *memo, const struct sn_atoms *atoms)
{
	const struct sn_memo_source *source = &memo->source;

	memo->reads.addresses = mask_of(source, SN_SRC, SN_DST, 4);
	memo->reads.rest = mask_of(source, SN_SPORT, SN_DPORT, 2);
	memo->reading = reads(source, SN_DSCP)					 ? READS_DSCP
			: source->reads & ~(1u << SN_SRC | 1u << SN_DST | FIXED) ? READS_PORTS
										 : READS_ADDRESSES;
	for (uint32_t i = 0; i < 64; i++)
		memo->by_dscp[i] = atoms->dscp[i] & 63;
	for (uint32_t i = 0; i <= NOT_TCP; i++) {
		if (i != NOT_TCP && (reads(source, SN_PROTO) || reads(source, SN_TCP_FLAGS)))
			memo->by_flags[i] |= TCP_BIT >> DSCP_SHIFT;
		if (i != NOT_TCP && reads(source, SN_TCP_FLAGS))
			memo->by_flags[i] |= (uint16_t)(atoms->tcp_flags[i] << (FLAGS_SHIFT - DSCP_SHIFT));
	}
}

struct sn_memo *sn_memo_create(const struct sn_memo_source *source, const struct sn_atoms *atoms)
{
	struct sn_memo *memo = aligned_alloc(64, sizeof(*memo));

	if (memo == NULL)
		return NULL;
	*memo = (struct sn_memo){.source = *source, .mask = BUCKETS - 1, .pause = PAUSE_MIN};
	init_reading(memo, atoms);
	memo->buckets = memo->first = sn_huge_alloc(BUCKETS * sizeof(*memo->first));
	if (memo->first == NULL) {
		free(memo);
		return NULL;
	}
	memo->seed = 0xe7037ed1a0b428dbull ^ (uintptr_t)memo->first;
	memset(memo->first, 0, BUCKETS * sizeof(*memo->first)); /* which no packet has to wait for */
	return memo;
}

void sn_memo_free(struct sn_memo *memo)
{
	if (memo == NULL)
		return;
	free(memo->first);
	free(memo->larger);
	free(memo);
}

bool sn_memo_is_on(const struct sn_memo *memo)
{
	return memo->mode == ASKED;
}

size_t sn_memo_size(const struct sn_memo *memo)
{
	size_t n = BUCKETS + (memo->larger != NULL ? memo->n_larger : 0);

	return sizeof(*memo) + n * sizeof(*memo->first);
}

/* ---- keys and buckets ---- */

static __attribute__((always_inline)) inline struct key key_of(const struct sn_memo *memo, const uint8_t *f,
							       enum reading reading)
{
	uint32_t flags, ports;
	struct key k;

	memcpy(&k.addresses, f + SN_PLAIN_SRC, sizeof(k.addresses));
	k.addresses &= memo->reads.addresses;
	k.rest = USED_BIT;
	if (reading == READS_ADDRESSES)
		return k;
	flags = sn_choose(f[SN_PLAIN_PROTO] == SN_TCP, f[SN_PLAIN_TCP_FLAGS], NOT_TCP);
	memcpy(&ports, f + SN_PLAIN_SPORT, sizeof(ports));
	k.rest |= (ports & memo->reads.rest) | (uint64_t)memo->by_flags[flags] << DSCP_SHIFT;
	if (reading == READS_DSCP)
		k.rest |= (uint64_t)memo->by_dscp[f[SN_PLAIN_TOS] >> 2] << DSCP_SHIFT;
	return k;
}

static inline uint64_t hash_of(const struct sn_memo *memo, struct key k)
{
	return sn_mum(k.addresses ^ memo->seed, k.rest ^ 0x9e3779b97f4a7c15ull);
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

/* The class of the first way in `ways`; whatever if there is none. */
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
	if (memo->mode == ASKED && memo->bad_windows == 0 && memo->turn % RARELY != 0)
		return;
	way = memo->turn / RARELY % WAYS;
	b->addresses[way] = k.addresses;
	b->rest[way] = k.rest | class << CLASS_SHIFT;
}

/* ---- whether it is worth its cost ---- */

static void set_mode(struct sn_memo *memo, enum mode mode)
{
	memo->mode = mode;
	memo->seen = memo->missed = memo->bad_windows = 0;
}

static void shrink(struct sn_memo *memo)
{
	memo->buckets = memo->first;
	memo->mask = BUCKETS - 1;
	free(memo->larger);
	memo->larger = NULL;
}

static void begin_pause(struct sn_memo *memo)
{
	memo->pausing = memo->pause;
	memo->pause = 2 * memo->pause < PAUSE_MAX ? 2 * memo->pause : PAUSE_MAX;
	set_mode(memo, PAUSING);
}

/* Room for twice the headers that there are, by those of the sample. */
static void begin_growth(struct sn_memo *memo)
{
	uint32_t n = 2 * BUCKETS;

	while (n < BUCKETS_MAX && n * WAYS < 2 * SAMPLED * memo->sampled)
		n *= 2;
	memo->larger = sn_huge_alloc(n * sizeof(*memo->larger));
	if (memo->larger == NULL) {
		begin_pause(memo);
		return;
	}
	memo->n_larger = n;
	memo->n_cleared = 0;
	set_mode(memo, CLEARING);
}

/* Some of the larger memory; when all is clear it is used. */
static void clear(struct sn_memo *memo)
{
	memset(&memo->larger[memo->n_cleared], 0, CLEARED * sizeof(*memo->larger));
	memo->n_cleared += CLEARED;
	if (memo->n_cleared < memo->n_larger)
		return;
	memo->buckets = memo->larger;
	memo->mask = memo->n_larger - 1;
	set_mode(memo, ASKED);
}

/* A window is over, of which too many packets were not known; for the how manieth time on end. */
static void judge_bad(struct sn_memo *memo)
{
	memo->bad_windows++;
	if (memo->mode == SAMPLING) {
		if (memo->bad_windows == TRIAL_SAMPLE)
			begin_pause(memo);
	} else if (memo->larger != NULL) {
		if (memo->bad_windows < TRIAL_GROWN)
			return;
		shrink(memo);
		begin_pause(memo);
	} else if (memo->bad_windows == TRIAL) {
		set_mode(memo, SAMPLING);
		memo->sampled = 0;
	}
}

static void judge(struct sn_memo *memo)
{
	bool good = memo->missed <= memo->seen / MISSES;

	memo->seen = memo->missed = 0;
	if (!good) {
		judge_bad(memo);
		return;
	}
	memo->bad_windows = 0;
	memo->pause = PAUSE_MIN;
	if (memo->mode == SAMPLING)
		begin_growth(memo);
}

/* ---- look-ups ---- */

/* The keys of a bulk, in columns: so that no compiler puts both words of a key into one vector, only to take
 * the words out again. */
struct keys {
	uint64_t addresses[BULK_MAX];
	uint64_t rest[BULK_MAX];
	uint32_t homes[BULK_MAX];
};

static inline struct key key_in(const struct keys *keys, uint32_t i)
{
	return (struct key){keys->addresses[i], keys->rest[i]};
}

static inline __attribute__((always_inline)) void make_keys(const struct sn_memo *memo,
							    const uint8_t *const *frames, struct keys *keys,
							    unsigned int n, enum reading reading)
{
	for (uint32_t i = 0; i < n; i++) {
		struct key k = key_of(memo, frames[i], reading);
		uint32_t home = hash_of(memo, k) & memo->mask;

		__builtin_prefetch(&memo->buckets[home]);
		keys->addresses[i] = k.addresses;
		keys->rest[i] = k.rest;
		keys->homes[i] = home;
	}
}

/* The k frames of `index` are not in their buckets. How many were in none. */
static uint32_t find_missed(struct sn_memo *memo, const uint8_t *const *frames, const struct keys *keys,
			    const uint8_t *index, uint32_t *classes, uint32_t k)
{
	const uint8_t *unknown[BULK_MAX];
	uint32_t found[BULK_MAX], left = 0;
	uint8_t at[BULK_MAX];

	for (uint32_t j = 0; j < k; j++) {
		uint32_t i = index[j];
		const struct bucket *other = &memo->buckets[keys->homes[i] ^ 1];
		uint32_t ways = ways_of(other, key_in(keys, i));

		classes[i] = class_in(other, ways);
		unknown[left] = frames[i];
		at[left] = (uint8_t)i;
		left += ways == 0;
	}
	if (left == 0)
		return 0;
	memo->source.look_up(memo->source.of, unknown, found, left);
	for (uint32_t j = 0; j < left; j++) {
		classes[at[j]] = found[j];
		put(memo, keys->homes[at[j]], key_in(keys, at[j]), found[j]);
	}
	return left;
}

/* One header of SAMPLED, always the same ones. A product tells it: nearly all packets are told no more. */
static uint32_t pick(const struct sn_memo *memo, const uint8_t *const *frames, uint8_t *index, unsigned int n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t addresses;
		uint32_t ports;

		memcpy(&addresses, frames[i] + SN_PLAIN_SRC, sizeof(addresses));
		memcpy(&ports, frames[i] + SN_PLAIN_SPORT, sizeof(ports));
		addresses &= memo->reads.addresses;
		addresses ^= (ports & memo->reads.rest) * 0xd6e8feb86659fd93ull;
		index[k] = (uint8_t)i;
		k += ((addresses ^ memo->seed) * 0x9e3779b97f4a7c15ull) >> 32 < UINT32_MAX / SAMPLED;
	}
	return k;
}

/* Packets go by the source, and some are remembered. Their lines come while the source looks. */
static void look_up_sampling(struct sn_memo *memo, const uint8_t *const *frames, uint32_t *classes,
			     unsigned int n)
{
	const uint8_t *picked[BULK_MAX];
	uint8_t index[BULK_MAX];
	struct keys keys;
	uint32_t k = pick(memo, frames, index, n);

	for (uint32_t j = 0; j < k; j++)
		picked[j] = frames[index[j]];
	make_keys(memo, picked, &keys, k, memo->reading);
	for (uint32_t j = 0; j < k; j++)
		__builtin_prefetch(&memo->buckets[keys.homes[j] ^ 1]);
	memo->source.look_up(memo->source.of, frames, classes, n);
	for (uint32_t j = 0; j < k; j++) {
		struct key key = key_in(&keys, j);
		uint32_t home = keys.homes[j];

		if (ways_of(&memo->buckets[home], key) | ways_of(&memo->buckets[home ^ 1], key))
			continue;
		put(memo, home, key, classes[index[j]]);
		memo->missed++;
		memo->sampled++;
	}
	memo->seen += k;
	if (memo->seen >= WINDOW_SMALL)
		judge(memo);
}

/* Packets go by the source, and something is done besides. */
static __attribute__((noinline)) void look_up_aside(struct sn_memo *memo, const uint8_t *const *frames,
						    uint32_t *classes, unsigned int n)
{
	if (memo->mode == SAMPLING) {
		look_up_sampling(memo, frames, classes, n);
		return;
	}
	memo->source.look_up(memo->source.of, frames, classes, n);
	if (memo->mode == CLEARING) {
		clear(memo);
	} else if (memo->pausing > n) {
		memo->pausing -= n;
	} else {
		set_mode(memo, ASKED);
		memo->bad_windows = 1; /* what is there is old */
	}
}

void sn_memo_lookup(struct sn_memo *memo, const uint8_t *const *frames, uint32_t *classes, unsigned int n)
{
	struct bucket *buckets = memo->buckets;
	uint8_t index[BULK_MAX];
	struct keys keys;
	uint32_t k = 0;

	if (memo->mode != ASKED) {
		look_up_aside(memo, frames, classes, n);
		return;
	}
	if (memo->reading == READS_ADDRESSES)
		make_keys(memo, frames, &keys, n, READS_ADDRESSES);
	else if (memo->reading == READS_PORTS)
		make_keys(memo, frames, &keys, n, READS_PORTS);
	else
		make_keys(memo, frames, &keys, n, READS_DSCP);
	for (uint32_t i = 0; i < n; i++) {
		const struct bucket *b = &buckets[keys.homes[i]];
		uint32_t ways = ways_of(b, key_in(&keys, i));

		classes[i] = class_in(b, ways);
		index[k] = (uint8_t)i;
		k += ways == 0;
	}
	if (k > 0)
		memo->missed += find_missed(memo, frames, &keys, index, classes, k);
	memo->seen += n;
	if (memo->seen >= WINDOW)
		judge(memo);
}
