/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_MARKS_H
#define SN_MARKS_H

/*
 * Marks that a device's rules put on packets: the program's generation, and below it the class in the
 * interface's segment and one. A packet that comes with its class is not classified again.
 */

#include <stdint.h>

#include <rte_mbuf.h>

#define SN_MARK_GENERATIONS 16
#define SN_MARK_SHIFT_MAX   28
#define SN_MARK_SAMPLE \
	1024 /* of so many marks one is compared with the classifier; and the first of each tick */

struct sn_marks {
	uint32_t generation;
	uint32_t shift; /* bits below the generation; 0: no mark is believed */
};

/* The mark of a packet as the device gave it, 0 if there is none. */
static inline uint32_t sn_mark_of(const struct rte_mbuf *m)
{
	return m->ol_flags & RTE_MBUF_F_RX_FDIR_ID ? m->hash.fdir.hi : 0;
}

/* The class of a mark of this generation, UINT32_MAX for others. */
static inline uint32_t sn_mark_class(struct sn_marks marks, uint32_t mark)
{
	uint32_t low = mark & ((1u << marks.shift) - 1);

	return low != 0 && mark >> marks.shift == marks.generation ? low - 1 : UINT32_MAX;
}

#endif /* SN_MARKS_H */
