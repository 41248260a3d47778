// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehfiles DIR: serves it (ehfiles.h). Descriptor 0 is its control: it gets one connection after the other
 * there, and the process that started it ends it when one is long in coming.
 * Started by ehlaunch, with a user's ids.
 */
#include "ehfiles.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "helpers/common/control.h"

#define FILES_BACKLOG (1 << 20) /* bytes of answers that are queued */

struct stream out;
struct event_base *base;

void files_attr_of(struct files_attr *a, const struct stat *st)
{
	*a = (struct files_attr){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.blocks = st->st_blocks,
		.rdev = st->st_rdev,
		.mode = st->st_mode,
		.nlink = st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.blksize = st->st_blksize,
		.atime = { st->st_atim.tv_sec, st->st_atim.tv_nsec },
		.mtime = { st->st_mtim.tv_sec, st->st_mtim.tv_nsec },
		.ctime = { st->st_ctim.tv_sec, st->st_ctim.tv_nsec },
	};
}

int files_stat(int fd, struct files_attr *a)
{
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	files_attr_of(a, &st);
	return 0;
}

static int files_nothing(const message *m, message *a)
{
	return 0;
}

/* Each returns 0 or an errno. */
static int (*const files_do[FILES_OPS])(const message *m, message *a) = {
	[FILES_LIST] = names_list,
	[FILES_LOOK] = names_look,
	[FILES_STAT] = names_stat,
	[FILES_SET] = names_set,
	[FILES_READLINK] = names_readlink,
	[FILES_OPEN] = handle_open,
	[FILES_CREATE] = handle_create,
	[FILES_READ] = handle_read,
	[FILES_WRITE] = handle_write,
	[FILES_FLUSH] = handle_flush,
	[FILES_FSYNC] = handle_fsync,
	[FILES_CLOSE] = handle_close,
	[FILES_READDIR] = handle_readdir,
	[FILES_MKDIR] = names_make,
	[FILES_MKNOD] = names_make,
	[FILES_SYMLINK] = names_make,
	[FILES_LINK] = names_link,
	[FILES_UNLINK] = names_unlink,
	[FILES_RMDIR] = names_unlink,
	[FILES_RENAME] = names_rename,
	[FILES_STATFS] = names_statfs,
	[FILES_ACCESS] = names_access,
	[FILES_GETXATTR] = names_xattr,
	[FILES_SETXATTR] = names_xattr,
	[FILES_LISTXATTR] = names_xattr,
	[FILES_REMOVEXATTR] = names_xattr,
	[FILES_LOCK] = handle_lock,
	[FILES_FLOCK] = handle_flock,
	[FILES_FALLOCATE] = handle_fallocate,
	[FILES_SYNC] = files_nothing,
};

static int files_on_message(void *ctx, const message *m)
{
	static message a;
	int err;

	switch (m->op) {
	case FILES_KNOW:
		return folder_know(m);
	case FILES_FORGET:
		folder_forget(m->dir);
		return 0;
	}
	if (m->op >= FILES_OPS || !files_do[m->op])
		return -EPROTO;
	/* changes reported before an answer must be older than the answer */
	watch_look();
	a.op = m->op | FILES_ANSWER;
	a.tag = m->tag;
	a.length = 0;
	a.flags = 0;
	a.error = files_do[m->op](m, &a);
	if (a.error)
		a.length = 0;
	watch_own(0, NULL, 0);
	if (m->op == FILES_WRITE || m->op == FILES_CLOSE)
		return 0;
	watch_tell();
	err = stream_put(&out, &a);
	/* it would undo what it said before its answer */
	names_confirm_all();
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
	if (!control || event_add(control, NULL) || folder_init(argv[1]) || watch_init() ||
	    stream_open(&out, base, -1))
		return 1;
	event_base_dispatch(base);
	return 0;
}
