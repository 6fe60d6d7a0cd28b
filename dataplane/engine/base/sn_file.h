/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FILE_H
#define SN_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Reads a whole file into a malloc'd *data. 0, or -1 with a message in err. */
int sn_file_read(const char *path, uint8_t **data, size_t *len, char *err, size_t err_len);

#endif /* SN_FILE_H */
