/* SPDX-License-Identifier: Apache-2.0 */
/* Which rules a payload matches, and what becomes of a packet that is matched by itself. */

#include <string.h>

#include <hs.h>

#include "sn_inspect_impl.h"
#include "sn_parse.h"

struct scan {
	const uint32_t *rule_of_part;
	struct inspect_work *work;
	uint8_t *parts; /* that matched, of each rule */
};

/* Each part is told once in a scan. */
static int on_part(unsigned int id, unsigned long long from, unsigned long long to, unsigned int flags,
		   void *context)
{
	struct scan *s = context;
	uint32_t rule = s->rule_of_part[id];

	(void)from;
	(void)to;
	(void)flags;
	if (s->parts[rule]++ == 0)
		s->work->touched[s->work->n_touched++] = rule;
	return 0;
}

/* The worker's own; NULL cannot be, as memory of the right size is there. */
static struct inspect_work *work_of(const struct sn_inspect_rules *r, uint32_t worker)
{
	struct inspect_work *w = inspect_at(r, r->works + worker * r->work_size);

	if (unlikely(!w->scratch))
		w->scratch = sn_inspect_copy_scratch(inspect_at(r, r->scratch), (uint8_t *)w + r->scratch_at,
						     r->scratch_size);
	return w;
}

static void scan_buffer(const struct sn_inspect_rules *r, uint32_t buffer, const uint8_t *bytes, uint32_t len,
			struct scan *s)
{
	if (r->databases[buffer])
		hs_scan(inspect_at(r, r->databases[buffer]), (const char *)bytes, len, 0, s->work->scratch,
			on_part, s);
}

/* Names that are read from payloads of a kind, and where parts look for them. */
static const struct {
	uint32_t buffer;
	enum sn_payload_kind of;
	int (*read)(const uint8_t *bytes, uint32_t len, uint8_t *name);
} names[] = {
	{SINTER__PROGRAM__V1__INSPECT_PART__BUFFER__DNS_QUERY, SN_PAYLOAD_DATAGRAM, sn_dns_query_name},
	{SINTER__PROGRAM__V1__INSPECT_PART__BUFFER__TLS_SNI, SN_PAYLOAD_STREAM, sn_tls_server_name},
	{SINTER__PROGRAM__V1__INSPECT_PART__BUFFER__HTTP_HOST, SN_PAYLOAD_STREAM, sn_http_host},
};

static void scan_payload(const struct sn_inspect_rules *r, struct sn_payload payload, struct scan *s)
{
	uint8_t name[SN_NAME_MAX];
	int len;

	scan_buffer(r, SINTER__PROGRAM__V1__INSPECT_PART__BUFFER__PAYLOAD, payload.bytes, payload.len, s);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!r->databases[names[i].buffer] || payload.kind != names[i].of)
			continue;
		len = names[i].read(payload.bytes, payload.len, name);
		if (len >= 0)
			scan_buffer(r, names[i].buffer, name, (uint32_t)len, s);
	}
}

uint32_t sn_inspect_scan(const struct sn_inspect_rules *r, uint32_t worker, struct sn_payload payload,
			 const uint32_t **matched)
{
	const struct inspect_rule *rules = inspect_at(r, r->rules);
	struct scan s = {.rule_of_part = inspect_at(r, r->rule_of_part), .work = work_of(r, worker)};
	uint32_t n = 0;

	s.parts = inspect_parts_of(r, s.work);
	scan_payload(r, payload, &s);
	*matched = s.work->touched;
	for (uint32_t i = 0; i < s.work->n_touched; i++) {
		uint32_t rule = s.work->touched[i];

		s.work->touched[n] = rule;
		n += s.parts[rule] == rules[rule].n_parts;
		s.parts[rule] = 0;
	}
	s.work->n_touched = 0;
	return n;
}

struct sn_inspected sn_inspect_payload(struct sn_partition *partition, struct sn_inspect_rules *r,
				       uint32_t table, struct sn_payload payload)
{
	const struct inspect_rule *rules = inspect_at(r, r->rules);
	struct sn_inspected result = {SN_REASON_NONE, SN_INSPECT_KEEP_DSCP};
	uint64_t *counts =
		inspect_count(inspector_of(partition->state->tables[table]), partition, payload.len);
	uint32_t drops = UINT32_MAX, marks = UINT32_MAX, n;
	const uint32_t *matched;

	n = sn_inspect_scan(r, partition_number(partition), payload, &matched);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rule = matched[i];

		counts[rule]++;
		if (rules[rule].reason != SN_REASON_NONE && rule < drops)
			drops = rule;
		if (rules[rule].dscp != SN_INSPECT_KEEP_DSCP && rule < marks)
			marks = rule;
	}
	if (drops != UINT32_MAX)
		result.reason = rules[drops].reason;
	else if (marks != UINT32_MAX)
		result.dscp = rules[marks].dscp;
	return result;
}
