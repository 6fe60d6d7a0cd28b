/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FIB_CHANGES_H
#define SN_FIB_CHANGES_H

/* FIBs that come with a program, as changes of those that the running one has. */

#include "control.pb-c.h"
#include "sn_plan.h"

/*
 * Makes the FIBs. Each must have the hash that it comes with. -1: a change is wrong, or has no base, with a
 * message in err. Nothing but `to` is changed; sn_fib_changes_free() in any case.
 */
int sn_fib_changes_apply(Sinter__Control__V1__FibChange *const *changes, size_t n,
			 const struct sn_plan *running, struct sn_fibs *to, struct sn_error *err);
void sn_fib_changes_free(struct sn_fibs *fibs);

#endif /* SN_FIB_CHANGES_H */
