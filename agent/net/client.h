/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file client.h
 * Requests to peers: JSON over a stream, and the answer.
 */
#ifndef AGENT_NET_CLIENT_H
#define AGENT_NET_CLIENT_H

#include <jansson.h>
#include "net/h2_conn.h"
#include "net/h2_stream.h"

struct agent;

/** `reply` is borrowed and may be NULL; status 0: no answer in time. A call without this: nobody waits. */
typedef void (*client_reply_fn)(void *ctx, int status, const json_t *reply);
/** JSON over POST (GET if there is no body), over this connection and now. `to` is the other host's name,
 *  for the log, and stays where it is until the call ends. `done` is called exactly once, later. 0, or
 *  -ENOMEM: `done` is not called. */
int client_request(struct agent *agent, struct h2_conn *conn, const char *to, const char *path,
		   json_t *body_stolen, unsigned int timeout_ms, client_reply_fn done, void *ctx);
/**
 * The same for callers that must first find or make a connection: a call, which then begins with a
 * stream, or with NULL if there is none (`done` reports it later, from the event loop). Steals the
 * body. NULL: no memory.
 */
struct client_call;
struct client_call *client_call_new(struct agent *agent, const char *to, json_t *body_stolen,
				    client_reply_fn done, void *ctx);
const char *client_call_method(const struct client_call *c);
const struct h2_stream_ops *client_call_ops(const struct client_call *c);
void client_call_begin(struct client_call *c, struct h2_stream *s, unsigned int timeout_ms);

int client_init(struct agent *agent); /**< 0 or -ENOMEM */
/**
 * The agent ends: each open call is told that there is no answer, and no new one is taken
 * (-ENOMEM). Requests that were sent stay queued.
 */
void client_end(struct agent *agent);
void client_exit(struct agent *agent);

#endif
