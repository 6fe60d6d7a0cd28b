/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_steer.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_errno.h>

#define FRAGMENT_BITS 0x3fff /* of IPv4: more fragments, and the offset */
#define ITEMS_MAX     5
#define ACTIONS_MAX   4

/* The parts of a pattern's items: what a field is to be, up to what, and which bits of it count. */
enum part {
	SPEC,
	LAST,
	MASK,
	PARTS,
};

struct pattern {
	struct rte_flow_item items[ITEMS_MAX];
	unsigned int n;
	struct rte_flow_item_eth eth[PARTS];
	struct rte_flow_item_vlan vlan[PARTS];
	struct rte_flow_item_ipv4 ip[PARTS];
	struct rte_flow_item_tcp tcp[PARTS];
	struct rte_flow_item_udp udp[PARTS];
	struct rte_flow_item_icmp icmp[PARTS];
};

struct actions {
	struct rte_flow_action list[ACTIONS_MAX];
	unsigned int n;
	struct rte_flow_action_mark mark;
	struct rte_flow_action_count count;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_jump jump;
	struct rte_flow_action_rss rss;
	uint16_t queues[SN_STEER_QUEUES_MAX];
};

struct sn_steer_device sn_steer_device(uint16_t port, const char *driver, uint16_t queues)
{
	return (struct sn_steer_device){
		.port = port,
		.queues = queues,
		.tap = strcmp(driver, "net_tap") == 0,
	};
}

uint32_t sn_steer_mask(enum sn_field field)
{
	switch (field) {
	case SN_SRC:
	case SN_DST:
		return UINT32_MAX;
	case SN_SPORT:
	case SN_DPORT:
		return UINT16_MAX;
	case SN_VLAN:
		return SN_VLAN_ABSENT | 0xfff;
	case SN_DSCP:
		return 0x3f;
	case SN_FRAG:
		return 3;
	default:
		return UINT8_MAX;
	}
}

const char *sn_steer_field_name(enum sn_field field)
{
	static const char *const names[SN_FIELDS] = {"vlan",  "src",	   "dst",	"proto",
						     "dscp",  "ttl",	   "frag",	"sport",
						     "dport", "tcp-flags", "icmp-type", "icmp-code"};

	return names[field];
}

static bool asks(const struct sn_steer_match *m, enum sn_field field)
{
	return !sn_cond_any(&m->conds[field]);
}

/* The bits of a field under a condition's mask, of a part. */
static uint32_t part_of(const struct sn_cond *c, enum sn_field field, enum part part)
{
	bool range = c->mask == 0 && !sn_cond_any(c);

	switch (part) {
	case SPEC:
		return range ? c->value : c->value & c->mask;
	case LAST:
		return range ? c->last : 0;
	default:
		return range ? sn_steer_mask(field) : c->mask;
	}
}

static bool has_range(const struct sn_steer_match *m, enum sn_field a, enum sn_field b)
{
	return (asks(m, a) && m->conds[a].mask == 0) || (asks(m, b) && m->conds[b].mask == 0);
}

/* Items without a condition have neither specification nor mask: some drivers refuse empty masks. */
static void add(struct pattern *p, enum rte_flow_item_type type, const void *spec, const void *last,
		const void *mask)
{
	p->items[p->n++] = (struct rte_flow_item){.type = type, .spec = spec, .last = last, .mask = mask};
}

static void add_eth(struct pattern *p, const struct sn_steer_match *m)
{
	bool mac = !rte_is_zero_ether_addr(&m->mac);
	bool untagged = (m->conds[SN_VLAN].value & m->conds[SN_VLAN].mask & SN_VLAN_ABSENT) != 0;

	if (mac) {
		rte_ether_addr_copy(&m->mac, &p->eth[SPEC].dst);
		memset(&p->eth[MASK].dst, UINT8_MAX, sizeof(p->eth[MASK].dst));
	}
	if (untagged)
		p->eth[MASK].has_vlan = 1;
	if (mac || untagged)
		add(p, RTE_FLOW_ITEM_TYPE_ETH, &p->eth[SPEC], NULL, &p->eth[MASK]);
	else
		add(p, RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL, NULL);
}

static void add_vlan(struct pattern *p, const struct sn_steer_match *m, bool tap)
{
	const struct sn_cond *c = &m->conds[SN_VLAN];

	if (sn_cond_any(c) || (c->value & c->mask & SN_VLAN_ABSENT) != 0)
		return;
	for (enum part part = 0; part < PARTS; part++)
		p->vlan[part].tci = rte_cpu_to_be_16((uint16_t)(part_of(c, SN_VLAN, part) & 0xfff));
	/* It reads the mask in the wrong byte order; of this one it makes the VLAN without bit 4, and
	 * priority 0 is no condition to it. */
	if (tap)
		p->vlan[MASK].tci = rte_cpu_to_be_16(0xefff);
	if (p->vlan[MASK].tci == 0) /* any tag */
		add(p, RTE_FLOW_ITEM_TYPE_VLAN, NULL, NULL, NULL);
	else
		add(p, RTE_FLOW_ITEM_TYPE_VLAN, &p->vlan[SPEC], c->mask == 0 ? &p->vlan[LAST] : NULL,
		    &p->vlan[MASK]);
}

static void add_ip(struct pattern *p, const struct sn_steer_match *m)
{
	static const enum sn_field fields[] = {SN_SRC, SN_DST, SN_PROTO, SN_DSCP, SN_TTL, SN_FRAG};
	bool any = true, range = false;

	for (size_t i = 0; i < RTE_DIM(fields); i++) {
		if (!asks(m, fields[i]))
			continue;
		any = false;
		range |= m->conds[fields[i]].mask == 0;
	}
	for (enum part part = 0; part < PARTS; part++) {
		struct rte_ipv4_hdr *h = &p->ip[part].hdr;

		h->src_addr = rte_cpu_to_be_32(part_of(&m->conds[SN_SRC], SN_SRC, part));
		h->dst_addr = rte_cpu_to_be_32(part_of(&m->conds[SN_DST], SN_DST, part));
		h->next_proto_id = (uint8_t)part_of(&m->conds[SN_PROTO], SN_PROTO, part);
		h->type_of_service = (uint8_t)(part_of(&m->conds[SN_DSCP], SN_DSCP, part) << 2);
		h->time_to_live = (uint8_t)part_of(&m->conds[SN_TTL], SN_TTL, part);
		if (part == MASK && asks(m, SN_FRAG)) /* whole packets, see sn_steer_check() */
			h->fragment_offset = rte_cpu_to_be_16(FRAGMENT_BITS);
	}
	if (any)
		add(p, RTE_FLOW_ITEM_TYPE_IPV4, NULL, NULL, NULL);
	else
		add(p, RTE_FLOW_ITEM_TYPE_IPV4, &p->ip[SPEC], range ? &p->ip[LAST] : NULL, &p->ip[MASK]);
}

static void add_tcp(struct pattern *p, const struct sn_steer_match *m)
{
	bool range = has_range(m, SN_SPORT, SN_DPORT) || has_range(m, SN_TCP_FLAGS, SN_TCP_FLAGS);

	for (enum part part = 0; part < PARTS; part++) {
		struct rte_tcp_hdr *h = &p->tcp[part].hdr;

		h->src_port = rte_cpu_to_be_16((uint16_t)part_of(&m->conds[SN_SPORT], SN_SPORT, part));
		h->dst_port = rte_cpu_to_be_16((uint16_t)part_of(&m->conds[SN_DPORT], SN_DPORT, part));
		h->tcp_flags = (uint8_t)part_of(&m->conds[SN_TCP_FLAGS], SN_TCP_FLAGS, part);
	}
	if (asks(m, SN_SPORT) || asks(m, SN_DPORT) || asks(m, SN_TCP_FLAGS))
		add(p, RTE_FLOW_ITEM_TYPE_TCP, &p->tcp[SPEC], range ? &p->tcp[LAST] : NULL, &p->tcp[MASK]);
	else
		add(p, RTE_FLOW_ITEM_TYPE_TCP, NULL, NULL, NULL);
}

static void add_udp(struct pattern *p, const struct sn_steer_match *m)
{
	for (enum part part = 0; part < PARTS; part++) {
		struct rte_udp_hdr *h = &p->udp[part].hdr;

		h->src_port = rte_cpu_to_be_16((uint16_t)part_of(&m->conds[SN_SPORT], SN_SPORT, part));
		h->dst_port = rte_cpu_to_be_16((uint16_t)part_of(&m->conds[SN_DPORT], SN_DPORT, part));
	}
	if (asks(m, SN_SPORT) || asks(m, SN_DPORT))
		add(p, RTE_FLOW_ITEM_TYPE_UDP, &p->udp[SPEC],
		    has_range(m, SN_SPORT, SN_DPORT) ? &p->udp[LAST] : NULL, &p->udp[MASK]);
	else
		add(p, RTE_FLOW_ITEM_TYPE_UDP, NULL, NULL, NULL);
}

static void add_icmp(struct pattern *p, const struct sn_steer_match *m)
{
	for (enum part part = 0; part < PARTS; part++) {
		struct rte_icmp_hdr *h = &p->icmp[part].hdr;

		h->icmp_type = (uint8_t)part_of(&m->conds[SN_ICMP_TYPE], SN_ICMP_TYPE, part);
		h->icmp_code = (uint8_t)part_of(&m->conds[SN_ICMP_CODE], SN_ICMP_CODE, part);
	}
	if (asks(m, SN_ICMP_TYPE) || asks(m, SN_ICMP_CODE))
		add(p, RTE_FLOW_ITEM_TYPE_ICMP, &p->icmp[SPEC],
		    has_range(m, SN_ICMP_TYPE, SN_ICMP_CODE) ? &p->icmp[LAST] : NULL, &p->icmp[MASK]);
	else
		add(p, RTE_FLOW_ITEM_TYPE_ICMP, NULL, NULL, NULL);
}

/* The one protocol that a match asks for; 0: several. */
static uint32_t only_proto(const struct sn_steer_match *m)
{
	const struct sn_cond *c = &m->conds[SN_PROTO];

	return c->mask == UINT8_MAX ? c->value : 0;
}

static void make_pattern(struct pattern *p, const struct sn_steer_match *match, bool tap)
{
	struct sn_steer_match m = *match;
	uint32_t proto = only_proto(&m);

	memset(p, 0, sizeof(*p));
	/* The item of a protocol says it, and some drivers take it but there. */
	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP || (proto == IPPROTO_ICMP && !tap))
		m.conds[SN_PROTO] = (struct sn_cond){0};
	add_eth(p, &m);
	add_vlan(p, &m, tap);
	add_ip(p, &m);
	if (proto == IPPROTO_TCP)
		add_tcp(p, &m);
	else if (proto == IPPROTO_UDP)
		add_udp(p, &m);
	else if (proto == IPPROTO_ICMP && (!tap || asks(&m, SN_ICMP_TYPE) || asks(&m, SN_ICMP_CODE)))
		add_icmp(p, &m);
	add(p, RTE_FLOW_ITEM_TYPE_END, NULL, NULL, NULL);
}

static void act(struct actions *a, enum rte_flow_action_type type, const void *conf)
{
	a->list[a->n++] = (struct rte_flow_action){.type = type, .conf = conf};
}

/* Everywhere, as without a rule; net_tap would load programs into the kernel for it. */
static bool spreads(const struct sn_steer_device *device, const struct sn_steer_rule *rule)
{
	return rule->action == SN_STEER_PASS && device->queues > 1 && !device->tap;
}

static void make_actions(struct actions *a, const struct sn_steer_device *device,
			 const struct sn_steer_rule *rule, bool spread)
{
	memset(a, 0, sizeof(*a));
	if (rule->mark != 0) {
		a->mark.id = rule->mark;
		act(a, RTE_FLOW_ACTION_TYPE_MARK, &a->mark);
	}
	if (rule->count)
		act(a, RTE_FLOW_ACTION_TYPE_COUNT, &a->count);
	switch (rule->action) {
	case SN_STEER_DROP:
		act(a, RTE_FLOW_ACTION_TYPE_DROP, NULL);
		break;
	case SN_STEER_JUMP:
		a->jump.group = rule->table + 1;
		act(a, RTE_FLOW_ACTION_TYPE_JUMP, &a->jump);
		break;
	case SN_STEER_PASS:
	case SN_STEER_QUEUE:
		if (!spread) {
			a->queue.index = rule->action == SN_STEER_QUEUE ? rule->queue : 0;
			act(a, RTE_FLOW_ACTION_TYPE_QUEUE, &a->queue);
			break;
		}
		for (uint16_t i = 0; i < device->queues && i < SN_STEER_QUEUES_MAX; i++)
			a->queues[a->rss.queue_num++] = i;
		a->rss.queue = a->queues;
		act(a, RTE_FLOW_ACTION_TYPE_RSS, &a->rss);
		break;
	}
	act(a, RTE_FLOW_ACTION_TYPE_END, NULL);
}

int sn_steer_check(const struct sn_steer_rule *rule, struct sn_error *err)
{
	const struct sn_steer_match *m = &rule->match;
	uint32_t proto = only_proto(m);
	bool ports = proto == IPPROTO_TCP || proto == IPPROTO_UDP;

	for (enum sn_field f = 0; f < SN_FIELDS; f++) {
		const struct sn_cond *c = &m->conds[f];
		uint32_t all = sn_steer_mask(f);

		if (c->mask != 0 ? (c->value & ~c->mask) != 0 || c->last != 0 : c->value > c->last)
			return sn_fail(
				err,
				"%s: value %#x, mask %#x, last %#x: want a value under its mask, or one that "
				"is not above the last",
				sn_steer_field_name(f), c->value, c->mask, c->last);
		if (((c->value | c->mask | c->last) & ~all) != 0)
			return sn_fail(err, "%s: value %#x, mask %#x, last %#x: the field has the bits %#x",
				       sn_steer_field_name(f), c->value, c->mask, c->last, all);
	}
	if ((m->conds[SN_VLAN].mask & SN_VLAN_ABSENT) != 0 &&
	    (m->conds[SN_VLAN].value & SN_VLAN_ABSENT) != 0 && (m->conds[SN_VLAN].value & 0xfff) != 0)
		return sn_fail(err, "vlan: value %#x: want a VLAN, or %#x for frames without",
			       m->conds[SN_VLAN].value, SN_VLAN_ABSENT);
	if (asks(m, SN_FRAG) && (m->conds[SN_FRAG].mask != 3 || m->conds[SN_FRAG].value != 0))
		return sn_fail(
			err,
			"frag: value %u, mask %#x: rules can ask for whole packets only: value 0, mask 0x3",
			m->conds[SN_FRAG].value, m->conds[SN_FRAG].mask);
	if ((asks(m, SN_SPORT) || asks(m, SN_DPORT)) && !ports)
		return sn_fail(err, "ports: want a rule for one protocol, TCP or UDP");
	if (asks(m, SN_TCP_FLAGS) && proto != IPPROTO_TCP)
		return sn_fail(err, "tcp-flags: want a rule for TCP");
	if ((asks(m, SN_ICMP_TYPE) || asks(m, SN_ICMP_CODE)) && proto != IPPROTO_ICMP)
		return sn_fail(err, "icmp-type, icmp-code: want a rule for ICMP");
	return 0;
}

static int refusal(const struct rte_flow_error *error, int rc, struct sn_error *err)
{
	return sn_fail(err, "%s", error->message != NULL ? error->message : rte_strerror(-rc));
}

static struct rte_flow *create(const struct sn_steer_device *device, const struct sn_steer_rule *rule,
			       bool spread, struct sn_error *err)
{
	const struct rte_flow_attr attr = {.group = rule->table, .priority = rule->priority, .ingress = 1};
	struct rte_flow_error error = {0};
	struct rte_flow *flow = NULL;
	struct pattern p;
	struct actions a;
	int rc;

	make_pattern(&p, &rule->match, device->tap);
	make_actions(&a, device, rule, spread);
	rc = rte_flow_validate(device->port, &attr, p.items, a.list, &error);
	if (rc == 0) {
		flow = rte_flow_create(device->port, &attr, p.items, a.list, &error);
		rc = -rte_errno;
	}
	if (flow == NULL)
		refusal(&error, rc, err);
	return flow;
}

/* The part of a match that net_tap of DPDK 22.11 takes, but makes a rule for other packets of; NULL: none. */
static const char *mistaken_by_tap(const struct sn_steer_match *match)
{
	const struct sn_cond *vlan = &match->conds[SN_VLAN], *proto = &match->conds[SN_PROTO];

	if (!sn_cond_any(vlan) &&
	    (vlan->mask != sn_steer_mask(SN_VLAN) || (vlan->value & 0x10) != 0 || vlan->value == 0))
		return "net_tap would make a rule for another VLAN of this one: it can match whole numbers "
		       "without bit 4, but 0";
	if (!sn_cond_any(proto) && (proto->mask != sn_steer_mask(SN_PROTO) || proto->value == 0))
		return "net_tap would make a rule for other protocols of this one: it leaves out the mask, "
		       "and can match whole numbers but 0";
	return NULL;
}

struct rte_flow *sn_steer_install(const struct sn_steer_device *device, const struct sn_steer_rule *rule,
				  struct sn_error *err)
{
	const char *mistaken = device->tap ? mistaken_by_tap(&rule->match) : NULL;
	struct rte_flow *flow = NULL;

	if (mistaken != NULL) {
		sn_fail(err, "%s", mistaken);
		return NULL;
	}
	if (spreads(device, rule))
		flow = create(device, rule, true, err);
	/* One queue is where some packets go without a rule. */
	if (flow == NULL)
		flow = create(device, rule, false, err);
	if (flow != NULL && err != NULL)
		err->text[0] = '\0';
	return flow;
}

int sn_steer_remove(const struct sn_steer_device *device, struct rte_flow *flow, struct sn_error *err)
{
	struct rte_flow_error error = {0};
	int rc = rte_flow_destroy(device->port, flow, &error);

	return rc == 0 ? 0 : refusal(&error, rc, err);
}

int sn_steer_count(const struct sn_steer_device *device, struct rte_flow *flow, uint64_t *packets,
		   uint64_t *bytes, struct sn_error *err)
{
	static const struct rte_flow_action_count conf;
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &conf},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_query_count count = {0};
	struct rte_flow_error error = {0};
	int rc = rte_flow_query(device->port, flow, actions, &count, &error);

	if (rc != 0)
		return refusal(&error, rc, err);
	*packets = count.hits_set ? count.hits : 0;
	*bytes = count.bytes_set ? count.bytes : 0;
	return 0;
}
