/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_MESSAGES_H
#define SN_MESSAGES_H

/* Answers are made in an arena. */

#include "sn_arena.h"

/* A message of a type, initialized; NULL without memory. */
#define SN_NEW(arena, type, init)                                   \
	__extension__({                                             \
		type *sn_new = sn_arena_alloc(arena, sizeof(type)); \
		if (sn_new != NULL)                                 \
			init(sn_new);                               \
		sn_new;                                             \
	})

/* An array of pointers to n messages of a type, all initialized. */
#define SN_NEW_ARRAY(arena, type, init, n)                                           \
	__extension__({                                                              \
		size_t sn_n = (n);                                                   \
		type **sn_list = sn_arena_alloc(arena, (sn_n + 1) * sizeof(type *)); \
		type *sn_items = sn_arena_alloc(arena, (sn_n + 1) * sizeof(type));   \
		if (sn_items == NULL)                                                \
			sn_list = NULL;                                              \
		for (size_t sn_i = 0; sn_list != NULL && sn_i < sn_n; sn_i++) {      \
			init(&sn_items[sn_i]);                                       \
			sn_list[sn_i] = &sn_items[sn_i];                             \
		}                                                                    \
		sn_list;                                                             \
	})

#endif /* SN_MESSAGES_H */
