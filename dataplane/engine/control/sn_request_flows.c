/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_request_flows.h"

#include <string.h>
#include <time.h>

#include <rte_common.h>

#include "sn_counts.h"
#include "sn_messages.h"
#include "sn_observer.h"
#include "sn_threads.h"

#define ROWS_DEFAULT	100
#define RECORDS_DEFAULT 4096
#define RECORDS_MAX	65536

typedef Sinter__Program__V1__Top top_msg;
typedef Sinter__Program__V1__TopOfWorker worker_msg;
typedef Sinter__Program__V1__TopRow row_msg;

/* One list of one worker, as it was when the workers stood still. */
struct copy {
	uint64_t packets, bytes, least;
	size_t n;
	struct sn_top_row *rows;
};

/* The plan of the running program; err NULL: nothing is said. */
static const struct sn_plan *observed_plan(const struct sn_engine *engine, struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(engine));

	if (plan != NULL && plan->counts[0]->observer != NULL)
		return plan;
	if (err != NULL)
		sn_fail(err, plan == NULL ? "flows: no program is loaded"
					  : "flows: no monitor of the chain has `top` or `export`");
	return NULL;
}

static const struct sn_top_window *window_of(const struct sn_observer *o, bool running)
{
	return running || o->last.end_ns == 0 ? &o->running : &o->last;
}

static void copy_top(const struct sn_top *top, struct copy *to)
{
	to->packets = top->packets;
	to->bytes = top->bytes;
	to->least = sn_top_least(top);
	to->n = top->n;
	memcpy(to->rows, top->rows, top->n * sizeof(*to->rows));
}

static struct copy *make_copies(const struct sn_plan *plan, struct sn_arena *arena)
{
	const struct sn_observation *of = &plan->program->observation;
	size_t n = (size_t)plan->n_workers * of->n_tops;
	struct copy *copies = sn_arena_alloc(arena, (n + 1) * sizeof(*copies));

	for (size_t i = 0; copies != NULL && i < n; i++) {
		copies[i].rows = sn_arena_alloc(arena, of->entries * sizeof(*copies[i].rows));
		if (copies[i].rows == NULL)
			return NULL;
	}
	return copies;
}

static void write_row(const struct sn_observe_by *by, const struct sn_top_row *from, row_msg *to)
{
	uint64_t a = from->key.words[0], b = from->key.words[1];

	to->bytes = from->bytes;
	to->error = from->error;
	to->packets = from->packets;
	if (by->what == SN_BY_SOURCE)
		to->source = (uint32_t)a;
	if (by->what == SN_BY_DESTINATION)
		to->destination = (uint32_t)a;
	if (by->what != SN_BY_FLOW)
		return;
	to->source = (uint32_t)(a >> 32);
	to->destination = (uint32_t)a;
	to->source_port = b >> 32 & UINT16_MAX;
	to->destination_port = b >> 16 & UINT16_MAX;
	to->protocol = b & UINT8_MAX;
}

/* Rows that are left out leave a bound behind. */
static int write_worker(const struct sn_observe_by *by, struct copy *from, size_t limit,
			struct sn_arena *arena, worker_msg *to)
{
	size_t n = from->n < limit ? from->n : limit;

	sn_top_sort(from->rows, from->n);
	to->packets = from->packets;
	to->bytes = from->bytes;
	to->least = n < from->n ? from->rows[n].bytes : from->least;
	to->rows = SN_NEW_ARRAY(arena, row_msg, sinter__program__v1__top_row__init, n);
	if (to->rows == NULL)
		return -1;
	to->n_rows = n;
	for (size_t i = 0; i < n; i++)
		write_row(by, &from->rows[i], to->rows[i]);
	return 0;
}

static int write_top(const struct sn_plan *plan, uint32_t i, struct copy *copies, size_t limit,
		     struct sn_arena *arena, top_msg *to)
{
	const struct sn_observation *of = &plan->program->observation;

	to->by = SN_NEW(arena, Sinter__Program__V1__ObserveBy, sinter__program__v1__observe_by__init);
	to->workers =
		SN_NEW_ARRAY(arena, worker_msg, sinter__program__v1__top_of_worker__init, plan->n_workers);
	if (to->by == NULL || to->workers == NULL)
		return -1;
	to->by->what = (Sinter__Program__V1__ObserveBy__What)of->tops[i].what;
	to->by->prefix_len = of->tops[i].prefix_len;
	to->n_workers = plan->n_workers;
	for (unsigned int w = 0; w < plan->n_workers; w++)
		if (write_worker(&of->tops[i], &copies[w * of->n_tops + i], limit, arena, to->workers[w]) !=
		    0)
			return -1;
	return 0;
}

/* The intervals of all workers begin and end together, but for a tick: that of the first stands for all. */
static void copy_window(const struct sn_plan *plan, uint32_t top, bool running, uint64_t now,
			struct copy *copies, Sinter__Program__V1__TopList *list)
{
	uint32_t n_tops = plan->program->observation.n_tops;

	for (unsigned int w = 0; w < plan->n_workers; w++) {
		const struct sn_top_window *window = window_of(plan->counts[w]->observer, running);

		if (w == 0) {
			list->ended = window != &plan->counts[w]->observer->running;
			list->begin_ns = window->begin_ns;
			list->end_ns = list->ended ? window->end_ns : now;
		}
		copy_top(window->tops[top], &copies[w * n_tops + top]);
	}
}

/* Workers stand still for one list at a time: packets wait meanwhile. Where an interval ends between two of
 * them, all are copied again. */
static void copy_windows(const struct sn_engine *engine, const struct sn_plan *plan, bool running,
			 struct copy *copies, Sinter__Program__V1__TopList *list)
{
	struct sn_threads *threads = sn_engine_threads(engine);
	uint64_t begin = 0;
	uint32_t i = 0;

	while (i < plan->program->observation.n_tops) {
		sn_threads_hold(threads);
		copy_window(plan, i, running, sn_threads_now(threads), copies, list);
		sn_threads_release(threads);
		i = i > 0 && list->begin_ns != begin ? 0 : i + 1;
		begin = list->begin_ns;
	}
}

int sn_answer_top(const struct sn_engine *engine, struct sn_arena *arena,
		  const Sinter__Program__V1__GetTop *request, Sinter__Control__V1__Response *response,
		  struct sn_error *err)
{
	const struct sn_plan *plan = observed_plan(engine, err);
	Sinter__Program__V1__TopList *list =
		SN_NEW(arena, Sinter__Program__V1__TopList, sinter__program__v1__top_list__init);
	size_t limit = request->limit == 0 ? ROWS_DEFAULT : request->limit;
	struct copy *copies;
	uint32_t n;

	if (plan == NULL)
		return -1;
	n = plan->program->observation.n_tops;
	copies = make_copies(plan, arena);
	if (list != NULL)
		list->tops = SN_NEW_ARRAY(arena, top_msg, sinter__program__v1__top__init, n);
	if (list == NULL || list->tops == NULL || copies == NULL)
		return sn_fail(err, "no memory for the answer");
	list->name = plan->program->observation.name;
	list->n_tops = n;
	copy_windows(engine, plan, request->running, copies, list);
	for (uint32_t i = 0; i < n; i++)
		if (write_top(plan, i, copies, limit, arena, list->tops[i]) != 0)
			return sn_fail(err, "no memory for the answer");
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_TOP;
	response->top = list;
	return 0;
}

/* ---- records ---- */

static void write_record(const struct sn_flow_cell *from, Sinter__Program__V1__FlowRecord *to)
{
	to->source = from->src;
	to->destination = from->dst;
	to->source_port = from->sport;
	to->destination_port = from->dport;
	to->protocol = from->proto;
	to->interface = from->iface;
	to->tcp_flags = from->tcp_flags;
	to->packets = from->packets;
	to->bytes = from->bytes;
	to->first_ms = from->first_ms;
	to->last_ms = from->last_ms;
}

/* The clock counts on where its milliseconds, of 32 bits, begin again. */
static void count_back(Sinter__Program__V1__FlowRecord *record, uint64_t now_ns)
{
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);

	record->first_ms = now_ms - record->first_ms;
	record->last_ms = now_ms - record->last_ms;
}

/* The rounds of the slowest worker. */
static uint64_t rounds_of(const struct sn_plan *plan)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int w = 0; w < plan->n_workers; w++)
		least = RTE_MIN(least, sn_observer_rounds(plan->counts[w]->observer));
	return least;
}

static uint64_t unix_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int sn_answer_read_flows(const struct sn_engine *engine, struct sn_arena *arena,
			 const Sinter__Program__V1__ReadFlows *request,
			 Sinter__Control__V1__Response *response, struct sn_error *err)
{
	const struct sn_plan *plan = observed_plan(engine, err);
	size_t limit = request->limit == 0 ? RECORDS_DEFAULT : request->limit;
	Sinter__Program__V1__FlowRecords *list =
		SN_NEW(arena, Sinter__Program__V1__FlowRecords, sinter__program__v1__flow_records__init);
	struct sn_flow_cell cell;

	if (plan == NULL)
		return -1;
	if (limit > RECORDS_MAX)
		return sn_fail(err, "flows: limit is %zu, want at most %d", limit, RECORDS_MAX);
	if (plan->program->observation.sampling == 0)
		return sn_fail(err, "flows: no monitor of the chain has `export`");
	if (list != NULL)
		list->records = SN_NEW_ARRAY(arena, Sinter__Program__V1__FlowRecord,
					     sinter__program__v1__flow_record__init, limit);
	if (list == NULL || list->records == NULL)
		return sn_fail(err, "no memory for the answer");
	for (unsigned int w = 0; w < plan->n_workers; w++)
		while (list->n_records < limit && sn_flow_ring_take(plan->counts[w]->observer->ring, &cell))
			write_record(&cell, list->records[list->n_records++]);
	/* After they were taken: none is of the future. */
	list->now_ns = sn_threads_now(sn_engine_threads(engine));
	list->unix_ns = unix_now();
	list->more = list->n_records == limit;
	list->rounds = rounds_of(plan);
	for (size_t i = 0; i < list->n_records; i++)
		count_back(list->records[i], list->now_ns);
	response->body_case = SINTER__CONTROL__V1__RESPONSE__BODY_FLOW_RECORDS;
	response->flow_records = list;
	return 0;
}

int sn_report_observation(const struct sn_engine *engine, struct sn_arena *arena,
			  Sinter__Control__V1__Stats *stats)
{
	const struct sn_plan *plan = observed_plan(engine, NULL);
	Sinter__Program__V1__ObservationStats *to;

	if (plan == NULL)
		return 0;
	to = SN_NEW(arena, Sinter__Program__V1__ObservationStats,
		    sinter__program__v1__observation_stats__init);
	if (to == NULL)
		return -1;
	to->name = plan->program->observation.name;
	for (unsigned int w = 0; w < plan->n_workers; w++) {
		const struct sn_observer *o = plan->counts[w]->observer;

		to->packets += o->packets;
		to->bytes += o->bytes;
		to->sampled += o->sampled;
		to->records += o->records;
		to->lost_records += o->lost_records;
		to->lost_packets += o->lost_packets;
		to->lost_bytes += o->lost_bytes;
	}
	stats->observation = to;
	return 0;
}
