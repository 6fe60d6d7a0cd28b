/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_inspect [rules [bytes]]: cycles that an inspector takes for a payload, beside those of hs_scan()
 * alone on the same payloads and expressions, as hsbench measures them in block mode. Both alternate;
 * medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hs.h>
#include <rte_cycles.h>

#include "sample.h"
#include "sn_inspect.h"
#include "sn_state.h"

#define PAYLOADS 256
#define ROUNDS	 101
#define WORD	 12

typedef Sinter__Program__V1__InspectRule rule_msg;
typedef Sinter__Program__V1__InspectPart part_msg;

static uint64_t dice_state = 1;

static uint32_t dice(uint32_t sides)
{
	dice_state = dice_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice_state >> 33) % sides;
}

/* Words of letters; each tenth is followed by a class that repeats. */
static char *expression(struct sn_arena *arena, uint32_t i)
{
	char *text = sn_arena_alloc(arena, 4 * WORD + 32), *to = text;

	for (uint32_t k = 0; k < WORD; k++)
		to += sprintf(to, "\\x%02x", 'a' + dice(26));
	if (i % 10 == 0)
		strcpy(to, "[\\x30-\\x39]{2,6}\\x3b");
	return text;
}

static Sinter__Program__V1__Program *message_of(struct sn_arena *arena, uint32_t n)
{
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));

	sinter__program__v1__state_table__init(table);
	table->name = (char *)"ids";
	table->inspector = sn_arena_alloc(arena, sizeof(*table->inspector));
	sinter__program__v1__inspector__init(table->inspector);
	table->inspector->n_rules = n;
	table->inspector->rules = sn_arena_alloc(arena, n * sizeof(rule_msg *));
	for (uint32_t i = 0; i < n; i++) {
		rule_msg *r = sn_arena_alloc(arena, sizeof(*r));
		part_msg *p = sn_arena_alloc(arena, sizeof(*p));

		sinter__program__v1__inspect_rule__init(r);
		sinter__program__v1__inspect_part__init(p);
		p->expression = expression(arena, i);
		r->name = (char *)"r";
		r->n_parts = 1;
		r->parts = sn_arena_alloc(arena, sizeof(p));
		r->parts[0] = p;
		table->inspector->rules[i] = r;
	}
	msg->n_tables = 1;
	msg->tables = sn_arena_alloc(arena, sizeof(table));
	msg->tables[0] = table;
	return msg;
}

/* The measured case: payloads, and both ways to match them. */
struct bench {
	uint8_t *payloads;
	uint32_t bytes;
	hs_database_t *db;
	hs_scratch_t *scratch;
	struct sn_program *program;
	struct sn_state *state;
	uint64_t matched;
};

static void compile_alone(struct bench *b, const Sinter__Program__V1__Program *msg)
{
	const Sinter__Program__V1__Inspector *in = msg->tables[0]->inspector;
	const char **texts = calloc(in->n_rules, sizeof(*texts));
	unsigned int *flags = calloc(in->n_rules, sizeof(*flags)), *ids = calloc(in->n_rules, sizeof(*ids));
	hs_compile_error_t *error;

	for (uint32_t i = 0; i < in->n_rules; i++) {
		texts[i] = in->rules[i]->parts[0]->expression;
		flags[i] = HS_FLAG_SINGLEMATCH;
		ids[i] = i;
	}
	if (hs_compile_multi(texts, flags, ids, (unsigned int)in->n_rules, HS_MODE_BLOCK, NULL, &b->db,
			     &error) != HS_SUCCESS ||
	    hs_alloc_scratch(b->db, &b->scratch) != HS_SUCCESS)
		exit(1);
	free(texts);
	free(flags);
	free(ids);
}

static int count(unsigned int id, unsigned long long from, unsigned long long to, unsigned int flags, void *n)
{
	(void)id;
	(void)from;
	(void)to;
	(void)flags;
	++*(uint64_t *)n;
	return 0;
}

static uint64_t alone(struct bench *b)
{
	uint64_t start = rte_rdtsc();

	for (uint32_t i = 0; i < PAYLOADS; i++)
		hs_scan(b->db, (const char *)b->payloads + i * b->bytes, b->bytes, 0, b->scratch, count,
			&b->matched);
	return rte_rdtsc() - start;
}

static uint64_t inspected(struct bench *b)
{
	struct sn_partition *partition = sn_state_partition(b->state, 0);
	uint64_t start = rte_rdtsc();

	for (uint32_t i = 0; i < PAYLOADS; i++)
		sn_inspect_payload(
			partition, b->program->tables[0].rules, 0,
			(struct sn_payload){b->payloads + i * b->bytes, b->bytes, SN_PAYLOAD_SEGMENT});
	return rte_rdtsc() - start;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double median(uint64_t *rounds)
{
	qsort(rounds, ROUNDS, sizeof(*rounds), by_size);
	return (double)rounds[ROUNDS / 2] / PAYLOADS;
}

static void prepare(struct bench *b, uint32_t rules)
{
	struct sn_error err = {0};
	struct sn_arena arena;
	uint64_t kept, dropped;
	Sinter__Program__V1__Program *msg;

	sn_arena_init(&arena);
	msg = message_of(&arena, rules);
	b->payloads = malloc((size_t)PAYLOADS * b->bytes);
	b->program = sn_program_create(msg, NULL, &err);
	b->state = sn_state_create(1, 1, (struct sn_partitioning){0});
	if (!b->payloads || !b->program || !b->state ||
	    sn_state_apply(b->state, b->program, &kept, &dropped) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	for (uint32_t i = 0; i < PAYLOADS * b->bytes; i++)
		b->payloads[i] = (uint8_t)(dice(6) ? 'a' + dice(26) : ' ');
	compile_alone(b, msg);
	sn_arena_free(&arena);
}

int main(int argc, char **argv)
{
	uint32_t rules = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000;
	struct bench b = {.bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 1400};
	uint64_t ours[ROUNDS], theirs[ROUNDS];
	double a, i;

	prepare(&b, rules);
	inspected(&b);
	for (uint32_t r = 0; r < ROUNDS; r++) {
		theirs[r] = alone(&b);
		ours[r] = inspected(&b);
	}
	a = median(theirs);
	i = median(ours);
	printf("%u rules, payloads of %u bytes: hs_scan() alone %.0f cycles, inspector %.0f: %.3f of its "
	       "rate\n",
	       rules, b.bytes, a, i, a / i);
	return 0;
}
