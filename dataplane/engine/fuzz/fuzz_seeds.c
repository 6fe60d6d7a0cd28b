/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sample programs into a folder, for fuzz_program to start from. */
#include <stdio.h>
#include <stdlib.h>

#include "test/sample.h"

static int write_program(const char *folder, const char *name, const Sinter__Program__V1__Program *program)
{
	size_t len = sinter__program__v1__program__get_packed_size(program);
	uint8_t *bytes = malloc(len);
	char path[512];
	FILE *file;
	int rc = -1;

	snprintf(path, sizeof(path), "%s/%s.pb", folder, name);
	file = fopen(path, "wb");
	if (bytes != NULL && file != NULL) {
		sinter__program__v1__program__pack(program, bytes);
		rc = fwrite(bytes, 1, len, file) == len ? 0 : -1;
	}
	if (file != NULL && fclose(file) != 0)
		rc = -1;
	if (rc != 0)
		perror(path);
	free(bytes);
	return rc;
}

int main(int argc, char **argv)
{
	struct sn_arena arena;
	int rc;

	if (argc != 2) {
		fputs("usage: fuzz_seeds FOLDER\n", stderr);
		return 2;
	}
	sn_arena_init(&arena);
	rc = write_program(argv[1], "napt", sn_sample_napt(&arena));
	if (rc == 0)
		rc = write_program(argv[1], "wire", sn_sample_wire(&arena));
	sn_arena_free(&arena);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
