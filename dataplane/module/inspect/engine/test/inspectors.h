/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_INSPECTORS_H
#define SN_TEST_INSPECTORS_H

/* Programs with inspectors, for the suites that test them. */

#include "fixture.h"

#include "sn_inspect.h"
#include "sn_state.h"

#define MATCHED SN_REASON_CHAIN /* the program's only one */

typedef Sinter__Program__V1__Inspector inspector_msg;
typedef Sinter__Program__V1__InspectRule rule_msg;
typedef Sinter__Program__V1__InspectPart part_msg;

/* The sample NAPT gets an inspector without rules, by which nothing is inspected yet. */
void with_inspector(struct fixture *f);
inspector_msg *inspector_msg_of(const struct fixture *f);

/* A rule of one part that counts; what it has more, and what it does. */
rule_msg *add_rule(struct fixture *f, const char *name, const char *expression);
part_msg *add_part(struct fixture *f, rule_msg *rule, const char *expression);
void drops(rule_msg *r);
void marks(rule_msg *r, uint32_t dscp);

/* All legs of the segment inspect first. */
void inspect_in(struct fixture *f, uint32_t segment);

struct counted {
	uint64_t packets, bytes, rules[8];
};

struct counted counts_of(const struct fixture *f);

#endif /* SN_TEST_INSPECTORS_H */
