/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_flows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_log.h"

#define TABLES_MAX 2 /* on a packet's way */

void sn_flows_init(struct sn_flows *flows, struct sn_steer_device device)
{
	*flows = (struct sn_flows){.device = device};
}

/* ---- both orders ---- */

static int compare_numbers(const struct sn_flow_rule *a, const struct sn_flow_rule *b)
{
	return (a->number > b->number) - (a->number < b->number);
}

static int compare_places(const struct sn_flow_rule *a, const struct sn_flow_rule *b)
{
	if (a->rule.table != b->rule.table)
		return a->rule.table < b->rule.table ? -1 : 1;
	if (a->rule.priority != b->rule.priority)
		return a->rule.priority < b->rule.priority ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

typedef int (*compare_fn)(const struct sn_flow_rule *a, const struct sn_flow_rule *b);

/* Where the rule is, or belongs. */
static uint32_t position(struct sn_flow_rule *const *list, uint32_t n, const struct sn_flow_rule *rule,
			 compare_fn compare)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare(list[middle], rule) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct sn_flow_rule **list, uint32_t n, struct sn_flow_rule *rule, compare_fn compare)
{
	uint32_t at = position(list, n, rule, compare);

	memmove(&list[at + 1], &list[at], (n - at) * sizeof(*list));
	list[at] = rule;
}

static void extract(struct sn_flow_rule **list, uint32_t n, const struct sn_flow_rule *rule,
		    compare_fn compare)
{
	uint32_t at = position(list, n, rule, compare);

	memmove(&list[at], &list[at + 1], (n - at - 1) * sizeof(*list));
}

struct sn_flow_rule *sn_flows_find(const struct sn_flows *f, uint32_t number)
{
	const struct sn_flow_rule wanted = {.number = number};
	uint32_t at = position(f->by_number, f->n, &wanted, compare_numbers);

	return at < f->n && f->by_number[at]->number == number ? f->by_number[at] : NULL;
}

/* ---- changes ---- */

static int make_room(struct sn_flows *f)
{
	uint32_t room = f->room > 0 ? 2 * f->room : 64;
	struct sn_flow_rule **list;

	if (f->n < f->room)
		return 0;
	list = realloc(f->by_number, room * sizeof(struct sn_flow_rule *));
	if (list == NULL)
		return -1;
	f->by_number = list;
	list = realloc(f->by_place, room * sizeof(struct sn_flow_rule *));
	if (list == NULL)
		return -1;
	f->by_place = list;
	f->room = room;
	return 0;
}

int sn_flows_create(struct sn_flows *f, uint32_t number, const struct sn_steer_rule *rule,
		    struct sn_error *err)
{
	struct sn_flow_rule *made = calloc(1, sizeof(*made));

	if (made == NULL || make_room(f) != 0) {
		free(made);
		return sn_fail(err, "no memory for a rule");
	}
	made->flow = sn_steer_install(&f->device, rule, err);
	if (made->flow == NULL) {
		free(made);
		return -1;
	}
	made->number = number;
	made->order = f->orders++;
	made->rule = *rule;
	insert(f->by_number, f->n, made, compare_numbers);
	insert(f->by_place, f->n, made, compare_places);
	f->n++;
	return 0;
}

static void forget(struct sn_flows *f, struct sn_flow_rule *rule)
{
	extract(f->by_number, f->n, rule, compare_numbers);
	extract(f->by_place, f->n, rule, compare_places);
	f->n--;
	free(rule);
}

int sn_flows_destroy(struct sn_flows *f, struct sn_flow_rule *rule, struct sn_error *err)
{
	if (rule->flow != NULL && sn_steer_remove(&f->device, rule->flow, err) != 0)
		return -1;
	forget(f, rule);
	return 0;
}

void sn_flows_clear(struct sn_flows *f)
{
	struct sn_error err;

	while (f->n > 0) {
		struct sn_flow_rule *last = f->by_number[f->n - 1];

		if (last->flow != NULL && sn_steer_remove(&f->device, last->flow, &err) != 0)
			sn_log(SN_LOG_WARN, "port=%u rule %u is not taken out: %s", f->device.port,
			       last->number, err.text);
		forget(f, last);
	}
	free(f->by_number);
	free(f->by_place);
	f->by_number = f->by_place = NULL;
	f->room = 0;
}

void sn_flows_lose(struct sn_flows *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		f->by_number[i]->flow = NULL;
}

/* Rules in an order in which each relies on those before it only: the last table, from its end, before what
 * jumps there; the first from the top. */
static void order_for_making(const struct sn_flows *f, struct sn_flow_rule **list)
{
	uint32_t n = 0, first = 0;

	while (first < f->n && f->by_place[first]->rule.table == 0)
		first++;
	for (uint32_t i = f->n; i > first; i--)
		list[n++] = f->by_place[i - 1];
	memcpy(&list[n], f->by_place, first * sizeof(*list));
}

void sn_flows_restore(struct sn_flows *f)
{
	uint32_t n = f->n, made = 0;
	struct sn_flow_rule **list = calloc(n + 1, sizeof(struct sn_flow_rule *));

	f->resets++;
	f->lost.text[0] = '\0';
	if (list == NULL) {
		sn_fail(&f->lost, "no memory");
		sn_flows_clear(f);
		return;
	}
	if (n > 0)
		order_for_making(f, list);
	for (; made < n; made++) {
		struct sn_flow_rule *rule = list[made];

		rule->packets_before = rule->packets;
		rule->bytes_before = rule->bytes;
		rule->flow = sn_steer_install(&f->device, &rule->rule, &f->lost);
		if (rule->flow == NULL)
			break;
	}
	/* Without the one that was refused, those behind it could take packets that are its. */
	while (made < n)
		forget(f, list[made++]);
	free(list);
}

void sn_flows_count(struct sn_flows *f)
{
	struct sn_error err;

	for (uint32_t i = 0; i < f->n; i++) {
		struct sn_flow_rule *rule = f->by_number[i];
		uint64_t packets, bytes;

		if (!rule->rule.count || rule->flow == NULL ||
		    sn_steer_count(&f->device, rule->flow, &packets, &bytes, &err) != 0)
			continue;
		rule->packets = rule->packets_before + packets;
		rule->bytes = rule->bytes_before + bytes;
	}
}

/* ---- what was seen ---- */

static bool holds(const struct sn_steer_match *m, const struct sn_sample *sample)
{
	if (!rte_is_zero_ether_addr(&m->mac) && !rte_is_same_ether_addr(&m->mac, &sample->mac))
		return false;
	for (uint32_t f = 0; f < SN_FIELDS; f++)
		if (!sn_cond_holds(&m->conds[f], sample->fields[f]))
			return false;
	return true;
}

/* The rule of a table that decides about a packet. */
static struct sn_flow_rule *decide(const struct sn_flows *f, uint32_t table, const struct sn_sample *sample,
				   uint32_t *looked)
{
	const struct sn_flow_rule first = {.rule = {.table = table}};

	for (uint32_t i = position(f->by_place, f->n, &first, compare_places);
	     i < f->n && f->by_place[i]->rule.table == table; i++) {
		++*looked;
		if (holds(&f->by_place[i]->rule.match, sample))
			return f->by_place[i];
	}
	return NULL;
}

/* Whether a packet came as the rule that decides about it asks. */
static bool agrees(struct sn_flow_counts *c, const struct sn_flow_rule *r, uint32_t mark,
		   const struct sn_sample *sample)
{
	if (r->rule.action == SN_STEER_DROP) {
		c->undropped++;
		return false;
	}
	if (r->rule.action == SN_STEER_QUEUE && r->rule.queue != sample->queue) {
		c->misqueued++;
		return false;
	}
	if (mark != sample->mark) {
		c->mismarked++;
		return false;
	}
	return true;
}

uint32_t sn_flows_see(struct sn_flows *f, const struct sn_sample *sample)
{
	struct sn_flow_rule *way[TABLES_MAX];
	uint32_t n = 0, looked = 0, mark = 0;
	bool agreed;

	if (f->n == 0 || sample->time_ns < f->changed_ns + SN_FLOWS_GRACE_NS)
		return 0;
	do {
		way[n] = decide(f, n == 0 ? 0 : way[n - 1]->rule.table + 1, sample, &looked);
		if (way[n] == NULL)
			break;
		if (way[n]->rule.mark != 0)
			mark = way[n]->rule.mark;
		n++;
	} while (n < TABLES_MAX && way[n - 1]->rule.action == SN_STEER_JUMP);
	f->counts.checked++;
	if (n == 0) {
		f->counts.no_rule++;
		f->counts.mismarked += sample->mark != 0;
		return looked;
	}
	agreed = agrees(&f->counts, way[n - 1], mark, sample);
	for (uint32_t i = 0; i < n; i++) {
		way[i]->agreed += agreed;
		way[i]->contradicted += !agreed;
	}
	return looked;
}

enum sn_flow_verdict sn_flow_verdict(const struct sn_flow_rule *r)
{
	bool visible = r->rule.mark != 0 || r->rule.action == SN_STEER_QUEUE;

	if (r->contradicted > 0)
		return SN_FLOW_IGNORED;
	if (r->rule.action == SN_STEER_DROP)
		return r->packets > 0 ? SN_FLOW_EXECUTED : SN_FLOW_UNSEEN;
	return visible && r->agreed > 0 ? SN_FLOW_EXECUTED : SN_FLOW_UNSEEN;
}
