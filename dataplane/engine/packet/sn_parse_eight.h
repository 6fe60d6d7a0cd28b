/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PARSE_EIGHT_H
#define SN_PARSE_EIGHT_H

/*
 * Whether each of eight frames is plain, or a plain fragment, for sn_parse.c alone: a lane of a vector is a
 * frame, and a vector 32 bits of each. If one of them is neither, or the processor of the build has no AVX2,
 * they are looked at one by one.
 */

#include "sn_plain.h"

#define SN_EIGHT 8

#ifdef __AVX2__
#include <immintrin.h>

/* Words 0 to 3 of eight times 16 bytes. */
struct sn_columns {
	__m256i word[4];
};

static __rte_always_inline __m256i two_rows(const uint8_t *a, const uint8_t *b)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a)),
				       _mm_loadu_si128((const __m128i *)b), 1);
}

static __rte_always_inline struct sn_columns columns_of(const uint8_t *const row[SN_EIGHT], uint32_t at)
{
	__m256i a = two_rows(row[0] + at, row[4] + at), b = two_rows(row[1] + at, row[5] + at);
	__m256i c = two_rows(row[2] + at, row[6] + at), d = two_rows(row[3] + at, row[7] + at);
	__m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
	__m256i ab2 = _mm256_unpackhi_epi32(a, b), cd2 = _mm256_unpackhi_epi32(c, d);

	return (struct sn_columns){{
		_mm256_unpacklo_epi64(ab, cd),
		_mm256_unpackhi_epi64(ab, cd),
		_mm256_unpacklo_epi64(ab2, cd2),
		_mm256_unpackhi_epi64(ab2, cd2),
	}};
}

/* Bits that are not 0 where addresses, type, version or header length are not those of plain frames. */
static __rte_always_inline __m128i odd_ethernet(const uint8_t *const frame[SN_EIGHT], uint64_t mac)
{
	const uint64_t type = (uint64_t)rte_cpu_to_be_32(0x08004500) << 32;
	const __m128i want = _mm_set_epi64x((long long)type, (long long)mac);
	const __m128i care =
		_mm_set_epi64x((long long)((uint64_t)rte_cpu_to_be_32(0xffffff00) << 32), (1ll << 48) - 1);
	__m128i odd = _mm_setzero_si128();

	for (int i = 0; i < SN_EIGHT; i++)
		odd = _mm_or_si128(odd, _mm_xor_si128(_mm_loadu_si128((const __m128i *)frame[i]), want));
	return _mm_and_si128(odd, care);
}

/* All ones where the five words of the header do not have the sum that they should. */
static __rte_always_inline __m256i wrong_sum(__m256i a, __m256i b, __m256i c, __m256i d, __m256i e)
{
	const __m256i low = _mm256_set1_epi32(0xffff);
	__m256i sum = _mm256_add_epi32(_mm256_and_si256(a, low), _mm256_srli_epi32(a, 16));

	sum = _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_and_si256(b, low), _mm256_srli_epi32(b, 16)));
	sum = _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_and_si256(c, low), _mm256_srli_epi32(c, 16)));
	sum = _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_and_si256(d, low), _mm256_srli_epi32(d, 16)));
	sum = _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_and_si256(e, low), _mm256_srli_epi32(e, 16)));
	sum = _mm256_add_epi32(_mm256_and_si256(sum, low), _mm256_srli_epi32(sum, 16));
	return _mm256_xor_si256(_mm256_cmpeq_epi32(sum, low), _mm256_set1_epi32(-1));
}

/* All ones where an address is within one of the lanes from `first` to before `end`. In host order. */
static __rte_always_inline __m256i suspect(const struct sn_sources *s, __m256i address, int first, int end)
{
	__m256i odd = _mm256_setzero_si256();

	for (int i = first; i < end; i++) {
		__m256i behind = _mm256_sub_epi32(address, _mm256_set1_epi32((int)s->first[i]));
		__m256i span = _mm256_set1_epi32((int)s->span[i]);

		odd = _mm256_or_si256(odd, _mm256_cmpeq_epi32(_mm256_min_epu32(behind, span), behind));
	}
	return odd;
}

/* All ones where there is no transport header that ends within what the total length leaves for it. second,
 * fourth: words of that header. */
static __rte_always_inline __m256i wrong_transport(__m256i proto, __m256i total, __m256i second,
						   __m256i fourth)
{
	const __m256i big_endian = _mm256_set_epi8(-1, -1, 12, 13, -1, -1, 8, 9, -1, -1, 4, 5, -1, -1, 0, 1,
						   -1, -1, 12, 13, -1, -1, 8, 9, -1, -1, 4, 5, -1, -1, 0, 1);
	__m256i tcp = _mm256_cmpeq_epi32(proto, _mm256_set1_epi32(SN_TCP));
	__m256i udp = _mm256_cmpeq_epi32(proto, _mm256_set1_epi32(SN_UDP));
	__m256i room = _mm256_sub_epi32(total, _mm256_set1_epi32(20));
	__m256i least = _mm256_blendv_epi8(_mm256_set1_epi32(20), _mm256_set1_epi32(8), udp);
	__m256i need = _mm256_srli_epi32(_mm256_and_si256(fourth, _mm256_set1_epi32(0xf0)), 2), wrong;

	need = _mm256_blendv_epi8(need, _mm256_shuffle_epi8(second, big_endian), udp);
	wrong = _mm256_cmpgt_epi32(need, room);
	wrong = _mm256_or_si256(wrong, _mm256_cmpgt_epi32(least, need));
	return _mm256_or_si256(wrong, _mm256_xor_si256(_mm256_or_si256(tcp, udp), _mm256_set1_epi32(-1)));
}

/* All ones where the IP header does not end within the total length, or that not within the frame. */
static __rte_always_inline __m256i wrong_lengths(__m256i total, __m256i frame_len)
{
	__m256i wrong =
		_mm256_cmpgt_epi32(total, _mm256_sub_epi32(frame_len, _mm256_set1_epi32(SN_ETHER_LEN)));

	return _mm256_or_si256(wrong, _mm256_cmpgt_epi32(_mm256_set1_epi32(20), total));
}

/* All ones where the word with the fragment's offset says that it is not the first. */
static __rte_always_inline __m256i later_fragments(__m256i word)
{
	__m256i offset = _mm256_and_si256(word, _mm256_set1_epi32((int)0xff1f0000));

	return _mm256_xor_si256(_mm256_cmpeq_epi32(offset, _mm256_setzero_si256()), _mm256_set1_epi32(-1));
}

/* Bit per lane that has ones. */
static __rte_always_inline uint64_t bits_of(__m256i lanes)
{
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lanes));
}

/* frame: of each the first bytes, of which SN_PLAIN_MIN can be read. *fragments: which are plain fragments.
 */
static __rte_always_inline bool eight_are_plain(const uint8_t *const frame[SN_EIGHT], __m256i frame_len,
						uint64_t mac, const struct sn_sources *sources,
						uint64_t *fragments)
{
	const __m256i swap = _mm256_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14,
					     15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	struct sn_columns ip = columns_of(frame, SN_PLAIN_IP), l4 = columns_of(frame, SN_PLAIN_L4);
	__m256i dst, proto, total, odd, odd_here;
	uint32_t words[SN_EIGHT];

	for (int i = 0; i < SN_EIGHT; i++)
		memcpy(&words[i], frame[i] + SN_PLAIN_DST, 4);
	dst = _mm256_loadu_si256((const __m256i *)words);
	proto = _mm256_and_si256(_mm256_srli_epi32(ip.word[2], 8), _mm256_set1_epi32(0xff));
	total = _mm256_and_si256(_mm256_shuffle_epi8(ip.word[0], swap), _mm256_set1_epi32(0xffff));
	odd = wrong_lengths(total, frame_len);
	odd = _mm256_or_si256(odd, wrong_sum(ip.word[0], ip.word[1], ip.word[2], ip.word[3], dst));
	odd = _mm256_or_si256(odd,
			      suspect(sources, _mm256_shuffle_epi8(ip.word[3], swap), 0, SN_SOURCE_LANES));
	odd = _mm256_or_si256(odd,
			      suspect(sources, _mm256_shuffle_epi8(dst, swap), SN_SOURCE_LANES, SN_LANES));
	odd = _mm256_or_si256(odd, _mm256_zextsi128_si256(odd_ethernet(frame, mac)));
	odd_here = wrong_transport(proto, total, l4.word[1], l4.word[3]);
	odd_here =
		_mm256_or_si256(odd_here, _mm256_and_si256(ip.word[1], _mm256_set1_epi32((int)0xff3f0000)));
	if (unlikely(!_mm256_testz_si256(odd_here, odd_here))) {
		__m256i later = later_fragments(ip.word[1]);

		odd = _mm256_or_si256(odd, _mm256_andnot_si256(later, odd_here));
		*fragments = bits_of(later);
	}
	return _mm256_testz_si256(odd, odd);
}

/* Whether each of the eight is plain, or a plain fragment; tells which are those, and adds the bytes of all
 * to *bytes if they are. */
static __rte_always_inline bool sn_eight_are_plain(struct rte_mbuf *const *m, uint64_t mac,
						   const struct sn_sources *sources, uint64_t *fragments,
						   uint64_t *bytes)
{
	const uint8_t *frame[SN_EIGHT], *mbuf[SN_EIGHT];
	struct sn_columns lengths; /* packet type, length of the packet, of the segment, … */
	__m256i segment, odd;
	uint32_t each[SN_EIGHT], sum = 0;
	uint64_t flags = 0;

	for (int i = 0; i < SN_EIGHT; i++) {
		flags |= m[i]->ol_flags;
		mbuf[i] = (const uint8_t *)m[i];
		frame[i] = rte_pktmbuf_mtod(m[i], const uint8_t *);
	}
	lengths = columns_of(mbuf, offsetof(struct rte_mbuf, packet_type));
	segment = _mm256_and_si256(lengths.word[2], _mm256_set1_epi32(0xffff));
	odd = _mm256_xor_si256(segment, lengths.word[1]); /* several segments */
	odd = _mm256_or_si256(odd, _mm256_cmpgt_epi32(_mm256_set1_epi32(SN_PLAIN_MIN), segment));
	if (unlikely(flags & RTE_MBUF_F_RX_VLAN_STRIPPED) || unlikely(!_mm256_testz_si256(odd, odd)) ||
	    unlikely(!eight_are_plain(frame, segment, mac, sources, fragments)))
		return false;
	_mm256_storeu_si256((__m256i *)each, segment);
	for (int i = 0; i < SN_EIGHT; i++)
		sum += each[i];
	*bytes += sum;
	return true;
}

#else

static inline bool sn_eight_are_plain(struct rte_mbuf *const *m, uint64_t mac,
				      const struct sn_sources *sources, uint64_t *fragments, uint64_t *bytes)
{
	(void)m;
	(void)mac;
	(void)sources;
	(void)fragments;
	(void)bytes;
	return false;
}

#endif

#endif /* SN_PARSE_EIGHT_H */
