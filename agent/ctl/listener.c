// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/user.h"
#include "helpers/common/agent_address.h"

#define LISTENER_WAIT_MS 5000
#define LISTENER_QUEUE 1024
#define LISTENER_EARLIER_S 1 /* between attempts to take the name of before */
#define LISTENER_USER "ehsched" /* of packaging/systemd/ehsched.tmpfiles */

struct listener {
	struct agent *agent;
	listener_fn came;
	uint64_t cookie; /* of our network namespace */
	struct sockaddr_un address;
	int lock, socket;
	struct event *event;
	/* The name of before: sooner or later it is ours. */
	int earlier;
	struct event *earlier_event, *earlier_again;
	bool earlier_told;
	struct pause pause;
};

static struct log_limit listener_log;

/* ---- the place ---- */

/* As systemd-tmpfiles makes it, where nothing has. */
static int listener_make_folder(void)
{
	uid_t owner = 0;
	gid_t group = 0;

	if (mkdir(AGENT_FOLDER, 0755))
		return errno == EEXIST ? 0 : -errno;
	if (user_number(LISTENER_USER, &owner) || user_group(LISTENER_USER, &group))
		owner = group = 0;
	/* whatever our umask is */
	return chmod(AGENT_FOLDER, 0755) || chown(AGENT_FOLDER, owner, group) ? -errno : 0;
}

/* An agent of this host would be asked instead of one that listens here. */
static int listener_user_folder(char folder[AGENT_FOLDER_SIZE])
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who;
	int err;

	agent_folder_of(geteuid(), folder);
	if (fd < 0)
		return -errno;
	err = agent_reach(fd, AGENT_FOLDER, &who);
	close(fd);
	if (!err || err == -EAGAIN)
		return -EADDRINUSE;
	return mkdir(folder, 0700) && errno != EEXIST ? -errno : 0;
}

/* *folder is agent->socket, AGENT_FOLDER or own[]. */
static int listener_folder(const struct agent *agent, const char **folder,
			   char own[AGENT_FOLDER_SIZE])
{
	*folder = agent->socket ?: AGENT_FOLDER;
	if (agent->socket)
		return 0;
	if (!geteuid())
		return listener_make_folder();
	if (agent_owner() == geteuid())
		return 0;
	*folder = own;
	return listener_user_folder(own);
}

/*
 * Children of an agent that was killed end too, but under load not at once, and hold its lock and its
 * other sockets until then.
 */
static int listener_wait(int lock)
{
	const uint64_t end = clock_ms() + LISTENER_WAIT_MS;
	bool told = false;

	while (flock(lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (clock_ms() > end)
			return -EADDRINUSE;
		if (!told)
			log_info("local socket: in use, waiting for another agent to end");
		told = true;
		usleep(20000);
	}
	return 0;
}

/* The file that has the lock. Only its owner can open it, so nobody else can lock it. */
static int listener_lock(struct listener *l, const char *folder)
{
	char path[sizeof(l->address.sun_path) + sizeof(".lock")];
	struct stat st;

	snprintf(path, sizeof(path), "%s.lock", l->address.sun_path);
	l->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->lock < 0 || fstat(l->lock, &st))
		return -errno;
	/* The owner of the directory may have made it a link to a file of root's. */
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return -EPERM;
	/* So that the next agent may, which is not root's perhaps. */
	if (!geteuid() && (stat(folder, &st) || fchown(l->lock, st.st_uid, st.st_gid)))
		return -errno;
	return listener_wait(l->lock);
}

/* Under another name first: a caller always finds a file, and never one that it may not use. */
static int listener_bind(struct listener *l)
{
	struct sockaddr_un made = l->address;
	mode_t mask;
	int err = 0;

	strcat(made.sun_path, ".new");
	if (unlink(made.sun_path) && errno != ENOENT)
		return -errno;
	/* The file gets the mode that the socket has. By its name root might change another file. */
	mask = umask(0);
	if (fchmod(l->socket, 0666) || bind(l->socket, (struct sockaddr *)&made, sizeof(made)) ||
	    rename(made.sun_path, l->address.sun_path))
		err = -errno;
	umask(mask);
	return err;
}

static int listener_take(struct listener *l, const char *folder)
{
	int err;

	l->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->socket < 0)
		return -errno;
	err = agent_cookie(l->socket, &l->cookie);
	err = err ?: agent_address(l->socket, folder, &l->address);
	err = err ?: listener_lock(l, folder);
	return err ?: listener_bind(l);
}

static void listener_complain(const char *folder, int err)
{
	if (err == -EADDRINUSE)
		log_error("local socket: %s: another agent runs in this network namespace", folder);
	else if (err == -ENOPROTOOPT)
		log_error(
			"local socket: this kernel gives network namespaces no numbers; Linux 5.14 "
			"does");
	else if (geteuid() && strcmp(folder, AGENT_FOLDER))
		log_error("local socket: cannot make it in %s: %s; %s is for root and its owner",
			  folder, strerror(-err), AGENT_FOLDER);
	else
		log_error("local socket: cannot make it in %s: %s; see FILES in ehagent(8)", folder,
			  strerror(-err));
}

int listener_open(struct agent *agent)
{
	struct listener *l = calloc(1, sizeof(*l));
	char own[AGENT_FOLDER_SIZE];
	const char *folder;
	int err;

	if (!l)
		return -ENOMEM;
	l->agent = agent;
	l->lock = l->socket = l->earlier = -1;
	agent->listener = l;
	err = listener_folder(agent, &folder, own);
	err = err ?: listener_take(l, folder);
	if (err) {
		listener_complain(folder, err);
		listener_exit(agent);
	}
	return err;
}

/* ---- callers ---- */

static void listener_go_on(void *ctx)
{
	struct listener *l = ctx;

	event_add(l->event, NULL);
	if (l->earlier_event)
		event_add(l->earlier_event, NULL);
}

static void listener_rest(struct listener *l)
{
	event_del(l->event);
	if (l->earlier_event)
		event_del(l->earlier_event);
}

/* NULL: it may come in. */
static const char *listener_refusal(const struct listener *l, int fd, struct ucred *who)
{
	socklen_t length = sizeof(*who);
	uint64_t cookie;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &length))
		return strerror(errno);
	/* A path leads there from all network namespaces; each of them is another node. */
	if (agent_cookie(fd, &cookie) || cookie != l->cookie)
		return "it is in another network namespace";
	return NULL;
}

static void listener_on_caller(evutil_socket_t socket, short what, void *arg)
{
	struct listener *l = arg;
	struct ucred who;
	const char *why;
	int fd = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (pause_begin(&l->pause, errno, "local socket"))
			listener_rest(l);
		return;
	}
	pause_over(&l->pause);
	why = listener_refusal(l, fd, &who);
	if (!why) {
		l->came(l->agent, fd, &who, socket == l->earlier);
		return;
	}
	if (log_allowed(&listener_log))
		log_warning("closed a local connection: %s", why);
	close(fd);
}

/*
 * Tasks of before come back by this name, which anybody can take while there is no agent, and perhaps
 * children of the last agent still hold.
 */
static int listener_take_earlier(struct listener *l)
{
	struct sockaddr_un name;
	const socklen_t length = agent_address_earlier(&name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&name, length) || listen(fd, LISTENER_QUEUE)) {
		err = -errno;
		goto close_fd;
	}
	err = -ENOMEM;
	l->earlier_event =
		event_new(l->agent->base, fd, EV_READ | EV_PERSIST, listener_on_caller, l);
	if (!l->earlier_event)
		goto close_fd;
	l->earlier = fd;
	event_add(l->earlier_event, NULL);
	return 0;

close_fd:
	close(fd);
	return err;
}

static void listener_on_earlier(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;
	int err = listener_take_earlier(l);

	if (!err)
		return;
	if (!l->earlier_told)
		log_warning("the abstract socket \"ehsched\": %s: tasks that earlier programs of "
			    "ehsched have begun here cannot come back before it is free",
			    err == -EADDRINUSE ? "another process has this name" : strerror(-err));
	l->earlier_told = true;
	clock_arm(l->earlier_again, LISTENER_EARLIER_S * 1000);
}

int listener_begin(struct agent *agent, listener_fn came)
{
	struct listener *l = agent->listener;

	l->came = came;
	if (listen(l->socket, LISTENER_QUEUE))
		return -errno;
	l->event = event_new(agent->base, l->socket, EV_READ | EV_PERSIST, listener_on_caller, l);
	l->earlier_again = evtimer_new(agent->base, listener_on_earlier, l);
	if (!l->event || !l->earlier_again || pause_init(&l->pause, agent->base, listener_go_on, l))
		return -ENOMEM;
	event_add(l->event, NULL);
	/* Not one in a folder of its own, of which a network namespace may have several. */
	if (!agent->socket)
		listener_on_earlier(-1, 0, l);
	return 0;
}

void listener_exit(struct agent *agent)
{
	struct listener *l = agent->listener;

	if (!l)
		return;
	pause_exit(&l->pause);
	agent_free_event(&l->event);
	agent_free_event(&l->earlier_event);
	agent_free_event(&l->earlier_again);
	if (l->earlier >= 0)
		close(l->earlier);
	if (l->socket >= 0)
		close(l->socket);
	/* last: the agent that gets it finds the rest free */
	if (l->lock >= 0)
		close(l->lock);
	free(l);
	agent->listener = NULL;
}
