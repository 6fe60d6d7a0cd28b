/* SPDX-License-Identifier: Apache-2.0 */
/* Matches of inspectors, and what becomes of packets: also of those whose decision is cached. */

#include "inspectors.h"

#include "sn_worker.h"

static void send_text(struct fixture *f, uint8_t proto, const char *bytes, uint32_t len)
{
	struct packet p = outward(proto, 1000);

	p.flags = SN_TCP_ACK;
	p.payload = (const uint8_t *)bytes;
	p.payload_len = len;
	send_packet(f, &p);
}

static void assert_passes(struct fixture *f, const char *text)
{
	send_text(f, SN_UDP, text, (uint32_t)strlen(text));
	assert_sent(f, 1);
}

static void assert_matched(struct fixture *f, const char *text)
{
	send_text(f, SN_UDP, text, (uint32_t)strlen(text));
	assert_dropped(f, MATCHED);
}

static void each_packet_of_a_known_flow_is_matched(void **state)
{
	struct fixture *f = *state;
	struct counted c;

	with_inspector(f);
	drops(add_rule(f, "evil", "\\x65[\\x76\\x56]\\x69\\x6c"));
	inspect_in(f, 0);
	load(f);
	for (uint32_t i = 0; i < 20; i++) {
		assert_passes(f, "a good one");
		assert_passes(f, "an evi");
		assert_matched(f, "an evil one");
		assert_matched(f, "eVil");
	}
	assert_true(sn_worker_stats(f->worker)->cache_hits > 0);
	c = counts_of(f);
	assert_int_equal(c.packets, 80);
	assert_int_equal(c.bytes, 20 * (10 + 6 + 11 + 4));
	assert_int_equal(c.rules[0], 40);
}

static void all_parts_have_to_match_between_their_bounds(void **state)
{
	struct fixture *f = *state;
	rule_msg *both, *bounded;
	part_msg *p;

	with_inspector(f);
	both = add_rule(f, "both", "\\x61\\x62");
	add_part(f, both, "\\x63(?:\\x64|\\x65){2}");
	drops(both);
	bounded = add_rule(f, "from 5 to 8", "\\x7a\\x7a");
	p = bounded->parts[0];
	p->min_end = 5;
	p->max_end = 8;
	drops(bounded);
	drops(add_rule(f, "at the end", "\\x71\\z"));
	drops(add_rule(f, "at the beginning", "\\A\\x72"));
	inspect_in(f, 0);
	load(f);
	assert_passes(f, "ab ab ab");
	assert_passes(f, "ced");
	assert_matched(f, "ced ab");
	assert_matched(f, "abcde");
	assert_passes(f, "--zz"); /* ends at 4 */
	assert_matched(f, "---zz");
	assert_matched(f, "------zz");
	assert_passes(f, "-------zz");
	assert_matched(f, "zzz--zz--"); /* the second */
	assert_passes(f, "q-");
	assert_matched(f, "-q");
	assert_matched(f, "r");
	assert_passes(f, "-r");
	/* A partial match from before is forgotten. */
	assert_passes(f, "ab");
	assert_passes(f, "cdd");
}

static void the_first_that_drops_or_else_marks_decides(void **state)
{
	struct fixture *f = *state;
	struct counted c;

	with_inspector(f);
	add_rule(f, "counts", "\\x61");
	marks(add_rule(f, "ten", "\\x62"), 10);
	marks(add_rule(f, "twenty", "\\x63"), 20);
	drops(add_rule(f, "drops", "\\x64"));
	inspect_in(f, 0);
	load(f);
	for (uint32_t i = 0; i < 5; i++) {
		const uint8_t *out;

		assert_passes(f, "-");
		send_text(f, SN_TCP, "cab", 3);
		out = assert_sent(f, 1);
		assert_int_equal(ip_of((uint8_t *)out)[1] >> 2, 10);
		send_text(f, SN_TCP, "c", 1);
		out = assert_sent(f, 1);
		assert_int_equal(ip_of((uint8_t *)out)[1] >> 2, 20);
		send_text(f, SN_TCP, "abcd", 4);
		assert_dropped(f, MATCHED);
	}
	c = counts_of(f);
	assert_int_equal(c.rules[0], 10);
	assert_int_equal(c.rules[1], 10);
	assert_int_equal(c.rules[2], 15);
	assert_int_equal(c.rules[3], 5);
}

static void names_of_dns_queries_are_read(void **state)
{
	static const char query[] =
		"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x03\x62\x61\x64\x00\x00\x01\x00\x01";
	struct fixture *f = *state;
	rule_msg *r;

	with_inspector(f);
	r = add_rule(f, "name", "[\\x57\\x77]\\x2e\\x62\\x61\\x64\\z");
	r->parts[0]->buffer = SINTER__PROGRAM__V1__INSPECT_PART__BUFFER__DNS_QUERY;
	drops(r);
	inspect_in(f, 0);
	load(f);
	send_text(f, SN_UDP, query, sizeof(query) - 1);
	assert_dropped(f, MATCHED);
	send_text(f, SN_UDP, query, 20); /* the name does not end */
	assert_sent(f, 1);
	send_text(f, SN_TCP, query, sizeof(query) - 1);
	assert_sent(f, 1);
	assert_passes(f, "www.bad");
}

/* A name of so many bytes 'a', in labels of one. */
static int letters(uint32_t labels, uint8_t *name)
{
	uint8_t message[600] = {[5] = 1};
	uint32_t at = 12;

	for (uint32_t i = 0; i < labels; i++) {
		message[at++] = 1;
		message[at++] = 'a';
	}
	return sn_dns_query_name(message, at + 1, name);
}

static void names_have_bounds(void **state)
{
	uint8_t name[SN_NAME_MAX], message[13] = {[5] = 1};

	(void)state;
	assert_int_equal(sn_dns_query_name(message, 13, name), 0); /* the root */
	assert_int_equal(sn_dns_query_name(message, 12, name), -1);
	assert_int_equal(sn_dns_query_name(message, 3, name), -1);
	message[2] = 0x80;
	assert_int_equal(sn_dns_query_name(message, 13, name), -1);
	message[2] = 0;
	message[5] = 0;
	assert_int_equal(sn_dns_query_name(message, 13, name), -1);
	message[5] = 1;
	message[12] = 0xc0;
	assert_int_equal(sn_dns_query_name(message, 13, name), -1);
	assert_int_equal(letters(128, name), 255);
	assert_int_equal(name[0], 'a');
	assert_int_equal(name[1], '.');
	assert_int_equal(letters(129, name), -1);
}

/* "evil.example" in a ClientHello, behind a session and another extension; the name ends at byte 80. */
static const uint8_t hello[] = "\x01\x00\x00\x50\x03\x03"
			       "01234567890123456789012345678901"
			       "\x04sess\x00\x02\x13\x01\x01\x00\x00\x21"
			       "\x00\x0a\x00\x04\x00\x02\x00\x1d"
			       "\x00\x00\x00\x11\x00\x0f\x00\x00\x0c"
			       "evil.example"
			       "\x00\x17\x00\x00";

/* The same in records of so many bytes. */
static uint32_t in_records(uint32_t size, uint8_t *to)
{
	uint32_t len = sizeof(hello) - 1, n = 0;

	for (uint32_t at = 0; at < len; at += size) {
		uint32_t part = len - at < size ? len - at : size;

		memcpy(to + n, (const uint8_t[]){22, 3, 1, 0, (uint8_t)part}, 5);
		memcpy(to + n + 5, hello + at, part);
		n += 5 + part;
	}
	return n;
}

static void servers_of_tls_are_read(void **state)
{
	const uint32_t whole = 80;
	uint8_t name[SN_NAME_MAX], bytes[1024];

	(void)state;
	for (uint32_t size = 1; size <= sizeof(hello); size++) {
		uint32_t len = in_records(size, bytes), first = 0;

		for (uint32_t n = 0; n <= len && !first; n++)
			if (sn_tls_server_name(bytes, n, name) >= 0)
				first = n;
		assert_int_equal(first, whole + 5 * ((whole + size - 1) / size));
		assert_int_equal(sn_tls_server_name(bytes, len, name), 12);
		assert_memory_equal(name, "evil.example", 12);
	}
	in_records(200, bytes);
	bytes[0] = 23;
	assert_int_equal(sn_tls_server_name(bytes, sizeof(hello) + 4, name), -1);
	bytes[0] = 22;
	bytes[5] = 2;
	assert_int_equal(sn_tls_server_name(bytes, sizeof(hello) + 4, name), -1);
}

static void assert_host(const char *text, const char *host)
{
	uint8_t name[SN_NAME_MAX];
	int len = sn_http_host((const uint8_t *)text, (uint32_t)strlen(text), name);

	if (!host) {
		assert_int_equal(len, -1);
		return;
	}
	assert_int_equal(len, strlen(host));
	assert_memory_equal(name, host, strlen(host));
}

static void hosts_of_http_are_read(void **state)
{
	(void)state;
	assert_host("GET / HTTP/1.1\r\nA: b\r\nhOsT: \tx.example \r\n", "x.example");
	assert_host("GET / HTTP/1.1\nHost:x.example:8080\nHost: y\n", "x.example");
	assert_host("POST /\nHost: [2001:db8::1]:80\n", "[2001:db8::1]");
	assert_host("GET /\nHost: 80\n", "80");
	assert_host("GET /\nHost: :80\n", "");
	assert_host("GET /\nHost:\n", "");
	assert_host("GET /\nHost: x", NULL); /* its line does not end */
	assert_host("GET /\n\nHost: x\n", NULL);
	assert_host("GET /\n\r\nHost: x\n", NULL);
	assert_host("get /\nHost: x\n", NULL);
	assert_host("GET\nHost: x\n", NULL);
	assert_host("ABCDEFGHIJKLMNOP /\nHost: x\n", "x");
	assert_host("ABCDEFGHIJKLMNOPQ /\nHost: x\n", NULL);
	assert_host("GET /\nHos: x\nHost", NULL);
	assert_host("", NULL);
}

/* Vectorscan 5.4.9 misses this expression in some places. */
static void what_repeats_is_found_in_each_place(void **state)
{
	static const char end[] = "aab!cc7";
	struct fixture *f = *state;
	char text[256];

	with_inspector(f);
	drops(add_rule(
		f, "repeats",
		"(?:\\x61)+(?:\\x62)?[\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e](?:\\x63)*[\\x30-\\x39]"));
	inspect_in(f, 0);
	load(f);
	for (uint32_t i = 0; i < sizeof(text) - sizeof(end); i++) {
		for (uint32_t k = 0; k < i; k++)
			text[k] = (char)('k' + dice(16));
		memcpy(text + i, end, sizeof(end));
		assert_matched(f, text);
		text[i + 2] = 'x';
		assert_passes(f, text);
	}
}

/* Counts are kept while rules have the same names, whatever they look for. */
static void counts_go_on_in_a_new_program(void **state)
{
	struct fixture *f = *state;
	rule_msg *r;

	with_inspector(f);
	r = add_rule(f, "evil", "\\x65\\x76\\x69\\x6c");
	drops(r);
	inspect_in(f, 0);
	load(f);
	assert_matched(f, "evil");
	r->parts[0]->expression = (char *)"(?:[\\x62\\x42]\\x61\\x64){2,9}\\x3f[\\x00-\\x7f]{3,200}\\z";
	load_warmed_up(f);
	assert_passes(f, "evil");
	assert_matched(f, "badBad?xyz");
	assert_int_equal(counts_of(f).rules[0], 2);
	assert_int_equal(counts_of(f).packets, 3);
	r->name = (char *)"another";
	load(f);
	assert_int_equal(counts_of(f).packets, 0);
}

static void what_cannot_be_compiled_is_told(void **state)
{
	struct fixture *f = *state;
	struct sn_program *p;

	with_inspector(f);
	add_rule(f, "evil", "(\\x65");
	inspect_in(f, 0);
	p = sn_program_create(f->msg, NULL, &f->err);
	assert_null(p);
	assert_non_null(strstr(f->err.text, "(ids/inspect): expression (\\x65: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_packet_of_a_known_flow_is_matched, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(all_parts_have_to_match_between_their_bounds, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(the_first_that_drops_or_else_marks_decides, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(names_of_dns_queries_are_read, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_repeats_is_found_in_each_place, open_fixture,
						close_fixture),
		cmocka_unit_test(names_have_bounds),
		cmocka_unit_test(servers_of_tls_are_read),
		cmocka_unit_test(hosts_of_http_are_read),
		cmocka_unit_test_setup_teardown(counts_go_on_in_a_new_program, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_cannot_be_compiled_is_told, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
