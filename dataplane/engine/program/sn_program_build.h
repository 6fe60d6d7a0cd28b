/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PROGRAM_BUILD_H
#define SN_PROGRAM_BUILD_H

/* How a program is built from its message; for the files that do. */

#include "sn_program.h"

#define SN_BUILD_AT_LEN 160

/* A program that is being built, and the place for an error about it. */
struct sn_builder {
	struct sn_program *p;
	const Sinter__Program__V1__Program *msg;
	const struct sn_segment **before; /* those of the program before, by name */
	uint32_t n_before;
	const struct sn_program *like; /* the program before, or NULL */
	const struct sn_fibs *fibs;    /* further ones that it may name, or NULL */
	struct sn_error *err;
	char at[SN_BUILD_AT_LEN]; /* the part of the message at work */
};

/* Say what is wrong with the part at work; -EINVAL. */
__attribute__((format(printf, 2, 3))) int sn_build_fail(struct sn_builder *b, const char *fmt, ...);

/* Name the part at work. */
__attribute__((format(printf, 2, 3))) void sn_build_at(struct sn_builder *b, const char *fmt, ...);

int sn_build_index(struct sn_builder *b, const char *field, uint32_t i, size_t n);

/* A table of a kind; wanted tells whose it should be. */
int sn_build_table_of(struct sn_builder *b, const char *field, uint32_t table,
		      const struct sn_state_kind *kind, const char *wanted);

/* A table that has runs. */
int sn_build_run_table(struct sn_builder *b, const char *field, uint32_t table);

/* -ENOMEM. */
int sn_build_no_memory(struct sn_builder *b);

/* calloc() that takes 0. */
void *sn_build_array(size_t n, size_t size);

/* Keeps operands of an operation's own, from malloc(), as long as the program; op->value is their index. */
int sn_build_operands(struct sn_builder *b, struct sn_op *op, void *operands);

/* A copy of a name that is UTF-8. */
int sn_build_name(struct sn_builder *b, char **to, const char *from);

/* The interfaces. */
int sn_build_interfaces(struct sn_builder *b);
void sn_program_free_interfaces(struct sn_program *p);

/* Limits of one subscriber; then whose the sessions of a run are: 1 + an index, or 0. */
int sn_build_subscribers(struct sn_builder *b);
int sn_build_run_subscribers(struct sn_builder *b, struct sn_run *to, uint32_t subscribers);
/* The subscribers of a table whose entries count for them, and have no ports. */
int sn_build_table_subscribers(struct sn_builder *b, struct sn_table_config *to, uint32_t subscribers);
void sn_program_free_subscribers(struct sn_program *p);

/* Gives the program's references to FIBs back. */
void sn_program_free_fibs(struct sn_program *p);

/* References to the FIBs that the program names. */
int sn_build_fibs(struct sn_builder *b);

/* That of a segment in *fib; NULL: it has none. */
int sn_build_segment_fib(struct sn_builder *b, uint32_t s, const struct sn_fib **fib);

/* The notes about flows. */
int sn_build_observation(struct sn_builder *b);

/* The classes of segment s, with their legs and operations, into arrays that are large enough. */
int sn_build_classes(struct sn_builder *b, uint32_t s);

/* Refuses an interface that is no wire, in a field. */
int sn_build_wire(struct sn_builder *b, const char *field, uint32_t iface);

/* A stop, checked; *index: its place among the program's, where each is but once. */
int sn_build_stop(struct sn_builder *b, const Sinter__Program__V1__Stop *from, uint32_t *index);

/* Functions that take each other's packets: known to the program once. */
int sn_build_replicas(struct sn_builder *b, const struct sn_replicas *group);

/* An operation may note this next hop. */
int sn_build_hop(struct sn_builder *b, uint32_t hop);

/* Once all segments are built: stops and next hops are known. */
int sn_build_continuations(struct sn_builder *b);

/* Once all segments are built: the facts about ways over several. */
void sn_build_follows(struct sn_program *p);

#endif /* SN_PROGRAM_BUILD_H */
