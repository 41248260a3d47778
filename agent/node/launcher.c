// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
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

struct launcher {
	pid_t pid; /* of ehlaunch */
	int socket;
	unsigned int starts;
};

static const char *const launcher_stages[LAUNCH_STAGES] = {
	[LAUNCH_REQUEST] = "ehlaunch does not understand this agent",
	[LAUNCH_FORK] = "cannot start a process for it",
	[LAUNCH_DESCRIPTORS] = "cannot set up its descriptors",
	[LAUNCH_LOGIN] = "cannot set its login user id, by which audit knows who it is",
	[LAUNCH_LIMITS] = "cannot set its limits",
	[LAUNCH_ENTER] = "cannot enter the mount namespace of home's files",
	[LAUNCH_USER] = "cannot change to its user",
	[LAUNCH_FOREIGN] = "ehlaunch has not made this mount namespace for its user",
	[LAUNCH_NAMESPACE] = "cannot create a mount namespace",
	[LAUNCH_ACCOUNT] = "nothing is mounted or served for this user",
	[LAUNCH_CARRIER] = "the kernel cannot mount files of other nodes",
	[LAUNCH_SERVER] = "cannot start its file server",
	[LAUNCH_ATTACH] = "home does not serve its files",
	[LAUNCH_ROOT] = "cannot make home's tree the root",
	[LAUNCH_OWN] = "cannot mount a directory of this node in home's tree",
};

const char *launcher_trouble(const struct launch_news *news)
{
	return news->stage < LAUNCH_STAGES && launcher_stages[news->stage]
		       ? launcher_stages[news->stage]
		       : "ehlaunch does not say what is wrong";
}

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

/* What the site permits. The caller frees it, but not what is in it. */
static char **launcher_arguments(const struct config *config)
{
	char **argv = calloc(3 + 2 * config->nview_own, sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	argv[n++] = (char *)"ehlaunch";
	if (config->allow_root)
		argv[n++] = (char *)"--allow-root";
	for (size_t i = 0; i < config->nview_own; i++) {
		argv[n++] = (char *)"--view-own";
		argv[n++] = config->view_own[i];
	}
	return argv;
}

static int launcher_start(struct launcher *l, const struct config *config)
{
	const int room = 1 << 20; /* the largest request has 65536 groups; the kernel may give less */
	char path[4096], **argv;
	int pair[2], err;

	if (!companion("ehlaunch", path, sizeof(path)))
		return -ENOENT;
	argv = launcher_arguments(config);
	if (!argv)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		free(argv);
		return err;
	}
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	l->pid = fork();
	if (!l->pid)
		launcher_become(path, argv, pair[1]);
	err = l->pid < 0 ? -errno : 0;
	free(argv);
	close(pair[1]);
	if (err) {
		l->pid = 0;
		close(pair[0]);
		return err;
	}
	l->socket = pair[0];
	l->starts++;
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

int launcher_init(struct agent *agent)
{
	struct launcher *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	agent->launcher = l;
	err = launcher_start(l, agent->config);
	if (err)
		log_warning("cannot start ehlaunch, which is installed beside this program: %s; no "
			    "tasks of others run here",
			    strerror(-err));
	return 0;
}

void launcher_exit(struct agent *agent)
{
	if (!agent->launcher)
		return;
	launcher_end(agent->launcher);
	free(agent->launcher);
	agent->launcher = NULL;
}

static bool launcher_same(const struct config *a, const struct config *b)
{
	if (a->allow_root != b->allow_root || a->nview_own != b->nview_own)
		return false;
	for (size_t i = 0; i < a->nview_own; i++)
		if (strcmp(a->view_own[i], b->view_own[i]))
			return false;
	return true;
}

void launcher_reload(struct agent *agent, const struct config *old)
{
	/* It holds nothing; the next request starts another one. */
	if (!launcher_same(agent->config, old))
		launcher_end(agent->launcher);
}

unsigned int launcher_starts(const struct agent *agent)
{
	const struct launcher *l = agent->launcher;
	char none;

	/* It never says anything here. */
	return l->socket >= 0 && recv(l->socket, &none, 1, MSG_PEEK | MSG_DONTWAIT) ? l->starts : 0;
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
