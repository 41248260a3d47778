/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * ehlaunch starts executor's ends of jobs for its agent: of each a child of its own small image, with
 * the ids, limits and attributes of the task, which then goes on as ehguest without an exec.
 */
#ifndef EHLAUNCH_LAUNCH_H
#define EHLAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"
#include "names.h"
#include "rules.h"
#include "wire/descriptors.h"
#include "wire/launch.h"

/** A request as it has come: `length` bytes, and the descriptors that go with it. */
struct request {
	size_t length;
	int fds[DESCRIPTORS_MAX];
	int nfds;
	union {
		struct launch_head head;
		struct {
			struct launch_start q;
			gid_t groups[JOB_GROUPS_MAX]; /**< q.ngroups of them are there */
		} start;
		struct launch_kill kill;
	};
};

/** Whose process an end becomes. */
struct identity {
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	const gid_t *groups;
};

/* main.c */
/** What the site has said. */
extern struct rules rules;
/** Answers a request. `error`: an errno, or 0. */
void tell(int news, enum launch_stage stage, int error);

/* end.c */
/** Whether a request of kind LAUNCH_START is whole. */
bool end_is_good(const struct request *r);
/** Forks an end, which answers. Returns only in the launcher: 0, or -errno: there is no process. */
int end_start(const struct request *r);

/* user.c */
/**
 * Decides who a process is that a request LAUNCH_START asks for; it was admitted. In the child, as it
 * may have to wait. Returns LAUNCH_READY, or what is wrong, with an errno or 0.
 */
enum launch_stage user_find(const struct request *r, struct identity *out);

/* lookup.c */
/** Asks this host. 0, -ENOENT, or another -errno: it does not say. Only in a child. */
int lookup(const char *name, struct user *out);
void lookup_free(struct user *user);

/* cgroup.c */
/**
 * Makes managed/ and guest/ below `root`, and takes over what is there. Returns a descriptor: if it is
 * readable call cgroup_take(). -1: there are no cgroups, and guests start without.
 */
int cgroup_open(const char *root);
void cgroup_take(void);
/** Makes the cgroup of a guest; *fd is a descriptor of it, or -1: there are none. 0 or -errno. */
int cgroup_begin(const char *id, int *fd);
/** Its process has been started, or not: closes the descriptor. */
void cgroup_begun(const char *id, int fd);
/** A request LAUNCH_KILL. */
bool cgroup_kill_is_good(const struct request *r);
int cgroup_kill(const struct request *r);

/* known.c */
/** Returns a descriptor: if it is readable call known_take(). -1: failed. */
int known_open(void);
void known_take(void);
/** In a child: tells the launcher of a user. */
void known_tell(const char *name, const struct user *user);
/** In a child: what the launcher knew of this user. */
bool known_find(const char *name, uid_t uid, struct user *out);
/** In a child: it has no more to tell. */
void known_close(void);

/* attributes.c: 0, or -1 with errno */
/** Scheduling, memory and everything whose order does not matter. */
int attributes_take(const struct launch_start *q);
/** The login user id, before the change of user. Fails rather than leave another one. */
int attributes_take_login(const struct launch_start *q);
/** As root, before the change of user. */
int attributes_take_bounding(const struct launch_start *q);
/** After the change of user, if we were root. */
int attributes_take_capabilities(const struct launch_start *q);

#endif
