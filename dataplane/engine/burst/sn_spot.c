/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_spot.h"

#include <string.h>

#include "sn_env.h"
#include "sn_tag.h"
#include "sn_trace_mark.h"
#include "sn_wires.h"

enum {
	NUMBER_BITS = 6, /* of a spot, and of a port */
	KEY_BITS = 28,
	AT_SOURCE = 6,
};

_Static_assert(SN_SPOTS == 1 << NUMBER_BITS && SN_IFACES_MAX <= 1 << NUMBER_BITS, "an address has both");

static uint64_t relaxed(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static void count(_Atomic uint64_t *v, uint64_t n)
{
	atomic_fetch_add_explicit(v, n, memory_order_relaxed);
}

/* ---- addresses ---- */

static uint64_t key_of(const struct sn_env *env)
{
	return env->wires->key >> (64 - KEY_BITS);
}

static void write_address(const struct sn_env *env, uint32_t port, uint32_t number, uint8_t mac[6])
{
	uint64_t low = (key_of(env) << NUMBER_BITS | port) << NUMBER_BITS | number;

	mac[0] = SN_SPOT_FIRST;
	mac[1] = (uint8_t)(low >> 32);
	sn_store32(mac + 2, (uint32_t)low);
}

/* The one that has an address, on the way that ends at an interface. NULL: none does. */
static struct sn_spot *spot_of(const struct sn_env *env, uint32_t back, const uint8_t mac[6])
{
	uint32_t port = env->addresses.ports[back];
	uint8_t own[6];

	if (mac[0] != SN_SPOT_FIRST || !env->wires || port >= SN_IFACES_MAX)
		return NULL;
	write_address(env, port, mac[5] & (SN_SPOTS - 1), own);
	return memcmp(mac, own, sizeof(own)) ? NULL
					     : &env->wires->wires[port].spots.spots[mac[5] & (SN_SPOTS - 1)];
}

/* ---- fields ---- */

static struct sn_spot_fields fields_of(const struct sn_pkt *p)
{
	return (struct sn_spot_fields){
		.src = p->src,
		.dst = p->dst,
		.sport = p->sport,
		.dport = p->dport,
		.vlan = p->vlan ? p->vlan : SN_VLAN_ABSENT, /* a priority tag is none */
		.id = sn_load16(rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l3 + 4)),
		.len = p->ip_len,
		.proto = p->proto,
		.dscp = p->dscp,
		.ttl = p->ttl,
		.whole = p->frag == SN_FRAG_WHOLE,
	};
}

/* A frame that is ready to be sent. */
static struct sn_spot_fields fields_as_sent(struct rte_mbuf *m)
{
	struct sn_pkt p = {.m = m};

	sn_parse_waited(&p);
	return fields_of(&p);
}

/* A frame as it came in. False: the chain takes no such frame. */
static bool read_fields(const struct sn_env *env, uint32_t iface, struct rte_mbuf *m,
			struct sn_spot_fields *to)
{
	const struct sn_interface *ifc = &env->program->interfaces[iface];
	uint8_t head[SN_ETHER_LEN + SN_TAG_LEN];
	uint64_t flags = m->ol_flags;
	struct sn_parsed parsed;
	struct sn_pkt p;

	if (m->nb_segs > 1 || m->data_len < sizeof(head))
		return false;
	memcpy(head, rte_pktmbuf_mtod(m, const uint8_t *), sizeof(head));
	parsed = sn_parse(&m, &p, 1, (uint8_t)iface, env->addresses.macs[iface], ifc->vlans, ifc->sources,
			  ifc->tiny_fragments);
	if (parsed.plain)
		sn_parse_plain(&p, m, (uint8_t)iface);
	else if (parsed.fragments)
		sn_parse_fragment(&p, m, (uint8_t)iface);
	if (!p.reason)
		*to = fields_of(&p);
	if (m->ol_flags & ~flags & RTE_MBUF_F_RX_VLAN_STRIPPED) {
		/* It goes on as it came: who takes it in takes the tag off, and counts its bytes. */
		memcpy(rte_pktmbuf_prepend(m, SN_TAG_LEN), head, sizeof(head));
		m->ol_flags = flags;
	}
	return !p.reason;
}

/* Bit per field in which b differs from a whole packet. */
static uint32_t difference(const struct sn_spot_fields *a, const struct sn_spot_fields *b)
{
	uint32_t d = 0;

	d |= (uint32_t)(a->vlan != b->vlan) << SN_VLAN;
	d |= (uint32_t)(a->src != b->src) << SN_SRC;
	d |= (uint32_t)(a->dst != b->dst) << SN_DST;
	d |= (uint32_t)(a->proto != b->proto) << SN_PROTO;
	d |= (uint32_t)(a->dscp != b->dscp) << SN_DSCP;
	d |= (uint32_t)(a->ttl != b->ttl) << SN_TTL;
	if (b->whole && a->proto == b->proto) {
		d |= (uint32_t)(a->sport != b->sport) << SN_SPORT;
		d |= (uint32_t)(a->dport != b->dport) << SN_DPORT;
	}
	return d;
}

/* ---- contradictions ---- */

uint32_t sn_spot_allowed(const struct sn_stop *stop)
{
	uint32_t allowed = stop->writes;

	allowed |= (uint32_t) !(stop->never & SN_NEVER_DROPS) << SN_SPOT_DROPPED;
	allowed |= (uint32_t) !(stop->never & SN_NEVER_RESIZES) << SN_SPOT_RESIZED;
	allowed |= (uint32_t) !(stop->never & SN_NEVER_ORIGINATES) << SN_SPOT_ORIGINATED;
	allowed |= (uint32_t) !(stop->never & SN_NEVER_REORDERS) << SN_SPOT_REORDERED;
	return allowed;
}

static void contradict(struct sn_spots *spots, uint32_t contradictions, uint64_t now)
{
	for (; contradictions; contradictions &= contradictions - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(contradictions);

		count(&spots->contradicted[i], 1);
		atomic_store_explicit(&spots->contradicted_at[i], now, memory_order_relaxed);
	}
}

static bool change_state(struct sn_spot *s, uint32_t *was, uint32_t to)
{
	return atomic_compare_exchange_strong_explicit(&s->state, was, to, memory_order_acquire,
						       memory_order_relaxed);
}

/* ---- out ---- */

static void look_for_lost(struct sn_spots *spots, uint64_t now)
{
	for (uint32_t i = 0; i < SN_SPOTS; i++) {
		struct sn_spot *s = &spots->spots[i];
		uint32_t was = SN_SPOT_AWAY;

		if (atomic_load_explicit(&s->state, memory_order_relaxed) != SN_SPOT_AWAY ||
		    now < relaxed(&s->sent_at) + SN_SPOT_MISSED_NS || !change_state(s, &was, SN_SPOT_HELD))
			continue;
		count(&spots->lost, 1);
		contradict(spots, 1u << SN_SPOT_DROPPED & ~s->allowed, now);
		atomic_store_explicit(&s->state, SN_SPOT_LATE, memory_order_release);
	}
}

bool sn_spots_due(struct sn_spots *spots, uint64_t now)
{
	uint64_t due = relaxed(&spots->due);

	if (now < due || !atomic_compare_exchange_strong_explicit(&spots->due, &due, now + SN_SPOTS_NS,
								  memory_order_relaxed, memory_order_relaxed))
		return false;
	look_for_lost(spots, now);
	return true;
}

static bool is_out(uint32_t state)
{
	return state == SN_SPOT_AWAY || state == SN_SPOT_LATE;
}

/* Whether no frame has it, or one that will not come back; then it is the caller's. */
static bool take(struct sn_spot *s, uint64_t now)
{
	uint32_t was = atomic_load_explicit(&s->state, memory_order_relaxed);

	return was != SN_SPOT_HELD && !(is_out(was) && now < relaxed(&s->sent_at) + SN_SPOT_LOST_NS) &&
	       change_state(s, &was, SN_SPOT_HELD);
}

/* The next one of the first ones that can be taken, to be filled in. NULL: so many are at the function, or
 * lost there. */
static struct sn_spot *take_next(struct sn_spots *spots, uint32_t of, uint64_t now, uint32_t *number)
{
	uint32_t first = atomic_fetch_add_explicit(&spots->next, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < of; i++) {
		*number = (first + i) % of;
		if (take(&spots->spots[*number], now))
			return &spots->spots[*number];
	}
	return NULL;
}

/* The stop for which a frame leaves by an interface, and its fields. NULL: it cannot be checked. */
static const struct sn_stop *stop_of(const struct sn_env *env, uint16_t iface, struct rte_mbuf *m,
				     struct sn_spot_fields *fields)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct sn_stop *stop;
	struct sn_tag tag;

	if (m->nb_segs > 1 || sn_load16(f + 12) == SN_PROBE_TYPE || !sn_tag_read(f + AT_SOURCE, &tag) ||
	    tag.nonce != env->program->nonce)
		return NULL;
	stop = sn_continuation_stop(env->program, tag.continuation);
	*fields = fields_as_sent(m);
	return stop->out == iface && env->addresses.ports[stop->back] < SN_IFACES_MAX && fields->whole ? stop
												       : NULL;
}

/* A frame leaves under an address of its own. NULL: there is none left. */
static struct sn_spot *check(struct sn_env *env, const struct sn_stop *stop, struct rte_mbuf *m,
			     const struct sn_spot_fields *fields, struct sn_spot *before, uint64_t mark)
{
	uint8_t *source = rte_pktmbuf_mtod_offset(m, uint8_t *, AT_SOURCE);
	uint32_t number, port = env->addresses.ports[stop->back];
	struct sn_spots *spots = &env->wires->wires[port].spots;
	struct sn_spot *s = take_next(spots, mark ? SN_SPOTS / 2 : SN_SPOTS, env->burst.now, &number);

	if (!s)
		return NULL;
	s->allowed = sn_spot_allowed(stop);
	s->fields = *fields;
	s->before = before;
	s->mark = mark;
	atomic_store_explicit(&s->overtaken, false, memory_order_relaxed);
	memcpy(s->source, source, sizeof(s->source));
	atomic_store_explicit(&s->sent_at, env->burst.now, memory_order_relaxed);
	write_address(env, port, number, source);
	count(&spots->checked, 1);
	atomic_store_explicit(&s->state, SN_SPOT_AWAY, memory_order_release);
	return s;
}

static bool is_one_flow(const struct sn_spot_fields *a, const struct sn_spot_fields *b)
{
	return a->src == b->src && a->dst == b->dst && a->proto == b->proto && a->sport == b->sport &&
	       a->dport == b->dport && a->vlan == b->vlan;
}

/* The flow's next packet is checked as well, if it is among the frames: it must not overtake the first. */
static void check_next(struct sn_env *env, uint16_t iface, const struct sn_stop *stop, struct sn_spot *first,
		       const struct sn_spot_fields *flow, struct rte_mbuf **frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct sn_spot_fields fields;

		if (stop_of(env, iface, frames[i], &fields) != stop || !is_one_flow(flow, &fields))
			continue;
		check(env, stop, frames[i], &fields, first, 0);
		return;
	}
}

void sn_spot_send(struct sn_env *env, uint16_t iface, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t at = (uint32_t)(env->burst.now % n);
	struct sn_spot_fields fields;
	const struct sn_stop *stop = stop_of(env, iface, frames[at], &fields);
	struct sn_spot *first;

	if (!stop)
		return;
	env->spotted &= ~(1ull << iface);
	first = check(env, stop, frames[at], &fields, NULL, 0);
	if (first && stop->never & SN_NEVER_REORDERS)
		check_next(env, iface, stop, first, &fields, frames + at + 1, n - at - 1);
}

void sn_spot_follow(struct sn_env *env, uint16_t iface, struct rte_mbuf *m, uint64_t mark)
{
	struct sn_spot_fields fields;
	const struct sn_stop *stop = stop_of(env, iface, m, &fields);

	if (stop)
		check(env, stop, m, &fields, NULL, mark);
}

void sn_spot_forget(struct sn_env *env, uint16_t iface, const struct rte_mbuf *m)
{
	for (uint64_t left = env->program->returns; left; left &= left - 1) {
		uint32_t back = (uint32_t)__builtin_ctzll(left), was = SN_SPOT_AWAY;
		struct sn_spot *s;

		if (env->program->interfaces[back].left_by != iface)
			continue;
		s = spot_of(env, back, rte_pktmbuf_mtod_offset(m, const uint8_t *, AT_SOURCE));
		if (s && atomic_compare_exchange_strong_explicit(&s->state, &was, SN_SPOT_FREE,
								 memory_order_relaxed, memory_order_relaxed))
			count(&env->wires->wires[env->addresses.ports[back]].spots.checked, (uint64_t)-1);
	}
}

/* ---- back ---- */

/* Whether it is the packet that was sent. A function may make one with the addresses of another, as an IPS
 * does that resets a connection. */
static bool is_same(const struct sn_spot_fields *was, const struct sn_spot_fields *is)
{
	return was->len == is->len || (was->id == is->id && was->id != 0);
}

static void compare(struct sn_spots *spots, const struct sn_spot *s, const struct sn_spot_fields *fields,
		    uint64_t now)
{
	uint32_t changed = difference(&s->fields, fields);

	if (!is_same(&s->fields, fields))
		return;
	if (fields->ttl > s->fields.ttl)
		changed = (changed & ~(1u << SN_TTL)) | 1u << SN_SPOT_TTL_RAISED;
	changed |= (uint32_t)(fields->len != s->fields.len) << SN_SPOT_RESIZED;
	contradict(spots, changed & ~s->allowed, now);
}

/* The first of two packets of a flow comes back first, if it comes back at all. Another frame that has the
 * first one's address by now left at another time. */
static void judge_order(struct sn_spots *spots, const struct sn_spot *s, uint64_t now)
{
	struct sn_spot *before = s->before;

	if (before && is_out(atomic_load_explicit(&before->state, memory_order_relaxed)) &&
	    relaxed(&before->sent_at) == relaxed(&s->sent_at))
		atomic_store_explicit(&before->overtaken, true, memory_order_relaxed);
	if (atomic_load_explicit(&s->overtaken, memory_order_relaxed))
		contradict(spots, 1u << SN_SPOT_REORDERED & ~s->allowed, now);
}

/* Another worker may have read the clock before this one sent the frame. */
static void note_time(struct sn_spots *spots, uint64_t sent_at, uint64_t now)
{
	uint64_t ns = now > sent_at ? now - sent_at : 0, us = ns / 1000;
	uint32_t i = us ? 64 - (uint32_t)__builtin_clzll(us) : 0;

	count(&spots->returned, 1);
	count(&spots->times[RTE_MIN(i, SN_SPOT_TIMES - 1u)], 1);
	count(&spots->time, ns);
}

/* Bridges send frames of other kinds on their own, and flood frames for others: these never go on. */
static bool is_ip_for(uint64_t mac, const struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->data_len < SN_ETHER_LEN || sn_mac_number(f) != mac)
		return false;
	if (m->data_len >= SN_ETHER_LEN + SN_TAG_LEN && sn_load16(f + 12) == 0x8100)
		f += SN_TAG_LEN;
	return sn_load16(f + 12) == 0x0800;
}

/* Whether it had a frame, and nobody holds it; then it is the caller's. */
static bool hold(struct sn_spot *s, uint32_t *was)
{
	*was = atomic_load_explicit(&s->state, memory_order_relaxed);
	return (is_out(*was) || *was == SN_SPOT_BACK) && change_state(s, was, SN_SPOT_HELD);
}

bool sn_spot_back(struct sn_env *env, uint16_t iface, struct rte_mbuf *m, uint64_t now)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);
	struct sn_spot *s = spot_of(env, iface, f + AT_SOURCE);
	struct sn_spot_fields fields = {.whole = false};
	struct sn_spots *spots;
	uint32_t was;

	if (!s || !hold(s, &was))
		return false;
	spots = &env->wires->wires[env->addresses.ports[iface]].spots;
	memcpy(f + AT_SOURCE, s->source, sizeof(s->source));
	if (s->mark) {
		sn_trace_mark_set(m, s->mark);
		s->mark = 0; /* what comes with the same address then is not that packet */
	}
	if (is_out(was)) {
		note_time(spots, relaxed(&s->sent_at), now);
		judge_order(spots, s, now);
	}
	if (read_fields(env, iface, m, &fields) && is_out(was))
		compare(spots, s, &fields, now);
	if (was == SN_SPOT_BACK && fields.whole) /* not one of several fragments */
		contradict(spots, 1u << SN_SPOT_ORIGINATED & ~s->allowed, now);
	atomic_store_explicit(&s->state, SN_SPOT_BACK, memory_order_release);
	return true;
}

void sn_spot_untagged(struct sn_env *env, uint16_t iface, struct rte_mbuf *const *frames, uint32_t n,
		      uint64_t now)
{
	uint32_t port = env->addresses.ports[iface];

	if (likely(!(env->program->only_returns >> iface & 1)) || !env->wires || port >= SN_IFACES_MAX)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (is_ip_for(env->addresses.macs[iface], frames[i]))
			contradict(&env->wires->wires[port].spots, 1u << SN_SPOT_ORIGINATED, now);
}
