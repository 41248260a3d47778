// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/config_data.h"
#include "base/log.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"

#define LAUNCHER_MS 10000 /* for its start */

struct launcher {
	pid_t pid; /* of ehlaunch */
	int socket;
};

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

/* What the site permits, which a request cannot change. */
struct launcher_arguments {
	char **argv; /* to be freed; NULL: out of memory */
	size_t n;
	char numbers[3][12];
};

static void launcher_argument(struct launcher_arguments *a, const char *name, const char *value)
{
	a->argv[a->n++] = (char *)name;
	a->argv[a->n++] = (char *)value;
}

static void launcher_fill(struct launcher_arguments *a, const struct config *c)
{
	const char *const names[] = { "--uid-min", "--guest-pids", "--guest-memory" };
	const unsigned int values[] = { c->uid_min, c->guest_pids, c->guest_memory };

	a->n = 0;
	a->argv = calloc(2 * c->nallow_users + 11, sizeof(*a->argv));
	if (!a->argv)
		return;
	a->argv[a->n++] = (char *)"ehlaunch";
	launcher_argument(a, "--cgroup", c->cgroup);
	for (int i = 0; i < 3; i++) {
		snprintf(a->numbers[i], sizeof(a->numbers[i]), "%u", values[i]);
		launcher_argument(a, names[i], a->numbers[i]);
	}
	for (size_t i = 0; i < c->nallow_users; i++)
		launcher_argument(a, "--allow-user", c->allow_users[i]);
	if (c->allow_root)
		a->argv[a->n++] = (char *)"--allow-root";
}

/* Waits until it has begun: the directories of cgroups are there then. */
static int launcher_wait(int socket)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	struct launch_news news;
	int n;

	do
		n = poll(&p, 1, LAUNCHER_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = recv(socket, &news, sizeof(news), MSG_DONTWAIT);
	return n == sizeof(news) && news.stage == LAUNCH_READY ? 0 : -EPROTO;
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

static int launcher_start(struct launcher *l, const struct config *config)
{
	const int room = 1 << 20; /* the largest request has 65536 groups; the kernel may give less */
	struct launcher_arguments arguments;
	char path[4096];
	int pair[2], err;

	if (!companion("ehlaunch", path, sizeof(path)))
		return -ENOENT;
	launcher_fill(&arguments, config);
	if (!arguments.argv)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto free_arguments;
	}
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	l->pid = fork();
	if (!l->pid)
		launcher_become(path, arguments.argv, pair[1]);
	err = l->pid < 0 ? -errno : 0;
	close(pair[1]);
	l->socket = pair[0];
	if (!err)
		err = launcher_wait(l->socket);
	if (err)
		launcher_end(l);
free_arguments:
	free(arguments.argv);
	return err;
}

static void launcher_try(struct agent *agent)
{
	int err = launcher_start(agent->launcher, agent->config);

	if (err)
		log_warning("cannot start ehlaunch, which is installed beside this program: %s; no "
			    "tasks of others run here",
			    strerror(-err));
}

int launcher_init(struct agent *agent)
{
	struct launcher *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	agent->launcher = l;
	launcher_try(agent);
	return 0;
}

void launcher_reload(struct agent *agent)
{
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
	/* It was killed: it holds nothing, so another one does. */
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
