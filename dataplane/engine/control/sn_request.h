/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REQUEST_H
#define SN_REQUEST_H

/* Control messages: what a request asks is done by the engine, the answer is encoded. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"
#include "sn_error.h"

/* Injects packets and fills the answer; 0, or -1 with a message in err. */
typedef int (*sn_inject)(void *context, const Sinter__Control__V1__Inject *inject, struct sn_arena *arena,
			 Sinter__Control__V1__Injected *injected, struct sn_error *err);

struct sn_requests {
	struct sn_engine *engine;
	sn_inject inject; /* NULL: the engine has ports, packets come from there */
	void *inject_context;
	struct sn_arena arena;
	bool shutdown; /* somebody asked for the end */
};

void sn_requests_init(struct sn_requests *requests, struct sn_engine *engine, sn_inject inject,
		      void *inject_context);

/*
 * Answers one encoded Request; *reply is a malloc'd frame, length first. Bytes that
 * are no Request get an answer that says so. Not 0: no memory for an answer. The
 * signature is sn_control_handler's, context is the struct sn_requests.
 */
int sn_requests_answer(void *context, const uint8_t *message, size_t len, uint8_t **reply, size_t *reply_len);

/* Do the work that is due between two requests. Returns the milliseconds until it is due again, -1: only
 * after a request.
 */
int sn_requests_tick(struct sn_requests *requests);

void sn_requests_free(struct sn_requests *requests);

#endif /* SN_REQUEST_H */
