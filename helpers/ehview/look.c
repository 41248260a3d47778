// SPDX-License-Identifier: GPL-2.0-or-later
#include "look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "forget.h"

/* Names known of a directory, above which no more names that do not exist are kept. */
#define LOOK_ABSENT_MAX 8192

static bool look_watched(const struct node *folder)
{
	return folder->known >= KNOWN_PARTLY;
}

struct node *look_node(struct node *folder, const char *name, const struct files_attr *attr)
{
	struct entry *e = entry_of(folder, name);

	return e ? node_get(e, attr) : NULL;
}

int look_reply(fuse_req_t req, struct node *folder, struct node *n, struct fuse_file_info *fi)
{
	struct fuse_entry_param p;
	int err;

	memset(&p, 0, sizeof(p));
	n->lookups++;
	p.ino = node_ino(n);
	node_stat(n, &p.attr);
	p.attr_timeout = node_attr_time(n);
	p.entry_timeout = look_watched(folder) ? VIEW_FOREVER : 0;
	err = fi ? fuse_reply_create(req, &p, fi) : fuse_reply_entry(req, &p);
	if (err)
		node_forget(n, 1);
	return err;
}

void look_answer(fuse_req_t req, struct node *folder, const char *name,
		 const struct files_attr *attr)
{
	struct node *n = look_node(folder, name, attr);

	if (n)
		look_reply(req, folder, n, NULL);
	else
		fuse_reply_err(req, ENOMEM);
}

static void look_answer_absent(fuse_req_t req, struct node *folder, const char *name)
{
	struct fuse_entry_param p;
	struct entry *e = NULL;

	memset(&p, 0, sizeof(p));
	if (look_watched(folder) && folder->nentries < LOOK_ABSENT_MAX)
		e = entry_of(folder, name);
	else
		e = entry_find(folder, name);
	if (e)
		entry_lose(e);
	if (e && look_watched(folder)) {
		e->state = ENTRY_NOT_THERE;
		p.entry_timeout = VIEW_FOREVER;
	}
	fuse_reply_entry(req, &p);
}

static void look_ask(struct call *c);

static void look_on_answer(struct call *c, const message *a)
{
	struct call *again;

	if (a->error == ESTALE && !c->flags) {
		/* the directory was moved at home: it may be found by its new place */
		node_renumber(c->node);
		again = call_new(c->tree, c->req, c->node, NULL);
		if (!again)
			return;
		strcpy(again->name, c->name);
		again->flags = 1;
		look_ask(again);
	} else if (a->error == ENOENT) {
		look_answer_absent(c->req, c->node, c->name);
	} else if (a->error) {
		fuse_reply_err(c->req, a->error);
	} else {
		look_answer(c->req, c->node, c->name, &a->attr);
	}
}

static void look_ask(struct call *c)
{
	message *m = call_message(FILES_LOOK);

	m->dir = node_number(c->node);
	if (!m->dir) {
		fuse_reply_err(c->req, ESTALE);
		call_free(c);
		return;
	}
	strcpy(m->name, c->name);
	call_send(c, m, look_on_answer);
}

/* The directory's list is here, or cannot be had. */
static void look_in(struct call *c)
{
	struct node *folder = c->node;
	struct entry *e = look_watched(folder) ? entry_find(folder, c->name) : NULL;

	if (e && e->state == ENTRY_THERE) {
		struct files_attr attr = e->attr;

		look_answer(c->req, folder, c->name, &attr);
	} else if (e ? e->state == ENTRY_NOT_THERE : folder->known == KNOWN_ALL) {
		look_answer_absent(c->req, folder, c->name);
	} else {
		look_ask(c);
		return;
	}
	call_free(c);
}

static void look_take_list(struct node *folder, const message *a)
{
	const uint8_t *at = a->data, *end = at + a->length;
	struct files_entry listed;
	struct entry *e, *next;

	folder->known = !(a->flags & FILES_WATCHED) ? KNOWN_UNWATCHED
			: a->flags & FILES_COMPLETE ? KNOWN_ALL
						    : KNOWN_PARTLY;
	if (folder->known != KNOWN_ALL)
		return;
	HASH_ITER(hh, folder->entries, e, next)
		e->state = ENTRY_NOT_THERE;
	while (files_entry_decode(&listed, &at, end)) {
		e = entry_of(folder, listed.name);
		if (!e) {
			folder->known = KNOWN_PARTLY;
			HASH_ITER(hh, folder->entries, e, next)
				e->state = ENTRY_UNKNOWN;
			return;
		}
		if (e->attr.ino != listed.attr.ino || e->attr.dev != listed.attr.dev)
			entry_lose(e);
		e->state = ENTRY_THERE;
		e->attr = listed.attr;
	}
	HASH_ITER(hh, folder->entries, e, next)
		if (e->state == ENTRY_NOT_THERE)
			entry_lose(e);
}

static void look_on_list(struct call *c, const message *a)
{
	struct node *folder = c->node;
	struct call *w;

	folder->known = KNOWN_UNWATCHED;
	if (a->error == ESTALE)
		node_renumber(folder);
	else if (folder->number != c->size)
		folder->known = KNOWN_NOT; /* its number has changed since */
	else if (!a->error)
		look_take_list(folder, a);
	/* without a list each name is asked for, and the answer says what is wrong */
	while ((w = folder->waiting)) {
		folder->waiting = w->next;
		look_in(w);
	}
}

void look_up(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *t = tree_of(req);
	struct node *folder = node_of(req, parent);
	struct call *c, *list;
	message *m;

	if (strlen(name) > FILES_NAME_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	c = call_new(t, req, folder, NULL);
	if (!c)
		return;
	strcpy(c->name, name);
	if (folder->known == KNOWN_NOT && node_number(folder)) {
		list = call_new(t, NULL, folder, NULL);
		if (list) {
			m = call_message(FILES_LIST);
			m->dir = list->size = folder->number;
			folder->known = KNOWN_ASKED;
			call_send(list, m, look_on_list);
		}
	}
	if (folder->known == KNOWN_ASKED) {
		c->next = folder->waiting;
		folder->waiting = c;
	} else {
		look_in(c);
	}
}

/* ---- changes ---- */

void look_changed(struct node *folder, const char *name, enum entry_state state)
{
	struct entry *e =
		look_watched(folder) || state == ENTRY_UNKNOWN ? entry_find(folder, name) : NULL;

	if (e)
		e->state = state;
	if (e && state == ENTRY_NOT_THERE)
		entry_lose(e);
	node_stale(folder, false); /* the kernel made the change and knows it */
}

/* The name now leads to another file, or to none. */
static void look_lose(struct node *folder, struct entry *e)
{
	struct node *n = entry_node(e);

	e->state = ENTRY_UNKNOWN;
	if (n)
		node_stale(n, true);
	entry_lose(e);
	forget_name(folder->tree, node_ino(folder), e->name);
}

/* A directory is forgotten only if it is another one now: file systems mounted on it would be lost. */
static void look_on_verified(struct call *c, const message *a)
{
	struct entry *e = entry_find(c->node, c->name);

	if (e && (a->error || a->attr.dev != e->attr.dev || a->attr.ino != e->attr.ino))
		look_lose(c->node, e);
}

static void look_doubt(struct node *folder)
{
	struct entry *e, *next;
	struct call *c;
	message *m;

	HASH_ITER(hh, folder->entries, e, next) {
		struct node *n = entry_node(e);

		if (n)
			node_stale(n, true);
		e->state = ENTRY_UNKNOWN;
		if (!n || !S_ISDIR(n->attr.mode)) { /* nothing is mounted on it */
			forget_name(folder->tree, node_ino(folder), e->name);
			continue;
		}
		c = node_number(folder) ? call_new(folder->tree, NULL, folder, NULL) : NULL;
		if (!c) {
			look_lose(folder, e);
			continue;
		}
		strcpy(c->name, e->name);
		m = call_message(FILES_LOOK);
		m->dir = folder->number;
		strcpy(m->name, e->name);
		call_send(c, m, look_on_verified);
	}
	if (folder->known != KNOWN_ASKED)
		folder->known = KNOWN_NOT;
	node_stale(folder, true);
}

/* A file has got one more name: forgets what was known under the others. */
static void look_doubt_file(struct tree *t, uint64_t dev, uint64_t ino)
{
	struct node *folder, *next, *n;
	struct entry *e, *more;

	HASH_ITER(by_number, t->numbered, folder, next)
		HASH_ITER(hh, folder->entries, e, more) {
			if (e->attr.ino != ino || e->attr.dev != dev)
				continue;
			if (e->state == ENTRY_THERE)
				e->state = ENTRY_UNKNOWN;
			n = entry_node(e);
			if (n)
				node_stale(n, true);
		}
}

void look_news(struct tree *t, const message *m)
{
	struct node *folder, *n, *next;
	struct entry *e;

	if (m->ino)
		look_doubt_file(t, m->offset, m->ino);
	if (!m->dir) {
		HASH_ITER(by_number, t->numbered, n, next)
			look_doubt(n);
		return;
	}
	HASH_FIND(by_number, t->numbered, &m->dir, sizeof(m->dir), folder);
	if (!folder)
		return; /* it was forgotten meanwhile */
	if (!m->name[0]) {
		if (m->flags & FILES_NEWS_NAME)
			look_doubt(folder);
		node_stale(folder, true);
		return;
	}
	e = entry_find(folder, m->name);
	if (m->flags & FILES_NEWS_NAME) {
		node_stale(folder, true);
		if (e)
			look_lose(folder, e);
		else if (folder->known == KNOWN_ALL && !entry_of(folder, m->name))
			folder->known = KNOWN_PARTLY;
	} else if (e) {
		n = entry_node(e);
		e->state = ENTRY_UNKNOWN;
		if (n)
			node_stale(n, true);
	}
}

/* Home did not find it where it was. */
static void look_lost(struct node *n)
{
	if (n->at && n->at->node == n)
		look_lose(n->at->folder, n->at);
}

void look_failed(struct call *c, int error)
{
	if (error == ESTALE && c->node) {
		if (S_ISDIR(c->node->attr.mode))
			node_renumber(c->node);
		else
			look_lost(c->node); /* then the kernel looks it up again */
	}
	if (error == ESTALE && c->other && S_ISDIR(c->other->attr.mode))
		node_renumber(c->other);
	fuse_reply_err(c->req, error);
}
