/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file call.h  Requests to home that are under way. */
#ifndef EHVIEW_CALL_H
#define EHVIEW_CALL_H

#include "node.h"

struct call {
	uint32_t tag, op;
	UT_hash_handle hh;
	struct call *next; /**< of node->waiting */
	struct tree *tree;
	fuse_req_t req; /**< NULL: no request waits for it */
	struct node *node, *other; /**< held */
	struct file *file;
	struct sync *sync;
	void (*done)(struct call *c,
		     const message *a); /**< a->error: errno; must not free the call */
	char name[FILES_NAME_MAX + 1], text[FILES_NAME_MAX + 1];
	uint32_t flags;
	uint64_t size, offset;
	uint8_t *data; /**< of a write that waits */
	struct files_attr made; /**< a new file, before it is given to its owner */
	void (*then)(struct call *c, const message *a); /**< as done, when that is done */
	struct event *later; /**< timer that sends `again`, while `waits` */
	message *again;
	bool waits;
};

/** A call that holds the nodes; NULL: the request was answered with ENOMEM. */
struct call *call_new(struct tree *t, fuse_req_t req, struct node *node, struct node *other);
/** Sends it; `done` is called once. */
void call_send(struct call *c, message *m, void (*done)(struct call *c, const message *a));
void call_free(struct call *c);
int call_answered(struct tree *t, const message *a);
/** Empty, of this op. Valid until the next. */
message *call_message(enum files_op op);

#endif
