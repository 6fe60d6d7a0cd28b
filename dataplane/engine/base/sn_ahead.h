/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_AHEAD_H
#define SN_AHEAD_H

/*
 * Memory that is there before it is used. The first write to a page has the kernel find and zero it, which is
 * some 0.2 ms for one of 2 MiB: a packet would wait for it, and all that come behind. So the stretches of
 * memory that grow are known here, and one thread, which serves all workers, brings their next pages in time.
 * Workers say how far they have come; they take no lock for it, and make no system call.
 *
 * Without that thread, as in most tests, and where it is late, pages come as they are written.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a mapping, which is used from its start on, or as a whole. What changes has lines of its own. */
struct sn_stretch {
	_Alignas(64) _Atomic size_t used; /* bytes, by who uses it */
	_Atomic size_t ready;		  /* bytes that are there. SIZE_MAX: nobody goes ahead */
	_Atomic uint64_t late;		  /* times that somebody came to bytes that were not */
	_Atomic bool over;		  /* given up */
	bool whole;			  /* is used as a whole, or not at all */
	uint8_t *base;
	size_t size;
	/* The thread's own. */
	size_t seen; /* used, at its last look */
	size_t pace; /* bytes that were used between two looks, for the most */
};
_Static_assert(sizeof(struct sn_stretch) == 64, "a stretch is one cache line");

/* Stretches in one mapping. They and what lies between them are zeroes at first. */
struct sn_growing {
	uint8_t *base;
	size_t size;
	uint32_t n;
	struct sn_stretch *stretches;
	/* In the list of all mappings; see sn_ahead.c. */
	struct sn_growing *next;
	bool gone;
};

/* For at most max stretches; NULL without memory. */
struct sn_growing *sn_growing_map(size_t size, uint32_t max);

/*
 * The stretch from `at` on, before sn_growing_begin(). Large pages are asked for; not for the first of it
 * unless it is used as a whole: if little is used, it costs little.
 */
struct sn_stretch *sn_growing_add(struct sn_growing *g, size_t at, size_t size, bool whole);

/* All stretches are added. */
void sn_growing_begin(struct sn_growing *g);

/* Nobody uses it any more. NULL: nothing. */
void sn_growing_free(struct sn_growing *g);

/* Somebody is about to use the stretch up to here. */
void sn_stretch_come(struct sn_stretch *s, size_t used);

static inline void sn_stretch_reach(struct sn_stretch *s, size_t used)
{
	if (used > atomic_load_explicit(&s->used, memory_order_relaxed))
		sn_stretch_come(s, used);
}

/* It is not needed any more. It may be asked for again as a whole, and is zeroes then. */
void sn_stretch_give_up(struct sn_stretch *s);

/* A stretch that was given up is one that nobody has used yet. False: its memory is still to go. */
bool sn_stretch_begin_again(struct sn_stretch *s);

/* Asks for all of a stretch; true: it is there. */
static inline bool sn_stretch_whole(struct sn_stretch *s)
{
	if (atomic_load_explicit(&s->over, memory_order_relaxed) && !sn_stretch_begin_again(s))
		return false;
	if (atomic_load_explicit(&s->ready, memory_order_acquire) >= s->size)
		return true;
	if (atomic_load_explicit(&s->used, memory_order_relaxed) != s->size)
		atomic_store_explicit(&s->used, s->size, memory_order_relaxed);
	return false;
}

/* Somebody uses what is not there. */
static inline void sn_stretch_late(struct sn_stretch *s)
{
	atomic_fetch_add_explicit(&s->late, 1, memory_order_relaxed);
}

/* ---- the thread ---- */

/* Whether it has nothing left to do: of each stretch that is used, so many bytes more are there. For tests,
 * which wait for it where the machine is busy. */
bool sn_ahead_is_there(size_t more);

/* False: there is one. Else the caller starts it, and ends it. */
bool sn_ahead_begin(void);

/* Its main function: until it is told to stop. */
void *sn_ahead_main(void *context);
void sn_ahead_stop(void);

/* It has ended, or never started. */
void sn_ahead_end(void);

struct sn_ahead_stats {
	uint64_t resident; /* bytes of all mappings in memory, … */
	uint64_t huge; /* … and of these on huge pages: as of the thread's last look, some seconds ago */
	uint64_t late; /* times that workers came to bytes that were not there */
};

struct sn_ahead_stats sn_ahead_stats(void);

#endif /* SN_AHEAD_H */
