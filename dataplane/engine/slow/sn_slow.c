/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_slow.h"

#define SECOND 1000000000ull

void sn_slow_apply(struct sn_slow *slow, uint32_t n_workers)
{
	uint32_t rate = slow->env->program->icmp_rate;

	slow->icmp.rate = rate / n_workers + (slow->env->number < rate % n_workers);
	slow->icmp.tokens = slow->icmp.rate * SECOND;
}

bool sn_slow_icmp_allowed(struct sn_slow *slow, uint64_t now)
{
	uint64_t rate = slow->icmp.rate, elapsed = now - slow->icmp.filled;

	if (!slow->env->program->icmp_rate)
		return true;
	if (elapsed > SECOND)
		elapsed = SECOND;
	slow->icmp.filled = now;
	slow->icmp.tokens += elapsed * rate;
	if (slow->icmp.tokens > rate * SECOND) /* a second's worth at most */
		slow->icmp.tokens = rate * SECOND;
	if (slow->icmp.tokens < SECOND)
		return false;
	slow->icmp.tokens -= SECOND;
	return true;
}
