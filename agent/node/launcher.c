// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/config_data.h"
#include "base/log.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"

#define LAUNCHER_NUMBER 12

struct launcher {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* where it listens; "": started here */
	pid_t pid; /* of one that was started here; 0: none */
	int socket;
};

#define LAUNCHER_ROOM (1 << 20) /* the largest request has 65536 groups; the kernel may give less */

/* System calls only: threads of the agent may have held locks at the fork. */
static void __attribute__((noreturn)) launcher_become(const char *path, char **argv, int socket)
{
	char *none[] = { NULL };
	const uint64_t nothing = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &nothing, NULL, sizeof(nothing));
	syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
	if (socket == LAUNCH_SOCKET ? fcntl(socket, F_SETFD, 0) < 0
				    : dup2(socket, LAUNCH_SOCKET) < 0)
		_exit(127);
	execve(path, argv, none);
	_exit(127);
}

/* What the site permits, which a request cannot change. To be freed; NULL: out of memory. */
static char **launcher_arguments(const struct config *c, char uid_min[LAUNCHER_NUMBER])
{
	char **argv = calloc(2 * c->nallow_users + 5, sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	snprintf(uid_min, LAUNCHER_NUMBER, "%u", c->uid_min);
	argv[n++] = (char *)"ehlaunch";
	argv[n++] = (char *)"--uid-min";
	argv[n++] = uid_min;
	if (c->allow_root)
		argv[n++] = (char *)"--allow-root";
	for (size_t i = 0; i < c->nallow_users; i++) {
		argv[n++] = (char *)"--allow-user";
		argv[n++] = c->allow_users[i];
	}
	return argv;
}

static int launcher_fork(struct launcher *l, const struct config *config)
{
	char path[4096], uid_min[LAUNCHER_NUMBER], **argv;
	int pair[2], err;

	if (!companion("ehlaunch", path, sizeof(path)))
		return -ENOENT;
	argv = launcher_arguments(config, uid_min);
	if (!argv)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto free_arguments;
	}
	l->pid = fork();
	if (!l->pid)
		launcher_become(path, argv, pair[1]);
	err = l->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		l->pid = 0;
		close(pair[0]);
	} else {
		l->socket = pair[0];
	}
free_arguments:
	free(argv);
	return err;
}

static int launcher_connect(struct launcher *l)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int err;

	strcpy(to.sun_path, l->path);
	l->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->socket < 0)
		return -errno;
	if (!connect(l->socket, (struct sockaddr *)&to, sizeof(to)))
		return 0;
	err = -errno;
	close(l->socket);
	l->socket = -1;
	return err;
}

static int launcher_start(struct launcher *l, const struct config *config)
{
	const int room = LAUNCHER_ROOM;
	int err = *l->path ? launcher_connect(l) : launcher_fork(l, config);

	if (!err)
		setsockopt(l->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return err;
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

static void launcher_try(struct agent *agent)
{
	const struct launcher *l = agent->launcher;
	int err = launcher_start(agent->launcher, agent->config);

	if (err && *l->path)
		log_warning("cannot connect to ehlaunch at %s: %s; until it listens there no tasks of "
			    "others run here",
			    l->path, strerror(-err));
	else if (err)
		log_warning("cannot start ehlaunch, which is installed beside this program: %s; no "
			    "tasks of others run here",
			    strerror(-err));
}

int launcher_init(struct agent *agent)
{
	const char *path = agent->config->launcher ?: geteuid() ? LAUNCH_PATH : "";
	struct launcher *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	agent->launcher = l;
	if ((size_t)snprintf(l->path, sizeof(l->path), "%s", path) >= sizeof(l->path)) {
		log_error("launcher: %s: the path of a socket has at most %zu characters", path,
			  sizeof(l->path) - 1);
		return -ENAMETOOLONG;
	}
	/* Not for us, or not on this host: an ordinary user's agent runs this user's tasks. */
	if (!agent->config->launcher && *l->path && access(l->path, W_OK))
		*l->path = '\0';
	launcher_try(agent);
	return 0;
}

bool launcher_is_apart(const struct agent *agent)
{
	return *agent->launcher->path;
}

void launcher_reload(struct agent *agent)
{
	if (launcher_is_apart(agent))
		return;
	launcher_end(agent->launcher);
	launcher_try(agent);
}

void launcher_exit(struct agent *agent)
{
	if (!agent->launcher)
		return;
	launcher_end(agent->launcher);
	free(agent->launcher);
	agent->launcher = NULL;
}

static int launcher_send(const struct launcher *l, const struct launcher_request *q, int news)
{
	struct launch_head head = { LAUNCH_VERSION, q->head->kind };
	struct iovec iov[3] = { { &head, sizeof(head) },
				{ (void *)(q->head + 1), q->size - sizeof(head) },
				{ (void *)q->tail, q->tail_size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };
	int fds[DESCRIPTORS_MAX] = { [LAUNCH_FD_NEWS] = news };
	union descriptors room;

	if (l->socket < 0)
		return -ENOTCONN;
	if (q->nfds >= DESCRIPTORS_MAX)
		return -E2BIG;
	for (unsigned int i = 0; i < q->nfds; i++)
		fds[LAUNCH_FD_NEWS + 1 + i] = q->fds[i];
	descriptors_put(&msg, &room, fds, LAUNCH_FD_NEWS + 1 + q->nfds);
	/* It reads them at once: a full queue means that it does not work. */
	return sendmsg(l->socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static bool launcher_is_gone(int err)
{
	return err == -EPIPE || err == -ENOTCONN || err == -ECONNREFUSED || err == -ECONNRESET;
}

int launcher_ask(struct agent *agent, const struct launcher_request *q)
{
	struct launcher *l = agent->launcher;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	err = launcher_send(l, q, pair[1]);
	/* It has ended: it holds nothing, so another one does. */
	if (launcher_is_gone(err)) {
		launcher_end(l);
		err = launcher_start(l, agent->config);
		if (!err)
			err = launcher_send(l, q, pair[1]);
	}
	close(pair[1]);
	if (!err)
		return pair[0];
	close(pair[0]);
	return err;
}

int launcher_receive(int news, void *answer, size_t size)
{
	struct iovec iov = { answer, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	const struct launch_news *told = answer;
	int fds[DESCRIPTORS_MAX], n;
	union descriptors room;
	ssize_t got;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	got = recvmsg(news, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	n = descriptors_take(&msg, &room, fds);
	for (int i = 1; i < n; i++)
		close(fds[i]);
	if ((size_t)got >= sizeof(*told) && told->stage == LAUNCH_READY && n > 0)
		return fds[0];
	if (n > 0)
		close(fds[0]);
	return (size_t)got >= sizeof(*told) && told->error > 0 ? -told->error : -EPROTO;
}
