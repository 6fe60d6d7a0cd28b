/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ERROR_H
#define SN_ERROR_H

/* Why something failed, for people: what is wrong, and what would be right. Text that is too long is cut. */
struct sn_error {
	char text[768];
};

/* Sets the text (error may be NULL: nobody asks), and returns -1. */
__attribute__((format(printf, 2, 3))) int sn_fail(struct sn_error *error, const char *format, ...);

/* Puts where it happened, and a colon, before the text. Returns -1, too. */
__attribute__((format(printf, 2, 3))) int sn_fail_in(struct sn_error *error, const char *format, ...);

#endif /* SN_ERROR_H */
