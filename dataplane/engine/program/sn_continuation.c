/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_continuation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sn_program_build.h"
#include "sn_tag.h"

#define WRITABLE                                                                                       \
	(1u << SN_VLAN | 1u << SN_SRC | 1u << SN_DST | 1u << SN_DSCP | 1u << SN_TTL | 1u << SN_SPORT | \
	 1u << SN_DPORT)

typedef Sinter__Program__V1__Stop stop_msg;

/* ---- built ---- */

/* An array of n elements with room for one more: doubled whenever their number is a power of two. */
static void *grown(void *array, uint32_t n, size_t size)
{
	return n & (n - 1) ? array : realloc(array, (n ? 2 * (size_t)n : 1) * size);
}

int sn_build_wire(struct sn_builder *b, const char *field, uint32_t iface)
{
	if (sn_build_index(b, field, iface, b->p->n_interfaces))
		return -EINVAL;
	if (!b->p->interfaces[iface].wire)
		return sn_build_fail(b, "%s is %u (%.64s), want a wire", field, iface,
				     b->p->interfaces[iface].name);
	return 0;
}

static int check_down(struct sn_builder *b, const stop_msg *from)
{
	if (from->down_case == SINTER__PROGRAM__V1__STOP__DOWN_DROP)
		return sn_build_index(b, "stop.drop", from->drop, b->msg->n_reasons);
	if (from->down_case != SINTER__PROGRAM__V1__STOP__DOWN_BYPASS)
		return 0;
	if (sn_build_index(b, "stop.bypass", from->bypass, b->msg->n_counters))
		return -EINVAL;
	if (from->writes)
		return sn_build_fail(
			b, "stop.bypass with stop.writes %#x, want 0: what is written would be missing",
			from->writes);
	return 0;
}

static int check_stop(struct sn_builder *b, const stop_msg *from)
{
	if (sn_build_wire(b, "stop.out", from->out) || sn_build_wire(b, "stop.back", from->back))
		return -EINVAL;
	if (from->back == from->out)
		return sn_build_fail(b, "stop.back is stop.out, want the other side");
	if (sn_build_index(b, "stop.segment", from->segment, b->msg->n_segments))
		return -EINVAL;
	if (from->writes & ~WRITABLE)
		return sn_build_fail(b, "stop.writes is %#x, want fields that can be written", from->writes);
	if (from->never > SN_NEVER_ALL)
		return sn_build_fail(b, "stop.never is %#x, want at most 0xf", from->never);
	return check_down(b, from);
}

static struct sn_stop stop_of(const stop_msg *m)
{
	struct sn_stop s = {
		.out = m->out,
		.back = m->back,
		.segment = m->segment,
		.writes = (uint16_t)m->writes,
		.never = (uint8_t)m->never,
	};

	if (m->down_case == SINTER__PROGRAM__V1__STOP__DOWN_DROP) {
		s.when_down = SN_DOWN_DROP;
		s.down = SN_REASON_CHAIN + m->drop;
	} else if (m->down_case == SINTER__PROGRAM__V1__STOP__DOWN_BYPASS) {
		s.when_down = SN_DOWN_BYPASS;
		s.down = m->bypass;
	}
	return s;
}

static bool is_same(const struct sn_stop *s, const struct sn_stop *t)
{
	return s->out == t->out && s->back == t->back && s->segment == t->segment && s->writes == t->writes &&
	       s->never == t->never && s->when_down == t->when_down && s->down == t->down;
}

int sn_build_stop(struct sn_builder *b, const stop_msg *from, uint32_t *index)
{
	struct sn_program *p = b->p;
	struct sn_stop *stops, stop = stop_of(from);

	if (check_stop(b, from))
		return -EINVAL;
	for (*index = 0; *index < p->n_stops; ++*index)
		if (is_same(&p->stops[*index], &stop))
			return 0;
	stops = grown(p->stops, p->n_stops, sizeof(*stops));
	if (!stops)
		return sn_build_no_memory(b);
	p->stops = stops;
	stops[p->n_stops++] = stop;
	return 0;
}

int sn_build_replicas(struct sn_builder *b, const struct sn_replicas *group)
{
	struct sn_program *p = b->p;
	struct sn_replicas *groups;

	for (uint32_t i = 0; i < p->n_replicas; i++)
		if (!memcmp(&p->replicas[i], group, sizeof(*group)))
			return 0;
	groups = grown(p->replicas, p->n_replicas, sizeof(*groups));
	if (!groups)
		return sn_build_no_memory(b);
	p->replicas = groups;
	groups[p->n_replicas++] = *group;
	return 0;
}

int sn_build_hop(struct sn_builder *b, uint32_t hop)
{
	struct sn_program *p = b->p;
	uint32_t *hops = grown(p->hops, p->n_hops, sizeof(*hops));

	if (!hops)
		return sn_build_no_memory(b);
	p->hops = hops;
	hops[p->n_hops++] = hop;
	return 0;
}

static int compare_hops(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_hops(struct sn_program *p)
{
	uint32_t n = 0;

	qsort(p->hops, p->n_hops, sizeof(*p->hops), compare_hops);
	for (uint32_t i = 0; i < p->n_hops; i++)
		if (i == 0 || p->hops[i] != p->hops[n - 1])
			p->hops[n++] = p->hops[i];
	p->n_hops = n;
}

static bool is_taken(const struct sn_program *p, uint16_t nonce)
{
	for (uint32_t i = 0; i < p->n_before; i++)
		if (p->before[i].nonce == nonce)
			return true;
	return false;
}

/* Frames of programs before are still on their way, so theirs are others. 0 is left out: addresses that
 * people give to their devices begin with it. */
static int draw_nonce(struct sn_builder *b)
{
	uint16_t *nonce = &b->p->nonce;

	do {
		if (getrandom(nonce, sizeof(*nonce), 0) != sizeof(*nonce))
			return sn_build_fail(b, "no random number: %s", strerror(errno));
	} while (!*nonce || is_taken(b->p, *nonce));
	return 0;
}

/* The same interface as one of the program before; SN_NO_INDEX: it is no more. */
static uint32_t interface_now(const struct sn_builder *b, uint32_t before)
{
	for (uint32_t i = 0; i < b->p->n_interfaces; i++)
		if (!strcmp(b->p->interfaces[i].name, b->like->interfaces[before].name))
			return i;
	return SN_NO_INDEX;
}

/* The same of a stop. Its wires are no other one's. */
static uint32_t stop_now(const struct sn_builder *b, uint32_t before)
{
	const struct sn_stop *was = &b->like->stops[before];
	uint32_t out = interface_now(b, was->out), back = interface_now(b, was->back);

	for (uint32_t i = 0; i < b->p->n_stops; i++)
		if (b->p->stops[i].out == out && b->p->stops[i].back == back)
			return i;
	return SN_NO_INDEX;
}

/* How a program numbers its own. */
static struct sn_numbering own(const struct sn_program *p)
{
	return (struct sn_numbering){p->nonce, p->n_stops, p->n_hops, p->n_interfaces, NULL, p->hops, NULL};
}

/* As the program before has it, where places are the program's own if there are none. */
static int carry(struct sn_builder *b, const struct sn_numbering *from)
{
	struct sn_numbering *to = &b->p->before[b->p->n_before];

	*to = *from;
	to->stops = calloc((size_t)from->n_stops + from->n_hops + from->n_interfaces, sizeof(*to->stops));
	if (!to->stops)
		return sn_build_no_memory(b);
	b->p->n_before++;
	to->hops = to->stops + to->n_stops;
	to->interfaces = to->hops + to->n_hops;
	memcpy(to->hops, from->hops, to->n_hops * sizeof(*to->hops));
	for (uint32_t i = 0; i < to->n_stops; i++) {
		uint32_t at = from->stops ? from->stops[i] : i;

		to->stops[i] = at == SN_NO_INDEX ? at : stop_now(b, at);
	}
	for (uint32_t i = 0; i < to->n_interfaces; i++) {
		uint32_t at = from->interfaces ? from->interfaces[i] : i;

		to->interfaces[i] = at == SN_NO_INDEX ? at : interface_now(b, at);
	}
	return 0;
}

static int carry_all(struct sn_builder *b)
{
	const struct sn_program *like = b->like;
	struct sn_numbering last;

	if (!like || !like->n_stops)
		return 0;
	last = own(like);
	if (carry(b, &last))
		return -ENOMEM;
	for (uint32_t i = 0; i < like->n_before && b->p->n_before < SN_BEFORE_MAX; i++)
		if (carry(b, &like->before[i]))
			return -ENOMEM;
	return 0;
}

static int note_ways(struct sn_builder *b)
{
	struct sn_program *p = b->p;
	uint64_t originates = 0;

	for (uint32_t i = 0; i < p->n_stops; i++) {
		const struct sn_stop *s = &p->stops[i];
		struct sn_interface *back = &p->interfaces[s->back];
		uint64_t bit = 1ull << s->back;

		if (p->returns & bit && back->left_by != s->out)
			return sn_build_fail(b,
					     "stop.back is %u (%.64s), by which frames of another way come "
					     "back, want a wire of its own",
					     s->back, back->name);
		back->left_by = (uint8_t)s->out;
		if (!(s->never & SN_NEVER_ORIGINATES))
			originates |= bit;
		p->returns |= bit;
		if (s->when_down)
			p->probed |= bit;
		if (s->when_down == SN_DOWN_BYPASS)
			p->bypassed |= bit;
	}
	p->only_returns = p->returns & ~originates;
	return 0;
}

int sn_build_continuations(struct sn_builder *b)
{
	struct sn_program *p = b->p;

	if (!p->n_stops) {
		free(p->hops);
		p->hops = NULL;
		p->n_hops = 0;
		return 0;
	}
	if (sn_build_hop(b, 0))
		return -ENOMEM;
	sort_hops(p);
	sn_build_at(b, "program");
	if ((uint64_t)p->n_stops * p->n_hops > SN_CONTINUATIONS_MAX ||
	    p->n_stops * p->n_hops * p->n_interfaces > SN_CONTINUATIONS_MAX)
		return sn_build_fail(b,
				     "there are %u stops, %u next hops and %u interfaces, want at most %u of "
				     "their products",
				     p->n_stops, p->n_hops, p->n_interfaces, SN_CONTINUATIONS_MAX);
	if (note_ways(b))
		return -EINVAL;
	if (carry_all(b))
		return -ENOMEM;
	return draw_nonce(b);
}

/* ---- used ---- */

uint32_t sn_continuation_place(const struct sn_program *p, uint32_t hop)
{
	uint32_t lo = 0, hi = p->n_hops;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (p->hops[mid] < hop)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n_hops && p->hops[lo] == hop ? lo : 0;
}

uint32_t sn_continuation_of(const struct sn_program *p, uint32_t stop, uint32_t next_hop, uint32_t entry)
{
	return sn_continuation_number(p, stop, sn_continuation_place(p, next_hop), entry);
}

/* That of another program; NULL: nobody's. */
static const struct sn_numbering *numbering_of(const struct sn_program *p, uint16_t nonce)
{
	for (uint32_t i = 0; i < p->n_before; i++)
		if (p->before[i].nonce == nonce)
			return &p->before[i];
	return NULL;
}

/* A packet of a program before; false: what it needs is no more. */
static bool find_before(const struct sn_program *p, struct sn_tag tag, uint32_t *stop,
			struct sn_continuation *to)
{
	const struct sn_numbering *g = numbering_of(p, tag.nonce);
	uint32_t entry;

	if (!g || tag.continuation >= g->n_stops * g->n_hops * g->n_interfaces)
		return false;
	*stop = g->stops[tag.continuation / g->n_interfaces / g->n_hops];
	entry = g->interfaces[tag.continuation % g->n_interfaces];
	if (*stop == SN_NO_INDEX || entry == SN_NO_INDEX)
		return false;
	to->next_hop = g->hops[tag.continuation / g->n_interfaces % g->n_hops];
	to->entry = (uint8_t)entry;
	to->place = sn_continuation_place(p, to->next_hop);
	to->number =
		to->next_hop && !to->place ? SN_NO_INDEX : sn_continuation_number(p, *stop, to->place, entry);
	return true;
}

static bool find_own(const struct sn_program *p, uint32_t number, uint32_t *stop, struct sn_continuation *to)
{
	uint32_t way = number / p->n_interfaces;

	*stop = way / p->n_hops;
	if (*stop >= p->n_stops)
		return false;
	to->place = way - *stop * p->n_hops;
	to->next_hop = p->hops[to->place];
	to->entry = (uint8_t)(number - way * p->n_interfaces);
	to->number = number;
	return true;
}

bool sn_continuation_find(const struct sn_program *p, uint32_t iface, const uint8_t mac[6],
			  struct sn_continuation *to)
{
	struct sn_tag tag;
	uint32_t stop;

	if (!sn_tag_read(mac, &tag) || !p->n_stops)
		return false;
	if (!(tag.nonce == p->nonce ? find_own(p, tag.continuation, &stop, to)
				    : find_before(p, tag, &stop, to)))
		return false;
	to->segment = p->stops[stop].segment;
	return p->stops[stop].back == iface;
}
