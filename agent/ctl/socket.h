/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file socket.h
 * The local socket and those who are connected to it.
 */
#ifndef AGENT_CTL_SOCKET_H
#define AGENT_CTL_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;

/** A caller of ehctl; owned by socket.c. */
struct ctl_conn;

/** Serves a request; ctl_reply() or ctl_watch() follows, perhaps later. */
typedef void (*ctl_request_fn)(struct ctl_conn *c, const json_t *request);
int ctl_init(struct agent *agent, ctl_request_fn request); /**< 0 or -errno, said in the log */
void ctl_exit(struct agent *agent);

struct agent *ctl_agent(const struct ctl_conn *c);
/** The reply that a request is refused or has failed; `usage`: it was wrong. */
json_t *ctl_error(const char *what, const char *why, bool usage);

/** Who has connected (SO_PEERCRED). pid 0: in a pid namespace we cannot see into. */
pid_t ctl_pid(const struct ctl_conn *c);
uid_t ctl_uid(const struct ctl_conn *c);
/** Answers its request, exactly once; `c` may be gone after it. Steals the reply. */
void ctl_reply(struct ctl_conn *c, json_t *reply);
/** From now it gets events, and no reply. */
void ctl_watch(struct ctl_conn *c);

#endif
