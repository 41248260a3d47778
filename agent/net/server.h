/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file server.h
 * The listening side: which hosts may connect, and which handler serves a path.
 */
#ifndef AGENT_NET_SERVER_H
#define AGENT_NET_SERVER_H

#include "net/server_answer.h"

struct agent;

/** Listens on this node's address; `routes` ends with a NULL method. 0 or -errno (logged). */
int server_init(struct agent *agent, const struct server_route *routes);
/** The roster changed: hosts that are no longer in it may only join again. */
void server_reload(struct agent *agent);
/** Whether the host of this peer has a connection to this one, and has shown its certificate. */
bool server_hears(const struct agent *agent, const struct peer *peer);
/** What other hosts hold of this agent, and were refused: quota_json(). NULL: no memory. */
json_t *server_quotas(const struct agent *agent);
void server_exit(struct agent *agent);

#endif
