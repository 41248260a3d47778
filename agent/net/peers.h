/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file peers.h
 * The table of the nodes of the cluster.
 */
#ifndef AGENT_NET_PEERS_H
#define AGENT_NET_PEERS_H

#include "cluster/address.h"
#include "eh/topology.h"
#include "net/peer.h"

struct agent;

int peers_init(struct agent *agent); /**< 0 or -ENOMEM */
/** The agent is ending: closes all links. The peers exist until peers_exit(). */
void peers_close(struct agent *agent);
void peers_exit(struct agent *agent);

/** For cluster/own_roster.c: the host now is the node with that code. 0 or -ENOMEM. */
int peers_learn(struct agent *agent, struct eh_code code, const char *host,
		const struct address *address);
/** For cluster/own_roster.c: it is no longer a member; `why` goes to the log. */
void peers_forget(struct peer *p, const char *why);

/** Iterates over known peers: for (p = peers_next(a, NULL); p; p = peers_next(a, p)). */
struct peer *peers_next(const struct agent *agent, const struct peer *after);
struct peer *peers_self(const struct agent *agent);
struct peer *peers_by_code(const struct agent *agent, struct eh_code code);
/** The code in dotted or octal form. NULL: not known. */
struct peer *peers_by_text(const struct agent *agent, const char *code);
struct peer *peers_by_host(const struct agent *agent, const char *host);

#endif
