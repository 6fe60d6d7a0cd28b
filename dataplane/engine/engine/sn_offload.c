/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_offload.h"

#include <stdlib.h>
#include <string.h>

#include "sn_capability.h"
#include "sn_log.h"
#include "sn_messages.h"

#define SN_STEPS_MAX	   65536
#define SN_FLOW_TABLES	   2
#define SN_LOOKS_PER_WATCH (1u << 20) /* rules compared with packets: a few milliseconds */
#define SN_WATCH_MS	   100
#define SN_RESETS_MS	   1000
#define SN_SECOND	   UINT64_C(1000000000) /* ns */
#define SN_RESET_PAUSE	   SN_SECOND		/* after a reset that failed; doubled each time */
#define SN_RESET_PAUSE_MAX (32 * SN_SECOND)

/* ---- life ---- */

struct sn_offload {
	struct sn_ports ports;
	struct sn_threads *threads;
	struct sn_shards *shards;
	struct sn_flows *flows;	 /* by port */
	uint64_t *misclassified; /* by port: wrong marks that are settled */
};

struct sn_offload *sn_offload_create(struct sn_ports ports, struct sn_threads *threads,
				     struct sn_shards *shards, struct sn_error *err)
{
	struct sn_offload *offload = malloc(sizeof(*offload));

	if (offload == NULL)
		goto no_memory;
	*offload = (struct sn_offload){.ports = ports, .threads = threads, .shards = shards};
	offload->flows = calloc(ports.n + 1, sizeof(*offload->flows));
	offload->misclassified = calloc(ports.n + 1, sizeof(*offload->misclassified));
	if (offload->flows == NULL || offload->misclassified == NULL)
		goto no_memory;
	for (unsigned int i = 0; i < ports.n; i++) {
		const struct sn_port *port = &ports.all[i];

		sn_flows_init(&offload->flows[i],
			      sn_steer_device(port->id, port->driver, (uint16_t)sn_threads_count(threads)));
	}
	return offload;
no_memory:
	sn_fail(err, "no memory for the rules of %u ports", ports.n);
	sn_offload_free(offload);
	return NULL;
}

void sn_offload_stop(struct sn_offload *offload)
{
	for (unsigned int i = 0; i < offload->ports.n; i++)
		sn_flows_clear(&offload->flows[i]);
}

void sn_offload_free(struct sn_offload *offload)
{
	if (offload == NULL)
		return;
	free(offload->flows);
	free(offload->misclassified);
	free(offload);
}

struct sn_flows *sn_offload_flows(const struct sn_offload *offload, const struct sn_port *port)
{
	return port != NULL ? &offload->flows[port - offload->ports.all] : NULL;
}

static struct sn_port *find_port(const struct sn_offload *offload, const char *interface,
				 struct sn_error *err)
{
	struct sn_port *port = sn_port_of(&offload->ports, interface);

	if (port == NULL)
		sn_fail(err, "flows: interface \"%s\" is bound to no device of this engine", interface);
	return port;
}

/* ---- an update, read ---- */

struct step {
	uint32_t index; /* in the update */
	uint32_t number;
	bool create;
	struct sn_steer_rule rule;
};

static int read_conds(const Sinter__Flows__V1__FlowRule *message, struct sn_steer_match *match,
		      struct sn_error *err)
{
	for (size_t i = 0; i < message->n_conds; i++) {
		const Sinter__Flows__V1__FlowCond *c = message->conds[i];

		if ((unsigned int)c->field >= SN_FIELDS)
			return sn_fail(err, "field %d, there are %d", (int)c->field, SN_FIELDS);
		if (!sn_cond_any(&match->conds[c->field]))
			return sn_fail(err, "field %d has two conditions, want one", (int)c->field);
		match->conds[c->field] =
			(struct sn_cond){.value = c->value, .mask = c->mask, .last = c->last};
	}
	return 0;
}

static int read_rule(const struct sn_flows *flows, const Sinter__Flows__V1__FlowRule *message,
		     struct sn_steer_rule *rule, struct sn_error *err)
{
	size_t mac = message->dst_mac.len;

	*rule = (struct sn_steer_rule){
		.table = message->table,
		.priority = message->priority,
		.action = (enum sn_steer_action)message->action,
		.queue = (uint16_t)message->queue,
		.mark = message->mark,
		.count = message->count,
	};
	if (message->table >= SN_FLOW_TABLES)
		return sn_fail(err, "table %u, there are %d", message->table, SN_FLOW_TABLES);
	if ((unsigned int)message->action > SN_STEER_DROP)
		return sn_fail(err, "action %d, want pass, queue, jump or drop", (int)message->action);
	if (rule->action == SN_STEER_JUMP && message->table + 1 == SN_FLOW_TABLES)
		return sn_fail(err, "a jump from table %u, which is the last", message->table);
	if (rule->action == SN_STEER_QUEUE && message->queue >= flows->device.queues)
		return sn_fail(err, "queue %u, the port has %u", message->queue, flows->device.queues);
	if (rule->action == SN_STEER_DROP && message->mark != 0)
		return sn_fail(err, "mark %#x on packets that are dropped", message->mark);
	if (mac != 0 && mac != RTE_ETHER_ADDR_LEN)
		return sn_fail(err, "dst_mac of %zu bytes, want %d", mac, RTE_ETHER_ADDR_LEN);
	if (mac != 0)
		memcpy(&rule->match.mac, message->dst_mac.data, mac);
	if (read_conds(message, &rule->match, err) != 0)
		return -1;
	return sn_steer_check(rule, err);
}

static int by_number(const void *a, const void *b)
{
	const struct step *x = *(const struct step *const *)a, *y = *(const struct step *const *)b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Each number is free when a rule is made under it, and there when it is destroyed. */
static int check_numbers(const struct sn_flows *flows, const struct step *steps, size_t n,
			 const struct step **order, struct sn_error *err)
{
	bool there = false;

	for (size_t i = 0; i < n; i++)
		order[i] = &steps[i];
	qsort(order, n, sizeof(struct step *), by_number);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || order[i]->number != order[i - 1]->number)
			there = sn_flows_find(flows, order[i]->number) != NULL;
		if (order[i]->create == there)
			return sn_fail(err, "step %u: there is %s rule %u", order[i]->index,
				       there ? "already a" : "no", order[i]->number);
		there = order[i]->create;
	}
	return 0;
}

/* The steps in the arena, NULL with a message in err. */
static struct step *read_steps(const struct sn_flows *flows, const Sinter__Flows__V1__UpdateFlows *update,
			       struct sn_arena *arena, struct sn_error *err)
{
	struct step *steps = sn_arena_alloc(arena, (update->n_steps + 1) * sizeof(*steps));
	const struct step **order = sn_arena_alloc(arena, (update->n_steps + 1) * sizeof(*order));

	if (steps == NULL || order == NULL) {
		sn_fail(err, "no memory for %zu steps", update->n_steps);
		return NULL;
	}
	for (size_t i = 0; i < update->n_steps; i++) {
		const Sinter__Flows__V1__FlowStep *step = update->steps[i];

		steps[i] = (struct step){.index = (uint32_t)i, .number = step->destroy};
		if (step->step_case == SINTER__FLOWS__V1__FLOW_STEP__STEP_DESTROY)
			continue;
		if (step->step_case != SINTER__FLOWS__V1__FLOW_STEP__STEP_CREATE) {
			sn_fail(err, "step %zu creates and destroys nothing", i);
			return NULL;
		}
		steps[i].create = true;
		steps[i].number = step->create->number;
		if (read_rule(flows, step->create, &steps[i].rule, err) != 0) {
			sn_fail_in(err, "step %zu, rule %u", i, steps[i].number);
			return NULL;
		}
	}
	return check_numbers(flows, steps, update->n_steps, order, err) == 0 ? steps : NULL;
}

/* ---- an update, done ---- */

struct change {
	const struct sn_threads *threads; /* whose clock it is */
	struct sn_flows *flows;
	const struct step *steps;
	size_t n, done;
	struct sn_error words; /* of the driver, about the step that it refused */
};

static void do_steps(void *context)
{
	struct change *c = context;

	for (; c->done < c->n; c->done++) {
		const struct step *s = &c->steps[c->done];
		int rc = s->create
				 ? sn_flows_create(c->flows, s->number, &s->rule, &c->words)
				 : sn_flows_destroy(c->flows, sn_flows_find(c->flows, s->number), &c->words);

		if (rc != 0)
			break;
	}
	c->flows->changed_ns = sn_threads_now(c->threads);
}

static uint64_t sum_misclassified(const struct sn_offload *offload, const struct sn_port *port)
{
	const struct sn_plan *plan = sn_threads_plan(offload->threads);
	uint64_t sum = 0;

	for (uint32_t i = 0; plan != NULL && i < plan->program->n_interfaces; i++)
		for (unsigned int w = 0; plan->ports[i] == port && w < sn_threads_count(offload->threads);
		     w++)
			sum += sn_worker_stats(sn_threads_worker(offload->threads, w))
				       ->ports[i]
				       .misclassified;
	return sum;
}

/* The workers learn of it. */
static void watch(struct sn_offload *offload, struct sn_port *port, bool watched)
{
	sn_threads_hold(offload->threads);
	port->watched = watched;
	sn_threads_release(offload->threads);
}

/* And that wrong marks of before are settled. */
static void tell(struct sn_offload *offload, struct sn_port *port, bool watched, bool believed)
{
	sn_threads_hold(offload->threads);
	port->watched = watched;
	port->believed = believed;
	offload->misclassified[port - offload->ports.all] = sum_misclassified(offload, port);
	sn_threads_release(offload->threads);
}

static int check_belief(const struct sn_offload *offload, Sinter__Flows__V1__MarkBelief belief,
			struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(offload->threads);

	if ((unsigned int)belief > SINTER__FLOWS__V1__MARK_BELIEF__NOT_BELIEVED)
		return sn_fail(err, "belief %d, want kept, believed or not believed", (int)belief);
	if (belief == SINTER__FLOWS__V1__MARK_BELIEF__BELIEVED && (plan == NULL || plan->marks.shift == 0))
		return sn_fail(err, "belief: no program with marks is loaded that could be believed");
	return 0;
}

static void apply_belief(struct sn_offload *offload, struct sn_port *port, const struct sn_flows *flows,
			 Sinter__Flows__V1__MarkBelief belief)
{
	bool watched = flows->n > 0, believed = port->believed;

	if (belief != SINTER__FLOWS__V1__MARK_BELIEF__BELIEF_KEPT)
		believed = belief == SINTER__FLOWS__V1__MARK_BELIEF__BELIEVED;
	/* A worker may have stopped believing by itself. */
	if (watched != port->watched || belief != SINTER__FLOWS__V1__MARK_BELIEF__BELIEF_KEPT)
		tell(offload, port, watched, believed);
}

int sn_offload_update(struct sn_offload *offload, const Sinter__Flows__V1__UpdateFlows *update,
		      struct sn_arena *arena, Sinter__Flows__V1__FlowsUpdated *updated, struct sn_error *err)
{
	struct sn_port *port = find_port(offload, update->interface, err);
	uint64_t begun = sn_threads_now(offload->threads);
	struct change *change;

	if (port == NULL)
		return -1;
	if (update->n_steps > SN_STEPS_MAX)
		return sn_fail(err, "flows: %zu steps, at most %d", update->n_steps, SN_STEPS_MAX);
	change = sn_arena_alloc(arena, sizeof(*change));
	if (change == NULL)
		return sn_fail(err, "no memory for an update");
	*change = (struct change){
		.threads = offload->threads, .flows = sn_offload_flows(offload, port), .n = update->n_steps};
	change->steps = read_steps(change->flows, update, arena, err);
	if (change->steps == NULL || check_belief(offload, update->belief, err) != 0)
		return -1;
	if (update->turn != NULL) {
		if (sn_shards_turn(offload->shards, update->turn->shard, update->turn->from, do_steps, change,
				   &updated->blocked_ns, err) != 0)
			return -1;
	} else {
		do_steps(change);
	}
	apply_belief(offload, port, change->flows, update->belief);
	updated->done = (uint32_t)change->done;
	updated->refused = change->words.text;
	updated->took_ns = sn_threads_now(offload->threads) - begun;
	if (change->done < change->n)
		sn_log(SN_LOG_WARN, "port=%s rule %u is refused: %s", port->bind.interface,
		       change->steps[change->done].number, change->words.text);
	return 0;
}

/* ---- questions ---- */

int sn_offload_list(struct sn_offload *offload, const Sinter__Flows__V1__GetFlows *request,
		    struct sn_arena *arena, Sinter__Flows__V1__FlowList *list, struct sn_error *err)
{
	const struct sn_port *port = find_port(offload, request->interface, err);
	struct sn_flows *flows;

	if (port == NULL)
		return -1;
	flows = sn_offload_flows(offload, port);
	sn_flows_count(flows);
	list->flows = SN_NEW_ARRAY(arena, Sinter__Flows__V1__FlowState, sinter__flows__v1__flow_state__init,
				   flows->n);
	if (list->flows == NULL)
		return sn_fail(err, "no memory for the answer");
	list->n_flows = flows->n;
	for (uint32_t i = 0; i < flows->n; i++) {
		const struct sn_flow_rule *rule = flows->by_number[i];
		Sinter__Flows__V1__FlowState *state = list->flows[i];

		state->number = rule->number;
		state->packets = rule->packets;
		state->bytes = rule->bytes;
		state->verdict = (Sinter__Flows__V1__FlowState__Verdict)sn_flow_verdict(rule);
		state->agreed = rule->agreed;
		state->contradicted = rule->contradicted;
	}
	list->resets = flows->resets;
	list->lost = flows->lost.text;
	list->believed = port->believed;
	list->no_rule = flows->counts.no_rule;
	return 0;
}

int sn_offload_devices(struct sn_offload *offload, const Sinter__Flows__V1__GetDevices *request,
		       struct sn_arena *arena, Sinter__Flows__V1__DeviceList *list, struct sn_error *err)
{
	if (offload->ports.n == 0)
		return sn_fail(err, "devices: this engine has none");
	list->devices = SN_NEW_ARRAY(arena, Sinter__Flows__V1__Device, sinter__flows__v1__device__init,
				     offload->ports.n);
	if (list->devices == NULL)
		return sn_fail(err, "no memory for the answer");
	list->n_devices = offload->ports.n;
	for (unsigned int i = 0; i < offload->ports.n; i++)
		if (sn_capability_report(&offload->ports.all[i], &offload->flows[i], request->try_rules,
					 arena, list->devices[i]) != 0)
			return sn_fail(err, "no memory for the answer");
	return 0;
}

/* ---- the watch ---- */

static void see(struct sn_offload *offload, const struct sn_sample *sample, uint32_t *looks)
{
	for (unsigned int i = 0; i < offload->ports.n; i++)
		if (offload->flows[i].device.port == sample->port && *looks < SN_LOOKS_PER_WATCH)
			*looks += sn_flows_see(&offload->flows[i], sample);
}

static void doubt(struct sn_offload *offload, struct sn_port *port)
{
	if (!port->believed ||
	    sum_misclassified(offload, port) == offload->misclassified[port - offload->ports.all])
		return;
	sn_log(SN_LOG_WARN, "port=%s a mark was wrong: its marks are no longer believed",
	       port->bind.interface);
	tell(offload, port, port->watched, false);
}

/* The device as it was, without rules. */
static int reset_port(struct sn_offload *offload, struct sn_port *port, struct sn_error *err)
{
	int rc;

	sn_threads_hold(offload->threads);
	rc = sn_port_reset(port, err);
	if (rc == 0)
		sn_shards_map(offload->shards);
	sn_threads_release(offload->threads);
	return rc;
}

static void put_off_reset(struct sn_flows *flows, uint64_t now)
{
	flows->pause_ns = RTE_MIN(RTE_MAX(2 * flows->pause_ns, SN_RESET_PAUSE), SN_RESET_PAUSE_MAX);
	flows->reset_ns = now + flows->pause_ns;
}

static void reset(struct sn_offload *offload, struct sn_port *port)
{
	struct sn_flows *flows = sn_offload_flows(offload, port);
	struct sn_error err = {0};
	int rc;

	if (!sn_port_wants_reset(port) || sn_threads_now(offload->threads) < flows->reset_ns)
		return;
	rc = reset_port(offload, port, &err);
	sn_flows_lose(flows);
	if (rc != 0) {
		put_off_reset(flows, sn_threads_now(offload->threads));
		sn_log(SN_LOG_ERROR, "%s; tried again in %lu s", err.text,
		       (unsigned long)(flows->pause_ns / SN_SECOND));
		return;
	}
	flows->reset_ns = flows->pause_ns = 0;
	/* Thousands of rules take a driver seconds: packets go on without them. */
	sn_flows_restore(flows);
	flows->changed_ns = sn_threads_now(offload->threads);
	if (port->watched != (flows->n > 0))
		watch(offload, port, flows->n > 0);
	sn_log(SN_LOG_WARN, "port=%s was reset, with %u rules%s%s", port->bind.interface, flows->n,
	       flows->lost.text[0] != '\0' ? "; lost some: " : "", flows->lost.text);
}

int sn_offload_watch(struct sn_offload *offload)
{
	struct sn_sample sample;
	bool rules = false, resets = false;
	uint32_t looks = 0;

	for (unsigned int i = 0; i < sn_threads_count(offload->threads); i++)
		while (sn_threads_sample(offload->threads, i, &sample))
			see(offload, &sample, &looks);
	for (unsigned int i = 0; i < offload->ports.n; i++) {
		struct sn_port *port = &offload->ports.all[i];

		doubt(offload, port);
		reset(offload, port);
		rules |= offload->flows[i].n > 0;
		resets |= port->bind.kind == SN_PORT_PCI;
	}
	return rules ? SN_WATCH_MS : resets ? SN_RESETS_MS : -1;
}
