/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ops.h
 * What this room tells the rooms behind it, and asks them: what peers say of the roster, and
 * whether a link came or went. main.c fills it in.
 */
#ifndef AGENT_NET_OPS_H
#define AGENT_NET_OPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct peer;

struct net_ops {
	/** A peer came up or went down. */
	void (*changed)(struct peer *peer);
	/** A node came into the cluster or left it (peer->known). */
	void (*known)(struct peer *peer);
	/** Of this agent's roster; hellos carry it. */
	uint64_t (*version)(struct agent *agent);
	/** A peer's hello: its roster may be newer than ours. */
	void (*seen)(struct peer *from, const json_t *hello);
	/** Whether a peer that says it listens on `address` (NULL: nothing) must tell the roster first. */
	bool (*has_moved)(const struct peer *p, const char *address);
	/** Whether a peer that does not know this host should be asked to let it in. */
	bool (*may_ask)(struct agent *agent);
	/** What it is asked then: body of POST /v1/join. NULL: no memory. */
	json_t *(*question)(struct agent *agent);
	/** Its answer. NULL, or what is wrong with it. */
	const char *(*take)(struct agent *agent, const json_t *answer);
	/** A peer says that our code is another host's. */
	void (*refused)(struct agent *agent);
};

#endif
