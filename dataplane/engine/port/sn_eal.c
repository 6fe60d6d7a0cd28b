/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_eal.h"

#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

int sn_eal_add(struct sn_eal *eal, const char *arg, struct sn_error *err)
{
	char *copy;

	if (eal->argc == SN_EAL_ARGS_MAX)
		return sn_fail(err, "more than %d EAL arguments", SN_EAL_ARGS_MAX);
	copy = strdup(arg);
	if (copy == NULL)
		return sn_fail(err, "no memory");
	eal->argv[eal->argc++] = copy;
	return 0;
}

int sn_eal_add_words(struct sn_eal *eal, const char *text, struct sn_error *err)
{
	char *copy = strdup(text), *rest = copy, *word;
	int rc = 0;

	if (copy == NULL)
		return sn_fail(err, "no memory");
	while (rc == 0 && (word = strsep(&rest, " \t\n")) != NULL)
		if (*word != '\0')
			rc = sn_eal_add(eal, word, err);
	free(copy);
	return rc;
}

bool sn_eal_has(const struct sn_eal *eal, const char *option)
{
	size_t len = strlen(option);
	bool is_long = option[1] == '-';

	for (int i = 1; i < eal->argc; i++) {
		const char *arg = eal->argv[i];

		if (strncmp(arg, option, len) != 0)
			continue;
		if (is_long ? arg[len] == '\0' || arg[len] == '=' : arg[1] != '-')
			return true;
	}
	return false;
}

static int lcore_item(char *text, size_t len, unsigned int lcore, const int *cpus, int n)
{
	int used = snprintf(text, len, "%s%u@(", lcore == 0 ? "" : ",", lcore);

	for (int i = 0; i < n && (size_t)used < len; i++)
		used += snprintf(text + used, len - (size_t)used, "%s%d", i == 0 ? "" : ",", cpus[i]);
	if ((size_t)used < len)
		used += snprintf(text + used, len - (size_t)used, ")");
	return used;
}

int sn_eal_add_lcores(struct sn_eal *eal, unsigned int workers, struct sn_error *err)
{
	char text[CPU_SETSIZE * 5 + RTE_MAX_LCORE * 16];
	int cpus[CPU_SETSIZE], n = 0, spare, used;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return sn_fail(err, "CPUs that the process may use: unknown; pass EAL's -l or --lcores");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	if (workers > (unsigned int)n)
		return sn_fail(
			err, "--workers %u: the process may use %d CPUs only, and each worker needs its own",
			workers, n);
	/* The control thread sleeps nearly always: sharing a worker's CPU costs little. */
	spare = n - (int)workers;
	used = spare > 0 ? lcore_item(text, sizeof(text), 0, cpus, spare)
			 : lcore_item(text, sizeof(text), 0, cpus, n);
	for (unsigned int worker = 0; worker < workers; worker++)
		used += lcore_item(text + used, sizeof(text) - (size_t)used, worker + 1,
				   &cpus[spare + (int)worker], 1);
	if (sn_eal_add(eal, "--lcores", err) != 0)
		return -1;
	return sn_eal_add(eal, text, err);
}

int sn_eal_add_no_huge(struct sn_eal *eal, unsigned int megabytes, struct sn_error *err)
{
	char number[16];

	/* --no-shconf and not --in-memory: EAL refuses the latter with --no-huge. */
	if (sn_eal_add(eal, "--no-huge", err) != 0 || sn_eal_add(eal, "--no-shconf", err) != 0)
		return -1;
	if (sn_eal_has(eal, "-m") || sn_eal_has(eal, "--socket-mem"))
		return 0;
	snprintf(number, sizeof(number), "%u", megabytes);
	if (sn_eal_add(eal, "-m", err) != 0)
		return -1;
	return sn_eal_add(eal, number, err);
}

/* Free hugepages of all sizes. */
static unsigned long hugepages_free(void)
{
	unsigned long sum = 0, count;
	glob_t found;

	if (glob("/sys/kernel/mm/hugepages/hugepages-*/free_hugepages", 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");

		if (file == NULL)
			continue;
		if (fscanf(file, "%lu", &count) == 1)
			sum += count;
		fclose(file);
	}
	globfree(&found);
	return sum;
}

int sn_eal_init(struct sn_eal *eal, struct sn_error *err)
{
	char *argv[SN_EAL_ARGS_MAX + 1]; /* EAL reorders and overwrites */

	if (!sn_eal_has(eal, "--no-huge") && hugepages_free() == 0)
		return sn_fail(err,
			       "no free hugepages: reserve some (echo 512 > "
			       "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages gives 1 GiB), or run "
			       "with --no-huge "
			       "(kernel interfaces and virtual devices only, slower)");
	memcpy(argv, eal->argv, sizeof(argv));
	if (rte_eal_init(eal->argc, argv) < 0)
		return sn_fail(err, "EAL does not start: %s (the lines above say why)",
			       rte_strerror(rte_errno));
	return 0;
}

void sn_eal_free(struct sn_eal *eal)
{
	for (int i = 0; i < eal->argc; i++)
		free(eal->argv[i]);
	memset(eal, 0, sizeof(*eal));
}
