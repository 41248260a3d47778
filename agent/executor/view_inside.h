/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file view_inside.h  A view on the executor; for view.c and view_again.c only. */
#ifndef AGENT_EXECUTOR_VIEW_INSIDE_H
#define AGENT_EXECUTOR_VIEW_INSIDE_H

#include <event2/event.h>
#include "executor/view_mount.h"
#include "job/route.h"
#include "wire/attach.h"
#include "wire/launch.h"

struct agent;
struct peer;
struct view_use;

/* The connection of one of home's file systems. */
struct view_link {
	struct view_mounted *of;
	struct route route; /* without an end: it is missing */
};

struct view_mounted {
	struct view_mounted *next;
	struct peer *home;
	uid_t uid; /* at home */
	char user[LAUNCH_USER_MAX]; /* its name there */
	struct view_link links[VIEW_TREES_MAX];
	size_t nlinks;
	bool asking; /* asking home for its mounts */
	bool over; /* free it when home has answered */
	bool adopted; /* made by an earlier agent */
	bool leave; /* the next agent is to find it */
	bool broken; /* since broken_at a connection is missing */
	uint64_t broken_at; /* clock_ms() */
	unsigned int wait_ms; /* before the next try */
	char token[ATTACH_TOKEN];
	unsigned int launcher; /* launcher_starts() of the ehlaunch that has made it */
	uint32_t tickets;
	struct view_mount mount;
	struct event *mounting, *synced, *idle, *again;
	struct view_use *uses;
};

/* view.c: a new one, in the list. NULL: out of memory. */
struct view_mounted *view_new(struct peer *home, uid_t uid);
/* view.c: NULL: none. */
struct view_mounted *view_by_token(const struct agent *agent, const char *token);
/* view.c: its uses are told why. */
void view_lost(struct view_mounted *v, const char *trouble);
/* view.c: listens to its keeper. 0 or -ENOMEM. */
int view_expect(struct view_mounted *v);
/* view.c: nobody uses it; it is closed later. */
void view_idle(struct view_mounted *v);

/* view_again.c */
/* One more file system, without a connection. 0 or -ENOMEM. */
int view_add_link(struct view_mounted *v);
/* Connects file system `i`, for the first time if there is a path. Returns the socket for ehview, or -errno. */
int view_open_link(struct view_mounted *v, unsigned int i, const char *path);
/* Of the timer `again`: connects what is not connected. */
void view_on_again(evutil_socket_t fd, short what, void *arg);
/* It is there again: of an earlier agent. */
void view_taken(struct view_mounted *v);

#endif
