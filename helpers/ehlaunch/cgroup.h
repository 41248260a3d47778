/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file cgroup.h  The node's directories in the cgroup tree. */
#ifndef EHLAUNCH_CGROUP_H
#define EHLAUNCH_CGROUP_H

#include "request.h"

/**
 * Makes managed/, all/ and guest/ below `root`, and takes over what is there. When *changes is readable
 * call folders_take(). -1: there are no cgroups, and guests start without. 0, or -errno: they are there, and
 * cannot be used. Agents would take guests that are in none for strangers.
 */
int cgroup_open(const char *root, int *changes);
/**
 * Makes the cgroup of a guest of this user, or, for one that begins again, finds it; *fd is a descriptor
 * of it, or -1: there are none. 0, -EEXIST (it is there, or another user's), or another -errno.
 */
int cgroup_begin(const char *id, uid_t uid, bool again, int *fd);
/** Its process has been started, or not (`pidfd` -1): takes over the descriptors. */
void cgroup_begun(const char *id, int fd, pid_t pid, int pidfd);
/** Whether there are guests of this ehlaunch that no other one has taken over. */
bool cgroup_has_guests(void);
/**
 * Makes the cgroup of a session of this user, whose tasks leave whatever the load, or do not. Returns a
 * descriptor of it, or -errno (-EUSERS: the user has as many as one may have); cgroup_session_made()
 * follows.
 */
int cgroup_session(const char *name, bool leaves, uid_t uid);
void cgroup_session_made(const char *name, bool leaves, int fd);
/** The directory of a process's cgroup. `process`: its /proc/PID. A descriptor, -EPERM: it is outside of the
 *  tree, or another -errno. */
int cgroup_folder(int process);
/** The same; -EPERM also if it is a guest. */
int cgroup_of(int process);
/** The directory above in the tree: a descriptor, or -1: this is the top. */
int cgroup_above(int folder);
/** A request LAUNCH_KILL. */
bool cgroup_kill_is_good(const struct request *r);
int cgroup_kill(const struct request *r);
/** A descriptor of guest/, or -1: there are no cgroups. */
int cgroup_guests_folder(void);
/** Kills all guests that are in the mount namespace of this number. */
void cgroup_kill_in(ino_t space);

#endif
