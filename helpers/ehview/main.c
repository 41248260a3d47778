// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehview N UID, the executor's side of a view: a FUSE file system for each one of home, whose requests go to
 * an ehfiles there (wire/files.h). One loop; only the requests wait for home.
 *
 * What home has reported is kept, here and in the kernel, without a time limit: home sends all entries of each
 * directory in which a name is looked up, and from then on its changes. Opening a file always asks home; content
 * stays in the kernel's cache as long as size and times are the same at the next open.
 *
 * It serves N file systems of the user UID of home on the descriptors of FD_DEVICE(), FD_HOME() and
 * FD_FORGET(). On descriptor 0 the agent asks to be told when all that home has done
 * until now is seen here, or all that was done here is seen at home. It
 * outlives its connections: requests wait, and the agent, or the next one, gives it
 * others; the process that started it ends it when that takes too long.
 * Started by ehlaunch.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "call.h"
#include "data.h"
#include "forget.h"
#include "helpers/common/control.h"
#include "look.h"
#include "names.h"
#include "wire/view.h"

#define VIEW_BACKLOG (1 << 20) /* bytes queued for home above which the kernel's requests wait */

static struct event_base *base;
static struct tree *trees;
static unsigned int ntrees;
static struct fuse_buf view_buffer;
static struct event *view_asked;

/* A question of the agent that waits for answers from all trees. */
struct sync {
	uint32_t ticket;
	unsigned int waits;
};

/* ---- requests of the kernel ---- */

/* Serves all requests in the kernel's queue, including those that arrive meanwhile. */
static void view_serve(struct tree *t)
{
	int n;

	while (!t->gone && stream_waiting(&t->home) <= VIEW_BACKLOG) {
		n = fuse_session_receive_buf(t->session, &view_buffer);
		if (n == -EINTR)
			continue;
		if (n <= 0) {
			t->gone = n != -EAGAIN;
			break;
		}
		fuse_session_process_buf(t->session, &view_buffer);
	}
	if (t->gone || stream_waiting(&t->home) > VIEW_BACKLOG)
		event_del(t->asked);
	if (t->flush)
		stream_flush(&t->home);
	t->flush = false;
}

static void view_on_asked(evutil_socket_t fd, short what, void *arg)
{
	view_serve(arg);
	for (unsigned int i = 0; i < ntrees; i++)
		if (!trees[i].gone)
			return;
	event_base_loopbreak(base);
}

static void view_init(void *arg, struct fuse_conn_info *conn)
{
	/* writes go to home at once; cached content is dropped when home says so, not when times differ */
	conn->want &= ~(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
			FUSE_CAP_SPLICE_MOVE | FUSE_CAP_WRITEBACK_CACHE);
	conn->want |= conn->capable &
		      (FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_DONT_MASK);
	conn->max_write = FILES_DATA_MAX;
	conn->max_background = 64;
	conn->congestion_threshold = 48;
}

/* ---- home ---- */

static int view_on_message(void *ctx, const message *m)
{
	struct tree *t = ctx;

	if (m->op & FILES_ANSWER)
		return call_answered(t, m);
	if (m->op != FILES_NEWS)
		return -EPROTO;
	look_news(t, m);
	return 0;
}

/* Answers have come, or there is room for requests again. */
static void view_on_read(void *ctx)
{
	struct tree *t = ctx;

	if (!t->gone && !event_pending(t->asked, EV_READ, NULL))
		event_add(t->asked, NULL);
	/* the next request often follows an answer at once */
	view_serve(t);
}

/* When this process ends, the kernel fails all requests under way. */
static void view_on_broke(void *ctx)
{
	exit(1);
}

/* ---- the agent ---- */

static void view_sync_put(struct sync *s)
{
	if (--s->waits)
		return;
	forget_fence(s->ticket);
	free(s);
}

static void view_on_synced(struct call *c, const message *a)
{
	view_sync_put(c->sync);
}

/* Another connection to home. */
static void view_connect(uint32_t i, int connection)
{
	/* Also of one that could not be mounted: the end of its stream would be that of the view. */
	if (i >= ntrees || stream_connect(&trees[i].home, connection))
		exit(1);
}

static void view_sync(const struct view_sync *ask)
{
	struct sync *s = calloc(1, sizeof(*s));
	struct call *c;

	if (!s)
		exit(1);
	s->ticket = ask->ticket;
	s->waits = 1;
	for (unsigned int i = 0; i < ntrees; i++) {
		struct tree *t = &trees[i];

		/* the kernel's queue may still have closes of a task that has ended */
		view_serve(t);
		if (t->gone || !(ask->what == VIEW_ENDED ? t->is_unsure : t->touched))
			continue;
		c = call_new(t, NULL, NULL, NULL);
		if (!c)
			exit(1);
		c->sync = s;
		s->waits++;
		call_send(c, call_message(FILES_SYNC), view_on_synced);
		stream_flush(&t->home);
		t->flush = false;
	}
	view_sync_put(s);
}

static void view_on_agent(evutil_socket_t fd, short what, void *arg)
{
	struct view_sync ask;
	int connection, ret = control_take(fd, &ask, &connection);

	if (ret < 0)
		exit(1);
	if (ret && connection >= 0)
		view_connect(ask.ticket, connection);
	else if (ret)
		view_sync(&ask);
}

/* ---- the start ---- */

static int view_open(struct tree *t, unsigned int i, const struct fuse_lowlevel_ops *ops)
{
	char name[] = "ehview", path[24];
	char *arguments[] = { name, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, arguments);

	t->index = i;
	snprintf(path, sizeof(path), "/dev/fd/%d", FD_DEVICE(i));
	t->session = fuse_session_new(&args, ops, sizeof(*ops), t);
	if (!t->session || fuse_session_mount(t->session, path) || node_init(t) ||
	    evutil_make_socket_nonblocking(FD_DEVICE(i)))
		return -ENOMEM;
	t->asked = event_new(base, FD_DEVICE(i), EV_READ | EV_PERSIST, view_on_asked, t);
	t->home.message = view_on_message;
	t->home.read = view_on_read;
	t->home.broke = view_on_broke;
	t->home.ctx = t;
	if (!t->asked || event_add(t->asked, NULL))
		return -ENOMEM;
	return stream_open(&t->home, base, FD_HOME(i));
}

int main(int argc, char **argv)
{
	struct fuse_lowlevel_ops ops;
	struct rlimit none = { 0, 0 };

	/* ehlaunch says a third word to an earlier version. */
	ntrees = argc >= 3 ? strtoul(argv[1], NULL, 10) : 0;
	if (!ntrees || ntrees > VIEW_TREES_MAX) {
		fprintf(stderr, "usage: ehview N UID\n"
				"Started by ehlaunch; serves N file systems on its descriptors.\n");
		return 2;
	}
	node_user_is(strtoul(argv[2], NULL, 10));
	/* it has the same ids as the tasks, which must not read its memory */
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGPIPE, SIG_IGN);
	memset(&ops, 0, sizeof(ops));
	ops.init = view_init;
	names_ops(&ops);
	data_ops(&ops);
	base = event_base_new();
	if (!base || forget_init(base, ntrees))
		return 1;
	trees = calloc(ntrees, sizeof(*trees));
	view_asked = event_new(base, 0, EV_READ | EV_PERSIST, view_on_agent, NULL);
	if (!trees || !view_asked || event_add(view_asked, NULL))
		return 1;
	for (unsigned int i = 0; i < ntrees; i++)
		if (view_open(&trees[i], i, &ops))
			return 1;
	event_base_dispatch(base);
	return 0;
}
