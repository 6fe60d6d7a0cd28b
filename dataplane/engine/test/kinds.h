/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_KINDS_H
#define SN_TEST_KINDS_H

/*
 * What every kind of state must do: its entries are made, found, used, end, give way, and go from worker to
 * worker, from engine to engine and from program to program. A kind gives a kind_case, and puts KIND_TESTS
 * into its main().
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "program.pb-c.h"
#include "sn_arena.h"
#include "sn_state.h"

struct kind_case {
	struct sn_partitioning partitioning;
	/* A program whose table 0, of some hundred entries at least, is of the kind; with no other table. */
	Sinter__Program__V1__Program *(*program)(struct sn_arena *arena);
	uint64_t idle_ns; /* entries end when they were unused for longer */
	bool evicts;	  /* in a full table of entries unused for a second one ends for each new one */
	/* The shard of entry number i, of any number. */
	uint32_t (*shard)(const struct sn_state *state, uint32_t i);
	/*
	 * The entry of a number, of the shard's worker; made if there is none and make is set. The packet
	 * path: a use is as much as a packet does that finds it.
	 */
	struct sn_entry *(*get)(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
				uint64_t now);
	void (*use)(const struct sn_state *state, struct sn_entry *e, uint64_t now);
	/* Whether an entry knows what another one does, which is perhaps of another engine with a clock of
	 * its own; at the same time. */
	bool (*alike)(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now);
};

/* For kinds whose sessions are those of a side's flows: a use, and alike. */
void kind_flow_use(const struct sn_state *state, struct sn_entry *e, uint64_t now);
bool kind_flows_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now);

/* For kinds whose sessions have addresses of both sides: alike, whatever their times. */
bool kind_sessions_alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now);

void entries_are_made_once_and_found(void **state);
void entries_end_when_they_were_not_used(void **state);
void a_used_entry_lives_on(void **state);
void an_entry_that_is_undone_was_never_there(void **state);
void a_full_table_refuses_or_evicts_and_fills_again(void **state);
void a_unit_goes_to_another_worker_with_its_entries(void **state);
void entries_go_to_another_engine_as_they_are(void **state);
void what_is_no_entry_is_refused_and_harms_nobody(void **state);
void entries_outlive_a_program_whose_table_they_fit(void **state);
void entries_end_with_their_table(void **state);
void statistics_tell_of_every_entry(void **state);

#define KIND_TEST(kind_case, test)                                              \
	{                                                                       \
#test " (" #kind_case ")", test, NULL, NULL, (void *)&kind_case \
	}

#define KIND_TESTS(k)                                                                                       \
	KIND_TEST(k, entries_are_made_once_and_found), KIND_TEST(k, entries_end_when_they_were_not_used),   \
		KIND_TEST(k, a_used_entry_lives_on), KIND_TEST(k, an_entry_that_is_undone_was_never_there), \
		KIND_TEST(k, a_full_table_refuses_or_evicts_and_fills_again),                               \
		KIND_TEST(k, a_unit_goes_to_another_worker_with_its_entries),                               \
		KIND_TEST(k, entries_go_to_another_engine_as_they_are),                                     \
		KIND_TEST(k, what_is_no_entry_is_refused_and_harms_nobody),                                 \
		KIND_TEST(k, entries_outlive_a_program_whose_table_they_fit),                               \
		KIND_TEST(k, entries_end_with_their_table), KIND_TEST(k, statistics_tell_of_every_entry)

#endif /* SN_TEST_KINDS_H */
