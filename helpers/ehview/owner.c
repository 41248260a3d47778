// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Home makes a new file as the user of the view. Only a task of root can change its IDs: what it makes as somebody
 * else is given to him, before he is told that it is there.
 */
#include "owner.h"

#include <string.h>
#include <unistd.h>

static void owner_on_given(struct call *c, const message *a)
{
	message *m;

	if (!a->error) {
		c->then(c, a);
		return;
	}
	/* A file system without owners, or where root has no rights: it stays as it is. */
	m = call_message(FILES_SET);
	m->op |= FILES_ANSWER;
	m->attr = c->made;
	c->then(c, m);
}

bool owner_settle(struct call *c, const message *a, void (*done)(struct call *c, const message *a))
{
	const struct fuse_ctx *ctx = fuse_req_ctx(c->req);
	bool inherits = c->node->attr.mode & S_ISGID;
	gid_t gid = inherits ? a->attr.gid : ctx->gid;
	struct call *next;
	message *m;

	if (a->op == (FILES_SET | FILES_ANSWER) || a->error || geteuid() ||
	    (a->attr.uid == ctx->uid && a->attr.gid == gid))
		return false;
	next = call_new(c->tree, NULL, c->node, NULL);
	if (!next)
		return false;
	next->req = c->req;
	next->file = c->file;
	next->flags = c->flags;
	strcpy(next->name, c->name);
	next->made = a->attr;
	next->then = done;
	m = call_message(FILES_SET);
	m->dir = node_number(c->node);
	strcpy(m->name, c->name);
	m->uid = ctx->uid;
	m->gid = gid;
	m->mode = next->made.mode;
	m->flags = FILES_SET_UID | FILES_SET_GID;
	/* A new owner clears them. */
	if (S_ISREG(m->mode) && m->mode & (S_ISUID | S_ISGID))
		m->flags |= FILES_SET_MODE;
	call_send(next, m, owner_on_given);
	return true;
}
