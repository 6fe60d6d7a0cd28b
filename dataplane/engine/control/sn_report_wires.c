/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_report_wires.h"

#include "sn_messages.h"
#include "sn_thread.h"
#include "sn_threads.h"
#include "sn_watch.h"
#include "sn_wires.h"

/* As the API has them. */
static const char *const names[SN_SPOT_CONTRADICTIONS] = {
	[SN_VLAN] = "VLAN",
	[SN_SRC] = "Source",
	[SN_DST] = "Destination",
	[SN_PROTO] = "Protocol",
	[SN_DSCP] = "DSCP",
	[SN_TTL] = "TTL",
	[SN_SPORT] = "SourcePort",
	[SN_DPORT] = "DestinationPort",
	[SN_SPOT_TTL_RAISED] = "TTLRaised",
	[SN_SPOT_DROPPED] = "Dropped",
	[SN_SPOT_RESIZED] = "Resized",
	[SN_SPOT_ORIGINATED] = "Originated",
	[SN_SPOT_REORDERED] = "Reordered",
};

static uint64_t relaxed(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

/* Findings of spot checks on a way through a function. */
static int report_spots(const struct sn_spots *spots, uint32_t allowed, struct sn_arena *arena,
			Sinter__Control__V1__WireStats *to)
{
	uint64_t now = sn_now_ns();

	to->checked = relaxed(&spots->checked);
	to->returned = relaxed(&spots->returned);
	to->lost = relaxed(&spots->lost);
	to->time_ns = relaxed(&spots->time);
	to->times = sn_arena_alloc(arena, SN_SPOT_TIMES * sizeof(*to->times));
	to->contradictions = SN_NEW_ARRAY(arena, Sinter__Control__V1__Contradiction,
					  sinter__control__v1__contradiction__init, SN_SPOT_CONTRADICTIONS);
	if (to->times == NULL || to->contradictions == NULL)
		return -1;
	to->n_times = SN_SPOT_TIMES;
	for (uint32_t i = 0; i < SN_SPOT_TIMES; i++)
		to->times[i] = relaxed(&spots->times[i]);
	for (uint32_t i = 0; i < SN_SPOT_CONTRADICTIONS; i++) {
		uint64_t packets = relaxed(&spots->contradicted[i]), at = relaxed(&spots->contradicted_at[i]);
		Sinter__Control__V1__Contradiction *c;

		if (packets == 0 || names[i] == NULL)
			continue;
		c = to->contradictions[to->n_contradictions++];
		c->what = (char *)(uintptr_t)names[i];
		c->packets = packets;
		c->lately = !(allowed >> i & 1) && now < at + SN_SPOT_LATELY_NS;
	}
	return 0;
}

/* Bit per contradiction that is none on a way. */
static uint32_t allowed_of(const struct sn_program *program, uint32_t back)
{
	uint32_t allowed = 0;

	for (uint32_t i = 0; i < program->n_stops; i++)
		if (program->stops[i].back == back)
			allowed |= sn_spot_allowed(&program->stops[i]);
	return allowed;
}

/* Hosts that are functions. */
static int report_hosts(const struct sn_threads *threads, struct sn_arena *arena,
			Sinter__Control__V1__Stats *stats)
{
	const struct sn_plan *plan = sn_threads_plan(threads);
	const struct sn_program *program = plan->program;

	stats->hosts =
		SN_NEW_ARRAY(arena, Sinter__Control__V1__HostStats, sinter__control__v1__host_stats__init,
			     (size_t)__builtin_popcountll(program->watched));
	if (stats->hosts == NULL)
		return -1;
	for (uint64_t left = program->watched; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		const struct sn_watch *w =
			sn_watches_of(sn_threads_watches(threads),
				      plan->ports[i] != NULL ? plan->ports[i]->id : (uint16_t)i);
		Sinter__Control__V1__HostStats *to = stats->hosts[stats->n_hosts++];

		to->interface = program->interfaces[i].name;
		to->address = program->interfaces[i].watched;
		if (w == NULL)
			continue;
		to->down = atomic_load_explicit(&w->down, memory_order_relaxed);
		to->questions = relaxed(&w->questions);
		to->answers = relaxed(&w->answers);
	}
	return 0;
}

int sn_report_wires(const struct sn_engine *engine, struct sn_arena *arena, Sinter__Control__V1__Stats *stats)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	const struct sn_plan *plan = sn_threads_plan(threads);
	const struct sn_program *program = plan->program;

	stats->wires =
		SN_NEW_ARRAY(arena, Sinter__Control__V1__WireStats, sinter__control__v1__wire_stats__init,
			     (size_t)__builtin_popcountll(program->returns));
	if (stats->wires == NULL)
		return -1;
	for (uint64_t left = program->returns; left != 0; left &= left - 1) {
		uint32_t back = (uint32_t)__builtin_ctzll(left);
		const struct sn_wire *wire =
			sn_wires_of(sn_threads_wires(threads),
				    plan->ports[back] != NULL ? plan->ports[back]->id : (uint16_t)back);
		Sinter__Control__V1__WireStats *to = stats->wires[stats->n_wires++];

		to->out = program->interfaces[program->interfaces[back].left_by].name;
		to->back = program->interfaces[back].name;
		to->watched = program->probed >> back & 1;
		if (wire == NULL)
			continue;
		to->down = to->watched && atomic_load_explicit(&wire->down, memory_order_relaxed);
		to->probes = relaxed(&wire->probes);
		to->answers = relaxed(&wire->answers);
		if (report_spots(&wire->spots, allowed_of(program, back), arena, to) != 0)
			return -1;
	}
	return report_hosts(threads, arena, stats);
}
