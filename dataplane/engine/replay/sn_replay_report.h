/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REPLAY_REPORT_H
#define SN_REPLAY_REPORT_H

#include "sn_replay.h"

/* Measurements of a device's queues, all together, as one line of JSON. */
struct sn_replay_report {
	const char *device;
	uint64_t hz;
	unsigned int queues;
	uint64_t received, sent, sent_bytes, missed, nobuffer;
	uint64_t seen, lost, late; /* of numbered frames */
	double pps;		   /* received, while it was measured; 0: it was not to the end */
	struct sn_histogram cycles, latency;
	struct sn_histogram quiet, probes; /* cycles of quiet moments, and of what tells them */
	const struct sn_replay_rx *first;  /* queue, whose bursts are told one by one if they are known */
};

void sn_replay_report_rx(struct sn_replay_report *report, const struct sn_replay_rx *rx);
void sn_replay_report_tx(struct sn_replay_report *report, const struct sn_replay_tx *tx);

/* Writes a file that is there as a whole or not at all. */
int sn_replay_report_write(const struct sn_replay_report *report, const char *path, struct sn_error *err);

#endif /* SN_REPLAY_REPORT_H */
