/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file peers.h
 * The table of the cluster's nodes.
 */
#ifndef AGENT_NET_PEERS_H
#define AGENT_NET_PEERS_H

#include "cluster/address.h"
#include "eh/topology.h"
#include "net/peer.h"

struct agent;

int peers_init(struct agent *agent); /**< 0 or -ENOMEM */
/** The agent ends: closes all links. The peers are there until peers_exit(). */
void peers_close(struct agent *agent);
void peers_exit(struct agent *agent);

/** cluster/enrol.c: this host is the node of that code now. 0 or -ENOMEM. */
int peers_learn(struct agent *agent, struct eh_code code, const char *host,
		const struct address *address);
/** cluster/enrol.c: it is no member any more; `why` goes to the log. */
void peers_forget(struct peer *p, const char *why);

/** Iteration, only known ones: for (p = peers_next(a, NULL); p; p = peers_next(a, p)). */
struct peer *peers_next(const struct agent *agent, const struct peer *after);
struct peer *peers_self(const struct agent *agent);
struct peer *peers_by_code(const struct agent *agent, struct eh_code code);
/** Dots or octal; NULL: not known. */
struct peer *peers_by_text(const struct agent *agent, const char *code);
struct peer *peers_by_host(const struct agent *agent, const char *host);

#endif
