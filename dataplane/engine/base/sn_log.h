/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_LOG_H
#define SN_LOG_H

/*
 * One line per event on stderr, level first: "info port=inside device=net_null0 …".
 * Never used on the packet path.
 */

enum sn_log_level {
	SN_LOG_ERROR,
	SN_LOG_WARN,
	SN_LOG_INFO,
};

/* Nothing less important than level is printed; SN_LOG_INFO at first. */
void sn_log_limit(enum sn_log_level level);

void sn_log(enum sn_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* SN_LOG_H */
