/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file serve.h
 * Home's side of views: serves files to executors with the rights of the user.
 */
#ifndef AGENT_HOME_SERVE_H
#define AGENT_HOME_SERVE_H

#include <jansson.h>
#include "net/h2_stream.h"

struct agent;
struct config;
struct kept;
struct peer;

/** Why this node cannot serve its files; NULL: it can. */
const char *serve_trouble(void);
/** Handler of POST /v1/mounts: which file systems a view consists of. */
json_t *serve_mounts(struct agent *agent, struct peer *from, const json_t *body, int *status);
/** Handler of POST /v1/files. */
int serve_files(struct agent *agent, struct peer *from, struct h2_stream *s,
		const struct h2_stream_ops **ops, void **ctx);
/** The keeper of an ehfiles of an earlier agent has connected: FRAME_KEPT. Takes over the socket. */
void serve_adopt(struct agent *agent, int socket, const struct kept *k);
/** Whether this peer runs a task of this user that sees home's files. */
typedef bool (*serve_shown_fn)(const struct peer *to, uid_t uid);
/** `waited`: or may run one whose stub has not come to this agent. 0 or -ENOMEM. */
int serve_init(struct agent *agent, serve_shown_fn shown, serve_shown_fn waited);
/** Another job-limit is for servers that are here, too. */
void serve_reload(struct agent *agent, const struct config *old);
void serve_exit(struct agent *agent);

#endif
