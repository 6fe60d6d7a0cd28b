/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_shards.h"

#include <stdio.h>
#include <time.h>

#include "sn_log.h"

#define SN_ERR(...) (snprintf(err, err_len, __VA_ARGS__), -1)
#define SN_STEP_NS  10000 /* a worker takes that long to do its part */

static bool has_map(const struct sn_engine *engine)
{
	bool has = engine->config.map != NULL;

	for (unsigned int i = 0; i < engine->config.n_ports; i++)
		has |= engine->config.ports[i].buckets > 0;
	return has;
}

void sn_shards_map(struct sn_engine *engine)
{
	char err[512];

	for (uint32_t i = 0; i < SN_SHARDS; i++)
		engine->mapped[i] = (uint8_t)sn_state_owner(engine->state, i);
	if (engine->config.map != NULL)
		engine->config.map(engine->config.harness_context, engine->mapped);
	for (unsigned int i = 0; i < engine->config.n_ports; i++)
		if (engine->config.ports[i].buckets > 0 &&
		    sn_port_map(&engine->config.ports[i], engine->mapped, err, sizeof(err)) != 0)
			sn_log(SN_LOG_WARN, "%s", err);
}

/* What a shard is to the worker that owns it. */
static uint8_t place_of(const struct sn_engine *engine, uint32_t shard)
{
	switch (sn_state_place(engine->state, shard)) {
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

static void tell_mailboxes(struct sn_engine *engine)
{
	uint8_t owner[SN_SHARDS], place[SN_SHARDS];

	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		owner[i] = (uint8_t)sn_state_owner(engine->state, i);
		place[i] = place_of(engine, i);
	}
	sn_exchange_set(engine->exchange, sn_state_units(engine->state), owner, place);
}

void sn_shards_place(struct sn_engine *engine)
{
	if (engine->exchange == NULL)
		return;
	tell_mailboxes(engine);
	sn_shards_map(engine);
}

/* A device that does not hash goes on as before. */
static int hash_port(struct sn_port *port, bool hash, char *why, char *err, size_t err_len)
{
	if (hash == (port->buckets > 0) || (hash && sn_port_can_hash(port, why, SN_SHARDS_WHY) != 0))
		return 0;
	if (hash && sn_port_restart(port, true, why, SN_SHARDS_WHY) == 0)
		return 0;
	return sn_port_restart(port, false, err, err_len);
}

int sn_shards_partition(struct sn_engine *engine, struct sn_partitioning partitioning,
			char (*why)[SN_SHARDS_WHY], bool *gone, char *err, size_t err_len)
{
	bool hash = partitioning.by == SN_PARTITION_BY_RSS && engine->config.n_workers > 1;

	*gone = false;
	if (engine->orders.plan != NULL)
		return SN_ERR(
			"shards: the engine has a program, and cuts flows in another way only before its "
			"first");
	for (unsigned int i = 0; engine->flows != NULL && i < engine->config.n_ports; i++)
		if (engine->flows[i].n > 0)
			return SN_ERR("shards: interface %s has flow rules, which its device would lose",
				      engine->config.ports[i].bind.interface);
	for (unsigned int i = 0; i < engine->config.n_ports; i++) {
		why[i][0] = '\0';
		*gone = hash_port(&engine->config.ports[i], hash, why[i], err, err_len) != 0;
		if (*gone)
			return -1;
	}
	sn_state_repartition(engine->state, partitioning);
	return 0;
}

int sn_shards_ready(struct sn_engine *engine)
{
	struct sn_thread *thread = &engine->threads[0];

	if (engine->exchange != NULL)
		return 0;
	engine->exchange = sn_exchange_create(engine->config.n_workers);
	if (engine->exchange == NULL)
		return -1;
	sn_exchange_join(engine->exchange, 0, &sn_thread_exchange, thread);
	sn_engine_hold(engine);
	thread->mailbox = sn_exchange_mailbox(engine->exchange, 0);
	sn_worker_set_mailbox(thread->worker, thread->mailbox);
	tell_mailboxes(engine);
	sn_engine_release(engine);
	return 0;
}

void sn_shards_put(struct sn_engine *engine, const bool shards[SN_SHARDS], enum sn_shard_place place)
{
	for (uint32_t unit = 0; unit < sn_state_units(engine->state); unit++) {
		bool one = false;

		for (uint32_t i = unit; i < SN_SHARDS; i += sn_state_units(engine->state))
			one |= shards[i];
		if (one)
			sn_state_set_place(engine->state, unit, place);
	}
	tell_mailboxes(engine);
}

static void order(struct sn_engine *engine)
{
	engine->moving_ns = sn_engine_now(engine);
	sn_exchange_begin(engine->exchange, engine->move);
}

int sn_shards_begin(struct sn_engine *engine, uint32_t unit, uint32_t worker, char *err, size_t err_len)
{
	uint32_t units = sn_state_units(engine->state);

	if (engine->orders.plan == NULL || engine->orders.plan->program->n_tables == 0)
		return SN_ERR("move: the engine runs no program that keeps state");
	if (unit >= units)
		return SN_ERR("move: shard %u, there are %u", unit, units);
	if (worker >= engine->config.n_workers)
		return SN_ERR("move: worker %u, there are %u", worker, engine->config.n_workers);
	if (sn_state_place(engine->state, unit) != SN_SHARD_HERE)
		return SN_ERR("move: shard %u is not here", unit);
	engine->move = (struct sn_move){(uint8_t)unit, (uint8_t)sn_state_owner(engine->state, unit),
					(uint8_t)worker, SN_MOVE_OWNER};
	engine->moving = engine->move.from != worker;
	engine->blocked_ns = 0;
	if (engine->moving)
		order(engine);
	return 0;
}

/* What follows a step that is done; false: nothing. */
static bool next_step(struct sn_engine *engine)
{
	struct sn_move *move = &engine->move;

	switch ((enum sn_move_kind)move->kind) {
	case SN_MOVE_OWNER:
		sn_state_moved(engine->state, move->unit, move->to);
		if (!has_map(engine) || engine->mapped[move->unit] == move->to)
			return false;
		move->from = engine->mapped[move->unit];
		move->kind = SN_MOVE_HOLD;
		order(engine);
		return true;
	case SN_MOVE_HOLD:
		sn_shards_map(engine);
		move->kind = SN_MOVE_DRAIN;
		sn_exchange_begin(engine->exchange, *move); /* blocked since it holds */
		return true;
	case SN_MOVE_DRAIN:
		break;
	}
	return false;
}

bool sn_shards_end(struct sn_engine *engine, uint64_t *blocked_ns)
{
	uint64_t taken_ns;

	*blocked_ns = 0;
	if (!engine->moving)
		return true;
	if (!sn_exchange_done(engine->exchange, &taken_ns))
		return false;
	if (engine->move.kind != SN_MOVE_HOLD)
		engine->blocked_ns = RTE_MAX(engine->blocked_ns, taken_ns - engine->moving_ns);
	engine->moving = next_step(engine);
	*blocked_ns = engine->blocked_ns;
	return !engine->moving;
}

/* No thread polls the mailboxes, and no queue holds packets. */
static void poll_all(struct sn_engine *engine)
{
	for (unsigned int i = 0; i < engine->config.n_workers; i++) {
		struct sn_mailbox *mailbox = engine->threads[i].mailbox;

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
static void let_workers_go_on(struct sn_engine *engine)
{
	if (engine->running)
		nanosleep(&(struct timespec){.tv_nsec = SN_STEP_NS}, NULL);
	else
		poll_all(engine);
}

int sn_shards_move(struct sn_engine *engine, uint32_t unit, uint32_t worker, uint64_t *blocked_ns, char *err,
		   size_t err_len)
{
	if (sn_shards_begin(engine, unit, worker, err, err_len) != 0)
		return -1;
	*blocked_ns = sn_shards_finish(engine);
	return 0;
}

uint64_t sn_shards_finish(struct sn_engine *engine)
{
	uint64_t blocked_ns;

	while (!sn_shards_end(engine, &blocked_ns))
		let_workers_go_on(engine);
	return blocked_ns;
}

void sn_shards_drain(struct sn_engine *engine)
{
	uint32_t polled = engine->exchange != NULL;

	while (polled > 0) {
		polled = 0;
		for (unsigned int i = 0; i < engine->config.n_workers; i++)
			polled += sn_mailbox_poll(engine->threads[i].mailbox);
	}
}

/* Waits for the step that was published. */
static void await_step(struct sn_engine *engine, uint64_t *taken_ns)
{
	while (!sn_exchange_done(engine->exchange, taken_ns))
		let_workers_go_on(engine);
}

int sn_shards_turn(struct sn_engine *engine, uint32_t unit, uint32_t from, void (*change)(void *),
		   void *context, uint64_t *blocked_ns, char *err, size_t err_len)
{
	uint64_t begun, taken_ns;
	struct sn_move move;

	*blocked_ns = 0;
	if (engine->orders.plan == NULL || engine->orders.plan->program->n_tables == 0)
		return SN_ERR("turn: the engine runs no program that keeps state");
	if (unit >= sn_state_units(engine->state))
		return SN_ERR("turn: shard %u, there are %u", unit, sn_state_units(engine->state));
	if (sn_state_place(engine->state, unit) != SN_SHARD_HERE)
		return SN_ERR("turn: shard %u is not this engine's", unit);
	if (from >= engine->config.n_workers)
		return SN_ERR("turn: worker %u, there are %u", from, engine->config.n_workers);
	move = (struct sn_move){(uint8_t)unit, (uint8_t)from, (uint8_t)sn_state_owner(engine->state, unit),
				SN_MOVE_HOLD};
	if (move.from == move.to) {
		change(context);
		return 0;
	}
	begun = sn_engine_now(engine);
	sn_exchange_begin(engine->exchange, move);
	await_step(engine, &taken_ns);
	change(context);
	move.kind = SN_MOVE_DRAIN;
	sn_exchange_begin(engine->exchange, move);
	await_step(engine, &taken_ns);
	*blocked_ns = taken_ns - begun;
	return 0;
}

void sn_shards_level(struct sn_engine *engine)
{
	if (!sn_state_starved(engine->state))
		return;
	sn_engine_hold(engine);
	sn_state_level(engine->state);
	sn_engine_release(engine);
}
