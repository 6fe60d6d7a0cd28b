/* SPDX-License-Identifier: Apache-2.0 */
/* Names in payloads. What is read may be anything: no byte beyond it is. */

#include <stdbool.h>
#include <string.h>

#include "sn_inspect.h"
#include "sn_parse.h"

/* ---- DNS (RFC 1035 section 4.1) ---- */

#define DNS_HEADER 12
#define LABEL_MAX  63

int sn_dns_query_name(const uint8_t *message, uint32_t len, uint8_t *name)
{
	uint32_t at = DNS_HEADER, n = 0;

	if (len < DNS_HEADER || message[2] & 0x80 || sn_load16(message + 4) == 0)
		return -1;
	while (at < len) {
		uint32_t label = message[at++];

		if (label == 0)
			return (int)n;
		if (label > LABEL_MAX || len - at < label || n + 1 + label > SN_NAME_MAX)
			return -1;
		if (n > 0)
			name[n++] = '.';
		memcpy(name + n, message + at, label);
		n += label;
		at += label;
	}
	return -1;
}

/* ---- TLS (RFC 8446 sections 4.1.2 and 5.1, RFC 6066 section 3) ---- */

#define TLS_HANDSHAKE	 22
#define TLS_CLIENT_HELLO 1

/* Bytes of handshake messages, which may go on in further records. */
struct handshake {
	const uint8_t *bytes;
	uint32_t len, at;
	uint32_t left; /* in the record */
	bool ended;    /* there is no further byte, or it is none of a handshake */
};

static uint8_t next_byte(struct handshake *h)
{
	while (!h->ended && h->left == 0) {
		h->ended = h->len - h->at < 5 || h->bytes[h->at] != TLS_HANDSHAKE || h->bytes[h->at + 1] != 3;
		if (h->ended)
			return 0;
		h->left = sn_load16(h->bytes + h->at + 3);
		h->at += 5;
	}
	h->ended |= h->at == h->len;
	if (h->ended)
		return 0;
	h->left--;
	return h->bytes[h->at++];
}

static uint32_t next_number(struct handshake *h, uint32_t bytes)
{
	uint32_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | next_byte(h);
	return n;
}

static void skip(struct handshake *h, uint32_t n)
{
	while (n-- > 0 && !h->ended)
		next_byte(h);
}

/* The extension's: the first name in its list. */
static int server_name(struct handshake *h, uint8_t *name)
{
	uint32_t type, len;

	skip(h, 2); /* of the list */
	type = next_number(h, 1);
	len = next_number(h, 2);
	if (h->ended || type != 0 || len > SN_NAME_MAX)
		return -1;
	for (uint32_t i = 0; i < len; i++)
		name[i] = next_byte(h);
	return h->ended ? -1 : (int)len;
}

int sn_tls_server_name(const uint8_t *bytes, uint32_t len, uint8_t *name)
{
	struct handshake h = {.bytes = bytes, .len = len};
	uint32_t left;

	if (next_number(&h, 1) != TLS_CLIENT_HELLO)
		return -1;
	skip(&h, 3 + 2 + 32);	      /* length, version, random */
	skip(&h, next_number(&h, 1)); /* session */
	skip(&h, next_number(&h, 2)); /* cipher suites */
	skip(&h, next_number(&h, 1)); /* compression */
	left = next_number(&h, 2);
	while (!h.ended && left >= 4) {
		uint32_t type = next_number(&h, 2), size = next_number(&h, 2);

		if (size > left - 4)
			return -1;
		if (type == 0)
			return server_name(&h, name);
		skip(&h, size);
		left -= 4 + size;
	}
	return -1;
}

/* ---- HTTP (RFC 9112) ---- */

#define METHOD_MAX 16

/* The line that begins at a byte, without its end; NULL: it does not end. *next is where the one behind it
 * begins. */
static const uint8_t *line_at(const uint8_t *bytes, uint32_t len, uint32_t at, uint32_t *size, uint32_t *next)
{
	const uint8_t *end = at < len ? memchr(bytes + at, '\n', len - at) : NULL;

	if (!end)
		return NULL;
	*size = (uint32_t)(end - (bytes + at));
	*next = at + *size + 1;
	if (*size > 0 && end[-1] == '\r')
		--*size;
	return bytes + at;
}

static bool is_request(const uint8_t *line, uint32_t size)
{
	uint32_t n = 0;

	while (n < size && n <= METHOD_MAX && line[n] >= 'A' && line[n] <= 'Z')
		n++;
	return n >= 1 && n <= METHOD_MAX && n < size && line[n] == ' ';
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* Without blanks around it and a port behind it. */
static int host_of(const uint8_t *value, uint32_t size, uint8_t *name)
{
	uint32_t digits = 0;

	for (; size > 0 && is_blank(value[0]); size--)
		value++;
	while (size > 0 && is_blank(value[size - 1]))
		size--;
	while (digits < size && value[size - 1 - digits] >= '0' && value[size - 1 - digits] <= '9')
		digits++;
	if (digits > 0 && digits < size && value[size - 1 - digits] == ':')
		size -= digits + 1;
	if (size > SN_NAME_MAX)
		return -1;
	memcpy(name, value, size);
	return (int)size;
}

int sn_http_host(const uint8_t *bytes, uint32_t len, uint8_t *name)
{
	static const char field[] = "host:";
	uint32_t size = 0, next = 0;
	const uint8_t *line = line_at(bytes, len, 0, &size, &next);

	if (!line || !is_request(line, size))
		return -1;
	while ((line = line_at(bytes, len, next, &size, &next)) && size > 0)
		if (size >= sizeof(field) - 1 &&
		    strncasecmp((const char *)line, field, sizeof(field) - 1) == 0)
			return host_of(line + sizeof(field) - 1, size - (uint32_t)sizeof(field) + 1, name);
	return -1;
}
