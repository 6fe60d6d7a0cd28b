/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sn_counts.h"

int bench_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

double bench_per_packet(const uint32_t *samples, size_t n, unsigned int percent)
{
	return n > 0 ? samples[(n - 1) * percent / 100] / (double)SN_BENCH_BURST : 0;
}

void bench_print_drops(const struct bench *bench)
{
	const char *comma = "";

	printf("\"drops\":[");
	for (unsigned int i = 0; i < bench->options->n_programs; i++) {
		const struct mailbox *mailbox = &bench->mailboxes[i];
		const struct sn_program *program = mailbox->plan->program;
		struct sn_count *reasons = calloc(program->n_reasons + 1, sizeof(*reasons));

		if (reasons == NULL)
			continue;
		sn_counts_add(mailbox->plan->counts[0], NULL, NULL, reasons);
		for (uint32_t r = 0; r < SN_REASON_BUILTIN + program->n_reasons; r++) {
			bool builtin = r < SN_REASON_BUILTIN;
			uint64_t packets = builtin ? sn_worker_stats(mailbox->worker)->drops[r].packets
						   : reasons[r - SN_REASON_BUILTIN].packets;

			if (packets == 0)
				continue;
			printf("%s{\"program\":%u,\"reason\":\"%s\",\"packets\":%" PRIu64 "}", comma, i,
			       builtin ? sn_reason_name(r) : program->reasons[r - SN_REASON_BUILTIN],
			       packets);
			comma = ",";
		}
		free(reasons);
	}
	printf("]");
}

void bench_print_state(const struct bench *bench)
{
	struct sn_state_stats sum = {0}, one;
	uint64_t hits = 0, misses = 0;

	for (unsigned int i = 0; i < bench->options->n_programs; i++) {
		const struct mailbox *mailbox = &bench->mailboxes[i];
		const struct sn_worker_stats *stats = sn_worker_stats(mailbox->worker);

		for (uint32_t table = 0; table < mailbox->plan->program->n_tables; table++) {
			sn_state_stats(mailbox->state, table, &one);
			sum.sessions += one.sessions;
			sum.created += one.created;
			sum.expired += one.expired;
			sum.exhausted += one.exhausted;
		}
		hits += stats->cache_hits;
		misses += stats->cache_misses;
	}
	printf("\"sessions\":{\"live\":%" PRIu64 ",\"created\":%" PRIu64 ",\"expired\":%" PRIu64
	       ",\"exhausted\":%" PRIu64 "},\"cache\":{\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 "}",
	       sum.sessions, sum.created, sum.expired, sum.exhausted, hits, misses);
}

void bench_print_classifiers(const struct bench *bench)
{
	const char *comma = "";

	printf("\"classifiers\":[");
	for (unsigned int i = 0; i < bench->options->n_programs; i++) {
		const struct sn_program *program = bench->mailboxes[i].plan->program;

		for (uint32_t s = 0; s < program->n_segments; s++) {
			const struct sn_table *table = program->segments[s].table.table;

			printf("%s{\"program\":%u,\"segment\":\"%s\",\"kind\":\"%s\",\"bytes\":%zu,\"steps\":"
			       "%.1f,\"longest\":%u}",
			       comma, i, program->segments[s].name,
			       table != NULL ? sn_table_kind(table) : "constant",
			       table != NULL ? sn_table_size(table) : 0,
			       table != NULL ? (double)sn_table_steps(table) : 0,
			       table != NULL ? sn_table_longest(table) : 0);
			comma = ",";
		}
	}
	printf("]");
}

void bench_print_cycles(struct bench *bench)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bench->n_samples; i++)
		sum += bench->samples[i];
	qsort(bench->samples, bench->n_samples, sizeof(*bench->samples), bench_compare);
	printf("\"cycles_per_packet\":{\"p10\":%.2f,\"median\":%.2f,\"p90\":%.2f,\"mean\":%.2f}",
	       bench_per_packet(bench->samples, bench->n_samples, 10),
	       bench_per_packet(bench->samples, bench->n_samples, 50),
	       bench_per_packet(bench->samples, bench->n_samples, 90),
	       (double)sum / (double)bench->n_samples / SN_BENCH_BURST);
}
