/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file callers.h
 * The users who have connections to the local socket, and how many each may have: nobody, and no
 * number of users, keeps root or another user out.
 */
#ifndef AGENT_CTL_CALLERS_H
#define AGENT_CTL_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CALLERS_MAX 1024 /**< connections */
#define CALLERS_ROOT 64 /**< of these, for root alone */
#define CALLERS_A_USER 512 /**< connections of one user but root */
#define CALLERS_WAITING (32u << 20) /**< bytes of replies that a user but root does not read */

/** A user with connections. */
struct caller {
	struct caller *next;
	uid_t uid;
	unsigned int conns;
	size_t waiting; /**< bytes of replies; the owner of the connections counts them */
};

struct callers {
	struct caller *first;
	unsigned int conns, others; /**< all, and those of others than root */
};

/** Counts a connection. NULL: no memory. */
struct caller *callers_enter(struct callers *callers, uid_t uid);
/** The connection is gone; with the last one `caller` is invalid. */
void callers_leave(struct callers *callers, struct caller *caller);

enum callers_answer {
	CALLERS_WELCOME,
	CALLERS_REFUSED,
	CALLERS_SHARE /**< if one connection of *rich is closed */
};

/** Whether one more of this user may come. */
enum callers_answer callers_admit(const struct callers *callers, uid_t uid, struct caller **rich);

#endif
