/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view_link.h
 * A view on the executor, and its connections, which are made again after they broke. This agent
 * does not keep what was on their way: ehview and ehfiles do (helpers/common/stream.c).
 */
#ifndef AGENT_EXECUTOR_VIEW_LINK_H
#define AGENT_EXECUTOR_VIEW_LINK_H

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
	unsigned int launcher; /* ehlaunch_starts() of the ehlaunch that has made it */
	uint32_t tickets;
	struct view_mount mount;
	struct event *mounting, *synced, *idle, *again;
	struct view_use *uses;
	/* It is not there any more: its uses are told why. */
	void (*lost)(struct view_mounted *v, const char *trouble);
};

/** One more file system, without a connection. 0 or -ENOMEM. */
int view_link_add(struct view_mounted *v);
/** Connects file system `i`, for the first time if there is a path. Returns the socket for ehview, or -errno. */
int view_link_open(struct view_mounted *v, unsigned int i, const char *path);
/** The timer `again` calls it: connects what is not connected. */
void view_link_on_again(evutil_socket_t fd, short what, void *arg);
/** Connections are missing: makes them. */
void view_link_wait(struct view_mounted *v);

#endif
