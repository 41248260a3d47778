// SPDX-License-Identifier: GPL-2.0-or-later
/* The streams of a session, as their owners use them. */

#include "net/h2_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/h2_inside.h"
#include "net/quota.h"

static struct h2_stream *h2_stream_new(struct h2_conn *conn, struct h2_streams *in)
{
	struct h2_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->conn = conn;
	s->in = in;
	TAILQ_INSERT_TAIL(in, s, entry);
	return s;
}

struct h2_stream *h2_stream_add(struct h2_conn *conn)
{
	return h2_stream_new(conn, &conn->streams);
}

static void h2_stream_drop(struct h2_stream *s)
{
	TAILQ_REMOVE(s->in, s, entry);
	quota_give(s->conn->quota, s->unconsumed + s->kept);
	if (s->counted)
		quota_stream_over(s->conn->quota);
	free(s);
}

void h2_stream_end(struct h2_stream *s, bool clean)
{
	const struct h2_stream_ops *ops = s->ops;

	s->ops = NULL;
	if (ops && ops->closed)
		ops->closed(s->ctx, clean);
	h2_stream_drop(s);
}

static ssize_t h2_stream_on_produce(nghttp2_session *session, int32_t id, uint8_t *buf,
				    size_t length, uint32_t *flags, nghttp2_data_source *source,
				    void *arg)
{
	struct h2_stream *s = source->ptr;
	ssize_t n;

	if (!s->ops)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = s->ops->produce(s->ctx, buf, length);
	if (n > 0)
		return n;
	if (n == 0)
		return NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return 0;
}

static nghttp2_nv h2_stream_nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
			     NGHTTP2_NV_FLAG_NONE };
}

/* 0 or -ENOMEM. */
static int h2_stream_submit(struct h2_stream *s)
{
	struct h2_conn *conn = s->conn;
	const nghttp2_nv headers[] = {
		h2_stream_nv(":method", s->method),
		h2_stream_nv(":scheme", "https"),
		h2_stream_nv(":authority", conn->cn),
		h2_stream_nv(":path", s->path),
	};
	nghttp2_data_provider body = { .source.ptr = s, .read_callback = h2_stream_on_produce };
	int32_t id = nghttp2_submit_request(conn->session, NULL, headers, 4,
					    s->ops->produce ? &body : NULL, s);

	if (id < 0)
		return -ENOMEM;
	s->id = id;
	h2_later(conn);
	return 0;
}

static struct h2_stream *h2_stream_begin(struct h2_conn *conn, struct h2_streams *in,
					 const char *method, const char *path,
					 const struct h2_stream_ops *ops, void *ctx)
{
	struct h2_stream *s = h2_stream_new(conn, in);

	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->ops = ops;
	s->ctx = ctx;
	snprintf(s->method, sizeof(s->method), "%s", method);
	snprintf(s->path, sizeof(s->path), "%s", path);
	return s;
}

struct h2_stream *h2_stream_open(struct h2_conn *conn, const char *method, const char *path,
				 const struct h2_stream_ops *ops, void *ctx)
{
	struct h2_stream *s;

	if (conn->dead || !conn->session) {
		errno = ENOTCONN;
		return NULL;
	}
	s = h2_stream_begin(conn, &conn->streams, method, path, ops, ctx);
	if (s && h2_stream_submit(s)) {
		h2_stream_drop(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

struct h2_stream *h2_stream_open_later(struct h2_conn *conn, const char *method, const char *path,
				       const struct h2_stream_ops *ops, void *ctx)
{
	const struct h2_stream *s;
	unsigned int n = 0;

	TAILQ_FOREACH(s, &conn->waiting, entry)
		n++;
	if (conn->dead || n >= H2_WAITING) {
		errno = conn->dead ? ENOTCONN : EAGAIN;
		return NULL;
	}
	return h2_stream_begin(conn, &conn->waiting, method, path, ops, ctx);
}

void h2_stream_send_later(struct h2_conn *conn)
{
	struct h2_stream *s;

	while (!conn->dead && (s = TAILQ_FIRST(&conn->waiting))) {
		TAILQ_REMOVE(s->in, s, entry);
		s->in = &conn->streams;
		TAILQ_INSERT_TAIL(s->in, s, entry);
		if (h2_stream_submit(s))
			h2_stream_end(s, false);
	}
}

bool h2_stream_any(const struct h2_conn *conn)
{
	return !TAILQ_EMPTY(&conn->streams) || !TAILQ_EMPTY(&conn->waiting);
}

void h2_stream_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx)
{
	s->ops = ops;
	s->ctx = ctx;
}

int h2_stream_respond(struct h2_stream *s, int status, const char *type)
{
	nghttp2_data_provider body = { .source.ptr = s, .read_callback = h2_stream_on_produce };
	char text[12];
	nghttp2_nv headers[2];
	bool any = s->ops && s->ops->produce;

	if (s->conn->dead)
		return -ENOTCONN;
	snprintf(text, sizeof(text), "%d", status);
	headers[0] = h2_stream_nv(":status", text);
	headers[1] = h2_stream_nv("content-type", type ?: "");
	s->responded = true;
	if (nghttp2_submit_response(s->conn->session, s->id, headers, type ? 2 : 1,
				    any ? &body : NULL))
		return -ENOMEM;
	h2_later(s->conn);
	return 0;
}

void h2_stream_resume(struct h2_stream *s)
{
	if (s->conn->dead || !s->id)
		return;
	/* an error means that it was not deferred */
	if (!nghttp2_session_resume_data(s->conn->session, s->id))
		h2_later(s->conn);
}

void h2_stream_consume(struct h2_stream *s, size_t length)
{
	if (length > s->unconsumed)
		length = s->unconsumed;
	s->unconsumed -= length;
	quota_give(s->conn->quota, length);
	if (s->conn->dead || !length)
		return;
	nghttp2_session_consume(s->conn->session, s->id, length);
	h2_later(s->conn);
}

bool h2_stream_keep(struct h2_stream *s, size_t length)
{
	if (!quota_take(s->conn->quota, length))
		return false;
	s->kept += length;
	return true;
}

void h2_stream_unkeep(struct h2_stream *s, size_t length)
{
	if (length > s->kept)
		length = s->kept;
	s->kept -= length;
	quota_give(s->conn->quota, length);
}

bool h2_stream_count(struct h2_stream *s)
{
	s->counted = quota_stream(s->conn->quota);
	return s->counted;
}

void h2_stream_abort(struct h2_stream *s)
{
	s->ops = NULL;
	h2_stream_unkeep(s, s->kept);
	if (s->conn->dead)
		return;
	if (!s->id) {
		h2_stream_drop(s);
		return;
	}
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
	h2_later(s->conn);
}
