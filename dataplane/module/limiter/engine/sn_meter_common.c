/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pair of buckets for the packets of all workers. A worker takes more than a packet needs, a chunk, so
 * that few packets come to what all share; it gives back what it has not used when it asks again, or on a
 * tick.
 *
 * What workers have taken counts as being in the bucket until then: so never more than burst + rate * time
 * passes in all. What they have not used is missing to others: a packet may be measured as if there were less
 * than there is, by a chunk for each other worker, for RETURN_NS and a tick at most.
 */
#include <stdatomic.h>

#include <rte_pause.h>

#include "sn_meter_impl.h"

#define CHUNK_NS  1000000u  /* of the rate: what a chunk is, or less … */
#define SHARE	  4u	    /* … namely this part of a burst, for all workers together */
#define RETURN_NS 10000000u /* what was not used for as long goes back */
#define TRIES	  1000u	    /* then a packet goes by what its worker has */

static bool enter(struct meter_common *c)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		if (!atomic_load_explicit(&c->busy, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&c->busy, true, memory_order_acquire))
			return true;
		rte_pause();
	}
	return false;
}

static void leave(struct meter_common *c)
{
	atomic_store_explicit(&c->busy, false, memory_order_release);
}

/* After they were filled: what is used makes room from now on, not for what was over before. */
static void give_back(struct meter_common *c, struct meter_part *part)
{
	for (uint32_t i = 0; i < SN_BUCKETS; i++) {
		c->buckets.has[i] += part->pots[i].has;
		c->leased[i] -= part->pots[i].lease;
		part->pots[i].has = part->pots[i].lease = 0;
	}
}

/* Clocks of workers differ a little: the latest counts. */
static void fill(const struct meter_table *t, uint64_t now)
{
	struct meter_common *c = t->common;
	struct sn_bucket_limits limits = t->limits;

	if ((int64_t)(now - c->filled) <= 0)
		return;
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		limits.capacity[i] -= c->leased[i];
	sn_buckets_fill(&c->buckets, &limits, now - c->filled);
	c->filled = now;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The first time. */
static void set_chunks(struct meter_part *part, const struct meter_table *t, uint32_t n_workers)
{
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		part->chunk[i] = least(sn_bucket_rate(&t->limits, i) * CHUNK_NS,
				       t->limits.capacity[i] / SHARE / n_workers);
}

/* Takes what a packet needs, and what those behind it may need; of a bucket that has not enough, nothing. */
static void ask(struct sn_partition *partition, const struct meter_table *t, struct meter_part *part,
		uint64_t cost, uint64_t now)
{
	struct meter_common *c = t->common;

	if (part->asked == 0)
		set_chunks(part, t, partition->state->n_partitions);
	part->asked = now;
	if (!enter(c)) {
		part->pots[SN_COMMITTED].seen = part->pots[SN_SECOND].seen = 0;
		return;
	}
	fill(t, now);
	give_back(c, part);
	for (uint32_t i = 0; i < SN_BUCKETS; i++) {
		struct meter_pot *pot = &part->pots[i];
		uint64_t *has = &c->buckets.has[i];

		if (*has >= cost)
			pot->has = pot->lease = least(*has, most(cost, part->chunk[i]));
		*has -= pot->has;
		c->leased[i] += pot->lease;
		pot->seen = *has;
	}
	leave(c);
}

/* Whether a packet that the worker has not enough for should ask: there may be enough by now, and some of a
 * chunk. */
static bool is_worth(const struct meter_table *t, const struct meter_part *part, enum sn_bucket bucket,
		     uint64_t cost, uint64_t now)
{
	uint64_t has = part->pots[bucket].seen;

	if (part->pots[bucket].has >= cost || t->limits.capacity[bucket] < cost)
		return false;
	if (part->asked == 0)
		return true;
	sn_bucket_fill(&has, most(has, t->limits.capacity[bucket]), sn_bucket_rate(&t->limits, bucket),
		       (int64_t)(now - part->asked) > 0 ? now - part->asked : 0);
	return has >= most(cost, part->chunk[bucket] / 4);
}

static enum sn_color measure_chunks(struct sn_partition *partition, const struct meter_table *t,
				    enum sn_color came, uint64_t cost, uint64_t now)
{
	struct meter_part *part = meter_part_of(t, partition);
	struct sn_buckets own;
	enum sn_color color;

	if (came == SN_GREEN && is_worth(t, part, SN_COMMITTED, cost, now))
		ask(partition, t, part, cost, now);
	/* A green packet of RFC 2697 needs no second bucket. */
	if ((t->limits.peak_rate || came != SN_GREEN || part->pots[SN_COMMITTED].has < cost) &&
	    is_worth(t, part, SN_SECOND, cost, now))
		ask(partition, t, part, cost, now);
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		own.has[i] = part->pots[i].has;
	color = sn_buckets_take(&own, &t->limits, came, cost);
	for (uint32_t i = 0; i < SN_BUCKETS; i++)
		part->pots[i].has = own.has[i];
	return color;
}

enum sn_color sn_meter_measure_common(struct sn_partition *partition, struct meter_table *t,
				      enum sn_color came, uint64_t cost, uint64_t now)
{
	if (partition->state->n_partitions > 1)
		return measure_chunks(partition, t, came, cost, now);
	fill(t, now);
	return sn_buckets_take(&t->common->buckets, &t->limits, came, cost);
}

void sn_meter_tick(struct sn_partition *partition, struct sn_state_table *table, uint64_t now)
{
	const struct meter_table *t = (const struct meter_table *)table;
	struct meter_part *part = meter_part_of(t, partition);

	if (part->pots[SN_COMMITTED].lease + part->pots[SN_SECOND].lease == 0 ||
	    (int64_t)(now - part->asked) < (int64_t)RETURN_NS || !enter(t->common))
		return;
	fill(t, now);
	give_back(t->common, part);
	leave(t->common);
}
