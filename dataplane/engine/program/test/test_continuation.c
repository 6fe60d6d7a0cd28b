/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <errno.h>
#include <sys/random.h>

#include "sn_continuation.h"
#include "sn_program.h"
#include "sn_tag.h"

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__Leg leg_msg;

#define OUT  2 /* the wires */
#define BACK 3

static struct sn_arena arena;
static const uint16_t *random_numbers; /* to be drawn next */
static uint32_t n_random;
static bool no_random;

/* In the place of libc's. */
ssize_t getrandom(void *to, size_t len, unsigned int flags)
{
	static uint16_t number;

	(void)flags;
	if (no_random) {
		errno = ENOSYS;
		return -1;
	}
	assert_int_equal(len, sizeof(number));
	number = n_random > 0 ? *random_numbers++ : (uint16_t)(number + 1);
	n_random -= n_random > 0;
	memcpy(to, &number, len);
	return (ssize_t)len;
}

static int open_arena(void **state)
{
	(void)state;
	sn_arena_init(&arena);
	return 0;
}

static int close_arena(void **state)
{
	(void)state;
	sn_arena_free(&arena);
	return 0;
}

static leg_msg *leg_of(program_msg *m, uint32_t segment)
{
	return m->segments[segment]->classes[0]->legs[0];
}

/* Packets of both interfaces make a stop. */
static program_msg *stops(void)
{
	program_msg *m = sn_sample_wire(&arena);

	sn_sample_stop(&arena, m, leg_of(m, 0));
	sn_sample_stop(&arena, m, leg_of(m, 1));
	return m;
}

static void note_hop(program_msg *m, uint32_t segment, uint32_t hop)
{
	sn_sample_op(&arena, leg_of(m, segment), SINTER__PROGRAM__V1__OP__OP_NEXT_HOP)->next_hop = hop;
}

static struct sn_program *create(const program_msg *m, const struct sn_program *like)
{
	struct sn_error err = {0};
	struct sn_program *p = sn_program_create(m, like, &err);

	if (!p)
		fail_msg("%s", err.text);
	return p;
}

/* ---- wrong ones ---- */

/* A fault, and the message that names it. */
struct wrong {
	void (*spoil)(program_msg *m);
	const char *says;
};

static void out_index(program_msg *m)
{
	leg_of(m, 0)->stop->out = 4;
}

static void back_index(program_msg *m)
{
	leg_of(m, 0)->stop->back = 4;
}

static void segment_index(program_msg *m)
{
	leg_of(m, 0)->stop->segment = 5;
}

static void out_no_wire(program_msg *m)
{
	leg_of(m, 0)->stop->out = 0;
}

static void back_no_wire(program_msg *m)
{
	leg_of(m, 0)->stop->back = 1;
}

static void one_side(program_msg *m)
{
	leg_of(m, 0)->stop->back = OUT;
}

static void writes_proto(program_msg *m)
{
	leg_of(m, 0)->stop->writes = 1u << SN_SRC | 1u << SN_PROTO;
}

static void writes_beyond(program_msg *m)
{
	leg_of(m, 0)->stop->writes = 1u << 16;
}

static void output(program_msg *m)
{
	leg_of(m, 3)->output = OUT; /* behind the stop of segment 0 */
}

static void gateway(program_msg *m)
{
	m->interfaces[OUT]->gateway = SN_SAMPLE_OUT + 1;
}

static void neighbors(program_msg *m)
{
	m->interfaces[OUT]->n_neighbors = 1;
}

static void proxy(program_msg *m)
{
	static uint32_t address = SN_SAMPLE_OUT + 1;

	m->interfaces[BACK]->n_proxy = 1;
	m->interfaces[BACK]->proxy = &address;
}

static void refused(program_msg *m)
{
	static Sinter__Program__V1__RefusedSources r = SINTER__PROGRAM__V1__REFUSED_SOURCES__INIT;
	static Sinter__Program__V1__RefusedSources *list[] = {&r};

	r.reason = SINTER__PROGRAM__V1__DROP_REASON__DROP_OWN_SOURCE;
	m->interfaces[BACK]->n_refused = 1;
	m->interfaces[BACK]->refused = list;
}

static void vlans(program_msg *m)
{
	static uint32_t vlan = 5;

	m->interfaces[BACK]->n_vlans = 1;
	m->interfaces[BACK]->vlans = &vlan;
}

static void level_cycle(program_msg *m)
{
	leg_of(m, 0)->stop->segment = 0;
}

static void drop_index(program_msg *m)
{
	leg_of(m, 0)->stop->down_case = SINTER__PROGRAM__V1__STOP__DOWN_DROP;
	leg_of(m, 0)->stop->drop = (uint32_t)m->n_reasons;
}

static void bypass_index(program_msg *m)
{
	leg_of(m, 0)->stop->down_case = SINTER__PROGRAM__V1__STOP__DOWN_BYPASS;
	leg_of(m, 0)->stop->bypass = (uint32_t)m->n_counters;
}

static void bypass_writes(program_msg *m)
{
	static char *counter = (char *)"bypassed";

	m->n_counters = 1;
	m->counters = &counter;
	bypass_index(m);
	leg_of(m, 0)->stop->bypass = 0;
	leg_of(m, 0)->stop->writes = 1u << SN_DSCP;
}

/* Frames that leave by a third wire come back by the one by which probes do. */
static void two_ways(program_msg *m)
{
	static char *reason = (char *)"down";
	Sinter__Program__V1__Interface **five = sn_arena_alloc(&arena, 5 * sizeof(*five));

	memcpy(five, m->interfaces, 4 * sizeof(*five));
	five[4] = sn_arena_alloc(&arena, sizeof(**five));
	*five[4] = *five[BACK];
	five[4]->name = (char *)"third";
	m->interfaces = five;
	m->n_interfaces = 5;
	m->n_reasons = 1;
	m->reasons = &reason;
	drop_index(m);
	leg_of(m, 0)->stop->drop = 0;
	leg_of(m, 1)->stop->out = 4;
}

/* 2 stops and 4 interfaces. */
static void products(program_msg *m)
{
	for (uint32_t hop = 1; hop <= SN_CONTINUATIONS_MAX / 8; hop++) {
		uint32_t segment = (hop - 1) / 256; /* a leg has so many operations at most */
		leg_msg *leg = m->segments[0]->classes[0]->legs[0];

		if (segment == m->segments[0]->classes[0]->n_legs) {
			leg_msg **legs = sn_arena_alloc(&arena, (segment + 1) * sizeof(*legs));

			memcpy(legs, m->segments[0]->classes[0]->legs, segment * sizeof(*legs));
			legs[segment] = sn_arena_alloc(&arena, sizeof(**legs));
			*legs[segment] = *leg;
			legs[segment]->n_ops = 0;
			m->segments[0]->classes[0]->legs = legs;
			m->segments[0]->classes[0]->n_legs++;
		}
		leg = m->segments[0]->classes[0]->legs[segment];
		sn_sample_op(&arena, leg, SINTER__PROGRAM__V1__OP__OP_NEXT_HOP)->next_hop = hop;
	}
}

static const struct wrong wrongs[] = {
	{out_index, "segments[0] (from-a): classes[0].legs[0]: stop.out is 4, but there are only 4"},
	{back_index, "stop.back is 4, but there are only 4"},
	{segment_index, "stop.segment is 5, but there are only 5"},
	{out_no_wire, "stop.out is 0 (a), want a wire"},
	{back_no_wire, "stop.back is 1 (b), want a wire"},
	{one_side, "stop.back is stop.out, want the other side"},
	{writes_proto, "stop.writes is 0xa, want fields that can be written"},
	{writes_beyond, "stop.writes is 0x10000, want fields that can be written"},
	{drop_index, "stop.drop is 0, but there are only 0"},
	{bypass_index, "stop.bypass is 0, but there are only 0"},
	{bypass_writes, "stop.bypass with stop.writes 0x10, want 0: what is written would be missing"},
	{two_ways, "stop.back is 3 (back), by which frames of another way come back, want a wire of its own"},
	{output, "output is 2 (out), a wire: packets leave by it for its stop alone"},
	{gateway, "interfaces[2] (out): is a wire, and has a gateway: want none"},
	{neighbors, "is a wire, and has neighbors: want none"},
	{proxy, "is a wire, and has proxy: want none"},
	{refused, "is a wire, and has refused: want none"},
	{vlans, "is a wire, and has vlans: want none"},
	{level_cycle, "segments[0] (from-a): leads back to itself by itself, and the TTL is not lowered"},
	{products,
	 "program: there are 2 stops, 16385 next hops and 4 interfaces, want at most 131072 of their "
	 "products"},
};

static void a_wrong_stop_is_refused_with_what_is_wrong_and_what_is_right(void **state)
{
	(void)state;
	sn_program_free(create(stops(), NULL));
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		program_msg *m = stops();
		struct sn_error err = {0};

		wrongs[i].spoil(m);
		if (sn_program_create(m, NULL, &err))
			fail_msg("accepted, want: %s", wrongs[i].says);
		if (!strstr(err.text, wrongs[i].says))
			fail_msg("message is \"%s\", want \"%s\" in it", err.text, wrongs[i].says);
	}
}

static void all_fields_that_operations_write_may_be_written_by_a_stop(void **state)
{
	program_msg *m = stops();
	struct sn_program *p;

	(void)state;
	leg_of(m, 0)->stop->writes = 0x1b7;
	p = create(m, NULL);
	assert_int_equal(p->stops[0].writes, 0x1b7);
	assert_int_equal(p->ops[0].writes, 0x1b7);
	sn_program_free(p);
}

static void a_wire_has_all_vlans(void **state)
{
	struct sn_program *p = create(stops(), NULL);

	(void)state;
	for (uint16_t vlan = 0; vlan <= SN_VLAN_ABSENT; vlan++)
		assert_int_equal(sn_vlans_have(p->interfaces[OUT].vlans, vlan), vlan != 0);
	sn_program_free(p);
}

/* ---- numbers ---- */

/* Whether a frame that comes by an interface with such a tag goes on; where to. */
static bool found(const struct sn_program *p, uint32_t iface, uint16_t nonce, uint32_t number,
		  struct sn_continuation *to)
{
	uint8_t mac[6];

	sn_tag_write(mac, (struct sn_tag){.nonce = nonce, .continuation = number});
	return sn_continuation_find(p, iface, mac, to);
}

static void equal_stops_are_one(void **state)
{
	program_msg *m = stops();
	struct sn_program *p;

	(void)state;
	*leg_of(m, 1)->stop = *leg_of(m, 0)->stop;
	p = create(m, NULL);
	assert_int_equal(p->n_stops, 1);
	sn_program_free(p);
	leg_of(m, 1)->stop->writes = 1u << SN_DSCP;
	p = create(m, NULL);
	assert_int_equal(p->n_stops, 2);
	sn_program_free(p);
}

static void next_hops_are_sorted_and_each_is_there_once(void **state)
{
	static const uint32_t notes[] = {7, 9, 7, 0, 3, 9}, want[] = {0, 3, 7, 9};
	program_msg *m = stops();
	struct sn_program *p;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		note_hop(m, i % 2, notes[i]);
	p = create(m, NULL);
	assert_int_equal(p->n_hops, 4);
	assert_memory_equal(p->hops, want, sizeof(want));
	sn_program_free(p);
}

static void a_next_hop_that_the_program_does_not_note_is_none(void **state)
{
	program_msg *m = stops();
	struct sn_program *p;

	(void)state;
	note_hop(m, 0, 7);
	note_hop(m, 1, 9);
	p = create(m, NULL);
	for (uint32_t hop = 1; hop < 12; hop++) {
		bool is_noted = hop == 7 || hop == 9;

		assert_int_equal(sn_continuation_of(p, 1, hop, 2) == sn_continuation_of(p, 1, 0, 2),
				 !is_noted);
	}
	sn_program_free(p);
}

static void a_program_without_stops_has_no_continuations(void **state)
{
	program_msg *m = sn_sample_wire(&arena);
	struct sn_continuation to;
	struct sn_program *p;

	(void)state;
	note_hop(m, 0, 7);
	p = create(m, NULL);
	assert_int_equal(p->n_hops, 0);
	assert_null(p->hops);
	assert_false(found(p, 0, p->nonce, 0, &to));
	sn_program_free(p);
}

static void each_continuation_has_a_number_of_its_own(void **state)
{
	bool seen[2 * 3 * 4] = {false};
	program_msg *m = stops();
	struct sn_program *p;

	(void)state;
	note_hop(m, 0, SN_SAMPLE_HOST);
	note_hop(m, 0, SN_SAMPLE_GATEWAY);
	p = create(m, NULL);
	assert_int_equal(p->n_stops * p->n_hops * p->n_interfaces, 24);
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t stop = i / 12, hop = p->hops[i / 4 % 3], entry = i % 4;
		uint32_t number = sn_continuation_of(p, stop, hop, entry);
		struct sn_continuation to;

		assert_true(number < 24 && !seen[number]);
		seen[number] = true;
		assert_true(found(p, BACK, p->nonce, number, &to));
		assert_int_equal(to.segment, p->stops[stop].segment);
		assert_int_equal(to.next_hop, hop);
		assert_int_equal(to.entry, entry);
	}
	assert_int_not_equal(p->stops[0].segment, p->stops[1].segment);
	sn_program_free(p);
}

static void other_frames_have_no_continuation(void **state)
{
	struct sn_program *p = create(stops(), NULL);
	uint8_t mac[6] = {0x06, (uint8_t)(p->nonce >> 8), (uint8_t)p->nonce, 0, 0, 0};
	struct sn_continuation to;

	(void)state;
	assert_true(found(p, BACK, p->nonce, 7, &to));
	assert_false(found(p, BACK, p->nonce, 8, &to)); /* 2 stops, no next hop, 4 interfaces */
	assert_false(found(p, BACK, p->nonce, SN_CONTINUATIONS_MAX - 1, &to));
	assert_false(found(p, BACK, p->nonce ^ 1, 7, &to));
	assert_false(found(p, OUT, p->nonce, 7, &to));
	assert_false(found(p, 0, p->nonce, 7, &to));
	assert_false(sn_continuation_find(p, BACK, mac, &to));
	mac[0] = 0x02;
	assert_true(sn_continuation_find(p, BACK, mac, &to));
	sn_program_free(p);
}

/* ---- programs one after the other ---- */

/* Packets of both interfaces make the same stop, from either side. */
static program_msg *sides(void)
{
	program_msg *m = stops();

	leg_of(m, 1)->stop->out = BACK;
	leg_of(m, 1)->stop->back = OUT;
	return m;
}

static void numbers_of_the_program_before_are_those_of_the_same_stops_and_interfaces(void **state)
{
	static const uint32_t swapped[] = {1, 0, 2, 3};
	program_msg *m = sides(), *other = sides();
	struct sn_program *p, *next;
	char *name = other->interfaces[0]->name;

	(void)state;
	note_hop(m, 0, SN_SAMPLE_HOST);
	note_hop(m, 0, SN_SAMPLE_GATEWAY);
	note_hop(other, 1, 7);
	other->interfaces[0]->name = other->interfaces[1]->name;
	other->interfaces[1]->name = name;
	*leg_of(other, 0)->stop = *leg_of(sides(), 1)->stop;
	*leg_of(other, 1)->stop = *leg_of(sides(), 0)->stop;
	p = create(m, NULL);
	next = create(other, p);
	assert_int_equal(p->n_stops * p->n_hops * p->n_interfaces, 24);
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t back = i / 12 ? OUT : BACK;
		struct sn_continuation to;

		assert_true(found(next, back, p->nonce, i, &to));
		assert_int_equal(to.segment, next->stops[1 - i / 12].segment);
		assert_int_equal(to.next_hop, p->hops[i / 4 % 3]);
		assert_int_equal(to.entry, swapped[i % 4]);
		assert_false(found(next, OUT + BACK - back, p->nonce, i, &to));
	}
	assert_false(found(next, BACK, p->nonce, 24, &(struct sn_continuation){0}));
	assert_false(found(next, OUT, p->nonce, 24, &(struct sn_continuation){0}));
	sn_program_free(p); /* the next one needs nothing of it */
	assert_true(found(next, BACK, next->before[0].nonce, 0, &(struct sn_continuation){0}));
	sn_program_free(next);
}

static void what_the_program_has_no_more_is_nobodys(void **state)
{
	program_msg *m = sn_sample_wire(&arena);
	struct sn_program *p = create(sides(), NULL), *next, *third;
	struct sn_continuation to;

	(void)state;
	sn_sample_stop(&arena, m, leg_of(m, 0)); /* from one side alone */
	m->interfaces[0]->name = "renamed";
	next = create(m, p);
	for (uint32_t entry = 0; entry < 4; entry++) {
		assert_int_equal(found(next, BACK, p->nonce, entry, &to), entry != 0);
		assert_false(found(next, OUT, p->nonce, 4 + entry, &to));
	}
	third = create(sides(), next); /* which has both again: the one between has forgotten them */
	for (uint32_t entry = 0; entry < 4; entry++) {
		assert_int_equal(found(third, BACK, p->nonce, entry, &to), entry != 0);
		assert_false(found(third, OUT, p->nonce, 4 + entry, &to));
	}
	sn_program_free(p);
	sn_program_free(next);
	sn_program_free(third);
}

static void the_last_programs_numbers_are_known(void **state)
{
	struct sn_program *all[SN_BEFORE_MAX + 3] = {NULL};
	struct sn_continuation to;

	(void)state;
	for (int i = 0; i < SN_BEFORE_MAX + 3; i++) {
		all[i] = create(sides(), i ? all[i - 1] : NULL);
		for (int j = 0; j <= i; j++)
			assert_int_equal(found(all[i], BACK, all[j]->nonce, 0, &to), i - j <= SN_BEFORE_MAX);
	}
	for (int i = 0; i < SN_BEFORE_MAX + 3; i++)
		sn_program_free(all[i]);
}

static void a_program_without_stops_forgets_those_before(void **state)
{
	struct sn_program *p = create(sides(), NULL);
	struct sn_program *none = create(sn_sample_wire(&arena), p), *next = create(sides(), none);
	struct sn_continuation to;

	(void)state;
	assert_false(found(none, BACK, p->nonce, 0, &to));
	assert_false(found(next, BACK, p->nonce, 0, &to));
	sn_program_free(p);
	sn_program_free(none);
	sn_program_free(next);
}

static void a_nonce_is_drawn_again_if_it_is_0_or_that_of_a_program_before(void **state)
{
	static const uint16_t draws[] = {0, 0x1234, 0x1234, 0, 0x4321, 0x4321, 0x1234, 0x5678};
	program_msg *m = stops();
	struct sn_program *p, *next, *third;

	(void)state;
	random_numbers = draws;
	n_random = 8;
	p = create(m, NULL);
	assert_int_equal(p->nonce, 0x1234);
	next = create(m, p);
	assert_int_equal(next->nonce, 0x4321);
	third = create(m, next);
	assert_int_equal(third->nonce, 0x5678);
	assert_int_equal(n_random, 0);
	sn_program_free(p);
	sn_program_free(next);
	sn_program_free(third);
}

static void without_a_nonce_there_is_no_program(void **state)
{
	struct sn_error err = {0};

	(void)state;
	no_random = true;
	assert_null(sn_program_create(stops(), NULL, &err));
	no_random = false;
	assert_string_equal(err.text, "program: no random number: Function not implemented");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_arena, close_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wrong_stop_is_refused_with_what_is_wrong_and_what_is_right),
		TEST(all_fields_that_operations_write_may_be_written_by_a_stop),
		TEST(a_wire_has_all_vlans),
		TEST(equal_stops_are_one),
		TEST(next_hops_are_sorted_and_each_is_there_once),
		TEST(a_next_hop_that_the_program_does_not_note_is_none),
		TEST(a_program_without_stops_has_no_continuations),
		TEST(each_continuation_has_a_number_of_its_own),
		TEST(other_frames_have_no_continuation),
		TEST(numbers_of_the_program_before_are_those_of_the_same_stops_and_interfaces),
		TEST(what_the_program_has_no_more_is_nobodys),
		TEST(the_last_programs_numbers_are_known),
		TEST(a_program_without_stops_forgets_those_before),
		TEST(a_nonce_is_drawn_again_if_it_is_0_or_that_of_a_program_before),
		TEST(without_a_nonce_there_is_no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
