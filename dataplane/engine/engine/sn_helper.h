/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HELPER_H
#define SN_HELPER_H

/*
 * The thread that brings memory before workers use it (sn_ahead.h): one for all workers and engines of the
 * process, on the CPUs that no worker has, if there are any.
 */

#include <stdbool.h>
#include <pthread.h>

struct sn_helper {
	pthread_t thread;
	bool started;
};

/* Without it memory comes as it is used: that it cannot start is logged, and no error. */
void sn_helper_start(struct sn_helper *helper);
void sn_helper_stop(struct sn_helper *helper);

#endif /* SN_HELPER_H */
