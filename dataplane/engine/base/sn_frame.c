/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_frame.h"

#include <stdlib.h>
#include <string.h>

#define SN_FRAME_ROOM 65536

uint8_t *sn_frame_room(struct sn_frame_buffer *buffer, size_t *room)
{
	if (buffer->cap - buffer->len < SN_FRAME_ROOM / 2) {
		size_t cap = buffer->cap < SN_FRAME_ROOM ? SN_FRAME_ROOM : buffer->cap * 2;
		uint8_t *data = realloc(buffer->data, cap);

		if (data == NULL)
			return NULL;
		buffer->data = data;
		buffer->cap = cap;
	}
	*room = buffer->cap - buffer->len;
	return buffer->data + buffer->len;
}

static size_t get_length(const uint8_t *header)
{
	return (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
}

enum sn_frame_status sn_frame_next(const struct sn_frame_buffer *buffer, const uint8_t **message, size_t *len)
{
	if (buffer->len < SN_FRAME_HEADER)
		return SN_FRAME_PARTIAL;
	*len = get_length(buffer->data);
	if (*len > SN_FRAME_MAX)
		return SN_FRAME_TOO_LONG;
	if (buffer->len - SN_FRAME_HEADER < *len)
		return SN_FRAME_PARTIAL;
	*message = buffer->data + SN_FRAME_HEADER;
	return SN_FRAME_WHOLE;
}

void sn_frame_consume(struct sn_frame_buffer *buffer, size_t message_len)
{
	size_t taken = SN_FRAME_HEADER + message_len;

	buffer->len -= taken;
	memmove(buffer->data, buffer->data + taken, buffer->len);
	/* A program may have been 100 MiB; the next requests are not. */
	if (buffer->len == 0 && buffer->cap > (1u << 20))
		sn_frame_free(buffer);
}

void sn_frame_put_length(uint8_t header[SN_FRAME_HEADER], size_t message_len)
{
	header[0] = (uint8_t)(message_len >> 24);
	header[1] = (uint8_t)(message_len >> 16);
	header[2] = (uint8_t)(message_len >> 8);
	header[3] = (uint8_t)message_len;
}

void sn_frame_free(struct sn_frame_buffer *buffer)
{
	free(buffer->data);
	memset(buffer, 0, sizeof(*buffer));
}
