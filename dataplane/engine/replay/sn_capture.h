/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CAPTURE_H
#define SN_CAPTURE_H

/* A capture file's frames in memory, ready to be copied into packet buffers. */

#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"

#define SN_CAPTURE_FRAME_MAX  2048u
#define SN_CAPTURE_FRAMES_MAX (1u << 26)

/* Facts that a device tells of a frame beside its bytes. */
struct sn_capture_frame {
	uint64_t ol_flags; /* RX checksums of IPv4, and of TCP or UDP: good or bad */
	uint32_t packet_type;
	uint32_t len;
};

struct sn_capture {
	struct sn_capture_frame *frames;
	uint8_t *bytes; /* a slot per frame */
	uint32_t n;
	uint32_t slot; /* bytes, a multiple of 64 */
};

/* Reads a file of pcap's first format (libpcap, microseconds or nanoseconds, of this machine's byte order).
 * Memory is EAL's: huge pages. */
int sn_capture_read(struct sn_capture *capture, const char *path, struct sn_error *err);
void sn_capture_free(struct sn_capture *capture);

#endif /* SN_CAPTURE_H */
