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
#include <event2/event.h>

#include "base/agent.h"
#include "base/config_data.h"
#include "base/log.h"
#include "cluster/versions.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"

#define LAUNCHER_MS 10000 /* for its start */
#define LAUNCHER_END_MS 1000 /* for its end */
#define LAUNCHER_AGAIN_S \
	1 /* until another one is started in place of one that has ended by itself */
#define LAUNCHER_FIRST 5 /* the version of requests that ehlaunch takes, if it does not say any */
#define LAUNCHER_ROOM (1 << 20) /* the largest request has 65536 groups; the kernel may give less */

struct launcher {
	struct agent *agent;
	char path[sizeof(
		((struct sockaddr_un *)0)->sun_path)]; /* where it listens; "": started here */
	pid_t pid; /* of one that was started here; 0: none */
	int socket;
	struct event *gone; /* its socket: it has ended */
	struct event *again; /* starts another one */
	unsigned int starts;
	uint32_t version; /* of requests, which both speak */
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
	char numbers[4][12];
};

static void launcher_argument(struct launcher_arguments *a, const char *name, const char *value)
{
	a->argv[a->n++] = (char *)name;
	a->argv[a->n++] = (char *)value;
}

static void launcher_fill(struct launcher_arguments *a, const struct config *c)
{
	const char *const names[] = { "--uid-min", "--guest-pids", "--guest-memory",
				      "--guest-cpu" };
	const unsigned int values[] = { c->uid_min, c->guest_pids, c->guest_memory, c->guest_cpu };

	a->n = 0;
	a->argv = calloc(2 * (c->nallow_users + c->nview_own + c->nguest_allow + c->nguest_deny +
			      c->nuser_map) +
				 16,
			 sizeof(*a->argv));
	if (!a->argv)
		return;
	a->argv[a->n++] = (char *)"ehlaunch";
	launcher_argument(a, "--cgroup", c->cgroup);
	launcher_argument(a, "--stub", c->stub);
	for (int i = 0; i < 4; i++) {
		snprintf(a->numbers[i], sizeof(a->numbers[i]), "%u", values[i]);
		launcher_argument(a, names[i], a->numbers[i]);
	}
	for (size_t i = 0; i < c->nallow_users; i++)
		launcher_argument(a, "--allow-user", c->allow_users[i]);
	for (size_t i = 0; i < c->nguest_allow; i++)
		launcher_argument(a, "--guest-allow-user", c->guest_allow[i]);
	for (size_t i = 0; i < c->nguest_deny; i++)
		launcher_argument(a, "--guest-deny-user", c->guest_deny[i]);
	for (size_t i = 0; i < c->nuser_map; i++)
		launcher_argument(a, "--user-map", c->user_map[i]);
	for (size_t i = 0; i < c->nview_own; i++)
		launcher_argument(a, "--view-own", c->view_own[i]);
	if (c->guest_pid_namespace)
		a->argv[a->n++] = (char *)"--guest-pid-namespace";
	if (c->allow_root)
		a->argv[a->n++] = (char *)"--allow-root";
}

/* The highest version of requests that both speak. 0, or -EPROTONOSUPPORT and why not. */
static int launcher_agree(struct launcher *l, const struct launch_begun *said)
{
	const struct versions ours = { LAUNCH_OLDEST, LAUNCH_VERSION };
	const struct versions its = { said->oldest, said->newest };
	char why[VERSIONS_TEXT];

	if (versions_agree(&ours, &its, &l->version) == VERSIONS_FIT)
		return 0;
	log_error("ehlaunch and this agent have different versions: %s",
		  versions_say(why, "requests of version", "this agent", &ours, "ehlaunch", &its));
	return -EPROTONOSUPPORT;
}

/* Waits until it has begun: the directories of cgroups are there then. */
static int launcher_wait(struct launcher *l)
{
	struct pollfd p = { .fd = l->socket, .events = POLLIN };
	/* What one of before says is shorter. */
	struct launch_begun said = { .oldest = LAUNCHER_FIRST, .newest = LAUNCHER_FIRST };
	int n;

	do
		n = poll(&p, 1, LAUNCHER_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = recv(l->socket, &said, sizeof(said), MSG_DONTWAIT);
	if ((n != sizeof(said.news) && n != sizeof(said)) || said.news.stage != LAUNCH_READY)
		return -EPROTO;
	return launcher_agree(l, &said);
}

/* It ends as soon as its socket is closed, unless it stands still. What it has made is there all the same. */
static void launcher_reap(pid_t pid)
{
	struct pollfd p = { .fd = syscall(SYS_pidfd_open, pid, 0u), .events = POLLIN };

	if (p.fd >= 0 && poll(&p, 1, LAUNCHER_END_MS) != 1) {
		log_warning("ehlaunch (process %d) does not end: killing it", (int)pid);
		kill(pid, SIGKILL);
		poll(&p, 1, LAUNCHER_END_MS);
	}
	if (p.fd >= 0)
		close(p.fd);
	waitpid(pid, NULL, WNOHANG);
}

static void launcher_end(struct launcher *l)
{
	if (l->gone)
		event_free(l->gone);
	l->gone = NULL;
	if (l->socket >= 0)
		close(l->socket);
	l->socket = -1;
	if (l->pid > 0)
		launcher_reap(l->pid);
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

/* Empty cgroups and guests without an end are its work, also when nothing is asked of it. */
static void launcher_on_gone(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = { LAUNCHER_AGAIN_S, 0 };
	struct launcher *l = arg;

	/* After its start it never says anything here. */
	log_warning("ehlaunch has ended, or closed the connection: %s",
		    *l->path ? "connecting again" : "starting another one");
	launcher_end(l);
	evtimer_add(l->again, &soon);
}

static int launcher_watch(struct launcher *l)
{
	l->gone = event_new(l->agent->base, l->socket, EV_READ, launcher_on_gone, l);
	return !l->gone || event_add(l->gone, NULL) ? -ENOMEM : 0;
}

static int launcher_start(struct launcher *l)
{
	const int room = LAUNCHER_ROOM;
	int err = *l->path ? launcher_connect(l) : launcher_fork(l, l->agent->config);

	if (err)
		return err;
	setsockopt(l->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	err = launcher_wait(l);
	if (!err)
		err = launcher_watch(l);
	if (err)
		launcher_end(l);
	else
		l->starts++;
	return err;
}

static void launcher_try(struct launcher *l)
{
	int err = launcher_start(l);

	if (err && *l->path)
		log_warning(
			"cannot connect to ehlaunch at %s: %s; until it listens there, tasks of "
			"other nodes cannot run here",
			l->path, strerror(-err));
	else if (err)
		log_warning("cannot start ehlaunch, which is installed beside this program: %s; "
			    "tasks of other nodes cannot run here",
			    strerror(-err));
}

/* If it fails, what is asked of it next tries again. */
static void launcher_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;

	if (l->socket < 0)
		launcher_try(l);
}

int launcher_init(struct agent *agent)
{
	const char *given = agent->config->launcher, *path = given;
	struct launcher *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	l->agent = agent;
	l->again = evtimer_new(agent->base, launcher_on_again, l);
	if (!l->again) {
		free(l);
		return -ENOMEM;
	}
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
	launcher_try(l);
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
	event_free(agent->launcher->again);
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
	return a->allow_root == b->allow_root && a->guest_pid_namespace == b->guest_pid_namespace &&
	       a->uid_min == b->uid_min && a->guest_pids == b->guest_pids &&
	       a->guest_memory == b->guest_memory && a->guest_cpu == b->guest_cpu &&
	       !strcmp(a->stub, b->stub) &&
	       launcher_same_list(a->allow_users, a->nallow_users, b->allow_users,
				  b->nallow_users) &&
	       launcher_same_list(a->guest_allow, a->nguest_allow, b->guest_allow,
				  b->nguest_allow) &&
	       launcher_same_list(a->guest_deny, a->nguest_deny, b->guest_deny, b->nguest_deny) &&
	       launcher_same_list(a->user_map, a->nuser_map, b->user_map, b->nuser_map) &&
	       launcher_same_list(a->view_own, a->nview_own, b->view_own, b->nview_own);
}

void launcher_reload(struct agent *agent, const struct config *old)
{
	if (launcher_is_apart(agent) || launcher_same(agent->config, old))
		return;
	launcher_end(agent->launcher);
	launcher_try(agent->launcher);
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
	struct launch_head head = { l->version, q->head->kind };
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
		err = launcher_start(l);
		if (!err)
			err = launcher_send(l, q, pair[1]);
	}
	close(pair[1]);
	if (!err)
		return pair[0];
	close(pair[0]);
	return err;
}
