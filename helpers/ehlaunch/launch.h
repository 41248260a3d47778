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
#include <linux/ehsched.h>

#include "wire/descriptors.h"
#include "wire/launch.h"
#include "wire/view.h"

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
		struct {
			struct launch_mount q;
			char paths[VIEW_TREES_MAX * (EHS_PATH_MAX + 1)];
		} mount;
		struct {
			struct launch_files q;
			char path[EHS_PATH_MAX + 1];
		} files;
	};
};

#define SITE_OWN_MAX 16

/** What the site has said. */
struct site {
	bool allow_root;
	const char *own[SITE_OWN_MAX]; /**< directories of this node in each view */
	unsigned int owned;
	int namespace; /**< the mount namespace of this host */
	char ehview[EHS_PATH_MAX + 1], ehfiles[EHS_PATH_MAX + 1]; /**< "": not installed */
};

/** A user of this host. */
struct account {
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	gid_t groups[1024];
};

/* main.c */
/** Answers a request. `error`: an errno, or 0. */
void tell(int news, enum launch_stage stage, int error);

/* site.c */
extern struct site site;
/** Reads the arguments. 0, or -EINVAL after a message. */
int site_parse(int argc, char **argv);

/* paths.c */
/** The next of a list of paths, or NULL: there is none that may be used. */
const char *paths_take(const char **at, const char *end);

/* account.c */
/** Who this user is here; in a child. 0, -EPERM: nothing is done for this user, or -errno. */
int account_find(const char *name, uid_t uid, struct account *out);
/** 0 or -errno. */
int account_become(const struct account *a);

/* keep.c */
/** This child ends, and its own with it, as soon as the agent closes its end of `news`. */
void keep_begin(int news);
/** In a child of it, when it has its ids. */
void keep_child(pid_t parent, int nice);
/** Until that, or until the child has ended; 0: no child. */
void keep(pid_t pid) __attribute__((noreturn));

/* view.c */
/** Whether a request of kind LAUNCH_MOUNT is whole. */
bool view_is_good(const struct request *r);
/** Forks a child that mounts and answers. 0 or -errno. */
int view_start(const struct request *r);
/** Whether this is the namespace of a view of this user that was made here. */
bool view_is_ours(int namespace, uid_t uid);

/* files.c: the same for LAUNCH_FILES */
bool files_is_good(const struct request *r);
int files_start(const struct request *r);

/* end.c */
/** Whether a request of kind LAUNCH_START is whole. */
bool end_is_good(const struct request *r);
/** Forks an end, which answers. Returns only in the launcher: 0, or -errno: there is no process. */
int end_start(const struct request *r);

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
