// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions of `ehctl run`: cgroups whose tasks may be transferred. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "caller.h"
#include "cgroup.h"
#include "folder.h"
#include "origin.h"
#include "wire/view.h"
#include "wire/wish.h"

enum { SESSION_FD_CLIENT = LAUNCH_FD_NEWS + 1, SESSION_FDS };

bool session_is_good(const struct request *r)
{
	const struct launch_session *q = &r->session;

	return r->length == sizeof(*q) && r->nfds == SESSION_FDS &&
	       memchr(q->wish, 0, sizeof(q->wish)) && q->leaves <= 1 && q->view < VIEWS;
}

/* Moves it, and what it has of limits. 0 or -errno. */
static int session_move(const struct caller *caller, int origin, int to)
{
	char text[16];
	int err = origin_limits(origin, to);

	if (err)
		return err;
	if (!caller_lives(caller))
		return -ESRCH;
	snprintf(text, sizeof(text), "%d", (int)caller->pid);
	return folder_write(to, "cgroup.procs", text);
}

static int session_make(const struct launch_session *q, const struct caller *caller, int origin,
			char name[SESSION_NAME])
{
	static unsigned int number;
	int fd, err;

	/* An earlier ehlaunch may have used some. */
	do {
		wish_name(name, q->wish, (int)caller->pid, ++number);
		fd = cgroup_session(name, q->leaves, caller->uid);
	} while (fd == -EEXIST);
	if (fd < 0)
		return fd;
	err = origin_programs(origin, fd);
	/* Kernels before 5.7 have no such attributes: its tasks run without. */
	if (!err && q->retry)
		fsetxattr(fd, LAUNCH_NOTE_RETRY, "", 0, 0);
	if (!err && q->view != VIEW_UNSET)
		fsetxattr(fd, LAUNCH_NOTE_VIEW, view_name(q->view), strlen(view_name(q->view)), 0);
	if (!err)
		err = session_move(caller, origin, fd);
	cgroup_session_made(name, q->leaves, fd);
	return err;
}

/* A guest is not transferred again, and does not leave its limits. 0, -EPERM, or another -errno. */
static int session_begin(const struct launch_session *q, const struct caller *caller,
			 char name[SESSION_NAME])
{
	int origin = cgroup_of(caller->folder), err;

	if (origin < 0)
		return origin;
	err = session_make(q, caller, origin, name);
	close(origin);
	return err;
}

int session_start(const struct request *r)
{
	struct launch_managed told = { .name = "" };
	struct caller caller;
	int err = caller_find(r->fds[SESSION_FD_CLIENT], r->session.came, &caller);

	if (!err) {
		err = caller_is_users(&caller) ? session_begin(&r->session, &caller, told.name)
					       : -ESRCH;
		caller_drop(&caller);
	}
	told.news.stage = !err ? LAUNCH_READY : err == -EPERM ? LAUNCH_CONFINED : LAUNCH_CGROUP;
	told.news.error = -err;
	request_answer(r->fds[LAUNCH_FD_NEWS], &told, sizeof(told), NULL, 0);
	return 0;
}
