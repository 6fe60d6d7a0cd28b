/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_tracing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_random.h>

#include "sn_log.h"
#include "sn_trace.h"

#define SN_NO_MEMORY	sn_fail(err, "no memory for a trace")
#define SECOND		UINT64_C(1000000000)
#define SNAP_DEFAULT	256u
#define SNAP_MAX	16384u
#define PACKETS_DEFAULT 1000u
#define PACKETS_MAX	1000000u
#define ONE_IN_MAX	1000000000u
#define TIME_DEFAULT	(10 * SECOND)
#define TIME_MAX	(3600 * SECOND)
#define UNREAD_MAX	(60 * SECOND)
#define ANSWER_BYTES	(8u << 20) /* of packets in one answer, about */

struct sn_tracing {
	struct sn_threads *threads;
	bool harness;
	bool on;
	uint64_t read_ns; /* when it was read last */
	struct sn_trace_rules rules;
	uint8_t epoch; /* of the last trace */
	struct sn_trace *workers[SN_WORKERS_MAX];
	/* Segments of the program that was traced; it may be gone. */
	uint32_t n_segments;
	uint32_t *first_class; /* by segment */
	uint32_t n_reasons;
	char **reasons; /* names, by reason; NULL where there is none */
};

struct sn_tracing *sn_tracing_create(struct sn_threads *threads, bool harness)
{
	struct sn_tracing *tracing = malloc(sizeof(*tracing));

	if (tracing != NULL)
		*tracing = (struct sn_tracing){.threads = threads, .harness = harness};
	return tracing;
}

void sn_tracing_free(struct sn_tracing *tracing)
{
	if (tracing == NULL)
		return;
	sn_tracing_stop(tracing);
	free(tracing);
}

static void set_traces(struct sn_tracing *tracing, bool on)
{
	struct sn_threads *threads = tracing->threads;

	sn_threads_hold(threads);
	for (unsigned int i = 0; i < sn_threads_count(threads); i++)
		sn_worker_set_trace(sn_threads_worker(threads, i), on ? tracing->workers[i] : NULL);
	sn_threads_release(threads);
}

static void release(struct sn_tracing *tracing)
{
	for (unsigned int i = 0; i < SN_WORKERS_MAX; i++)
		sn_trace_free(tracing->workers[i]);
	for (uint32_t i = 0; i < tracing->n_reasons && tracing->reasons != NULL; i++)
		free(tracing->reasons[i]);
	free(tracing->reasons);
	free(tracing->first_class);
	free(tracing->rules.classes);
	free(tracing->rules.reasons);
	*tracing = (struct sn_tracing){
		.threads = tracing->threads, .harness = tracing->harness, .epoch = tracing->epoch};
}

void sn_tracing_stop(struct sn_tracing *tracing)
{
	if (!tracing->on)
		return;
	set_traces(tracing, false);
	release(tracing);
	sn_log(SN_LOG_INFO, "trace stopped");
}

bool sn_tracing_watch(struct sn_tracing *tracing)
{
	if (tracing->on && sn_threads_now(tracing->threads) - tracing->read_ns >= UNREAD_MAX) {
		sn_log(SN_LOG_WARN, "trace not read for %" PRIu64 " s", UNREAD_MAX / SECOND);
		sn_tracing_stop(tracing);
	}
	return tracing->on;
}

/* ---- what is asked for ---- */

static int number(const char *name, uint32_t asked, uint32_t by_default, uint32_t max, uint32_t *value,
		  struct sn_error *err)
{
	if (asked > max)
		return sn_fail(err, "trace: %s is %u, at most %u", name, asked, max);
	*value = asked != 0 ? asked : by_default;
	return 0;
}

/* By name, else by index; -1 if there is none. */
static int find_segment(const struct sn_program *program, const char *name)
{
	char index[16];

	for (uint32_t i = 0; i < program->n_segments; i++)
		if (strcmp(program->segments[i].name, name) == 0)
			return (int)i;
	for (uint32_t i = 0; i < program->n_segments; i++) {
		snprintf(index, sizeof(index), "%u", i);
		if (strcmp(index, name) == 0)
			return (int)i;
	}
	return -1;
}

static int want_classes(bool *wanted, const struct sn_program *program,
			const Sinter__Control__V1__TraceClasses *asked, struct sn_error *err)
{
	int index = find_segment(program, asked->segment);
	const struct sn_segment *segment;

	if (index < 0)
		return sn_fail(err, "trace: the program has no segment \"%.100s\"; its first is \"%.100s\"",
			       asked->segment, program->n_segments > 0 ? program->segments[0].name : "");
	segment = &program->segments[index];
	for (size_t i = 0; i < asked->n_classes; i++) {
		if (asked->classes[i] >= segment->n_classes)
			return sn_fail(err,
				       "trace: segment \"%.100s\" has no class %u, its classes are 0..%u",
				       segment->name, asked->classes[i], segment->n_classes - 1);
		wanted[segment->first_class + asked->classes[i]] = true;
	}
	if (asked->n_classes == 0)
		memset(wanted + segment->first_class, true, segment->n_classes * sizeof(*wanted));
	return 0;
}

/* A chain may give a reason of the engine's name: both are meant. */
static int want_reason(struct sn_tracing *tracing, const char *name, struct sn_error *err)
{
	bool found = false;

	for (uint32_t i = 0; i < tracing->n_reasons; i++) {
		if (tracing->reasons[i] != NULL && strcmp(tracing->reasons[i], name) == 0)
			tracing->rules.reasons[i] = found = true;
	}
	return found ? 0
		     : sn_fail(err,
			       "trace: the program has no drop reason \"%.100s\"; statistics name those that "
			       "occurred",
			       name);
}

static int note_program(struct sn_tracing *tracing, const struct sn_program *program)
{
	tracing->n_segments = program->n_segments;
	tracing->first_class = calloc(program->n_segments + 1, sizeof(*tracing->first_class));
	tracing->reasons = calloc(SN_REASON_CHAIN + program->n_reasons, sizeof(*tracing->reasons));
	if (tracing->first_class == NULL || tracing->reasons == NULL)
		return -1;
	for (uint32_t i = 0; i < program->n_segments; i++)
		tracing->first_class[i] = program->segments[i].first_class;
	tracing->n_reasons = SN_REASON_CHAIN + program->n_reasons;
	for (uint32_t i = 0; i < tracing->n_reasons; i++) {
		const char *name = sn_program_reason(program, i);

		tracing->reasons[i] = name != NULL ? strdup(name) : NULL;
		if (name != NULL && tracing->reasons[i] == NULL)
			return -1;
	}
	return 0;
}

static int make_rules(struct sn_tracing *tracing, const struct sn_program *program,
		      const Sinter__Control__V1__StartTrace *start, struct sn_error *err)
{
	struct sn_trace_rules *rules = &tracing->rules;
	uint64_t duration = start->duration_ns != 0 ? start->duration_ns : TIME_DEFAULT;

	if (number("one in", start->one_in, 1, ONE_IN_MAX, &rules->one_in, err) != 0 ||
	    number("snap length", start->snap_len, SNAP_DEFAULT, SNAP_MAX, &rules->snap_len, err) != 0 ||
	    number("packets", start->max_packets, PACKETS_DEFAULT, PACKETS_MAX, &rules->max_packets, err) !=
		    0)
		return -1;
	if (duration > TIME_MAX)
		return sn_fail(err, "trace: duration is %" PRIu64 " s, at most %" PRIu64, duration / SECOND,
			       TIME_MAX / SECOND);
	rules->until_ns = sn_threads_now(tracing->threads) + duration;
	rules->seed = tracing->harness ? 1 : rte_rand();
	tracing->epoch = (uint8_t)(tracing->epoch % UINT8_MAX + 1);
	rules->epoch = tracing->epoch;
	if (note_program(tracing, program) != 0)
		return SN_NO_MEMORY;
	if (start->n_classes > 0)
		rules->classes = calloc(program->n_classes + 1, sizeof(bool));
	if (start->n_reasons > 0)
		rules->reasons = calloc(tracing->n_reasons, sizeof(bool));
	if ((start->n_classes > 0 && rules->classes == NULL) ||
	    (start->n_reasons > 0 && rules->reasons == NULL))
		return SN_NO_MEMORY;
	for (size_t i = 0; i < start->n_classes; i++)
		if (want_classes(rules->classes, program, start->classes[i], err) != 0)
			return -1;
	for (size_t i = 0; i < start->n_reasons; i++)
		if (want_reason(tracing, start->reasons[i], err) != 0)
			return -1;
	return 0;
}

/* ---- start ---- */

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static int answer_start(const struct sn_tracing *tracing, const struct sn_plan *plan,
			const Sinter__Control__V1__StartTrace *start, struct sn_arena *arena,
			Sinter__Control__V1__TraceStarted *started)
{
	const struct sn_program *program = plan->program;

	started->hash = (ProtobufCBinaryData){.data = (uint8_t *)plan->hash, .len = plan->hash_len};
	started->now_ns = sn_threads_now(tracing->threads);
	started->unix_ns = tracing->harness ? started->now_ns : wall_ns();
	started->interfaces = sn_arena_alloc(arena, (program->n_interfaces + 1) * sizeof(char *));
	started->segments = sn_arena_alloc(arena, (program->n_segments + 1) * sizeof(char *));
	started->trace = sn_arena_alloc(arena, sizeof(*started->trace));
	if (started->interfaces == NULL || started->segments == NULL || started->trace == NULL)
		return -1;
	for (uint32_t i = 0; i < program->n_interfaces; i++)
		started->interfaces[started->n_interfaces++] = program->interfaces[i].name;
	for (uint32_t i = 0; i < program->n_segments; i++)
		started->segments[started->n_segments++] = program->segments[i].name;
	*started->trace = *start;
	started->trace->one_in = tracing->rules.one_in;
	started->trace->snap_len = tracing->rules.snap_len;
	started->trace->max_packets = tracing->rules.max_packets;
	started->trace->duration_ns = tracing->rules.until_ns - started->now_ns;
	return 0;
}

int sn_tracing_start(struct sn_tracing *tracing, const Sinter__Control__V1__StartTrace *start,
		     struct sn_arena *arena, Sinter__Control__V1__TraceStarted *started, struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(tracing->threads);
	uint64_t now = sn_threads_now(tracing->threads);

	if (plan == NULL)
		return sn_fail(err, "trace: no program is loaded");
	if (tracing->on)
		return sn_fail(
			err, "trace: there is one already, for another %" PRIu64 " s at most: one at a time",
			tracing->rules.until_ns > now ? (tracing->rules.until_ns - now + SECOND - 1) / SECOND
						      : 0);
	if (make_rules(tracing, plan->program, start, err) != 0) {
		release(tracing);
		return -1;
	}
	for (unsigned int i = 0; i < sn_threads_count(tracing->threads); i++) {
		tracing->workers[i] = sn_trace_create(&tracing->rules, (uint8_t)i);
		if (tracing->workers[i] == NULL) {
			release(tracing);
			return SN_NO_MEMORY;
		}
	}
	if (answer_start(tracing, plan, start, arena, started) != 0) {
		release(tracing);
		return SN_NO_MEMORY;
	}
	tracing->on = true;
	tracing->read_ns = now;
	set_traces(tracing, true);
	sn_log(SN_LOG_INFO, "trace one-in=%u snap=%u packets=%u duration=%" PRIu64 "ms started",
	       tracing->rules.one_in, tracing->rules.snap_len, tracing->rules.max_packets,
	       started->trace->duration_ns / 1000000);
	return 0;
}

/* ---- read ---- */

static void set_class(const struct sn_tracing *tracing, uint32_t class, Sinter__Control__V1__TracedClass *to)
{
	uint32_t segment = tracing->n_segments - 1;

	while (segment > 0 && class < tracing->first_class[segment])
		segment--;
	to->segment = segment;
	to->class_ = class - tracing->first_class[segment];
}

/* The answer outlives the trace. */
static char *copy_name(struct sn_arena *arena, const char *name)
{
	char *copy = sn_arena_alloc(arena, strlen(name) + 1);

	return copy != NULL ? strcpy(copy, name) : NULL;
}

/* A message of a record, which it points into. */
static Sinter__Control__V1__TracedPacket *packet_of(const struct sn_tracing *tracing, uint8_t *record,
						    struct sn_arena *arena)
{
	const struct sn_trace_packet *head = (const void *)record;
	const uint32_t *classes = (const void *)(head + 1), *drops = classes + head->n_classes;
	const struct sn_trace_frame *frames = (const void *)(drops + head->n_drops);
	uint8_t *bytes = record + sizeof(*head) + (head->n_classes + head->n_drops) * sizeof(uint32_t) +
			 head->n_frames * sizeof(*frames);
	Sinter__Control__V1__TracedPacket *p = sn_arena_alloc(arena, sizeof(*p));
	Sinter__Control__V1__TracedClass *class_of =
		sn_arena_alloc(arena, (head->n_classes + 1) * sizeof(*class_of));
	Sinter__Control__V1__TracedFrame *frame_of =
		sn_arena_alloc(arena, (head->n_frames + 1) * sizeof(*frame_of));

	if (p == NULL || class_of == NULL || frame_of == NULL)
		return NULL;
	sinter__control__v1__traced_packet__init(p);
	p->classes = sn_arena_alloc(arena, (head->n_classes + 1) * sizeof(*p->classes));
	p->drops = sn_arena_alloc(arena, (head->n_drops + 1) * sizeof(*p->drops));
	p->frames = sn_arena_alloc(arena, (head->n_frames + 1) * sizeof(*p->frames));
	if (p->classes == NULL || p->drops == NULL || p->frames == NULL)
		return NULL;
	p->number = head->number;
	p->time_ns = head->time_ns;
	p->cut = head->cut != 0;
	p->shard = head->shard;
	p->first_number = head->first_number;
	p->first_worker = head->first_worker;
	for (uint32_t i = 0; i < head->n_classes; i++) {
		sinter__control__v1__traced_class__init(&class_of[i]);
		set_class(tracing, classes[i], &class_of[i]);
		p->classes[p->n_classes++] = &class_of[i];
	}
	for (uint32_t i = 0; i < head->n_drops; i++) {
		p->drops[p->n_drops] = copy_name(arena, tracing->reasons[drops[i]]);
		if (p->drops[p->n_drops++] == NULL)
			return NULL;
	}
	for (uint32_t i = 0; i < head->n_frames; i++) {
		sinter__control__v1__traced_frame__init(&frame_of[i]);
		frame_of[i].kind = (Sinter__Control__V1__TracedFrame__Kind)frames[i].kind;
		frame_of[i].interface = frames[i].iface;
		frame_of[i].length = frames[i].length;
		frame_of[i].data = (ProtobufCBinaryData){.data = bytes, .len = frames[i].kept};
		bytes += frames[i].kept;
		p->frames[p->n_frames++] = &frame_of[i];
	}
	return p;
}

/* Drain what the workers took, up to about ANSWER_BYTES. Returns the bytes, or -1 without memory. */
static int64_t drain(struct sn_tracing *tracing, struct sn_arena *arena, Sinter__Control__V1__Traced *traced)
{
	size_t room = 0;
	int64_t sum = 0;
	uint32_t len;

	for (unsigned int i = 0; i < sn_threads_count(tracing->threads); i++) {
		struct sn_trace_ring *ring = sn_trace_ring(tracing->workers[i]);

		while (sum < ANSWER_BYTES && (len = sn_trace_ring_next(ring)) > 0) {
			uint8_t *record = sn_arena_alloc(arena, len);
			Sinter__Control__V1__TracedPacket *packet, **grown;

			if (traced->n_packets == room) {
				room = room > 0 ? 2 * room : 64;
				grown = sn_arena_alloc(arena, room * sizeof(*grown));
				if (grown == NULL)
					return -1;
				if (traced->n_packets > 0)
					memcpy(grown, traced->packets, traced->n_packets * sizeof(*grown));
				traced->packets = grown;
			}
			if (record == NULL)
				return -1;
			sn_trace_ring_take(ring, record, len);
			packet = packet_of(tracing, record, arena);
			if (packet == NULL)
				return -1;
			packet->worker = i;
			traced->packets[traced->n_packets++] = packet;
			sum += len;
		}
	}
	return sum;
}

/* NULL: it goes on. */
static const char *why_over(const struct sn_tracing *tracing)
{
	if (atomic_load_explicit(&tracing->rules.program_gone, memory_order_relaxed))
		return "another program runs, whose classes are others";
	if (atomic_load_explicit(&tracing->rules.taken, memory_order_relaxed) >= tracing->rules.max_packets)
		return "it has as many packets as were asked for";
	if (sn_threads_now(tracing->threads) >= tracing->rules.until_ns)
		return "its time is over";
	return NULL;
}

int sn_tracing_read(struct sn_tracing *tracing, struct sn_arena *arena, Sinter__Control__V1__Traced *traced,
		    struct sn_error *err)
{
	const char *over;
	int64_t bytes;

	if (!tracing->on)
		return sn_fail(err, "trace: there is none; one that is not read for %" PRIu64 " s ends",
			       UNREAD_MAX / SECOND);
	tracing->read_ns = sn_threads_now(tracing->threads);
	over = why_over(tracing);
	if (over != NULL)
		set_traces(tracing, false); /* what is in the rings now is all */
	bytes = drain(tracing, arena, traced);
	if (bytes < 0)
		return SN_NO_MEMORY;
	for (unsigned int i = 0; i < sn_threads_count(tracing->threads); i++) {
		struct sn_trace_counts counts = sn_trace_counts(tracing->workers[i]);

		traced->received += counts.received;
		traced->examined += counts.examined;
		traced->missed += counts.missed;
	}
	if (over != NULL && bytes < ANSWER_BYTES) {
		traced->over = (char *)over;
		sn_tracing_stop(tracing);
	}
	return 0;
}
