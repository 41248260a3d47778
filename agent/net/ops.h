/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ops.h
 * What this room tells later rooms, and asks them: about the roster, and about links that came
 * up or went down. rooms.c provides them.
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
	/** A node joined the cluster or left it (peer->known). */
	void (*known)(struct peer *peer);
	/** Version of this agent's roster, for hellos. */
	uint64_t (*version)(struct agent *agent);
	/** What this host says of itself in hellos, signed. NULL: nothing, or no memory. */
	json_t *(*entry)(struct agent *agent);
	/** A hello of a host with this CN arrived, which may not be known yet. */
	void (*introduced)(struct agent *agent, const char *cn, const json_t *hello);
	/** A hello of a peer arrived: its roster and its revocation list may be newer than ours. */
	void (*seen)(struct peer *from, const json_t *hello);
	/** Whether `address`, where a peer says that it listens (or NULL), is not that of the roster. */
	bool (*has_moved)(const struct peer *p, const char *address);
	/** Whether to ask a peer that does not know this host for admission. */
	bool (*may_ask)(struct agent *agent);
	/** The request for admission: body of POST /v1/join. NULL: no memory. */
	json_t *(*question)(struct agent *agent);
	/** The answer to it. Returns NULL, or what is wrong with the answer. */
	const char *(*take)(struct agent *agent, const json_t *answer);
	/** Whether somebody without a certificate may ask to be admitted now. */
	bool (*invites)(struct agent *agent);
	/**
	 * He asks, with a line of `length` bytes from `where`. `done` is called with the answer, which
	 * it takes over (NULL: no memory), once: at once or later.
	 */
	void (*visit)(struct agent *agent, const char *where, const char *line, size_t length,
		      void (*done)(void *ctx, json_t *answer), void *ctx);
	/** A peer says that our code belongs to another host. */
	void (*refused)(struct agent *agent);
};

#endif
