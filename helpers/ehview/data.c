// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open files. A small file comes with the answer to its open. Writes are sent at
 * once without waiting for an answer; close(), fsync() and, after a while, another write()
 * report their errors.
 */
#include "data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <utlist.h>

#include "call.h"
#include "look.h"
#include "owner.h"

#define LOCK_AGAIN_MS 50
/* After this many bytes, or this long, a write first asks whether home has failed to write. */
#define DATA_UNSURE (4u << 20)
#define DATA_UNSURE_MS 1000

struct file *data_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

void data_changed(struct node *n)
{
	n->content.valid = false;
	for (struct file *f = n->files; f; f = f->next) {
		free(f->data);
		f->data = NULL;
	}
}

/* A call to open a file, with the file; NULL: the request was answered with an error. */
static struct call *data_open_call(fuse_req_t req, struct node *about, struct fuse_file_info *fi,
				   message *m)
{
	struct tree *t = tree_of(req);
	struct call *c = call_new(t, req, about, NULL);

	if (!c)
		return NULL;
	c->file = calloc(1, sizeof(*c->file));
	if (!c->file) {
		fuse_reply_err(req, ENOMEM);
		call_free(c);
		return NULL;
	}
	do
		c->file->handle = ++t->handles;
	while (!c->file->handle);
	c->file->writes = (fi->flags & O_ACCMODE) != O_RDONLY;
	c->flags = fi->flags;
	m->flags = fi->flags;
	m->handle2 = c->file->handle;
	return c;
}

static void data_add(struct file *f, struct node *n, struct fuse_file_info *fi, uint32_t flags)
{
	f->node = node_hold(n);
	LL_PREPEND(n->files, f);
	fi->flags = flags;
	fi->fh = (uintptr_t)f;
	/* with O_APPEND the kernel would write where it believes the end to be */
	fi->direct_io = f->writes && flags & O_APPEND;
	/* home has it open so, too; for such a file the kernel does not ask for an fsync() */
	f->sync = f->writes && flags & O_DSYNC;
	if (f->writes) {
		data_changed(n);
		n->fresh = false;
	}
}

/* Closes it here and at home. */
static void data_close(struct tree *t, struct file *f)
{
	message *m = call_message(FILES_CLOSE);

	m->handle = f->handle;
	if (f->node) {
		LL_DELETE(f->node->files, f);
		if (f->writes)
			node_stale(f->node, false);
	}
	/* a reader's close can wait for the next message to home */
	if (f->writes)
		tree_post_now(t, m);
	else
		tree_post(t, m);
	if (f->node)
		node_put(f->node);
	free(f->data);
	free(f);
}

/* ---- opening ---- */

static bool data_same(const struct node *n, const struct files_attr *a)
{
	return n->content.valid && n->content.size == a->size &&
	       n->content.mtime.sec == a->mtime.sec && n->content.mtime.nsec == a->mtime.nsec &&
	       n->content.ctime.sec == a->ctime.sec && n->content.ctime.nsec == a->ctime.nsec;
}

static void data_on_opened(struct call *c, const message *a)
{
	struct fuse_file_info fi = { .flags = c->flags };
	struct node *n = c->node;
	struct file *f = c->file;

	if (a->error) {
		free(f);
		look_failed(c, a->error);
		return;
	}
	fi.keep_cache = data_same(n, &a->attr) && !(c->flags & O_TRUNC);
	node_refresh(n, &a->attr);
	n->content.valid = !(a->flags & FILES_UNSURE);
	n->content.size = a->attr.size;
	n->content.mtime = a->attr.mtime;
	n->content.ctime = a->attr.ctime;
	data_add(f, n, &fi, c->flags);
	if (a->flags & FILES_DATA && !f->writes) {
		f->data = malloc(a->length ?: 1);
		f->length = a->length;
		if (f->data)
			memcpy(f->data, a->data, a->length);
	}
	if (fuse_reply_open(c->req, &fi))
		data_close(c->tree, f);
}

static void data_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);
	message *m = call_message(FILES_OPEN);
	struct call *c;

	if (!node_name(n, m)) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	if (fi->flags & O_TRUNC)
		data_changed(n);
	if (n->content.valid) {
		m->size = n->content.size;
		m->times[0] = n->content.mtime;
		m->times[1] = n->content.ctime;
	}
	c = data_open_call(req, n, fi, m);
	if (!c)
		return;
	call_send(c, m, data_on_opened);
}

static void data_on_created(struct call *c, const message *a)
{
	struct fuse_file_info fi = { .flags = c->flags };
	struct file *f = c->file;
	struct node *n;

	if (owner_settle(c, a, data_on_created))
		return;
	if (a->error) {
		free(f);
		look_changed(c->node, c->name, ENTRY_UNKNOWN);
		look_failed(c, a->error);
		return;
	}
	node_stale(c->node, false);
	n = look_node(c->node, c->name, &a->attr);
	if (!n) {
		fuse_reply_err(c->req, ENOMEM);
		data_close(c->tree, f);
		return;
	}
	data_add(f, n, &fi, c->flags);
	if (look_reply(c->req, c->node, n, &fi))
		data_close(c->tree, f);
}

static void data_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
			struct fuse_file_info *fi)
{
	struct node *folder = node_of(req, parent);
	message *m = call_message(FILES_CREATE);
	struct call *c;

	m->dir = node_number_for(req, folder, name);
	if (!m->dir)
		return;
	c = data_open_call(req, folder, fi, m);
	if (!c)
		return;
	m->mode = files_mode(mode, fuse_req_ctx(req)->umask);
	strcpy(m->name, name);
	strcpy(c->name, name);
	call_send(c, m, data_on_created);
}

static void data_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	data_close(tree_of(req), data_of(fi));
	fuse_reply_err(req, 0);
}

/* ---- content ---- */

/* A call about an open file, and its message; NULL: answered with an error. */
static struct call *data_call(fuse_req_t req, const struct fuse_file_info *fi, enum files_op op,
			      message **m)
{
	*m = call_message(op);
	(*m)->handle = data_of(fi)->handle;
	return call_new(tree_of(req), req, NULL, NULL);
}

static void data_on_read(struct call *c, const message *a)
{
	if (a->error)
		fuse_reply_err(c->req, a->error);
	else
		fuse_reply_buf(c->req, (const char *)a->data, a->length);
}

static void data_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	struct file *f = data_of(fi);
	struct call *c;
	message *m;

	if (f->data) {
		size_t from = (size_t)offset < f->length ? (size_t)offset : f->length;

		fuse_reply_buf(req, (char *)f->data + from,
			       size < f->length - from ? size : f->length - from);
		return;
	}
	c = data_call(req, fi, FILES_READ, &m);
	if (!c)
		return;
	m->offset = offset;
	m->size = size;
	call_send(c, m, data_on_read);
}

static void data_send(struct tree *t, struct file *f, const uint8_t *data, size_t size,
		      uint64_t offset)
{
	message *m = call_message(FILES_WRITE);

	m->handle = f->handle;
	m->offset = offset;
	m->data = data;
	m->length = size;
	data_changed(f->node);
	node_stale(f->node, false);
	tree_post_now(t, m);
}

/* Asks home whether it has failed to write, as close() does, but leaves the locks as they are. */
static void data_ask(struct call *c, void (*done)(struct call *c, const message *a))
{
	message *m = call_message(FILES_FLUSH);

	c->file->unsure = 0;
	m->handle = c->file->handle;
	call_send(c, m, done);
}

static void data_on_written(struct call *c, const message *a)
{
	if (a->error)
		fuse_reply_err(c->req, a->error);
	else
		fuse_reply_write(c->req, c->size);
}

static void data_on_sure(struct call *c, const message *a)
{
	/* Refused bytes are not written. */
	if (!a->error)
		data_send(c->tree, c->file, c->data, c->size, c->offset);
	data_on_written(c, a);
}

static int64_t data_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void data_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	struct tree *t = tree_of(req);
	struct file *f = data_of(fi);
	int64_t now = data_ms();
	bool ask = f->unsure && (f->unsure >= DATA_UNSURE || now - f->unsure_ms >= DATA_UNSURE_MS);
	struct call *c;

	if (size > FILES_DATA_MAX)
		size = FILES_DATA_MAX;
	if (!ask && !f->sync) {
		f->unsure_ms = f->unsure ? f->unsure_ms : now;
		f->unsure += size;
		data_send(t, f, (const uint8_t *)data, size, offset);
		fuse_reply_write(req, size);
		return;
	}
	c = call_new(t, req, NULL, NULL);
	if (!c)
		return;
	c->file = f;
	c->size = size;
	c->offset = offset;
	if (f->sync) {
		data_send(t, f, (const uint8_t *)data, size, offset);
		data_ask(c, data_on_written);
		return;
	}
	c->data = malloc(size ?: 1);
	if (!c->data) {
		fuse_reply_err(req, ENOMEM);
		call_free(c);
		return;
	}
	memcpy(c->data, data, size);
	data_ask(c, data_on_sure);
}

static void data_on_done(struct call *c, const message *a)
{
	fuse_reply_err(c->req, a->error);
}

static void data_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct file *f = data_of(fi);
	message *m;
	struct call *c;

	/* A reader has no error to report, and locks go when any descriptor of the file is closed. */
	if (!f->writes && !f->node->locked) {
		fuse_reply_err(req, 0);
		return;
	}
	c = data_call(req, fi, FILES_FLUSH, &m);
	if (!c)
		return;
	m->owner = fi->lock_owner;
	call_send(c, m, data_on_done);
}

static void data_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	message *m;
	struct call *c = data_call(req, fi, FILES_FSYNC, &m);

	if (!c)
		return;
	m->flags = datasync != 0;
	call_send(c, m, data_on_done);
}

static void data_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
			   struct fuse_file_info *fi)
{
	message *m;
	struct call *c = data_call(req, fi, FILES_FALLOCATE, &m);

	if (!c)
		return;
	m->mode = mode;
	m->offset = offset;
	m->size = length;
	data_changed(data_of(fi)->node);
	node_stale(data_of(fi)->node, true);
	call_send(c, m, data_on_done);
}

/* ---- locks: home holds them; a lock that is taken is tried again after LOCK_AGAIN_MS ---- */

static void lock_on_done(struct call *c, const message *a);

static void lock_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;

	c->waits = false;
	call_send(c, c->again, lock_on_done);
	stream_flush(&c->tree->home);
}

static void lock_on_done(struct call *c, const message *a)
{
	const struct timeval later = { 0, LOCK_AGAIN_MS * 1000 };

	if (!c->again || a->error != EAGAIN) {
		fuse_reply_err(c->req, a->error);
		return;
	}
	if (fuse_req_interrupted(c->req)) {
		fuse_reply_err(c->req, EINTR);
		return;
	}
	if (!c->later)
		c->later = evtimer_new(c->tree->home.base, lock_on_later, c);
	if (!c->later || evtimer_add(c->later, &later)) {
		fuse_reply_err(c->req, ENOLCK);
		return;
	}
	c->waits = true;
}

static void lock_on_asked(struct call *c, const message *a)
{
	struct flock lock = {
		.l_type = a->mode,
		.l_whence = SEEK_SET,
		.l_start = a->offset,
		.l_len = a->size,
	};

	if (a->error)
		fuse_reply_err(c->req, a->error);
	else
		fuse_reply_lock(c->req, &lock);
}

static void lock_send(fuse_req_t req, message *m, bool sleeps,
		      void (*done)(struct call *c, const message *a))
{
	struct call *c = call_new(tree_of(req), req, NULL, NULL);

	if (!c)
		return;
	if (sleeps) {
		c->again = malloc(sizeof(*m));
		if (!c->again) {
			fuse_reply_err(req, ENOLCK);
			call_free(c);
			return;
		}
		*c->again = *m;
	}
	call_send(c, m, done);
}

static void lock_posix(fuse_req_t req, struct fuse_file_info *fi, const struct flock *lock,
		       bool ask, bool sleeps)
{
	message *m = call_message(FILES_LOCK);

	data_of(fi)->node->locked |= !ask;
	m->handle = data_of(fi)->handle;
	m->owner = fi->lock_owner;
	m->mode = lock->l_type;
	m->flags = ask;
	m->offset = lock->l_start;
	m->size = lock->l_len;
	lock_send(req, m, sleeps, ask ? lock_on_asked : lock_on_done);
}

static void data_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		       struct flock *lock)
{
	lock_posix(req, fi, lock, true, false);
}

static void data_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		       struct flock *lock, int sleeps)
{
	lock_posix(req, fi, lock, false, sleeps);
}

static void data_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
	message *m = call_message(FILES_FLOCK);

	m->handle = data_of(fi)->handle;
	m->mode = op & ~LOCK_NB;
	lock_send(req, m, !(op & LOCK_NB), lock_on_done);
}

/* ---- directories: with home's order and offsets ---- */

static void data_on_opened_folder(struct call *c, const message *a)
{
	struct fuse_file_info fi = { .flags = c->flags };

	if (a->error) {
		free(c->file);
		look_failed(c, a->error);
		return;
	}
	c->file->writes = false;
	fi.fh = (uintptr_t)c->file;
	if (fuse_reply_open(c->req, &fi))
		data_close(c->tree, c->file);
}

static void data_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);
	message *m = call_message(FILES_OPEN);
	struct call *c;

	m->dir = node_number(n);
	if (!m->dir) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	c = data_open_call(req, n, fi, m);
	if (!c)
		return;
	m->flags |= O_DIRECTORY;
	call_send(c, m, data_on_opened_folder);
}

static void data_on_listed(struct call *c, const message *a)
{
	const uint8_t *at = a->data, *end = at + a->length;
	char room[16384];
	size_t size = c->size < sizeof(room) ? c->size : sizeof(room), n = 0, more;
	struct files_entry e;
	struct stat st;

	if (a->error) {
		fuse_reply_err(c->req, a->error);
		return;
	}
	memset(&st, 0, sizeof(st));
	while (files_entry_decode(&e, &at, end)) {
		st.st_ino = e.attr.ino;
		st.st_mode = e.attr.mode;
		more = fuse_add_direntry(c->req, room + n, size - n, e.name, &st, e.attr.size);
		if (more > size - n)
			break; /* the kernel asks again from here on */
		n += more;
	}
	fuse_reply_buf(c->req, room, n);
}

static void data_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			 struct fuse_file_info *fi)
{
	message *m;
	struct call *c = data_call(req, fi, FILES_READDIR, &m);

	if (!c)
		return;
	m->offset = offset;
	c->size = m->size = size;
	call_send(c, m, data_on_listed);
}

void data_ops(struct fuse_lowlevel_ops *ops)
{
	ops->open = data_open;
	ops->create = data_create;
	ops->release = data_release;
	ops->read = data_read;
	ops->write = data_write;
	ops->flush = data_flush;
	ops->fsync = data_fsync;
	ops->fallocate = data_fallocate;
	ops->getlk = data_getlk;
	ops->setlk = data_setlk;
	ops->flock = data_flock;
	ops->opendir = data_opendir;
	ops->readdir = data_readdir;
	ops->releasedir = data_release;
	ops->fsyncdir = data_fsync;
}
