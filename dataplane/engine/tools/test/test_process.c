/* SPDX-License-Identifier: Apache-2.0 */
/* sinter-engine from start to end: devices, control socket, signals. Its path is in SINTER_ENGINE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample.h"
#include "sn_file.h"
#include "sn_frame.h"
#include "sn_plan.h"
#include "sn_program.h"
#include "sn_state.h"

#define DEADLINE_S 30
#define PACKETS	   100
#define NAME_LEN   96

struct fixture {
	char folder[64];
	char socket[NAME_LEN], program[NAME_LEN], log[NAME_LEN], in[NAME_LEN], out[NAME_LEN];
	struct sn_arena arena;
	pid_t engine;
	int fd; /* control */
};

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int open_fixture(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->folder, "/tmp/sinter-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->socket, NAME_LEN, "%s/engine.sock", f->folder);
	snprintf(f->program, NAME_LEN, "%s/program.pb", f->folder);
	snprintf(f->log, NAME_LEN, "%s/log", f->folder);
	snprintf(f->in, NAME_LEN, "%s/in.pcap", f->folder);
	snprintf(f->out, NAME_LEN, "%s/out.pcap", f->folder);
	sn_arena_init(&f->arena);
	f->fd = -1;
	*state = f;
	return 0;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;

	if (f->fd >= 0)
		close(f->fd);
	if (f->engine > 0) {
		kill(f->engine, SIGKILL);
		waitpid(f->engine, NULL, 0);
	}
	unlink(f->socket);
	unlink(f->program);
	unlink(f->log);
	unlink(f->in);
	unlink(f->out);
	rmdir(f->folder);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

/* more: further flags, NULL behind the last; or NULL. */
static void start_with(struct fixture *f, const char *bind_a, const char *bind_b, const char *const *more)
{
	const char *engine = getenv("SINTER_ENGINE");
	const char *argv[32] = {engine, "--socket", f->socket, "--no-huge", "--memory",
				"256",	"--bind",   bind_a,    "--bind",    bind_b};
	size_t n = 10;

	assert_non_null(engine);
	if (access(f->program, F_OK) == 0) {
		argv[n++] = "--program";
		argv[n++] = f->program;
	}
	while (more != NULL && *more != NULL)
		argv[n++] = *more++;
	f->engine = fork();
	assert_true(f->engine >= 0);
	if (f->engine == 0) {
		int log = open(f->log, O_CREAT | O_WRONLY | O_APPEND, 0600);

		dup2(log, STDERR_FILENO);
		dup2(log, STDOUT_FILENO);
		execv(engine, (char **)argv);
		_exit(127);
	}
}

static void start(struct fixture *f, const char *bind_a, const char *bind_b)
{
	start_with(f, bind_a, bind_b, NULL);
}

/* Shows what the engine said, and fails. */
static void fail_with_log(const struct fixture *f, const char *what)
{
	struct sn_error err;
	uint8_t *text = NULL;
	size_t len = 0;

	if (sn_file_read(f->log, &text, &len, &err) == 0)
		print_error("%.*s", (int)len, (const char *)text);
	free(text);
	fail_msg("%s", what);
}

static void dial(struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	time_t deadline = time(NULL) + DEADLINE_S;

	strcpy(address.sun_path, f->socket);
	f->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	while (connect(f->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (waitpid(f->engine, NULL, WNOHANG) == f->engine) {
			f->engine = 0;
			fail_with_log(f, "the engine ended before it served its control socket");
		}
		if (time(NULL) > deadline)
			fail_with_log(f, "the engine does not serve its control socket");
		nap();
	}
}

static void read_all(int fd, uint8_t *to, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, to, len);

		assert_true(n > 0);
		to += n;
		len -= (size_t)n;
	}
}

static Sinter__Control__V1__Response *ask(struct fixture *f, const Sinter__Control__V1__Request *request)
{
	size_t len = sinter__control__v1__request__get_packed_size(request);
	uint8_t header[SN_FRAME_HEADER], *bytes = malloc(len + SN_FRAME_HEADER);
	Sinter__Control__V1__Response *response;

	sn_frame_put_length(bytes, len);
	sinter__control__v1__request__pack(request, bytes + SN_FRAME_HEADER);
	assert_int_equal(write(f->fd, bytes, len + SN_FRAME_HEADER), len + SN_FRAME_HEADER);
	free(bytes);
	read_all(f->fd, header, sizeof(header));
	len = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
	bytes = malloc(len + 1);
	read_all(f->fd, bytes, len);
	response = sinter__control__v1__response__unpack(&f->arena.allocator, len, bytes);
	free(bytes);
	assert_non_null(response);
	return response;
}

static Sinter__Control__V1__Stats *get_stats(struct fixture *f)
{
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetStats get = SINTER__CONTROL__V1__GET_STATS__INIT;

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_STATS;
	request.get_stats = &get;
	return ask(f, &request)->stats;
}

static void expect_clean_end(struct fixture *f)
{
	time_t deadline = time(NULL) + DEADLINE_S;
	int status = 0;

	while (waitpid(f->engine, &status, WNOHANG) == 0) {
		if (time(NULL) > deadline)
			fail_with_log(f, "the engine does not end");
		nap();
	}
	f->engine = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_with_log(f, "the engine did not end cleanly");
	assert_int_not_equal(access(f->socket, F_OK), 0);
}

static void a_program_comes_by_the_socket_and_the_engine_ends_on_request(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__Hello hello = SINTER__CONTROL__V1__HELLO__INIT;
	Sinter__Control__V1__Load load = SINTER__CONTROL__V1__LOAD__INIT;
	Sinter__Program__V1__Program *program = sn_sample_wire(&f->arena);
	Sinter__Control__V1__Shutdown shutdown = SINTER__CONTROL__V1__SHUTDOWN__INIT;
	Sinter__Control__V1__Response *response;
	Sinter__Control__V1__Stats *stats;
	time_t deadline = time(NULL) + DEADLINE_S;

	start(f, "b=net_ring0", "a=net_null0");
	dial(f);
	hello.schema = SN_SCHEMA;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_HELLO;
	request.hello = &hello;
	response = ask(f, &request);
	assert_string_equal(response->error, "");
	assert_int_equal(response->hello->n_ports, 2);

	load.program = sn_sample_encode(&f->arena, program);
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	for (int i = 0; i < 20; i++) { /* a swap is nothing special */
		response = ask(f, &request);
		assert_string_equal(response->error, "");
		assert_int_equal(response->load->hash.len, SN_HASH_LEN);
	}

	/* Its ports are in the chain's order now; net_null sends zeros, which are for nobody. */
	do {
		stats = get_stats(f);
		assert_string_equal(stats->ports[0]->interface, "a");
		assert_true(time(NULL) < deadline);
	} while (stats->n_drops == 0);
	assert_string_equal(stats->drops[0]->reason, "other-host");
	assert_true(stats->ports[0]->rx_packets > 0);
	assert_int_equal(stats->ports[1]->rx_packets, 0);

	program->interfaces[0]->name = (char *)"dmz";
	load.program = sn_sample_encode(&f->arena, program);
	response = ask(f, &request);
	assert_string_equal(response->error,
			    "interface dmz has no device: start the engine with --bind dmz=<device>");
	program->interfaces[0]->name = (char *)"a";
	program->interfaces[0]->mtu = 9000;
	load.program = sn_sample_encode(&f->arena, program);
	response = ask(f, &request);
	assert_non_null(strstr(response->error, "MTU 9000"));

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_SHUTDOWN;
	request.shutdown = &shutdown;
	ask(f, &request);
	expect_clean_end(f);
}

static void write_program(const struct fixture *f, const Sinter__Program__V1__Program *program)
{
	size_t len = sinter__program__v1__program__get_packed_size(program);
	uint8_t *bytes = malloc(len);
	FILE *file = fopen(f->program, "wb");

	sinter__program__v1__program__pack(program, bytes);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
	free(bytes);
}

/* The classic format: magic, version 2.4, zone, accuracy, snapshot length, Ethernet. */
static void write_packets(const struct fixture *f)
{
	static const uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
	FILE *file = fopen(f->in, "wb");

	fwrite(header, sizeof(header), 1, file);
	for (uint32_t i = 0; i < PACKETS; i++) {
		const struct sn_sample_packet packet = {
			.src = SN_SAMPLE_HOST,
			.dst = SN_SAMPLE_REMOTE,
			.sport = (uint16_t)(2000 + i),
			.dport = i % 10 == 0 ? 9 : 53,
			.ttl = 64,
		};
		const uint32_t record[] = {i, 0, SN_SAMPLE_FRAME, SN_SAMPLE_FRAME};
		uint8_t frame[SN_SAMPLE_FRAME];

		sn_sample_udp(&packet, frame);
		fwrite(record, sizeof(record), 1, file);
		fwrite(frame, sizeof(frame), 1, file);
	}
	fclose(file);
}

static void packets_go_from_one_device_through_the_program_to_the_other(void **state)
{
	struct fixture *f = *state;
	static const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, 0, 0};
	Sinter__Program__V1__Program *program = sn_sample_napt(&f->arena);
	time_t deadline = time(NULL) + DEADLINE_S;
	char bind_a[256], bind_b[256];
	struct sn_error err;
	Sinter__Control__V1__Stats *stats;
	uint8_t *seen;
	size_t len;

	program->interfaces[0]->mac.data = (uint8_t *)mac;
	program->interfaces[0]->mac.len = sizeof(mac);
	write_program(f, program);
	write_packets(f);
	snprintf(bind_a, sizeof(bind_a), "inside=net_pcap0,rx_pcap=%s", f->in);
	snprintf(bind_b, sizeof(bind_b), "outside=net_pcap1,tx_pcap=%s", f->out);
	start(f, bind_a, bind_b);
	dial(f);
	do {
		nap();
		stats = get_stats(f);
		if (time(NULL) > deadline)
			fail_with_log(f, "the packets of the file do not arrive");
	} while (stats->ports[0]->rx_packets < PACKETS);
	stats = get_stats(f);
	assert_int_equal(stats->ports[0]->rx_packets, PACKETS);
	assert_int_equal(stats->ports[1]->tx_packets, PACKETS - PACKETS / 10);
	assert_int_equal(stats->n_drops, 1);
	assert_string_equal(stats->drops[0]->reason, "discard");
	assert_int_equal(stats->drops[0]->packets, PACKETS / 10);
	assert_int_equal(stats->tables[0]->sessions, PACKETS - PACKETS / 10);

	kill(f->engine, SIGHUP); /* not for the engine */
	nap();
	get_stats(f);
	kill(f->engine, SIGTERM);
	expect_clean_end(f);
	assert_int_equal(sn_file_read(f->out, &seen, &len, &err), 0);
	assert_int_equal(len, 24 + (PACKETS - PACKETS / 10) * (16 + SN_SAMPLE_FRAME));
	free(seen);
}

static void shards_move_between_the_workers_of_a_running_engine(void **state)
{
	struct fixture *f = *state;
	const char *const flags[] = {"--workers", "2", "--shards", "rss", NULL};
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__MoveShards move = SINTER__CONTROL__V1__MOVE_SHARDS__INIT;
	Sinter__Control__V1__ShardMove moves[200], *list[200];
	Sinter__Control__V1__Response *response;
	Sinter__Control__V1__Stats *stats;

	write_program(f, sn_sample_napt(&f->arena));
	/* net_null takes hash key and table, whatever it does with them; its frames are for nobody. */
	start_with(f, "inside=net_null0", "outside=net_null1", flags);
	dial(f);
	stats = get_stats(f);
	assert_int_equal(stats->n_workers, 2);
	assert_int_equal(stats->n_shards, 128);
	for (uint32_t i = 0; i < 200; i++) {
		sinter__control__v1__shard_move__init(&moves[i]);
		moves[i].shard = i % 7;
		moves[i].worker = i % 2;
		list[i] = &moves[i];
	}
	move.n_moves = 200;
	move.moves = list;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_MOVE_SHARDS;
	request.move_shards = &move;
	response = ask(f, &request);
	assert_string_equal(response->error, "");
	assert_int_equal(response->moved->n_blocked_ns, 200);
	stats = get_stats(f);
	for (uint32_t i = 193; i < 200; i++)
		assert_int_equal(stats->shards[i % 7]->worker, i % 2);
	kill(f->engine, SIGTERM);
	expect_clean_end(f);
}

static Sinter__Control__V1__Response *partition_shards(struct fixture *f,
						       Sinter__Control__V1__Partitioning__By by, uint32_t bit)
{
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__PartitionShards shards = SINTER__CONTROL__V1__PARTITION_SHARDS__INIT;
	Sinter__Control__V1__Partitioning cut = SINTER__CONTROL__V1__PARTITIONING__INIT;

	cut.by = by;
	cut.bit = bit;
	shards.partitioning = &cut;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_PARTITION_SHARDS;
	request.partition_shards = &shards;
	return ask(f, &request);
}

static void a_program_whose_bytes_were_changed_on_their_way_is_refused(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__Load load = SINTER__CONTROL__V1__LOAD__INIT;
	Sinter__Program__V1__Program *program = sn_sample_wire(&f->arena);
	Sinter__Control__V1__Response *response;
	uint8_t hash[SN_HASH_LEN];

	start(f, "a=net_null0", "b=net_ring0");
	dial(f);
	load.program = sn_sample_encode(&f->arena, program);
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	response = ask(f, &request);
	assert_string_equal(response->error, "");
	assert_int_equal(response->load->hash.len, SN_HASH_LEN);
	memcpy(hash, response->load->hash.data, SN_HASH_LEN);

	load.hash.data = hash;
	load.hash.len = SN_HASH_LEN;
	response = ask(f, &request);
	assert_string_equal(response->error, "");
	program->icmp_rate++; /* which is right as well, but not what was sent */
	load.program = sn_sample_encode(&f->arena, program);
	response = ask(f, &request);
	assert_non_null(strstr(response->error, "changed on their way"));
	assert_memory_equal(get_stats(f)->hash.data, hash, SN_HASH_LEN);
	load.hash.len = 2;
	response = ask(f, &request);
	assert_non_null(strstr(response->error, "hash of 2 bytes, want the 32 of SHA-256"));
	load.hash.len = 0;
	load.program.len--;
	response = ask(f, &request);
	assert_non_null(strstr(response->error, "are no encoded program"));
}

static void shards_are_cut_anew_before_the_first_program_and_not_after_it(void **state)
{
	struct fixture *f = *state;
	const char *const flags[] = {"--workers", "2", NULL};
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__Load load = SINTER__CONTROL__V1__LOAD__INIT;
	Sinter__Control__V1__Response *response;

	/* net_null hashes, or says so; rings do not. */
	start_with(f, "inside=net_null0", "outside=net_ring0", flags);
	dial(f);
	response =
		partition_shards(f, SINTER__CONTROL__V1__PARTITIONING__BY__ADDRESS, SN_PARTITION_BIT_MAX + 1);
	assert_non_null(strstr(response->error, "a bit from 0 to 25"));
	response = partition_shards(f, SINTER__CONTROL__V1__PARTITIONING__BY__RSS, 0);
	assert_string_equal(response->error, "");
	assert_int_equal(response->shards_partitioned->n_unhashed, 2);
	assert_string_equal(response->shards_partitioned->unhashed[0], "");
	assert_non_null(strstr(response->shards_partitioned->unhashed[1], "interface outside: device"));
	response = partition_shards(f, SINTER__CONTROL__V1__PARTITIONING__BY__ADDRESS, 3);
	assert_string_equal(response->error, "");
	assert_string_equal(response->shards_partitioned->unhashed[1], "");
	load.program = sn_sample_encode(&f->arena, sn_sample_napt(&f->arena));
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	assert_string_equal(ask(f, &request)->error, "");
	response = partition_shards(f, SINTER__CONTROL__V1__PARTITIONING__BY__HOST, 0);
	assert_non_null(strstr(response->error, "only before its first"));
	kill(f->engine, SIGTERM);
	expect_clean_end(f);
}

static void a_device_that_does_not_exist_ends_the_start_with_its_name(void **state)
{
	struct fixture *f = *state;
	struct sn_error err;
	uint8_t *log;
	size_t len;
	int status;

	start(f, "a=nosuchif0", "b=net_null0");
	assert_int_equal(waitpid(f->engine, &status, 0), f->engine);
	f->engine = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(sn_file_read(f->log, &log, &len, &err), 0);
	log[len - 1] = '\0';
	assert_non_null(strstr((char *)log, "interface a: there is no network interface \"nosuchif0\""));
	free(log);
}

int main(void)
{
#define PROCESS_TEST(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(a_program_comes_by_the_socket_and_the_engine_ends_on_request),
		PROCESS_TEST(a_program_whose_bytes_were_changed_on_their_way_is_refused),
		PROCESS_TEST(packets_go_from_one_device_through_the_program_to_the_other),
		PROCESS_TEST(shards_move_between_the_workers_of_a_running_engine),
		PROCESS_TEST(shards_are_cut_anew_before_the_first_program_and_not_after_it),
		PROCESS_TEST(a_device_that_does_not_exist_ends_the_start_with_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
