// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions of `ehctl run`: cgroups whose tasks may be transferred. */
#include "launch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "wire/view.h"

enum { SESSION_FD_CLIENT = LAUNCH_FD_NEWS + 1, SESSION_FDS };

bool session_is_good(const struct request *r)
{
	const struct launch_session *q = &r->session;

	return r->length == sizeof(*q) && r->nfds == SESSION_FDS &&
	       memchr(q->wish, 0, sizeof(q->wish)) && q->leaves <= 1 && q->view < VIEWS;
}

/* The process at the other end: its number, or -errno. It may have ended, and another have it. */
static pid_t session_client(int socket)
{
	socklen_t size = sizeof(struct ucred);
	struct ucred who;
	struct stat st;
	char path[32];

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return -errno;
	if (who.pid <= 0)
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/%d", (int)who.pid);
	if (stat(path, &st))
		return -ESRCH;
	/* Root's, if it may not be traced. */
	return st.st_uid == who.uid || !st.st_uid || !who.uid ? who.pid : -ESRCH;
}

/* A guest is not transferred again, and does not leave its limits. */
static bool session_is_guest(pid_t pid)
{
	char path[32], line[PATH_MAX + 8];
	bool guest = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	while (!guest && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		guest = !strncmp(line, "0::", 3) && cgroup_is_guest(line + 3);
	}
	fclose(f);
	return guest;
}

/* Characters of the user's choice that suit a file name, then the pid and a number. */
static void session_name(const char *wish, pid_t pid, unsigned int number, char name[64])
{
	size_t n = 0;

	for (; *wish; wish++)
		name[n++] = isalnum((unsigned char)*wish) || strchr("-_", *wish) ? *wish : '-';
	snprintf(name + n, 64 - n, "%s%d.%u", n ? "." : "s", (int)pid, number);
}

static int session_make(const struct launch_session *q, pid_t pid, char name[64])
{
	static unsigned int number;
	char text[16];
	int fd, err;

	if (session_is_guest(pid))
		return -EPERM;
	/* An earlier ehlaunch may have used some. */
	do {
		session_name(q->wish, pid, ++number, name);
		fd = cgroup_session(name, q->leaves);
	} while (fd == -EEXIST);
	if (fd < 0)
		return fd;
	/* Kernels before 5.7 have no such attributes: its tasks run without. */
	if (q->retry)
		fsetxattr(fd, LAUNCH_NOTE_RETRY, "", 0, 0);
	if (q->view != VIEW_UNSET)
		fsetxattr(fd, LAUNCH_NOTE_VIEW, view_name(q->view), strlen(view_name(q->view)), 0);
	snprintf(text, sizeof(text), "%d", (int)pid);
	err = cgroup_write(fd, "cgroup.procs", text);
	cgroup_session_made(name, q->leaves, fd);
	return err;
}

int session_start(const struct request *r)
{
	struct launch_managed told = { .news.stage = LAUNCH_CGROUP };
	const pid_t pid = session_client(r->fds[SESSION_FD_CLIENT]);
	int err = pid < 0 ? pid : session_make(&r->session, pid, told.name);

	if (!err)
		told.news.stage = LAUNCH_READY;
	told.news.error = -err;
	send(r->fds[LAUNCH_FD_NEWS], &told, sizeof(told), MSG_NOSIGNAL | MSG_DONTWAIT);
	return 0;
}
