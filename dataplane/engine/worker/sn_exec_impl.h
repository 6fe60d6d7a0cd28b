/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_EXEC_IMPL_H
#define SN_EXEC_IMPL_H

/* What the files of the slow path share. */

#include "sn_exec.h"

#define STEPS_MAX 256 /* segments and counters on a way that the decision cache remembers */

/* The execution of one packet with its copies and answers. */
struct exec {
	struct sn_worker *w;
	uint64_t now;
	uint32_t n_uses;
	uint32_t copies;
	/* What the decision cache will remember; `keep` as long as it can. */
	const struct sn_cache_key *key;
	uint64_t hash;
	bool keep;
	bool warm_up; /* there is no packet, only a decision */
	uint32_t min_ttl;
	uint32_t n_steps;
	uint32_t steps[STEPS_MAX];
	struct sn_use *uses; /* the worker's journal */
};

/* Where a packet goes on; segment SN_NO_INDEX: nowhere. */
struct next {
	uint32_t segment;
};

static const struct next ended = {SN_NO_INDEX};

static inline struct next drop(struct exec *x, struct sn_pkt *p, uint32_t reason)
{
	if (!x->warm_up)
		sn_worker_drop(x->w, p->m, reason);
	return ended;
}

/* ---- operations on state, and the journal: sn_exec_state.c ---- */

/* The packet leaves or is answered: all state on its way, up to here, is used. */
void sn_exec_commit(struct exec *x);

/* Back to where the journal had n uses; what was not committed was not. */
void sn_exec_roll_back(struct exec *x, uint32_t n);

/* Whether the packet used state of shards that may come to have different owners: a decision notes but one.
 */
bool sn_exec_spans_shards(const struct exec *x);

/* A packet from inside, and one from outside, are translated. */
enum sn_reason sn_exec_forward(struct exec *x, struct sn_pkt *p, uint32_t run);
struct next sn_exec_return(struct exec *x, struct sn_pkt *p, uint32_t table);

#endif /* SN_EXEC_IMPL_H */
