/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REPORT_WIRES_H
#define SN_REPORT_WIRES_H

#include "control.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"

/* Each way through functions outside of the program. Not 0: there is no memory. */
int sn_report_wires(const struct sn_engine *engine, struct sn_arena *arena,
		    Sinter__Control__V1__Stats *stats);

#endif /* SN_REPORT_WIRES_H */
