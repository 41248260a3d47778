// SPDX-License-Identifier: GPL-2.0-or-later
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "call.h"
#include "data.h"
#include "forget.h"
#include "look.h"
#include "owner.h"
#include "wire/frame.h"

/* A call about a node, which is put into the message; NULL: answered with an error. */
static struct call *names_about(fuse_req_t req, fuse_ino_t ino, message *m)
{
	struct node *n = node_of(req, ino);

	if (!node_name(n, m)) {
		fuse_reply_err(req, ESTALE);
		return NULL;
	}
	return call_new(tree_of(req), req, n, NULL);
}

/* A call about a name in a directory; likewise. */
static struct call *names_in(fuse_req_t req, fuse_ino_t parent, const char *name, message *m)
{
	struct node *folder = node_of(req, parent);
	struct call *c;

	m->dir = node_number_for(req, folder, name);
	if (!m->dir)
		return NULL;
	c = call_new(tree_of(req), req, folder, NULL);
	if (!c)
		return NULL;
	strcpy(m->name, name);
	strcpy(c->name, name);
	return c;
}

static void names_on_done(struct call *c, const message *a)
{
	if (a->error)
		look_failed(c, a->error);
	else
		fuse_reply_err(c->req, 0);
}

/* ---- attributes ---- */

static void names_on_attr(struct call *c, const message *a)
{
	struct stat st;

	if (a->error) {
		look_failed(c, a->error);
		return;
	}
	node_refresh(c->node, &a->attr);
	node_stat(c->node, &st);
	fuse_reply_attr(c->req, &st, node_attr_time(c->node));
}

static void names_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);
	message *m = call_message(FILES_STAT);
	struct call *c;
	struct stat st;

	if (n->fresh) {
		node_stat(n, &st);
		fuse_reply_attr(req, &st, VIEW_FOREVER);
		return;
	}
	c = names_about(req, ino, m);
	if (c)
		call_send(c, m, names_on_attr);
}

static uint32_t names_time(struct files_time *t, const struct timespec *given, int set, int flag,
			   int now)
{
	if (!(set & (flag | now)))
		return 0;
	t->sec = given->tv_sec;
	t->nsec = set & now ? UTIME_NOW : given->tv_nsec;
	return flag == FUSE_SET_ATTR_ATIME ? FILES_SET_ATIME : FILES_SET_MTIME;
}

static void names_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set,
			  struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);
	message *m = call_message(FILES_SET);
	struct call *c;

	m->mode = st->st_mode;
	m->uid = node_owner(st->st_uid);
	m->gid = st->st_gid;
	m->size = st->st_size;
	m->flags = (set & FUSE_SET_ATTR_MODE ? FILES_SET_MODE : 0) |
		   (set & FUSE_SET_ATTR_UID ? FILES_SET_UID : 0) |
		   (set & FUSE_SET_ATTR_GID ? FILES_SET_GID : 0) |
		   (set & FUSE_SET_ATTR_SIZE ? FILES_SET_SIZE : 0);
	m->flags |= names_time(&m->times[0], &st->st_atim, set, FUSE_SET_ATTR_ATIME,
			       FUSE_SET_ATTR_ATIME_NOW);
	m->flags |= names_time(&m->times[1], &st->st_mtim, set, FUSE_SET_ATTR_MTIME,
			       FUSE_SET_ATTR_MTIME_NOW);
	if (m->flags & FILES_SET_SIZE)
		data_changed(n);
	c = names_about(req, ino, m);
	if (!c)
		return;
	if (fi && m->flags & FILES_SET_SIZE)
		m->handle = data_of(fi)->handle;
	call_send(c, m, names_on_attr);
}

static void names_readlink_done(struct call *c, const message *a)
{
	if (a->error)
		look_failed(c, a->error);
	else
		fuse_reply_readlink(c->req, a->text);
}

static void names_readlink(fuse_req_t req, fuse_ino_t ino)
{
	message *m = call_message(FILES_READLINK);
	struct call *c = names_about(req, ino, m);

	if (c)
		call_send(c, m, names_readlink_done);
}

static void names_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct node *n = node_of(req, ino);
	message *m = call_message(FILES_ACCESS);
	struct call *c;

	/* the mode says what the owner may do, except write: the file system may be read-only */
	if (n->fresh && node_owner(n->attr.uid) == geteuid() && !(mask & W_OK) &&
	    (n->attr.mode >> 6 & mask) == (unsigned int)mask) {
		fuse_reply_err(req, 0);
		return;
	}
	m->mode = mask;
	c = names_about(req, ino, m);
	if (c)
		call_send(c, m, names_on_done);
}

static void names_on_statfs(struct call *c, const message *a)
{
	struct statvfs fs;
	uint64_t all[8];

	if (a->error || a->length != sizeof(all)) {
		look_failed(c, a->error ?: EIO);
		return;
	}
	for (int i = 0; i < 8; i++)
		all[i] = frame_get_u64(a->data + 8 * i);
	memset(&fs, 0, sizeof(fs));
	fs.f_bsize = all[0];
	fs.f_frsize = all[1];
	fs.f_blocks = all[2];
	fs.f_bfree = all[3];
	fs.f_bavail = all[4];
	fs.f_files = all[5];
	fs.f_ffree = all[6];
	fs.f_namemax = all[7];
	fuse_reply_statfs(c->req, &fs);
}

static void names_statfs(fuse_req_t req, fuse_ino_t ino)
{
	message *m = call_message(FILES_STATFS);
	struct call *c = names_about(req, ino ?: FUSE_ROOT_ID, m);

	if (c)
		call_send(c, m, names_on_statfs);
}

/* ---- names ---- */

static void names_on_made(struct call *c, const message *a)
{
	if (a->error) {
		look_changed(c->node, c->name, ENTRY_UNKNOWN);
		look_failed(c, a->error);
		return;
	}
	if (owner_settle(c, a, names_on_made))
		return;
	node_stale(c->node, false);
	look_answer(c->req, c->node, c->name, &a->attr);
}

static void names_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	message *m = call_message(FILES_MKDIR);
	struct call *c = names_in(req, parent, name, m);

	if (!c)
		return;
	m->mode = files_mode(mode, fuse_req_ctx(req)->umask);
	call_send(c, m, names_on_made);
}

static void names_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
			dev_t device)
{
	message *m = call_message(FILES_MKNOD);
	struct call *c = names_in(req, parent, name, m);

	if (!c)
		return;
	m->mode = files_mode(mode, fuse_req_ctx(req)->umask);
	m->size = device;
	call_send(c, m, names_on_made);
}

static void names_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	message *m = call_message(FILES_SYMLINK);
	struct call *c;

	if (strlen(target) > FILES_TEXT_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	c = names_in(req, parent, name, m);
	if (!c)
		return;
	strcpy(m->text, target);
	call_send(c, m, names_on_made);
}

static void names_on_linked(struct call *c, const message *a)
{
	if (a->error) {
		look_failed(c, a->error);
		return;
	}
	node_stale(c->node, true); /* also the entry of its first name */
	node_stale(c->other, false);
	look_answer(c->req, c->other, c->name, &a->attr);
}

static void names_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct node *folder = node_of(req, parent);
	message *m = call_message(FILES_LINK);
	struct call *c;

	m->dir2 = node_number_for(req, folder, name);
	if (!m->dir2)
		return;
	c = names_about(req, ino, m);
	if (!c)
		return;
	c->other = node_hold(folder);
	strcpy(c->name, name);
	strcpy(m->text, name);
	call_send(c, m, names_on_linked);
}

/* An operation from here removed this name. */
static void names_gone(struct node *folder, const char *name)
{
	struct entry *e = entry_find(folder, name);
	struct node *n = e ? entry_node(e) : NULL;

	if (!e)
		return;
	if (n)
		node_stale(n, true);
	if (n && n == e->node) {
		if (S_ISDIR(n->attr.mode) || n->attr.nlink <= 1)
			node_detach(n);
		node_move(n, NULL);
	}
	entry_lose(e);
}

static void names_on_unlinked(struct call *c, const message *a)
{
	if (a->error) {
		look_changed(c->node, c->name, ENTRY_UNKNOWN);
		look_failed(c, a->error);
		return;
	}
	names_gone(c->node, c->name);
	look_changed(c->node, c->name, ENTRY_NOT_THERE);
	fuse_reply_err(c->req, 0);
}

static void names_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	message *m = call_message(FILES_UNLINK);
	struct call *c = names_in(req, parent, name, m);

	if (c)
		call_send(c, m, names_on_unlinked);
}

static void names_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	message *m = call_message(FILES_RMDIR);
	struct call *c = names_in(req, parent, name, m);

	if (c)
		call_send(c, m, names_on_unlinked);
}

static void names_place(struct node *n, struct entry *at)
{
	node_move(n, at);
	at->attr = n->attr;
	node_stale(n, true);
}

/* Each is where the other was; home knows directories by new numbers. */
static void names_exchanged(struct entry *from, struct entry *to)
{
	struct node *n = entry_node(from), *other = entry_node(to);

	if (n)
		names_place(n, to);
	if (other)
		names_place(other, from);
	if (!n)
		entry_lose(to);
	if (!other)
		entry_lose(from);
	if (n && S_ISDIR(n->attr.mode))
		node_renumber(n);
	if (other && S_ISDIR(other->attr.mode))
		node_renumber(other);
}

static void names_on_renamed(struct call *c, const message *a)
{
	struct entry *from, *to;
	struct node *n;

	if (a->error) {
		look_changed(c->node, c->name, ENTRY_UNKNOWN);
		look_changed(c->other, c->text, ENTRY_UNKNOWN);
		look_failed(c, a->error);
		return;
	}
	from = entry_find(c->node, c->name);
	to = entry_of(c->other, c->text);
	n = from ? entry_node(from) : NULL;
	if (!c->flags)
		names_gone(c->other, c->text);
	if (!c->flags && n && to)
		names_place(n, to);
	else if (c->flags && from && to)
		names_exchanged(from, to);
	look_changed(c->node, c->name, c->flags ? ENTRY_UNKNOWN : ENTRY_NOT_THERE);
	look_changed(c->other, c->text, ENTRY_UNKNOWN);
	/* the kernel keeps it as long as it would have kept the old name */
	if (c->other->known < KNOWN_PARTLY)
		forget_name(c->tree, node_ino(c->other), c->text);
	fuse_reply_err(c->req, 0);
}

static void names_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
			 const char *newname, unsigned int flags)
{
	struct node *to = node_of(req, newparent), *n;
	message *m = call_message(FILES_RENAME);
	struct entry *from;
	struct call *c;

	m->dir2 = node_number_for(req, to, newname);
	if (!m->dir2)
		return;
	c = names_in(req, parent, name, m);
	if (!c)
		return;
	c->other = node_hold(to);
	c->flags = flags & 2; /* RENAME_EXCHANGE */
	strcpy(c->text, newname);
	strcpy(m->text, newname);
	m->flags = flags;
	/* if home has another file under this name by now, it tells that after its answer */
	from = entry_find(c->node, name);
	n = from ? entry_node(from) : NULL;
	m->ino = n ? n->key.ino : 0;
	call_send(c, m, names_on_renamed);
}

/* ---- extended attributes ---- */

static void names_on_xattr(struct call *c, const message *a)
{
	if (a->error)
		look_failed(c, a->error);
	else if (!c->size)
		fuse_reply_xattr(c->req, a->size);
	else
		fuse_reply_buf(c->req, (const char *)a->data, a->length);
}

static void names_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	message *m = call_message(FILES_GETXATTR);
	struct call *c;

	/* the kernel asks for these at each write; on this nosuid mount they have no meaning */
	if (!strncmp(name, "security.", 9)) {
		fuse_reply_err(req, ENODATA);
		return;
	}
	c = names_about(req, ino, m);
	if (!c)
		return;
	strncpy(m->text, name, FILES_TEXT_MAX);
	c->size = m->size = size;
	call_send(c, m, names_on_xattr);
}

static void names_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	message *m = call_message(FILES_LISTXATTR);
	struct call *c = names_about(req, ino, m);

	if (!c)
		return;
	c->size = m->size = size;
	call_send(c, m, names_on_xattr);
}

static void names_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			   size_t size, int flags)
{
	message *m = call_message(FILES_SETXATTR);
	struct call *c = names_about(req, ino, m);

	if (!c)
		return;
	strncpy(m->text, name, FILES_TEXT_MAX);
	m->flags = flags;
	m->data = (const uint8_t *)value;
	m->length = size;
	node_stale(c->node, true);
	call_send(c, m, names_on_done);
}

static void names_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	message *m = call_message(FILES_REMOVEXATTR);
	struct call *c = names_about(req, ino, m);

	if (!c)
		return;
	strncpy(m->text, name, FILES_TEXT_MAX);
	node_stale(c->node, true);
	call_send(c, m, names_on_done);
}

static void names_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	struct node *n = node_of(req, ino);

	fuse_reply_none(req);
	node_forget(n, lookups);
}

static void names_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < count; i++)
		node_forget(node_of(req, all[i].ino), all[i].nlookup);
	fuse_reply_none(req);
}

void names_ops(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = look_up;
	ops->forget = names_forget;
	ops->forget_multi = names_forget_multi;
	ops->getattr = names_getattr;
	ops->setattr = names_setattr;
	ops->readlink = names_readlink;
	ops->access = names_access;
	ops->statfs = names_statfs;
	ops->mkdir = names_mkdir;
	ops->mknod = names_mknod;
	ops->symlink = names_symlink;
	ops->link = names_link;
	ops->unlink = names_unlink;
	ops->rmdir = names_rmdir;
	ops->rename = names_rename;
	ops->getxattr = names_getxattr;
	ops->listxattr = names_listxattr;
	ops->setxattr = names_setxattr;
	ops->removexattr = names_removexattr;
}
