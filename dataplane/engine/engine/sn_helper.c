/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_helper.h"

#include <string.h>

#include <rte_lcore.h>

#include "sn_ahead.h"
#include "sn_log.h"

void sn_helper_start(struct sn_helper *helper)
{
	int rc;

	helper->started = false;
	if (!sn_ahead_begin())
		return;
	rc = rte_ctrl_thread_create(&helper->thread, "sinter-ahead", NULL, sn_ahead_main, NULL);
	if (rc != 0) {
		sn_ahead_end();
		sn_log(SN_LOG_WARN, "no thread brings memory ahead of use: %s", strerror(-rc));
		return;
	}
	helper->started = true;
}

void sn_helper_stop(struct sn_helper *helper)
{
	if (!helper->started)
		return;
	sn_ahead_stop();
	pthread_join(helper->thread, NULL);
	sn_ahead_end();
	helper->started = false;
}
