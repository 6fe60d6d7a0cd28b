/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_shards.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sn_log.h"

#define SN_STEP_NS 10000 /* a worker takes that long to do its part */
#define SN_KEY_MIN 16
#define SN_KEY_MAX 64

struct sn_shards {
	struct sn_threads *threads;
	struct sn_state *state;
	struct sn_ports ports;
	void (*map)(void *context, const uint8_t *workers); /* the harness's; may be NULL */
	void *context;
	struct sn_exchange *exchange; /* NULL: one worker, and all shards are here */
	uint8_t mapped[SN_SHARDS];    /* the worker to whose queue devices that hash give a shard's packets */
	struct sn_move move;	      /* the last that was asked for */
	bool moving;		      /* it is under way … */
	uint64_t moving_ns;	      /* … since; each part of a turn is measured for itself */
	uint64_t blocked_ns;
};

static void free_packet(void *packet)
{
	rte_pktmbuf_free(packet);
}

void sn_shards_free(struct sn_shards *shards)
{
	if (shards == NULL)
		return;
	sn_exchange_free(shards->exchange, free_packet);
	free(shards);
}

static bool has_map(const struct sn_shards *shards)
{
	bool has = shards->map != NULL;

	for (unsigned int i = 0; i < shards->ports.n; i++)
		has |= shards->ports.all[i].buckets > 0;
	return has;
}

void sn_shards_map(struct sn_shards *shards)
{
	struct sn_error err;

	for (uint32_t i = 0; i < SN_SHARDS; i++)
		shards->mapped[i] = (uint8_t)sn_state_owner(shards->state, i);
	if (shards->map != NULL)
		shards->map(shards->context, shards->mapped);
	for (unsigned int i = 0; i < shards->ports.n; i++)
		if (shards->ports.all[i].buckets > 0 &&
		    sn_port_map(&shards->ports.all[i], shards->mapped, &err) != 0)
			sn_log(SN_LOG_WARN, "%s", err.text);
}

/* The place of a shard with the worker that owns it. */
static uint8_t place_of(const struct sn_shards *shards, uint32_t shard)
{
	switch (sn_state_place(shards->state, shard)) {
	case SN_SHARD_GIVING:
	case SN_SHARD_TAKING:
		return SN_PLACE_AWAITED;
	case SN_SHARD_AWAY:
		return SN_PLACE_AWAY;
	case SN_SHARD_HERE:
		break;
	}
	return SN_PLACE_HERE;
}

static void tell_mailboxes(struct sn_shards *shards)
{
	uint8_t owner[SN_SHARDS], place[SN_SHARDS];

	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		owner[i] = (uint8_t)sn_state_owner(shards->state, i);
		place[i] = place_of(shards, i);
	}
	sn_exchange_set(shards->exchange, sn_state_units(shards->state), owner, place);
}

void sn_shards_place(struct sn_shards *shards)
{
	if (shards->exchange == NULL)
		return;
	tell_mailboxes(shards);
	sn_shards_map(shards);
}

/* A device that does not hash goes on as before. */
static int hash_port(struct sn_port *port, bool hash, struct sn_error *why, struct sn_error *err)
{
	if (hash == (port->buckets > 0) || (hash && sn_port_can_hash(port, why) != 0))
		return 0;
	if (hash && sn_port_restart(port, true, why) == 0)
		return 0;
	return sn_port_restart(port, false, err);
}

int sn_shards_partition(struct sn_shards *shards, struct sn_partitioning partitioning, struct sn_error *why,
			struct sn_error *err)
{
	bool hash = partitioning.by == SN_PARTITION_BY_RSS && sn_threads_count(shards->threads) > 1;

	for (unsigned int i = 0; i < shards->ports.n; i++) {
		why[i].text[0] = '\0';
		if (hash_port(&shards->ports.all[i], hash, &why[i], err) != 0)
			return -1;
	}
	sn_state_repartition(shards->state, partitioning);
	return 0;
}

int sn_shards_ready(struct sn_shards *shards)
{
	if (shards->exchange != NULL)
		return 0;
	shards->exchange = sn_exchange_create(sn_threads_count(shards->threads));
	if (shards->exchange == NULL)
		return -1;
	sn_threads_hold(shards->threads);
	sn_threads_join(shards->threads, shards->exchange);
	tell_mailboxes(shards);
	sn_threads_release(shards->threads);
	return 0;
}

struct sn_shards *sn_shards_create(const struct sn_shards_config *config, struct sn_error *err)
{
	struct sn_shards *shards = calloc(1, sizeof(*shards));
	unsigned int n = sn_threads_count(config->threads);

	if (shards != NULL) {
		shards->threads = config->threads;
		shards->state = config->state;
		shards->ports = config->ports;
		shards->map = config->map;
		shards->context = config->context;
	}
	if (shards == NULL || (n > 1 && sn_shards_ready(shards) != 0)) {
		sn_fail(err, "no memory for the shards of %u workers", n);
		sn_shards_free(shards);
		return NULL;
	}
	return shards;
}

void sn_shards_put(struct sn_shards *shards, const bool set[SN_SHARDS], enum sn_shard_place place)
{
	for (uint32_t unit = 0; unit < sn_state_units(shards->state); unit++) {
		bool one = false;

		for (uint32_t i = unit; i < SN_SHARDS; i += sn_state_units(shards->state))
			one |= set[i];
		if (one)
			sn_state_set_place(shards->state, unit, place);
	}
	tell_mailboxes(shards);
}

uint32_t sn_shards_moving(const struct sn_shards *shards)
{
	return shards->moving ? shards->move.unit : SN_NO_SHARD;
}

static void order(struct sn_shards *shards)
{
	shards->moving_ns = sn_threads_now(shards->threads);
	sn_exchange_begin(shards->exchange, shards->move);
}

int sn_shards_begin(struct sn_shards *shards, uint32_t unit, uint32_t worker, struct sn_error *err)
{
	uint32_t units = sn_state_units(shards->state);

	if (!sn_threads_keep_state(shards->threads))
		return sn_fail(err, "move: the engine runs no program that keeps state");
	if (unit >= units)
		return sn_fail(err, "move: shard %u, there are %u", unit, units);
	if (worker >= sn_threads_count(shards->threads))
		return sn_fail(err, "move: worker %u, there are %u", worker,
			       sn_threads_count(shards->threads));
	if (sn_state_place(shards->state, unit) != SN_SHARD_HERE)
		return sn_fail(err, "move: shard %u is not here", unit);
	shards->move = (struct sn_move){(uint8_t)unit, (uint8_t)sn_state_owner(shards->state, unit),
					(uint8_t)worker, SN_MOVE_OWNER};
	shards->moving = shards->move.from != worker;
	shards->blocked_ns = 0;
	if (shards->moving)
		order(shards);
	return 0;
}

/* Go on behind a step that is done; false: nothing. */
static bool next_step(struct sn_shards *shards)
{
	struct sn_move *move = &shards->move;

	switch ((enum sn_move_kind)move->kind) {
	case SN_MOVE_OWNER:
		sn_state_moved(shards->state, move->unit, move->to);
		if (!has_map(shards) || shards->mapped[move->unit] == move->to)
			return false;
		move->from = shards->mapped[move->unit];
		move->kind = SN_MOVE_HOLD;
		order(shards);
		return true;
	case SN_MOVE_HOLD:
		sn_shards_map(shards);
		move->kind = SN_MOVE_DRAIN;
		sn_exchange_begin(shards->exchange, *move); /* blocked since it holds */
		return true;
	case SN_MOVE_DRAIN:
		break;
	}
	return false;
}

bool sn_shards_end(struct sn_shards *shards, uint64_t *blocked_ns)
{
	uint64_t taken_ns;

	*blocked_ns = 0;
	if (!shards->moving)
		return true;
	if (!sn_exchange_done(shards->exchange, &taken_ns))
		return false;
	if (shards->move.kind != SN_MOVE_HOLD)
		shards->blocked_ns = RTE_MAX(shards->blocked_ns, taken_ns - shards->moving_ns);
	shards->moving = next_step(shards);
	*blocked_ns = shards->blocked_ns;
	return !shards->moving;
}

/* No thread polls the mailboxes, and no queue holds packets. */
static void poll_all(struct sn_shards *shards)
{
	for (unsigned int i = 0; i < sn_threads_count(shards->threads); i++) {
		struct sn_mailbox *mailbox = sn_threads_mailbox(shards->threads, i);

		sn_mailbox_poll(mailbox);
		if (mailbox->draining)
			sn_mailbox_drained(mailbox);
	}
}

/*
 * Where the control thread shares a worker's CPU, one that yields comes by again only after the worker's
 * whole turn, milliseconds later, while packets wait for its next step. One that sleeps is let in when it
 * wakes up.
 */
static void let_workers_go_on(struct sn_shards *shards)
{
	if (sn_threads_running(shards->threads))
		nanosleep(&(struct timespec){.tv_nsec = SN_STEP_NS}, NULL);
	else
		poll_all(shards);
}

int sn_shards_move(struct sn_shards *shards, uint32_t unit, uint32_t worker, uint64_t *blocked_ns,
		   struct sn_error *err)
{
	if (sn_shards_begin(shards, unit, worker, err) != 0)
		return -1;
	*blocked_ns = sn_shards_finish(shards);
	return 0;
}

uint64_t sn_shards_finish(struct sn_shards *shards)
{
	uint64_t blocked_ns;

	while (!sn_shards_end(shards, &blocked_ns))
		let_workers_go_on(shards);
	return blocked_ns;
}

void sn_shards_drain(struct sn_shards *shards)
{
	uint32_t polled = shards->exchange != NULL;

	while (polled > 0) {
		polled = 0;
		for (unsigned int i = 0; i < sn_threads_count(shards->threads); i++)
			polled += sn_mailbox_poll(sn_threads_mailbox(shards->threads, i));
	}
}

/* Waits for the step that was published. */
static void await_step(struct sn_shards *shards, uint64_t *taken_ns)
{
	while (!sn_exchange_done(shards->exchange, taken_ns))
		let_workers_go_on(shards);
}

int sn_shards_turn(struct sn_shards *shards, uint32_t unit, uint32_t from, void (*change)(void *),
		   void *context, uint64_t *blocked_ns, struct sn_error *err)
{
	uint64_t begun, taken_ns;
	struct sn_move move;

	*blocked_ns = 0;
	if (!sn_threads_keep_state(shards->threads))
		return sn_fail(err, "turn: the engine runs no program that keeps state");
	if (unit >= sn_state_units(shards->state))
		return sn_fail(err, "turn: shard %u, there are %u", unit, sn_state_units(shards->state));
	if (sn_state_place(shards->state, unit) != SN_SHARD_HERE)
		return sn_fail(err, "turn: shard %u is not this engine's", unit);
	if (from >= sn_threads_count(shards->threads))
		return sn_fail(err, "turn: worker %u, there are %u", from, sn_threads_count(shards->threads));
	move = (struct sn_move){(uint8_t)unit, (uint8_t)from, (uint8_t)sn_state_owner(shards->state, unit),
				SN_MOVE_HOLD};
	if (move.from == move.to) {
		change(context);
		return 0;
	}
	begun = sn_threads_now(shards->threads);
	sn_exchange_begin(shards->exchange, move);
	await_step(shards, &taken_ns);
	change(context);
	move.kind = SN_MOVE_DRAIN;
	sn_exchange_begin(shards->exchange, move);
	await_step(shards, &taken_ns);
	*blocked_ns = taken_ns - begun;
	return 0;
}

void sn_shards_level(struct sn_shards *shards)
{
	if (!sn_state_starved(shards->state))
		return;
	sn_threads_hold(shards->threads);
	sn_state_level(shards->state);
	sn_threads_release(shards->threads);
}

/* ---- which are here ---- */

static const char *const place_names[] = {
	[SN_SHARD_HERE] = "here",
	[SN_SHARD_GIVING] = "being given away",
	[SN_SHARD_TAKING] = "being taken",
	[SN_SHARD_AWAY] = "away",
};

const char *sn_shards_place_name(enum sn_shard_place place)
{
	return place_names[place];
}

int sn_shards_mark(const struct sn_shards *shards, const uint32_t *units, size_t n, bool set[SN_SHARDS],
		   struct sn_error *err)
{
	uint32_t all = sn_state_units(shards->state);

	memset(set, 0, SN_SHARDS * sizeof(*set));
	for (size_t i = 0; i < n; i++) {
		if (units[i] >= all)
			return sn_fail(err, "shard %u, there are %u", units[i], all);
		for (uint32_t s = units[i]; s < SN_SHARDS; s += all)
			set[s] = true;
	}
	return 0;
}

static int check_assignment(const struct sn_shards *shards, const bool *set, bool rekeyed,
			    struct sn_error *err)
{
	for (uint32_t i = 0; i < sn_state_units(shards->state); i++) {
		enum sn_shard_place place = sn_state_place(shards->state, i);
		struct sn_state_stats stats;

		if (place == SN_SHARD_GIVING || place == SN_SHARD_TAKING)
			return sn_fail(err, "assign: shard %u is %s", i, sn_shards_place_name(place));
		sn_state_unit_stats(shards->state, i, &stats);
		if (stats.sessions > 0 && (rekeyed || !set[i]))
			return sn_fail(err, "assign: shard %u has %lu sessions: %s", i,
				       (unsigned long)stats.sessions,
				       rekeyed ? "the key stays" : "give it to a peer");
	}
	if (shards->moving)
		return sn_fail(err, "assign: shard %u is being moved between workers", shards->move.unit);
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

int sn_shards_assign(struct sn_shards *shards, const uint32_t *units, size_t n, const uint8_t *key,
		     size_t key_len, struct sn_error *err)
{
	uint64_t number = key_len > 0 ? key_of(key, key_len) : sn_state_key(shards->state);
	bool rekeyed = number != sn_state_key(shards->state);
	struct sn_threads *threads = shards->threads;
	bool set[SN_SHARDS], others[SN_SHARDS];

	if (key_len > 0 && (key_len < SN_KEY_MIN || key_len > SN_KEY_MAX))
		return sn_fail(err, "assign: key of %zu bytes, want %d to %d", key_len, SN_KEY_MIN,
			       SN_KEY_MAX);
	if (sn_shards_mark(shards, units, n, set, err) != 0 ||
	    check_assignment(shards, set, rekeyed, err) != 0)
		return -1;
	if (sn_shards_ready(shards) != 0)
		return sn_fail(err, "assign: no memory for packets that wait");
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		others[i] = !set[i];
	sn_threads_hold(threads);
	sn_shards_put(shards, set, SN_SHARD_HERE);
	sn_shards_put(shards, others, SN_SHARD_AWAY);
	sn_state_level(shards->state);
	sn_state_set_key(shards->state, number);
	for (unsigned int i = 0; rekeyed && i < sn_threads_count(threads); i++)
		sn_worker_forget(sn_threads_worker(threads, i));
	sn_threads_release(threads);
	return 0;
}
