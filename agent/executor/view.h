/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * The home node's files on the executor: a mount namespace for each peer and
 * user, with a file system of the kernel's for each of home's. The requests of one go
 * through a stream to a server that runs at home as that user: from a FUSE file system's
 * ehview to ehfiles (POST /v1/files), or from the kernel's 9p client to diod (POST /v1/9p).
 *
 *   view.c               the executor's views, and who uses them
 *   view_mount.c         makes the namespace of one
 *   view_fuse.c          its ehview
 *   net/tunnel.c         bytes between a socket and a stream, both sides
 *   home/serve.c         the home's side
 *
 * The namespace is a descriptor of the agent and nothing else: when that is
 * closed, also by the agent's death, and the last process in it has ended, the
 * kernel unmounts what is in it.
 */
#ifndef AGENT_EXECUTOR_VIEW_H
#define AGENT_EXECUTOR_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "net/peer.h"
#include "wire/view.h"

struct agent;

struct view_use {
	struct view_use *next;
	struct view_mounted *of; /**< NULL: none */
	/** trouble NULL: it can be entered; perhaps at once. Else it could not be made, or is lost: the use is over.
	 *  Comes last. */
	void (*news)(void *ctx, const char *trouble);
	void *ctx;
	uint32_t ticket; /**< of ehview's answer that it waits for; 0: none */
};

/** Why this node cannot show the files of others; NULL: it can. */
const char *view_trouble(const struct agent *agent);
/** Starts to use the view of that home and user, which is made if there is none. 0 or -errno. */
int view_hold(struct view_use *use, struct peer *home, uid_t uid);
/** The task has ended: there is news (no trouble) when home sees all it did. False: it does so already. */
bool view_settle(struct view_use *use);
/** No news any more. An unused view is closed after `link-idle`. */
void view_release(struct view_use *use);
/** The mount namespace, once there was news. */
int view_namespace(const struct view_use *use);
int view_init(struct agent *agent); /**< 0 or -ENOMEM */
void view_exit(struct agent *agent);

#endif
