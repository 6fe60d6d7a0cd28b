/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FILE_H
#define SN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"

/* Reads a whole file into a malloc'd *data. 0, or -1 with a message in err. */
int sn_file_read(const char *path, uint8_t **data, size_t *len, struct sn_error *err);

#endif /* SN_FILE_H */
