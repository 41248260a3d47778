/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * Home's files on the executor: a mount namespace for each peer and user, with a file system for
 * each of home's. Its requests go through a stream to a server that runs at home as that user: from
 * ehview, a FUSE server, to ehfiles (POST /v1/files).
 *
 *   view.c               the executor's views and their users
 *   view_link.c          their connections, also again
 *   view_mount.c         has ehlaunch make the namespace of a view and start its ehview
 *   common/control.c     what ehview is asked
 *   job/route.c          between a socket and a stream, for both sides
 *   home/serve.c         home's side
 *
 * A view outlives its connections and the agents, for job-limit: ehview and ehfiles keep what the
 * other has not got, and processes of ehlaunch keep these two, and the namespace, for the next agent
 * (helpers/ehlaunch/keep.c).
 */
#ifndef AGENT_EXECUTOR_VIEW_H
#define AGENT_EXECUTOR_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "net/peer.h"
#include "wire/view.h"

struct agent;
struct config;
struct kept;

struct view_use {
	struct view_use *next;
	struct view_mounted *of; /**< NULL: not in use */
	/**
	 * Called with trouble NULL when the view is ready or settled, perhaps within view_hold().
	 * Otherwise the view could not be made or is lost, and the use has ended. Nothing touches
	 * the use after the call.
	 */
	void (*news)(void *ctx, const char *trouble);
	void *ctx;
	uint32_t ticket; /**< the answer of ehview that it waits for; 0: none */
};

/** Why this node cannot show the files of others; NULL: it can. */
const char *view_trouble(struct agent *agent);
/** Starts to use the view of this home and user, which is created if needed. 0 or -errno. */
int view_hold(struct view_use *use, struct peer *home, uid_t uid, const char *user);
/**
 * The task has ended: calls `news` when home sees all its changes. False: home does already, and
 * there is no call.
 */
bool view_settle(struct view_use *use);
/** Ends the use, without further news. An unused view is closed after `link-idle`. */
void view_release(struct view_use *use);
/** ehlaunch does not know the namespace: others get a new view. */
void view_forsake(const struct view_use *use);
/**
 * A guest of an earlier agent uses the view of this home and user whose namespace has this inode
 * number; 0: any of them. There are no first news. False: no such view is here, or not yet.
 */
bool view_join(struct view_use *use, struct peer *home, uid_t uid, uint64_t ino);
/** This agent ends, and its user goes on. False: the view ends with this agent. */
bool view_leave(const struct view_use *use);
/** A view of an earlier agent has been found, and can be joined. */
void view_on_adopted(struct agent *agent, void (*adopted)(struct agent *agent));
/** The mount namespace, after the first news. The view owns it. -1: none. */
int view_namespace(const struct view_use *use);
/** The keeper of a view of an earlier agent has connected to this one: FRAME_KEPT. Takes over the socket. */
void view_adopt(struct agent *agent, int socket, const struct kept *k);
int view_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Another job-limit is for views that are here, too. */
void view_reload(struct agent *agent, const struct config *old);
void view_exit(struct agent *agent);

#endif
