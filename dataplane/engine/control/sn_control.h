/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CONTROL_H
#define SN_CONTROL_H

/*
 * The control socket: a UNIX stream socket for several clients, served without
 * blocking by the control thread. What the messages say is the handler's matter.
 */

#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"

struct sn_control;

/*
 * Answers one message: a malloc'd whole frame (length first) in *reply. Not 0:
 * there is no memory for an answer, and the client is let go.
 */
typedef int (*sn_control_handler)(void *context, const uint8_t *message, size_t len, uint8_t **reply,
				  size_t *reply_len);

/* NULL on error, with a message in err. The socket is open to the user that runs the engine only. */
struct sn_control *sn_control_open(const char *path, sn_control_handler handler, void *context,
				   struct sn_error *err);

/* Has a poll return when fd is readable; the caller reads it. */
int sn_control_watch(struct sn_control *control, int fd);

/* Sleeps until something comes, serves it. Returns 1 when the watched descriptor is readable, else 0, -1 on
 * error. */
int sn_control_poll(struct sn_control *control, int timeout_ms);

/* Sends what is still to be sent (briefly), closes, removes the socket. */
void sn_control_close(struct sn_control *control);

#endif /* SN_CONTROL_H */
