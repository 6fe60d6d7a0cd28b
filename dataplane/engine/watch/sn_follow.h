/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FOLLOW_H
#define SN_FOLLOW_H

/*
 * Plain frames of a program without state, followed over all segments on their way before anything is done to
 * them. A burst is classified together in one segment after the other, and the classes of a packet are its
 * path. A path says how its packets leave, as a class does. So they are written once, however many look-ups a
 * chain has.
 */

#include <stdint.h>

#include "sn_adjacency.h"
#include "sn_paths.h"
#include "sn_program.h"

#define SN_FOLLOW_MAX 32 /* segments on a way */
/* A way is open if it has more, if one of its classes is not simple, or if there is no room for its path: the
 * packet goes segment by segment. */
#define SN_FOLLOW_OPEN 0x80000000u
_Static_assert(SN_PATHS_MAX < SN_FOLLOW_OPEN && SN_INDEX_END < SN_FOLLOW_OPEN, "a path or a class");

struct sn_follow;

struct sn_start {
	struct sn_follow *follow;
	const struct sn_segment *segment;
};

/* Paths are looked up in a tree: class after class, from the root, node 1. A node is a class that leads on.
 */
struct sn_node {
	uint32_t before; /* the node */
	uint32_t class;
	uint32_t segment; /* whose class it is */
};

/* The link to a class that frames meet behind a node. */
struct sn_link {
	uint64_t key;  /* node << 32 | class; 0: free */
	uint32_t node; /* if frames go on */
	uint32_t then; /* see sn_follow.c */
};

struct sn_follow {
	const struct sn_program *program;
	struct sn_paths *paths;
	struct sn_shapes *shapes;
	struct sn_adjacency *ends; /* by path */
	uint8_t *floors;	   /* by path: the TTL with which frames go by `table` in each segment */
	struct sn_start *starts;   /* by segment; NULL: frames are followed from none */
	struct sn_node *nodes;
	struct sn_link *links;
	uint32_t n_nodes, n_links;
};

/* Paths and shapes are its owner's, and stay as long. -1 without memory; sn_follow_free() in any case. */
int sn_follow_init(struct sn_follow *follow, const struct sn_program *program, struct sn_paths *paths,
		   struct sn_shapes *shapes);
void sn_follow_free(struct sn_follow *follow);

/*
 * The paths of n <= 64 plain frames from a segment on (start: its struct sn_start) from where that is
 * possible; they hold for TTLs of their floors or more. Of frames whose way is open the first class and
 * SN_FOLLOW_OPEN, or SN_TABLE_NONE.
 */
void sn_follow_frames(const void *start, const uint8_t *const *frames, uint32_t *paths, unsigned int n);

/* The class in the first segment of a packet whose way is open; SN_TABLE_NONE: it is not known. */
static inline uint32_t sn_follow_class(uint32_t path)
{
	return path != SN_TABLE_NONE && path & SN_FOLLOW_OPEN ? path & ~SN_FOLLOW_OPEN : SN_TABLE_NONE;
}

#endif /* SN_FOLLOW_H */
