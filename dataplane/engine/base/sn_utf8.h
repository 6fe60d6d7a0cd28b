/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_UTF8_H
#define SN_UTF8_H

#include <stdbool.h>

/* Whether a string is UTF-8 (RFC 3629), as protobuf's strings must be; protobuf-c does not look. */
bool sn_utf8_valid(const char *text);

#endif /* SN_UTF8_H */
