/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

#define MAGIC_MICROSECONDS 0xa1b2c3d4
#define MAGIC_NANOSECONDS  0xa1b23c4d
#define LINKTYPE_ETHERNET  1
#define SLOT		   64u

struct header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snaplen, linktype;
};

struct record {
	uint32_t seconds, fraction, captured, len;
};

struct file {
	const uint8_t *data;
	size_t len;
};

static int map(struct file *file, const char *path, struct sn_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *data = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 0)
		data = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (fd >= 0)
		close(fd);
	else
		return sn_fail(err, "%s: %s", path, strerror(errno));
	if (data == MAP_FAILED)
		return sn_fail(err, "%s: not a file with bytes", path);
	*file = (struct file){data, (size_t)stat.st_size};
	return 0;
}

/* The next frame; its length, 0 at the end of the file, -1 if the file is cut off or a frame has a wrong
 * length. */
static int next(const struct file *file, size_t *at, const uint8_t **bytes)
{
	struct record record;

	if (*at == file->len)
		return 0;
	if (file->len - *at < sizeof(record))
		return -1;
	memcpy(&record, file->data + *at, sizeof(record));
	*at += sizeof(record);
	if (record.captured < RTE_ETHER_HDR_LEN || record.captured > SN_CAPTURE_FRAME_MAX ||
	    record.captured > file->len - *at)
		return -1;
	*bytes = file->data + *at;
	*at += record.captured;
	return (int)record.captured;
}

/* Counts frames, and finds the size of their slots. */
static int measure(const struct file *file, const char *path, struct sn_capture *capture,
		   struct sn_error *err)
{
	size_t at = sizeof(struct header);
	struct header header;
	const uint8_t *bytes = NULL;
	int len;

	if (file->len < sizeof(header))
		return sn_fail(err, "%s: %zu bytes are no capture: want a pcap file", path, file->len);
	memcpy(&header, file->data, sizeof(header));
	if ((header.magic != MAGIC_MICROSECONDS && header.magic != MAGIC_NANOSECONDS) ||
	    header.linktype != LINKTYPE_ETHERNET)
		return sn_fail(
			err,
			"%s: not a pcap file of Ethernet frames (tcpdump -w and editcap -F pcap make such)",
			path);
	while ((len = next(file, &at, &bytes)) > 0 && capture->n < SN_CAPTURE_FRAMES_MAX) {
		capture->slot = RTE_MAX(capture->slot, RTE_ALIGN_CEIL((uint32_t)len, SLOT));
		capture->n++;
	}
	if (len != 0)
		return sn_fail(err,
			       "%s: frame %u is cut off, or is not of %u to %u bytes, or is one too many",
			       path, capture->n + 1, RTE_ETHER_HDR_LEN, SN_CAPTURE_FRAME_MAX);
	if (capture->n == 0)
		return sn_fail(err, "%s: no frames", path);
	return 0;
}

/* The protocol's checksum, or 0 for another protocol, a fragment, or UDP without a checksum. */
static uint64_t layer4_flags(const struct rte_ipv4_hdr *ip, const uint8_t *payload, size_t len,
			     uint32_t *type)
{
	size_t want = ip->next_proto_id == IPPROTO_TCP ? 20 : 8;
	uint32_t sum = rte_ipv4_phdr_cksum(ip, 0);

	if (ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) {
		*type |= RTE_PTYPE_L4_FRAG;
		return 0;
	}
	if (len < want || (ip->next_proto_id != IPPROTO_TCP && ip->next_proto_id != IPPROTO_UDP))
		return 0;
	*type |= ip->next_proto_id == IPPROTO_TCP ? RTE_PTYPE_L4_TCP : RTE_PTYPE_L4_UDP;
	if (ip->next_proto_id == IPPROTO_UDP && payload[6] == 0 && payload[7] == 0)
		return 0;
	sum += rte_raw_cksum(payload, len);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

/* bytes has room for a slot, so that headers may be read. */
static void describe(const uint8_t *bytes, struct sn_capture_frame *frame)
{
	const struct rte_ether_hdr *ether = (const void *)bytes;
	const struct rte_ipv4_hdr *ip = (const void *)(ether + 1);
	size_t room = frame->len - sizeof(*ether), header = rte_ipv4_hdr_len(ip);

	frame->packet_type = RTE_PTYPE_L2_ETHER;
	if (ether->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
		frame->packet_type |= RTE_PTYPE_L3_IPV6;
	if (ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) || room < sizeof(*ip) ||
	    header < sizeof(*ip) || header > room)
		return;
	frame->packet_type |= header == sizeof(*ip) ? RTE_PTYPE_L3_IPV4 : RTE_PTYPE_L3_IPV4_EXT;
	frame->ol_flags = rte_raw_cksum(ip, header) == 0xffff ? RTE_MBUF_F_RX_IP_CKSUM_GOOD
							      : RTE_MBUF_F_RX_IP_CKSUM_BAD;
	if (rte_be_to_cpu_16(ip->total_length) >= header && rte_be_to_cpu_16(ip->total_length) <= room)
		frame->ol_flags |=
			layer4_flags(ip, (const uint8_t *)ip + header,
				     rte_be_to_cpu_16(ip->total_length) - header, &frame->packet_type);
}

static int fill(struct sn_capture *capture, const struct file *file)
{
	size_t at = sizeof(struct header);
	const uint8_t *bytes = NULL;

	capture->frames = rte_zmalloc("replay frames", capture->n * sizeof(*capture->frames), 64);
	capture->bytes = rte_zmalloc("replay bytes", (size_t)capture->n * capture->slot, 64);
	if (capture->frames == NULL || capture->bytes == NULL)
		return -1;
	for (uint32_t i = 0; i < capture->n; i++) {
		uint8_t *slot = capture->bytes + (size_t)i * capture->slot;

		capture->frames[i].len =
			(uint32_t)next(file, &at, &bytes); /* measure() saw that it is right */
		memcpy(slot, bytes, capture->frames[i].len);
		describe(slot, &capture->frames[i]);
	}
	return 0;
}

int sn_capture_read(struct sn_capture *capture, const char *path, struct sn_error *err)
{
	struct file file = {0};
	int rc;

	*capture = (struct sn_capture){0};
	if (map(&file, path, err) != 0)
		return -1;
	rc = measure(&file, path, capture, err);
	if (rc == 0 && fill(capture, &file) != 0)
		rc = sn_fail(err, "%s: no memory for %u frames of %u bytes: want %zu MB of huge pages", path,
			     capture->n, capture->slot,
			     ((size_t)capture->n * (capture->slot + 16) >> 20) + 1);
	munmap((void *)(uintptr_t)file.data, file.len);
	if (rc != 0)
		sn_capture_free(capture);
	return rc;
}

void sn_capture_free(struct sn_capture *capture)
{
	rte_free(capture->frames);
	rte_free(capture->bytes);
	*capture = (struct sn_capture){0};
}
