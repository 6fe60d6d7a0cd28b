/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for messages: frames of bytes, their hash, and why something failed. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "sn_error.h"
#include "sn_frame.h"
#include "sn_sha256.h"

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

static void what_fails_says_why_and_where(void **state)
{
	struct sn_error err;

	(void)state;
	assert_int_equal(sn_fail(&err, "port %u, want 1 to %d", 0u, 9), -1);
	assert_string_equal(err.text, "port 0, want 1 to 9");
	assert_int_equal(sn_fail_in(&err, "rule %d", 7), -1);
	assert_string_equal(err.text, "rule 7: port 0, want 1 to 9");
	assert_int_equal(sn_fail(NULL, "%s", "nobody asks"), -1);
	assert_int_equal(sn_fail_in(NULL, "%s", "nobody asks"), -1);
}

static void a_long_error_is_cut_at_its_end(void **state)
{
	char name[2 * sizeof(struct sn_error)];
	struct sn_error err;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	sn_fail(&err, "device %s", name);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	sn_fail_in(&err, "interface outside");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "interface outside: device xxx", 29);
	sn_fail_in(&err, "%s", name);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(err.text[sizeof(err.text) - 2], 'x');
}

static void the_hash_is_sha_256(void **state)
{
	/* FIPS 180-4's example: "abc" */
	static const uint8_t of_abc[SN_SHA256_LEN] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
		0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
		0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	uint8_t bytes[1000], hash[SN_SHA256_LEN], plain[SN_SHA256_LEN];

	(void)state;
	sn_sha256("abc", 3, hash);
	assert_memory_equal(hash, of_abc, sizeof(hash));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		sn_sha256(bytes, len, hash);
		sn_sha256_plain(bytes, len, plain);
		assert_memory_equal(hash, plain, sizeof(hash));
	}
}

typedef void hash_fn(const void *data, size_t len, uint8_t hash[SN_SHA256_LEN]);

/* Processor time of a thousand short hashes, in ns: the best of twenty tries. */
static int64_t time_of(hash_fn *hash)
{
	int64_t best = INT64_MAX;
	uint8_t bytes[SN_SHA256_LEN] = {0};

	for (int try = 0; try < 20; try++) {
		struct timespec from, to;
		int64_t ns;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (int i = 0; i < 1000; i++)
			hash(bytes, sizeof(bytes), bytes);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		ns = (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
		if (ns < best)
			best = ns;
	}
	return best;
}

/* A table of routes has 65,536 of them. */
static void a_short_hash_costs_little(void **state)
{
	int64_t ns = time_of(sn_sha256), plain = time_of(sn_sha256_plain);

	(void)state;
	if (ns > 4 * plain)
		fail_msg("a thousand hashes take %" PRId64 " ns, %" PRId64 " without instructions for it", ns,
			 plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_whole_with_its_last_byte),
		cmocka_unit_test(the_hash_is_sha_256),
		cmocka_unit_test(a_short_hash_costs_little),
		cmocka_unit_test(a_length_beyond_the_bound_is_refused_before_anything_is_allocated_for_it),
		cmocka_unit_test(the_length_is_written_as_it_is_read),
		cmocka_unit_test(what_fails_says_why_and_where),
		cmocka_unit_test(a_long_error_is_cut_at_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
