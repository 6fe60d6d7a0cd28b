/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sn_huge.h"
#include "sn_log.h"

#define PAGE	   4096u
#define AHEAD_MIN  (256u << 10) /* bytes that are there beyond what is used, at least … */
#define AHEAD_MAX  (8u << 20)	/* … and at most */
#define LOOKS_AWAY 10		/* the thread may miss as many looks, on a CPU that it shares */
#define BRING_NS   100000	/* rest between two chunks, in which others have the CPU and the memory */
#define LOOK_NS	   1000000	/* between two looks while something grows */
#define IDLE_NS	   4000000	/* while nothing does */
#define COUNT_NS   1000000000u	/* between two counts of huge pages */
#define NICE	   5		/* behind the control thread */
#define TELL_FROM  (32u << 20)	/* resident bytes, of which a part should be on huge pages */

/* Mappings are made and freed by control threads, and looked at by the thread ahead: under the lock, which it
 * holds for no longer than it takes to find the next one. What it works on, or has known, it frees itself. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sn_growing *all;
static bool going; /* there is a thread */
static _Atomic bool stop;
static uint64_t late_before; /* of mappings that are gone */
static _Atomic uint64_t resident, huge;

/* ---- mappings ---- */

struct sn_growing *sn_growing_map(size_t size, uint32_t max)
{
	struct sn_growing *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->size = size;
	g->base = sn_huge_map(size);
	g->stretches = aligned_alloc(_Alignof(struct sn_stretch), max * sizeof(*g->stretches));
	if (g->base == NULL || g->stretches == NULL) {
		sn_growing_free(g);
		return NULL;
	}
	return g;
}

struct sn_stretch *sn_growing_add(struct sn_growing *g, size_t at, size_t size, bool whole)
{
	struct sn_stretch *s = &g->stretches[g->n++];

	*s = (struct sn_stretch){.base = g->base + at, .size = size, .whole = whole};
	atomic_init(&s->ready, SIZE_MAX);
	sn_huge_advise(s->base, size, whole);
	return s;
}

static void set_ready(struct sn_growing *g, size_t ready)
{
	for (uint32_t i = 0; i < g->n; i++)
		atomic_store(&g->stretches[i].ready, ready);
}

void sn_growing_begin(struct sn_growing *g)
{
	pthread_mutex_lock(&lock);
	g->next = all;
	all = g;
	if (going)
		set_ready(g, 0);
	pthread_mutex_unlock(&lock);
}

static uint64_t late_of(const struct sn_growing *g)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->n; i++)
		sum += atomic_load_explicit(&g->stretches[i].late, memory_order_relaxed);
	return sum;
}

static void destroy(struct sn_growing *g)
{
	if (g->base != NULL)
		sn_huge_unmap(g->base, g->size);
	free(g->stretches);
	free(g);
}

/* Where a mapping hangs; NULL: it was never begun. With the lock. */
static struct sn_growing **link_of(const struct sn_growing *g)
{
	for (struct sn_growing **link = &all; *link != NULL; link = &(*link)->next)
		if (*link == g)
			return link;
	return NULL;
}

void sn_growing_free(struct sn_growing *g)
{
	struct sn_growing **link;
	bool left;

	if (g == NULL)
		return;
	pthread_mutex_lock(&lock);
	link = link_of(g);
	left = link != NULL && going;
	if (link != NULL)
		late_before += late_of(g);
	if (left)
		g->gone = true;
	else if (link != NULL)
		*link = g->next;
	pthread_mutex_unlock(&lock);
	if (!left)
		destroy(g);
}

/* ---- stretches, for who uses them ---- */

void sn_stretch_come(struct sn_stretch *s, size_t used)
{
	size_t was = atomic_load_explicit(&s->used, memory_order_relaxed);

	if (used > atomic_load_explicit(&s->ready, memory_order_relaxed))
		sn_stretch_late(s);
	while (was < used && !atomic_compare_exchange_weak_explicit(
				     &s->used, &was, used, memory_order_relaxed, memory_order_relaxed))
		;
}

static void drop(const struct sn_stretch *s)
{
	madvise(s->base, s->size, MADV_DONTNEED); /* best effort */
}

void sn_stretch_give_up(struct sn_stretch *s)
{
	if (atomic_load(&s->ready) == SIZE_MAX)
		drop(s);
	atomic_store(&s->over, true);
}

bool sn_stretch_begin_again(struct sn_stretch *s)
{
	size_t ready = atomic_load_explicit(&s->ready, memory_order_acquire);

	if (ready > 0 && ready < SIZE_MAX)
		return false; /* the thread drops it at its next look */
	if (ready == SIZE_MAX)
		drop(s); /* a thread that has ended may have left it */
	atomic_store_explicit(&s->used, 0, memory_order_relaxed);
	atomic_store(&s->over, false);
	return true;
}

/* ---- the thread ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How far a stretch should be there: what is ahead is never more than what is used. */
static size_t target_of(struct sn_stretch *s)
{
	size_t used = atomic_load_explicit(&s->used, memory_order_relaxed), ahead;

	if (atomic_load(&s->over))
		return 0;
	if (s->whole)
		return used > 0 ? s->size : 0;
	s->pace -= s->pace / 64;
	if (used - s->seen > s->pace)
		s->pace = used - s->seen;
	s->seen = used;
	ahead = least(s->pace * LOOKS_AWAY, least(used, AHEAD_MAX));
	if (ahead < AHEAD_MIN)
		ahead = AHEAD_MIN;
	return s->size - used < ahead ? s->size : used + ahead;
}

/* One chunk; true: there was something to do. */
static bool bring(struct sn_stretch *s, size_t target)
{
	size_t ready = atomic_load_explicit(&s->ready, memory_order_relaxed), next;

	if (ready >= target)
		return false;
	/* Up to where the next huge page may begin. */
	next = ready + SN_HUGE_PAGE - (uintptr_t)(s->base + ready) % SN_HUGE_PAGE;
	if (next > s->size)
		next = s->size;
	/* Only as many small pages as are wanted. */
	if (next > target && s->base + ready < sn_huge_begin(s->base, s->whole))
		next = target;
	sn_huge_populate(s->base + ready, next - ready);
	atomic_store_explicit(&s->ready, next, memory_order_release);
	return true;
}

/* The pace of most stretches is that of all. */
enum pace {
	RESTS,
	GROWS,
	BRINGS, /* what is wanted was not there */
};

static enum pace most(enum pace a, enum pace b)
{
	return a > b ? a : b;
}

static enum pace serve(struct sn_growing *g)
{
	enum pace pace = RESTS;

	for (uint32_t i = 0; i < g->n; i++) {
		struct sn_stretch *s = &g->stretches[i];

		pace = most(pace, bring(s, target_of(s)) ? BRINGS : s->pace > PAGE ? GROWS : RESTS);
		if (atomic_load(&s->over) && atomic_load(&s->ready) > 0) {
			drop(s);
			atomic_store(&s->ready, 0);
		}
	}
	return pace;
}

/* The mapping behind one (NULL: the first); those that are gone, and nobody knows any more, are taken out. */
static struct sn_growing *next_of(struct sn_growing *g, struct sn_growing **gone)
{
	struct sn_growing **link;

	pthread_mutex_lock(&lock);
	link = g != NULL ? &g->next : &all;
	while (*link != NULL && (*link)->gone) {
		struct sn_growing *dead = *link;

		*link = dead->next;
		dead->next = *gone;
		*gone = dead;
	}
	g = *link;
	pthread_mutex_unlock(&lock);
	return g;
}

static void bury(struct sn_growing *gone)
{
	while (gone != NULL) {
		struct sn_growing *next = gone->next;

		destroy(gone);
		gone = next;
	}
}

/* A look at all mappings. */
static enum pace look(void)
{
	struct sn_growing *gone = NULL;
	enum pace pace = RESTS;

	for (struct sn_growing *g = next_of(NULL, &gone); g != NULL; g = next_of(g, &gone))
		pace = most(pace, serve(g));
	bury(gone);
	return pace;
}

/* A line of this process's smaps_rollup, in bytes. */
static uint64_t line_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line != NULL ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

static void count_pages(void)
{
	static bool told;
	char text[4096];
	int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	ssize_t len = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;

	if (file >= 0)
		close(file);
	if (len < 0)
		return;
	text[len] = 0;
	atomic_store(&resident, line_of(text, "\nAnonymous:"));
	atomic_store(&huge, line_of(text, "\nAnonHugePages:"));
	if (told || resident < TELL_FROM)
		return;
	told = true;
	sn_log(huge > 0 ? SN_LOG_INFO : SN_LOG_WARN, "memory resident=%luMiB on-huge-pages=%luMiB%s",
	       (unsigned long)(resident >> 20), (unsigned long)(huge >> 20),
	       huge > 0 ? "" : ": see /sys/kernel/mm/transparent_hugepage/enabled, want madvise or always");
}

static bool is_there(const struct sn_stretch *s, size_t more)
{
	size_t used = atomic_load(&s->used);

	return (used == 0 && s->whole) || atomic_load(&s->over) ||
	       atomic_load(&s->ready) >= least(used + more, s->size);
}

bool sn_ahead_is_there(size_t more)
{
	bool there = true;

	pthread_mutex_lock(&lock);
	for (const struct sn_growing *g = all; g != NULL; g = g->next)
		for (uint32_t i = 0; i < g->n && !g->gone; i++)
			there &= is_there(&g->stretches[i], more);
	pthread_mutex_unlock(&lock);
	return there;
}

static void rest(long ns)
{
	const struct timespec duration = {.tv_nsec = ns};

	nanosleep(&duration, NULL);
}

bool sn_ahead_begin(void)
{
	bool first;

	pthread_mutex_lock(&lock);
	first = !going;
	if (first) {
		going = true;
		atomic_store(&stop, false);
		for (struct sn_growing *g = all; g != NULL; g = g->next)
			set_ready(g, 0);
	}
	pthread_mutex_unlock(&lock);
	return first;
}

/* Says how often packets waited for memory since the last time. */
static void tell_late(uint64_t *told)
{
	uint64_t late = sn_ahead_stats().late;

	if (late > *told)
		sn_log(SN_LOG_WARN,
		       "memory late=%lu: workers used it before it was there, want a CPU for others",
		       (unsigned long)(late - *told));
	*told = late;
}

void *sn_ahead_main(void *context)
{
	uint64_t counted = 0, now = 0, late = sn_ahead_stats().late;
	bool changed = true;

	/* Linux: of the thread alone. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); /* best effort */
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		enum pace pace = look();
		long ns = pace == BRINGS ? BRING_NS : pace == GROWS ? LOOK_NS : IDLE_NS;

		changed |= pace == BRINGS;
		if (changed && now - counted >= COUNT_NS) {
			count_pages();
			tell_late(&late);
			counted = now;
			changed = false;
		}
		rest(ns);
		now += (uint64_t)ns;
	}
	return context;
}

void sn_ahead_stop(void)
{
	atomic_store(&stop, true);
}

void sn_ahead_end(void)
{
	struct sn_growing *gone = NULL;

	for (struct sn_growing *g = next_of(NULL, &gone); g != NULL; g = next_of(g, &gone))
		set_ready(g, SIZE_MAX);
	bury(gone);
	pthread_mutex_lock(&lock);
	going = false;
	pthread_mutex_unlock(&lock);
}

struct sn_ahead_stats sn_ahead_stats(void)
{
	struct sn_ahead_stats stats = {.resident = resident, .huge = huge};

	pthread_mutex_lock(&lock);
	stats.late = late_before;
	for (const struct sn_growing *g = all; g != NULL; g = g->next)
		if (!g->gone)
			stats.late += late_of(g);
	pthread_mutex_unlock(&lock);
	return stats;
}
