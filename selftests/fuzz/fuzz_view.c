// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executor's side of a view, between a kernel that asks what a kernel may ask and a home that answers and reports
 * anything, in any order: each request is answered once, what is known of files stays a tree, and at the end, when the
 * kernel has forgotten all, nothing is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/ehview/call.h"
#include "helpers/ehview/data.h"
#include "helpers/ehview/forget.h"
#include "helpers/ehview/look.h"
#include "helpers/ehview/names.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INODES 32
#define FILES 16
#define CALLS 512
#define NAMES 6
#define DEPTH 1000

/* What libfuse has of a request. */
struct fuse_req {
	struct fuse_ctx ctx;
	bool interrupted;
};

static struct play {
	struct tree t;
	struct fuse_lowlevel_ops ops;
	/* the kernel's: inodes with how often it was told of them, and open files */
	struct {
		fuse_ino_t ino;
		uint64_t told;
	} inodes[INODES];
	struct fuse_file_info files[FILES];
	size_t ninodes, nfiles;
	unsigned int asked;
	/* home's: requests that it has not answered */
	struct {
		uint32_t op, tag;
	} calls[CALLS];
	size_t ncalls;
} play;

/* ---- the kernel's side of libfuse ---- */

static void replied(fuse_req_t req)
{
	must(play.asked);
	play.asked--;
	free(req);
}

static void told(fuse_ino_t ino)
{
	size_t i;

	must(ino && ino != FUSE_ROOT_ID);
	for (i = 0; i < play.ninodes && play.inodes[i].ino != ino; i++)
		;
	/* no request is made when there could be one too many */
	must(i < INODES);
	if (i == play.ninodes) {
		play.inodes[play.ninodes].told = 0;
		play.inodes[play.ninodes++].ino = ino;
	}
	play.inodes[i].told++;
}

static void opened(const struct fuse_file_info *fi)
{
	must(play.nfiles < FILES && fi->fh);
	play.files[play.nfiles++] = *fi;
}

void *fuse_req_userdata(fuse_req_t req)
{
	return &play.t;
}

const struct fuse_ctx *fuse_req_ctx(fuse_req_t req)
{
	return &req->ctx;
}

int fuse_req_interrupted(fuse_req_t req)
{
	return req->interrupted;
}

int fuse_reply_err(fuse_req_t req, int err)
{
	replied(req);
	return 0;
}

void fuse_reply_none(fuse_req_t req)
{
	replied(req);
}

int fuse_reply_entry(fuse_req_t req, const struct fuse_entry_param *e)
{
	if (e->ino)
		told(e->ino);
	replied(req);
	return 0;
}

int fuse_reply_create(fuse_req_t req, const struct fuse_entry_param *e,
		      const struct fuse_file_info *fi)
{
	const bool gone = req->interrupted;

	replied(req);
	if (gone)
		return -ENOENT;
	told(e->ino);
	opened(fi);
	return 0;
}

int fuse_reply_open(fuse_req_t req, const struct fuse_file_info *fi)
{
	const bool gone = req->interrupted;

	replied(req);
	if (gone)
		return -ENOENT;
	opened(fi);
	return 0;
}

int fuse_reply_attr(fuse_req_t req, const struct stat *st, double time)
{
	replied(req);
	return 0;
}

int fuse_reply_readlink(fuse_req_t req, const char *link)
{
	must(strlen(link) <= FILES_TEXT_MAX);
	replied(req);
	return 0;
}

int fuse_reply_buf(fuse_req_t req, const char *bytes, size_t size)
{
	for (size_t i = 0, sum = 0; i < size; i++)
		must((sum += (unsigned char)bytes[i]) < SIZE_MAX);
	replied(req);
	return 0;
}

int fuse_reply_write(fuse_req_t req, size_t count)
{
	replied(req);
	return 0;
}

int fuse_reply_statfs(fuse_req_t req, const struct statvfs *fs)
{
	replied(req);
	return 0;
}

int fuse_reply_xattr(fuse_req_t req, size_t count)
{
	replied(req);
	return 0;
}

int fuse_reply_lock(fuse_req_t req, const struct flock *lock)
{
	replied(req);
	return 0;
}

size_t fuse_add_direntry(fuse_req_t req, char *to, size_t size, const char *name,
			 const struct stat *st, off_t off)
{
	const size_t n = (24 + strlen(name) + 7) & ~7ul;

	if (n <= size)
		memset(to, 1, n);
	return n;
}

int fuse_lowlevel_notify_inval_inode(struct fuse_session *session, fuse_ino_t ino, off_t off,
				     off_t n)
{
	return 0;
}

void forget_name(const struct tree *t, fuse_ino_t folder, const char *name)
{
	must(strlen(name) <= FILES_NAME_MAX && folder);
}

/* ---- the way to home ---- */

int stream_put(struct stream *s, const struct files_message *m)
{
	must(strlen(m->name) <= FILES_NAME_MAX && strlen(m->text) <= FILES_TEXT_MAX);
	if (m->op == FILES_KNOW || m->op == FILES_FORGET || m->op == FILES_WRITE ||
	    m->op == FILES_CLOSE)
		return 0;
	must(play.ncalls < CALLS);
	play.calls[play.ncalls].op = m->op;
	play.calls[play.ncalls++].tag = m->tag;
	return 0;
}

void stream_flush(struct stream *s)
{
}

/* ---- the kernel ---- */

static const char *name(struct input *in)
{
	static const char *const names[NAMES] = { "a", "b", "c", "d", "e", "f" };

	return names[input_byte(in) % NAMES];
}

static fuse_ino_t inode(struct input *in)
{
	const uint8_t b = input_byte(in);

	return play.ninodes && b ? play.inodes[(b - 1) % play.ninodes].ino : FUSE_ROOT_ID;
}

static fuse_ino_t folder(struct input *in)
{
	const fuse_ino_t ino = inode(in);
	struct fuse_req req;

	return S_ISDIR(node_of(&req, ino)->attr.mode) ? ino : FUSE_ROOT_ID;
}

static void ask(struct input *in)
{
	const uint8_t what = input_byte(in);
	const struct fuse_lowlevel_ops *o = &play.ops;
	struct fuse_file_info fi = { .flags = input_byte(in) & 3 ? O_RDWR : O_RDONLY };
	struct fuse_file_info *file =
		play.nfiles ? &play.files[input_byte(in) % play.nfiles] : NULL;
	struct flock lock = { .l_type = F_WRLCK };
	struct stat st = { .st_mode = S_IFREG };
	fuse_ino_t ino = inode(in), at = folder(in), to;
	const char *first, *second;
	uint8_t a, b;
	fuse_req_t req = calloc(1, sizeof(*req));

	must(req);
	req->interrupted = what & 64;
	req->ctx.uid = input_byte(in) & 1;
	play.asked++;
	switch (what % 24) {
	case 0:
	case 1:
		o->lookup(req, at, name(in));
		return;
	case 2:
		o->getattr(req, ino, NULL);
		return;
	case 3:
		o->setattr(req, ino, &st, input_byte(in),
			   file && file->flags & O_RDWR ? file : NULL);
		return;
	case 4:
		o->readlink(req, ino);
		return;
	case 5:
		o->access(req, ino, input_byte(in) & 7);
		return;
	case 6:
		o->statfs(req, ino);
		return;
	case 7:
		o->mkdir(req, at, name(in), 0755);
		return;
	case 8:
		o->mknod(req, at, name(in), S_IFIFO, 0);
		return;
	case 9:
		o->symlink(req, "target", at, name(in));
		return;
	case 10:
		o->link(req, ino, at, name(in));
		return;
	case 11:
		o->unlink(req, at, name(in));
		return;
	case 12:
		o->rmdir(req, at, name(in));
		return;
	case 13:
		/* one by one: a compiler may take arguments in any order */
		first = name(in);
		to = folder(in);
		second = name(in);
		a = input_byte(in);
		o->rename(req, at, first, to, second, a & 2);
		return;
	case 14:
		o->getxattr(req, ino, "user.a", input_byte(in));
		return;
	case 15:
		o->setxattr(req, ino, "user.a", "b", 1, 0);
		return;
	case 16:
		o->create(req, at, name(in), 0644, &fi);
		return;
	case 17:
		o->open(req, ino, &fi);
		return;
	case 18:
		o->opendir(req, at, &fi);
		return;
	}
	/* of open files; directories among them are only listed */
	if (!file) {
		o->listxattr(req, ino, 0);
		return;
	}
	/* The kernel writes to no directory, and keeps its locks for itself. */
	if (!data_of(file)->node && (what % 24 == 20 || what % 24 == 22)) {
		o->fsyncdir(req, ino, 0, file);
		return;
	}
	switch (what % 24) {
	case 19:
		a = input_byte(in);
		b = input_byte(in);
		o->read(req, ino, a, b, file);
		return;
	case 20:
		o->write(req, ino, "abc", 3, input_byte(in), file);
		return;
	case 21:
		o->readdir(req, ino, input_byte(in) * 16, 0, file);
		return;
	case 22:
		o->getlk(req, ino, file, &lock);
		return;
	default:
		o->flush(req, ino, file);
	}
}

static void release(size_t i)
{
	struct fuse_file_info fi = play.files[i];
	fuse_req_t req = calloc(1, sizeof(*req));

	must(req);
	play.asked++;
	play.files[i] = play.files[--play.nfiles];
	play.ops.release(req, 0, &fi);
}

static void forget(size_t i)
{
	const fuse_ino_t ino = play.inodes[i].ino;
	const uint64_t count = play.inodes[i].told;
	fuse_req_t req = calloc(1, sizeof(*req));

	must(req);
	play.asked++;
	play.inodes[i] = play.inodes[--play.ninodes];
	play.ops.forget(req, ino, count);
}

/* ---- home ---- */

/* Few numbers, so that they come again, of other files too. */
static struct files_attr attr(struct input *in)
{
	static const uint32_t kinds[] = { S_IFDIR, S_IFDIR, S_IFREG, S_IFLNK };
	const uint8_t b = input_byte(in);

	return (struct files_attr){ .dev = 1 + (b >> 7),
				    .ino = 1 + (b & 7),
				    .mode = kinds[b >> 3 & 3] | 0755,
				    .nlink = 1 + (b >> 5 & 1),
				    .size = b >> 6 & 1,
				    .mtime.sec = b >> 5 & 1 };
}

static void answer(struct input *in, size_t i, bool fails)
{
	static uint8_t list[4 * FILES_ENTRY_MAX];
	static message m;
	const uint8_t how = fails ? 0 : input_byte(in);
	const uint32_t op = play.calls[i].op;

	m = (message){ .op = op | FILES_ANSWER, .tag = play.calls[i].tag, .data = list };
	play.ncalls--;
	memmove(&play.calls[i], &play.calls[i + 1], (play.ncalls - i) * sizeof(play.calls[0]));
	if (fails || how < 64) {
		m.error = fails ? EIO : how < 24 ? ESTALE : how < 48 ? ENOENT : EACCES;
	} else {
		m.attr = attr(in);
		m.flags = how & 15;
		m.size = how;
		if (op == FILES_READLINK)
			strcpy(m.text, "b");
		if (op == FILES_STATFS)
			m.length = 64;
		else if (op == FILES_LIST || op == FILES_READDIR)
			for (int n = how >> 4 & 3; n; n--) {
				const struct files_attr a = attr(in);

				m.length += files_entry_encode(list + m.length, &a, name(in));
			}
		else
			m.length = how & 31;
	}
	must(!call_answered(&play.t, &m));
}

static void news(struct input *in)
{
	const uint8_t how = input_byte(in);
	static message m;

	m = (message){ .op = FILES_NEWS, .flags = how & 3, .dir = input_byte(in) & 15 };
	if (how & 4)
		strcpy(m.name, name(in));
	if (how & 8) {
		m.ino = 1 + (how >> 4 & 7);
		m.offset = 1 + (how >> 7);
	}
	look_news(&play.t, &m);
}

/* ---- both ---- */

static void check(void)
{
	struct node *n, *next;

	HASH_ITER(by_number, play.t.numbered, n, next) {
		unsigned int depth = 0;

		for (const struct node *at = n; at; at = at->at ? at->at->folder : NULL)
			must(++depth < DEPTH);
	}
	for (size_t i = 0; i < play.ninodes; i++) {
		unsigned int depth = 0;
		struct fuse_req req;

		for (const struct node *at = node_of(&req, play.inodes[i].ino); at;
		     at = at->at ? at->at->folder : NULL)
			must(++depth < DEPTH);
	}
}

static void end(void)
{
	while (play.ncalls)
		answer(NULL, 0, true);
	must(!play.asked && !play.t.calls);
	while (play.nfiles)
		release(0);
	while (play.ninodes)
		forget(0);
	HASH_DELETE(by_number, play.t.numbered, play.t.root);
	play.t.root->number = 0;
	must(play.t.root->refs == 1);
	node_put(play.t.root);
	must(!play.t.nodes && !play.t.numbered);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	play = (struct play){ 0 };
	names_ops(&play.ops);
	data_ops(&play.ops);
	must(!node_init(&play.t));
	while (in.left) {
		const uint8_t what = input_byte(&in), which = what >> 2;
		/* a doubt asks for each directory */
		const size_t room = NAMES * (play.ninodes + 2);

		if ((what & 3) == 0 && play.ncalls + 2 < CALLS &&
		    play.ninodes + play.asked + 1 < INODES && play.nfiles + play.asked + 1 < FILES)
			ask(&in);
		else if ((what & 3) <= 1 && play.ncalls)
			answer(&in, which % play.ncalls, false);
		else if ((what & 3) == 2 && play.ncalls + room < CALLS)
			news(&in);
		else if (play.nfiles && which & 1 && !play.asked)
			release(which % play.nfiles);
		else if (play.ninodes && !play.asked && !play.nfiles)
			forget(which % play.ninodes);
		check();
	}
	end();
	return 0;
}
