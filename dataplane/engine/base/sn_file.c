/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_frame.h"

int sn_file_read(const char *path, uint8_t **data, size_t *len, struct sn_error *err)
{
	struct sn_frame_buffer buffer = {0};
	FILE *file = fopen(path, "rb");
	size_t room = 0, n;
	uint8_t *to;

	if (file == NULL) {
		sn_fail(err, "%s: %s", path, strerror(errno));
		return -1;
	}
	do {
		to = sn_frame_room(&buffer, &room);
		n = to != NULL ? fread(to, 1, room, file) : 0;
		buffer.len += n;
	} while (n > 0 && buffer.len <= SN_FRAME_MAX);
	if (to == NULL || ferror(file) || buffer.len > SN_FRAME_MAX) {
		sn_fail(err, "%s: %s", path,
			to == NULL     ? "no memory"
			: ferror(file) ? strerror(errno)
				       : "larger than 256 MiB, no program is");
		fclose(file);
		sn_frame_free(&buffer);
		return -1;
	}
	fclose(file);
	*data = buffer.data;
	*len = buffer.len;
	return 0;
}
