/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SIMPLE_H
#define SN_SIMPLE_H

/* A packet whose class says all: a TTL, a next hop and out, or a drop. */

#include "sn_view.h"

/* count: the class's, or the path's. */
static __rte_always_inline void count_simple(struct sn_known k, const struct sn_adjacency *a,
					     struct sn_count *count, uint32_t bytes)
{
	const uint32_t *ids = &k.program->leg_counters[a->first_counter];

	sn_count_add(count, bytes);
	for (uint32_t i = 0; i < a->n_counters; i++)
		sn_count_add(&k.counters[ids[i]], bytes);
}

static inline uint32_t iface_of(const struct sn_adjacency *a)
{
	return (uint32_t)(a->key >> 48);
}

/* NULL: it is not known, or there is no next hop. */
static __rte_noinline struct sn_neigh *find_neighbor(struct sn_fast *f, struct sn_adjacency *a, uint64_t key)
{
	struct sn_neigh *n = (uint32_t)key ? sn_neigh_find(&f->neighbors, key) : NULL;

	if (n)
		a->neigh = (uint16_t)(n - f->neighbors.entries);
	return n;
}

/* Where a simple class's packet goes to; NULL: that is not all there is to it. */
static __rte_always_inline struct sn_neigh *neighbor_of(struct sn_known k, struct sn_view v,
							struct sn_adjacency *a)
{
	struct sn_neigh *n = &k.neighbors[a->neigh];
	uint32_t hop = sn_choose((v.dst & a->mask) == a->net, v.dst, (uint32_t)a->key);
	uint64_t key = sn_neigh_key((uint8_t)iface_of(a), v.vlan, hop);

	if (unlikely((v.ttl < sn_head_ttl_dec(a->head_move)) | (v.ip_len > a->mtu)))
		return NULL;
	if (unlikely(n->key != key) && !(n = find_neighbor(k.fast, a, key)))
		return NULL;
	return likely(sn_neigh_usable(n)) ? n : NULL;
}

/* A simple class's packet: a TTL, a next hop and out. False if that is not all there is to it. */
static __rte_always_inline bool forward_simple(struct sn_known k, struct sn_view v, struct sn_adjacency *a,
					       struct sn_count *count)
{
	struct sn_neigh *n = neighbor_of(k, v, a);

	if (unlikely(!n))
		return false;
	n->used = k.now;
	move_head(v.ip, a->head_move);
	sn_write_l2(v.f, n);
	count_simple(k, a, count, v.frame_len);
	sn_output_send(k.env, (uint16_t)iface_of(a), v.m);
	return true;
}

/* The common part of a shape's classes, as it is used. */
struct sn_shape {
	int64_t ttl_dec, mtu;
	uint32_t net, mask;
	uint32_t head_move;
	uint32_t number;
	uint32_t iface;
	struct sn_tx_buffer *out;
};

static inline struct sn_shape shape_of(struct sn_env *env, const struct sn_adjacency *a)
{
	return (struct sn_shape){
		.ttl_dec = sn_head_ttl_dec(a->head_move),
		.mtu = a->mtu,
		.net = a->net,
		.mask = a->mask,
		.head_move = a->head_move,
		.number = a->shape,
		.iface = iface_of(a),
		.out = &env->sending.out[iface_of(a)],
	};
}

/*
 * As forward_simple() of a plain packet, if its class is of the shape. What does not hold is gathered rather
 * than branched on. The caller notes that something is to be sent.
 */
static __rte_always_inline bool forward_alike(struct sn_known k, struct sn_view v,
					      const struct sn_adjacency *a, struct sn_shape shape,
					      struct sn_count *count)
{
	struct sn_neigh *n = &k.neighbors[a->neigh];
	int64_t low = (v.ttl - shape.ttl_dec) | (shape.mtu - v.ip_len);

	low |= (int64_t)((v.dst & shape.mask) ^ shape.net) - 1;
	low |= (int64_t)n->state - SN_NEIGH_REACHABLE;
	if (unlikely((low < 0) | (n->key != a->key) | (a->shape != shape.number)))
		return false;
	n->used = k.now;
	move_head(v.ip, shape.head_move);
	sn_write_l2(v.f, n);
	sn_count_add(count, v.frame_len);
	shape.out->pkts[shape.out->n++] = v.m;
	if (unlikely(shape.out->n >= k.env->sending.wake))
		sn_output_queued(k.env, (uint16_t)shape.iface);
	return true;
}

static inline void drop_simple(struct sn_known k, struct sn_view v, const struct sn_adjacency *a,
			       struct sn_count *count)
{
	count_simple(k, a, count, v.frame_len);
	sn_output_drop(k.env, v.m, sn_adjacency_reason(a));
}

#endif /* SN_SIMPLE_H */
