// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/log.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"
#include "wire/job.h"
#include "wire/launch.h"

static const char *const launch_stages[LAUNCH_STAGES] = {
	[LAUNCH_REQUEST] = "ehlaunch does not understand this agent",
	[LAUNCH_FORK] = "cannot start a process for it",
	[LAUNCH_DESCRIPTORS] = "cannot set up its descriptors",
	[LAUNCH_LOGIN] = "cannot set its login user id, by which audit knows who it is",
	[LAUNCH_LIMITS] = "cannot set its limits",
	[LAUNCH_ENTER] = "cannot enter the mount namespace of home's files",
	[LAUNCH_USER] = "cannot change to its user",
};

struct launcher {
	pid_t pid; /* of ehlaunch */
	int socket;
};

/* System calls only: threads of the agent may have held locks at the fork. */
static void __attribute__((noreturn)) launch_become(const char *path, int socket)
{
	char *argv[] = { (char *)"ehlaunch", NULL }, *none[] = { NULL };
	const uint64_t nothing = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &nothing, NULL, sizeof(nothing));
	syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
	if (socket == LAUNCH_SOCKET ? fcntl(socket, F_SETFD, 0) < 0
				    : dup2(socket, LAUNCH_SOCKET) < 0)
		_exit(127);
	execve(path, argv, none);
	_exit(127);
}

static int launcher_start(struct launcher *l)
{
	const int room = 1 << 20; /* the largest request has 65536 groups; the kernel may give less */
	char path[4096];
	int pair[2], err;

	if (!companion("ehlaunch", path, sizeof(path)))
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	l->pid = fork();
	if (!l->pid)
		launch_become(path, pair[1]);
	err = l->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		l->pid = 0;
		close(pair[0]);
		return err;
	}
	l->socket = pair[0];
	return 0;
}

static void launcher_end(struct launcher *l)
{
	if (l->socket >= 0)
		close(l->socket);
	l->socket = -1;
	/* It ends as soon as it sees that. */
	if (l->pid > 0)
		waitpid(l->pid, NULL, 0);
	l->pid = 0;
}

int launch_init(struct agent *agent)
{
	struct launcher *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	agent->launcher = l;
	err = launcher_start(l);
	if (err)
		log_warning("cannot start ehlaunch, which is installed beside this program: %s; no "
			    "tasks of others run here",
			    strerror(-err));
	return 0;
}

void launch_exit(struct agent *agent)
{
	if (!agent->launcher)
		return;
	launcher_end(agent->launcher);
	free(agent->launcher);
	agent->launcher = NULL;
}

static int launch_send(const struct launcher *l, const struct launch_request *q,
		       const struct job_spec *spec, const int *fds, unsigned int nfds)
{
	struct iovec iov[2] = { { (void *)q, sizeof(*q) },
				{ (void *)spec->groups, spec->ngroups * sizeof(uint32_t) } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	union descriptors room;

	if (l->socket < 0)
		return -ENOTCONN;
	descriptors_put(&msg, &room, fds, nfds);
	/* It reads them at once: a full queue means that it does not work. */
	return sendmsg(l->socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int launch_start(struct agent *agent, struct launch *l, const struct job_spec *spec, int cgroup,
		 int view, int socket)
{
	struct launch_request q = {
		.version = LAUNCH_VERSION,
		.uid = spec->uid,
		.gid = spec->gid,
		.ngroups = spec->ngroups,
		.loginuid = spec->loginuid,
		.nice = spec->nice,
		.oom_score = agent->oom_score_adj,
	};
	int pair[2], fds[LAUNCH_FDS], n = LAUNCH_FD_FIRST_OPTION, err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	memcpy(q.rlimit, spec->rlimit, sizeof(q.rlimit));
	memcpy(q.traits, spec->traits, sizeof(q.traits));
	fds[LAUNCH_FD_END] = socket;
	fds[LAUNCH_FD_NEWS] = pair[1];
	if (spec->flags & JOB_NO_NEW_PRIVS)
		q.flags |= LAUNCH_NO_NEW_PRIVS;
	if (agent->config->allow_root)
		q.flags |= LAUNCH_RIGHTS;
	if (cgroup >= 0) {
		q.flags |= LAUNCH_CGROUP;
		fds[n++] = cgroup;
	}
	if (view >= 0) {
		q.flags |= LAUNCH_VIEW;
		fds[n++] = view;
	}
	err = launch_send(agent->launcher, &q, spec, fds, n);
	/* It was killed: it holds nothing, so another one does. */
	if (err == -EPIPE || err == -ENOTCONN || err == -ECONNREFUSED || err == -ECONNRESET) {
		launcher_end(agent->launcher);
		err = launcher_start(agent->launcher);
		if (!err)
			err = launch_send(agent->launcher, &q, spec, fds, n);
	}
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		l->news = pair[0];
	return err;
}

int launch_read(struct launch *l, struct launch_result *result)
{
	struct launch_news m;
	ssize_t n;

	n = recv(l->news, &m, sizeof(m), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	*result = (struct launch_result){ .what = "its process died before the start" };
	if (n != sizeof(m))
		return 1;
	if (m.stage == LAUNCH_READY)
		*result = (struct launch_result){ .pid = m.pid };
	else
		*result = (struct launch_result){
			.what = m.stage < LAUNCH_STAGES ? launch_stages[m.stage] : "",
			.error = m.error,
		};
	return 1;
}

void launch_close(struct launch *l)
{
	if (l->news >= 0)
		close(l->news);
	l->news = -1;
}
