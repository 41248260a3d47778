// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/launcher.h"

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
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/config_data.h"
#include "base/log.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"

#define LAUNCHER_MS 10000 /* for its start */
#define LAUNCHER_ROOM (1 << 20) /* the largest request has 65536 groups; the kernel may give less */

struct launcher {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* where it listens; "": started here */
	pid_t pid; /* of one that was started here; 0: none */
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
	[LAUNCH_RULES] = "ehlaunch may not run tasks of its user (allow-root, uid-min, allow-users)",
	[LAUNCH_LOOKUP] = "getent(1) does not say who its user is",
	[LAUNCH_UNKNOWN] = "its user is not known here, or has another number",
	[LAUNCH_CGROUP] = "cannot make its cgroup",
	[LAUNCH_CONFINED] = "the cgroup of the process confines it as a session would not",
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
	a->argv = calloc(2 * (c->nallow_users + c->nview_own) + 13, sizeof(*a->argv));
	if (!a->argv)
		return;
	a->argv[a->n++] = (char *)"ehlaunch";
	launcher_argument(a, "--cgroup", c->cgroup);
	launcher_argument(a, "--stub", c->stub);
	for (int i = 0; i < 3; i++) {
		snprintf(a->numbers[i], sizeof(a->numbers[i]), "%u", values[i]);
		launcher_argument(a, names[i], a->numbers[i]);
	}
	for (size_t i = 0; i < c->nallow_users; i++)
		launcher_argument(a, "--allow-user", c->allow_users[i]);
	for (size_t i = 0; i < c->nview_own; i++)
		launcher_argument(a, "--view-own", c->view_own[i]);
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

static int launcher_fork(struct launcher *l, const struct config *config)
{
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
	l->pid = fork();
	if (!l->pid)
		launcher_become(path, arguments.argv, pair[1]);
	err = l->pid < 0 ? -errno : 0;
	close(pair[1]);
	l->socket = pair[0];
	if (err)
		launcher_end(l);
free_arguments:
	free(arguments.argv);
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

	if (err)
		return err;
	setsockopt(l->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	err = launcher_wait(l->socket);
	if (err)
		launcher_end(l);
	else
		l->starts++;
	return err;
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
	const char *given = agent->config->launcher, *path = given;
	struct launcher *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	agent->launcher = l;
	if (!*given && geteuid())
		path = LAUNCH_PATH;
	if ((size_t)snprintf(l->path, sizeof(l->path), "%s", path) >= sizeof(l->path)) {
		log_error("launcher: %s: the path of a socket has at most %zu characters", path,
			  sizeof(l->path) - 1);
		return -ENAMETOOLONG;
	}
	/* Not for us, or not on this host: an ordinary user's agent runs this user's tasks. */
	if (!*given && *l->path && access(l->path, W_OK))
		*l->path = '\0';
	launcher_try(agent);
	return 0;
}

bool launcher_is_apart(const struct agent *agent)
{
	return *agent->launcher->path;
}

void launcher_exit(struct agent *agent)
{
	if (!agent->launcher)
		return;
	launcher_end(agent->launcher);
	free(agent->launcher);
	agent->launcher = NULL;
}

static bool launcher_same_list(char *const *a, size_t na, char *const *b, size_t nb)
{
	for (size_t i = 0; i < na && na == nb; i++)
		if (strcmp(a[i], b[i]))
			return false;
	return na == nb;
}

static bool launcher_same(const struct config *a, const struct config *b)
{
	return a->allow_root == b->allow_root && a->uid_min == b->uid_min &&
	       a->guest_pids == b->guest_pids && a->guest_memory == b->guest_memory &&
	       !strcmp(a->stub, b->stub) &&
	       launcher_same_list(a->allow_users, a->nallow_users, b->allow_users,
				  b->nallow_users) &&
	       launcher_same_list(a->view_own, a->nview_own, b->view_own, b->nview_own);
}

void launcher_reload(struct agent *agent, const struct config *old)
{
	if (launcher_is_apart(agent) || launcher_same(agent->config, old))
		return;
	launcher_end(agent->launcher);
	launcher_try(agent);
}

unsigned int launcher_starts(const struct agent *agent)
{
	const struct launcher *l = agent->launcher;
	char none;

	/* After its start it never says anything here. */
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
