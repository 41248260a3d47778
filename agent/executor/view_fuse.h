/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view_fuse.h
 * ehview of one view: its devices, its start as the view's user, its end.
 */
#ifndef AGENT_EXECUTOR_VIEW_FUSE_H
#define AGENT_EXECUTOR_VIEW_FUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "wire/view.h"

struct agent;

/** Why there is none here; NULL: there may be. */
const char *view_fuse_trouble(void);

struct view_fuse {
	int devices[VIEW_TREES_MAX], homes[VIEW_TREES_MAX], forgets[VIEW_TREES_MAX];
	size_t ntrees;
	pid_t pid; /**< of ehview; 0: none */
	int control; /**< read for tickets */
};

/** One more file system, whose stream to home is `home`, which is taken over. What is mounted, or -errno. */
int view_fuse_add(struct view_fuse *f, int home);
/** Starts ehview for them, as this user. 0 or -errno. */
int view_fuse_start(struct agent *agent, struct view_fuse *f, uid_t uid);
/** 0 or -errno. */
int view_fuse_sync(const struct view_fuse *f, uint32_t ticket, bool ended);
/** A ticket that was answered, 0: none, or -errno: it is dead. */
int64_t view_fuse_synced(const struct view_fuse *f);
/** Ends it: what waits for it in the kernel gets errors. */
void view_fuse_stop(struct view_fuse *f);

#endif
