/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ops.h
 * What this room tells later rooms, and asks them: the first words of a connection, and links that
 * came up or went down. wiring.c provides them.
 */
#ifndef AGENT_NET_OPS_H
#define AGENT_NET_OPS_H

#include <jansson.h>
#include <stdbool.h>

struct agent;
struct peer;

/** A host that has connected. */
struct net_caller {
	const char *cn; /**< of its certificate */
	const char *address; /**< as text, for the log */
	struct peer *peer; /**< NULL: it was not in the roster when it connected */
};

struct net_ops {
	/** A peer came up or went down. */
	void (*changed)(struct peer *peer);
	/** A node joined the cluster or left it (peer->known). */
	void (*known)(struct peer *peer);
	/** A link was made: it calls link_up() when the peer has accepted this host, or closes it. */
	void (*greet)(struct peer *peer);
	/** A hello came. The status and body of the answer; *from if it is 200. */
	int (*greeted)(struct agent *agent, const struct net_caller *caller, const json_t *said,
		       struct peer **from, json_t **reply);
	/** Whether somebody without a certificate may ask to be admitted now. */
	bool (*invites)(struct agent *agent);
	/**
	 * A visitor asks, with a line of `length` bytes from `where`. `done` is called with the answer,
	 * which it takes over (NULL: no memory), once: at once or later.
	 */
	void (*visit)(struct agent *agent, const char *where, const char *line, size_t length,
		      void (*done)(void *ctx, json_t *answer), void *ctx);
};

#endif
