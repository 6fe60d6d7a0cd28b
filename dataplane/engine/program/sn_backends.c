/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_backends.h"

#include <stdlib.h>
#include <string.h>

#include "sn_program.h"

#define WEIGHT_MAX 256
#define STATES_MAX (SN_TABLES_MAX * 512) /* all backends of all balancers */

typedef Sinter__Program__V1__SetBackends set_msg;
typedef Sinter__Program__V1__BackendState state_msg;
typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__StateTable table_msg;

static int check(const set_msg *said, struct sn_error *err)
{
	if (said->n_states > STATES_MAX)
		return sn_fail(err, "set backends: %zu states, at most %d", said->n_states, STATES_MAX);
	for (size_t i = 0; i < said->n_states; i++) {
		const state_msg *s = said->states[i];

		if (s->port > 65535)
			return sn_fail(err, "set backends: states[%zu].port is %u, want at most 65535", i,
				       s->port);
		if (s->weight > WEIGHT_MAX)
			return sn_fail(err, "set backends: states[%zu].weight is %u, want at most %d", i,
				       s->weight, WEIGHT_MAX);
	}
	return 0;
}

int sn_backends_create(struct sn_backends *b, const set_msg *said, struct sn_error *err)
{
	*b = (struct sn_backends){.len = sinter__program__v1__set_backends__get_packed_size(said)};
	if (check(said, err) != 0)
		return -1;
	b->said = malloc(b->len + 1);
	if (b->said == NULL)
		return sn_fail(err, "no memory for the states of %zu backends", said->n_states);
	sinter__program__v1__set_backends__pack(said, b->said);
	return 0;
}

void sn_backends_free(struct sn_backends *b)
{
	free(b->said);
	*b = (struct sn_backends){0};
}

bool sn_backends_same(const struct sn_backends *a, const struct sn_backends *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->said, b->said, a->len) == 0);
}

static void apply(const state_msg *said, const program_msg *program)
{
	for (size_t i = 0; i < program->n_tables; i++) {
		const table_msg *t = program->tables[i];

		if (t->balancer == NULL || strcmp(t->name, said->table) != 0)
			continue;
		for (size_t j = 0; j < t->balancer->n_backends; j++) {
			Sinter__Program__V1__Backend *k = t->balancer->backends[j];

			if (k->address != said->address || k->port != said->port)
				continue;
			k->weight = said->weight;
			k->down = said->down;
		}
	}
}

int sn_backends_apply(const struct sn_backends *b, program_msg *program)
{
	set_msg *said;

	if (b->len == 0)
		return 0;
	said = sinter__program__v1__set_backends__unpack(NULL, b->len, b->said);
	if (said == NULL)
		return -1;
	for (size_t i = 0; i < said->n_states; i++)
		apply(said->states[i], program);
	sinter__program__v1__set_backends__free_unpacked(said, NULL);
	return 0;
}

bool sn_backends_concern(const program_msg *program)
{
	for (size_t i = 0; i < program->n_tables; i++)
		if (program->tables[i]->balancer != NULL)
			return true;
	return false;
}
