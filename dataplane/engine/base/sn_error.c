/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sn_fail(struct sn_error *error, const char *format, ...)
{
	va_list args;

	if (error == NULL)
		return -1;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -1;
}

int sn_fail_in(struct sn_error *error, const char *format, ...)
{
	struct sn_error what;
	size_t n;
	va_list args;

	if (error == NULL)
		return -1;
	what = *error;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	n = strlen(error->text);
	snprintf(error->text + n, sizeof(error->text) - n, ": %s", what.text);
	return -1;
}
