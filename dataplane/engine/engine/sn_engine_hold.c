/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of the engine ask of its workers: to stand still, and to go on. */

#include <sched.h>

#include "sn_engine.h"
#include "sn_neigh.h"

uint64_t sn_engine_now(const struct sn_engine *engine)
{
	return engine->config.harness ? engine->now_ns : sn_now_ns();
}

void sn_engine_announce(struct sn_engine *engine, uint32_t step)
{
	uint32_t epoch = atomic_load_explicit(&engine->orders.epoch, memory_order_relaxed) + step;

	atomic_store_explicit(&engine->orders.epoch, epoch, memory_order_release);
	for (unsigned int i = 0; i < engine->config.n_workers; i++) {
		struct sn_thread *thread = &engine->threads[i];

		if (engine->running) {
			while (atomic_load_explicit(&thread->acknowledged, memory_order_acquire) != epoch)
				sched_yield();
		} else if ((epoch & 1) == 0) {
			while (!sn_thread_prepare(thread, epoch, 1))
				; /* no thread does */
			sn_thread_follow(thread);
		}
	}
}

void sn_engine_hold(struct sn_engine *engine)
{
	sn_engine_announce(engine, 1);
}

void sn_engine_release(struct sn_engine *engine)
{
	sn_engine_announce(engine, 1);
}

void sn_engine_front(struct sn_engine *engine, bool front, bool again)
{
	bool announces = front && (again || !engine->front);

	for (unsigned int i = 0; i < engine->config.n_workers; i++)
		sn_neigh_silence(engine->threads[i].worker, !front);
	if (announces)
		sn_thread_announce(&engine->threads[0]);
	engine->front = front;
}
