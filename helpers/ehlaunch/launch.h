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

#include "limits.h"
#include "helpers/common/lookup.h"
#include "helpers/common/names.h"
#include "rules.h"
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
		struct launch_look look;
		struct launch_session session;
		struct launch_eligible eligible;
		struct launch_kill kill;
	};
};

/** Whose process a child becomes. */
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
/** Whether a descriptor is of this kind: what its name begins with, as "mnt:[". No file system is asked. */
bool descriptor_is(int fd, const char *kind);
/** In a child that stays: agents are to see that ehlaunch has ended, although this goes on. */
void forget_agents(void);

/* site.c */
/** What ehlaunch found on this host when it was started. */
extern struct site {
	int namespace; /**< the mount namespace of this host */
	/** "": none */
	char stub[EHS_PATH_MAX + 1], ehlook[EHS_PATH_MAX + 1], ehview[EHS_PATH_MAX + 1],
		ehfiles[EHS_PATH_MAX + 1];
} site;
void site_look(void);

/* rights.c */
/** Gives up what ehlaunch does not need. 0 or -errno. */
int rights_drop(void);
/** What is done until rights_resume() is done with no capability. 0 or -errno. */
int rights_pause(void);
int rights_resume(void);

/* kernel.c */
bool kernel_is_good(const struct request *r);
/** Registers a socket with the module, and answers with it. Always 0. */
int kernel_register(const struct request *r);

/* paths.c */
/** The next of a list of paths, or NULL: there is none that may be used. */
const char *paths_take(const char **at, const char *end);

/* keep.c */
/** This child ends, and its own with it, as soon as the agent closes its end of `news`. */
void keep_begin(int news);
/** In a child of it, when it has its ids. */
void keep_child(pid_t parent, int nice);
/** Until that, or until the child has ended. */
void keep(pid_t pid) __attribute__((noreturn));
/** Whether a request says in a proper way how it is to stay. */
bool keep_is_good(const struct launch_stay *stay);
/** From here on the agent may end before it. To be called before the agent is told that all is ready. 0 or -1. */
int keep_outlive(int news);
/** Answers LAUNCH_READY with these descriptors. 0 or -1. */
int keep_tell(int news, const int *fds, int nfds);
/** What is kept for the next agent. */
struct keeping {
	struct launch_stay stay;
	bool executor;
	uid_t uid;
	uint32_t number;
	const int *fds; /**< as told with LAUNCH_READY */
	int nfds;
};
/** Instead of keep(), after keep_outlive(): also without an agent, until the limit is over or an agent says LAUNCH_OVER. */
void keep_stay(pid_t pid, int news, const struct keeping *k) __attribute__((noreturn));

/* view.c */
/** Whether a request of kind LAUNCH_MOUNT is whole. */
bool view_is_good(const struct request *r);
/** Forks a child that mounts and answers. 0 or -errno. */
int view_start(const struct request *r);
/** Whether this is the namespace of a view of this user of home that was made here. */
bool view_is_ours(int namespace, const char *user, uid_t uid);

/* files.c: the same for LAUNCH_FILES */
bool files_is_good(const struct request *r);
int files_start(const struct request *r);

/* session.c */
bool session_is_good(const struct request *r);
/** Makes a session with the process that asked for it, and answers. Always 0. */
int session_start(const struct request *r);

/* eligible.c */
bool eligible_is_good(const struct request *r);
/** Says whether the process that has connected may leave. Always 0. */
int eligible_answer(const struct request *r);

/* look.c: the same for LAUNCH_LOOK */
bool look_is_good(const struct request *r);
int look_start(const struct request *r);

/* end.c */
/** Whether a request of kind LAUNCH_START is whole. */
bool end_is_good(const struct request *r);
/** Forks an end, which answers. Returns only in the launcher: 0, or -errno: there is no process. */
int end_start(const struct request *r);

/* user.c */
/** Whether this may be looked up as the name of a user, or need not be. */
bool user_is_named(const char name[LAUNCH_USER_MAX], uid_t uid);
/**
 * Decides who a process is that a request LAUNCH_START asks for; it was admitted. In the child, as it
 * may have to wait. Returns LAUNCH_READY, or what is wrong, with an errno or 0.
 */
enum launch_stage user_find(const struct request *r, struct identity *out);
/**
 * Who a user is, with all of its groups. In a child, as user_find(). `guest`: for a task of another
 * host, of one of its users. 0, -EPERM: nothing is done for this user, -ENOENT: unknown, or of another number, or
 * another -errno.
 */
int user_here(const char *name, uid_t uid, bool guest, struct identity *out);
/** Becomes this user. 0 or -errno. */
int user_become(const struct identity *who);

/* cgroup.c */
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
/** Writes to a file of a cgroup. 0 or -errno. */
int cgroup_write(int folder, const char *name, const char *text);
/** A request LAUNCH_KILL. */
bool cgroup_kill_is_good(const struct request *r);
int cgroup_kill(const struct request *r);
/** Kills all that is in a guest's cgroup. 0, -ENOENT: there is none, or not with this kernel, or another -errno. */
int cgroup_kill_guest(const char *id);
/** A descriptor of guest/, or -1: there are no cgroups. */
int cgroup_guests_folder(void);
/** Kills all guests that are in the mount namespace of this number. */
void cgroup_kill_in(ino_t space);

/* known.c */
/** Returns a descriptor: if it is readable call known_take(). -1: failed. */
int known_open(void);
void known_take(void);
/** In a child: tells the launcher of a user. `guest`: the rules let tasks of this user run here. */
void known_tell(const char *name, const struct user *user, bool guest);
/** In a child: what the launcher knew of this user; `uid` -1: of any number; `guest`: only if that was so. */
bool known_find(const char *name, uid_t uid, bool guest, struct user *out);
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
