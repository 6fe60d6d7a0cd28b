/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRACING_H
#define SN_TRACING_H

/*
 * The control thread's side of traces: starts one on all workers, reads what they
 * took, ends it. One at a time. It ends by itself when it has enough, when its time is
 * over, when another program runs, and when nobody reads it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control.pb-c.h"
#include "sn_arena.h"
#include "sn_error.h"
#include "sn_threads.h"

struct sn_tracing;

/* In a harness traces repeat themselves, and its clock is the only one. NULL without memory. */
struct sn_tracing *sn_tracing_create(struct sn_threads *threads, bool harness);

/* Also ends the trace, if there is one; before the workers go. */
void sn_tracing_free(struct sn_tracing *tracing);

/* Both return 0, or -1 with a message in err; the answer is in the arena's memory. */
int sn_tracing_start(struct sn_tracing *tracing, const Sinter__Control__V1__StartTrace *start,
		     struct sn_arena *arena, Sinter__Control__V1__TraceStarted *started,
		     struct sn_error *err);
int sn_tracing_read(struct sn_tracing *tracing, struct sn_arena *arena, Sinter__Control__V1__Traced *traced,
		    struct sn_error *err);

/* Also if there is none. */
void sn_tracing_stop(struct sn_tracing *tracing);

/* Stops a trace that nobody reads any more; whether there is one still. Call it every second as long as there
 * is. */
bool sn_tracing_watch(struct sn_tracing *tracing);

#endif /* SN_TRACING_H */
