/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_partitioning.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int parse_address(const char *text, struct sn_partitioning *partitioning, struct sn_error *err)
{
	char *end;
	unsigned long shift = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end != '\0' || shift > SN_PARTITION_BIT_MAX)
		return sn_fail(err, "shards address:%s: want the lowest bit's number, from 0 to %d", text,
			       SN_PARTITION_BIT_MAX);
	*partitioning = (struct sn_partitioning){SN_PARTITION_BY_ADDRESS, (uint32_t)shift};
	return 0;
}

int sn_partitioning_parse(const char *text, struct sn_partitioning *partitioning, struct sn_error *err)
{
	*partitioning = (struct sn_partitioning){SN_PARTITION_BY_HOST, 0};
	if (strcmp(text, "host") == 0)
		return 0;
	if (strcmp(text, "rss") == 0) {
		partitioning->by = SN_PARTITION_BY_RSS;
		return 0;
	}
	if (strncmp(text, "address:", 8) == 0)
		return parse_address(text + 8, partitioning, err);
	return sn_fail(err, "shards %s: want host, address:BIT or rss", text);
}
