/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file socket.h
 * The local socket and its connections.
 */
#ifndef AGENT_CTL_SOCKET_H
#define AGENT_CTL_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct ucred;

/** A connection; owned by socket.c. */
struct ctl_conn;

/** Handles a request, which is borrowed. ctl_reply() or ctl_watch() must follow, perhaps later. */
typedef void (*ctl_request_fn)(struct ctl_conn *c, const json_t *request);
int ctl_init(struct agent *agent, ctl_request_fn request); /**< 0, or -errno with a log message */
void ctl_exit(struct agent *agent);

/** The agent that was connected to. */
struct agent *ctl_agent(const struct ctl_conn *c);
/** The reply for a request that has failed, or (`usage`) was invalid. The caller owns it. */
json_t *ctl_error(const char *what, const char *why, bool usage);

/** The caller (SO_PEERCRED). pid 0: it is in a PID namespace that the agent cannot see. */
const struct ucred *ctl_who(const struct ctl_conn *c);
/** When it connected: clock_ticks(). A process that was started later is another one with its pid. */
uint64_t ctl_came(const struct ctl_conn *c);
/** The descriptor of the connection. */
int ctl_socket(const struct ctl_conn *c);
/**
 * Answers the request, exactly once, and takes over `reply` (NULL: out of memory). `c` is invalid
 * then.
 */
void ctl_reply(struct ctl_conn *c, json_t *reply);
/** Something is kept for this connection, which then has no time limit; `gone` is called when it
 *  ends, however that happens. NULL: no more. */
void ctl_hold(struct ctl_conn *c, void *held, void (*gone)(void *held));
void *ctl_held(const struct ctl_conn *c); /**< NULL: nothing is */
/** One event to this connection, which it steals. `c` may be gone then. */
void ctl_tell(struct ctl_conn *c, json_t *event_stolen);
/** Sends events from now on, instead of a reply. `c` may be gone then. */
void ctl_watch(struct ctl_conn *c);
/** The next connection that does so, NULL: `after` was the last one; the first one after NULL. */
struct ctl_conn *ctl_next_watcher(const struct agent *agent, const struct ctl_conn *after);

#endif
