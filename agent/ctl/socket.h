/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file socket.h
 * The local socket and its connections.
 */
#ifndef AGENT_CTL_SOCKET_H
#define AGENT_CTL_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;

/** A connection; owned by socket.c. */
struct ctl_conn;

/** Handles a request, which is borrowed. ctl_reply() or ctl_watch() must follow, perhaps later. */
typedef void (*ctl_request_fn)(struct ctl_conn *c, const json_t *request);
int ctl_init(struct agent *agent, ctl_request_fn request); /**< 0, or -errno with a log message */
void ctl_exit(struct agent *agent);

struct agent *ctl_agent(const struct ctl_conn *c);
/** The reply for a request that has failed, or (`usage`) was invalid. The caller owns it. */
json_t *ctl_error(const char *what, const char *why, bool usage);

/** The caller (SO_PEERCRED). pid 0: it is in a PID namespace that the agent cannot see. */
pid_t ctl_pid(const struct ctl_conn *c);
uid_t ctl_uid(const struct ctl_conn *c);
/** Whether the caller is root, or the agent's own user. */
bool ctl_is_admin(const struct ctl_conn *c);
/** Whether the caller is told of tasks of this user. */
bool ctl_may_see(const struct ctl_conn *c, uid_t uid);
/** The descriptor of the connection. */
int ctl_socket(const struct ctl_conn *c);
/**
 * Answers the request, exactly once, and takes over `reply` (NULL: out of memory). `c` is invalid
 * then.
 */
void ctl_reply(struct ctl_conn *c, json_t *reply);
/** Sends events from now on, instead of a reply. `c` may be gone then. */
void ctl_watch(struct ctl_conn *c);

#endif
