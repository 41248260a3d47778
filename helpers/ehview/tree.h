/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file tree.h  The way of one file system of a view to home. */
#ifndef EHVIEW_TREE_H
#define EHVIEW_TREE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <uthash.h>
#include "helpers/common/stream.h"

/** Descriptors: 0 leads to the agent; then, for each file system, /dev/fuse, the stream to home and a
 *  second /dev/fuse. */
#define FD_DEVICE(i) (3 * (int)(i) + 1)
#define FD_HOME(i) (3 * (int)(i) + 2)
#define FD_FORGET(i) (3 * (int)(i) + 3)

struct tree {
	unsigned int index;
	struct fuse_session *session;
	struct event *asked; /**< requests of the kernel */
	struct stream home;
	struct node *nodes, *root, *numbered; /**< by key; the root; directories by number */
	struct call *calls;
	uint64_t folders; /**< number of the last directory */
	uint32_t handles, tags;
	uint32_t
		unsure; /**< last tag before a write or close: an answer to a later tag shows that it was done */
	bool is_unsure; /**< no such answer has come yet */
	bool flush; /**< something should be sent now */
	bool touched; /**< something was sent to home */
	bool gone; /**< unmounted */
};

struct tree *tree_of(fuse_req_t req);
/** Sends a message without an answer, together with the next request; or now, and then it is `unsure`
 *  whether it was done. */
void tree_post(struct tree *t, const message *m);
void tree_post_now(struct tree *t, const message *m);

#endif
