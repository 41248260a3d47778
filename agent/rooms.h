/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rooms.h
 * One agent put together: which rooms it has, in which order they start and end, and what each
 * room tells those behind it.
 */
#ifndef AGENT_ROOMS_H
#define AGENT_ROOMS_H

#include <stdio.h>

struct agent;
struct config;
struct tls;

/**
 * Starts the agent on agent->base with agent->config and these contexts, which it takes over. With
 * `join` the loop runs until the cluster has given this host its place; `ready` is called
 * when a service manager need not wait any longer, perhaps twice.
 * 0; -EINTR: agent_end() was called meanwhile; or -errno, said in the log. rooms_stop() follows in any case.
 */
int rooms_start(struct agent *agent, struct tls *tls, void (*ready)(void));
/** Puts a new configuration and contexts in force, and takes them over; frees the old ones. */
void rooms_reload(struct agent *agent, struct config *config, struct tls *tls);
/** Ends what has started, in order: nobody new, then guests, then the connections that their homes wait on. */
void rooms_stop(struct agent *agent);

#endif
