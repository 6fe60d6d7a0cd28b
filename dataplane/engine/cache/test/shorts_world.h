/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_SHORTS_WORLD_H
#define SN_TEST_SHORTS_WORLD_H

/* A cache whose decisions are short, and sessions that they are about. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

#include "sn_cache_impl.h"
#include "sn_napt.h"
#include "sn_rewrite.h"

#define HASH  0x1234567890abcdefull
#define LINES 64u

struct world {
	struct sn_cache cache; /* of one bucket, which is full: what is kept of a session is short */
	struct sn_session *lines;
};

/* A session of an inside host in a line; whatever the host, the remote sends to the same outside port. */
struct sn_session *begin(struct world *w, uint32_t line, uint32_t inside);

void end(struct sn_session *s);

/* The decision about a packet that comes back to a session, by a next hop. */
struct sn_cache_entry decision(struct world *w, const struct sn_session *s, uint16_t neigh);

void keep(struct world *w, const struct sn_session *s, uint16_t neigh, uint64_t hash);

/* The next hop of what comes back; 0: none is remembered. */
uint16_t hop(struct world *w);

/* Forgets all, and takes the places of whole decisions. */
void fill(struct world *w);

int open_world(void **state);

int close_world(void **state);

/* The hash of a flow whose bucket is that of HASH, but not its tag. */
uint64_t beside(uint32_t i);

/* The session that a hash leads to; NULL: none. Its decision is its own. */
const struct sn_session *found(struct world *w, uint64_t hash);

/* The same with another session on the way: behind the one, or before it. */
struct sn_cache_entry decision_of_two(struct world *w, const struct sn_session *s,
				      const struct sn_session *other, bool before, uint16_t neigh);

void keep_two(struct world *w, const struct sn_session *s, const struct sn_session *other, bool before,
	      uint16_t neigh, uint64_t hash);

#endif /* SN_TEST_SHORTS_WORLD_H */
