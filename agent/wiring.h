/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file wiring.h
 * One agent: its rooms, the order in which they start and end, and the callbacks between them.
 */
#ifndef AGENT_WIRING_H
#define AGENT_WIRING_H

#include <stdio.h>

struct agent;
struct config;
struct tls;

/**
 * Starts the agent with agent->config and `tls`, which it takes over, on agent->base. With option
 * `join` it runs the loop until the cluster has given this host its place. `ready` is called when a
 * service manager need not wait any longer, perhaps twice. 0; -EINTR: agent_end() was called; or
 * -errno, with a log message. wiring_stop() must follow in any case.
 */
int wiring_start(struct agent *agent, struct tls *tls, void (*ready)(void));
/** Takes over a new configuration and TLS contexts, puts them in force and frees the old ones. */
void wiring_reload(struct agent *agent, struct config *config, struct tls *tls);
/** Ends the rooms in order: new requests, guests, then the connections that their homes wait on. */
void wiring_stop(struct agent *agent);

#endif
