/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Build time, memory and look-up cycles of the classifier, beside rte_acl and
 * rte_fib with the same rules and keys.
 *
 *   bench_table DATA-FOLDER [EAL arguments]
 *
 * DATA-FOLDER holds classbench/ (ClassBench files) and routes/prefixes.txt.gz.
 * Keys: of a random box a random point, in bulks of 32. A bulk is copied to the
 * L1 cache before the clock starts, where the parser would have left it; the
 * tables are as cold as 64 K different keys leave them. Medians over all bulks of
 * 15 passes.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_acl.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>

#include "sn_table.h"
#include "table_sets.h"

#define BULK	   32u
#define KEYS	   (64u << 10)
#define PASSES	   15
#define ACL_MEMORY (512u << 20) /* at which rte_acl's build gives up */

struct result {
	double build_ms;
	double megabytes;
	double cycles;
};

/* Looks up a bulk; returns something that depends on the classes. */
typedef uint32_t look_up_fn(const void *table, const struct sn_key *keys);

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double measure(look_up_fn *look_up, const void *table, const struct sn_key *keys)
{
	static double bulks[PASSES * KEYS / BULK];
	volatile uint32_t sink = 0;
	size_t n = 0;

	for (int p = 0; p < PASSES; p++) {
		for (uint32_t i = 0; i < KEYS; i += BULK) {
			struct sn_key bulk[BULK];
			uint64_t start;

			memcpy(bulk, keys + i, sizeof(bulk));
			start = rte_rdtsc_precise();
			sink += look_up(table, bulk);
			bulks[n++] = (double)(rte_rdtsc_precise() - start) / BULK;
		}
	}
	qsort(bulks, n, sizeof(bulks[0]), by_value);
	return bulks[n / 2];
}

static void print(const char *set, uint32_t n, const char *kind, const struct result *result)
{
	if (isnan(result->cycles))
		printf("| %s | %u | %s | refused after %.0f | | |\n", set, n, kind, result->build_ms);
	else if (isnan(result->megabytes))
		printf("| %s | %u | %s | %.1f | | %.1f |\n", set, n, kind, result->build_ms, result->cycles);
	else
		printf("| %s | %u | %s | %.1f | %.2f | %.1f |\n", set, n, kind, result->build_ms,
		       result->megabytes, result->cycles);
	fflush(stdout);
}

/* ---- our own ---- */

static uint32_t look_up_own(const void *table, const struct sn_key *keys)
{
	uint32_t classes[BULK];

	sn_table_lookup(table, keys, classes, BULK);
	return classes[0] ^ classes[BULK - 1];
}

static struct result bench_own(const struct set *set, const struct sn_key *keys, char kind[16])
{
	struct sn_table *table = NULL;
	struct result result = {.build_ms = INFINITY};
	struct sn_error err;

	for (int round = 0; round < 3; round++) {
		double start = now_ms();

		sn_table_free(table);
		table = sn_table_create(&set->spec, &err);
		if (table == NULL)
			rte_exit(EXIT_FAILURE, "%s\n", err.text);
		result.build_ms = fmin(result.build_ms, now_ms() - start);
	}
	result.megabytes = (double)sn_table_size(table) / 1e6;
	result.cycles = measure(look_up_own, table, keys);
	snprintf(kind, 16, "%s", sn_table_kind(table));
	sn_table_free(table);
	return result;
}

/* ---- rte_acl: the required bits are its protocol and flags fields ---- */

struct acl_key {
	uint8_t low_bits; /* a rule's first field has one byte */
	uint32_t src;
	uint32_t dst;
	uint16_t sport;
	uint16_t dport;
	uint32_t high_bits;
};

enum { ACL_LOW_BITS, ACL_SRC, ACL_DST, ACL_SPORT, ACL_DPORT, ACL_HIGH_BITS, ACL_FIELDS };

RTE_ACL_RULE_DEF(acl_rule, ACL_FIELDS);

static const struct rte_acl_field_def acl_fields[ACL_FIELDS] = {
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, ACL_LOW_BITS, 0, offsetof(struct acl_key, low_bits)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, ACL_SRC, 1, offsetof(struct acl_key, src)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, ACL_DST, 2, offsetof(struct acl_key, dst)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, ACL_SPORT, 3, offsetof(struct acl_key, sport)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, ACL_DPORT, 3, offsetof(struct acl_key, dport)},
	{RTE_ACL_FIELD_TYPE_BITMASK, 4, ACL_HIGH_BITS, 4, offsetof(struct acl_key, high_bits)},
};

static uint32_t prefix_length(const uint32_t *range)
{
	uint32_t host = range[1] - range[0];

	return host == UINT32_MAX ? 0 : 32 - (uint32_t)__builtin_popcount(host);
}

static uint16_t acl_port(uint32_t port)
{
	return (uint16_t)(port < UINT16_MAX ? port : UINT16_MAX);
}

static struct acl_rule acl_rule_of(const struct set *set, uint32_t box)
{
	const uint32_t *bounds = set->bounds + (size_t)box * 2 * SET_DIMS;
	uint64_t required = set->required[box];
	struct acl_rule rule = {.data = {.category_mask = 1,
					 .priority = RTE_ACL_MAX_PRIORITY - (int)box,
					 .userdata = box + 1}};

	rule.field[ACL_LOW_BITS].value.u8 = (uint8_t)required;
	rule.field[ACL_LOW_BITS].mask_range.u8 = (uint8_t)required;
	rule.field[ACL_SRC].value.u32 = bounds[2 * SET_SRC];
	rule.field[ACL_SRC].mask_range.u32 = prefix_length(bounds + 2 * SET_SRC);
	rule.field[ACL_DST].value.u32 = bounds[2 * SET_DST];
	rule.field[ACL_DST].mask_range.u32 = prefix_length(bounds + 2 * SET_DST);
	rule.field[ACL_SPORT].value.u16 = acl_port(bounds[2 * SET_SPORT]);
	rule.field[ACL_SPORT].mask_range.u16 = acl_port(bounds[2 * SET_SPORT + 1]);
	rule.field[ACL_DPORT].value.u16 = acl_port(bounds[2 * SET_DPORT]);
	rule.field[ACL_DPORT].mask_range.u16 = acl_port(bounds[2 * SET_DPORT + 1]);
	rule.field[ACL_HIGH_BITS].value.u32 = (uint32_t)(required >> 8);
	rule.field[ACL_HIGH_BITS].mask_range.u32 = (uint32_t)(required >> 8);
	return rule;
}

/* The keys are turned before the clock starts: `table` leads to both. */
struct acl_table {
	struct rte_acl_ctx *ctx;
	const struct acl_key *keys;
	uint32_t next;
};

static uint32_t look_up_acl(const void *table, const struct sn_key *unused)
{
	struct acl_table *acl = (struct acl_table *)(uintptr_t)table;
	const uint8_t *data[BULK];
	uint32_t results[BULK];

	(void)unused;
	for (uint32_t i = 0; i < BULK; i++)
		data[i] = (const uint8_t *)&acl->keys[acl->next + i];
	acl->next = (acl->next + BULK) % KEYS;
	rte_acl_classify(acl->ctx, data, results, BULK, 1);
	return results[0] ^ results[BULK - 1];
}

/* The comparison is fair only if both mean the same. */
static void check_acl(const struct set *set, const struct rte_acl_ctx *ctx, const struct sn_key *keys,
		      const struct acl_key *acl_keys)
{
	for (uint32_t i = 0; i < 2048; i++) {
		const uint8_t *data = (const uint8_t *)&acl_keys[i];
		uint32_t want = set_first_match(set, &keys[i]);
		uint32_t got = 0;

		rte_acl_classify(ctx, &data, &got, 1, 1);
		if (got != want + 1)
			rte_exit(EXIT_FAILURE, "rte_acl: key %u matches rule %u, expected %u\n", i, got,
				 want + 1);
	}
}

static struct result bench_acl(const struct set *set, const struct sn_key *keys)
{
	const struct rte_acl_param param = {.name = "bench",
					    .socket_id = SOCKET_ID_ANY,
					    .rule_size = RTE_ACL_RULE_SZ(ACL_FIELDS),
					    .max_rule_num = set->spec.n_boxes};
	struct rte_acl_config config = {
		.num_categories = 1, .num_fields = ACL_FIELDS, .max_size = ACL_MEMORY};
	struct result result = {.cycles = NAN, .megabytes = NAN};
	struct acl_table acl = {.ctx = rte_acl_create(&param)};
	struct acl_key *acl_keys = calloc(KEYS, sizeof(*acl_keys));
	double start;

	if (acl.ctx == NULL || acl_keys == NULL)
		rte_exit(EXIT_FAILURE, "rte_acl: no memory for %u rules\n", set->spec.n_boxes);
	for (uint32_t i = 0; i < set->spec.n_boxes; i++) {
		struct acl_rule rule = acl_rule_of(set, i);

		if (rte_acl_add_rules(acl.ctx, (struct rte_acl_rule *)&rule, 1) != 0)
			rte_exit(EXIT_FAILURE, "rte_acl: rule %u is refused\n", i);
	}
	memcpy(config.defs, acl_fields, sizeof(acl_fields));
	for (uint32_t i = 0; i < KEYS; i++) { /* in network byte order */
		acl_keys[i] = (struct acl_key){(uint8_t)keys[i].bits[0],
					       __builtin_bswap32(keys[i].dim[SET_SRC]),
					       __builtin_bswap32(keys[i].dim[SET_DST]),
					       __builtin_bswap16(acl_port(keys[i].dim[SET_SPORT])),
					       __builtin_bswap16(acl_port(keys[i].dim[SET_DPORT])),
					       __builtin_bswap32((uint32_t)(keys[i].bits[0] >> 8))};
	}
	acl.keys = acl_keys;
	start = now_ms();
	if (rte_acl_build(acl.ctx, &config) == 0) {
		result.build_ms = now_ms() - start;
		check_acl(set, acl.ctx, keys, acl_keys);
		if (rte_acl_set_ctx_classify(acl.ctx, RTE_ACL_CLASSIFY_AVX512X32) != 0)
			fprintf(stderr, "rte_acl: no AVX-512 here, its default method is measured\n");
		result.cycles = measure(look_up_acl, &acl, keys);
	} else {
		result.build_ms = now_ms() - start;
	}
	rte_acl_free(acl.ctx);
	free(acl_keys);
	return result;
}

/* ---- rte_fib ---- */

static uint32_t look_up_fib(const void *table, const struct sn_key *keys)
{
	uint32_t addresses[BULK];
	uint64_t hops[BULK];

	for (uint32_t i = 0; i < BULK; i++)
		addresses[i] = keys[i].dim[0];
	rte_fib_lookup_bulk((struct rte_fib *)(uintptr_t)table, addresses, hops, BULK);
	return (uint32_t)(hops[0] ^ hops[BULK - 1]);
}

static struct result bench_fib(const struct set *set, const struct sn_key *keys)
{
	struct rte_fib_conf config = {.type = RTE_FIB_DIR24_8,
				      .max_routes = (int)set->spec.n_boxes + 1,
				      .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 16}};
	struct result result = {.megabytes = (64 << 20) / 1e6, .cycles = NAN};
	double start = now_ms();
	struct rte_fib *fib = rte_fib_create("bench", SOCKET_ID_ANY, &config);

	if (fib == NULL) {
		fprintf(stderr, "rte_fib: %s\n", rte_strerror(rte_errno));
		return result;
	}
	for (uint32_t i = 0; i < set->spec.n_boxes; i++) {
		const uint32_t *range = set->bounds + 2 * (size_t)i;

		if (rte_fib_add(fib, range[0], (uint8_t)prefix_length(range), i) != 0)
			rte_exit(EXIT_FAILURE, "rte_fib: route %u is refused\n", i);
	}
	result.build_ms = now_ms() - start;
	result.cycles = measure(look_up_fib, fib, keys);
	rte_fib_free(fib);
	return result;
}

/* ---- sets ---- */

static struct sn_key *make_keys(const struct set *set)
{
	struct sn_key *keys = calloc(KEYS, sizeof(*keys));
	uint64_t state = 1;

	if (keys == NULL)
		rte_exit(EXIT_FAILURE, "no memory for keys\n");
	for (uint32_t i = 0; i < KEYS; i++)
		set_key_within(set, (uint32_t)(set_random(&state) % set->spec.n_boxes), &keys[i], &state);
	return keys;
}

static void bench_rules(const char *folder, const char *name)
{
	struct result own, acl;
	struct sn_key *keys;
	char path[4096];
	struct set set;
	char kind[16];

	snprintf(path, sizeof(path), "%s/classbench/%s", folder, name);
	if (!set_read_classbench(&set, path))
		rte_exit(EXIT_FAILURE, "%s: cannot be read\n", path);
	keys = make_keys(&set);
	own = bench_own(&set, keys, kind);
	print(name, set.spec.n_boxes, kind, &own);
	acl = bench_acl(&set, keys);
	print(name, set.spec.n_boxes, "rte_acl", &acl);
	free(keys);
	set_free(&set);
}

/* Longest prefix first, as a router's table comes from the synthesizer. */
static bool read_routes(struct set *set, const char *folder)
{
	char command[4200];

	set_init(set, 1, 0, 1);
	for (unsigned int want = 32; want >= 1; want--) {
		unsigned int a, b, c, d, length;
		char line[128];
		FILE *file;

		snprintf(command, sizeof(command), "gzip -dc '%s/routes/prefixes.txt.gz'", folder);
		file = popen(command, "r");
		if (file == NULL)
			return false;
		while (fgets(line, sizeof(line), file) != NULL) {
			if (sscanf(line, "%u.%u.%u.%u/%u", &a, &b, &c, &d, &length) == 5 && length == want) {
				uint32_t low = a << 24 | b << 16 | c << 8 | d;

				set_add(set,
					(const uint32_t[]){low,
							   low | (uint32_t)((1ull << (32 - length)) - 1)},
					NULL);
			}
		}
		if (pclose(file) != 0)
			return false;
	}
	return true;
}

static void bench_routes(const char *folder)
{
	struct result own, fib;
	struct sn_key *keys;
	struct set set;
	char kind[16];

	if (!read_routes(&set, folder))
		rte_exit(EXIT_FAILURE, "%s/routes/prefixes.txt.gz: cannot be read\n", folder);
	keys = make_keys(&set);
	own = bench_own(&set, keys, kind);
	print("routes", set.spec.n_boxes, kind, &own);
	fib = bench_fib(&set, keys);
	print("routes", set.spec.n_boxes, "rte_fib", &fib);
	free(keys);
	set_free(&set);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"acl1_251", "acl1_1k", "acl1_8550", "acl1_10k",
					    "fw1_713",	"fw1_10k", "ipc1_1k"};
	const char *folder = argc > 1 ? argv[1] : NULL;

	if (folder == NULL) {
		fprintf(stderr, "usage: %s DATA-FOLDER [EAL arguments]\n", argv[0]);
		return EXIT_FAILURE;
	}
	argv[1] = argv[0];
	if (rte_eal_init(argc - 1, argv + 1) < 0)
		return EXIT_FAILURE;
	printf("| set | boxes | classifier | build, ms | MB | TSC cycles per packet |\n");
	printf("| --- | ---: | --- | ---: | ---: | ---: |\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		bench_rules(folder, names[i]);
	bench_routes(folder);
	return EXIT_SUCCESS;
}
