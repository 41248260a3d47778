/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view_fuse.h
 * The ehview process of one view: its devices, its start as the view's user, its end.
 */
#ifndef AGENT_EXECUTOR_VIEW_FUSE_H
#define AGENT_EXECUTOR_VIEW_FUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "wire/view.h"

struct agent;

/** Why FUSE cannot be used here; NULL: it can. */
const char *view_fuse_trouble(void);

struct view_fuse {
	int devices[VIEW_TREES_MAX], homes[VIEW_TREES_MAX], forgets[VIEW_TREES_MAX];
	size_t ntrees;
	pid_t pid; /**< of ehview; 0: none */
	int control; /**< tickets come from here */
};

/**
 * Adds a file system. Takes over `home`, its stream to home. Returns a detached mount, which the
 * caller closes, or -errno.
 */
int view_fuse_add(struct view_fuse *f, int home);
/** Starts ehview for all of them, as this user. 0 or -errno. */
int view_fuse_start(struct agent *agent, struct view_fuse *f, uid_t uid);
/**
 * Asks ehview to make home's current files visible or, with `ended`, to send all changes home. The
 * answer is `ticket`. 0 or -EPIPE.
 */
int view_fuse_sync(const struct view_fuse *f, uint32_t ticket, bool ended);
/** A ticket that was answered; 0: none; -EPIPE: ehview has ended. */
int64_t view_fuse_synced(const struct view_fuse *f);
/** Kills ehview; requests that wait for it get errors. */
void view_fuse_stop(struct view_fuse *f);

#endif
