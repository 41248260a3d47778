// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/ehlaunch.h"

#include <errno.h>
#include <limits.h>
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
#include "base/child.h"
#include "base/clock.h"
#include "base/config_data.h"
#include "base/config_file.h"
#include "base/launch_options.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/versions.h"
#include "helpers/common/companion.h"
#include "wire/descriptors.h"

#define EHLAUNCH_MS 10000 /* for its start, before this agent does anything */
#define EHLAUNCH_HELD_MS 1000 /* for another one, once: the agent stands still meanwhile */
#define EHLAUNCH_END_MS 5000 /* for its end, or it is killed */
#define EHLAUNCH_AGAIN_MS 1000 /* from its end to another one */
#define EHLAUNCH_LATER_MS 10000 /* if that fails */
#define EHLAUNCH_TELLS 6 /* the version of requests that has LAUNCH_TELLS */
#define EHLAUNCH_FIRST 5 /* the version of requests that ehlaunch takes, if it does not say any */
#define EHLAUNCH_ROOM (1 << 20) /* the largest request has 65536 groups; the kernel may give less */

struct ehlaunch {
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

/* The highest version of requests that both speak. 0, or -EPROTONOSUPPORT and why not. */
static int ehlaunch_agree(struct ehlaunch *l, const struct launch_begun *said)
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
static int ehlaunch_poll(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t until = clock_ms() + ms;
	int n;

	while ((n = poll(&p, 1, ms)) < 0 && errno == EINTR)
		ms = clock_ms() < until ? (int)(until - clock_ms()) : 0;
	return n;
}

/* Waits until it has begun: the directories of cgroups are there then. -ETIMEDOUT: it may still come. */
static int ehlaunch_hear(struct ehlaunch *l, int ms)
{
	/* An earlier ehlaunch says less. */
	struct launch_begun said = { .oldest = EHLAUNCH_FIRST, .newest = EHLAUNCH_FIRST };
	int n = ehlaunch_poll(l->socket, ms), err;

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = recv(l->socket, &said, sizeof(said), MSG_DONTWAIT);
	if (n < (int)sizeof(said.news) || said.news.stage != LAUNCH_READY)
		return -EPROTO;
	err = ehlaunch_agree(l, &said);
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

/* It ends as soon as its socket is closed, unless it stands still. The directories that it has made stay. */
static void ehlaunch_reap(pid_t pid)
{
	const int fd = syscall(SYS_pidfd_open, pid, 0u);

	if (fd < 0 || ehlaunch_poll(fd, EHLAUNCH_END_MS) != 1) {
		log_warning("ehlaunch (process %d) does not end: killing it", (int)pid);
		kill(pid, SIGKILL);
		if (fd >= 0)
			ehlaunch_poll(fd, EHLAUNCH_END_MS);
	}
	if (fd >= 0)
		close(fd);
	waitpid(pid, NULL, WNOHANG);
}

static void ehlaunch_end(struct ehlaunch *l)
{
	agent_free_event(&l->said);
	l->begun = l->waited = false;
	if (l->socket >= 0)
		close(l->socket);
	l->socket = -1;
	if (l->pid > 0)
		ehlaunch_reap(l->pid);
	l->pid = 0;
}

static int ehlaunch_fork(struct ehlaunch *l, const struct config *config)
{
	char path[4096], **argv;
	int err;

	if (!companion("ehlaunch", path, sizeof(path)))
		return -ENOENT;
	argv = launch_options(config, NULL);
	if (!argv)
		return -ENOMEM;
	err = child_start(path, argv, LAUNCH_SOCKET, &l->pid, &l->socket);
	free(argv);
	return err;
}

static int ehlaunch_connect(struct ehlaunch *l)
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

static void ehlaunch_on_said(evutil_socket_t fd, short what, void *arg);
static void ehlaunch_adjust(struct ehlaunch *l);

/* ehlaunch_hear() follows. */
static int ehlaunch_begin(struct ehlaunch *l)
{
	const int room = EHLAUNCH_ROOM;
	int err = *l->path ? ehlaunch_connect(l) : ehlaunch_fork(l, l->agent->config);

	if (err)
		return err;
	setsockopt(l->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	l->said = agent_watch(l->agent, l->socket, EV_READ | EV_PERSIST, ehlaunch_on_said, l);
	if (l->said)
		return 0;
	ehlaunch_end(l);
	return -ENOMEM;
}

/* 0 if it takes requests now, or begins to within this time. */
static int ehlaunch_start(struct ehlaunch *l, int ms)
{
	int err = l->socket < 0 ? ehlaunch_begin(l) : 0;

	if (err || l->begun)
		return err;
	err = ehlaunch_hear(l, l->waited ? 0 : ms);
	l->waited = true;
	if (err && err != -ETIMEDOUT)
		ehlaunch_end(l);
	return err;
}

static void ehlaunch_warn(const struct ehlaunch *l, int err)
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

/* Empty cgroups and guests without an end are its work, also when nothing is asked of it. */
static void ehlaunch_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct ehlaunch *l = arg;
	int err = l->socket < 0 ? ehlaunch_begin(l) : 0;

	if (!err)
		return;
	ehlaunch_warn(l, err);
	clock_arm(l->again, EHLAUNCH_LATER_MS);
}

static void ehlaunch_on_said(evutil_socket_t fd, short what, void *arg)
{
	static struct log_limit limit;
	struct ehlaunch *l = arg;
	const bool begun = l->begun;
	int err = begun ? 0 : ehlaunch_hear(l, 0);

	if (!begun && (!err || err == -ETIMEDOUT))
		return;
	/* After its start it never says anything. */
	if (!begun)
		ehlaunch_warn(l, err);
	else if (log_allowed(&limit))
		log_warning("ehlaunch has ended, or closed the connection: %s",
			    *l->path ? "connecting again" : "starting another one");
	if (begun)
		event_tell(l->agent, "launcher",
			   json_pack("{s:s,s:b}", "node", l->agent->code, "runs", 0));
	ehlaunch_end(l);
	/* Of a version that does not fit: another one is tried when something is asked. */
	if (err != -EPROTONOSUPPORT)
		clock_arm(l->again, begun ? EHLAUNCH_AGAIN_MS : EHLAUNCH_LATER_MS);
}

static void ehlaunch_try(struct ehlaunch *l, int ms)
{
	int err = ehlaunch_start(l, ms);

	if (err)
		ehlaunch_warn(l, err);
}

int ehlaunch_init(struct agent *agent)
{
	const char *given = agent->config->launcher, *path = given;
	struct ehlaunch *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->socket = -1;
	l->agent = agent;
	l->again = evtimer_new(agent->base, ehlaunch_on_again, l);
	if (!l->again) {
		free(l);
		return -ENOMEM;
	}
	agent->ehlaunch = l;
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
	ehlaunch_try(l, EHLAUNCH_MS);
	ehlaunch_adjust(l);
	return 0;
}

bool ehlaunch_is_apart(const struct agent *agent)
{
	return *agent->ehlaunch->path;
}

void ehlaunch_exit(struct agent *agent)
{
	if (!agent->ehlaunch)
		return;
	ehlaunch_end(agent->ehlaunch);
	event_free(agent->ehlaunch->again);
	free(agent->ehlaunch);
	agent->ehlaunch = NULL;
}

/* Whether it begins again: the answer is that the socket closes. 0 or -errno. */
static int ehlaunch_send_reload(struct ehlaunch *l)
{
	const struct launch_head head = { .kind = LAUNCH_RELOAD };
	const struct ehlaunch_request q = { .head = &head, .size = sizeof(head) };
	struct launch_news told = { 0 };
	const int news = ehlaunch_ask(l->agent, &q);
	int err = 0;

	if (news < 0)
		return news;
	if (ehlaunch_poll(news, EHLAUNCH_HELD_MS) != 1)
		err = -ETIMEDOUT;
	else if (recv(news, &told, sizeof(told), MSG_DONTWAIT) > 0)
		err = -told.error;
	close(news);
	return err;
}

/* Has it take the rules that the file has now, if it has others. */
static void ehlaunch_adjust(struct ehlaunch *l)
{
	const char *file = l->agent->config->file;
	char real[PATH_MAX], why[CONFIG_FILE_WHY];
	int err;

	if (ehlaunch_rules(l->agent) != EHLAUNCH_OTHERS)
		return;
	/* It would refuse that, and end. */
	if (!config_file_is_roots(file, real, why)) {
		log_warning("ehlaunch keeps the rules that it has: %s", why);
		return;
	}
	err = ehlaunch_send_reload(l);
	if (!err) {
		ehlaunch_end(l);
		ehlaunch_try(l, EHLAUNCH_HELD_MS);
	}
	if (ehlaunch_rules(l->agent) == EHLAUNCH_OTHERS)
		log_warning("ehlaunch at %s enforces other rules than those of %s: %s; restart it",
			    l->path, file,
			    err == -EOPNOTSUPP ? "it was started with options of its own"
			    : err	       ? strerror(-err)
					       : "it has read another file");
}

enum ehlaunch_rules ehlaunch_rules(const struct agent *agent)
{
	const struct ehlaunch *l = agent->ehlaunch;

	if (!ehlaunch_is_apart(agent))
		return EHLAUNCH_SAME;
	if (!l->begun || !l->rules)
		return EHLAUNCH_UNKNOWN;
	return l->rules == launch_options_digest(agent->config) ? EHLAUNCH_SAME : EHLAUNCH_OTHERS;
}

void ehlaunch_reload(struct agent *agent, const struct config *old)
{
	struct ehlaunch *l = agent->ehlaunch;
	uint64_t digest;

	if (ehlaunch_is_apart(agent)) {
		ehlaunch_adjust(l);
		return;
	}
	digest = launch_options_digest(agent->config);
	if (!digest || digest != launch_options_digest(old)) {
		ehlaunch_end(l);
		ehlaunch_try(l, EHLAUNCH_HELD_MS);
	}
}

unsigned int ehlaunch_starts(const struct agent *agent)
{
	const struct ehlaunch *l = agent->ehlaunch;
	char none;

	/* After its start it never says anything here. */
	return l->begun && recv(l->socket, &none, 1, MSG_PEEK | MSG_DONTWAIT) ? l->starts : 0;
}

bool ehlaunch_tells(const struct agent *agent)
{
	return agent->ehlaunch->begun && agent->ehlaunch->version >= EHLAUNCH_TELLS;
}

static int ehlaunch_send(const struct ehlaunch *l, const struct ehlaunch_request *q, int news)
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

static bool ehlaunch_is_gone(int err)
{
	return err == -EPIPE || err == -ECONNREFUSED || err == -ECONNRESET;
}

int ehlaunch_ask(struct agent *agent, const struct ehlaunch_request *q)
{
	struct ehlaunch *l = agent->ehlaunch;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	err = ehlaunch_start(l, EHLAUNCH_HELD_MS);
	if (!err)
		err = ehlaunch_send(l, q, pair[1]);
	/* It has ended: it holds nothing, so another one does. */
	if (ehlaunch_is_gone(err)) {
		ehlaunch_end(l);
		err = ehlaunch_start(l, EHLAUNCH_HELD_MS);
		if (!err)
			err = ehlaunch_send(l, q, pair[1]);
	}
	close(pair[1]);
	if (!err)
		return pair[0];
	close(pair[0]);
	return err;
}
