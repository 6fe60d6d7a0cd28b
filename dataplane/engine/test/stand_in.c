/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

/* The bytes of a frame that a rule reads, in the order of the headers. */
enum layer {
	ETHER,
	TAG,
	IP,
	L4,
	LAYERS,
};

#define LAYER_BYTES   24
#define BYSTANDER_LEN 60

struct bytes {
	uint8_t b[LAYER_BYTES];
	bool there;
};

/* One item: the bytes from spec to last under the mask. */
struct condition {
	uint8_t spec[LAYER_BYTES], last[LAYER_BYTES], mask[LAYER_BYTES];
};

struct rte_flow {
	bool used;
	uint32_t group, priority, number;
	struct condition conditions[LAYERS];
	uint8_t proto; /* 0: any */
	bool tagged, untagged, counted;
	enum rte_flow_action_type fate;
	uint16_t queue;
	uint32_t mark, group_to;
	uint64_t hits, bytes;
};

struct stand_in stand_in[STAND_IN_PORTS];
static struct rte_flow flows[STAND_IN_PORTS][STAND_IN_RULES];

static struct {
	rte_eth_dev_cb_fn call;
	void *arg;
} callbacks[STAND_IN_PORTS];

void stand_in_reset(uint16_t queues)
{
	memset(flows, 0, sizeof(flows));
	for (int i = 0; i < STAND_IN_PORTS; i++)
		stand_in[i] = (struct stand_in){
			.rules = STAND_IN_RULES,
			.priorities = 64,
			.queues = queues,
			.masks = true,
			.ranges = true,
			.drops = true,
			.counts = true,
			.marks = true,
			.jumps = true,
		};
}

/* ---- rules ---- */

static int refuse(struct rte_flow_error *error, const char *words)
{
	return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, words);
}

static bool whole(const uint8_t *mask, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (mask[i] != mask[0])
			return false;
	return mask[0] == 0 || mask[0] == 0xff;
}

/* Masks of addresses and ports. */
static bool whole_fields(const struct condition *c, enum layer layer)
{
	if (layer == IP)
		return whole(c->mask + 12, 4) && whole(c->mask + 16, 4);
	return layer != L4 || (whole(c->mask, 2) && whole(c->mask + 2, 2));
}

static int take_item(const struct stand_in *d, struct rte_flow *f, const struct rte_flow_item *item,
		     enum layer layer, size_t size, struct rte_flow_error *error)
{
	struct condition *c = &f->conditions[layer];

	if (item->spec == NULL && (item->mask != NULL || item->last != NULL))
		return refuse(error, "a mask without a specification");
	if (item->spec == NULL)
		return 0;
	if (item->mask == NULL)
		return refuse(error, "a specification without a mask");
	if (item->last != NULL && !d->ranges)
		return refuse(error, "no ranges");
	memcpy(c->spec, item->spec, size);
	if (item->last != NULL)
		memcpy(c->last, item->last, size);
	memcpy(c->mask, item->mask, size);
	return d->masks || whole_fields(c, layer) ? 0 : refuse(error, "whole values only");
}

static int take_eth(struct rte_flow *f, const struct rte_flow_item *item, struct rte_flow_error *error)
{
	const struct rte_flow_item_eth *spec = item->spec, *mask = item->mask;
	struct condition *c = &f->conditions[ETHER];

	if (spec == NULL)
		return mask == NULL ? 0 : refuse(error, "a mask without a specification");
	memcpy(c->spec, &spec->dst, 6);
	memcpy(c->mask, &mask->dst, 6);
	f->untagged = mask->has_vlan && !spec->has_vlan;
	return 0;
}

static int take_pattern(const struct stand_in *d, struct rte_flow *f, const struct rte_flow_item *items,
			struct rte_flow_error *error)
{
	bool ip = false;
	int rc = 0;

	for (; rc == 0 && items->type != RTE_FLOW_ITEM_TYPE_END; items++) {
		switch (items->type) {
		case RTE_FLOW_ITEM_TYPE_ETH:
			rc = take_eth(f, items, error);
			break;
		case RTE_FLOW_ITEM_TYPE_VLAN:
			f->tagged = true;
			rc = take_item(d, f, items, TAG, 2, error);
			break;
		case RTE_FLOW_ITEM_TYPE_IPV4:
			ip = true;
			rc = take_item(d, f, items, IP, 20, error);
			break;
		case RTE_FLOW_ITEM_TYPE_TCP:
			f->proto = 6;
			rc = take_item(d, f, items, L4, 20, error);
			break;
		case RTE_FLOW_ITEM_TYPE_UDP:
			f->proto = 17;
			rc = take_item(d, f, items, L4, 8, error);
			break;
		case RTE_FLOW_ITEM_TYPE_ICMP:
			f->proto = 1;
			rc = take_item(d, f, items, L4, 8, error);
			break;
		default:
			rc = refuse(error, "no such item");
		}
	}
	return rc != 0 ? rc : ip ? 0 : refuse(error, "rules are for IPv4");
}

static int take_actions(const struct stand_in *d, struct rte_flow *f, const struct rte_flow_action *actions,
			struct rte_flow_error *error)
{
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++) {
		switch (actions->type) {
		case RTE_FLOW_ACTION_TYPE_MARK:
			f->mark = ((const struct rte_flow_action_mark *)actions->conf)->id;
			if (!d->marks || f->mark >= 1u << 24)
				return refuse(error, "marks have 24 bits, if any");
			break;
		case RTE_FLOW_ACTION_TYPE_COUNT:
			f->counted = true;
			if (!d->counts)
				return refuse(error, "no counters");
			break;
		case RTE_FLOW_ACTION_TYPE_DROP:
			if (!d->drops)
				return refuse(error, "no drops");
			f->fate = actions->type;
			break;
		case RTE_FLOW_ACTION_TYPE_QUEUE:
			f->queue = ((const struct rte_flow_action_queue *)actions->conf)->index;
			if (f->queue >= d->queues)
				return refuse(error, "no such queue");
			f->fate = actions->type;
			break;
		case RTE_FLOW_ACTION_TYPE_RSS:
			if (d->spreads_not)
				return refuse(error, "no RSS");
			f->fate = actions->type;
			break;
		case RTE_FLOW_ACTION_TYPE_JUMP:
			f->group_to = ((const struct rte_flow_action_jump *)actions->conf)->group;
			if (!d->jumps || f->group_to <= f->group || f->group_to > 1)
				return refuse(error, "no such group");
			f->fate = actions->type;
			break;
		default:
			return refuse(error, "no such action");
		}
	}
	return f->fate != 0 ? 0 : refuse(error, "no fate");
}

static int take(uint16_t port, struct rte_flow *f, const struct rte_flow_attr *attr,
		const struct rte_flow_item *items, const struct rte_flow_action *actions,
		struct rte_flow_error *error)
{
	const struct stand_in *d = &stand_in[port];
	int rc;

	*f = (struct rte_flow){.group = attr->group, .priority = attr->priority};
	if (d->rules == 0)
		return refuse(error, "this device knows no rules");
	if (attr->priority != 0 && attr->priority >= d->priorities)
		return refuse(error, "no such priority");
	if (attr->group != 0 && !d->jumps)
		return refuse(error, "no such group");
	rc = take_pattern(d, f, items, error);
	return rc != 0 ? rc : take_actions(d, f, actions, error);
}

int rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr, const struct rte_flow_item items[],
		      const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	struct rte_flow f;

	return take(port, &f, attr, items, actions, error);
}

int rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	if (!flow->used)
		return refuse(error, "no such rule");
	flow->used = false;
	stand_in[port].installed--;
	stand_in[port].destroyed++;
	return 0;
}

int rte_flow_query(uint16_t port, struct rte_flow *flow, const struct rte_flow_action *action, void *data,
		   struct rte_flow_error *error)
{
	struct rte_flow_query_count *count = data;

	(void)port;
	if (action->type != RTE_FLOW_ACTION_TYPE_COUNT || !flow->used || !flow->counted)
		return refuse(error, "this rule has no counter");
	count->hits = flow->hits;
	count->bytes = flow->bytes;
	count->hits_set = count->bytes_set = 1;
	return 0;
}

/* ---- frames ---- */

static bool within(const uint8_t *b, const struct condition *c, size_t n)
{
	uint64_t value = 0, from = 0, to = 0;

	for (size_t i = 0; i < n; i++) {
		value = value << 8 | (b[i] & c->mask[i]);
		from = from << 8 | (c->spec[i] & c->mask[i]);
		to = to << 8 | (c->last[i] & c->mask[i]);
	}
	if (to == 0) /* no range */
		to = from;
	return value >= from && value <= to;
}

/* Sizes of the fields of a layer, in their order; 0 is the end. */
static const uint8_t fields[LAYERS][16] = {
	[ETHER] = {6},
	[TAG] = {2},
	[IP] = {1, 1, 2, 2, 2, 1, 1, 2, 4, 4},
	[L4] = {2, 2, 4, 4, 1, 1, 2},
};
static const uint8_t icmp_fields[16] = {1, 1, 2, 2, 2};

static bool meets(const struct rte_flow *f, const struct bytes *frame)
{
	if ((f->tagged && !frame[TAG].there) || (f->untagged && frame[TAG].there) ||
	    (f->proto != 0 && frame[IP].b[9] != f->proto))
		return false;
	for (enum layer layer = 0; layer < LAYERS; layer++) {
		const uint8_t *sizes = layer == L4 && f->proto == 1 ? icmp_fields : fields[layer];
		struct condition part;

		for (size_t at = 0, i = 0; sizes[i] != 0; at += sizes[i], i++) {
			memcpy(part.spec, f->conditions[layer].spec + at, sizes[i]);
			memcpy(part.last, f->conditions[layer].last + at, sizes[i]);
			memcpy(part.mask, f->conditions[layer].mask + at, sizes[i]);
			if (!within(frame[layer].b + at, &part, sizes[i]))
				return false;
		}
	}
	return true;
}

static struct rte_flow *find(uint16_t port, uint32_t group, const struct bytes *frame)
{
	struct rte_flow *best = NULL;

	for (uint32_t i = 0; i < stand_in[port].rules; i++) {
		struct rte_flow *f = &flows[port][i];

		if (f->used && f->group == group && (best == NULL || f->priority < best->priority) &&
		    meets(f, frame))
			best = f;
	}
	return best;
}

static void split(const uint8_t *frame, size_t len, struct bytes *out)
{
	size_t at = 12;
	size_t ends[LAYERS] = {6};

	memset(out, 0, LAYERS * sizeof(*out));
	memcpy(out[ETHER].b, frame, ends[ETHER]);
	out[ETHER].there = true;
	if (frame[12] == 0x81 && frame[13] == 0) {
		memcpy(out[TAG].b, frame + 14, 2);
		out[TAG].there = true;
		at = 16;
	}
	if (frame[at] != 8 || frame[at + 1] != 0)
		return;
	at += 2;
	memcpy(out[IP].b, frame + at, 20);
	out[IP].there = true;
	at += (frame[at] & 15) * 4u;
	for (size_t i = 0; i < 20 && at + i < len; i++)
		out[L4].b[i] = frame[at + i];
}

struct rte_flow *rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
				 const struct rte_flow_item items[], const struct rte_flow_action actions[],
				 struct rte_flow_error *error)
{
	struct stand_in *d = &stand_in[port];
	struct bytes layers[LAYERS];
	struct rte_flow f;

	if (d->look != NULL)
		d->look(d->context);
	if (take(port, &f, attr, items, actions, error) != 0)
		return NULL;
	if (d->bystander != NULL) {
		split(d->bystander, BYSTANDER_LEN, layers);
		d->disturbed += meets(&f, layers);
	}
	for (uint32_t i = 0; i < d->rules; i++) {
		if (flows[port][i].used)
			continue;
		f.used = true;
		f.number = d->created++;
		d->installed++;
		flows[port][i] = f;
		return &flows[port][i];
	}
	refuse(error, "no room for another rule");
	return NULL;
}

/* Where packets go that no rule sends anywhere: by their addresses. */
static int spread(const struct stand_in *d, const struct bytes *frame)
{
	unsigned int sum = 0;

	for (size_t i = 12; i < 20; i++)
		sum += frame[IP].b[i];
	return (int)(sum % d->queues);
}

int stand_in_receive(uint16_t port, const uint8_t *frame, size_t len, uint32_t *mark)
{
	struct stand_in *d = &stand_in[port];
	struct bytes layers[LAYERS];
	uint32_t group = 0;

	split(frame, len, layers);
	*mark = 0;
	while (layers[IP].there && !d->ignores) {
		struct rte_flow *f = find(port, group, layers);

		if (f == NULL || (f->fate == RTE_FLOW_ACTION_TYPE_DROP && d->ignores_drops))
			break;
		f->hits++;
		f->bytes += len;
		if (f->mark != 0)
			*mark = f->mark + d->mark_errors;
		if (f->fate == RTE_FLOW_ACTION_TYPE_DROP)
			return STAND_IN_DROPPED;
		if (f->fate == RTE_FLOW_ACTION_TYPE_QUEUE)
			return f->queue;
		if (f->fate == RTE_FLOW_ACTION_TYPE_RSS)
			break;
		group = f->group_to;
	}
	return spread(d, layers);
}

/* ---- resets ---- */

int rte_eth_dev_callback_register(uint16_t port, enum rte_eth_event_type event, rte_eth_dev_cb_fn call,
				  void *arg)
{
	if (event == RTE_ETH_EVENT_INTR_RESET && port < STAND_IN_PORTS) {
		callbacks[port].call = call;
		callbacks[port].arg = arg;
	}
	return 0;
}

int rte_eth_dev_callback_unregister(uint16_t port, enum rte_eth_event_type event, rte_eth_dev_cb_fn call,
				    void *arg)
{
	(void)event;
	(void)call;
	(void)arg;
	if (port < STAND_IN_PORTS)
		callbacks[port].call = NULL;
	return 0;
}

int rte_eth_dev_reset(uint16_t port)
{
	stand_in[port].resets++;
	return stand_in[port].stuck ? -EIO : rte_eth_dev_stop(port);
}

void stand_in_lose(uint16_t port)
{
	memset(flows[port], 0, sizeof(flows[port]));
	stand_in[port].installed = 0;
	if (callbacks[port].call != NULL)
		callbacks[port].call(port, RTE_ETH_EVENT_INTR_RESET, callbacks[port].arg, NULL);
}
