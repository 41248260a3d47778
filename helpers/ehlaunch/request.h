/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file request.h  A request of an agent, and the answer to it. */
#ifndef EHLAUNCH_REQUEST_H
#define EHLAUNCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/ehsched.h>

#include "wire/descriptors.h"
#include "wire/launch.h"
#include "wire/view.h"

/** A request as it has come: `length` bytes, and the descriptors that go with it. */
struct request {
	/** In a child that stays: agents are to see that ehlaunch has ended, although this goes on. */
	void (*forget_agents)(void);
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

/** The next of a list of paths, or NULL: there is none that may be used. */
const char *request_path(const char **at, const char *end);
/** Answers with what begins with a struct launch_news, and with descriptors. 0 or -1. */
int request_answer(int news, const void *told, size_t size, const int *fds, int nfds);
/** Answers with nothing else. `error`: an errno, or 0. */
void request_tell(int news, enum launch_stage stage, int error);
/** Whether a descriptor is of this kind: what its name begins with, as "mnt:[". No file system is asked. */
bool request_fd_is(int fd, const char *kind);

#endif
