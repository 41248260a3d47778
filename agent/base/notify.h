/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file notify.h
 * What a service manager is told: the part of sd_notify(3) that is needed here. Without one (no
 * NOTIFY_SOCKET in the environment) all this does nothing.
 */
#ifndef AGENT_BASE_NOTIFY_H
#define AGENT_BASE_NOTIFY_H

#include <stddef.h>

struct agent;

/** Sends a datagram to this socket ("@" first: an abstract one), without waiting. 0 or -errno. */
int notify_datagram(const char *path, const void *bytes, size_t length);
void notify_ready(void); /**< the service has started; may be called again */
/** One line for `systemctl status`. */
void notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/**
 * Tells the manager twice in each period of WATCHDOG_USEC that the event loop goes round.
 * @return 0, also if nobody wants to know, or -ENOMEM
 */
int notify_watch(struct agent *agent);
void notify_exit(struct agent *agent); /**< ends notify_watch() */

#endif
