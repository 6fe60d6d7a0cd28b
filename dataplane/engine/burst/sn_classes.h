/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CLASSES_H
#define SN_CLASSES_H

/* Facts about the packets of a burst, before their turns: their classes, and the state that they will look
 * for. */

#include "sn_env.h"

/* Classes of the first n packets of the burst that go by the segment's table, or paths if by_path says so;
 * SN_TABLE_NONE for those that do not. */
void sn_classes_find(struct sn_env *env, const struct sn_segment *s, uint32_t n);

/* Brings the state that these packets will look for, if they are not known yet; the hints tell where. */
void sn_classes_prefetch_state(struct sn_env *env, const struct sn_segment *s, uint32_t n);

#endif /* SN_CLASSES_H */
