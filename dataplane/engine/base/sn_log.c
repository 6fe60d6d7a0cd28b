/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_log.h"

#include <stdarg.h>
#include <stdio.h>

static enum sn_log_level limit = SN_LOG_INFO;

void sn_log_limit(enum sn_log_level level)
{
	limit = level;
}

void sn_log(enum sn_log_level level, const char *format, ...)
{
	static const char *const names[] = {"error", "warn", "info"};
	char line[1024];
	va_list args;

	if (level > limit)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* One call, one write: lines of several threads do not mix. */
	fprintf(stderr, "%s %s\n", names[level], line);
}
