/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program of a full table has tens of megabytes, and a changed route waits until its hash is known. The
 * processor's instructions find it in a fifth of the time.
 */

#include "sn_sha256.h"

#include <sha2.h>

void sn_sha256_plain(const void *data, size_t len, uint8_t hash[SN_SHA256_LEN])
{
	SHA2_CTX context;

	SHA256Init(&context);
	SHA256Update(&context, data, len);
	SHA256Final(hash, &context);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK  64u
#define LENGTH 8u /* of the length behind the last byte */

#define target_sha __attribute__((target("sha,sse4.1,ssse3")))

/* FIPS 180-4, section 4.2.2 */
static const uint32_t constants[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The state as the instructions have it: the words A, B, E, F and C, D, G, H, the first one highest. */
struct state {
	__m128i abef, cdgh;
};

/* Four rounds; the four words of the message schedule are there. */
target_sha static inline void rounds(struct state *s, __m128i words, unsigned int first)
{
	__m128i sum = _mm_add_epi32(words, _mm_load_si128((const __m128i *)&constants[first]));

	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

target_sha static void blocks(struct state *s, const uint8_t *data, size_t n)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

	for (; n > 0; n--, data += BLOCK) {
		struct state before = *s;
		__m128i w[4];

		for (unsigned int i = 0; i < 4; i++) {
			w[i] = _mm_loadu_si128((const __m128i *)(data + 16 * i));
			w[i] = _mm_shuffle_epi8(w[i], swap);
			rounds(s, w[i], 4 * i);
		}
		for (unsigned int i = 4; i < 16; i++) { /* w[i % 4] are the words of 16 rounds ago */
			__m128i last = w[(i + 3) % 4];
			__m128i next = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);

			next = _mm_add_epi32(next, _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
			w[i % 4] = _mm_sha256msg2_epu32(next, last);
			rounds(s, w[i % 4], 4 * i);
		}
		s->abef = _mm_add_epi32(s->abef, before.abef);
		s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
	}
}

target_sha static void sha256_fast(const uint8_t *data, size_t len, uint8_t hash[SN_SHA256_LEN])
{
	/* FIPS 180-4, section 5.3.3 */
	struct state s = {
		.abef = _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
		.cdgh = _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19),
	};
	size_t rest = len % BLOCK, end = rest + 1 + LENGTH <= BLOCK ? BLOCK : 2 * BLOCK;
	uint8_t last[2 * BLOCK] = {0};
	uint32_t out[8];

	blocks(&s, data, len / BLOCK);
	if (rest > 0)
		memcpy(last, data + len - rest, rest);
	last[rest] = 0x80;
	for (unsigned int i = 0; i < LENGTH; i++)
		last[end - 1 - i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
	blocks(&s, last, end / BLOCK);
	out[0] = (uint32_t)_mm_extract_epi32(s.abef, 3);
	out[1] = (uint32_t)_mm_extract_epi32(s.abef, 2);
	out[2] = (uint32_t)_mm_extract_epi32(s.cdgh, 3);
	out[3] = (uint32_t)_mm_extract_epi32(s.cdgh, 2);
	out[4] = (uint32_t)_mm_extract_epi32(s.abef, 1);
	out[5] = (uint32_t)_mm_extract_epi32(s.abef, 0);
	out[6] = (uint32_t)_mm_extract_epi32(s.cdgh, 1);
	out[7] = (uint32_t)_mm_extract_epi32(s.cdgh, 0);
	for (unsigned int i = 0; i < SN_SHA256_LEN; i++)
		hash[i] = (uint8_t)(out[i / 4] >> (24 - i % 4 * 8));
}

static bool has_instructions;

/* Asked once: in a virtual machine the question itself costs as much as a hundred short hashes. */
__attribute__((constructor)) static void look_for_instructions(void)
{
	unsigned int eax, ebx, ecx, edx;

	__builtin_cpu_init();
	has_instructions = __builtin_cpu_supports("sse4.1") &&
			   __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & bit_SHA) != 0;
}

void sn_sha256(const void *data, size_t len, uint8_t hash[SN_SHA256_LEN])
{
	if (has_instructions)
		sha256_fast(data, len, hash);
	else
		sn_sha256_plain(data, len, hash);
}

#else

void sn_sha256(const void *data, size_t len, uint8_t hash[SN_SHA256_LEN])
{
	sn_sha256_plain(data, len, hash);
}

#endif
