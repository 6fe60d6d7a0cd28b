/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_program_build.h"
#include "sn_state_kind.h"
#include "sn_utf8.h"

int sn_build_fail(struct sn_builder *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->err->text, sizeof(b->err->text), fmt, ap);
	va_end(ap);
	sn_fail_in(b->err, "%s", b->at);
	return -EINVAL;
}

void sn_build_at(struct sn_builder *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->at, sizeof(b->at), fmt, ap);
	va_end(ap);
}

int sn_build_index(struct sn_builder *b, const char *field, uint32_t i, size_t n)
{
	return i < n ? 0 : sn_build_fail(b, "%s is %u, but there are only %zu", field, i, n);
}

static int refuse_kind(struct sn_builder *b, const char *field, uint32_t table, const char *wanted)
{
	const struct sn_table_config *t = &b->p->tables[table];

	return sn_build_fail(b, "%s is %u (%s), which is of kind %s, want %s", field, table, t->name,
			     t->kind->name, wanted);
}

int sn_build_table_of(struct sn_builder *b, const char *field, uint32_t table,
		      const struct sn_state_kind *kind, const char *wanted)
{
	if (sn_build_index(b, field, table, b->p->n_tables))
		return -EINVAL;
	return b->p->tables[table].kind == kind ? 0 : refuse_kind(b, field, table, wanted);
}

int sn_build_run_table(struct sn_builder *b, const char *field, uint32_t table)
{
	if (sn_build_index(b, field, table, b->p->n_tables))
		return -EINVAL;
	return b->p->tables[table].kind->owner ? 0 : refuse_kind(b, field, table, "a NAPT's");
}

int sn_build_no_memory(struct sn_builder *b)
{
	sn_build_fail(b, "no memory");
	return -ENOMEM;
}

void *sn_build_array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

int sn_build_operands(struct sn_builder *b, struct sn_op *op, void *operands)
{
	struct sn_program *p = b->p;
	void **more = p->operands;

	/* Doubled whenever their number is a power of two. */
	if ((p->n_operands & (p->n_operands - 1)) == 0)
		more = realloc(p->operands, (p->n_operands ? 2 * (size_t)p->n_operands : 1) * sizeof(*more));
	if (!operands || !more) {
		free(operands);
		return sn_build_no_memory(b);
	}
	p->operands = more;
	op->value = p->n_operands;
	p->operands[p->n_operands++] = operands;
	return 0;
}

int sn_build_name(struct sn_builder *b, char **to, const char *from)
{
	if (!sn_utf8_valid(from))
		return sn_build_fail(b, "a name is not UTF-8");
	*to = strdup(from);
	return *to ? 0 : sn_build_no_memory(b);
}
