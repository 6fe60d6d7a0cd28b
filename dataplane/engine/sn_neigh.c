/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "sn_lines.h"
#include "sn_worker_impl.h"

#define SECOND	      1000000000ull
#define AGE	      (60 * SECOND)
#define GIVE_UP	      (3 * SECOND)
#define ASK_AGAIN     (1 * SECOND)
#define VISIT_WAITING (SECOND / 10)
#define VISIT_IDLE    (10 * SECOND)
/* Announcements (RFC 5227, 2.3), one more than it says: a device may take a second until it sends. */
#define ANNOUNCE_NUM	  3
#define ANNOUNCE_INTERVAL (2 * SECOND)
#define ANNOUNCE_MAX	  256 /* addresses of a pool; who wants another one asks again in time */

#define ARP_LEN	      28
#define ARP_REQUEST   1
#define ARP_REPLY     2
#define MAC_BROADCAST 0xffffffffffffull

int sn_neigh_init(struct sn_neigh_table *t, uint32_t max)
{
	uint32_t buckets = 16;

	memset(t, 0, sizeof(*t));
	while (buckets < max)
		buckets *= 2;
	t->max = max;
	t->fresh = SN_NEIGH_NONE + 1;
	t->bucket_mask = buckets - 1;
	t->entries = aligned_alloc(64, max * sizeof(*t->entries));
	t->waiting = sn_lines(max, sizeof(*t->waiting));
	t->buckets = sn_lines(buckets, sizeof(*t->buckets));
	if (!t->entries || !t->waiting || !t->buckets) {
		sn_neigh_free(t);
		return -ENOMEM;
	}
	memset(t->entries, 0, max * sizeof(*t->entries));
	return 0;
}

void sn_neigh_free(struct sn_neigh_table *t)
{
	for (uint32_t i = 0; t->entries && t->waiting && i < t->fresh; i++)
		rte_pktmbuf_free_bulk(t->waiting[i], t->entries[i].n_wait);
	free(t->entries);
	free(t->waiting);
	free(t->buckets);
	memset(t, 0, sizeof(*t));
}

static uint32_t index_of(const struct sn_neigh_table *t, const struct sn_neigh *n)
{
	return (uint32_t)(n - t->entries);
}

/* ---- which are asked for, in the order in which that began ---- */

static void begin_asking(struct sn_neigh_table *t, struct sn_neigh *n, uint64_t now)
{
	n->state = SN_NEIGH_INCOMPLETE;
	n->asked_first = now;
	n->older = t->newest;
	n->newer = SN_NEIGH_NONE;
	t->newest = (uint16_t)index_of(t, n);
	if (n->older != SN_NEIGH_NONE)
		t->entries[n->older].newer = t->newest;
	else
		t->oldest = t->newest;
}

static void end_asking(struct sn_neigh_table *t, const struct sn_neigh *n)
{
	if (n->state != SN_NEIGH_INCOMPLETE)
		return;
	if (n->older != SN_NEIGH_NONE)
		t->entries[n->older].newer = n->newer;
	else
		t->oldest = n->newer;
	if (n->newer != SN_NEIGH_NONE)
		t->entries[n->newer].older = n->older;
	else
		t->newest = n->older;
}

/* ---- entries ---- */

static void drop_waiting(struct sn_worker *w, struct sn_neigh *n)
{
	for (uint8_t i = 0; i < n->n_wait; i++)
		sn_worker_drop(w, w->neigh.waiting[index_of(&w->neigh, n)][i], SN_REASON_NEIGHBOR_UNRESOLVED);
	n->n_wait = 0;
}

static void forget(struct sn_worker *w, struct sn_neigh *n)
{
	struct sn_neigh_table *t = &w->neigh;
	uint32_t i = index_of(t, n), *link = &t->buckets[sn_neigh_bucket(t, n->iface, n->address)];

	drop_waiting(w, n);
	end_asking(t, n);
	while (*link != i)
		link = &t->entries[*link].hash_next;
	*link = n->hash_next;
	n->state = SN_NEIGH_FREE;
	n->address = 0;
	n->hash_next = t->free;
	t->free = i;
}

/* An entry that nothing names; NULL if there is no room. In a full table the one that was asked for longest
 * gives way: a scan of addresses that nobody has leaves room for those that somebody has. */
static struct sn_neigh *vacant(struct sn_worker *w)
{
	struct sn_neigh_table *t = &w->neigh;
	struct sn_neigh *n;

	if (t->fresh < t->max)
		return &t->entries[t->fresh++];
	if (!t->free && t->oldest)
		forget(w, &t->entries[t->oldest]);
	if (!t->free)
		return NULL;
	n = &t->entries[t->free];
	t->free = n->hash_next;
	if (n->named) {
		sn_cache_flush(&w->cache);
		sn_cache_flush(&w->rehearsal.cache);
	}
	return n;
}

/* NULL if there is no room. */
static struct sn_neigh *add(struct sn_worker *w, uint8_t iface, uint32_t address)
{
	struct sn_neigh_table *t = &w->neigh;
	struct sn_neigh *n = vacant(w);
	uint32_t *bucket;

	if (!n)
		return NULL;
	bucket = &t->buckets[sn_neigh_bucket(t, iface, address)];
	memset(n, 0, sizeof(*n));
	n->iface = iface;
	n->address = address;
	n->hash_next = *bucket;
	*bucket = index_of(t, n);
	return n;
}

static void set_l2(const struct sn_worker *w, struct sn_neigh *n, const uint8_t mac[6])
{
	n->named = true; /* from now on it is usable */
	memcpy(n->l2, mac, 6);
	memcpy(n->l2 + 6, &w->macs[n->iface], 6);
}

/* The Ethernet header and ARP packet of a frame that is to be sent; tag and its type are copied from `tagged`
 * if that is given. */
static struct rte_mbuf *arp_frame(struct sn_worker *w, uint8_t iface, uint16_t tpid, uint16_t tci,
				  uint32_t source, const uint8_t to[6])
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	uint32_t l2 = SN_ETHER_LEN + (tpid ? SN_TAG_LEN : 0);
	uint8_t *f;

	if (!m)
		return NULL;
	sn_source_set(m, source);
	f = (uint8_t *)rte_pktmbuf_append(m, l2 + ARP_LEN);
	if (!f) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memcpy(f, to, 6);
	memcpy(f + 6, &w->macs[iface], 6);
	if (tpid) {
		sn_store16(f + 12, tpid);
		sn_store16(f + 14, tci);
	}
	sn_store16(f + l2 - 2, 0x0806);
	return m;
}

static void fill_arp(const struct sn_worker *w, uint8_t iface, struct rte_mbuf *m, uint16_t op,
		     uint32_t sender, const uint8_t target_mac[6], uint32_t target)
{
	uint8_t *a = rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - ARP_LEN);

	sn_store16(a, 1);
	sn_store16(a + 2, 0x0800);
	a[4] = 6;
	a[5] = 4;
	sn_store16(a + 6, op);
	memcpy(a + 8, &w->macs[iface], 6);
	sn_store32(a + 14, sender);
	memcpy(a + 18, target_mac, 6);
	sn_store32(a + 24, target);
}

static void ask(struct sn_worker *w, struct sn_neigh *n, uint32_t source, uint64_t now)
{
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, none[6];
	uint32_t own = w->neigh.silent ? 0 : w->program->interfaces[n->iface].address;
	struct rte_mbuf *m;

	n->asked_last = now;
	m = arp_frame(w, n->iface, n->vlan == SN_VLAN_ABSENT ? 0 : 0x8100, n->vlan, source, all);
	if (!m)
		return; /* asked again in a second */
	fill_arp(w, n->iface, m, ARP_REQUEST, own, none, n->address);
	sn_worker_send(w, n->iface, m);
}

static void announce_address(struct sn_worker *w, uint8_t iface, uint32_t address)
{
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, none[6];
	struct rte_mbuf *m = arp_frame(w, iface, 0, 0, SN_SOURCE_NONE, all);

	if (!m)
		return; /* announced more than once */
	fill_arp(w, iface, m, ARP_REQUEST, address, none, address);
	sn_worker_send(w, iface, m);
}

void sn_neigh_silence(struct sn_worker *w, bool silent)
{
	w->neigh.silent = silent;
	if (silent)
		w->neigh.announcements = 0;
}

void sn_neigh_announce(struct sn_worker *w, uint64_t ifaces)
{
	if (w->neigh.silent)
		return;
	w->neigh.announced = ifaces;
	w->neigh.announcements = ANNOUNCE_NUM;
	w->neigh.next_announcement = 0;
}

static void announce(struct sn_worker *w, uint64_t now)
{
	w->neigh.announcements--;
	w->neigh.next_announcement = now + ANNOUNCE_INTERVAL;
	for (uint32_t i = 0; i < w->program->n_interfaces; i++) {
		const struct sn_interface *ifc = &w->program->interfaces[i];

		if (!(w->neigh.announced & 1ull << i))
			continue;
		announce_address(w, i, ifc->address);
		for (uint32_t j = 0; j < ifc->n_proxy && j < ANNOUNCE_MAX; j++)
			announce_address(w, i, ifc->proxy[j]);
	}
}

void sn_neigh_wait(struct sn_worker *w, const struct sn_pkt *p, uint8_t iface, uint32_t address, uint64_t now)
{
	struct sn_neigh_table *t = &w->neigh;
	struct sn_neigh *n = sn_neigh_find(t, iface, address);

	if (!n)
		n = add(w, iface, address);
	if (!n || n->n_wait == SN_NEIGH_WAIT) {
		sn_worker_drop(w, p->m, SN_REASON_NEIGHBOR_UNRESOLVED);
		return;
	}
	t->waiting[index_of(t, n)][n->n_wait++] = p->m;
	if (n->state == SN_NEIGH_INCOMPLETE)
		return;
	begin_asking(t, n, now);
	n->vlan = p->vlan;
	t->next_visit = 0;
	ask(w, n, sn_source(p->m), now);
}

/* What an ARP packet says. */
struct heard {
	uint32_t sender, target;
	const uint8_t *mac; /* the sender's */
	bool to_us;	    /* it asks for an address of ours, or answers us */
};

static bool on_link(const struct sn_interface *i, uint32_t address)
{
	return ((address ^ i->address) & i->mask) == 0 && address != i->address;
}

static void learn(struct sn_worker *w, struct sn_neigh *n, const uint8_t mac[6], uint64_t now)
{
	struct sn_neigh_table *t = &w->neigh;

	end_asking(t, n);
	n->state = SN_NEIGH_REACHABLE;
	n->age = AGE;
	n->used = now;
	set_l2(w, n, mac);
	for (uint8_t i = 0; i < n->n_wait; i++) {
		struct rte_mbuf *m = t->waiting[index_of(t, n)][i];

		sn_write_l2(rte_pktmbuf_mtod(m, uint8_t *), n);
		sn_worker_send(w, n->iface, m);
	}
	n->n_wait = 0;
}

/* What a packet says of its sender: who speaks to us is learnt, who is known is updated, whatever it asks.
 * False: nothing that another worker would want to know, which may know more than this one. */
static bool hear(struct sn_worker *w, uint8_t iface, const struct heard *h, uint64_t now)
{
	struct sn_neigh *n;

	if (!on_link(&w->program->interfaces[iface], h->sender) || h->mac[0] & 1 || !sn_mac_number(h->mac))
		return false;
	n = sn_neigh_find(&w->neigh, iface, h->sender);
	if (!n && h->to_us)
		n = add(w, iface, h->sender);
	if (!n)
		return h->to_us || h->sender == h->target;
	if (n->state == SN_NEIGH_STATIC)
		return false;
	learn(w, n, h->mac, now);
	return true;
}

static bool is_ours(const struct sn_interface *i, uint32_t address)
{
	if (address == i->address)
		return true;
	for (uint32_t j = 0; j < i->n_proxy; j++)
		if (i->proxy[j] == address)
			return true;
	return false;
}

static void answer(struct sn_worker *w, const struct sn_pkt *p, const struct heard *h)
{
	const uint8_t *f = rte_pktmbuf_mtod(p->m, const uint8_t *);
	bool tagged = p->vlan0 != SN_VLAN_ABSENT;
	struct rte_mbuf *m = arp_frame(w, p->iface, tagged ? sn_load16(f + 12) : 0,
				       tagged ? sn_load16(f + 14) : 0, sn_source(p->m), h->mac);

	if (!m) {
		sn_worker_count_drop(w, NULL, sn_source(p->m), 0, SN_REASON_NO_MEMORY);
		return;
	}
	fill_arp(w, p->iface, m, ARP_REPLY, h->target, h->mac, h->sender);
	sn_worker_send(w, p->iface, m);
}

bool sn_neigh_arp(struct sn_worker *w, const struct sn_pkt *p, uint64_t now)
{
	const uint8_t *f = rte_pktmbuf_mtod(p->m, const uint8_t *), *a = f + p->l3;
	struct heard h;
	uint16_t op;
	bool news;

	if (p->m->data_len < p->l3 + ARP_LEN || sn_load16(a) != 1 || sn_load16(a + 2) != 0x0800 ||
	    a[4] != 6 || a[5] != 4)
		return false;
	op = sn_load16(a + 6);
	if (op != ARP_REQUEST && op != ARP_REPLY)
		return false;
	h = (struct heard){.sender = sn_load32(a + 14), .mac = a + 8, .target = sn_load32(a + 24)};
	h.to_us = op == ARP_REPLY ? sn_mac_number(f) != MAC_BROADCAST
				  : is_ours(&w->program->interfaces[p->iface], h.target);
	news = hear(w, p->iface, &h, now);
	if (op == ARP_REQUEST && h.to_us && !w->taking && !w->neigh.silent)
		answer(w, p, &h);
	return news;
}

void sn_neigh_tick(struct sn_worker *w, uint64_t now)
{
	struct sn_neigh_table *t = &w->neigh;

	if (t->announcements && now >= t->next_announcement)
		announce(w, now);
	if (now < t->next_visit)
		return;
	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh; i++) {
		struct sn_neigh *n = &t->entries[i];

		if (n->state == SN_NEIGH_INCOMPLETE) {
			if (now - n->asked_first >= GIVE_UP)
				forget(w, n);
			else if (now - n->asked_last >= ASK_AGAIN)
				ask(w, n, SN_SOURCE_NONE, now);
		} else if (n->state == SN_NEIGH_REACHABLE && !sn_neigh_usable(n, now)) {
			forget(w, n);
		}
	}
	t->next_visit = now + (t->oldest ? VISIT_WAITING : VISIT_IDLE);
}

static bool is_configured(const struct sn_interface *ifc, const struct sn_neigh *n)
{
	for (uint32_t i = 0; i < ifc->n_neighbors; i++)
		if (ifc->neighbors[i].address == n->address && memcmp(ifc->neighbors[i].mac, n->l2, 6) == 0)
			return true;
	return false;
}

/* What was learnt stays, where the interface does, and what is configured, where it is still. */
static bool stays(const struct sn_worker *w, const struct sn_program *old, const struct sn_neigh *n)
{
	const struct sn_program *p = w->program;

	return p && old && n->iface < p->n_interfaces &&
	       !strcmp(p->interfaces[n->iface].name, old->interfaces[n->iface].name) &&
	       (n->state == SN_NEIGH_STATIC ? is_configured(&p->interfaces[n->iface], n)
					    : on_link(&p->interfaces[n->iface], n->address));
}

void sn_neigh_apply(struct sn_worker *w, const struct sn_program *old)
{
	struct sn_neigh_table *t = &w->neigh;

	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh; i++) {
		struct sn_neigh *n = &t->entries[i];

		if (n->state == SN_NEIGH_FREE)
			continue;
		if (stays(w, old, n))
			memcpy(n->l2 + 6, &w->macs[n->iface], 6);
		else
			forget(w, n);
	}
	for (uint32_t i = 0; w->program && i < w->program->n_interfaces; i++) {
		const struct sn_interface *ifc = &w->program->interfaces[i];

		for (uint32_t j = 0; j < ifc->n_neighbors; j++) {
			struct sn_neigh *n = sn_neigh_find(t, i, ifc->neighbors[j].address);

			if (n && n->state == SN_NEIGH_STATIC)
				continue; /* it stayed, in its place */
			if (n)
				forget(w, n);
			n = add(w, i, ifc->neighbors[j].address);
			if (!n)
				continue; /* asked for by ARP if it is ever free */
			n->state = SN_NEIGH_STATIC;
			n->age = UINT64_MAX;
			set_l2(w, n, ifc->neighbors[j].mac);
		}
	}
	t->next_visit = 0;
}

const char *sn_neigh_state_name(enum sn_neigh_state state)
{
	switch (state) {
	case SN_NEIGH_FREE:
		return "free";
	case SN_NEIGH_INCOMPLETE:
		return "incomplete";
	case SN_NEIGH_REACHABLE:
		return "reachable";
	case SN_NEIGH_STATIC:
		return "static";
	}
	return "unknown";
}

size_t sn_worker_neighbors(const struct sn_worker *w, uint64_t now, struct sn_neigh_info *out, size_t max)
{
	const struct sn_neigh_table *t = &w->neigh;
	size_t count = 0;

	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh && count < max; i++) {
		const struct sn_neigh *n = &t->entries[i];

		if (n->state == SN_NEIGH_FREE || (n->state == SN_NEIGH_REACHABLE && !sn_neigh_usable(n, now)))
			continue;
		out[count] =
			(struct sn_neigh_info){.iface = n->iface, .address = n->address, .state = n->state};
		memcpy(out[count].mac, n->l2, 6);
		count++;
	}
	return count;
}
