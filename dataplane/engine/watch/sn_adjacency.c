/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_adjacency.h"

#include "sn_rewrite.h"

static bool have_one_shape(const struct sn_adjacency *a, const struct sn_adjacency *b)
{
	return a->key >> 32 == b->key >> 32 && a->net == b->net && a->mask == b->mask &&
	       a->head_move == b->head_move && a->mtu == b->mtu;
}

/* Shapes are numbered as they come. */
static uint8_t shape_of(const struct sn_adjacency *a, struct sn_shapes *shapes)
{
	uint32_t i = 0;

	if (a->simple != SN_SIMPLE_OUTPUT || a->n_counters > 0)
		return 0;
	while (i < shapes->n && !have_one_shape(a, &shapes->all[i]))
		i++;
	if (i == SN_SHAPES_MAX)
		return 0;
	shapes->all[i] = *a;
	shapes->n += i == shapes->n;
	return (uint8_t)(i + 1);
}

static uint32_t head_move_of(const struct sn_class *c)
{
	return c->ttl_dec ? sn_head_move_of(c->ttl_dec, 0xffff - (c->ttl_dec << 8)) : 0;
}

static struct sn_adjacency output_of(const struct sn_program *p, const struct sn_class *c)
{
	const struct sn_interface *out = &p->interfaces[c->target];
	bool noted = c->next_hop != 0;

	return (struct sn_adjacency){
		.key = (uint64_t)c->target << 48 | (uint64_t)SN_VLAN_ABSENT << 32 |
		       (noted ? c->next_hop : out->gateway),
		.net = noted ? 1 : out->address & out->mask,
		.mask = noted ? 0 : out->mask,
		.head_move = head_move_of(c),
		.mtu = out->mtu < UINT16_MAX ? out->mtu : UINT16_MAX,
	};
}

static struct sn_adjacency stop_of(const struct sn_program *p, const struct sn_class *c)
{
	const struct sn_stop *s = &p->stops[c->target];
	const struct sn_interface *out = &p->interfaces[s->out];

	return (struct sn_adjacency){
		.key = (uint64_t)s->out << 48 |
		       (c->notes_hop ? sn_continuation_place(p, c->next_hop) : SN_NO_INDEX),
		.net = c->target,
		.head_move = head_move_of(c),
		.mtu = out->mtu < UINT16_MAX ? out->mtu : UINT16_MAX,
	};
}

struct sn_adjacency sn_adjacency_of(const struct sn_program *p, const struct sn_class *c,
				    struct sn_shapes *shapes)
{
	struct sn_adjacency a = {0};

	if (c->simple == SN_SIMPLE_OUTPUT || c->simple == SN_SIMPLE_FORWARD)
		a = output_of(p, c);
	else if (c->simple == SN_SIMPLE_STOP)
		a = stop_of(p, c);
	else if (c->simple == SN_SIMPLE_DROP)
		a.key = c->target;
	a.simple = c->simple;
	a.first_counter = c->first_counter;
	a.n_counters = (uint16_t)c->n_counters;
	a.shape = shape_of(&a, shapes);
	return a;
}
