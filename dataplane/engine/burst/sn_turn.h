/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TURN_H
#define SN_TURN_H

/* A thing that one of the workers does every so often, whichever finds it due; the others go on. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sn_turn {
	atomic_flag taken; /* by the worker that is at it */
	_Atomic uint64_t due;
};

static inline void sn_turn_init(struct sn_turn *t)
{
	atomic_flag_clear(&t->taken);
}

/* It is due, and nobody else does it: sn_turn_end() follows. It is due again after a period, in nanoseconds.
 */
static inline bool sn_turn_begin(struct sn_turn *t, uint64_t now, uint64_t period)
{
	if (now < atomic_load_explicit(&t->due, memory_order_relaxed) ||
	    atomic_flag_test_and_set_explicit(&t->taken, memory_order_acquire))
		return false;
	if (now < atomic_load_explicit(&t->due, memory_order_relaxed)) {
		atomic_flag_clear_explicit(&t->taken, memory_order_release);
		return false; /* another one has done it since */
	}
	atomic_store_explicit(&t->due, now + period, memory_order_relaxed);
	return true;
}

static inline void sn_turn_end(struct sn_turn *t)
{
	atomic_flag_clear_explicit(&t->taken, memory_order_release);
}

#endif /* SN_TURN_H */
