/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_transfer.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_log.h"

#define SN_REMEMBERED 256 /* transfers whose end may still be asked for */

/* Ids, the oldest overwritten. */
struct memory {
	uint8_t ids[SN_REMEMBERED][SN_TRANSFER_ID];
	uint64_t n;
};

struct sn_transfers {
	struct sn_transfers_config with;
	struct sn_transfer all[SN_TRANSFERS_MAX];
	struct memory committed;
	struct memory given_up; /* at the taker, by who may have committed else */
	struct memory moot;	/* given, until a program came that knows none of their units */
};

struct sn_transfers *sn_transfers_create(const struct sn_transfers_config *config)
{
	struct sn_transfers *transfers = calloc(1, sizeof(*transfers));

	if (transfers != NULL)
		transfers->with = *config;
	return transfers;
}

void sn_transfers_free(struct sn_transfers *transfers)
{
	free(transfers);
}

/* ---- which transfers there are ---- */

static struct sn_transfer *find(struct sn_transfers *transfers, const uint8_t *id, bool take)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &transfers->all[i];

		if (t->open && t->take == take && memcmp(t->id, id, SN_TRANSFER_ID) == 0)
			return t;
	}
	return NULL;
}

static bool knows(const struct memory *m, const uint8_t *id)
{
	uint64_t n = RTE_MIN(m->n, (uint64_t)SN_REMEMBERED);

	for (uint64_t i = 0; i < n; i++)
		if (memcmp(m->ids[i], id, SN_TRANSFER_ID) == 0)
			return true;
	return false;
}

static void remember(struct memory *m, const uint8_t *id)
{
	memcpy(m->ids[m->n++ % SN_REMEMBERED], id, SN_TRANSFER_ID);
}

static bool is_committed(const struct sn_transfers *transfers, const uint8_t *id)
{
	return knows(&transfers->committed, id);
}

const struct sn_transfer *sn_transfer_of(const struct sn_transfers *transfers, uint32_t shard)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		const struct sn_transfer *t = &transfers->all[i];

		if (t->open && t->shards[shard])
			return t;
	}
	return NULL;
}

bool sn_transfers_open(const struct sn_transfers *transfers)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++)
		if (transfers->all[i].open)
			return true;
	return false;
}

/* ---- what is asked ---- */

static int check_engine(const struct sn_transfers *transfers, struct sn_error *err)
{
	uint32_t moving = sn_shards_moving(transfers->with.shards);

	if (!sn_threads_keep_state(transfers->with.threads))
		return sn_fail(err, "the engine runs no program that keeps state");
	if (moving != SN_NO_SHARD)
		return sn_fail(err, "shard %u is being moved between workers", moving);
	return 0;
}

/* A new transfer of units that are where it begins. */
static struct sn_transfer *open_transfer(struct sn_transfers *transfers,
					 const struct sn_transfer_order *order, bool take,
					 struct sn_error *err)
{
	enum sn_shard_place from = take ? SN_SHARD_AWAY : SN_SHARD_HERE, place;
	struct sn_transfer *t = NULL;
	bool shards[SN_SHARDS];

	if (check_engine(transfers, err) != 0 ||
	    sn_shards_mark(transfers->with.shards, order->units, order->n_units, shards, err) != 0)
		return NULL;
	if (order->n_units == 0 || strlen(order->peer) >= SN_PEER_NAME) {
		sn_fail(err, "%zu shards and peer \"%.64s\", want a shard and a name of at most %d bytes",
			order->n_units, order->peer, SN_PEER_NAME - 1);
		return NULL;
	}
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		place = sn_state_place(transfers->with.state, i);
		if (shards[i] && place != from) {
			sn_fail(err, "shard %u is %s, want one that is %s", i, sn_shards_place_name(place),
				sn_shards_place_name(from));
			return NULL;
		}
	}
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX && t == NULL; i++)
		if (!transfers->all[i].open)
			t = &transfers->all[i];
	if (t == NULL) {
		sn_fail(err, "%d transfers are under way, which is the most at a time", SN_TRANSFERS_MAX);
		return NULL;
	}
	if (sn_shards_ready(transfers->with.shards) != 0) {
		sn_fail(err, "no memory for packets that wait");
		return NULL;
	}
	*t = (struct sn_transfer){
		.open = true, .take = take, .began_ns = sn_threads_now(transfers->with.threads)};
	memcpy(t->id, order->id, sizeof(t->id));
	memcpy(t->shards, shards, sizeof(t->shards));
	snprintf(t->peer, sizeof(t->peer), "%s", order->peer);
	t->step_ns = t->began_ns;
	return t;
}

/* One that is known, whose lease is renewed. */
static struct sn_transfer *step(struct sn_transfers *transfers, const uint8_t *id, bool take,
				struct sn_error *err)
{
	struct sn_transfer *t = find(transfers, id, take);

	if (t == NULL) {
		sn_fail(err, is_committed(transfers, id) ? "the transfer is committed"
							 : "the transfer is not known, or ended");
		return NULL;
	}
	t->step_ns = sn_threads_now(transfers->with.threads);
	return t;
}

static void put(struct sn_transfers *transfers, const struct sn_transfer *t, enum sn_shard_place place)
{
	sn_threads_hold(transfers->with.threads);
	sn_shards_put(transfers->with.shards, t->shards, place);
	sn_threads_release(transfers->with.threads);
}

/* The sessions of a transfer are no longer here. */
static void forget(struct sn_transfers *transfers, const struct sn_transfer *t)
{
	sn_carry_forget(transfers->with.state, t->shards);
	sn_threads_hold(transfers->with.threads);
	sn_state_level(transfers->with.state);
	sn_threads_release(transfers->with.threads);
}

/* ---- the giver ---- */

int sn_give_begin(struct sn_transfers *transfers, const struct sn_transfer_order *order, struct sn_error *err)
{
	struct sn_transfer *t = find(transfers, order->id, false);

	if (t != NULL)
		return 0;
	if (is_committed(transfers, order->id))
		return sn_fail(err, "the transfer is committed");
	t = open_transfer(transfers, order, false, err);
	if (t == NULL)
		return -1;
	put(transfers, t, SN_SHARD_GIVING);
	t->still_ns = sn_threads_now(transfers->with.threads);
	return 0;
}

int sn_give_read(struct sn_transfers *transfers, const uint8_t *id, uint64_t *cursor, uint8_t *out,
		 size_t max, size_t *n, struct sn_error *err)
{
	struct sn_transfer *t = step(transfers, id, false, err);

	if (t == NULL)
		return -1;
	*n = sn_carry_read(transfers->with.state, t->shards, cursor, t->still_ns, out, max);
	return 0;
}

int sn_give_seal(struct sn_transfers *transfers, const uint8_t *id, struct sn_error *err)
{
	struct sn_transfer *t = step(transfers, id, false, err);

	if (t == NULL)
		return -1;
	t->sealed = true;
	return 0;
}

int sn_give_commit(struct sn_transfers *transfers, const uint8_t *id, uint64_t *blocked_ns,
		   struct sn_error *err)
{
	struct sn_transfer *t = find(transfers, id, false);

	*blocked_ns = 0;
	if (t == NULL && (is_committed(transfers, id) || knows(&transfers->moot, id)))
		return 0;
	t = step(transfers, id, false, err);
	if (t == NULL)
		return -1;
	if (!t->sealed)
		return sn_fail(err, "the transfer is not sealed: it may have ended at the peer");
	sn_threads_hold(transfers->with.threads);
	sn_peering_give(transfers->with.peering, t->shards, t->peer);
	sn_shards_put(transfers->with.shards, t->shards, SN_SHARD_AWAY);
	sn_threads_release(transfers->with.threads);
	*blocked_ns = sn_threads_now(transfers->with.threads) - t->began_ns;
	forget(transfers, t);
	remember(&transfers->committed, id);
	t->open = false;
	return 0;
}

static void thaw(struct sn_transfers *transfers, struct sn_transfer *t)
{
	put(transfers, t, SN_SHARD_HERE);
	t->open = false;
}

int sn_give_abort(struct sn_transfers *transfers, const uint8_t *id, uint64_t *blocked_ns,
		  struct sn_error *err)
{
	struct sn_transfer *t = find(transfers, id, false);

	*blocked_ns = 0;
	if (t == NULL && is_committed(transfers, id))
		return sn_fail(err, "the transfer is committed");
	if (t == NULL)
		return 0;
	*blocked_ns = sn_threads_now(transfers->with.threads) - t->began_ns;
	thaw(transfers, t);
	return 0;
}

/* ---- the taker ---- */

static struct sn_taken taken_of(const struct sn_transfer *t)
{
	return (struct sn_taken){.sequence = t->sequence, .count = t->count};
}

static void print_partitioning(char *to, size_t size, struct sn_partitioning partitioning, bool by_ends)
{
	const char *ends = by_ends ? ", by ends" : "";

	switch (partitioning.by) {
	case SN_PARTITION_BY_HOST:
		snprintf(to, size, "host%s", ends);
		break;
	case SN_PARTITION_BY_ADDRESS:
		snprintf(to, size, "address:%u%s", partitioning.shift, ends);
		break;
	case SN_PARTITION_BY_RSS:
		snprintf(to, size, "rss%s", ends);
		break;
	}
}

void sn_transfer_layout(const struct sn_transfers *transfers, struct sn_transfer_layout *layout)
{
	struct sn_partitioning partitioning = sn_state_partitioning(transfers->with.state);
	const struct sn_plan *plan = sn_threads_plan(transfers->with.threads);
	bool by_ends = sn_state_by_ends(transfers->with.state);
	uint64_t key = sn_state_key(transfers->with.state);
	uint8_t hash[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	*layout = (struct sn_transfer_layout){.units = sn_state_units(transfers->with.state)};
	if (plan != NULL) {
		layout->program_len = plan->hash_len;
		memcpy(layout->program, plan->hash, plan->hash_len);
	}
	print_partitioning(layout->partitioning, sizeof(layout->partitioning), partitioning, by_ends);
	if (partitioning.by == SN_PARTITION_BY_HOST || by_ends) {
		SHA256Init(&sha);
		SHA256Update(&sha, (const uint8_t *)&key, sizeof(key));
		SHA256Final(hash, &sha);
		memcpy(layout->key, hash, sizeof(layout->key));
	}
}

int sn_transfer_count(const struct sn_transfers *transfers, uint32_t unit, uint32_t *n, struct sn_error *err)
{
	uint32_t units = sn_state_units(transfers->with.state);
	struct sn_state_stats stats;

	if (unit >= units)
		return sn_fail(err, "shard %u, there are %u", unit, units);
	sn_state_unit_stats(transfers->with.state, unit, &stats);
	*n = (uint32_t)RTE_MIN(stats.sessions, (uint64_t)UINT32_MAX);
	return 0;
}

static void print_hash(char *to, const struct sn_transfer_layout *layout)
{
	to[0] = '\0';
	for (size_t i = 0; i < layout->program_len && i < 5; i++)
		snprintf(to + 2 * i, 3, "%02x", layout->program[i]);
}

static int check_layout(const struct sn_transfers *transfers, const struct sn_transfer_layout *theirs,
			struct sn_error *err)
{
	struct sn_transfer_layout ours;
	char a[16], b[16];

	sn_transfer_layout(transfers, &ours);
	print_hash(a, theirs);
	print_hash(b, &ours);
	if (theirs->program_len != ours.program_len ||
	    memcmp(theirs->program, ours.program, ours.program_len) != 0)
		return sn_fail(err, "the giver runs program %s, this engine %s: load the same first", a, b);
	if (strcmp(theirs->partitioning, ours.partitioning) != 0)
		return sn_fail(err, "the giver cuts its state with --shards %s, this engine with %s",
			       theirs->partitioning, ours.partitioning);
	if (theirs->units != ours.units)
		return sn_fail(err, "the giver has %u shards, this engine %u", theirs->units, ours.units);
	if (memcmp(theirs->key, ours.key, sizeof(ours.key)) != 0)
		return sn_fail(
			err,
			"the giver tells shards by another key: assign one key to all engines of the chain");
	return 0;
}

/* Before a packet waits. */
static void reserve(const struct sn_transfers *transfers, const struct sn_transfer_order *order)
{
	for (size_t i = 0; order->counts != NULL && i < order->n_units; i++)
		sn_carry_reserve(transfers->with.state, order->units[i], order->counts[i]);
}

int sn_take_begin(struct sn_transfers *transfers, const struct sn_transfer_order *order,
		  const struct sn_transfer_layout *layout, struct sn_taken *taken, struct sn_error *err)
{
	struct sn_transfer *t = find(transfers, order->id, true);

	*taken = (struct sn_taken){.committed = is_committed(transfers, order->id)};
	if (taken->committed)
		return 0;
	if (knows(&transfers->given_up, order->id))
		return sn_fail(err, "the transfer was given up");
	if (t == NULL) {
		if (check_layout(transfers, layout, err) != 0)
			return -1;
		t = open_transfer(transfers, order, true, err);
		if (t == NULL)
			return -1;
		reserve(transfers, order);
		t->began_ns = sn_threads_now(transfers->with.threads);
		put(transfers, t, SN_SHARD_TAKING);
	}
	t->step_ns = sn_threads_now(transfers->with.threads);
	*taken = taken_of(t);
	return 0;
}

/* Give up all that came. */
static void discard(struct sn_transfers *transfers, struct sn_transfer *t)
{
	forget(transfers, t);
	put(transfers, t, SN_SHARD_AWAY);
	t->open = false;
}

int sn_take_put(struct sn_transfers *transfers, const uint8_t *id, uint64_t sequence, const uint8_t *data,
		size_t len, struct sn_taken *taken, struct sn_error *err)
{
	struct sn_transfer *t = step(transfers, id, true, err);
	uint64_t now = sn_threads_now(transfers->with.threads);

	if (t == NULL)
		return -1;
	if (sequence > t->sequence)
		return sn_fail(err, "chunk %lu, want %lu", (unsigned long)sequence,
			       (unsigned long)t->sequence);
	if (sequence == t->sequence) {
		int rc;

		if (len % SN_CARRY_BYTES != 0)
			rc = sn_fail(err, "chunk of %zu bytes, want a multiple of %d", len, SN_CARRY_BYTES);
		else
			rc = sn_carry_put(transfers->with.state, t->shards, data, len / SN_CARRY_BYTES, now,
					  err);
		if (rc != 0) {
			discard(transfers, t);
			return -1;
		}
		t->sequence++;
		t->count += len / SN_CARRY_BYTES;
	}
	*taken = taken_of(t);
	return 0;
}

int sn_take_commit(struct sn_transfers *transfers, const uint8_t *id, uint64_t count, struct sn_taken *taken,
		   struct sn_error *err)
{
	struct sn_transfer *t = find(transfers, id, true);

	*taken = (struct sn_taken){.committed = is_committed(transfers, id)};
	if (taken->committed)
		return 0;
	t = step(transfers, id, true, err);
	if (t == NULL)
		return -1;
	if (t->count != count)
		return sn_fail(err, "%lu sessions came, the giver has put %lu", (unsigned long)t->count,
			       (unsigned long)count);
	sn_threads_hold(transfers->with.threads);
	sn_shards_put(transfers->with.shards, t->shards, SN_SHARD_HERE);
	sn_state_level(transfers->with.state);
	sn_threads_release(transfers->with.threads);
	*taken = taken_of(t);
	taken->committed = true;
	taken->blocked_ns = sn_threads_now(transfers->with.threads) - t->began_ns;
	remember(&transfers->committed, id);
	t->open = false;
	return 0;
}

void sn_take_abort(struct sn_transfers *transfers, const uint8_t *id, struct sn_taken *taken)
{
	struct sn_transfer *t = find(transfers, id, true);

	*taken = (struct sn_taken){.committed = is_committed(transfers, id)};
	/* Also one that is not known: its beginning may be on its way still. */
	if (!taken->committed && !knows(&transfers->given_up, id))
		remember(&transfers->given_up, id);
	if (t != NULL)
		discard(transfers, t);
}

/* ---- ends that nobody asked for ---- */

static void end(struct sn_transfers *transfers, struct sn_transfer *t)
{
	if (t->take)
		discard(transfers, t);
	else
		thaw(transfers, t);
}

void sn_transfers_end(struct sn_transfers *transfers)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &transfers->all[i];

		if (t->open && !t->sealed)
			end(transfers, t);
	}
}

/* As for their places, a unit's first shard decides for all. */
static bool fit(struct sn_transfer *t, uint32_t units)
{
	bool any = false;

	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		t->shards[i] = t->shards[i % units];
		any |= t->shards[i];
	}
	return any;
}

void sn_transfers_fit(struct sn_transfers *transfers)
{
	uint32_t units = sn_state_units(transfers->with.state);

	sn_peering_fit(transfers->with.peering, units);
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &transfers->all[i];

		if (!t->open || fit(t, units))
			continue;
		sn_log(SN_LOG_WARN,
		       "transfer peer=%s: its shards became part of others, and go where those are", t->peer);
		remember(&transfers->moot, t->id);
		t->open = false;
	}
}

void sn_transfers_tick(struct sn_transfers *transfers)
{
	uint64_t now = sn_threads_now(transfers->with.threads);

	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &transfers->all[i];

		if (!t->open || t->sealed || now - t->step_ns < SN_TRANSFER_LEASE)
			continue;
		sn_log(SN_LOG_WARN, "transfer peer=%s: nobody goes on with it, the shards %s", t->peer,
		       t->take ? "stay there" : "stay here");
		end(transfers, t);
	}
}
