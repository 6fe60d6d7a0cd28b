/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REPORT_H
#define SN_REPORT_H

/* Reports of the engine about itself, as control messages in memory of an arena. */

#include "control.pb-c.h"
#include "program.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"
#include "sn_error.h"

/* All return 0, or -1 with a message in err. */

int sn_report_stats(const struct sn_engine *engine, const Sinter__Control__V1__GetStats *request,
		    struct sn_arena *arena, Sinter__Control__V1__Stats *stats, struct sn_error *err);

/* Devices in the order of the chain's interfaces; as bound while there is no program. */
int sn_report_ports(const struct sn_engine *engine, struct sn_arena *arena, char ***names, size_t *n,
		    struct sn_error *err);

/* An entry of state as a message; its owner's name is not copied. 0, or -1 without memory. */
int sn_report_session(const struct sn_entry_info *info, struct sn_arena *arena,
		      Sinter__Program__V1__Session *session);

/* MAC addresses of the program's interfaces; none without a program. */
int sn_report_addresses(const struct sn_engine *engine, struct sn_arena *arena,
			Sinter__Control__V1__HelloReply *reply, struct sn_error *err);

/* Walks through the tables of the program in force. None without memory: the program runs all the same. */
void sn_report_walks(const struct sn_engine *engine, struct sn_arena *arena,
		     Sinter__Control__V1__Loaded *reply);

/* These two hold the workers while they copy. */
int sn_report_sessions(struct sn_engine *engine, const Sinter__Control__V1__GetSessions *request,
		       struct sn_arena *arena, Sinter__Control__V1__SessionList *list, struct sn_error *err);
int sn_report_neighbors(struct sn_engine *engine, struct sn_arena *arena,
			Sinter__Control__V1__NeighborList *list, struct sn_error *err);

#endif /* SN_REPORT_H */
