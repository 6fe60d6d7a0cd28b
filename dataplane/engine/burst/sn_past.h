/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PAST_H
#define SN_PAST_H

/*
 * Frames that go past an open function which is down: they go on as if it had given them back at once. They
 * are taken out of what is sent by its wire, so nobody before that has to know: decisions and classes that
 * lead to the function hold whether it is up or down, and so do those for what comes back.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct sn_env;
struct sn_stop;

#define SN_PAST_MAX 1024u /* frames; what is more is dropped, as by a port that takes no more */

struct sn_past {
	uint32_t first, n;
	struct rte_mbuf *frames[SN_PAST_MAX]; /* from `first` on, around the end */
	uint8_t back[SN_PAST_MAX];	      /* by which interface they come back */
};

/* The stop for which a frame that would be sent by a wire leaves, if it is open and down. NULL: the frame is
 * to be sent. */
const struct sn_stop *sn_past_stop(const struct sn_env *env, const struct rte_mbuf *m);

/* The frame goes past the stop, and is counted as that. False: there is no room for it. */
bool sn_past_put(struct sn_env *env, struct rte_mbuf *m, const struct sn_stop *s);

/* The next frames, of which there are some, that come back by one interface: at most a burst, in their order.
 * How many. */
uint32_t sn_past_next(struct sn_env *env, struct rte_mbuf **frames, uint32_t *iface);

#endif /* SN_PAST_H */
