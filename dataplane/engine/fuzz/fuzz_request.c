/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as a control message: always answered, with an answer that can be decoded. */
#include <stdlib.h>

#include "sn_frame.h"
#include "sn_harness.h"
#include "sn_log.h"
#include "sn_request.h"
#include "sn_transfer.h"
#include "test/sample.h"

static struct sn_harness harness;
static struct sn_requests requests;

static void check(int rc, const char *err)
{
	if (rc != 0) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One shard is being given, one taken: what is asked of them needs no more than their ids. */
static void begin_transfers(void)
{
	static const uint8_t give[SN_TRANSFER_ID] = {1}, take[SN_TRANSFER_ID] = {2};
	const uint32_t here = 0, away = 1;
	const struct sn_transfer_order giving = {give, &here, 1, "peer", NULL},
				       taking = {take, &away, 1, "peer", NULL};
	struct sn_transfer_layout layout;
	struct sn_taken taken;
	struct sn_error err;

	check(sn_shards_assign(sn_engine_shards(harness.engine), &here, 1, NULL, 0, &err), err.text);
	sn_transfer_layout(sn_engine_transfers(harness.engine), &layout);
	check(sn_give_begin(sn_engine_transfers(harness.engine), &giving, &err), err.text);
	check(sn_take_begin(sn_engine_transfers(harness.engine), &taking, &layout, &taken, &err), err.text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sn_engine_loaded loaded;
	struct sn_arena arena;
	struct sn_error err;

	(void)argc;
	sn_log_limit(SN_LOG_ERROR); /* refusals are what this is about */
	check(sn_harness_eal((*argv)[0], &err), err.text);
	check(sn_harness_open(&harness, &(struct sn_harness_config){.n_workers = 2, .cache_entries = 8},
			      &err),
	      err.text);
	sn_arena_init(&arena);
	check(sn_engine_load(harness.engine, sn_sample_napt(&arena), NULL, 0, &loaded, &err), err.text);
	sn_arena_free(&arena);
	begin_transfers();
	sn_requests_init(&requests, harness.engine, sn_harness_inject, &harness);
	return 0;
}

/* Large tables are fuzz_program's to refuse; here they would only cost memory. */
static bool has_tables(const uint8_t *data, size_t size)
{
	Sinter__Control__V1__Request *request = sinter__control__v1__request__unpack(NULL, size, data);
	Sinter__Program__V1__Program *program = NULL;
	bool has;

	if (request != NULL && request->body_case == SINTER__CONTROL__V1__REQUEST__BODY_LOAD)
		program = sinter__program__v1__program__unpack(NULL, request->load->program.len,
							       request->load->program.data);
	has = program != NULL && program->n_tables > 0;
	if (program != NULL)
		sinter__program__v1__program__free_unpacked(program, NULL);
	sinter__control__v1__request__free_unpacked(request, NULL);
	return has;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Sinter__Control__V1__Response *response;
	uint8_t *reply;
	size_t len;

	if (has_tables(data, size))
		return 0;
	check(sn_requests_answer(&requests, data, size, &reply, &len), "no answer");
	response =
		sinter__control__v1__response__unpack(NULL, len - SN_FRAME_HEADER, reply + SN_FRAME_HEADER);
	check(response != NULL ? 0 : -1, "the answer cannot be decoded");
	sinter__control__v1__response__free_unpacked(response, NULL);
	free(reply);
	return 0;
}
