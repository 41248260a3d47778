/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file look.h  Looking up names, and the changes that home reports. */
#ifndef EHVIEW_LOOK_H
#define EHVIEW_LOOK_H

#include "call.h"

void look_up(fuse_req_t req, fuse_ino_t parent, const char *name);
/** The file that has this name at home. NULL: no memory. */
struct node *look_node(struct node *folder, const char *name, const struct files_attr *attr);
/** Answers a lookup with the node; with `fi` the file is opened too. Not 0: the request was gone. */
int look_reply(fuse_req_t req, struct node *folder, struct node *n, struct fuse_file_info *fi);
/** look_node() and look_reply(). */
void look_answer(fuse_req_t req, struct node *folder, const char *name,
		 const struct files_attr *attr);
void look_news(struct tree *t, const message *m);
/** An operation from here has changed the name, which now is in this state. */
void look_changed(struct node *folder, const char *name, enum entry_state state);
/** Answers a call that failed, also because home no longer knows the directory. */
void look_failed(struct call *c, int error);

#endif
