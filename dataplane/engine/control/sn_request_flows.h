/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REQUEST_FLOWS_H
#define SN_REQUEST_FLOWS_H

/* Requests about observed flows. The functions return 0, or -1 with a message in err. */

#include "control.pb-c.h"
#include "program.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"
#include "sn_error.h"

int sn_answer_top(const struct sn_engine *engine, struct sn_arena *arena,
		  const Sinter__Program__V1__GetTop *request, Sinter__Control__V1__Response *response,
		  struct sn_error *err);

int sn_answer_read_flows(const struct sn_engine *engine, struct sn_arena *arena,
			 const Sinter__Program__V1__ReadFlows *request,
			 Sinter__Control__V1__Response *response, struct sn_error *err);

/* Observations for the running program; nothing where it asks for none. */
int sn_report_observation(const struct sn_engine *engine, struct sn_arena *arena,
			  Sinter__Control__V1__Stats *stats);

#endif /* SN_REQUEST_FLOWS_H */
