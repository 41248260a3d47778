// SPDX-License-Identifier: GPL-2.0-or-later
/* The nghttp2 session of a connection: its settings, and what it calls when frames come or are sent. */

#include "net/h2_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/h2_inside.h"
#include "net/h2_stream.h"
#include "net/quota.h"

#define H2_HEADERS_MAX 8192 /* bytes of one request's or response's headers */

static int h2_session_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
				       void *arg)
{
	struct h2_conn *conn = arg;
	struct h2_stream *s;

	if (!conn->server || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = h2_stream_add(conn);
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	s->id = frame->hd.stream_id;
	nghttp2_session_set_stream_user_data(session, s->id, s);
	return 0;
}

static void h2_session_keep(char *to, size_t size, const uint8_t *value, size_t length)
{
	if (length >= size)
		length = 0; /* no route is that long: the answer is "not found" */
	memcpy(to, value, length);
	to[length] = '\0';
}

static int h2_session_on_header(nghttp2_session *session, const nghttp2_frame *frame,
				const uint8_t *name, size_t nlen, const uint8_t *value, size_t vlen,
				uint8_t flags, void *arg)
{
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	if (!s)
		return 0;
	s->header_bytes += nlen + vlen + 32;
	if (s->header_bytes > H2_HEADERS_MAX)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (nlen == 7 && !memcmp(name, ":method", 7))
		h2_session_keep(s->method, sizeof(s->method), value, vlen);
	else if (nlen == 5 && !memcmp(name, ":path", 5))
		h2_session_keep(s->path, sizeof(s->path), value, vlen);
	else if (nlen == 7 && !memcmp(name, ":status", 7))
		s->status = atoi((const char *)value);
	return 0;
}

static int h2_session_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_conn *conn = arg;
	struct h2_stream *s;

	if (frame->hd.type == NGHTTP2_GOAWAY) {
		if (frame->goaway.error_code == NGHTTP2_NO_ERROR)
			h2_end(conn, H2_END_GOODBYE, "closed by the peer (GOAWAY)");
		else
			h2_end(conn, H2_END_BROKEN,
			       nghttp2_http2_strerror(frame->goaway.error_code));
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!s)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS) {
		if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
			conn->ops->request(conn->ctx, s, s->method, s->path);
		else if (s->ops && s->ops->response && s->status >= 200)
			s->ops->response(s->ctx, s->status);
	}
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		s->ended = true;
		if (s->ops && s->ops->end)
			s->ops->end(s->ctx);
	}
	return conn->dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int h2_session_on_data(nghttp2_session *session, uint8_t flags, int32_t id,
			      const uint8_t *data, size_t length, void *arg)
{
	struct h2_conn *conn = arg;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	if (!s || !s->ops || !s->ops->data || s->refused) {
		nghttp2_session_consume(session, id, length);
		return 0;
	}
	if (!quota_take(conn->quota, length)) {
		s->refused = true;
		nghttp2_session_consume(session, id, length);
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
					  NGHTTP2_ENHANCE_YOUR_CALM);
		return 0;
	}
	s->unconsumed += length;
	if (s->ops->data(s->ctx, data, length)) {
		s->refused = true;
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_PROTOCOL_ERROR);
	}
	return conn->dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int h2_session_on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_stream *s;

	/* A refused request may still be sending its body: stop it. */
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (s && s->responded && !s->ended && !s->ops)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
	return 0;
}

static int h2_session_on_stream_close(nghttp2_session *session, int32_t id, uint32_t error,
				      void *arg)
{
	struct h2_conn *conn = arg;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	if (!s)
		return 0;
	/* what its owner did not consume must not shrink the connection's window forever */
	if (s->unconsumed)
		nghttp2_session_consume_connection(session, s->unconsumed);
	quota_give(conn->quota, s->unconsumed);
	s->unconsumed = 0;
	h2_stream_end(s, error == NGHTTP2_NO_ERROR);
	return 0;
}

int h2_session_start(struct h2_conn *conn)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADERS_MAX },
	};
	nghttp2_session_callbacks *calls;
	nghttp2_option *option;
	int err;

	if (nghttp2_session_callbacks_new(&calls))
		return -ENOMEM;
	if (nghttp2_option_new(&option)) {
		nghttp2_session_callbacks_del(calls);
		return -ENOMEM;
	}
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_peer_max_concurrent_streams(option, H2_STREAMS);
	/* A stream that is reset is a task whose stub was killed. nghttp2's own limit is 33 a second. */
	nghttp2_option_set_stream_reset_rate_limit(option, H2_RESETS, H2_RESETS);
	nghttp2_session_callbacks_set_on_begin_headers_callback(calls, h2_session_on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(calls, h2_session_on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, h2_session_on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, h2_session_on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(calls, h2_session_on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls, h2_session_on_stream_close);
	err = conn->server ? nghttp2_session_server_new2(&conn->session, calls, conn, option)
			   : nghttp2_session_client_new2(&conn->session, calls, conn, option);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(calls);
	if (err)
		return -ENOMEM;
	err = nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, settings,
				      sizeof(settings) / sizeof(settings[0]));
	/* as large as all streams together, so that a stalled one does not hold up others */
	if (!err)
		err = nghttp2_session_set_local_window_size(conn->session, NGHTTP2_FLAG_NONE, 0,
							    H2_STREAMS * H2_WINDOW);
	return err ? -ENOMEM : 0;
}
