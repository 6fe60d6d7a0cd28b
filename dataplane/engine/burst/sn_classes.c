/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_classes.h"

#include "sn_flow.h"
#include "sn_segment.h"

/* The paths of k plain frames from the segment on. */
static __rte_noinline void follow(struct sn_env *env, uint32_t segment, struct sn_memo *memo,
				  const uint8_t *const *frames, uint32_t *paths, uint32_t k)
{
	const struct sn_follow *follow = &env->counts->follow;

	if (memo != NULL)
		sn_memo_lookup(memo, frames, paths, k);
	else
		sn_follow_frames(&follow->starts[segment], frames, paths, k);
	for (uint32_t i = 0; i < k; i++)
		if (likely(paths[i] < SN_PATHS_MAX) &&
		    unlikely(frames[i][SN_PLAIN_TTL] < follow->floors[paths[i]]))
			paths[i] = SN_TABLE_NONE;
}

/* The classes of k plain frames by the segment's table, or their paths. */
static void look_up(struct sn_env *env, const struct sn_segment *s, const uint8_t *const *frames,
		    uint32_t *classes, uint32_t k)
{
	uint32_t segment = (uint32_t)(s - env->program->segments);
	struct sn_memo *memo = env->counts->memos[segment];

	if (env->burst.by_path)
		follow(env, segment, memo, frames, classes, k);
	else if (memo != NULL && !s->follows.possible) /* else it has paths */
		sn_memo_lookup(memo, frames, classes, k);
	else
		sn_classifier_lookup_plain(&s->table, frames, classes, k);
}

/* The classes of the k packets of `index`, which are plain. */
static void classify_frames(struct sn_env *env, const struct sn_segment *s, const uint8_t *const *frames,
			    const uint8_t *index, uint32_t k)
{
	uint32_t found[SN_BURST_MAX];

	look_up(env, s, frames, found, k);
	for (uint32_t j = 0; j < k; j++)
		env->burst.classes[index[j]] =
			frames[j][SN_PLAIN_TTL] >= s->ttl_floor ? found[j] : SN_TABLE_NONE;
}

/* All packets are plain, and none is cached. */
static void classify_burst(struct sn_env *env, const struct sn_segment *s, uint32_t n)
{
	const uint8_t *frames[SN_BURST_MAX];
	uint32_t low = 0;

	for (uint32_t i = 0; i < n; i++) {
		frames[i] = rte_pktmbuf_mtod(env->burst.frames[i], const uint8_t *);
		low |= frames[i][SN_PLAIN_TTL] < s->ttl_floor;
	}
	look_up(env, s, frames, env->burst.classes, n);
	for (uint32_t i = 0; unlikely(low) && i < n; i++)
		if (frames[i][SN_PLAIN_TTL] < s->ttl_floor)
			env->burst.classes[i] = SN_TABLE_NONE;
}

/* Those of plain frames that are not cached and go by the table, without reading them. The others are left.
 */
static void classify_plain(struct sn_env *env, const struct sn_segment *s, uint32_t n)
{
	const uint8_t *frames[SN_BURST_MAX];
	uint8_t index[SN_BURST_MAX];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *f = rte_pktmbuf_mtod(env->burst.frames[i], const uint8_t *);

		frames[k] = f;
		index[k] = i;
		k += sn_burst_plain(&env->burst, i) & !sn_burst_known(&env->burst, i);
		env->burst.classes[i] = SN_TABLE_NONE;
	}
	if (k)
		classify_frames(env, s, frames, index, k);
}

/* The classes of the k packets of `index`, which are plain fragments, by one of the segment's tables. */
static void look_up_fragments(struct sn_env *env, const struct sn_classifier *table,
			      const uint8_t *const *frames, const uint8_t *index, uint32_t k)
{
	uint32_t found[SN_BURST_MAX];

	if (likely(table->fragments.possible)) {
		sn_classifier_lookup_fragments(table, frames, found, k);
	} else {
		for (uint32_t j = 0; j < k; j++)
			sn_burst_pkt(&env->burst, index[j]);
		sn_classifier_lookup(table, env->burst.pkts, index, found, k);
	}
	for (uint32_t j = 0; j < k; j++)
		env->burst.classes[index[j]] = found[j];
}

/* Those of plain fragments, by the table that decides. */
static __rte_noinline void classify_fragments(struct sn_env *env, const struct sn_segment *s)
{
	const uint8_t *frames[2][SN_BURST_MAX];
	uint8_t index[2][SN_BURST_MAX];
	uint32_t k[2] = {0};

	for (uint64_t left = env->burst.fragments; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		const uint8_t *f = rte_pktmbuf_mtod(env->burst.frames[i], const uint8_t *);
		bool low = s->frag_max < SN_FRAG_LATER || f[SN_PLAIN_TTL] < s->ttl_floor;

		frames[low][k[low]] = f;
		index[low][k[low]++] = (uint8_t)i;
	}
	if (k[0])
		look_up_fragments(env, &s->table, frames[0], index[0], k[0]);
	if (k[1])
		look_up_fragments(env, &s->low, frames[1], index[1], k[1]);
}

/* Those of the packets that are neither, or have to be read. */
static void classify_read(struct sn_env *env, const struct sn_segment *s, uint32_t n, uint64_t which)
{
	uint32_t found[SN_BURST_MAX], k = 0;
	uint8_t index[SN_BURST_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_pkt *p;

		if (!(which >> i & 1))
			continue;
		env->burst.classes[i] = SN_TABLE_NONE;
		if (sn_burst_known(&env->burst, i))
			continue;
		p = sn_burst_pkt(&env->burst, i);
		index[k] = i;
		k += !p->reason & (p->ttl >= s->ttl_floor) & (p->frag <= s->frag_max);
	}
	if (!k)
		return;
	sn_classifier_lookup(&s->table, env->burst.pkts, index, found, k);
	for (uint32_t j = 0; j < k; j++)
		env->burst.classes[index[j]] = found[j];
}

void sn_classes_find(struct sn_env *env, const struct sn_segment *s, uint32_t n)
{
	uint64_t all = UINT64_MAX >> (64 - n), others = all;

	if (likely(s->table.plain.possible && env->burst.plain)) {
		if (likely(!env->caching && env->burst.plain == all)) {
			classify_burst(env, s, n);
			return;
		}
		classify_plain(env, s, n);
		others &= ~env->burst.plain;
	}
	if (unlikely(env->burst.fragments)) {
		others &= ~env->burst.fragments;
		classify_fragments(env, s);
	}
	if (others)
		classify_read(env, s, n, others);
}

static struct sn_flow flow_of(const struct sn_burst *b, uint32_t i)
{
	const struct sn_pkt *p = &b->pkts[i];

	if (likely(sn_burst_plain(b, i)))
		return sn_flow_of_plain(rte_pktmbuf_mtod(b->frames[i], const uint8_t *));
	return (struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto};
}

/* Those of some packets whose classes meet the same run first as that of the first of them. */
static uint64_t alike(const struct sn_burst *b, const struct sn_class *classes, uint64_t which)
{
	uint32_t run = classes[b->classes[__builtin_ctzll(which)]].state_run;
	uint64_t same = 0;

	for (uint64_t left = which; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		same |= (uint64_t)(classes[b->classes[i]].state_run == run) << i;
	}
	return same;
}

void sn_classes_prefetch_state(struct sn_env *env, const struct sn_segment *s, uint32_t n)
{
	const struct sn_class *classes = &env->program->classes[s->first_class];
	struct sn_flow flows[SN_BURST_MAX];
	struct sn_burst *b = &env->burst;
	uint64_t which = 0, same;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_class *c;

		if (b->classes[i] == SN_TABLE_NONE)
			continue;
		c = &classes[b->classes[i]];
		if (c->state_run == SN_NO_INDEX || !sn_state_kinds[c->kind]->prefetch)
			continue;
		flows[i] = flow_of(b, i);
		which |= 1ull << i;
	}
	b->hinted |= which;
	for (uint64_t left = which; left; left &= ~same) {
		const struct sn_class *c = &classes[b->classes[__builtin_ctzll(left)]];

		same = alike(b, classes, left);
		sn_state_kinds[c->kind]->prefetch(env->state, c->state_run, flows, same, b->hints);
	}
}
