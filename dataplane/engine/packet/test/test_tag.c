/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_tag.h"

static void a_tag_lies_in_an_address_as_it_is_documented(void **state)
{
	const uint8_t want[] = {0x02, 0x12, 0x34, 0x0b, 0xab, 0xcd};
	uint8_t mac[6];

	(void)state;
	sn_tag_write(mac, (struct sn_tag){.nonce = 0x1234, .shard = 5, .continuation = 0x1abcd});
	assert_memory_equal(mac, want, sizeof(want));
}

static void what_is_written_is_read(void **state)
{
	static const uint16_t nonces[] = {0, 1, 0xffff};
	static const uint8_t shards[] = {0, 1, 127};
	static const uint32_t continuations[] = {0, 1, 0xffff, 0x10000, SN_CONTINUATIONS_MAX - 1};

	(void)state;
	for (uint32_t i = 0; i < 3 * 3 * 5; i++) {
		struct sn_tag tag = {nonces[i % 3], shards[i / 3 % 3], continuations[i / 9]}, got;
		uint8_t mac[6];

		sn_tag_write(mac, tag);
		assert_true(sn_tag_read(mac, &got));
		assert_int_equal(got.nonce, tag.nonce);
		assert_int_equal(got.shard, tag.shard);
		assert_int_equal(got.continuation, tag.continuation);
	}
}

static void other_addresses_are_no_tags(void **state)
{
	struct sn_tag tag;

	(void)state;
	for (uint32_t first = 0; first < 256; first++) {
		const uint8_t mac[6] = {(uint8_t)first, 0x12, 0x34, 0, 0, 1};

		assert_int_equal(sn_tag_read(mac, &tag), first == 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_lies_in_an_address_as_it_is_documented),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(other_addresses_are_no_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
