// SPDX-License-Identifier: GPL-2.0-or-later
#include "ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "cluster/speech.h"
#include "confine.h"
#include "helpers/common/agent_address.h"
#include "wire/frame.h"

#define ASK_SECONDS 8 /* each level is asked for 1 s; Prometheus waits for 10 */

struct ask {
	struct bufferevent *conn;
	struct event *failed; /* told from the loop, as everything else */
	ask_fn done;
	void *ctx;
	bool events;
	char why[160];
};

void ask_end(struct ask *ask)
{
	if (!ask)
		return;
	if (ask->conn)
		bufferevent_free(ask->conn);
	if (ask->failed)
		event_free(ask->failed);
	free(ask);
}

static void ask_say(struct ask *ask, const json_t *reply, const char *why)
{
	const ask_fn done = ask->done;
	void *ctx = ask->ctx;

	if (ask->events && reply) {
		done(ctx, reply, NULL);
		return;
	}
	/* `why` may be a part of it */
	if (why && why != ask->why)
		snprintf(ask->why, sizeof(ask->why), "%s", why);
	done(ctx, reply, reply ? NULL : ask->why);
	ask_end(ask);
}

static void ask_on_failed(evutil_socket_t fd, short what, void *arg)
{
	ask_say(arg, NULL, ((struct ask *)arg)->why);
}

/* ---- documents ---- */

static const char *ask_error(const json_t *reply)
{
	const json_t *error = json_object_get(reply, "error");

	return error ? json_string_value(json_object_get(error, "why")) ?: "the agent refused it"
		     : NULL;
}

/* False: it is over, and `ask` is gone. */
static bool ask_take(struct ask *ask, struct evbuffer *in, uint32_t length)
{
	const bool events = ask->events;
	const char *text, *why;
	json_t *reply;

	evbuffer_drain(in, FRAME_HEADER);
	text = (const char *)evbuffer_pullup(in, length);
	reply = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
	evbuffer_drain(in, length);
	speech_clean(reply);
	why = json_is_object(reply) ? ask_error(reply) : "the agent's answer is no JSON object";
	if (why) {
		ask_say(ask, NULL, why);
		json_decref(reply);
		return false;
	}
	ask_say(ask, reply, NULL);
	json_decref(reply);
	return events;
}

static void ask_on_readable(struct bufferevent *conn, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(conn);
	const struct timeval never = { 0, 0 };
	uint8_t header[FRAME_HEADER];
	struct ask *ask = arg;
	const bool events = ask->events;
	enum frame_type type;
	uint32_t length;

	/* they come when something happens */
	if (events)
		bufferevent_set_timeouts(conn, &never, &never);
	while (evbuffer_copyout(in, header, sizeof(header)) == sizeof(header)) {
		if (frame_parse(header, &type, &length) ||
		    (type != FRAME_REPLY && type != FRAME_EVENT)) {
			ask_say(ask, NULL,
				"the agent's answer cannot be read: its version is another");
			return;
		}
		if (evbuffer_get_length(in) < sizeof(header) + length)
			return;
		if (!ask_take(ask, in, length) || !events)
			return;
	}
}

static void ask_on_event(struct bufferevent *conn, short what, void *arg)
{
	struct ask *ask = arg;

	ask_say(ask, NULL,
		what & BEV_EVENT_TIMEOUT ? "the agent of this node does not answer"
					 : "the agent of this node closed the connection");
}

/* ---- the connection ---- */

/* Descriptors that no visitor can take (confine.h) are for this one. */
static int ask_socket(void)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (limit.rlim_max > CONFINE_KEPT)
		limit.rlim_cur = limit.rlim_max - CONFINE_KEPT;
	setrlimit(RLIMIT_NOFILE, &limit);
	return fd;
}

/* -1: why[] says why. */
static int ask_connect(char *why, size_t size)
{
	const int fd = ask_socket();
	struct ucred who;
	int err = fd < 0 ? -errno : agent_connect(fd, agent_owner(), &who);

	if (!err)
		return fd;
	if (err == -EPERM && fd >= 0)
		snprintf(why, size, "not the agent: a process of user %u listens on its socket",
			 who.uid);
	else
		snprintf(why, size, "cannot connect to the agent of this node: %s",
			 err == -ENOENT ? "there is no " AGENT_FOLDER " here" : strerror(-err));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int ask_send(struct ask *ask, struct event_base *base, const char *text)
{
	const struct timeval patience = { ASK_SECONDS, 0 };
	int fd = ask_connect(ask->why, sizeof(ask->why));
	uint8_t header[FRAME_HEADER];

	if (fd < 0)
		return -1;
	snprintf(ask->why, sizeof(ask->why), "out of memory");
	ask->conn = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!ask->conn) {
		close(fd);
		return -1;
	}
	frame_header(header, FRAME_REQUEST, strlen(text));
	bufferevent_setcb(ask->conn, ask_on_readable, NULL, ask_on_event, ask);
	bufferevent_set_timeouts(ask->conn, ask->events ? NULL : &patience, &patience);
	if (bufferevent_write(ask->conn, header, sizeof(header)) ||
	    bufferevent_write(ask->conn, text, strlen(text)) ||
	    bufferevent_enable(ask->conn, EV_READ | EV_WRITE)) {
		bufferevent_free(ask->conn);
		ask->conn = NULL;
		return -1;
	}
	return 0;
}

static struct ask *ask_start(struct event_base *base, json_t *request, bool events, ask_fn done,
			     void *ctx)
{
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	struct ask *ask = text ? calloc(1, sizeof(*ask)) : NULL;

	json_decref(request);
	if (!ask)
		goto free_text;
	*ask = (struct ask){ .done = done, .ctx = ctx, .events = events };
	ask->failed = evtimer_new(base, ask_on_failed, ask);
	if (!ask->failed)
		goto free_ask;
	if (ask_send(ask, base, text))
		event_active(ask->failed, EV_TIMEOUT, 0);
	free(text);
	return ask;

free_ask:
	free(ask);
free_text:
	free(text);
	return NULL;
}

void ask_once(struct event_base *base, json_t *request, ask_fn done, void *ctx)
{
	if (!ask_start(base, request, false, done, ctx))
		done(ctx, NULL, "out of memory");
}

struct ask *ask_events(struct event_base *base, json_t *request, ask_fn done, void *ctx)
{
	return ask_start(base, request, true, done, ctx);
}
