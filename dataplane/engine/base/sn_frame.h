/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FRAME_H
#define SN_FRAME_H

/* The framing of control messages: 4 bytes big-endian length, then the message. */

#include <stddef.h>
#include <stdint.h>

#define SN_FRAME_HEADER 4
#define SN_FRAME_MAX	(256u << 20)

/* The part of a stream of frames that is read so far. */
struct sn_frame_buffer {
	uint8_t *data;
	size_t len;
	size_t cap;
};

enum sn_frame_status {
	SN_FRAME_PARTIAL,
	SN_FRAME_WHOLE,
	SN_FRAME_TOO_LONG,
};

/*
 * Makes room for the next read: *room bytes at the returned place, NULL without
 * memory. Grows by what has come, not by what a length field promises.
 */
uint8_t *sn_frame_room(struct sn_frame_buffer *buffer, size_t *room);

/* Looks for a whole frame at the start; its message is at *message. */
enum sn_frame_status sn_frame_next(const struct sn_frame_buffer *buffer, const uint8_t **message,
				   size_t *len);

/* Forgets the frame that sn_frame_next found. */
void sn_frame_consume(struct sn_frame_buffer *buffer, size_t message_len);

void sn_frame_put_length(uint8_t header[SN_FRAME_HEADER], size_t message_len);

void sn_frame_free(struct sn_frame_buffer *buffer);

#endif /* SN_FRAME_H */
