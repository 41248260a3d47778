/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file child.h  A program of the agent's own that it starts with a socket, before it gives up the right to. */
#ifndef AGENT_BASE_CHILD_H
#define AGENT_BASE_CHILD_H

#include <sys/types.h>

/**
 * Starts it, with `its` as the descriptor of its end of a SOCK_SEQPACKET pair, those below as they are here,
 * and no other. Its environment is empty, but says if there is a journal.
 *
 * @socket: our end
 *
 * Returns 0 or -errno.
 */
int child_start(const char *path, char **argv, int its, pid_t *pid, int *socket);

#endif
