/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHA256_H
#define SN_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SN_SHA256_LEN 32

/* SHA-256 (FIPS 180-4) of some bytes, by the processor's instructions for it if it has them. */
void sn_sha256(const void *data, size_t len, uint8_t hash[SN_SHA256_LEN]);

/* The same without them. */
void sn_sha256_plain(const void *data, size_t len, uint8_t hash[SN_SHA256_LEN]);

#endif /* SN_SHA256_H */
