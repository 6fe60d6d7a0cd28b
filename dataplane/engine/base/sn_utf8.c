/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_utf8.h"

#include <stdint.h>

/* How many bytes follow the first one of a character, and the least character that may be written so; -1:
 * none. */
static int following(uint8_t first, uint32_t *least)
{
	if (first < 0x80) {
		*least = 0;
		return 0;
	}
	if (first >> 5 == 6) {
		*least = 0x80;
		return 1;
	}
	if (first >> 4 == 14) {
		*least = 0x800;
		return 2;
	}
	*least = 0x10000;
	return first >> 3 == 30 ? 3 : -1;
}

bool sn_utf8_valid(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	while (*at) {
		uint32_t least, character;
		int n = following(*at, &least);

		if (n < 0)
			return false;
		character = *at & (n ? 0x3fu >> n : 0x7fu);
		for (at++; n > 0; n--, at++) {
			if (*at >> 6 != 2)
				return false;
			character = character << 6 | (*at & 0x3fu);
		}
		if (character < least || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
			return false;
	}
	return true;
}
