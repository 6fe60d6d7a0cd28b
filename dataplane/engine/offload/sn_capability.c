/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_capability.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "sn_messages.h"
#include "sn_rss.h"

#define NOBODY	       UINT32_MAX /* the source of what is never forwarded */
#define PRIORITIES_MAX 65536
#define REFUSALS_MAX   64
#define TRY_RULES_MAX  65536
#define OF_MAX	       64

typedef Sinter__Flows__V1__FlowCapabilities capabilities;
typedef Sinter__Flows__V1__FlowCapabilities__Matching matching;

#define MATCHING(name) SINTER__FLOWS__V1__FLOW_CAPABILITIES__MATCHING__##name

struct trial {
	const struct sn_steer_device *device;
	struct sn_arena *arena;
	capabilities *found;
	bool out_of_memory;
};

static char *copy(struct trial *t, const char *text)
{
	size_t size = strlen(text) + 1;
	char *out = sn_arena_alloc(t->arena, size);

	if (out != NULL)
		memcpy(out, text, size);
	t->out_of_memory |= out == NULL;
	return out;
}

static void note_refusal(struct trial *t, const char *of, const char *words)
{
	Sinter__Flows__V1__FlowRefusal *r;

	if (t->found->n_refusals == REFUSALS_MAX)
		return;
	r = SN_NEW(t->arena, Sinter__Flows__V1__FlowRefusal, sinter__flows__v1__flow_refusal__init);
	if (r == NULL) {
		t->out_of_memory = true;
		return;
	}
	r->of = copy(t, of);
	r->words = copy(t, words);
	t->found->refusals[t->found->n_refusals++] = r;
}

/* Whether the driver takes a rule. */
static bool takes(struct trial *t, const struct sn_steer_rule *rule, const char *of)
{
	struct sn_error words = {0};
	struct rte_flow *flow = sn_steer_install(t->device, rule, &words);
	uint64_t packets, bytes;
	bool ok = flow != NULL;

	if (ok && rule->count)
		ok = sn_steer_count(t->device, flow, &packets, &bytes, &words) == 0;
	if (!ok && of != NULL)
		note_refusal(t, of, words.text);
	/* One that stays would be a rule for nothing. */
	if (flow != NULL)
		(void)sn_steer_remove(t->device, flow, &words);
	return ok;
}

static struct sn_steer_rule for_nobody(void)
{
	struct sn_steer_rule rule = {.action = SN_STEER_QUEUE};

	rule.match.conds[SN_SRC] = sn_cond_is(SN_SRC, NOBODY);
	return rule;
}

/* A condition of a kind; of a source none that a packet could meet which is forwarded. */
static struct sn_cond cond_of(enum sn_field field, matching how)
{
	uint32_t all = field == SN_VLAN ? 0xfff : sn_steer_mask(field), value = field == SN_VLAN ? 100 : all;

	switch (how) {
	case MATCHING(EXACT):
		return sn_cond_is(field, field == SN_PROTO ? IPPROTO_UDP : value);
	case MATCHING(PREFIX):
		all &= ~3u;
		return (struct sn_cond){.value = value & all, .mask = all};
	case MATCHING(MASKED):
		all &= ~2u; /* of 255.255.255.255: 255.255.255.253 is meant as well */
		return (struct sn_cond){.value = value & all, .mask = all};
	default:
		return (struct sn_cond){.value = value - 5, .last = value};
	}
}

static bool matches(struct trial *t, enum sn_field field, matching how, uint32_t proto)
{
	static const char *const ways[] = {"", "by whole value", "by prefix", "by any bits", "by range"};
	struct sn_steer_rule rule = for_nobody();
	char of[OF_MAX];

	snprintf(of, sizeof(of), "%s %s%s", sn_steer_field_name(field), ways[how],
		 proto == IPPROTO_TCP	? " of TCP"
		 : proto == IPPROTO_UDP ? " of UDP"
					: "");
	if (proto != 0)
		rule.match.conds[SN_PROTO] = sn_cond_is(SN_PROTO, proto);
	rule.match.conds[field] = cond_of(field, how);
	return takes(t, &rule, of);
}

/* Each way can do what those before it can. */
static matching best(struct trial *t, enum sn_field field, uint32_t proto)
{
	matching how = MATCHING(NEVER);

	while (how < MATCHING(RANGED) && matches(t, field, how + 1, proto))
		how++;
	return how;
}

static matching matching_of(struct trial *t, enum sn_field field)
{
	switch (field) {
	case SN_SPORT:
	case SN_DPORT:
		return RTE_MIN(best(t, field, IPPROTO_TCP), best(t, field, IPPROTO_UDP));
	case SN_TCP_FLAGS:
		return best(t, field, IPPROTO_TCP);
	case SN_ICMP_TYPE:
	case SN_ICMP_CODE:
		return best(t, field, IPPROTO_ICMP);
	default:
		return best(t, field, 0);
	}
}

static void try_fields(struct trial *t)
{
	struct sn_steer_rule rule;

	t->found->fields =
		SN_NEW_ARRAY(t->arena, Sinter__Flows__V1__FlowCapabilities__FieldMatching,
			     sinter__flows__v1__flow_capabilities__field_matching__init, SN_FIELDS);
	if (t->found->fields == NULL) {
		t->out_of_memory = true;
		return;
	}
	for (enum sn_field f = 0; f < SN_FIELDS; f++) {
		Sinter__Flows__V1__FlowCapabilities__FieldMatching *m = t->found->fields[t->found->n_fields];

		if (f == SN_FRAG)
			continue;
		m->field = (Sinter__Program__V1__Field)f;
		m->matching = matching_of(t, f);
		if (m->matching != MATCHING(NEVER))
			t->found->n_fields++;
	}
	rule = for_nobody();
	rule.match.conds[SN_FRAG] = sn_cond_is(SN_FRAG, 0);
	if (takes(t, &rule, "whole packets"))
		t->found->fragments = SINTER__FLOWS__V1__FLOW_CAPABILITIES__FRAGMENTS__FRAGMENTS_TOLD;
	rule = for_nobody();
	rule.match.conds[SN_VLAN] = sn_cond_is(SN_VLAN, SN_VLAN_ABSENT);
	t->found->untagged = takes(t, &rule, "no tag");
	rule = for_nobody();
	rule.match.mac = (struct rte_ether_addr){{0x02, 0x53, 0x6e, 0, 0, 0xb1}};
	t->found->dst_mac = takes(t, &rule, "destination MAC address");
}

static uint32_t try_priorities(struct trial *t)
{
	struct sn_steer_rule rule = for_nobody();
	uint32_t low = 0, high = 1; /* low is taken, high is not */

	for (; high < PRIORITIES_MAX; high *= 2) {
		rule.priority = high;
		if (!takes(t, &rule, NULL))
			break;
		low = high;
	}
	if (low == 0)
		takes(t, &rule, "priority 1");
	while (high - low > 1 && high < PRIORITIES_MAX) {
		rule.priority = low + (high - low) / 2;
		if (takes(t, &rule, NULL))
			low = rule.priority;
		else
			high = rule.priority;
	}
	return low + 1;
}

static uint32_t try_marks(struct trial *t)
{
	static const uint32_t widths[] = {32, 28, 24, 20, 16, 12, 8};
	struct sn_steer_rule rule = for_nobody();

	for (size_t i = 0; i < RTE_DIM(widths); i++) {
		rule.mark = UINT32_MAX >> (32 - widths[i]);
		if (takes(t, &rule, i + 1 == RTE_DIM(widths) ? "mark" : NULL))
			return widths[i];
	}
	return 0;
}

static void try_actions(struct trial *t)
{
	struct sn_steer_rule rule = for_nobody();

	rule.queue = (uint16_t)(t->device->queues - 1);
	t->found->queue = takes(t, &rule, "queue");
	rule = for_nobody();
	rule.action = SN_STEER_DROP;
	t->found->drop = takes(t, &rule, "drop");
	rule.count = true;
	t->found->count = takes(t, &rule, "count");
	rule = for_nobody();
	rule.action = SN_STEER_JUMP;
	t->found->jump = takes(t, &rule, "jump");
	if (t->found->jump) {
		rule = for_nobody();
		rule.table = 1;
		t->found->jump = takes(t, &rule, "a second table");
	}
	t->found->mark_bits = try_marks(t);
	t->found->priorities = try_priorities(t);
}

/* Rules for one packet each, until the driver takes no more. */
static uint32_t try_room(struct trial *t, uint32_t most)
{
	struct rte_flow **made = calloc(most + 1, sizeof(struct rte_flow *));
	struct sn_steer_rule rule = for_nobody();
	struct sn_error words;
	uint32_t n = 0;

	t->out_of_memory |= made == NULL;
	for (; made != NULL && n < most; n++) {
		rule.match.conds[SN_DST] = sn_cond_is(SN_DST, n + 1);
		made[n] = sn_steer_install(t->device, &rule, &words);
		if (made[n] == NULL)
			break;
	}
	for (uint32_t i = n; i-- > 0;)
		(void)sn_steer_remove(t->device, made[i], &words);
	free(made);
	return n;
}

static bool report_flows(const struct sn_flows *flows, uint32_t try_rules, struct sn_arena *arena,
			 capabilities *found)
{
	struct trial t = {.device = &flows->device, .arena = arena, .found = found};
	struct sn_steer_rule simplest = for_nobody();

	found->refusals = sn_arena_alloc(arena, REFUSALS_MAX * sizeof(*found->refusals));
	if (found->refusals == NULL)
		return false;
	/* A device without priorities, tables or whatever may still know addresses; some know whole flows
	 * only. */
	if (!takes(&t, &simplest, "src by whole value")) {
		if (found->n_refusals > 0)
			found->refused = found->refusals[0]->words;
		return !t.out_of_memory;
	}
	try_fields(&t);
	try_actions(&t);
	if (try_rules > 0)
		found->rules = flows->n + try_room(&t, RTE_MIN(try_rules, (uint32_t)TRY_RULES_MAX));
	return !t.out_of_memory;
}

/* A driver that takes the key that it has takes others. */
static void report_hash(const struct sn_port *port, Sinter__Flows__V1__HashCapabilities *hash)
{
	uint8_t key[SN_RSS_KEY_MAX] = {0};
	struct rte_eth_rss_conf conf = {.rss_key = key};
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port->id, &info) != 0)
		return;
	hash->buckets = info.reta_size;
	hash->ports = (info.flow_type_rss_offloads & SN_PORT_HASHED) == SN_PORT_HASHED;
	conf.rss_key_len = sn_port_key_len(&info);
	hash->key = info.flow_type_rss_offloads != 0 && conf.rss_key_len <= SN_RSS_KEY_MAX &&
		    rte_eth_dev_rss_hash_conf_get(port->id, &conf) == 0 &&
		    rte_eth_dev_rss_hash_update(port->id, &conf) == 0;
}

int sn_capability_report(const struct sn_port *port, const struct sn_flows *flows, uint32_t try_rules,
			 struct sn_arena *arena, Sinter__Flows__V1__Device *device)
{
	device->interface = (char *)port->bind.interface;
	device->device = (char *)port->bind.device;
	device->driver = (char *)port->driver;
	device->queues = flows->device.queues;
	device->flows = SN_NEW(arena, Sinter__Flows__V1__FlowCapabilities,
			       sinter__flows__v1__flow_capabilities__init);
	device->hash = SN_NEW(arena, Sinter__Flows__V1__HashCapabilities,
			      sinter__flows__v1__hash_capabilities__init);
	if (device->flows == NULL || device->hash == NULL)
		return -1;
	report_hash(port, device->hash);
	return report_flows(flows, try_rules, arena, device->flows) ? 0 : -1;
}
