/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_plan.h"

#include <stdlib.h>
#include <string.h>

#include "sn_counts.h"
#include "sn_log.h"

static int bind_ports(struct sn_plan *plan, const struct sn_ports *ports, struct sn_error *err)
{
	for (uint32_t i = 0; i < plan->program->n_interfaces; i++) {
		const struct sn_interface *interface = &plan->program->interfaces[i];
		struct sn_port *port = sn_port_of(ports, interface->name);

		if (port == NULL)
			return sn_fail(err,
				       "interface %s has no device: start the engine with --bind %s=<device>",
				       interface->name, interface->name);
		if (interface->mtu > port->mtu)
			return sn_fail(err,
				       "interface %s: MTU %u, but device \"%s\" was opened for %u: lower the "
				       "interface's "
				       "or start the engine with --mtu %u",
				       interface->name, interface->mtu, port->bind.device, port->mtu,
				       interface->mtu);
		plan->ports[i] = port;
		memcpy(plan->macs[i], port->device_mac.addr_bytes, sizeof(plan->macs[i]));
	}
	return 0;
}

struct sn_plan *sn_plan_create(const Sinter__Program__V1__Program *message, const struct sn_plan *like,
			       const struct sn_fibs *fibs, const struct sn_ports *ports,
			       unsigned int n_workers, struct sn_error *err)
{
	struct sn_plan *plan = calloc(1, sizeof(*plan));

	if (plan == NULL) {
		sn_fail(err, "no memory for a program");
		return NULL;
	}
	plan->n_workers = n_workers;
	plan->program = sn_program_create_with(message, like ? like->program : NULL, fibs, err);
	if (plan->program == NULL)
		goto fail;
	if (ports != NULL && bind_ports(plan, ports, err) != 0)
		goto fail;
	if (ports == NULL) {
		for (uint32_t i = 0; i < plan->program->n_interfaces; i++) {
			const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0x00, 0x00, (uint8_t)i};

			memcpy(plan->macs[i], mac, sizeof(mac));
		}
	}
	for (unsigned int i = 0; i < n_workers; i++) {
		plan->counts[i] = sn_counts_create(plan->program);
		if (plan->counts[i] == NULL) {
			sn_fail(err, "no memory for the counters of a program of %u classes",
				plan->program->n_classes);
			goto fail;
		}
		if (like != NULL)
			sn_counts_go_on(plan->counts[i], like->counts[i]);
	}
	return plan;
fail:
	sn_plan_free(plan);
	return NULL;
}

void sn_plan_free(struct sn_plan *plan)
{
	if (plan == NULL)
		return;
	for (unsigned int i = 0; i < plan->n_workers; i++)
		if (plan->counts[i] != NULL)
			sn_counts_free(plan->counts[i]);
	if (plan->program != NULL)
		sn_program_free(plan->program);
	free(plan);
}

static void enter(struct sn_ledger *ledger, const char *name, const struct sn_count *count)
{
	if (count->packets > 0 && sn_ledger_add(ledger, name, count) != 0)
		sn_log(SN_LOG_ERROR, "no memory for the total of %s: %lu packets are no longer counted", name,
		       (unsigned long)count->packets);
}

static struct sn_ledger *ledger_of(struct sn_totals *totals, const struct sn_program *program,
				   uint32_t reason)
{
	return sn_program_reason_kind(program, SN_REASON_CHAIN + reason) == SN_REASON_LOSS ? &totals->losses
											   : &totals->reasons;
}

void sn_plan_retire(struct sn_plan *plan, struct sn_totals *totals)
{
	const struct sn_program *program;
	struct sn_count *counters, *reasons;

	if (plan == NULL)
		return;
	program = plan->program;
	counters = calloc(program->n_counters + 1, sizeof(*counters));
	reasons = calloc(program->n_reasons + 1, sizeof(*reasons));
	if (counters != NULL && reasons != NULL) {
		for (unsigned int i = 0; i < plan->n_workers; i++)
			sn_counts_add(plan->counts[i], NULL, counters, reasons);
		for (uint32_t i = 0; i < program->n_counters; i++)
			enter(&totals->counters, program->counters[i], &counters[i]);
		for (uint32_t i = 0; i < program->n_reasons; i++)
			enter(ledger_of(totals, program, i), program->reasons[i], &reasons[i]);
	}
	free(counters);
	free(reasons);
	sn_plan_free(plan);
}

/* Where a run's return packets go on is the program's matter, not the state's. */
static bool same_run(const struct sn_run *a, const struct sn_run *b)
{
	return strcmp(a->name, b->name) == 0 && a->table == b->table && a->max_sessions == b->max_sessions &&
	       a->subscribers == b->subscribers && a->tcp_ns == b->tcp_ns &&
	       a->tcp_transitory_ns == b->tcp_transitory_ns && a->udp_ns == b->udp_ns &&
	       a->icmp_ns == b->icmp_ns;
}

bool sn_plan_same_state(const struct sn_plan *a, const struct sn_plan *b)
{
	const struct sn_program *p = a->program, *q = b->program;

	if (p->n_tables != q->n_tables || p->n_runs != q->n_runs ||
	    memcmp(p->unpartitioned, q->unpartitioned, sizeof(p->unpartitioned)) != 0)
		return false;
	if (!sn_program_same_subscribers(p, q))
		return false;
	for (uint32_t i = 0; i < p->n_tables; i++)
		if (!sn_table_config_same(&p->tables[i], &q->tables[i]))
			return false;
	for (uint32_t i = 0; i < p->n_runs; i++)
		if (!same_run(&p->runs[i], &q->runs[i]))
			return false;
	return true;
}
