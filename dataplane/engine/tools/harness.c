/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinter-harness: the engine on standard input and output. Frames as on the
 * control socket: Requests in, Responses out, one for one.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>

#include "sn_frame.h"
#include "sn_harness.h"
#include "sn_log.h"
#include "sn_request.h"

static int write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Answers the whole frames of the buffer. */
static int answer(struct sn_requests *requests, struct sn_frame_buffer *in, int out, struct sn_error *err)
{
	while (!requests->shutdown) {
		const uint8_t *message;
		uint8_t *reply;
		size_t len, reply_len;
		int rc;

		switch (sn_frame_next(in, &message, &len)) {
		case SN_FRAME_PARTIAL:
			return 0;
		case SN_FRAME_TOO_LONG:
			return sn_fail(err, "message of %zu bytes, at most %u", len, SN_FRAME_MAX);
		case SN_FRAME_WHOLE:
			break;
		}
		if (sn_requests_answer(requests, message, len, &reply, &reply_len) != 0)
			return sn_fail(err, "no memory for an answer");
		sn_frame_consume(in, len);
		rc = write_all(out, reply, reply_len);
		free(reply);
		if (rc != 0)
			return sn_fail(err, "standard output: %s", strerror(errno));
	}
	return 0;
}

static int serve(struct sn_requests *requests, int in_fd, int out_fd, struct sn_error *err)
{
	struct sn_frame_buffer in = {0};
	int rc = 0;

	while (rc == 0 && !requests->shutdown) {
		size_t room;
		uint8_t *to = sn_frame_room(&in, &room);
		ssize_t n;

		if (to == NULL) {
			rc = sn_fail(err, "no memory for a request");
			break;
		}
		n = read(in_fd, to, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = sn_fail(err, "standard input: %s", strerror(errno));
		if (n <= 0)
			break;
		in.len += (size_t)n;
		rc = answer(requests, &in, out_fd, err);
	}
	if (rc == 0 && !requests->shutdown && in.len > 0)
		rc = sn_fail(err, "standard input ends within a message");
	sn_frame_free(&in);
	return rc;
}

static const char usage[] =
	"usage: sinter-harness [--workers N] [--shards host|address:BIT|rss] [--cache N] <requests "
	">responses\n"
	"\n"
	"The packet engine without devices: frames of control.proto's Request and Response,\n"
	"4 bytes big-endian length before each. Packets and clock come by Inject. Several\n"
	"workers (at most 64) receive them by turns; with --shards rss as a device that hashes\n"
	"gives them to its queues. Each worker keeps N decisions whole, 65536 unless told: few\n"
	"show what becomes of more flows.\n";

static int parse_workers(const char *text, unsigned int *workers, struct sn_error *err)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || n < 1 || n > SN_WORKERS_MAX)
		return sn_fail(err, "workers %s: want a number from 1 to %d", text, SN_WORKERS_MAX);
	*workers = (unsigned int)n;
	return 0;
}

static int parse_cache(const char *text, uint32_t *entries, struct sn_error *err)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || n < 8 || n > 65536 || (n & (n - 1)) != 0)
		return sn_fail(err, "cache %s: want a power of two from 8 to 65536", text);
	*entries = (uint32_t)n;
	return 0;
}

/* 0: go on, 1: done, -1: error. */
static int parse_flags(int argc, char **argv, struct sn_harness_config *config, struct sn_error *err)
{
	static const struct option options[] = {
		{"workers", required_argument, NULL, 'w'},
		{"shards", required_argument, NULL, 's'},
		{"cache", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt, rc = 0;

	while (rc == 0 && (opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'w':
			rc = parse_workers(optarg, &config->n_workers, err);
			break;
		case 's':
			rc = sn_partitioning_parse(optarg, &config->partitioning, err);
			break;
		case 'c':
			rc = parse_cache(optarg, &config->cache_entries, err);
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			return sn_fail(err, "see --help");
		}
	}
	if (rc == 0 && optind < argc)
		return sn_fail(err, "\"%s\": no such argument; see --help", argv[optind]);
	return rc;
}

int main(int argc, char **argv)
{
	static struct sn_harness harness;
	struct sn_requests requests;
	struct sn_harness_config config = {.n_workers = 1};
	struct sn_error err = {0};
	int out, rc = parse_flags(argc, argv, &config, &err);

	if (rc != 0) {
		if (rc < 0)
			sn_log(SN_LOG_ERROR, "%s", err.text);
		return rc < 0 ? 2 : EXIT_SUCCESS;
	}
	/* Libraries that print must not print among the answers. */
	out = dup(STDOUT_FILENO);
	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		sn_log(SN_LOG_ERROR, "standard output: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	sn_log_limit(SN_LOG_ERROR); /* refusals are in the answers */
	rc = sn_harness_eal(argv[0], &err);
	if (rc == 0)
		rc = sn_harness_open(&harness, &config, &err);
	if (rc == 0) {
		sn_requests_init(&requests, harness.engine, sn_harness_inject, &harness);
		rc = serve(&requests, STDIN_FILENO, out, &err);
		sn_requests_free(&requests);
	}
	if (rc != 0)
		sn_log(SN_LOG_ERROR, "%s", err.text);
	sn_harness_close(&harness);
	rte_eal_cleanup();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
