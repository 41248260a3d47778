// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "base/clock.h"
#include "base/config_data.h"
#include "base/config_file.h"
#include "base/launch_options.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/versions.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"

#define LAUNCHER_MS 10000 /* for its start, before this agent does anything */
#define LAUNCHER_HELD_MS 1000 /* for another one, once: the agent stands still meanwhile */
#define LAUNCHER_END_MS 5000 /* for its end, or it is killed */
#define LAUNCHER_AGAIN_S 1 /* from its end to another one */
#define LAUNCHER_LATER_S 10 /* if that fails */
#define LAUNCHER_TELLS 6 /* the version of requests that has LAUNCH_TELLS */
#define LAUNCHER_FIRST 5 /* the version of requests that ehlaunch takes, if it does not say any */
#define LAUNCHER_ROOM (1 << 20) /* the largest request has 65536 groups; the kernel may give less */

struct launcher {
	struct agent *agent;
	char path[sizeof(
		((struct sockaddr_un *)0)->sun_path)]; /* where it listens; "": started here */
	pid_t pid; /* of one that was started here; 0: none */
	int socket;
	struct event *said; /* its socket: that it has begun, and later its end */
	struct event *again; /* starts another one */
	bool begun; /* and takes requests */
	bool waited; /* for that, once */
	unsigned int starts;
	uint32_t version; /* of requests, which both speak */
	uint64_t rules; /* launch_digest() of its options; 0: it does not say */
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

/* poll() of one descriptor, until that time. */
static int launcher_poll(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t until = clock_ms() + ms;
	int n;

	while ((n = poll(&p, 1, ms)) < 0 && errno == EINTR)
		ms = clock_ms() < until ? (int)(until - clock_ms()) : 0;
	return n;
}

/* Waits until it has begun: the directories of cgroups are there then. -ETIMEDOUT: it may still come. */
static int launcher_hear(struct launcher *l, int ms)
{
	/* What one of before says is shorter. */
	struct launch_begun said = { .oldest = LAUNCHER_FIRST, .newest = LAUNCHER_FIRST };
	int n = launcher_poll(l->socket, ms), err;

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = recv(l->socket, &said, sizeof(said), MSG_DONTWAIT);
	if (n < (int)sizeof(said.news) || said.news.stage != LAUNCH_READY)
		return -EPROTO;
	err = launcher_agree(l, &said);
	if (err)
		return err;
	l->begun = true;
	l->starts++;
	if (l->starts > 1)
		event_tell(l->agent, "launcher",
			   json_pack("{s:s,s:b}", "node", l->agent->code, "runs", 1));
	l->rules = said.rules;
	return 0;
}

/* It ends as soon as its socket is closed, unless it stands still. What it has made is there all the same. */
static void launcher_reap(pid_t pid)
{
	const int fd = syscall(SYS_pidfd_open, pid, 0u);

	if (fd < 0 || launcher_poll(fd, LAUNCHER_END_MS) != 1) {
		log_warning("ehlaunch (process %d) does not end: killing it", (int)pid);
		kill(pid, SIGKILL);
		if (fd >= 0)
			launcher_poll(fd, LAUNCHER_END_MS);
	}
	if (fd >= 0)
		close(fd);
	waitpid(pid, NULL, WNOHANG);
}

static void launcher_end(struct launcher *l)
{
	if (l->said)
		event_free(l->said);
	l->said = NULL;
	l->begun = l->waited = false;
	if (l->socket >= 0)
		close(l->socket);
	l->socket = -1;
	if (l->pid > 0)
		launcher_reap(l->pid);
	l->pid = 0;
}

static int launcher_fork(struct launcher *l, const struct config *config)
{
	char path[4096], **argv;
	int pair[2], err;

	if (!companion("ehlaunch", path, sizeof(path)))
		return -ENOENT;
	argv = launch_options(config, NULL);
	if (!argv)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto free_argv;
	}
	l->pid = fork();
	if (!l->pid)
		launcher_become(path, argv, pair[1]);
	err = l->pid < 0 ? -errno : 0;
	close(pair[1]);
	l->socket = pair[0];
	if (err)
		launcher_end(l);
free_argv:
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

static void launcher_on_said(evutil_socket_t fd, short what, void *arg);
static void launcher_adjust(struct launcher *l);

/* launcher_hear() follows. */
static int launcher_begin(struct launcher *l)
{
	const int room = LAUNCHER_ROOM;
	int err = *l->path ? launcher_connect(l) : launcher_fork(l, l->agent->config);

	if (err)
		return err;
	setsockopt(l->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	l->said = event_new(l->agent->base, l->socket, EV_READ | EV_PERSIST, launcher_on_said, l);
	if (l->said && !event_add(l->said, NULL))
		return 0;
	launcher_end(l);
	return -ENOMEM;
}

/* 0 if it takes requests now, or begins to within this time. */
static int launcher_start(struct launcher *l, int ms)
{
	int err = l->socket < 0 ? launcher_begin(l) : 0;

	if (err || l->begun)
		return err;
	err = launcher_hear(l, l->waited ? 0 : ms);
	l->waited = true;
	if (err && err != -ETIMEDOUT)
		launcher_end(l);
	return err;
}

static void launcher_warn(const struct launcher *l, int err)
{
	static struct log_limit limit;

	if (!log_allowed(&limit))
		return;
	if (*l->path)
		log_warning(
			"cannot connect to ehlaunch at %s: %s; until it listens there, tasks of "
			"other nodes cannot run here",
			l->path, strerror(-err));
	else
		log_warning("cannot start ehlaunch, which is installed beside this program: %s; "
			    "tasks of other nodes cannot run here",
			    strerror(-err));
}

static void launcher_again(struct launcher *l, int seconds)
{
	clock_arm(l->again, seconds * 1000);
}

/* Empty cgroups and guests without an end are its work, also when nothing is asked of it. */
static void launcher_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	int err = l->socket < 0 ? launcher_begin(l) : 0;

	if (!err)
		return;
	launcher_warn(l, err);
	launcher_again(l, LAUNCHER_LATER_S);
}

static void launcher_on_said(evutil_socket_t fd, short what, void *arg)
{
	static struct log_limit limit;
	struct launcher *l = arg;
	const bool begun = l->begun;
	int err = begun ? 0 : launcher_hear(l, 0);

	if (!begun && (!err || err == -ETIMEDOUT))
		return;
	/* After its start it never says anything. */
	if (!begun)
		launcher_warn(l, err);
	else if (log_allowed(&limit))
		log_warning("ehlaunch has ended, or closed the connection: %s",
			    *l->path ? "connecting again" : "starting another one");
	if (begun)
		event_tell(l->agent, "launcher",
			   json_pack("{s:s,s:b}", "node", l->agent->code, "runs", 0));
	launcher_end(l);
	/* Of a version that does not fit: another one is tried when something is asked. */
	if (err != -EPROTONOSUPPORT)
		launcher_again(l, begun ? LAUNCHER_AGAIN_S : LAUNCHER_LATER_S);
}

static void launcher_try(struct launcher *l, int ms)
{
	int err = launcher_start(l, ms);

	if (err)
		launcher_warn(l, err);
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
	launcher_try(l, LAUNCHER_MS);
	launcher_adjust(l);
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

/* Whether it begins again: the answer is that the socket closes. 0 or -errno. */
static int launcher_send_reload(struct launcher *l)
{
	const struct launch_head head = { .kind = LAUNCH_RELOAD };
	const struct launcher_request q = { .head = &head, .size = sizeof(head) };
	struct launch_news told = { 0 };
	const int news = launcher_ask(l->agent, &q);
	int err = 0;

	if (news < 0)
		return news;
	if (launcher_poll(news, LAUNCHER_HELD_MS) != 1)
		err = -ETIMEDOUT;
	else if (recv(news, &told, sizeof(told), MSG_DONTWAIT) > 0)
		err = -told.error;
	close(news);
	return err;
}

/* Has it take the rules that the file has now, if it has others. */
static void launcher_adjust(struct launcher *l)
{
	const char *file = l->agent->config->file;
	char real[PATH_MAX], why[CONFIG_FILE_WHY];
	int err;

	if (launcher_rules(l->agent) != LAUNCHER_OTHERS)
		return;
	/* It would refuse that, and end. */
	if (!config_file_is_roots(file, real, why)) {
		log_warning("ehlaunch keeps the rules that it has: %s", why);
		return;
	}
	err = launcher_send_reload(l);
	if (!err) {
		launcher_end(l);
		launcher_try(l, LAUNCHER_HELD_MS);
	}
	if (launcher_rules(l->agent) == LAUNCHER_OTHERS)
		log_warning("ehlaunch at %s enforces other rules than those of %s: %s; restart it",
			    l->path, file,
			    err == -EOPNOTSUPP ? "it was started with options of its own"
			    : err	       ? strerror(-err)
					       : "it has read another file");
}

enum launcher_rules launcher_rules(const struct agent *agent)
{
	const struct launcher *l = agent->launcher;

	if (!launcher_is_apart(agent))
		return LAUNCHER_SAME;
	if (!l->begun || !l->rules)
		return LAUNCHER_UNKNOWN;
	return l->rules == launch_options_digest(agent->config) ? LAUNCHER_SAME : LAUNCHER_OTHERS;
}

void launcher_reload(struct agent *agent, const struct config *old)
{
	struct launcher *l = agent->launcher;

	if (launcher_is_apart(agent)) {
		launcher_adjust(l);
	} else if (!launch_options_same(agent->config, old)) {
		launcher_end(l);
		launcher_try(l, LAUNCHER_HELD_MS);
	}
}

unsigned int launcher_starts(const struct agent *agent)
{
	const struct launcher *l = agent->launcher;
	char none;

	/* After its start it never says anything here. */
	return l->begun && recv(l->socket, &none, 1, MSG_PEEK | MSG_DONTWAIT) ? l->starts : 0;
}

bool launcher_tells(const struct agent *agent)
{
	return agent->launcher->begun && agent->launcher->version >= LAUNCHER_TELLS;
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
	return err == -EPIPE || err == -ECONNREFUSED || err == -ECONNRESET;
}

int launcher_ask(struct agent *agent, const struct launcher_request *q)
{
	struct launcher *l = agent->launcher;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	err = launcher_start(l, LAUNCHER_HELD_MS);
	if (!err)
		err = launcher_send(l, q, pair[1]);
	/* It has ended: it holds nothing, so another one does. */
	if (launcher_is_gone(err)) {
		launcher_end(l);
		err = launcher_start(l, LAUNCHER_HELD_MS);
		if (!err)
			err = launcher_send(l, q, pair[1]);
	}
	close(pair[1]);
	if (!err)
		return pair[0];
	close(pair[0]);
	return err;
}
