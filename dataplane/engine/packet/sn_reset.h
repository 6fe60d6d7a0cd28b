/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_RESET_H
#define SN_RESET_H

/* TCP resets about segments that no connection takes (RFC 9293, section 3.10.7.1). */

#include "sn_parse.h"

/* Make the whole TCP segment, which is no reset itself, into the reset about it, untagged. */
void sn_reset(struct sn_pkt *p);

/* The same as far as classification and state see it; the buffer is not touched. */
void sn_reset_foresee(struct sn_pkt *p);

#endif /* SN_RESET_H */
