/* SPDX-License-Identifier: Apache-2.0 */
/* The functions on a program's wires: each gives every frame back as it is, at once; those that are open are
 * down. One that gets copies keeps them. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "sn_thread.h"
#include "sn_wires.h"

/* They were so when the engine was asked last. */
static void take_down(struct sn_wires *w, uint32_t n_ports)
{
	for (uint32_t i = 0; i < n_ports; i++) {
		w->wires[i].sent_at = sn_now_ns();
		w->wires[i].lost = SN_PROBES_LOST_CLOSED;
		atomic_store(&w->wires[i].down, true);
	}
}

int wires_find(struct mailbox *mailbox, struct sn_error *err)
{
	const struct sn_program *program = mailbox->plan->program;

	for (uint32_t i = 0; i < program->n_interfaces; i++)
		if (program->interfaces[i].wire)
			mailbox->taps |= 1ull << i;
	mailbox->wires = mailbox->taps;
	for (uint32_t i = 0; i < program->n_stops; i++) {
		const struct sn_stop *stop = &program->stops[i];

		mailbox->taps &= ~(1ull << stop->out);
		mailbox->back[stop->out] = (uint8_t)stop->back;
	}
	if (!program->n_stops)
		return 0;
	mailbox->functions = sn_wires_create();
	if (mailbox->functions == NULL)
		return sn_fail(err, "no memory for the functions on wires");
	mailbox->silent = program->bypassed != 0;
	if (mailbox->silent)
		take_down(mailbox->functions, program->n_interfaces);
	return 0;
}

uint16_t wires_take(struct mailbox *mailbox, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct held *held = &mailbox->held[mailbox->back[iface]];
	uint16_t taken = RTE_MIN(n, SN_BENCH_HANDED - held->n);

	if (mailbox->silent || mailbox->taps >> iface & 1) {
		rte_pktmbuf_free_bulk(pkts, n);
		return n;
	}
	memcpy(held->pkts + held->n, pkts, taken * sizeof(*pkts));
	held->n += taken;
	mailbox->holding |= 1ull << mailbox->back[iface];
	return taken;
}

void wires_return(struct mailbox *mailbox, uint64_t now)
{
	while (mailbox->holding) {
		uint16_t back = (uint16_t)__builtin_ctzll(mailbox->holding), n = mailbox->held[back].n;
		struct rte_mbuf *pkts[SN_BENCH_HANDED];

		mailbox->holding &= mailbox->holding - 1;
		mailbox->held[back].n = 0;
		memcpy(pkts, mailbox->held[back].pkts, n * sizeof(*pkts));
		sn_worker_burst(mailbox->worker, back, pkts, n, now);
	}
}
