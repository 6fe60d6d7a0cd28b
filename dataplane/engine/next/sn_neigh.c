/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_neigh_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "sn_arp.h"
#include "sn_lines.h"
#include "sn_output.h"
#include "sn_watch.h"

#define SECOND 1000000000ull

/* RFC 4861, section 10; used for ARP as well. */
#define REACHABLE_TIME	      (30 * SECOND)
#define RETRANS_TIMER	      (1 * SECOND)
#define DELAY_FIRST_PROBE     (5 * SECOND)
#define MAX_UNICAST_SOLICIT   3
#define MAX_MULTICAST_SOLICIT 3

#define UNUSED	   (60 * SECOND) /* then a neighbour is forgotten */
#define FAILED	   (2 * SECOND)	 /* who did not answer is not asked again before */
#define ROUND	   (SECOND / 10) /* in which the tick visits every entry once */
#define ASKED_PART 8		 /* of an interface's share is for those that are asked for */
#define SPARED	   1024		 /* neighbours in use at most are skipped before one gives way */
/* The host that had an address is asked so often, a round apart, before another one is believed that says
 * that it has it, and then not again for a time. */
#define DISPUTE_SOLICIT 3
#define DISPUTE_REST	(1 * SECOND)
#define ASK_RATE	1000 /* broadcasts per second, and at once after a pause */
/* Announcements (RFC 5227, 2.3), one more than it says: a device may take a second until it sends. */
#define ANNOUNCE_NUM	  3
#define ANNOUNCE_INTERVAL (2 * SECOND)

int sn_neigh_init(struct sn_neigh_table *t, struct sn_env *env, const struct sn_neigh_hooks *hooks,
		  uint32_t max, uint16_t waiting)
{
	uint32_t buckets = 16;
	int rc;

	memset(t, 0, sizeof(*t));
	while (buckets < max)
		buckets *= 2;
	t->env = env;
	t->hooks = *hooks;
	t->max = max;
	t->fresh = SN_NEIGH_NONE + 1;
	t->bucket_mask = buckets - 1;
	t->random = 0x9e3779b97f4a7c15ull * (env->number + 1);
	t->entries = aligned_alloc(64, max * sizeof(*t->entries));
	t->buckets = sn_lines(buckets, sizeof(*t->buckets));
	t->gone = sn_lines(waiting, sizeof(struct rte_mbuf *));
	rc = sn_wait_init(&t->wait, waiting);
	if (rc || !t->entries || !t->buckets || !t->gone) {
		sn_neigh_free(t);
		return -ENOMEM;
	}
	memset(t->entries, 0, max * sizeof(*t->entries));
	return 0;
}

void sn_neigh_free(struct sn_neigh_table *t)
{
	sn_wait_free(&t->wait);
	free(t->entries);
	free(t->buckets);
	free(t->gone);
	memset(t, 0, sizeof(*t));
}

static uint16_t index_of(const struct sn_neigh_table *t, const struct sn_neigh *n)
{
	return (uint16_t)(n - t->entries);
}

/* RFC 4861, section 6.3.2: at random between half and one and a half of the base, so that routers do not ask
 * in step. */
static uint64_t reachable_time(struct sn_neigh_table *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return REACHABLE_TIME / 2 + t->random % REACHABLE_TIME;
}

/* ---- lists: which are asked for, and which were heard of ---- */

static bool is_asked_for(const struct sn_neigh *n)
{
	return n->state == SN_NEIGH_INCOMPLETE || n->state == SN_NEIGH_FAILED;
}

/* NULL: it is in none. */
static struct sn_neigh_list *list_of(struct sn_neigh_table *t, const struct sn_neigh *n)
{
	struct sn_neigh_room *room = &t->rooms[n->iface];

	if (is_asked_for(n))
		return &room->asked;
	return sn_neigh_usable(n) && n->state != SN_NEIGH_STATIC ? &room->known : NULL;
}

static void unlink_from(struct sn_neigh_table *t, const struct sn_neigh *n)
{
	struct sn_neigh_list *list = list_of(t, n);

	if (!list)
		return;
	list->n--;
	if (n->older != SN_NEIGH_NONE)
		t->entries[n->older].newer = n->newer;
	else
		list->oldest = n->newer;
	if (n->newer != SN_NEIGH_NONE)
		t->entries[n->newer].older = n->older;
	else
		list->newest = n->older;
}

static void append(struct sn_neigh_table *t, struct sn_neigh *n)
{
	struct sn_neigh_list *list = list_of(t, n);

	if (!list)
		return;
	list->n++;
	n->older = list->newest;
	n->newer = SN_NEIGH_NONE;
	list->newest = index_of(t, n);
	if (n->older != SN_NEIGH_NONE)
		t->entries[n->older].newer = list->newest;
	else
		list->oldest = list->newest;
}

static uint32_t milliseconds(uint64_t ns)
{
	return (uint32_t)(ns / (SECOND / 1000));
}

/* The state ends, and another one begins: at the end of its list. */
static void begin(struct sn_neigh_table *t, struct sn_neigh *n, enum sn_neigh_state state, uint64_t due)
{
	unlink_from(t, n);
	n->state = state;
	n->asked = 0;
	n->due = due;
	n->listed = milliseconds(n->used);
	append(t, n);
}

/* ---- entries ---- */

void sn_neigh_drop_first(struct sn_neigh_table *t, struct sn_neigh *n)
{
	sn_output_drop(t->env, sn_wait_pop(&t->wait, &n->queue, n->iface), SN_REASON_NEIGHBOR_UNRESOLVED);
}

void sn_neigh_forget(struct sn_neigh_table *t, struct sn_neigh *n)
{
	uint32_t i = index_of(t, n), *link = &t->buckets[sn_neigh_bucket(t, n->key)];

	while (n->queue.head)
		sn_neigh_drop_first(t, n);
	begin(t, n, SN_NEIGH_FREE, 0);
	t->rooms[n->iface].n--;
	while (*link != i)
		link = &t->entries[*link].hash_next;
	*link = n->hash_next;
	n->key = 0;
	n->hash_next = t->free;
	t->free = i;
}

/* The interface that gives an entry up in a full table: the one that needs it, if it has its share, or the
 * one that has most beyond. */
static uint32_t giver(const struct sn_neigh_table *t, uint8_t iface)
{
	uint32_t most = iface;

	if (t->rooms[iface].n >= t->share)
		return iface;
	for (uint32_t i = 0; i < SN_IFACES_MAX; i++)
		if (t->rooms[i].n > t->rooms[most].n)
			most = i;
	return most;
}

/* The neighbour that was heard of longest ago, and to which no packet was sent since (as in the algorithm
 * "second chance" for pages of memory). So those in use lose no packet to many others: it would wait for an
 * answer, beside all that wait for those. */
static uint16_t least_used(struct sn_neigh_table *t, struct sn_neigh_list *known)
{
	for (uint32_t i = 0; i < SPARED; i++) {
		struct sn_neigh *n = &t->entries[known->oldest];

		if (known->n < 2 || (int32_t)(milliseconds(n->used) - n->listed) <= 0)
			break;
		unlink_from(t, n);
		n->listed = milliseconds(n->used);
		append(t, n);
	}
	return known->oldest;
}

/* Which of an interface's entries gives way; SN_NEIGH_NONE: none does. Those that are asked for have an
 * eighth of the share, so that neither a scan of addresses that nobody has takes the room of those that
 * somebody has, nor a flood of answers the room to ask. */
static uint16_t least_wanted(struct sn_neigh_table *t, uint32_t iface, bool to_ask)
{
	struct sn_neigh_room *room = &t->rooms[iface];
	bool many = room->asked.n + to_ask > t->share / ASKED_PART;

	if (room->asked.n && (many || !room->known.n))
		return room->asked.oldest;
	return least_used(t, &room->known);
}

/* An entry that nothing names; NULL if there is no room: all are configured. */
static struct sn_neigh *vacant(struct sn_neigh_table *t, uint8_t iface, bool to_ask)
{
	struct sn_neigh *n;

	if (t->fresh < t->max)
		return &t->entries[t->fresh++];
	if (!t->free) {
		uint16_t i = least_wanted(t, giver(t, iface), to_ask);

		if (i == SN_NEIGH_NONE)
			return NULL;
		sn_neigh_forget(t, &t->entries[i]);
	}
	n = &t->entries[t->free];
	t->free = n->hash_next;
	if (n->named)
		t->hooks.renamed(t->hooks.ctx);
	return n;
}

struct sn_neigh *sn_neigh_add(struct sn_neigh_table *t, uint64_t key, bool to_ask)
{
	struct sn_neigh *n = vacant(t, (uint8_t)(key >> 48), to_ask);
	uint32_t *bucket;

	if (!n)
		return NULL;
	bucket = &t->buckets[sn_neigh_bucket(t, key)];
	memset(n, 0, sizeof(*n));
	n->iface = (uint8_t)(key >> 48);
	n->key = key;
	n->hash_next = *bucket;
	*bucket = index_of(t, n);
	t->rooms[n->iface].n++;
	return n;
}

void sn_neigh_set_l2(const struct sn_neigh_table *t, struct sn_neigh *n, const uint8_t mac[6])
{
	memcpy(n->l2, mac, 6);
	memcpy(n->l2 + 6, &t->env->addresses.macs[n->iface], 6);
}

/* ---- asking ---- */

/* Whoever makes us send to addresses that nobody has does not make us flood the network with questions. Half
 * of them are for who is asked for by a packet, now: else those to whom nobody answered would have all. */
static bool may_ask(struct sn_neigh_table *t, bool again, uint64_t now)
{
	uint64_t elapsed = now - t->may_ask_at < SECOND ? now - t->may_ask_at : SECOND;

	t->may_ask_at = now;
	t->may_ask += elapsed * ASK_RATE;
	if (t->may_ask > ASK_RATE * SECOND)
		t->may_ask = ASK_RATE * SECOND;
	if (t->may_ask < SECOND + (again ? ASK_RATE / 2 * SECOND : 0))
		return false;
	t->may_ask -= SECOND;
	return true;
}

static void ask_all(struct sn_neigh_table *t, struct sn_neigh *n, bool again, uint32_t source, uint64_t now)
{
	if (!may_ask(t, again, now)) {
		n->due = now + ROUND;
		return;
	}
	n->asked++;
	n->due = now + RETRANS_TIMER;
	sn_arp_ask(t, n, false, source);
}

void sn_neigh_wait(struct sn_neigh_table *t, const struct sn_pkt *p, uint8_t iface, uint32_t address,
		   uint64_t now)
{
	uint64_t key = sn_neigh_key(iface, p->vlan, address);
	struct sn_neigh *n = sn_neigh_find(t, key);
	uint16_t evictee = sn_wait_evictee(&t->wait, iface, 1);

	if (evictee)
		sn_neigh_drop_first(t, &t->entries[evictee]);
	if (!n) {
		n = sn_neigh_add(t, key, true);
		if (n)
			begin(t, n, SN_NEIGH_INCOMPLETE, now);
	}
	if (!n) {
		sn_output_drop(t->env, p->m, SN_REASON_NEIGHBOR_UNRESOLVED);
		return;
	}
	p->m->port = t->env->addresses.ports[p->iface]; /* an error about it depends on where it came in */
	sn_wait_push(&t->wait, &n->queue, iface, index_of(t, n), p->m);
	if (n->asked == 0 && now >= n->due)
		ask_all(t, n, false, sn_source(p->m), now);
}

/* ---- hearing ---- */

static void believe(struct sn_neigh_table *t, struct sn_neigh *n, const uint8_t mac[6], uint64_t now)
{
	struct rte_mbuf *m;

	begin(t, n, SN_NEIGH_REACHABLE, now + reachable_time(t));
	sn_neigh_set_l2(t, n, mac);
	sn_watch_hear(t, n);
	while ((m = sn_wait_pop(&t->wait, &n->queue, n->iface))) {
		sn_write_l2(rte_pktmbuf_mtod(m, uint8_t *), n);
		sn_output_send(t->env, n->iface, m);
	}
}

/* Rounds of the tick, from 1 on, that it comes round to after two hours. */
static uint16_t round_of(uint64_t now)
{
	return (uint16_t)(1 + now / ROUND % UINT16_MAX);
}

static bool rests(const struct sn_neigh *n, uint64_t now)
{
	uint16_t since = (uint16_t)(round_of(now) + UINT16_MAX - n->settled) % UINT16_MAX;

	return n->settled && since < DISPUTE_REST / ROUND;
}

static void settle(struct sn_neigh_table *t, struct sn_neigh *n, const uint8_t mac[6], uint64_t now)
{
	n->settled = round_of(now);
	believe(t, n, mac, now);
}

static void ask_who_had_it(struct sn_neigh_table *t, struct sn_neigh *n, uint64_t now)
{
	n->asked++;
	n->due = now + ROUND;
	sn_arp_ask(t, n, true, SN_SOURCE_NONE);
}

/* Another MAC says that it has a neighbour's address. Anybody on the network can say so; who had the address
 * is asked, and keeps it with an answer. */
static bool dispute(struct sn_neigh_table *t, struct sn_neigh *n, const uint8_t mac[6], uint64_t now)
{
	if (n->state == SN_NEIGH_DISPUTED || rests(n, now))
		return false;
	begin(t, n, SN_NEIGH_DISPUTED, now);
	memcpy(n->claim, mac, 6);
	ask_who_had_it(t, n, now);
	return true;
}

bool sn_neigh_hear(struct sn_neigh_table *t, uint64_t key, const uint8_t mac[6], bool to_us, uint64_t now)
{
	struct sn_neigh *n = sn_neigh_find(t, key);

	if (!n && to_us)
		n = sn_neigh_add(t, key, false);
	if (!n)
		return to_us;
	if (n->state == SN_NEIGH_STATIC)
		return false;
	if (sn_neigh_usable(n) && memcmp(n->l2, mac, 6) != 0)
		return dispute(t, n, mac, now);
	n->used = now;
	if (n->state == SN_NEIGH_DISPUTED)
		settle(t, n, mac, now);
	else
		believe(t, n, mac, now);
	return true;
}

void sn_neigh_silence(struct sn_neigh_table *t, bool silent)
{
	t->silent = silent;
	if (silent)
		t->announcements = 0;
}

void sn_neigh_announce(struct sn_neigh_table *t, uint64_t ifaces)
{
	if (t->silent)
		return;
	t->announced = ifaces;
	t->announcements = ANNOUNCE_NUM;
	t->next_announcement = 0;
}

/* ---- time ---- */

/* Nobody answered: the senders of the packets that waited are told. */
static void give_up(struct sn_neigh_table *t, struct sn_neigh *n, uint64_t now)
{
	uint8_t iface = n->iface;
	uint32_t count = 0;
	struct rte_mbuf *m;

	begin(t, n, SN_NEIGH_FAILED, now + FAILED);
	/* Packets to them may need other neighbours, and this entry for one. */
	while ((m = sn_wait_pop(&t->wait, &n->queue, iface)))
		t->gone[count++] = m;
	for (uint32_t i = 0; i < count; i++)
		t->hooks.unreachable(t->hooks.ctx, t->gone[i], iface, now);
}

/* A neighbour that was reachable and is used: is it still? */
static void probe(struct sn_neigh_table *t, struct sn_neigh *n, uint64_t now)
{
	if (n->state == SN_NEIGH_DELAY) {
		n->state = SN_NEIGH_PROBE;
		n->asked = 0;
	}
	if (n->asked == MAX_UNICAST_SOLICIT) {
		sn_neigh_forget(t, n); /* the next packet asks all */
		return;
	}
	n->asked++;
	n->due = now + RETRANS_TIMER;
	sn_arp_ask(t, n, true, SN_SOURCE_NONE);
}

static void stale(struct sn_neigh_table *t, struct sn_neigh *n, uint64_t now)
{
	n->state = SN_NEIGH_STALE;
	if (n->used >= n->due) {
		n->state = SN_NEIGH_DELAY;
		n->due = n->used + DELAY_FIRST_PROBE;
		if (now >= n->due)
			probe(t, n, now);
	} else if (now - n->used > UNUSED) {
		sn_neigh_forget(t, n);
	}
}

static void visit(struct sn_neigh_table *t, struct sn_neigh *n, uint64_t now)
{
	bool due = now >= n->due;

	switch ((enum sn_neigh_state)n->state) {
	case SN_NEIGH_INCOMPLETE:
		if (due && n->asked == MAX_MULTICAST_SOLICIT)
			give_up(t, n, now);
		else if (due)
			ask_all(t, n, true, SN_SOURCE_NONE, now);
		break;
	case SN_NEIGH_FAILED:
		if (due)
			sn_neigh_forget(t, n);
		break;
	case SN_NEIGH_REACHABLE:
	case SN_NEIGH_STALE:
		if (due)
			stale(t, n, now);
		break;
	case SN_NEIGH_DELAY:
	case SN_NEIGH_PROBE:
		if (due)
			probe(t, n, now);
		break;
	case SN_NEIGH_DISPUTED:
		if (due && n->asked == DISPUTE_SOLICIT)
			settle(t, n, n->claim, now);
		else if (due)
			ask_who_had_it(t, n, now);
		break;
	case SN_NEIGH_FREE:
	case SN_NEIGH_DOWN:
	case SN_NEIGH_STATIC:
		break;
	}
}

static void announce(struct sn_neigh_table *t, uint64_t now)
{
	t->announcements--;
	t->next_announcement = now + ANNOUNCE_INTERVAL;
	for (uint32_t i = 0; i < t->env->program->n_interfaces; i++)
		if (t->announced & 1ull << i)
			sn_arp_announce(t, (uint8_t)i);
}

/* A millisecond's tick visits a hundredth of the table, so that packets do not wait for all of it. */
void sn_neigh_tick(struct sn_neigh_table *t, uint64_t now)
{
	uint64_t since = now - t->visited, n = t->fresh - 1;

	if (t->announcements && now >= t->next_announcement)
		announce(t, now);
	if (since < ROUND)
		n = n * since / ROUND;
	if (!n)
		return;
	t->visited = now;
	while (n--) {
		if (++t->hand >= t->fresh)
			t->hand = SN_NEIGH_NONE + 1;
		visit(t, &t->entries[t->hand], now);
	}
}

const char *sn_neigh_state_name(enum sn_neigh_state state)
{
	static const char *const names[] = {
		[SN_NEIGH_FREE] = "free",	    [SN_NEIGH_FAILED] = "failed",
		[SN_NEIGH_DOWN] = "down",	    [SN_NEIGH_INCOMPLETE] = "incomplete",
		[SN_NEIGH_REACHABLE] = "reachable", [SN_NEIGH_STALE] = "stale",
		[SN_NEIGH_DELAY] = "delay",	    [SN_NEIGH_PROBE] = "probe",
		[SN_NEIGH_DISPUTED] = "disputed",   [SN_NEIGH_STATIC] = "static",
	};

	return names[state];
}

size_t sn_neigh_list(const struct sn_neigh_table *t, struct sn_neigh_info *out, size_t max)
{
	size_t count = 0;

	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh && count < max; i++) {
		const struct sn_neigh *n = &t->entries[i];

		if (n->state == SN_NEIGH_FREE || sn_neigh_is_stop(n))
			continue;
		out[count] = (struct sn_neigh_info){.iface = n->iface,
						    .address = sn_neigh_address(n),
						    .vlan = sn_neigh_vlan(n),
						    .state = n->state};
		memcpy(out[count].mac, n->l2, 6);
		count++;
	}
	return count;
}
