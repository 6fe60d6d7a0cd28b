/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_replay_report.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A name and the part of the values that do not exceed it. */
static const struct {
	const char *name;
	double part;
} quantiles[] = {
	{"p1", 0.01},  {"p10", 0.10},	 {"p50", 0.50},	     {"p90", 0.90},
	{"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999},
};

void sn_replay_report_rx(struct sn_replay_report *report, const struct sn_replay_rx *rx)
{
	if (report->queues++ == 0)
		report->first = rx;
	report->received += rx->packets;
	report->nobuffer += rx->nobuffer;
	report->missed += rx->pace.missed;
	sn_histogram_merge(&report->cycles, &rx->cycles);
	sn_histogram_merge(&report->quiet, &rx->quiet.values);
	sn_histogram_merge(&report->probes, &rx->quiet.probes);
	if (rx->ended > rx->began)
		report->pps +=
			(double)(rx->end - rx->begin) * (double)report->hz / (double)(rx->ended - rx->began);
}

void sn_replay_report_tx(struct sn_replay_report *report, const struct sn_replay_tx *tx)
{
	report->sent += tx->packets;
	report->sent_bytes += tx->bytes;
	report->seen += tx->order.seen;
	report->lost += sn_replay_lost(&tx->order);
	report->late += tx->order.late;
	sn_histogram_merge(&report->latency, &tx->latency);
}

/* Values are multiplied by factor. */
static void print(FILE *file, const char *name, const struct sn_histogram *histogram, double factor)
{
	uint64_t values = histogram->values;

	fprintf(file, ",\"%s\":{\"values\":%" PRIu64, name, values);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		fprintf(file, ",\"%s\":%.3f", quantiles[i].name,
			sn_histogram_quantile(histogram, quantiles[i].part) * factor);
	fprintf(file, ",\"max\":%.3f,\"mean\":%.3f}", (double)histogram->max * factor,
		values > 0 ? (double)histogram->sum * factor / (double)values : 0);
}

static void print_bursts(FILE *file, const struct sn_replay_rx *rx)
{
	fprintf(file, ",\"bursts\":[");
	for (uint32_t i = 0; rx != NULL && i < rx->n_bursts; i++)
		fprintf(file, "%s%.1f", i > 0 ? "," : "", (double)rx->bursts[i] / SN_REPLAY_PARTS);
	fprintf(file, "]");
}

int sn_replay_report_write(const struct sn_replay_report *report, const char *path, struct sn_error *err)
{
	char part[PATH_MAX];
	FILE *file;

	snprintf(part, sizeof(part), "%s.part", path);
	file = fopen(part, "we");
	if (file == NULL)
		return sn_fail(err, "%s: %s", part, strerror(errno));
	fprintf(file,
		"{\"device\":\"%s\",\"tsc_hz\":%" PRIu64 ",\"queues\":%u,\"received\":%" PRIu64
		",\"sent\":%" PRIu64 ",\"sent_bytes\":%" PRIu64 ",\"missed\":%" PRIu64
		",\"nobuffer\":%" PRIu64 ",\"seen\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"late\":%" PRIu64
		",\"pps\":%.0f",
		report->device, report->hz, report->queues, report->received, report->sent,
		report->sent_bytes, report->missed, report->nobuffer, report->seen, report->lost,
		report->late, report->pps);
	print(file, "cycles_per_packet", &report->cycles, 1.0 / SN_REPLAY_PARTS);
	print(file, "quiet_cycles_per_packet", &report->quiet, 1.0 / SN_REPLAY_PARTS);
	print(file, "probe_cycles", &report->probes, 1);
	print(file, "latency_ns", &report->latency, 1e9 / (double)report->hz);
	print_bursts(file, report->first);
	fprintf(file, "}\n");
	if (fclose(file) != 0 || rename(part, path) != 0)
		return sn_fail(err, "%s: %s", path, strerror(errno));
	return 0;
}
