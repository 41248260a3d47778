// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Home's side of a view: an ehfiles process for each file system, user and peer. It
 * has this user's ids and no other rights, and serves only peers that run a task of the user that
 * sees home's files. So no peer gets more than the tasks sent to it could have done.
 *
 * An ehfiles outlives its connection and this agent, for job-limit: the executor asks to go on with it,
 * and names the token that it gave at first (job/keeper.h). A keeper gives it to the next agent. Whoever
 * of these two comes first waits for the other.
 */

#include "home/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/user.h"
#include "helpers/common/companion.h"
#include "helpers/common/control.h"
#include "home/mounts.h"
#include "job/keeper.h"
#include "job/route.h"
#include "job/view_head.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "net/peers.h"
#include "base/ehlaunch.h"
#include "wire/view.h"

/* An executor has one view of a user, and another one while it replaces that. */
#define SERVE_USER_MAX (2 * VIEW_TREES_MAX)

struct serve {
	struct agent *agent;
	struct serve *next;
	struct peer *to;
	struct route
		route; /* without an end: no connection, or it is not known yet to which server */
	struct view_head which; /* no token: the stream has not said what it is for */
	int news; /* of ehlaunch; its close ends the server. -1: not started */
	int control; /* of an ehfiles, which can have another connection; -1: not started yet */
	struct event *told, *idle;
	struct event *limit; /* until there is a connection again, or its server is here */
	uint64_t adopted; /* clock_ms() when it came from an earlier agent; 0: it did not */
	bool unused; /* at the last check */
};

struct serves {
	struct serve *list;
	uint64_t began; /* clock_ms() */
	serve_shown_fn shown, waited;
};

static struct log_limit serve_log;

const char *serve_trouble(void)
{
	char path[EHS_PATH_MAX + 1];

	return companion("ehfiles", path, sizeof(path))
		       ? NULL
		       : "view home needs ehfiles next to ehagent or in ../libexec/ehsched";
}

static void serve_free(struct serve *v)
{
	LL_DELETE(v->agent->serves->list, v);
	route_close_clean(&v->route);
	agent_free_event(&v->told);
	if (v->news >= 0) {
		keeper_say(v->news, LAUNCH_OVER);
		close(v->news);
	}
	if (v->control >= 0)
		close(v->control);
	agent_free_event(&v->idle);
	agent_free_event(&v->limit);
	free(v);
}

/*
 * This agent ends: the next one, or its keeper, ends it. An executor that waits here for a keeper tries
 * again. A server that has not told that it runs ends with the socket.
 */
static void serve_leave(struct serve *v)
{
	route_close(&v->route);
	if (v->news >= 0)
		close(v->news);
	v->news = -1;
	serve_free(v);
}

/* There is no connection: the executor tries again. */
static void serve_broken(struct serve *v)
{
	route_drop_stream(&v->route);
	route_close_end(&v->route);
	clock_arm(v->limit, v->agent->config->job_limit);
}

/* ---- another connection ---- */

/* The stream of `from`, with what has come on it, becomes that of `v`. */
static void serve_connect(struct serve *v, struct serve *from)
{
	int socket, err;

	evtimer_del(v->limit);
	/* An old one is dead, and we have not noticed yet. */
	route_hand_over(&from->route, &v->route);
	socket = route_make_end(&v->route);
	err = socket < 0 ? socket : control_ask(v->control, 0, VIEW_CONNECT, socket);
	if (socket >= 0)
		close(socket);
	if (err || route_take(&v->route))
		serve_broken(v);
}

/* Tokens are secret. This is for one that has become known all the same. */
static bool serve_is_same(const struct serve *a, const struct serve *b)
{
	return a->to == b->to && a->which.uid == b->which.uid &&
	       a->which.number == b->which.number && !strcmp(a->which.token, b->which.token);
}

/* A task needs it, or one may whose stub has not come to this agent yet. A stopped one comes when it goes on. */
static bool serve_is_needed(const struct serve *v)
{
	return v->agent->serves->shown(v->to, v->which.uid) ||
	       (v->adopted && (clock_ms() - v->adopted < v->agent->config->job_limit ||
			       v->agent->serves->waited(v->to, v->which.uid)));
}

/* Goes on with a server that is here, or waits for its keeper, which may come if this agent has just started. */
static void serve_again(struct serve *v)
{
	const uint64_t age = clock_ms() - v->agent->serves->began;
	const unsigned int limit = v->agent->config->job_limit;
	struct serve *s = v->agent->serves->list;

	while (s && !(s->control >= 0 && serve_is_same(s, v)))
		s = s->next;
	if (!s && age < limit) {
		clock_arm(v->limit, limit - age);
		return;
	}
	if (s && serve_is_needed(s))
		serve_connect(s, v);
	else if (s)
		serve_free(s);
	serve_free(v);
}

/* It has come from an earlier agent: an executor may wait for it. */
static void serve_find_parked(const struct serve *v)
{
	struct serve *s = v->agent->serves->list;

	while (s && !(s->which.again && serve_is_same(s, v)))
		s = s->next;
	if (s)
		serve_again(s);
}

static void serve_on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct serve *v = arg;

	if (v->which.again) {
		serve_again(v);
		return;
	}
	if (!*v->which.token && log_allowed(&serve_log))
		log_warning("node %s opened a stream for files and did not say which: closed",
			    peer_code(v->to));
	else if (*v->which.token && log_allowed(&serve_log))
		log_info("node %s did not come back for the files of user %u: closed",
			 peer_code(v->to), v->which.uid);
	serve_free(v);
}

/* ---- its server ---- */

/* Closes servers that no task needs, in case the executor keeps them open. */
static void serve_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct serve *v = arg;
	const bool unused = !serve_is_needed(v);

	if (unused && v->unused) {
		if (log_allowed(&serve_log))
			log_info("node %s kept the files of user %u open without a task that needs "
				 "them: closed",
				 peer_code(v->to), v->which.uid);
		serve_free(v);
		return;
	}
	v->unused = unused;
}

/* The server runs, or could not be started, or has ended. */
static void serve_on_told(evutil_socket_t fd, short what, void *arg)
{
	struct serve *v = arg;
	struct launch_news news;
	int control, ret = keeper_receive(v->news, &news, &control, 1);

	if (!ret)
		return;
	if (ret > 0 && news.stage == LAUNCH_READY && v->control < 0) {
		v->control = control;
		if (v->adopted && control >= 0) {
			keeper_say(v->news, LAUNCH_STAY);
			keeper_say_limit(v->news, v->agent);
			serve_find_parked(v);
			return;
		}
		if (!v->adopted)
			return;
	}
	if (ret > 0 && control >= 0 && control != v->control)
		close(control);
	if (ret > 0 && news.stage != LAUNCH_READY && log_allowed(&serve_log))
		log_warning("cannot serve the files of user %u to node %s: %s: %s", v->which.uid,
			    peer_code(v->to), ehlaunch_trouble(&news), strerror(news.error));
	serve_free(v);
}

/* Has the server started that is to have this socket. 0 or -errno. */
static int serve_ask(struct serve *v, const char *path, int socket)
{
	const char *user = user_name(v->which.uid);
	struct launch_files files = {
		.head.kind = LAUNCH_FILES,
		.uid = v->which.uid,
		.nice = v->agent->nice,
	};
	const struct ehlaunch_request q = {
		.head = &files.head,
		.size = sizeof(files),
		.tail = path,
		.tail_size = strlen(path) + 1,
		.fds = &socket,
		.nfds = 1,
	};

	if (!user ||
	    snprintf(files.user, sizeof(files.user), "%s", user) >= (int)sizeof(files.user))
		return -EPERM;
	keeper_stay(&files.stay, v->agent, v->to, v->which.token, v->which.number);
	v->news = ehlaunch_ask(v->agent, &q);
	return v->news < 0 ? v->news : 0;
}

/* Hears its keeper, and looks now and then whether it is needed. 0 or -ENOMEM. */
static int serve_listen(struct serve *v)
{
	const unsigned int each_s = v->agent->config->link_idle / 1000 + 1;

	v->told = event_new(v->agent->base, v->news, EV_READ | EV_PERSIST, serve_on_told, v);
	if (!v->told || event_add(v->told, NULL) || clock_arm(v->idle, each_s * 1000))
		return -ENOMEM;
	return 0;
}

static int serve_start(struct serve *v, const char *path)
{
	int socket, err;

	if (!v->which.uid && !v->agent->config->allow_root)
		return -EPERM;
	socket = route_make_end(&v->route);
	if (socket < 0)
		return socket;
	err = serve_ask(v, path, socket);
	close(socket);
	if (err)
		return err;
	return serve_listen(v);
}

/* ---- what there is ---- */

/* The server does not look below mount points: the executor mounts each file system. */
json_t *serve_mounts(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const json_t *uid = json_object_get(body, "uid");
	json_t *mounts;

	if (!json_is_integer(uid) || !agent->serves->shown(from, json_integer_value(uid))) {
		*status = 403;
		return json_pack("{s:s}", "error", "no task of this user on that node needs them");
	}
	mounts = json_pack("[s]", "/");
	mounts_list(mounts);
	if (json_array_size(mounts) > VIEW_TREES_MAX) {
		json_decref(mounts);
		*status = 500;
		return json_pack("{s:s}", "error", "more file systems than a view can hold");
	}
	return json_pack("{s:o}", "mounts", mounts);
}

/* ---- the stream ---- */

/* One more may be started. An older one that has no connection may be one that the executor has lost. */
static bool serve_has_room(const struct serve *v)
{
	struct serve *oldest = NULL;
	unsigned int n = 0;

	for (struct serve *s = v->agent->serves->list; s; s = s->next) {
		if (s == v || !*s->which.token || s->which.again || s->to != v->to ||
		    s->which.uid != v->which.uid)
			continue;
		n++;
		if (s->control >= 0 && s->route.socket < 0)
			oldest = s;
	}
	if (n < SERVE_USER_MAX)
		return true;
	if (oldest)
		serve_free(oldest);
	return oldest;
}

static int serve_begin(struct serve *v, const char *path)
{
	const unsigned int uid = v->which.uid;
	int err = -EPERM;

	if (!v->agent->serves->shown(v->to, uid)) {
		if (log_allowed(&serve_log))
			log_warning(
				"refused node %s the files of user %u: no task there needs them",
				peer_code(v->to), uid);
	} else if (!mounts_has(path)) {
		if (log_allowed(&serve_log))
			log_warning(
				"refused node %s the files of user %u in %s: this is not part of "
				"a view",
				peer_code(v->to), uid, path);
	} else if (!serve_has_room(v)) {
		err = -EBUSY;
		if (log_allowed(&serve_log))
			log_warning("refused node %s the files of user %u in %s: it has %d file "
				    "systems of this user",
				    peer_code(v->to), uid, path, SERVE_USER_MAX);
	} else {
		err = serve_start(v, path);
		if (err && log_allowed(&serve_log))
			log_warning("cannot serve the files of user %u to node %s: %s", uid,
				    peer_code(v->to), strerror(-err));
	}
	return err;
}

/* The stream begins with its head and the path. The rest is its server's. */
static int serve_on_early(void *ctx, struct evbuffer *in)
{
	struct serve *v = ctx;
	char path[EHS_PATH_MAX + 1];
	uint8_t head[VIEW_HEAD];
	struct view_head h;

	if (*v->which.token || evbuffer_copyout(in, head, VIEW_HEAD) < VIEW_HEAD)
		return 0;
	if (view_head_get(&h, head))
		return -EPROTO;
	if (evbuffer_get_length(in) < VIEW_HEAD + h.length)
		return 0;
	evbuffer_drain(in, VIEW_HEAD);
	evbuffer_remove(in, path, h.length);
	path[h.length] = '\0';
	if (strlen(path) != h.length)
		return -EPROTO;
	v->which = h;
	if (h.again) {
		/* Not from here: the stream becomes another one's. */
		clock_arm(v->limit, 0);
		return 0;
	}
	evtimer_del(v->limit);
	return serve_begin(v, path);
}

static void serve_on_ended(void *ctx)
{
	serve_free(ctx);
}

static void serve_on_stream_gone(void *ctx, bool clean)
{
	struct serve *v = ctx;

	if (clean || v->control < 0)
		serve_free(v);
	else
		serve_broken(v);
}

static const struct route_ops serve_ops = {
	.early = serve_on_early,
	.ended = serve_on_ended,
	.stream_gone = serve_on_stream_gone,
};

static struct serve *serve_new(struct peer *to)
{
	struct agent *agent = to->agent;
	struct serve *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->agent = agent;
	v->to = to;
	v->news = v->control = -1;
	if (route_open(&v->route, agent, -1, &serve_ops, v)) {
		free(v);
		return NULL;
	}
	LL_PREPEND(agent->serves->list, v);
	v->idle = event_new(agent->base, -1, EV_PERSIST, serve_on_idle, v);
	v->limit = evtimer_new(agent->base, serve_on_limit, v);
	if (v->idle && v->limit)
		return v;
	serve_free(v);
	return NULL;
}

void serve_adopt(struct agent *agent, int socket, const struct kept *k)
{
	struct peer *to = peers_by_text(agent, k->other);
	struct serve *v = to && *k->token ? serve_new(to) : NULL;

	if (!v) {
		close(socket);
		return;
	}
	evutil_make_socket_nonblocking(socket);
	v->news = socket;
	v->adopted = clock_ms();
	v->which = (struct view_head){ .uid = k->uid, .number = k->number };
	memcpy(v->which.token, k->token, sizeof(v->which.token));
	if (serve_listen(v))
		serve_free(v);
	else
		clock_arm(v->limit, agent->config->job_limit);
}

int serve_files(struct agent *agent, struct peer *from, struct h2_stream *s,
		const struct h2_stream_ops **ops, void **ctx)
{
	struct serve *v = serve_new(from);

	if (!v)
		return 503;
	route_use(&v->route, s);
	clock_arm(v->limit, H2_FIRST_MS);
	*ops = &route_stream_ops;
	*ctx = &v->route;
	return 0;
}

int serve_init(struct agent *agent, serve_shown_fn shown, serve_shown_fn waited)
{
	agent->serves = calloc(1, sizeof(*agent->serves));
	if (!agent->serves)
		return -ENOMEM;
	agent->serves->shown = shown;
	agent->serves->waited = waited;
	agent->serves->began = clock_ms();
	return 0;
}

void serve_reload(struct agent *agent, const struct config *old)
{
	for (struct serve *v = agent->serves->list; v; v = v->next)
		if (v->control >= 0 && agent->config->job_limit != old->job_limit)
			keeper_say_limit(v->news, agent);
}

void serve_exit(struct agent *agent)
{
	if (!agent->serves)
		return;
	while (agent->serves->list)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		serve_leave(agent->serves->list);
	free(agent->serves);
	agent->serves = NULL;
}
