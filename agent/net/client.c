// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/speech.h"
#include "net/h2_stream.h"

struct client_call {
	struct agent *agent;
	LIST_ENTRY(client_call) open; /* le_prev NULL: it has not begun */
	const char *to; /* the other host; the caller's */
	struct h2_stream *stream;
	struct event *timer;
	char *body;
	size_t length, sent;
	char *reply;
	size_t reply_length;
	int status;
	client_reply_fn done; /* NULL: nobody waits, or has been told already */
	void *ctx;
};

static struct log_limit client_log;

struct client {
	LIST_HEAD(, client_call) calls; /* open ones */
	bool over; /* the agent is ending */
};

static void client_free(struct client_call *r)
{
	if (r->open.le_prev)
		LIST_REMOVE(r, open);
	agent_free_event(&r->timer);
	free(r->body);
	free(r->reply);
	free(r);
}

static void client_tell(struct client_call *r, int status, const json_t *reply)
{
	client_reply_fn done = r->done;

	r->done = NULL;
	if (done)
		done(r->ctx, status, reply);
}

static void client_on_response(void *ctx, int status)
{
	struct client_call *r = ctx;

	r->status = status;
}

static int client_on_data(void *ctx, const uint8_t *data, size_t length)
{
	struct client_call *r = ctx;
	char *more;

	if (r->reply_length + length > H2_JSON_MAX)
		return -EMSGSIZE;
	more = realloc(r->reply, r->reply_length + length);
	if (!more)
		return -ENOMEM;
	r->reply = more;
	memcpy(r->reply + r->reply_length, data, length);
	r->reply_length += length;
	h2_stream_consume(r->stream, length);
	return 0;
}

static ssize_t client_on_produce(void *ctx, uint8_t *buf, size_t room)
{
	struct client_call *r = ctx;
	size_t n = r->length - r->sent;

	if (!n)
		return -1;
	if (n > room)
		n = room;
	memcpy(buf, r->body + r->sent, n);
	r->sent += n;
	return n;
}

static void client_on_closed(void *ctx, bool clean)
{
	struct client_call *r = ctx;
	char why[SPEECH_WHY];
	json_t *reply = NULL;

	if (clean && r->reply_length) {
		reply = speech_object(r->reply, r->reply_length, why);
		/* an invalid body counts as no answer */
		if (!reply) {
			clean = false;
			if (log_allowed(&client_log))
				log_warning("the answer of %s is ignored: it %s", r->to, why);
		}
	}
	client_tell(r, clean ? r->status : 0, clean ? reply : NULL);
	json_decref(reply);
	client_free(r);
}

static void client_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct client_call *r = arg;

	if (r->stream)
		h2_stream_abort(r->stream);
	client_tell(r, 0, NULL);
	client_free(r);
}

static const struct h2_stream_ops client_post = {
	.response = client_on_response,
	.data = client_on_data,
	.produce = client_on_produce,
	.closed = client_on_closed,
};

static const struct h2_stream_ops client_get = {
	.response = client_on_response,
	.data = client_on_data,
	.closed = client_on_closed,
};

/* NULL: no memory, or the agent is ending. */
struct client_call *client_call_new(struct agent *agent, const char *to, json_t *body,
				    client_reply_fn done, void *ctx)
{
	struct client_call *r = agent->client->over ? NULL : calloc(1, sizeof(*r));

	if (!r)
		goto drop_body;
	r->agent = agent;
	r->to = to;
	r->done = done;
	r->ctx = ctx;
	r->timer = evtimer_new(agent->base, client_on_time, r);
	if (!r->timer)
		goto free_request;
	if (body) {
		r->body = json_dumps(body, JSON_COMPACT);
		if (!r->body)
			goto free_request;
		r->length = strlen(r->body);
	}
	json_decref(body);
	return r;

free_request:
	client_free(r);
drop_body:
	json_decref(body);
	return NULL;
}

/* Without a stream there is no answer: `done` reports it from the event loop, as always. */
void client_call_begin(struct client_call *r, struct h2_stream *s, unsigned int timeout_ms)
{
	struct client *client = r->agent->client;

	r->stream = s;
	/* one without a stream has failed: its `done` is called from the event loop, as the others */
	clock_arm(r->timer, s ? timeout_ms : 0);
	LIST_INSERT_HEAD(&client->calls, r, open);
}

int client_init(struct agent *agent)
{
	agent->client = calloc(1, sizeof(*agent->client));
	return agent->client ? 0 : -ENOMEM;
}

static struct client_call *client_next_to_tell(struct client *client)
{
	struct client_call *r;

	LIST_FOREACH(r, &client->calls, open)
		if (r->done)
			break;
	return r;
}

void client_end(struct agent *agent)
{
	struct client *client = agent->client;
	struct client_call *r;

	if (!client)
		return;
	client->over = true;
	/* their streams stay: what is queued in them still goes out */
	while ((r = client_next_to_tell(client)))
		client_tell(r, 0, NULL);
}

void client_exit(struct agent *agent)
{
	if (!agent->client)
		return;
	while (!LIST_EMPTY(&agent->client->calls))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		client_free(LIST_FIRST(&agent->client->calls));
	free(agent->client);
	agent->client = NULL;
}

const struct h2_stream_ops *client_call_ops(const struct client_call *r)
{
	return r->body ? &client_post : &client_get;
}

const char *client_call_method(const struct client_call *r)
{
	return r->body ? "POST" : "GET";
}

int client_request(struct agent *agent, struct h2_conn *conn, const char *to, const char *path,
		   json_t *body, unsigned int timeout_ms, client_reply_fn done, void *ctx)
{
	struct client_call *r = client_call_new(agent, to, body, done, ctx);

	if (!r)
		return -ENOMEM;
	client_call_begin(r,
			  h2_stream_open(conn, client_call_method(r), path, client_call_ops(r), r),
			  timeout_ms);
	return 0;
}
