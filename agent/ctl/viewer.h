/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file viewer.h
 * The one whom a list is for: a caller of the local socket, or a user of another node who asks for
 * what all nodes know (survey.h).
 */
#ifndef AGENT_CTL_VIEWER_H
#define AGENT_CTL_VIEWER_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;
struct ctl_conn;
struct peer;

#define VIEWER_WHY 200

struct viewer {
	const struct agent *agent;
	const struct peer *from; /**< the viewer's node */
	struct peer *by; /**< the node that has passed the question on; of this node: itself */
	bool all; /**< of all users, as an operator */
	bool all_past; /**< of all users, what has ended */
	bool known; /**< the user exists here; of another node perhaps not */
	uid_t uid; /**< the user's number here */
};

/** A caller of the local socket. */
void viewer_local(struct viewer *v, const struct ctl_conn *c);

/** Says in a question to other nodes who this local viewer is: `from`, `uid`, `user`, `all`, `all_past`. */
void viewer_describe(const struct viewer *v, json_t *question);

/**
 * The viewer of a question of another node; `by` has passed it on. 0; -EINVAL: it names none;
 * -EPERM: a node on the way may have no guests here, so it is told nothing; why[] says that.
 */
int viewer_remote(struct viewer *v, const struct agent *agent, struct peer *by,
		  const json_t *question, char why[VIEWER_WHY]);

/** The viewer of what has ended. */
struct viewer viewer_of_past(const struct viewer *v);

/**
 * Whether tasks of this user (a number here) are shown. A viewer of another node sees no more than
 * a guest of that node sees with ps(1): tasks of users that such a guest could be.
 */
bool viewer_may_see(const struct viewer *v, uid_t uid);

/**
 * Limits a question for the history to tasks of this viewer's user, unless it sees those of all. False:
 * another user's are asked for.
 */
bool viewer_limit(const struct viewer *v, json_t *ask);

/** The turn of a question for the history: each user has one, and so has each node that asks or passes questions on. */
uid_t viewer_turn(const struct viewer *v);

/** Adds the `user` of a task: the name here, or the number. Elsewhere the `uid` may be another's. */
void viewer_add_user(json_t *item);

/**
 * What this node tells a viewer: a list, which is taken over, and whether there is more. NULL:
 * nothing, and `why`.
 */
typedef void (*viewer_told_fn)(void *ctx, json_t *items_stolen, bool more, const char *why);

#endif
