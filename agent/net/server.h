/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file server.h
 * The listening side: who is let in, which handler serves what.
 */
#ifndef AGENT_NET_SERVER_H
#define AGENT_NET_SERVER_H

#include <stddef.h>
#include "net/h2_stream.h"

/** Listens on this node's address; `routes` ends with a NULL method. 0 or -errno, said in the log. */
int server_init(const struct server_route *routes);
/** The roster changed: who is not in it any more may only join again. */
void server_reload(void);
void server_exit(void);

/** What both sides say in a hello. */
json_t *server_hello(void);

#endif
