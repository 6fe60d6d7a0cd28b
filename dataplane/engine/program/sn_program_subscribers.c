/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of one subscriber, as a program says them. */

#include <stdlib.h>
#include <string.h>

#include "sn_program_build.h"
#include "sn_reason.h"

static int build_set(struct sn_builder *b, struct sn_subscriber_limits *to,
		     const Sinter__Program__V1__SubscriberLimits *from)
{
	int rc;

	if (from->prefix_len < 1 || from->prefix_len > 32)
		return sn_build_fail(b, "prefix_len is %u, want 1..32", from->prefix_len);
	if (from->max_sessions < 1)
		return sn_build_fail(b, "max_sessions is 0, want at least 1");
	rc = sn_build_index(b, "reason", from->reason, b->msg->n_reasons);
	if (rc)
		return rc;
	to->prefix_len = from->prefix_len;
	to->max_sessions = from->max_sessions;
	to->max_ports = from->max_ports;
	to->reason = SN_REASON_CHAIN + from->reason;
	return sn_build_name(b, &to->name, from->name);
}

int sn_build_subscribers(struct sn_builder *b)
{
	size_t n = b->msg->n_subscribers;

	sn_build_at(b, "subscribers");
	if (n > SN_SUBSCRIBERS_MAX)
		return sn_build_fail(b, "there are %zu, want at most %d", n, SN_SUBSCRIBERS_MAX);
	b->p->subscribers = sn_build_array(n, sizeof(*b->p->subscribers));
	if (!b->p->subscribers)
		return sn_build_no_memory(b);
	b->p->n_subscribers = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		sn_build_at(b, "subscribers[%zu] (%.64s)", i, b->msg->subscribers[i]->name);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(b->msg->subscribers[i]->name, b->msg->subscribers[j]->name))
				return sn_build_fail(
					b, "name is that of subscribers[%zu], want names that differ", j);
		rc = build_set(b, &b->p->subscribers[i], b->msg->subscribers[i]);
		if (rc)
			return rc;
	}
	return 0;
}

int sn_build_run_subscribers(struct sn_builder *b, struct sn_run *to, uint32_t subscribers)
{
	if (subscribers > b->msg->n_subscribers)
		return sn_build_fail(b, "subscribers is %u, want at most %zu", subscribers,
				     b->msg->n_subscribers);
	to->subscribers = subscribers ? subscribers - 1 : SN_NO_INDEX;
	if (subscribers && b->p->subscribers[to->subscribers].max_ports < 1)
		return sn_build_fail(b, "subscribers is %u (%s), whose max_ports is 0, want at least 1",
				     subscribers, b->p->subscribers[to->subscribers].name);
	return 0;
}

int sn_build_table_subscribers(struct sn_builder *b, struct sn_table_config *to, uint32_t subscribers)
{
	if (subscribers < 1 || subscribers > b->msg->n_subscribers)
		return sn_build_fail(b, "subscribers is %u, want 1..%zu", subscribers, b->msg->n_subscribers);
	to->subscribers = subscribers - 1;
	if (b->p->subscribers[to->subscribers].max_ports != 0)
		return sn_build_fail(b, "subscribers is %u (%s), whose max_ports is %u, want 0", subscribers,
				     b->p->subscribers[to->subscribers].name,
				     b->p->subscribers[to->subscribers].max_ports);
	/* Each would count in it what the other one has. */
	for (const struct sn_table_config *t = b->p->tables; t < to; t++)
		if (t->subscribers == to->subscribers)
			return sn_build_fail(
				b,
				"subscribers is %u (%s), which is that of tables[%td] (%s), want a "
				"set of its own",
				subscribers, b->p->subscribers[to->subscribers].name, t - b->p->tables,
				t->name);
	return 0;
}

void sn_program_free_subscribers(struct sn_program *p)
{
	for (uint32_t i = 0; i < p->n_subscribers; i++)
		free(p->subscribers[i].name);
	free(p->subscribers);
}

bool sn_program_same_subscribers(const struct sn_program *p, const struct sn_program *q)
{
	if (p->n_subscribers != q->n_subscribers)
		return false;
	for (uint32_t i = 0; i < p->n_subscribers; i++) {
		const struct sn_subscriber_limits *a = &p->subscribers[i], *b = &q->subscribers[i];

		if (strcmp(a->name, b->name) || a->prefix_len != b->prefix_len ||
		    a->max_sessions != b->max_sessions || a->max_ports != b->max_ports ||
		    a->reason != b->reason)
			return false;
	}
	return true;
}
