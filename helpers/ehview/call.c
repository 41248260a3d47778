// SPDX-License-Identifier: GPL-2.0-or-later
#include "call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

message *call_message(enum files_op op)
{
	static message m;

	m.op = op;
	m.tag = 0;
	m.error = 0;
	m.handle = m.handle2 = m.flags = m.mode = m.uid = m.gid = 0;
	m.dir = m.dir2 = m.ino = m.offset = m.size = m.owner = 0;
	memset(m.times, 0, sizeof(m.times));
	m.name[0] = m.text[0] = '\0';
	m.data = NULL;
	m.length = 0;
	return &m;
}

struct call *call_new(struct tree *t, fuse_req_t req, struct node *node, struct node *other)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c) {
		if (req)
			fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	c->tree = t;
	c->req = req;
	c->node = node ? node_hold(node) : NULL;
	c->other = other ? node_hold(other) : NULL;
	return c;
}

void call_free(struct call *c)
{
	if (c->node)
		node_put(c->node);
	if (c->other)
		node_put(c->other);
	if (c->later)
		event_free(c->later);
	free(c->again);
	free(c->data);
	free(c);
}

void call_send(struct call *c, message *m, void (*done)(struct call *c, const message *a))
{
	struct tree *t = c->tree;
	struct call *other;

	do {
		c->tag = ++t->tags;
		HASH_FIND(hh, t->calls, &c->tag, sizeof(c->tag), other);
	} while (other || !c->tag);
	c->done = done;
	c->op = m->op;
	m->tag = c->tag;
	HASH_ADD(hh, t->calls, tag, sizeof(c->tag), c);
	tree_post(t, m);
	t->flush = true;
}

int call_answered(struct tree *t, const message *a)
{
	struct call *c;

	HASH_FIND(hh, t->calls, &a->tag, sizeof(a->tag), c);
	if (!c || a->op != (c->op | FILES_ANSWER))
		return -EPROTO;
	HASH_DEL(t->calls, c);
	if ((int32_t)(a->tag - t->unsure) > 0)
		t->is_unsure = false;
	c->done(c, a);
	if (!c->waits)
		call_free(c);
	return 0;
}
