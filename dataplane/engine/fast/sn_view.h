/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_VIEW_H
#define SN_VIEW_H

/* The input of the fast ways: a burst and a packet; for sn_worker.c alone, like all of them. */

#include "sn_fast.h"
#include "sn_output.h"
#include "sn_plain.h"
#include "sn_rewrite.h"

/* Values that all packets of a burst read. None of it changes within a burst, which the compiler cannot know.
 */
struct sn_known {
	struct sn_fast *fast;
	struct sn_env *env;
	const struct sn_program *program;
	const struct sn_class *classes;
	struct sn_adjacency *adjacencies; /* by class */
	const uint16_t *mtus;		  /* by interface */
	struct sn_neigh *neighbors;
	struct sn_count *counters;
	struct sn_count *class_counts;
	struct sn_count *path_counts;
	uint64_t now;
};

static __rte_always_inline struct sn_known known_of(struct sn_fast *f, uint64_t now)
{
	struct sn_env *env = &f->env;

	return (struct sn_known){
		.fast = f,
		.env = env,
		.program = env->program,
		.classes = env->program->classes,
		.adjacencies = env->counts->adjacencies,
		.mtus = env->addresses.mtus,
		.neighbors = f->neighbors.entries,
		.counters = env->counts->counters,
		.class_counts = env->counts->classes,
		.path_counts = env->counts->paths.counts,
		.now = now,
	};
}

/* The fields that the fast ways read of a packet. Much of it is constant for a plain frame, so there is a
 * copy of the code for it. */
struct sn_view {
	struct rte_mbuf *m;
	uint8_t *f;
	uint8_t *ip;
	uint8_t *l4;
	uint32_t dst;
	uint32_t frame_len;
	uint16_t ip_len;
	uint16_t vlan;
	uint8_t ttl;
	uint8_t proto;
	bool plain;
};

static __rte_always_inline struct sn_view view_of(const struct sn_pkt *p)
{
	uint8_t *f = rte_pktmbuf_mtod(p->m, uint8_t *);

	return (struct sn_view){
		.m = p->m,
		.f = f,
		.ip = f + p->l3,
		.l4 = f + p->l4,
		.dst = p->dst,
		.frame_len = p->frame_len,
		.ip_len = p->ip_len,
		.vlan = p->vlan,
		.ttl = p->ttl,
		.proto = p->proto,
		.plain = false,
	};
}

static __rte_always_inline struct sn_view view_of_plain(struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	return (struct sn_view){
		.m = m,
		.f = f,
		.ip = f + SN_PLAIN_IP,
		.l4 = f + SN_PLAIN_L4,
		.dst = sn_load32(f + SN_PLAIN_DST),
		.frame_len = m->data_len,
		.ip_len = sn_load16(f + SN_PLAIN_LEN),
		.vlan = SN_VLAN_ABSENT,
		.ttl = f[SN_PLAIN_TTL],
		.proto = f[SN_PLAIN_PROTO],
		.plain = true,
	};
}

/* TTL, protocol and checksum of an IPv4 header. */
static inline uint32_t load_head(const uint8_t *ip)
{
	uint32_t head;

	memcpy(&head, ip + 8, sizeof(head));
	return head;
}

/* Write the new TTL and move the IP checksum. */
static inline void move_head(uint8_t *ip, uint32_t move)
{
	uint32_t head = sn_head_moved(load_head(ip), move);

	memcpy(ip + 8, &head, sizeof(head));
}

#endif /* SN_VIEW_H */
