/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * What an agent asks ehlaunch for: one packet of a SOCK_SEQPACKET socket for each request. It begins
 * with struct launch_head, has the struct of its kind, and perhaps a list behind it. Attached are
 * descriptors, the first of them a socket for the answer. Before the first request ehlaunch says with
 * a struct launch_begun that it has begun, and which versions of requests it takes. No I/O.
 */
#ifndef WIRE_LAUNCH_H
#define WIRE_LAUNCH_H

#include <stdint.h>

#include "attach.h"
#include "job.h"
#include "wish.h"

/**
 * Of requests. A struct of a request or an answer never changes within a version, except that an
 * answer may become longer: a program that knows less of it takes the beginning.
 */
#define LAUNCH_VERSION 6u
#define LAUNCH_OLDEST 5u /**< that ehlaunch still takes, and agents still send */
#define LAUNCH_PATH "/run/ehsched/launch" /**< where the ehlaunch of a host listens */
#define LAUNCH_TEXT 160
#define LAUNCH_SOCKET 3 /**< of ehlaunch to its agent, and of an executor's end to its agent */
#define LAUNCH_USER_MAX 64 /**< bytes of a user's name, with its NUL */
#define LAUNCH_ID_MAX 64 /**< bytes of a guest's ID, "NODE:NUMBER", with its NUL */

enum launch_kind {
	LAUNCH_START, /**< an executor's end of a job: struct launch_start */
	LAUNCH_KERNEL, /**< register a netlink socket with the module: struct launch_head only */
	/* file views */
	LAUNCH_MOUNT, /**< a view of home's files: struct launch_mount */
	LAUNCH_FILES, /**< a server of home's files: struct launch_files */
	LAUNCH_LOOK, /**< an ehlook: struct launch_look */
	LAUNCH_SESSION, /**< of `ehctl run`: struct launch_session */
	LAUNCH_KILL, /**< all processes of a guest: struct launch_kill */
	LAUNCH_RELOAD, /**< the rules of the site have changed: struct launch_head only */
	LAUNCH_ELIGIBLE, /**< whether a process may leave: struct launch_eligible */
	LAUNCH_KINDS
};

struct launch_head {
	uint32_t version, kind;
};

/** The descriptor that each request has. */
#define LAUNCH_FD_NEWS 0 /**< SOCK_SEQPACKET: struct launch_news follows, then it is closed */

/** Those of LAUNCH_START. */
enum launch_start_fd {
	LAUNCH_FD_END = LAUNCH_FD_NEWS + 1, /**< the socket of the end */
	LAUNCH_FD_FIRST_OPTION, /**< view, as the flags say */
	LAUNCH_START_FDS = 3
};

/** launch_start.flags */
#define LAUNCH_VIEW 2u /**< enter this mount namespace */
#define LAUNCH_NO_NEW_PRIVS 4u
#define LAUNCH_TELLS \
	8u /**< since version 6: its agent takes what it tells of times, and FRAME_SEEN */
#define LAUNCH_FLAGS 14u /**< all of them */

/**
 * What home says of a task. It is a wish: ehlaunch decides what the process gets of it, by what is
 * known on this host (helpers/ehlaunch/user.c, limits.c).
 */
struct launch_start {
	struct launch_head head;
	uint32_t flags;
	uint32_t uid, gid;
	/** the name of `uid`: the same here, unless the site has a map */
	char user[LAUNCH_USER_MAX];
	char id[LAUNCH_ID_MAX]; /**< of the guest: the name of its cgroup */
	uint32_t ngroups; /**< of uint32_t, behind this struct; at most JOB_GROUPS_MAX */
	uint32_t loginuid; /**< or JOB_LOGINUID_UNSET */
	int32_t nice;
	int32_t oom_score; /**< of a process that says nothing else: the agent's own is not for guests */
	uint64_t rlimit[JOB_RLIMITS][2]; /**< soft, hard; ~0 for none */
	uint64_t traits[JOB_TRAITS];
};

/**
 * How a side of a view outlives its agent. When the agent closes its end of
 * LAUNCH_FD_NEWS without a word, whoever has started that side connects to the next agent: FRAME_KEPT
 * with what is said here, then LAUNCH_READY again with its descriptors. So each agent has the same.
 */
struct launch_stay {
	uint32_t limit_ms; /**< how long it waits for the next agent; at most ATTACH_STOPPED_MS */
	uint32_t number; /**< LAUNCH_FILES: which file system of the view */
	char token[ATTACH_TOKEN]; /**< of the view */
	char other[ATTACH_CODE]; /**< the node of the other side */
};

/** What an agent says at its end of LAUNCH_FD_NEWS, as a uint32_t. */
enum launch_word {
	LAUNCH_STAY = 1, /**< after FRAME_KEPT: this agent has it now */
	LAUNCH_OVER, /**< it is not needed any more */
	/** or-ed with another limit_ms, once it is there; one of an earlier version keeps its own */
	LAUNCH_LIMIT = 1 << 30,
};

/**
 * LAUNCH_MOUNT. Behind it are the paths of home's file systems, each with its NUL, the first of them
 * "/". Descriptors are the streams to their servers. With LAUNCH_READY come those of launch_mounted.
 * The view ends with LAUNCH_OVER, or when the agent closes its end of LAUNCH_FD_NEWS, unless it stays,
 * or has not been made yet; and the other way round.
 *
 * Without trees it only asks whether this host could mount them.
 */
struct launch_mount {
	struct launch_head head;
	uint32_t zero; /**< an earlier version had 1 here for 9p */
	uint32_t ntrees; /**< paths and descriptors; at most VIEW_TREES_MAX */
	uint32_t uid;
	int32_t nice; /**< of ehview */
	char user[LAUNCH_USER_MAX]; /**< the name of `uid` */
	struct launch_stay stay;
};

/** Descriptors that come with LAUNCH_READY of a LAUNCH_MOUNT. */
enum launch_mounted {
	LAUNCH_FD_NAMESPACE, /**< the mount namespace */
	LAUNCH_FD_CONTROL, /**< to ehview */
	LAUNCH_MOUNTED
};

/**
 * LAUNCH_FILES. Behind it is the path of the file system, with its NUL. Its descriptor is the server's
 * socket. The server's control comes with LAUNCH_READY (VIEW_CONNECT of wire/view.h), before the server
 * says anything. The server ends as a view does.
 */
struct launch_files {
	struct launch_head head;
	uint32_t zero; /**< an earlier version had 1 here for 9p */
	uint32_t uid;
	int32_t nice;
	char user[LAUNCH_USER_MAX]; /**< the name of `uid` */
	struct launch_stay stay;
};

/** LAUNCH_LOOK. Its socket is the second descriptor. It ends when the agent closes its end of the first. */
struct launch_look {
	struct launch_head head;
	int32_t nice;
};

/**
 * LAUNCH_SESSION. The second descriptor is the socket of the process that asked the agent: whose it is
 * the kernel says (SO_PEERCRED), so an agent can manage only those that have come to it. It must be a
 * socket that somebody has connected to: of one that has connected the kernel says who listens.
 */
struct launch_session {
	struct launch_head head;
	uint32_t retry; /**< its tasks may be run again */
	uint32_t leaves; /**< its tasks leave whatever the load: its directory is in all/ */
	uint32_t view; /**< of its tasks: enum view */
	uint64_t came; /**< when the process connected: clock ticks since boot, as in proc(5) */
	char wish[SESSION_WISH + 1];
};

/**
 * LAUNCH_ELIGIBLE. The second descriptor is the socket of the process, as of LAUNCH_SESSION. One of an earlier
 * version of ehsched does not know it: LAUNCH_REQUEST, and the process does not leave.
 */
struct launch_eligible {
	struct launch_head head;
	uint64_t came; /**< as of launch_session */
};

/* On the directory of a session, so that they outlive the agent: whether it retries, and a view_name(). */
#define LAUNCH_NOTE_RETRY "user.ehsched.retry"
#define LAUNCH_NOTE_VIEW "user.ehsched.view"

/* On the directory of a guest in a view: the inode number of its mount namespace, decimal. */
#define LAUNCH_NOTE_NAMESPACE "user.ehsched.namespace"
/* On the directory of a guest, or a session: its user, decimal. */
#define LAUNCH_NOTE_USER "user.ehsched.user"
/* On the directory of a guest: the process of its ehguest, and when that was started (proc(5)), decimal. */
#define LAUNCH_NOTE_END "user.ehsched.end"
/* The same on guest/: the ehlaunch that has taken over the tree. */
#define LAUNCH_NOTE_LAUNCHER "user.ehsched.launcher"
#define LAUNCH_NOTE_PROCESS 36 /* bytes of these two, at most */

/** LAUNCH_KILL. */
struct launch_kill {
	struct launch_head head;
	char id[LAUNCH_ID_MAX];
};

/** The steps of a request. */
enum launch_stage {
	LAUNCH_READY, /**< it is done: of a start, the child is the executor's end now */
	LAUNCH_REQUEST,
	LAUNCH_FORK,
	LAUNCH_DESCRIPTORS,
	LAUNCH_LOGIN,
	LAUNCH_LIMITS,
	LAUNCH_ENTER,
	LAUNCH_USER,
	LAUNCH_RULES, /**< error: 0 */
	LAUNCH_LOOKUP,
	LAUNCH_UNKNOWN, /**< error: 0 */
	LAUNCH_MODULE,
	LAUNCH_FOREIGN, /**< the namespace is none of ehlaunch's, or another user's */
	LAUNCH_NAMESPACE,
	LAUNCH_ACCOUNT, /**< nothing is mounted or served for this user */
	LAUNCH_FUSE,
	LAUNCH_SERVER,
	LAUNCH_ATTACH, /**< of 9p, in an earlier version */
	LAUNCH_ROOT,
	LAUNCH_OWN,
	LAUNCH_CGROUP,
	LAUNCH_CONFINED, /**< a session would free the process of what confines it */
	LAUNCH_DENIED, /**< by a rule about its user or a group of that; error: 0 */
	LAUNCH_UNSEEN, /**< what confines the process cannot be seen */
	LAUNCH_STAGES
};

struct launch_news {
	uint32_t stage; /**< LAUNCH_READY, or the step that failed */
	int32_t error; /**< its errno */
	int32_t pid; /**< of the end, with LAUNCH_READY */
};

/** What ehlaunch says first. One that says launch_news only takes requests of version 5. */
struct launch_begun {
	struct launch_news news;
	uint32_t oldest, newest; /**< versions of requests that it takes */
	uint64_t
		rules; /**< launch_digest() of the options that it enforces; one of before does not say */
};

/**
 * LAUNCH_RELOAD. ehlaunch begins again with the options that the agent's file makes now, in the same
 * process: all its connections close, LAUNCH_FD_NEWS too. It is answered only if that cannot be.
 */

/** The answer to LAUNCH_KERNEL. With LAUNCH_READY comes the socket. */
struct launch_registered {
	struct launch_news news;
	char text[LAUNCH_TEXT]; /**< what the kernel says about an error, or "" */
};

/** The answer to LAUNCH_ELIGIBLE. With LAUNCH_READY it was judged. */
struct launch_judged {
	struct launch_news news;
	uint32_t reason; /**< enum ehs_reason; EHS_REASON_NONE: it may leave */
	char text[LAUNCH_TEXT]; /**< what keeps it, of the process, in words; or "" */
};

/** The answer to LAUNCH_SESSION. */
struct launch_managed {
	struct launch_news news;
	char name[64];
};

#endif
