/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs at the bounds of every rule, as dataplane/program/rules_test.go writes and judges them: the loader
 * accepts the same, and says the same of the others.
 */
#include "fixture.h"

#include <stdio.h>

#include "sn_file.h"

#define EXAMPLES_MIN 100

/* The folder is RULES_DIR, unless SINTER_RULES names another. */
static const char *folder(void)
{
	const char *given = getenv("SINTER_RULES");

	return given ? given : RULES_DIR;
}

static uint8_t *read_rule_file(const char *name, size_t *len)
{
	char path[1024];
	struct sn_error err;
	uint8_t *data;

	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	if (sn_file_read(path, &data, len, &err) != 0)
		fail_msg("%s", err.text);
	return data;
}

/* A line of the index: name, then what the message says, by tabs. Returns what is wrong with the loader's
 * judgement, or NULL. */
static const char *judge(char *line, struct sn_error *err)
{
	char *rest = line, *name = strsep(&rest, "\t"), *says;
	size_t len;
	uint8_t *data = read_rule_file(name, &len);
	Sinter__Program__V1__Program *msg = sinter__program__v1__program__unpack(NULL, len, data);
	struct sn_program *program;
	const char *wrong = NULL;
	bool accepted;

	free(data);
	if (!msg)
		return "cannot be decoded";
	err->text[0] = '\0';
	program = sn_program_create(msg, NULL, err);
	accepted = program != NULL;
	sn_program_free(program);
	sinter__program__v1__program__free_unpacked(msg, NULL);
	if (accepted != (rest == NULL || !*rest))
		return accepted ? "is accepted" : "is refused";
	while (!wrong && !accepted && (says = strsep(&rest, "\t")))
		if (!strstr(err->text, says))
			wrong = says;
	return wrong;
}

static void the_loader_judges_every_example_as_the_compiler_and_the_agent_do(void **state)
{
	char *line, *text, *rest;
	struct sn_error err;
	unsigned int n = 0, bad = 0;
	size_t len;
	uint8_t *data = read_rule_file("index", &len);

	(void)state;
	text = rest = strndup((const char *)data, len);
	free(data);
	for (; (line = strsep(&rest, "\n")) && *line; n++) {
		const char *wrong = judge(line, &err);

		if (wrong) {
			print_error("%s: %s: %s\n", line, wrong, err.text);
			bad++;
		}
	}
	free(text);
	assert_int_equal(bad, 0);
	assert_true(n >= EXAMPLES_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loader_judges_every_example_as_the_compiler_and_the_agent_do),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
