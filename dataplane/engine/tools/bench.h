/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_H
#define BENCH_H

/* Measurements, and how they are written. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_eal.h"
#include "sn_plan.h"
#include "sn_state.h"
#include "sn_worker.h"

#define SN_BENCH_BURST	  32
#define SN_BENCH_PROGRAMS 16
#define SN_BENCH_HANDED	  512

struct options {
	unsigned int rounds, warmup, profile, buffers;
	unsigned int quiet; /* TSC cycles of a quick probe at most, in the profile; 0: no probes are made */
	const char *entry;
	unsigned int unique_flows; /* packets per source port; 0: as they come */
	bool no_huge;
	const char *programs[SN_BENCH_PROGRAMS];
	unsigned int n_programs;
	struct sn_eal eal;
};

/* Frames that a function outside of the program has, which gives back each as it is, at once. */
struct held {
	uint16_t n;
	struct rte_mbuf *pkts[SN_BENCH_HANDED];
};

/* A program in the line. */
struct mailbox {
	struct bench *bench;
	struct mailbox *next; /* NULL: packets leave by the port */
	struct sn_plan *plan;
	struct sn_state *state;
	struct sn_worker *worker;
	uint16_t entry;
	bool readdress;	 /* the program before sends to another MAC address than ours */
	uint8_t mac[6];	 /* of the entry */
	uint16_t handed; /* by the program before, in this round */
	struct rte_mbuf *pkts[SN_BENCH_HANDED];
	uint64_t wires;		     /* bit per interface */
	uint64_t taps;		     /* … by which copies leave that do not come back */
	uint64_t holding;	     /* bit per interface by which frames are to come back */
	uint8_t back[SN_IFACES_MAX]; /* by wire: by which a frame comes back that left by it */
	struct held held[SN_IFACES_MAX];
	struct sn_wires *functions; /* on the wires; NULL: there are none */
	bool silent;		    /* they get probes, and are down */
};

struct bench {
	struct options *options;
	struct mailbox mailboxes[SN_BENCH_PROGRAMS];
	struct rte_mempool *pool;
	uint16_t rx_port, tx_port;
	uint64_t unique; /* packets that were made unique so far */
	uint64_t sent;
	uint64_t timer_cycles;
	uint64_t last_tick;
	uint32_t *samples; /* cycles of each full burst */
	size_t n_samples;
};

/* The functions on the wires of a program, before its worker is made. */
int wires_find(struct mailbox *mailbox, struct sn_error *err);

/* Frames leave by a wire. How many its function took. */
uint16_t wires_take(struct mailbox *mailbox, uint16_t iface, struct rte_mbuf **pkts, uint16_t n);

/* Runs what left by wires, until nothing does. */
void wires_return(struct mailbox *mailbox, uint64_t now);

/* For qsort(). */
int bench_compare(const void *a, const void *b);

/* A quantile of sorted cycles of bursts. */
double bench_per_packet(const uint32_t *samples, size_t n, unsigned int percent);

/* Members of the JSON object that is written. Cycles are sorted. */
void bench_print_cycles(struct bench *bench);
void bench_print_drops(const struct bench *bench);
void bench_print_state(const struct bench *bench);
void bench_print_classifiers(const struct bench *bench);

#endif /* BENCH_H */
