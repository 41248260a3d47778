// SPDX-License-Identifier: GPL-2.0-or-later
#include "node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forget.h"

/*
 * The user of the view may have another number here than at home. Of all other users the numbers are home's;
 * the one whose number at home is the user's here has the user's at home, so that no file of another user
 * seems to be the user's.
 */
static uid_t node_home, node_here;

struct node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): what node_ino() made of it */
	return ino == FUSE_ROOT_ID ? tree_of(req)->root : (struct node *)(uintptr_t)ino;
}

fuse_ino_t node_ino(const struct node *n)
{
	return n == n->tree->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)n;
}

int node_init(struct tree *t)
{
	t->root = calloc(1, sizeof(*t->root));
	if (!t->root)
		return -ENOMEM;
	t->root->tree = t;
	t->root->refs = 1;
	t->root->attr.mode = S_IFDIR;
	t->root->number = t->folders = FILES_ROOT;
	HASH_ADD(by_number, t->numbered, number, sizeof(t->root->number), t->root);
	return 0;
}

struct node *node_hold(struct node *n)
{
	n->refs++;
	return n;
}

/* Whether the name under which it was last seen leads to it, by all that is known here. Else that name only
 * serves to ask home. */
static bool node_is_at(const struct node *n)
{
	return n->at && n->at->node == n;
}

void node_detach(struct node *n)
{
	if (n->hashed)
		HASH_DEL(n->tree->nodes, n);
	n->hashed = false;
	/* it may still be open, and what home says of it is not about the file that has its name now */
	if (node_is_at(n))
		n->at->node = NULL;
}

static void node_leave(struct node *n)
{
	struct node *folder;

	if (!n->at)
		return;
	folder = n->at->folder;
	if (node_is_at(n))
		n->at->node = NULL;
	n->at = NULL;
	node_put(folder);
}

/* By what is known here, which may be out of date. */
static bool node_is_above(const struct node *n, const struct node *folder)
{
	for (; folder; folder = folder->at ? folder->at->folder : NULL)
		if (folder == n)
			return true;
	return false;
}

void node_move(struct node *n, struct entry *to)
{
	if (to ? to->node == n : !n->at)
		return;
	/* home says of a directory that it is below itself: that is another one */
	if (to && node_is_above(n, to->folder)) {
		node_detach(n);
		return;
	}
	if (to) {
		node_hold(to->folder);
		if (to->node)
			node_leave(to->node);
	}
	node_leave(n);
	n->at = to;
	if (to)
		to->node = n;
}

static void node_lose_number(struct node *n);

static void node_free(struct node *n)
{
	struct entry *e, *next;

	node_detach(n);
	node_lose_number(n);
	HASH_ITER(hh, n->entries, e, next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
		HASH_DEL(n->entries, e);
		free(e);
	}
	node_leave(n);
	free(n);
}

static void node_check(struct node *n)
{
	if (!n->lookups && !n->refs)
		node_free(n);
}

void node_put(struct node *n)
{
	n->refs--;
	node_check(n);
}

void node_forget(struct node *n, uint64_t lookups)
{
	n->lookups -= lookups < n->lookups ? lookups : n->lookups;
	if (n != n->tree->root)
		node_check(n);
}

struct node *node_get(struct entry *at, const struct files_attr *attr)
{
	struct tree *t = at->folder->tree;
	struct node_key key = { attr->dev, attr->ino };
	struct node *n;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the key's bytes, one by one */
	HASH_FIND(hh, t->nodes, &key, sizeof(key), n);
	/* an inode number that was used again, or a move at home that would make a loop here */
	if (n &&
	    ((n->attr.mode & S_IFMT) != (attr->mode & S_IFMT) || node_is_above(n, at->folder))) {
		node_detach(n);
		n = NULL;
	}
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return NULL;
		n->tree = t;
		n->key = key;
		n->hashed = true;
		HASH_ADD(hh, t->nodes, key, sizeof(n->key), n);
	} else if (n->number && n->at != at) {
		node_renumber(n); /* it was moved at home */
	}
	node_move(n, at);
	node_refresh(n, attr);
	return n;
}

/* ---- attributes ---- */

static bool node_written(const struct node *n)
{
	for (const struct file *f = n->files; f; f = f->next)
		if (f->writes)
			return true;
	return false;
}

/* Whether home reports changes of its attributes. */
static bool node_watched(const struct node *n)
{
	if (S_ISDIR(n->attr.mode))
		return n->known >= KNOWN_PARTLY && (node_is_at(n) || n == n->tree->root);
	/* a change under another name is reported only in the directory of that name */
	return node_is_at(n) && n->at->folder->known >= KNOWN_PARTLY && n->attr.nlink == 1 &&
	       !node_written(n);
}

double node_attr_time(const struct node *n)
{
	return n->fresh ? VIEW_FOREVER : 0;
}

void node_refresh(struct node *n, const struct files_attr *attr)
{
	bool other = attr->size != n->attr.size || attr->mtime.sec != n->attr.mtime.sec ||
		     attr->mtime.nsec != n->attr.mtime.nsec;

	/* must precede a read, which would end at the old size that the kernel has */
	if (other && n->lookups)
		fuse_lowlevel_notify_inval_inode(n->tree->session, node_ino(n), -1, 0);
	n->attr = *attr;
	n->fresh = node_watched(n);
	if (node_is_at(n)) {
		n->at->attr = *attr;
		n->at->state = n->at->folder->known >= KNOWN_PARTLY ? ENTRY_THERE : ENTRY_UNKNOWN;
	}
}

void node_stale(struct node *n, bool tell)
{
	if (node_is_at(n) && n->at->state == ENTRY_THERE)
		n->at->state = ENTRY_UNKNOWN;
	if (tell && n->lookups)
		fuse_lowlevel_notify_inval_inode(n->tree->session, node_ino(n), -1, 0);
	n->fresh = false;
}

void node_user_is(uid_t home)
{
	node_home = home;
	node_here = geteuid();
}

uid_t node_owner(uid_t uid)
{
	return uid == node_home ? node_here : uid == node_here ? node_home : uid;
}

void node_stat(const struct node *n, struct stat *st)
{
	const struct files_attr *a = &n->attr;

	memset(st, 0, sizeof(*st));
	st->st_ino = a->ino;
	st->st_mode = a->mode;
	st->st_nlink = a->nlink;
	st->st_uid = node_owner(a->uid);
	st->st_gid = a->gid;
	st->st_rdev = a->rdev;
	st->st_size = a->size;
	st->st_blksize = a->blksize;
	st->st_blocks = a->blocks;
	st->st_atim = (struct timespec){ a->atime.sec, a->atime.nsec };
	st->st_mtim = (struct timespec){ a->mtime.sec, a->mtime.nsec };
	st->st_ctim = (struct timespec){ a->ctime.sec, a->ctime.nsec };
}

/* ---- where it is ---- */

uint64_t node_number(struct node *n)
{
	static message m;
	uint64_t above;

	if (n->number || !n->at)
		return n->number;
	above = node_number(n->at->folder);
	if (!above)
		return 0;
	m.op = FILES_KNOW;
	m.dir = above;
	m.offset = n->number = ++n->tree->folders;
	m.ino = n->key.ino;
	strcpy(m.name, n->at->name);
	HASH_ADD(by_number, n->tree->numbered, number, sizeof(n->number), n);
	tree_post(n->tree, &m);
	return n->number;
}

uint64_t node_number_for(fuse_req_t req, struct node *folder, const char *name)
{
	const uint64_t number = node_number(folder);

	if (number && strlen(name) <= FILES_NAME_MAX)
		return number;
	fuse_reply_err(req, number ? ENAMETOOLONG : ESTALE);
	return 0;
}

static void node_lose_number(struct node *n)
{
	static message m;

	if (!n->number || n == n->tree->root)
		return;
	m.op = FILES_FORGET;
	m.dir = n->number;
	tree_post(n->tree, &m);
	HASH_DELETE(by_number, n->tree->numbered, n);
	n->number = 0;
}

void node_renumber(struct node *n)
{
	struct entry *e, *next;

	if (!n->number || n == n->tree->root)
		return;
	node_lose_number(n);
	/* changes in it are no longer reported */
	HASH_ITER(hh, n->entries, e, next) {
		e->state = ENTRY_UNKNOWN;
		forget_name(n->tree, node_ino(n), e->name);
	}
	if (n->known != KNOWN_ASKED)
		n->known = KNOWN_NOT;
}

bool node_name(struct node *n, message *m)
{
	if (S_ISDIR(n->attr.mode) || n == n->tree->root) {
		m->dir = node_number(n);
	} else if (n->files) {
		m->handle = n->files->handle;
		return true;
	} else if (n->at) {
		m->dir = node_number(n->at->folder);
		m->ino = n->key.ino;
		strcpy(m->name, n->at->name);
	}
	return m->dir;
}

/* ---- entries ---- */

struct entry *entry_find(struct node *folder, const char *name)
{
	struct entry *e;

	HASH_FIND(hh, folder->entries, name, strlen(name), e);
	return e;
}

struct entry *entry_of(struct node *folder, const char *name)
{
	size_t length = strlen(name);
	struct entry *e = entry_find(folder, name);

	if (e)
		return e;
	e = calloc(1, sizeof(*e) + length + 1);
	if (!e)
		return NULL;
	e->folder = folder;
	memcpy(e->name, name, length);
	HASH_ADD(hh, folder->entries, name, length, e);
	folder->nentries++;
	return e;
}

void entry_lose(struct entry *e)
{
	if (e->node)
		node_detach(e->node);
	e->attr.ino = 0; /* the next file with this number is not meant */
}

struct node *entry_node(struct entry *e)
{
	struct node_key key = { e->attr.dev, e->attr.ino };
	struct node *n = e->node;

	if (!n && e->attr.ino)
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the same */
		HASH_FIND(hh, e->folder->tree->nodes, &key, sizeof(key), n);
	return n;
}
