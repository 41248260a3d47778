/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file pidfd.h  A process that has connected, held so that its number is not taken for that of another. */
#ifndef COMMON_PIDFD_H
#define COMMON_PIDFD_H

#include <stdbool.h>
#include <sys/types.h>

/** Of the process that has connected to this socket; before Linux 6.5, of whoever has its number `pid` now. Or
 *  -errno; -ESRCH: it has ended. */
int pidfd_of_peer(int socket, pid_t pid);
/** Whether this process has ended. */
bool pidfd_ended(int pidfd);

#endif
