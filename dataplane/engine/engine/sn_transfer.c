/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_transfer.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_log.h"
#include "sn_shards.h"

#define SN_ERR(...)   (snprintf(err, err_len, __VA_ARGS__), -1)
#define SN_REMEMBERED 256 /* transfers whose end may still be asked for */
#define SN_KEY_MIN    16
#define SN_KEY_MAX    64

/* Ids, the oldest overwritten. */
struct memory {
	uint8_t ids[SN_REMEMBERED][SN_TRANSFER_ID];
	uint64_t n;
};

struct sn_transfers {
	struct sn_transfer all[SN_TRANSFERS_MAX];
	struct memory committed;
	struct memory given_up; /* at the taker, by who may have committed else */
	struct memory moot;	/* given, until a program came that knows none of their units */
};

struct sn_transfers *sn_transfers_create(void)
{
	return calloc(1, sizeof(struct sn_transfers));
}

/* ---- which transfers there are ---- */

static struct sn_transfer *find(const struct sn_engine *engine, const uint8_t *id, bool take)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &engine->transfers->all[i];

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

static bool is_committed(const struct sn_engine *engine, const uint8_t *id)
{
	return knows(&engine->transfers->committed, id);
}

const struct sn_transfer *sn_transfer_of(const struct sn_engine *engine, uint32_t shard)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		const struct sn_transfer *t = &engine->transfers->all[i];

		if (t->open && t->shards[shard])
			return t;
	}
	return NULL;
}

bool sn_transfers_open(const struct sn_engine *engine)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++)
		if (engine->transfers->all[i].open)
			return true;
	return false;
}

/* ---- what is asked ---- */

static int mark_units(const struct sn_engine *engine, const uint32_t *units, size_t n, bool *shards,
		      char *err, size_t err_len)
{
	uint32_t all = sn_state_units(engine->state);

	memset(shards, 0, SN_SHARDS * sizeof(*shards));
	for (size_t i = 0; i < n; i++) {
		if (units[i] >= all)
			return SN_ERR("shard %u, there are %u", units[i], all);
		for (uint32_t s = units[i]; s < SN_SHARDS; s += all)
			shards[s] = true;
	}
	return 0;
}

static int check_engine(const struct sn_engine *engine, char *err, size_t err_len)
{
	if (engine->orders.plan == NULL || engine->orders.plan->program->n_tables == 0)
		return SN_ERR("the engine runs no program that keeps state");
	if (engine->moving)
		return SN_ERR("shard %u is being moved between workers", engine->move.unit);
	return 0;
}

static const char *const place_names[] = {
	[SN_SHARD_HERE] = "here",
	[SN_SHARD_GIVING] = "being given away",
	[SN_SHARD_TAKING] = "being taken",
	[SN_SHARD_AWAY] = "away",
};

/* A new transfer of units that are where it begins. */
static struct sn_transfer *open_transfer(struct sn_engine *engine, const struct sn_transfer_order *order,
					 bool take, char *err, size_t err_len)
{
	enum sn_shard_place from = take ? SN_SHARD_AWAY : SN_SHARD_HERE, place;
	struct sn_transfer *t = NULL;
	bool shards[SN_SHARDS];

	if (check_engine(engine, err, err_len) != 0 ||
	    mark_units(engine, order->units, order->n_units, shards, err, err_len) != 0)
		return NULL;
	if (order->n_units == 0 || strlen(order->peer) >= SN_PEER_NAME) {
		snprintf(err, err_len,
			 "%zu shards and peer \"%.64s\", want a shard and a name of at most %d bytes",
			 order->n_units, order->peer, SN_PEER_NAME - 1);
		return NULL;
	}
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		place = sn_state_place(engine->state, i);
		if (shards[i] && place != from) {
			snprintf(err, err_len, "shard %u is %s, want one that is %s", i, place_names[place],
				 place_names[from]);
			return NULL;
		}
	}
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX && t == NULL; i++)
		if (!engine->transfers->all[i].open)
			t = &engine->transfers->all[i];
	if (t == NULL) {
		snprintf(err, err_len, "%d transfers are under way, which is the most at a time",
			 SN_TRANSFERS_MAX);
		return NULL;
	}
	if (sn_shards_ready(engine) != 0) {
		snprintf(err, err_len, "no memory for packets that wait");
		return NULL;
	}
	*t = (struct sn_transfer){.open = true, .take = take, .began_ns = sn_engine_now(engine)};
	memcpy(t->id, order->id, sizeof(t->id));
	memcpy(t->shards, shards, sizeof(t->shards));
	snprintf(t->peer, sizeof(t->peer), "%s", order->peer);
	t->step_ns = t->began_ns;
	return t;
}

/* One that is known, whose lease begins anew. */
static struct sn_transfer *step(const struct sn_engine *engine, const uint8_t *id, bool take, char *err,
				size_t err_len)
{
	struct sn_transfer *t = find(engine, id, take);

	if (t == NULL) {
		snprintf(err, err_len,
			 is_committed(engine, id) ? "the transfer is committed"
						  : "the transfer is not known, or ended");
		return NULL;
	}
	t->step_ns = sn_engine_now(engine);
	return t;
}

static void put(struct sn_engine *engine, const struct sn_transfer *t, enum sn_shard_place place)
{
	sn_engine_hold(engine);
	sn_shards_put(engine, t->shards, place);
	sn_engine_release(engine);
}

/* The sessions of a transfer are no longer here. */
static void forget(struct sn_engine *engine, const struct sn_transfer *t)
{
	sn_carry_forget(engine->state, t->shards);
	sn_engine_hold(engine);
	sn_state_level(engine->state);
	sn_engine_release(engine);
}

/* ---- the giver ---- */

int sn_give_begin(struct sn_engine *engine, const struct sn_transfer_order *order, char *err, size_t err_len)
{
	struct sn_transfer *t = find(engine, order->id, false);

	if (t != NULL)
		return 0;
	if (is_committed(engine, order->id))
		return SN_ERR("the transfer is committed");
	t = open_transfer(engine, order, false, err, err_len);
	if (t == NULL)
		return -1;
	put(engine, t, SN_SHARD_GIVING);
	t->still_ns = sn_engine_now(engine);
	return 0;
}

int sn_give_read(struct sn_engine *engine, const uint8_t *id, uint64_t *cursor, uint8_t *out, size_t max,
		 size_t *n, char *err, size_t err_len)
{
	struct sn_transfer *t = step(engine, id, false, err, err_len);

	if (t == NULL)
		return -1;
	*n = sn_carry_read(engine->state, t->shards, cursor, t->still_ns, out, max);
	return 0;
}

int sn_give_seal(struct sn_engine *engine, const uint8_t *id, char *err, size_t err_len)
{
	struct sn_transfer *t = step(engine, id, false, err, err_len);

	if (t == NULL)
		return -1;
	t->sealed = true;
	return 0;
}

int sn_give_commit(struct sn_engine *engine, const uint8_t *id, uint64_t *blocked_ns, char *err,
		   size_t err_len)
{
	struct sn_transfer *t = find(engine, id, false);
	uint8_t at;

	*blocked_ns = 0;
	if (t == NULL && (is_committed(engine, id) || knows(&engine->transfers->moot, id)))
		return 0;
	t = step(engine, id, false, err, err_len);
	if (t == NULL)
		return -1;
	if (!t->sealed)
		return SN_ERR("the transfer is not sealed: it may have ended at the peer");
	at = sn_peers_find(engine->peers, t->peer);
	sn_engine_hold(engine);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		if (t->shards[i])
			engine->peers->at[i] = at;
	sn_shards_put(engine, t->shards, SN_SHARD_AWAY);
	sn_engine_release(engine);
	*blocked_ns = sn_engine_now(engine) - t->began_ns;
	forget(engine, t);
	remember(&engine->transfers->committed, id);
	t->open = false;
	return 0;
}

static void thaw(struct sn_engine *engine, struct sn_transfer *t)
{
	put(engine, t, SN_SHARD_HERE);
	t->open = false;
}

int sn_give_abort(struct sn_engine *engine, const uint8_t *id, uint64_t *blocked_ns, char *err,
		  size_t err_len)
{
	struct sn_transfer *t = find(engine, id, false);

	*blocked_ns = 0;
	if (t == NULL && is_committed(engine, id))
		return SN_ERR("the transfer is committed");
	if (t == NULL)
		return 0;
	*blocked_ns = sn_engine_now(engine) - t->began_ns;
	thaw(engine, t);
	return 0;
}

/* ---- the taker ---- */

static struct sn_taken taken_of(const struct sn_transfer *t)
{
	return (struct sn_taken){.sequence = t->sequence, .count = t->count};
}

void sn_transfer_layout(const struct sn_engine *engine, struct sn_transfer_layout *layout)
{
	struct sn_partitioning partitioning = sn_state_partitioning(engine->state);
	const struct sn_plan *plan = engine->orders.plan;
	uint64_t key = sn_state_key(engine->state);
	uint8_t hash[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	*layout = (struct sn_transfer_layout){.units = sn_state_units(engine->state)};
	if (plan != NULL) {
		layout->program_len = plan->hash_len;
		memcpy(layout->program, plan->hash, plan->hash_len);
	}
	switch (partitioning.by) {
	case SN_PARTITION_BY_HOST:
		snprintf(layout->partitioning, sizeof(layout->partitioning), "host");
		SHA256Init(&sha);
		SHA256Update(&sha, (const uint8_t *)&key, sizeof(key));
		SHA256Final(hash, &sha);
		memcpy(layout->key, hash, sizeof(layout->key));
		break;
	case SN_PARTITION_BY_ADDRESS:
		snprintf(layout->partitioning, sizeof(layout->partitioning), "address:%u",
			 partitioning.shift);
		break;
	case SN_PARTITION_BY_RSS:
		snprintf(layout->partitioning, sizeof(layout->partitioning), "rss");
		break;
	}
}

uint32_t sn_transfer_count(const struct sn_engine *engine, uint32_t unit)
{
	struct sn_state_stats stats;

	sn_state_unit_stats(engine->state, unit, &stats);
	return (uint32_t)RTE_MIN(stats.sessions, (uint64_t)UINT32_MAX);
}

static void print_hash(char *to, const struct sn_transfer_layout *layout)
{
	to[0] = '\0';
	for (size_t i = 0; i < layout->program_len && i < 5; i++)
		snprintf(to + 2 * i, 3, "%02x", layout->program[i]);
}

static int check_layout(const struct sn_engine *engine, const struct sn_transfer_layout *theirs, char *err,
			size_t err_len)
{
	struct sn_transfer_layout ours;
	char a[16], b[16];

	sn_transfer_layout(engine, &ours);
	print_hash(a, theirs);
	print_hash(b, &ours);
	if (theirs->program_len != ours.program_len ||
	    memcmp(theirs->program, ours.program, ours.program_len) != 0)
		return SN_ERR("the giver runs program %s, this engine %s: load the same first", a, b);
	if (strcmp(theirs->partitioning, ours.partitioning) != 0)
		return SN_ERR("the giver cuts its state with --shards %s, this engine with %s",
			      theirs->partitioning, ours.partitioning);
	if (theirs->units != ours.units)
		return SN_ERR("the giver has %u shards, this engine %u", theirs->units, ours.units);
	if (memcmp(theirs->key, ours.key, sizeof(ours.key)) != 0)
		return SN_ERR(
			"the giver tells shards by another key: assign one key to all engines of the chain");
	return 0;
}

/* Before a packet waits. */
static void reserve(const struct sn_engine *engine, const struct sn_transfer_order *order)
{
	for (size_t i = 0; order->counts != NULL && i < order->n_units; i++)
		sn_carry_reserve(engine->state, order->units[i], order->counts[i]);
}

int sn_take_begin(struct sn_engine *engine, const struct sn_transfer_order *order,
		  const struct sn_transfer_layout *layout, struct sn_taken *taken, char *err, size_t err_len)
{
	struct sn_transfer *t = find(engine, order->id, true);

	*taken = (struct sn_taken){.committed = is_committed(engine, order->id)};
	if (taken->committed)
		return 0;
	if (knows(&engine->transfers->given_up, order->id))
		return SN_ERR("the transfer was given up");
	if (t == NULL) {
		if (check_layout(engine, layout, err, err_len) != 0)
			return -1;
		t = open_transfer(engine, order, true, err, err_len);
		if (t == NULL)
			return -1;
		reserve(engine, order);
		t->began_ns = sn_engine_now(engine);
		put(engine, t, SN_SHARD_TAKING);
	}
	t->step_ns = sn_engine_now(engine);
	*taken = taken_of(t);
	return 0;
}

/* What came is given up. */
static void discard(struct sn_engine *engine, struct sn_transfer *t)
{
	forget(engine, t);
	put(engine, t, SN_SHARD_AWAY);
	t->open = false;
}

int sn_take_put(struct sn_engine *engine, const uint8_t *id, uint64_t sequence, const uint8_t *data,
		size_t len, struct sn_taken *taken, char *err, size_t err_len)
{
	struct sn_transfer *t = step(engine, id, true, err, err_len);
	uint64_t now = sn_engine_now(engine);

	if (t == NULL)
		return -1;
	if (sequence > t->sequence)
		return SN_ERR("chunk %lu, want %lu", (unsigned long)sequence, (unsigned long)t->sequence);
	if (sequence == t->sequence) {
		int rc;

		if (len % SN_CARRY_BYTES != 0)
			rc = SN_ERR("chunk of %zu bytes, want a multiple of %d", len, SN_CARRY_BYTES);
		else
			rc = sn_carry_put(engine->state, t->shards, data, len / SN_CARRY_BYTES, now, err,
					  err_len);
		if (rc != 0) {
			discard(engine, t);
			return -1;
		}
		t->sequence++;
		t->count += len / SN_CARRY_BYTES;
	}
	*taken = taken_of(t);
	return 0;
}

int sn_take_commit(struct sn_engine *engine, const uint8_t *id, uint64_t count, struct sn_taken *taken,
		   char *err, size_t err_len)
{
	struct sn_transfer *t = find(engine, id, true);

	*taken = (struct sn_taken){.committed = is_committed(engine, id)};
	if (taken->committed)
		return 0;
	t = step(engine, id, true, err, err_len);
	if (t == NULL)
		return -1;
	if (t->count != count)
		return SN_ERR("%lu sessions came, the giver has put %lu", (unsigned long)t->count,
			      (unsigned long)count);
	sn_engine_hold(engine);
	sn_shards_put(engine, t->shards, SN_SHARD_HERE);
	sn_state_level(engine->state);
	sn_engine_release(engine);
	*taken = taken_of(t);
	taken->committed = true;
	taken->blocked_ns = sn_engine_now(engine) - t->began_ns;
	remember(&engine->transfers->committed, id);
	t->open = false;
	return 0;
}

void sn_take_abort(struct sn_engine *engine, const uint8_t *id, struct sn_taken *taken)
{
	struct sn_transfer *t = find(engine, id, true);

	*taken = (struct sn_taken){.committed = is_committed(engine, id)};
	/* Also one that is not known: its beginning may be on its way still. */
	if (!taken->committed && !knows(&engine->transfers->given_up, id))
		remember(&engine->transfers->given_up, id);
	if (t != NULL)
		discard(engine, t);
}

/* ---- ends that nobody asked for ---- */

static void end(struct sn_engine *engine, struct sn_transfer *t)
{
	if (t->take)
		discard(engine, t);
	else
		thaw(engine, t);
}

void sn_transfers_end(struct sn_engine *engine)
{
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &engine->transfers->all[i];

		if (t->open && !t->sealed)
			end(engine, t);
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

void sn_transfers_fit(struct sn_engine *engine)
{
	uint32_t units = sn_state_units(engine->state);

	for (uint32_t i = 0; i < SN_SHARDS; i++)
		engine->peers->at[i] = engine->peers->at[i % units];
	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &engine->transfers->all[i];

		if (!t->open || fit(t, units))
			continue;
		sn_log(SN_LOG_WARN,
		       "transfer peer=%s: its shards became part of others, and go where those are", t->peer);
		remember(&engine->transfers->moot, t->id);
		t->open = false;
	}
}

void sn_transfers_tick(struct sn_engine *engine)
{
	uint64_t now = sn_engine_now(engine);

	for (uint32_t i = 0; i < SN_TRANSFERS_MAX; i++) {
		struct sn_transfer *t = &engine->transfers->all[i];

		if (!t->open || t->sealed || now - t->step_ns < SN_TRANSFER_LEASE)
			continue;
		sn_log(SN_LOG_WARN, "transfer peer=%s: nobody goes on with it, the shards %s", t->peer,
		       t->take ? "stay there" : "stay here");
		end(engine, t);
	}
}

/* ---- by order ---- */

static int check_assignment(const struct sn_engine *engine, const bool *shards, bool rekeyed, char *err,
			    size_t err_len)
{
	for (uint32_t i = 0; i < sn_state_units(engine->state); i++) {
		enum sn_shard_place place = sn_state_place(engine->state, i);
		struct sn_state_stats stats;

		if (place == SN_SHARD_GIVING || place == SN_SHARD_TAKING)
			return SN_ERR("assign: shard %u is %s", i, place_names[place]);
		sn_state_unit_stats(engine->state, i, &stats);
		if (stats.sessions > 0 && (rekeyed || !shards[i]))
			return SN_ERR("assign: shard %u has %lu sessions: %s", i,
				      (unsigned long)stats.sessions,
				      rekeyed ? "the key stays" : "give it to a peer");
	}
	if (engine->moving)
		return SN_ERR("assign: shard %u is being moved between workers", engine->move.unit);
	return 0;
}

static uint64_t key_of(const uint8_t *bytes, size_t len)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;
	uint64_t key;

	SHA256Init(&sha);
	SHA256Update(&sha, bytes, len);
	SHA256Final(hash, &sha);
	memcpy(&key, hash, sizeof(key));
	return key;
}

int sn_shards_assign(struct sn_engine *engine, const uint32_t *units, size_t n, const uint8_t *key,
		     size_t key_len, char *err, size_t err_len)
{
	uint64_t number = key_len > 0 ? key_of(key, key_len) : sn_state_key(engine->state);
	bool rekeyed = number != sn_state_key(engine->state);
	bool shards[SN_SHARDS], others[SN_SHARDS];

	if (key_len > 0 && (key_len < SN_KEY_MIN || key_len > SN_KEY_MAX))
		return SN_ERR("assign: key of %zu bytes, want %d to %d", key_len, SN_KEY_MIN, SN_KEY_MAX);
	if (mark_units(engine, units, n, shards, err, err_len) != 0 ||
	    check_assignment(engine, shards, rekeyed, err, err_len) != 0)
		return -1;
	if (sn_shards_ready(engine) != 0)
		return SN_ERR("assign: no memory for packets that wait");
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		others[i] = !shards[i];
	sn_engine_hold(engine);
	sn_shards_put(engine, shards, SN_SHARD_HERE);
	sn_shards_put(engine, others, SN_SHARD_AWAY);
	sn_state_level(engine->state);
	sn_state_set_key(engine->state, number);
	for (unsigned int i = 0; rekeyed && i < engine->config.n_workers; i++)
		sn_worker_forget(engine->threads[i].worker);
	sn_engine_release(engine);
	return 0;
}
