// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/server_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <jansson.h>

#include "cluster/speech.h"
#include "net/h2_stream.h"
#include "net/request_body.h"

struct server_answer {
	struct server_call call; /* host NULL: the connection is gone, and so is ctx */
	struct h2_stream *stream; /* NULL: closed, nobody waits for the answer */
	bool called; /* the handler has it */
	void (*gone)(void *ctx); /* NULL: the handler does not ask */
	void *gone_ctx;
	struct request_body request;
	char *body;
	size_t length;
	char *reply;
	size_t reply_length, sent;
};

static void answer_free(struct server_answer *a)
{
	request_body_end(&a->request);
	free(a->body);
	free(a->reply);
	free(a);
}

static ssize_t answer_produce(void *ctx, uint8_t *buf, size_t room)
{
	struct server_answer *a = ctx;
	size_t n = a->reply_length - a->sent;

	if (!n)
		return -1;
	if (n > room)
		n = room;
	memcpy(buf, a->reply + a->sent, n);
	a->sent += n;
	return n;
}

/* If the handler still has it, server_answer() frees it. */
static void answer_closed_early(void *ctx, bool clean)
{
	struct server_answer *a = ctx;

	a->stream = NULL;
	a->call.host = NULL;
	if (!a->called)
		answer_free(a);
	else if (a->gone)
		a->gone(a->gone_ctx);
}

void server_answer_watch(struct server_answer *a, void (*gone)(void *ctx), void *ctx)
{
	a->gone = gone;
	a->gone_ctx = ctx;
}

static void answer_closed(void *ctx, bool clean)
{
	answer_free(ctx);
}

static const struct h2_stream_ops answer_reply_ops = {
	.produce = answer_produce,
	.closed = answer_closed,
};

void server_answer(struct server_answer *a, int status, json_t *body)
{
	struct h2_stream *s = a->stream;

	if (!s) {
		json_decref(body);
		answer_free(a);
		return;
	}
	if (body) {
		a->reply = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(9));
		if (a->reply)
			a->reply_length = strlen(a->reply);
		else
			status = 500;
		json_decref(body);
	}
	if (a->reply_length && !h2_stream_keep(s, a->reply_length)) {
		free(a->reply);
		a->reply = NULL;
		a->reply_length = 0;
		status = 503;
	}
	h2_stream_accept(s, &answer_reply_ops, a);
	if (h2_stream_respond(s, status, a->reply ? "application/json" : NULL)) {
		h2_stream_abort(s);
		answer_free(a);
	}
}

json_t *server_answer_error(const char *what)
{
	return json_pack("{s:s}", "error", what);
}

void server_refuse(struct server_answer *to, int status, const char *why)
{
	server_answer(to, status, server_answer_error(why));
}

const char *server_answer_host(const struct server_answer *a)
{
	return a->call.host ?: "";
}

static void answer_call(struct server_answer *a, const json_t *body)
{
	const struct server_call *c = &a->call;
	json_t *reply = NULL;
	int status = 200;

	a->called = true;
	if (!c->route) {
		status = c->greet(c->ctx, body, &reply);
	} else if (c->route->later) {
		c->route->later(c->agent, c->peer, body, a);
		return;
	} else {
		reply = c->route->json(c->agent, c->peer, body, &status);
	}
	server_answer(a, status, reply);
}

static void answer_end(void *ctx)
{
	struct server_answer *a = ctx;
	char why[SPEECH_WHY] = "is empty";
	json_t *body = NULL;

	if (a->called)
		return;
	if (a->length)
		body = speech_object(a->body, a->length, why);
	free(a->body);
	a->body = NULL;
	request_body_read(&a->request);
	if (!body && (a->length || !a->call.route || strcmp(a->call.route->method, "GET"))) {
		a->called = true;
		server_answer(a, 400,
			      json_pack("{s:o}", "error", json_sprintf("the body %s", why)));
	} else {
		answer_call(a, body);
	}
	json_decref(body);
}

/* Drops the part of the body that has come. */
static void answer_give_up(struct server_answer *a, int status, const char *why)
{
	a->called = true;
	free(a->body);
	a->body = NULL;
	request_body_read(&a->request);
	server_refuse(a, status, why);
}

static void answer_late(void *ctx)
{
	struct server_answer *a = ctx;

	h2_stream_abort(a->stream);
	answer_free(a);
}

static int answer_data(void *ctx, const uint8_t *data, size_t length)
{
	struct server_answer *a = ctx;
	struct h2_stream *s = a->stream;
	const char *why;
	char *more;

	if (a->length + length > H2_JSON_MAX) {
		answer_give_up(a, 413, "the body is larger than 1 MiB");
		return 0;
	}
	why = request_body_add(&a->request, length);
	if (why) {
		answer_give_up(a, 503, why);
		return 0;
	}
	more = realloc(a->body, a->length + length);
	if (!more)
		return -ENOMEM;
	a->body = more;
	memcpy(a->body + a->length, data, length);
	a->length += length;
	h2_stream_consume(s, length);
	return 0;
}

static const struct h2_stream_ops answer_ops = {
	.data = answer_data,
	.end = answer_end,
	.closed = answer_closed_early,
};

int server_answer_begin(const struct server_call *call, struct h2_stream *s,
			struct request_bodies *bodies, struct quota_host *host)
{
	struct server_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->request.late = answer_late;
	a->request.ctx = a;
	if (request_body_begin(bodies, host, &a->request)) {
		free(a);
		return -EBUSY;
	}
	a->call = *call;
	a->stream = s;
	h2_stream_accept(s, &answer_ops, a);
	return 0;
}
