/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_BACKENDS_H
#define SN_BACKENDS_H

/*
 * What became of load balancers' backends since their program was compiled: weights, and who is down. It
 * outlives programs: each is changed by it before it is built.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program.pb-c.h"
#include "sn_error.h"

/* All zero: nothing is said. */
struct sn_backends {
	uint8_t *said; /* an encoded SetBackends */
	size_t len;
};

/* -1: what is said is wrong, or there is no memory for it, with a message in err. */
int sn_backends_create(struct sn_backends *backends, const Sinter__Program__V1__SetBackends *said,
		       struct sn_error *err);
void sn_backends_free(struct sn_backends *backends);

bool sn_backends_same(const struct sn_backends *a, const struct sn_backends *b);

/* Changes a program's message. -1 without memory. */
int sn_backends_apply(const struct sn_backends *backends, Sinter__Program__V1__Program *program);

/* Whether there is a load balancer in a program. */
bool sn_backends_concern(const Sinter__Program__V1__Program *program);

#endif /* SN_BACKENDS_H */
