/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sn_frame.h"

static void feed(struct sn_frame_buffer *buffer, const void *bytes, size_t len)
{
	size_t room;
	uint8_t *to = sn_frame_room(buffer, &room);

	assert_non_null(to);
	assert_true(room >= len);
	memcpy(to, bytes, len);
	buffer->len += len;
}

static void a_frame_is_whole_with_its_last_byte(void **state)
{
	static const uint8_t bytes[] = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0};
	struct sn_frame_buffer buffer = {0};
	const uint8_t *message;
	size_t len;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(sn_frame_next(&buffer, &message, &len), SN_FRAME_PARTIAL);
		feed(&buffer, &bytes[i], 1);
	}
	feed(&buffer, &bytes[7], 4);
	assert_int_equal(sn_frame_next(&buffer, &message, &len), SN_FRAME_WHOLE);
	assert_int_equal(len, 3);
	assert_memory_equal(message, "abc", 3);
	sn_frame_consume(&buffer, len);
	assert_int_equal(sn_frame_next(&buffer, &message, &len), SN_FRAME_WHOLE);
	assert_int_equal(len, 0);
	sn_frame_consume(&buffer, len);
	assert_int_equal(sn_frame_next(&buffer, &message, &len), SN_FRAME_PARTIAL);
	sn_frame_free(&buffer);
}

static void a_length_beyond_the_bound_is_refused_before_anything_is_allocated_for_it(void **state)
{
	static const uint8_t bytes[] = {0x10, 0, 0, 1};
	struct sn_frame_buffer buffer = {0};
	const uint8_t *message;
	size_t len;

	(void)state;
	feed(&buffer, bytes, sizeof(bytes));
	assert_int_equal(sn_frame_next(&buffer, &message, &len), SN_FRAME_TOO_LONG);
	assert_true(buffer.cap < 1u << 20);
	sn_frame_free(&buffer);
}

static void the_length_is_written_as_it_is_read(void **state)
{
	uint8_t header[SN_FRAME_HEADER];

	(void)state;
	sn_frame_put_length(header, 0x01020304);
	assert_memory_equal(header, "\x01\x02\x03\x04", SN_FRAME_HEADER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_whole_with_its_last_byte),
		cmocka_unit_test(a_length_beyond_the_bound_is_refused_before_anything_is_allocated_for_it),
		cmocka_unit_test(the_length_is_written_as_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
