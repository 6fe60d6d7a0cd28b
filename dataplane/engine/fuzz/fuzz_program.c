/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a program: refused with a message, or loaded, and then packets run
 * through whatever it says. Start from a folder that fuzz_seeds has filled.
 */
#include <stdlib.h>
#include <string.h>

#include "sn_harness.h"
#include "sn_log.h"
#include "test/sample.h"

static struct sn_harness harness;

static void check(int rc, const char *err)
{
	if (rc != 0) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sn_error err;

	(void)argc;
	sn_log_limit(SN_LOG_ERROR);
	check(sn_harness_eal((*argv)[0], &err), err.text);
	check(sn_harness_open(&harness, &(struct sn_harness_config){.n_workers = 2, .cache_entries = 8},
			      &err),
	      err.text);
	return 0;
}

/* Some packets by each interface. */
static void run_packets(uint32_t n_interfaces)
{
	static const uint8_t ttls[] = {0, 1, 2, 64};
	Sinter__Control__V1__InjectedPacket packets[RTE_DIM(ttls)], *list[RTE_DIM(ttls)];
	uint8_t frames[RTE_DIM(ttls)][SN_SAMPLE_FRAME];
	struct sn_error err;

	for (uint32_t interface = 0; interface < n_interfaces; interface++) {
		for (size_t i = 0; i < RTE_DIM(ttls); i++) {
			const struct sn_sample_packet packet = {
				.src = SN_SAMPLE_HOST,
				.dst = SN_SAMPLE_REMOTE,
				.sport = 5000,
				.dport = (uint16_t)(9 + i),
				.ttl = ttls[i],
				.interface = (uint8_t)interface,
			};

			sinter__control__v1__injected_packet__init(&packets[i]);
			packets[i].interface = interface;
			packets[i].data.data = frames[i];
			packets[i].data.len = sn_sample_udp(&packet, frames[i]);
			list[i] = &packets[i];
		}
		check(sn_harness_round(&harness, now_of(harness.engine) + 1000000, list, RTE_DIM(ttls), &err),
		      err.text);
	}
}

/* A table of a billion sessions is a right that a program has, but not what is looked for here. */
static bool small(const Sinter__Program__V1__Program *program)
{
	for (size_t i = 0; i < program->n_tables; i++)
		if (program->tables[i]->max_sessions == 0 || program->tables[i]->max_sessions > 100000)
			return false;
	return program->n_tables <= 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Sinter__Program__V1__Program *program = sinter__program__v1__program__unpack(NULL, size, data);
	struct sn_engine_loaded loaded;
	struct sn_error err;

	if (program == NULL)
		return 0;
	program->schema = SN_SCHEMA; /* the first check, and the dullest */
	program->longest_way = 1 + program->longest_way % SN_WAY_MAX;
	if (small(program) && sn_engine_load(harness.engine, program, NULL, 0, &loaded, &err) == 0)
		run_packets(program_of(harness.engine)->n_interfaces);
	sinter__program__v1__program__free_unpacked(program, NULL);
	return 0;
}
