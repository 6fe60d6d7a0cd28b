/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of classes: what it says, and when it is asked. */

#include "fixture.h"

#include "sn_memo.h"
#include "sn_plain.h"

#define BOXES  200u
#define BULK   32u
#define WINDOW 65536u /* of packets, after which a memo judges itself */

/* A classifier with what it is made from. */
struct subject {
	struct sn_classifier c;
	struct sn_atoms atoms;
	struct sn_memo *memo;
	uint8_t frames[BULK][FRAME_MAX];
	const uint8_t *at[BULK];
};

struct reading {
	uint32_t n_dims;
	Sinter__Program__V1__Field dims[4];
	uint32_t n_sets;
	struct {
		enum sn_field field;
		uint32_t low, high;
	} sets[4];
};

static const struct reading all = {
	4,
	{SINTER__PROGRAM__V1__FIELD__SRC, SINTER__PROGRAM__V1__FIELD__DST, SINTER__PROGRAM__V1__FIELD__SPORT,
	 SINTER__PROGRAM__V1__FIELD__DPORT},
	4,
	{{SN_PROTO, SN_TCP, SN_TCP}, {SN_DSCP, 8, 40}, {SN_TCP_FLAGS, 2, 20}, {SN_FRAG, 0, 0}}};

static void make_atoms(struct sn_atoms *atoms, const Sinter__Program__V1__Table *table)
{
	uint16_t dscp[64] = {0}, flags[256] = {0};
	uint32_t n_dscp = 1, n_flags = 1;

	assert_int_equal(sn_atoms_refine(dscp, 64, &n_dscp, table, SN_DSCP), 0);
	assert_int_equal(sn_atoms_refine(flags, 256, &n_flags, table, SN_TCP_FLAGS), 0);
	for (uint32_t i = 0; i < 64; i++)
		atoms->dscp[i] = (uint8_t)dscp[i];
	for (uint32_t i = 0; i < 256; i++)
		atoms->tcp_flags[i] = (uint8_t)flags[i];
}

/* n random boxes over what is read, each of another class; the last one holds all. */
static void make_classifier(struct subject *s, const struct reading *r, uint32_t n)
{
	static uint32_t bounds[BOXES][4][2], classes[BOXES];
	static uint64_t required[BOXES];
	Sinter__Program__V1__Table table = SINTER__PROGRAM__V1__TABLE__INIT;
	Sinter__Program__V1__BitSet sets[4], *list[4];
	uint32_t ranges[4][2], flat[BOXES * 8];
	struct sn_error err = {0};

	for (uint32_t i = 0; i < r->n_sets; i++) {
		sinter__program__v1__bit_set__init(&sets[i]);
		sets[i].field = (Sinter__Program__V1__Field)r->sets[i].field;
		ranges[i][0] = r->sets[i].low;
		ranges[i][1] = r->sets[i].high;
		sets[i].ranges = ranges[i];
		sets[i].n_ranges = 2;
		list[i] = &sets[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		bool last = i == n - 1;

		classes[i] = i;
		required[i] = r->n_sets > 0 && !last ? dice(1u << r->n_sets) : 0;
		for (uint32_t d = 0; d < r->n_dims; d++) {
			uint32_t max = sn_field_max((enum sn_field)r->dims[d]), part = max / 64;
			uint32_t low = (1 + dice(55)) * part, wide = dice(8) * part;

			bounds[i][d][0] = last || (r->n_dims > 1 && dice(3) == 0) ? 0 : low;
			bounds[i][d][1] = last || bounds[i][d][0] == 0 ? max : low + wide;
			flat[(i * r->n_dims + d) * 2] = bounds[i][d][0];
			flat[(i * r->n_dims + d) * 2 + 1] = bounds[i][d][1];
		}
	}
	table.dims = (Sinter__Program__V1__Field *)r->dims;
	table.n_dims = r->n_dims;
	table.bits = list;
	table.n_bits = r->n_sets;
	table.bounds = flat;
	table.n_bounds = (size_t)n * r->n_dims * 2;
	table.required = required;
	table.n_required = r->n_sets > 0 ? n : 0;
	table.classes = classes;
	table.n_classes = n;
	if (sn_classifier_init(&s->c, &table, n, NULL, false, NULL, "table", &err))
		fail_msg("%s", err.text);
	make_atoms(&s->atoms, &table);
}

static bool is_use(const struct sn_classifier *c)
{
	struct sn_memo_source source = sn_memo_source_of(c);

	return sn_memo_is_use(&source);
}

static struct subject *make_subject(const struct reading *r)
{
	struct subject *s = calloc(1, sizeof(*s));
	struct sn_memo_source source;

	make_classifier(s, r, BOXES);
	source = sn_memo_source_of(&s->c);
	assert_true(sn_memo_is_use(&source));
	s->memo = sn_memo_create(&source, &s->atoms);
	assert_non_null(s->memo);
	for (uint32_t i = 0; i < BULK; i++)
		s->at[i] = s->frames[i];
	return s;
}

static void free_subject(struct subject *s)
{
	sn_memo_free(s->memo);
	sn_classifier_free(&s->c);
	free(s);
}

static void look_up(struct subject *s, uint32_t n)
{
	uint32_t remembered[BULK], found[BULK];

	sn_memo_lookup(s->memo, s->at, remembered, n);
	sn_classifier_lookup_plain(&s->c, s->at, found, n);
	assert_memory_equal(remembered, found, n * sizeof(found[0]));
}

/* A frame of flow `flow`: what differs lies in all that a table may read. */
static void write_flow(uint8_t *frame, uint32_t flow)
{
	uint32_t mixed = flow * 2654435761u;
	const struct packet p = {.proto = flow & 1 ? SN_TCP : SN_UDP,
				 .src = mixed,
				 .dst = (flow >> 3) * 2246822519u,
				 .sport = (uint16_t)(mixed >> 7),
				 .dport = (uint16_t)(mixed >> 11),
				 .dscp = mixed >> 9 & 63,
				 .flags = mixed >> 15 & 63,
				 .payload_len = 12,
				 .payload = (const uint8_t[12]){0, 0, 0, 0, 0, (uint8_t)mixed}};

	write_frame(&p, frame);
}

/* n packets of flows first, first + 1, …, modulo `flows`. */
static void send_flows(struct subject *s, uint32_t first, uint32_t flows, uint32_t n)
{
	for (uint32_t sent = 0; sent < n; sent += BULK) {
		for (uint32_t i = 0; i < BULK; i++)
			write_flow(s->frames[i], first + (sent + i) % flows);
		look_up(s, BULK);
	}
}

static void what_is_remembered_is_what_the_classifier_finds(void **state)
{
	struct subject *s = make_subject(&all);

	(void)state;
	for (uint32_t round = 0; round < 40000; round++) {
		uint32_t n = 1 + dice(BULK);

		/* Headers that differ in one field, and all of them often. */
		for (uint32_t i = 0; i < n; i++) {
			struct packet p = {.proto = dice(2) ? SN_TCP : SN_UDP,
					   .src = dice(4) << 30 | dice(4),
					   .dst = dice(4) << 30,
					   .sport = (uint16_t)(dice(4) << 14),
					   .dport = (uint16_t)(dice(4) << 14),
					   .dscp = (uint8_t)(dice(4) << 3),
					   .flags = (uint8_t)dice(24),
					   .payload_len = 12,
					   .payload = (const uint8_t[12]){0, 0, 0, 0, 0, (uint8_t)dice(24)}};

			write_frame(&p, s->frames[i]);
		}
		look_up(s, n);
	}
	assert_true(sn_memo_is_on(s->memo));
	free_subject(s);
}

static void a_memo_pauses_while_headers_do_not_recur(void **state)
{
	struct subject *s = make_subject(&all);

	(void)state;
	send_flows(s, 0, UINT32_MAX, 4 * WINDOW);
	assert_false(sn_memo_is_on(s->memo));
	/* There are trials; as they recur then, it is asked again. */
	send_flows(s, 0, 60000, 80 * WINDOW);
	assert_true(sn_memo_is_on(s->memo));
	send_flows(s, 1 << 20, 60000, 8 * WINDOW); /* other flows take the room of those that are gone */
	assert_true(sn_memo_is_on(s->memo));
	free_subject(s);
}

static void a_memo_grows_where_more_headers_recur_than_it_has_room_for(void **state)
{
	struct subject *s = make_subject(&all);
	size_t size = sn_memo_size(s->memo);

	(void)state;
	send_flows(s, 0, 300000, 40 * WINDOW);
	assert_true(sn_memo_is_on(s->memo));
	assert_in_range(sn_memo_size(s->memo), 3 * size, 9 * size);
	/* No longer worth its memory. */
	send_flows(s, 1 << 20, UINT32_MAX, 40 * WINDOW);
	assert_false(sn_memo_is_on(s->memo));
	assert_int_equal(sn_memo_size(s->memo), size);
	free_subject(s);
}

static void what_a_table_does_not_read_tells_no_headers_apart(void **state)
{
	static const struct reading by_destination = {
		1, {SINTER__PROGRAM__V1__FIELD__DPORT}, 1, {{SN_PROTO, SN_TCP, SN_TCP}}};
	struct subject *s = make_subject(&by_destination);

	(void)state;
	for (uint32_t sent = 0; sent < 6 * WINDOW; sent += BULK) {
		for (uint32_t i = 0; i < BULK; i++) {
			write_flow(s->frames[i], (sent + i) % 1000);
			sn_store32(s->frames[i] + SN_PLAIN_SRC, sent + i);
			sn_store32(s->frames[i] + SN_PLAIN_DST, sent + i);
			s->frames[i][SN_PLAIN_TCP_FLAGS] = (uint8_t)dice(256);
		}
		look_up(s, BULK);
	}
	assert_true(sn_memo_is_on(s->memo));
	free_subject(s);
}

/* Whoever asks for sources alone has as many headers as there are sources, whatever else they come with. */
static void a_memo_grows_by_the_headers_that_a_table_tells_apart(void **state)
{
	static const struct reading by_source = {1, {SINTER__PROGRAM__V1__FIELD__SRC}, 1, {{SN_FRAG, 0, 0}}};
	struct subject *s = make_subject(&by_source);
	size_t size = sn_memo_size(s->memo);

	(void)state;
	for (uint32_t sent = 0; sent < 40 * WINDOW; sent += BULK) {
		for (uint32_t i = 0; i < BULK; i++) {
			write_flow(s->frames[i], (sent + i) % 300000);
			sn_store32(s->frames[i] + SN_PLAIN_DST, sent + i);
			sn_store32(s->frames[i] + SN_PLAIN_SPORT, sent + i);
		}
		look_up(s, BULK);
	}
	assert_true(sn_memo_is_on(s->memo));
	assert_in_range(sn_memo_size(s->memo), 3 * size, 9 * size);
	free_subject(s);
}

static void there_is_a_memo_where_it_may_be_faster_and_keys_fit(void **state)
{
	static const struct reading ttl = {
		2, {SINTER__PROGRAM__V1__FIELD__SRC, SINTER__PROGRAM__V1__FIELD__DST}, 1, {{SN_TTL, 2, 255}}};
	struct subject s;

	(void)state;
	make_classifier(&s, &all, 8);
	assert_false(is_use(&s.c));
	sn_classifier_free(&s.c);
	make_classifier(&s, &ttl, BOXES);
	assert_false(is_use(&s.c));
	sn_classifier_free(&s.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_remembered_is_what_the_classifier_finds),
		cmocka_unit_test(a_memo_pauses_while_headers_do_not_recur),
		cmocka_unit_test(a_memo_grows_where_more_headers_recur_than_it_has_room_for),
		cmocka_unit_test(what_a_table_does_not_read_tells_no_headers_apart),
		cmocka_unit_test(a_memo_grows_by_the_headers_that_a_table_tells_apart),
		cmocka_unit_test(there_is_a_memo_where_it_may_be_faster_and_keys_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
