/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sn_program_build.h"

#define ENTRIES_MIN  16
#define ENTRIES_MAX  16384
#define TIME_MS_MIN  1000
#define TIME_MS_MAX  3600000
#define SAMPLING_MAX 65535
#define NS_PER_MS    1000000ull

typedef Sinter__Program__V1__Observation observation_msg;
typedef Sinter__Program__V1__ObserveBy by_msg;
typedef Sinter__Program__V1__FlowExport export_msg;

_Static_assert((int)SN_BY_FLOW == (int)SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__FLOW, "flow");
_Static_assert((int)SN_BY_SOURCE == (int)SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__SOURCE, "source");
_Static_assert((int)SN_BY_DESTINATION == (int)SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__DESTINATION,
	       "destination");

static int check_time(struct sn_builder *b, const char *field, uint32_t ms)
{
	if (ms >= TIME_MS_MIN && ms <= TIME_MS_MAX)
		return 0;
	return sn_build_fail(b, "%s is %u, want %d..%d", field, ms, TIME_MS_MIN, TIME_MS_MAX);
}

static int build_by(struct sn_builder *b, struct sn_observe_by *to, size_t i, const by_msg *from)
{
	bool flow = from->what == SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__FLOW;

	if (from->what < SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__FLOW ||
	    from->what > SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__DESTINATION)
		return sn_build_fail(b, "tops[%zu]: what is %d, want FLOW, SOURCE or DESTINATION", i,
				     (int)from->what);
	if (flow ? from->prefix_len != 0 : from->prefix_len < 1 || from->prefix_len > 32)
		return sn_build_fail(b, "tops[%zu]: prefix_len is %u, want 1..32, of flows 0", i,
				     from->prefix_len);
	*to = (struct sn_observe_by){.what = (uint8_t)from->what, .prefix_len = (uint8_t)from->prefix_len};
	return 0;
}

static int build_export(struct sn_builder *b, struct sn_observation *to, const export_msg *from)
{
	int rc;

	if (!from)
		return 0;
	if (from->port < 1 || from->port > 65535)
		return sn_build_fail(b, "export: port is %u, want 1..65535", from->port);
	if (from->sampling < 1 || from->sampling > SAMPLING_MAX)
		return sn_build_fail(b, "export: sampling is %u, want 1..%d", from->sampling, SAMPLING_MAX);
	to->sampling = from->sampling;
	rc = check_time(b, "export: active_ms", from->active_ms);
	return rc ? rc : check_time(b, "export: idle_ms", from->idle_ms);
}

int sn_build_observation(struct sn_builder *b)
{
	struct sn_observation *to = &b->p->observation;
	const observation_msg *from;
	int rc;

	sn_build_at(b, "observations");
	if (b->msg->n_observations > 1)
		return sn_build_fail(b, "there are %zu, want at most 1", b->msg->n_observations);
	if (b->msg->n_observations == 0)
		return 0;
	from = b->msg->observations[0];
	sn_build_at(b, "observations[0] (%.64s)", from->name);
	if (from->n_tops > SN_TOPS_MAX)
		return sn_build_fail(b, "has %zu tops, want at most %d", from->n_tops, SN_TOPS_MAX);
	if (from->entries < ENTRIES_MIN || from->entries > ENTRIES_MAX)
		return sn_build_fail(b, "entries is %u, want %d..%d", from->entries, ENTRIES_MIN,
				     ENTRIES_MAX);
	rc = check_time(b, "interval_ms", from->interval_ms);
	for (size_t i = 0; i < from->n_tops && !rc; i++)
		rc = build_by(b, &to->tops[i], i, from->tops[i]);
	if (!rc)
		rc = build_export(b, to, from->export);
	if (rc)
		return rc;
	to->n_tops = (uint32_t)from->n_tops;
	to->entries = from->entries;
	to->interval_ns = from->interval_ms * NS_PER_MS;
	return sn_build_name(b, &to->name, from->name);
}

bool sn_observation_same(const struct sn_observation *a, const struct sn_observation *b)
{
	if (!a->name || !b->name)
		return a->name == b->name;
	if (strcmp(a->name, b->name) != 0 || a->interval_ns != b->interval_ns || a->entries != b->entries ||
	    a->sampling != b->sampling || a->n_tops != b->n_tops)
		return false;
	for (uint32_t i = 0; i < a->n_tops; i++)
		if (a->tops[i].what != b->tops[i].what || a->tops[i].prefix_len != b->tops[i].prefix_len)
			return false;
	return true;
}
