/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_wait.h"

#include <errno.h>

#include "sn_lines.h"

int sn_wait_init(struct sn_wait *t, uint16_t max)
{
	*t = (struct sn_wait){.max = max, .share = max};
	t->slots = sn_lines(max + 1u, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	for (uint32_t i = max; i > 0; i--) {
		t->slots[i].next = t->free;
		t->free = (uint16_t)i;
	}
	return 0;
}

void sn_wait_free(struct sn_wait *t)
{
	for (uint32_t i = 0; t->slots && i < SN_IFACES_MAX; i++)
		for (uint16_t s = t->ifaces[i].oldest; s; s = t->slots[s].newer)
			rte_pktmbuf_free(t->slots[s].m);
	free(t->slots);
	*t = (struct sn_wait){0};
}

void sn_wait_divide(struct sn_wait *t, uint32_t n)
{
	t->share = n > 1 ? (uint16_t)(t->max / n) : t->max;
}

uint16_t sn_wait_evictee(const struct sn_wait *t, uint8_t iface, uint16_t more)
{
	const struct sn_wait_list *l = &t->ifaces[iface];

	return l->n + more > t->share ? t->slots[l->oldest].neigh : 0;
}

void sn_wait_push(struct sn_wait *t, struct sn_wait_queue *q, uint8_t iface, uint16_t neigh,
		  struct rte_mbuf *m)
{
	struct sn_wait_list *l = &t->ifaces[iface];
	uint16_t i = t->free;
	struct sn_wait_slot *s = &t->slots[i];

	t->free = s->next;
	*s = (struct sn_wait_slot){.m = m, .neigh = neigh, .older = l->newest};
	if (l->newest)
		t->slots[l->newest].newer = i;
	else
		l->oldest = i;
	l->newest = i;
	l->n++;
	if (q->tail)
		t->slots[q->tail].next = i;
	else
		q->head = i;
	q->tail = i;
}

static void unlink_slot(struct sn_wait *t, struct sn_wait_list *l, const struct sn_wait_slot *s)
{
	if (s->older)
		t->slots[s->older].newer = s->newer;
	else
		l->oldest = s->newer;
	if (s->newer)
		t->slots[s->newer].older = s->older;
	else
		l->newest = s->older;
	l->n--;
}

struct rte_mbuf *sn_wait_pop(struct sn_wait *t, struct sn_wait_queue *q, uint8_t iface)
{
	uint16_t i = q->head;
	struct sn_wait_slot *s = &t->slots[i];

	if (!i)
		return NULL;
	unlink_slot(t, &t->ifaces[iface], s);
	q->head = s->next;
	if (!q->head)
		q->tail = 0;
	s->next = t->free;
	t->free = i;
	return s->m;
}
