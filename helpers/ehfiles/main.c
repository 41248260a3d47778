// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehfiles DIR, home's side of a view: serves one file system, from this directory down, to the ehview of
 * one executor. It is started by ehlaunch with the ids of one user; the kernel decides what is allowed.
 * Descriptor 0 is its control: it gets one connection after the other there, and the process that started
 * it ends it when one is long in coming.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "data.h"
#include "folder.h"
#include "handle.h"
#include "helpers/common/control.h"
#include "names.h"
#include "ref.h"
#include "watch.h"

#define FILES_BACKLOG (1 << 20) /* bytes of answers that are queued */

static struct stream out;
static struct event_base *base;

static int files_nothing(const message *m, message *a)
{
	return 0;
}

/* What does a request, with what it is about; each returns 0 or an errno. */
static const struct files_way {
	int (*any)(const message *m, message *a);
	int (*ref)(struct ref *r, const message *m, message *a);
	int (*handle)(struct handle *h, const message *m, message *a);
} files_ways[FILES_OPS] = {
	[FILES_LIST].any = names_list,
	[FILES_LOOK].any = names_look,
	[FILES_STAT].ref = names_stat,
	[FILES_SET].ref = names_set,
	[FILES_READLINK].ref = names_readlink,
	[FILES_OPEN].ref = data_open,
	[FILES_CREATE].any = data_create,
	[FILES_READ].handle = data_read,
	[FILES_WRITE].handle = data_write,
	[FILES_FLUSH].handle = data_flush,
	[FILES_FSYNC].handle = data_fsync,
	[FILES_CLOSE].handle = data_close,
	[FILES_READDIR].handle = data_readdir,
	[FILES_MKDIR].any = names_make,
	[FILES_MKNOD].any = names_make,
	[FILES_SYMLINK].any = names_make,
	[FILES_LINK].ref = names_link,
	[FILES_UNLINK].any = names_unlink,
	[FILES_RMDIR].any = names_unlink,
	[FILES_RENAME].any = names_rename,
	[FILES_STATFS].ref = names_statfs,
	[FILES_ACCESS].ref = names_access,
	[FILES_GETXATTR].ref = names_xattr,
	[FILES_SETXATTR].ref = names_xattr,
	[FILES_LISTXATTR].ref = names_xattr,
	[FILES_REMOVEXATTR].ref = names_xattr,
	[FILES_LOCK].handle = data_lock,
	[FILES_FLOCK].handle = data_flock,
	[FILES_FALLOCATE].handle = data_fallocate,
	[FILES_SYNC].any = files_nothing,
};

static int files_do(const struct files_way *way, const message *m, message *a)
{
	struct handle *h;
	struct ref r;
	int err;

	if (way->handle) {
		h = handle_find(m->handle);
		return h ? way->handle(h, m, a) : EBADF;
	}
	if (way->any)
		return way->any(m, a);
	err = ref_open(&r, m);
	if (err)
		return err;
	err = way->ref(&r, m, a);
	ref_close(&r);
	return err;
}

static void files_forget(uint64_t id)
{
	struct folder *f = folder_find(id);

	if (!f || id == FILES_ROOT)
		return;
	watch_forget(f);
	folder_forget(f);
}

static int files_on_message(void *ctx, const message *m)
{
	static message a;
	int err;

	switch (m->op) {
	case FILES_KNOW:
		return folder_know(m);
	case FILES_FORGET:
		files_forget(m->dir);
		return 0;
	}
	if (m->op <= FILES_FORGET || m->op >= FILES_NEWS)
		return -EPROTO;
	/* changes reported before an answer must be older than the answer */
	watch_look();
	a.op = m->op | FILES_ANSWER;
	a.tag = m->tag;
	a.length = 0;
	a.flags = 0;
	a.error = files_do(&files_ways[m->op], m, &a);
	if (a.error)
		a.length = 0;
	watch_own(0, NULL, 0);
	if (m->op == FILES_WRITE || m->op == FILES_CLOSE)
		return 0;
	watch_tell();
	err = stream_put(&out, &a);
	/* it would undo what it said before its answer */
	watch_confirm_all();
	watch_tell();
	return err;
}

static void files_on_read(void *ctx)
{
	stream_flush(&out);
}

static void files_on_broke(void *ctx)
{
	event_base_loopbreak(base);
}

/* Another connection to the executor. */
static void files_on_control(evutil_socket_t fd, short what, void *arg)
{
	struct view_sync ask;
	int connection, ret = control_take(fd, &ask, &connection);

	if (!ret)
		return;
	if (ret < 0 || connection < 0 || stream_connect(&out, connection))
		event_base_loopbreak(base);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct event *control;

	/* ehlaunch says a second word to an earlier version. */
	if (argc < 2 || argv[1][0] != '/') {
		fprintf(stderr, "usage: ehfiles DIR\n"
				"Started by ehlaunch; serves DIR, as descriptor 0 says to whom.\n");
		return 2;
	}
	/* its answers are believed: the user, whose process it is, must not make them up with ptrace */
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	base = event_base_new();
	out.message = files_on_message;
	out.read = files_on_read;
	out.broke = files_on_broke;
	out.most = FILES_BACKLOG;
	control = base ? event_new(base, 0, EV_READ | EV_PERSIST, files_on_control, NULL) : NULL;
	if (!control || event_add(control, NULL) || folder_init(argv[1]) ||
	    watch_init(base, &out) || stream_open(&out, base, -1))
		return 1;
	event_base_dispatch(base);
	return 0;
}
