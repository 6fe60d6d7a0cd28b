/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_EAL_H
#define SN_EAL_H

/* The command line that DPDK's environment layer (EAL) is started with. */

#include <stdbool.h>
#include <stddef.h>

#include "sn_error.h"

#define SN_EAL_ARGS_MAX 128

struct sn_eal {
	int argc;
	char *argv[SN_EAL_ARGS_MAX + 1];
};

/* All return 0, or -1 with a message in err. */

/* Adds one argument; it is copied. */
int sn_eal_add(struct sn_eal *eal, const char *arg, struct sn_error *err);

/* Adds the words of text, which are separated by blanks. */
int sn_eal_add_words(struct sn_eal *eal, const char *text, struct sn_error *err);

/* Whether an option was given: "-l", "--lcores"; the value may follow behind '=' or, for short ones, at once.
 */
bool sn_eal_has(const struct sn_eal *eal, const char *option);

/*
 * Gives each of n workers a CPU that the process may use, and the control thread
 * what is left; it shares a worker's CPU if nothing is. Lcore 0 is the control thread.
 */
int sn_eal_add_lcores(struct sn_eal *eal, unsigned int workers, struct sn_error *err);

/* Memory from ordinary pages, nothing left behind in the file system. */
int sn_eal_add_no_huge(struct sn_eal *eal, unsigned int megabytes, struct sn_error *err);

/* Starts EAL. */
int sn_eal_init(struct sn_eal *eal, struct sn_error *err);

void sn_eal_free(struct sn_eal *eal);

#endif /* SN_EAL_H */
