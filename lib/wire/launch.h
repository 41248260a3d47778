/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * What an agent asks ehlaunch for: one packet of a SOCK_SEQPACKET socket for each executor's end of
 * a job, of a fixed size but for the groups behind it. Attached are descriptors in the order of enum
 * launch_fd. Both programs are of one build. No I/O.
 */
#ifndef WIRE_LAUNCH_H
#define WIRE_LAUNCH_H

#include <stdint.h>

#include "job.h"

#define LAUNCH_VERSION 1u
#define LAUNCH_SOCKET 3 /**< of ehlaunch to its agent, and of an executor's end to its agent */

enum launch_fd {
	LAUNCH_FD_END, /**< the socket of the end */
	LAUNCH_FD_NEWS, /**< SOCK_SEQPACKET: struct launch_news follows, then it is closed */
	LAUNCH_FD_FIRST_OPTION, /**< cgroup, then view, as the flags say */
	LAUNCH_FDS = 4
};

/** launch_request.flags */
#define LAUNCH_CGROUP 1u /**< begin in this cgroup (a descriptor of its directory) */
#define LAUNCH_VIEW 2u /**< enter this mount namespace */
#define LAUNCH_NO_NEW_PRIVS 4u
#define LAUNCH_RIGHTS \
	8u /**< the site allows root's tasks, and so capabilities and a low OOM score */

struct launch_request {
	uint32_t version, flags;
	uint32_t uid, gid;
	uint32_t ngroups; /**< of uint32_t, behind this struct; at most JOB_GROUPS_MAX */
	uint32_t loginuid; /**< or JOB_LOGINUID_UNSET */
	int32_t nice;
	int32_t oom_score; /**< of a process that says nothing else: the agent's own is not for guests */
	uint64_t rlimit[JOB_RLIMITS][2]; /**< soft, hard; ~0 for none */
	uint64_t traits[JOB_TRAITS];
};

/** The steps of a start. */
enum launch_stage {
	LAUNCH_READY, /**< it is the executor's end now */
	LAUNCH_REQUEST,
	LAUNCH_FORK,
	LAUNCH_DESCRIPTORS,
	LAUNCH_LOGIN,
	LAUNCH_LIMITS,
	LAUNCH_ENTER,
	LAUNCH_USER,
	LAUNCH_STAGES
};

struct launch_news {
	uint32_t stage; /**< LAUNCH_READY, or the step that failed */
	int32_t error; /**< its errno */
	int32_t pid; /**< of the end, with LAUNCH_READY */
};

#endif
