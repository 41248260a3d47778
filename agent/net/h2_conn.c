// SPDX-License-Identifier: GPL-2.0-or-later
/* Connections: a session over a bufferevent with TLS. */

#include "net/h2_conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <event2/event.h>

#include "base/agent.h"
#include "cert/token.h"
#include "cluster/address.h"
#include "net/h2_stream.h"
#include "net/h2_inside.h"
#include "net/h2_session.h"
#include "net/ops.h"
#include "net/portion.h"
#include "net/quota.h"
#include "net/revoked.h"
#include "net/tls.h"

#define H2_HANDSHAKE_MS 3000 /* connect included; longer where heartbeats are slow */
#define H2_OUTPUT_MAX 65536 /* no more is framed while this much waits for the socket */
#define H2_RECORD 16384 /* of TLS */
#define H2_QUIET_MAX 4 /* parts of the time after which a peer is silent */
#define H2_FRAMES_MAX 4096 /* that wait for a client which does not read */

/* Sends what waits, if the socket takes it at once. */
static bool h2_conn_push(struct h2_conn *conn, SSL *ssl)
{
	const uint8_t *data;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(conn->session, &data)) > 0)
		if (SSL_write(ssl, data, n) != n)
			return false;
	return !n;
}

/* Sends what waits, GOAWAY and TLS's close_notify, so that the peer notices at once. */
static void h2_conn_bye(struct h2_conn *conn)
{
	struct evbuffer *waiting = bufferevent_get_output(conn->bev);
	SSL *ssl = bufferevent_openssl_get_ssl(conn->bev);
	size_t n = evbuffer_get_length(waiting);
	const uint8_t *bytes;

	if (conn->dead || !conn->session)
		return;
	bytes = n ? evbuffer_pullup(waiting, -1) : NULL;
	if ((!n || (bytes && SSL_write(ssl, bytes, n) == (int)n)) && h2_conn_push(conn, ssl)) {
		nghttp2_session_terminate_session(conn->session, NGHTTP2_NO_ERROR);
		if (h2_conn_push(conn, ssl))
			SSL_shutdown(ssl);
	}
	ERR_clear_error();
}

void h2_conn_free(struct h2_conn *conn)
{
	struct h2_stream *s;

	h2_conn_bye(conn);
	conn->dead = true;
	while ((s = TAILQ_FIRST(&conn->streams)) || (s = TAILQ_FIRST(&conn->waiting)))
		h2_stream_end(s, false);
	nghttp2_session_del(conn->session);
	quota_put(conn->quota);
	recheck_remove(&conn->recheck);
	bufferevent_free(conn->bev);
	evbuffer_free(conn->framed);
	event_free(conn->later);
	free(conn);
}

/* The owner first: owners of streams may ask it for the reason. */
static void h2_conn_end(struct h2_conn *conn)
{
	conn->ops->closed(conn->ctx, conn->end, conn->why, conn->cn);
	h2_conn_free(conn);
}

/*
 * Writes what is framed, without waiting for the loop to say that the socket takes it: it nearly
 * always does. The rest goes on as the socket allows: TLS wants the same bytes again, and moving
 * them does not change where they are.
 */
static void h2_conn_write(struct h2_conn *conn)
{
	struct evbuffer *waiting = bufferevent_get_output(conn->bev);
	SSL *ssl = bufferevent_openssl_get_ssl(conn->bev);
	const uint8_t *bytes;
	int written = 1;
	size_t n;

	while (!evbuffer_get_length(waiting) && written > 0 &&
	       (n = evbuffer_get_length(conn->framed))) {
		n = n < H2_RECORD ? n : H2_RECORD;
		bytes = evbuffer_pullup(conn->framed, n);
		if (!bytes) { /* no memory for one piece: a shorter record */
			n = evbuffer_get_contiguous_space(conn->framed);
			bytes = evbuffer_pullup(conn->framed, n);
		}
		written = SSL_write(ssl, bytes, n);
		if (written > 0)
			evbuffer_drain(conn->framed, written);
	}
	ERR_clear_error(); /* it comes again */
	if (evbuffer_add_buffer(waiting, conn->framed))
		h2_end(conn, H2_END_BROKEN, "out of memory");
}

static void h2_conn_flush(struct h2_conn *conn)
{
	struct evbuffer *waiting = bufferevent_get_output(conn->bev);
	const uint8_t *data;
	ssize_t n = 1;

	while (!conn->dead && n > 0 &&
	       evbuffer_get_length(waiting) + evbuffer_get_length(conn->framed) < H2_OUTPUT_MAX) {
		n = nghttp2_session_mem_send(conn->session, &data);
		if (n < 0)
			h2_end(conn, H2_END_BROKEN, nghttp2_strerror(n));
		else if (n && evbuffer_add(conn->framed, data, n))
			h2_end(conn, H2_END_BROKEN, "out of memory");
	}
	if (!conn->dead)
		h2_conn_write(conn);
	if (conn->dead || evbuffer_get_length(waiting))
		return;
	if (n > 0) /* others first */
		h2_later(conn);
	else if (!nghttp2_session_want_read(conn->session) &&
		 !nghttp2_session_want_write(conn->session))
		h2_end(conn, H2_END_BROKEN, "protocol error");
}

static void h2_conn_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct h2_conn *conn = arg;

	if (!conn->dead && conn->session)
		h2_conn_flush(conn);
	if (conn->dead)
		h2_conn_end(conn);
}

/* ---- callbacks of the socket ---- */

static void h2_conn_on_written(struct bufferevent *bev, void *arg)
{
	struct h2_conn *conn = arg;

	if (conn->verdict.visitor && conn->answered)
		h2_end(conn, H2_END_GOODBYE, "answered");
	h2_later(conn);
}

void h2_conn_count(struct h2_conn *conn, struct quota_host *host)
{
	quota_hold(host);
	conn->quota = host;
}

void h2_conn_answer(struct h2_conn *conn, const char *text)
{
	conn->answered = true;
	bufferevent_disable(conn->bev, EV_READ);
	if (bufferevent_write(conn->bev, text, strlen(text)))
		h2_end(conn, H2_END_BROKEN, "out of memory");
}

static void h2_conn_refuse(void *ctx, const char *why)
{
	h2_end(ctx, H2_END_REFUSED, why);
}

/* Its certificate was good; it may not stay so. */
static void h2_conn_recheck(struct h2_conn *conn, SSL *ssl)
{
	conn->recheck.ssl = ssl;
	conn->recheck.cn = conn->cn;
	conn->recheck.refuse = h2_conn_refuse;
	conn->recheck.ctx = conn;
	recheck_add(conn->verdict.agent, &conn->recheck);
}

static void h2_conn_on_connected(struct h2_conn *conn)
{
	SSL *ssl = bufferevent_openssl_get_ssl(conn->bev);
	const unsigned char *alpn;
	unsigned int length;
	const char *why;

	if (conn->verdict.visitor) {
		/* no more than this of what it sends is kept */
		bufferevent_setwatermark(conn->bev, EV_READ, 0, TOKEN_REQUEST_MAX + 1);
		return;
	}
	if (!tls_peer_cn(ssl, conn->cn, sizeof(conn->cn))) {
		h2_end(conn, H2_END_REFUSED, "the certificate has no usable CN");
		return;
	}
	SSL_get0_alpn_selected(ssl, &alpn, &length);
	if (length != 2 || memcmp(alpn, "h2", 2)) {
		h2_end(conn, H2_END_REFUSED, "does not speak HTTP/2");
		return;
	}
	h2_conn_recheck(conn, ssl);
	why = conn->ops->identified(conn->ctx, conn->cn);
	if (why) {
		h2_end(conn, H2_END_REFUSED, why);
		return;
	}
	bufferevent_set_timeouts(conn->bev, &conn->quiet_time, NULL);
	if (h2_session_start(conn))
		h2_end(conn, H2_END_BROKEN, "out of memory");
	else if (conn->ops->ready)
		conn->ops->ready(conn->ctx);
	h2_later(conn);
}

/* The other side says that our certificate was revoked. */
static bool h2_conn_is_cast_out(const struct h2_conn *conn, unsigned long code)
{
	if (ERR_GET_LIB(code) != ERR_LIB_SSL ||
	    ERR_GET_REASON(code) != SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED)
		return false;
	/* the other side of an accepted connection may be anyone; a server that we called has shown its name */
	if (!conn->server && *conn->cn)
		revoked_told(conn->verdict.agent, conn->cn);
	return true;
}

/*
 * Silence is counted in parts that this agent lived through, none of which brought a byte. A timer
 * that is late tells of a stall here, not of a silent peer: if the whole machine stood still, or a
 * switch between, what the peer had to say is yet to come. A stall of any length is one part or two,
 * and the parts that are left are longer than a heartbeat takes.
 */
static bool h2_conn_is_silent(struct h2_conn *conn)
{
	return ++conn->quiet >= H2_QUIET_MAX;
}

static void h2_conn_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct h2_conn *conn = arg;
	enum h2_end end = H2_END_BROKEN;
	char text[sizeof(conn->why)];
	unsigned long code;
	int error;

	if (what & BEV_EVENT_CONNECTED) {
		h2_conn_on_connected(conn);
		return;
	}
	if (conn->session && what == (BEV_EVENT_TIMEOUT | BEV_EVENT_READING) &&
	    !h2_conn_is_silent(conn)) {
		bufferevent_enable(bev, EV_READ);
		return;
	}
	error = EVUTIL_SOCKET_ERROR();
	code = bufferevent_get_openssl_error(bev) ?: ERR_peek_error();
	if (conn->verdict.why) {
		memcpy(conn->cn, conn->verdict.cn, sizeof(conn->verdict.cn));
		snprintf(text, sizeof(text), "certificate refused: %s", conn->verdict.why);
		end = H2_END_REFUSED;
	} else if (what & BEV_EVENT_TIMEOUT) {
		snprintf(text, sizeof(text), "silent for too long");
		end = H2_END_SILENT;
	} else if (h2_conn_is_cast_out(conn, code)) {
		snprintf(text, sizeof(text), "it says that this host was revoked");
		end = H2_END_REFUSED;
	} else if (ERR_GET_LIB(code) && !ERR_SYSTEM_ERROR(code)) {
		/* an error without a library is libevent's note that a system call failed */
		snprintf(text, sizeof(text), "TLS: %s", ERR_reason_error_string(code) ?: "error");
		end = conn->session ? H2_END_BROKEN : H2_END_REFUSED;
	} else if (what & BEV_EVENT_EOF) {
		snprintf(text, sizeof(text), "closed by the peer");
	} else {
		snprintf(text, sizeof(text), "%s", error ? strerror(error) : "connection lost");
		if (error == ECONNREFUSED)
			end = H2_END_REFUSED;
		else if (error == ETIMEDOUT || error == EHOSTUNREACH)
			end = H2_END_SILENT;
	}
	ERR_clear_error();
	h2_end(conn, end, text);
}

static void h2_conn_take(struct h2_conn *conn, const uint8_t *bytes, size_t length)
{
	ssize_t n = nghttp2_session_mem_recv(conn->session, bytes, length);

	if (n < 0)
		h2_end(conn, H2_END_BROKEN, nghttp2_strerror(n));
}

/*
 * libevent reads one record for each event of the socket. Records that are here already are read at
 * once, so that all they bring goes on together, until the portion of this connection is used up:
 * then the socket tells that it has more.
 */
static void h2_conn_read_on(struct h2_conn *conn, SSL *ssl)
{
	uint8_t bytes[H2_RECORD];
	int n = 1;

	while (n > 0 && !conn->dead) {
		n = SSL_read(ssl, bytes, sizeof(bytes));
		if (n > 0)
			h2_conn_take(conn, bytes, n);
		else if (SSL_get_error(ssl, n) == SSL_ERROR_SSL)
			h2_conn_on_event(conn->bev, BEV_EVENT_READING | BEV_EVENT_ERROR, conn);
	}
	ERR_clear_error();
}

static void h2_conn_on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct h2_conn *conn = arg;
	struct evbuffer_iovec piece;

	conn->quiet = 0;
	if (conn->verdict.visitor) {
		if (!conn->dead)
			conn->ops->visited(conn->ctx, in);
		return;
	}
	while (!conn->dead && conn->session && evbuffer_peek(in, -1, NULL, &piece, 1) > 0) {
		h2_conn_take(conn, piece.iov_base, piece.iov_len);
		evbuffer_drain(in, piece.iov_len);
	}
	if (conn->session)
		h2_conn_read_on(conn, bufferevent_openssl_get_ssl(bev));
	/* Answers and resets; HTTP/2 itself limits what waits in other ways. */
	if (conn->server && !conn->dead && conn->session &&
	    nghttp2_session_get_outbound_queue_size(conn->session) > H2_FRAMES_MAX)
		h2_end(conn, H2_END_BROKEN, "it does not read what it asks for");
	h2_later(conn);
}

static struct h2_conn *h2_conn_new(struct agent *agent, evutil_socket_t fd, bool server,
				   unsigned int silence_ms, const struct h2_conn_ops *ops,
				   void *ctx)
{
	const unsigned int ms = silence_ms > H2_HANDSHAKE_MS ? silence_ms : H2_HANDSHAKE_MS;
	const struct timeval handshake = { ms / 1000, ms % 1000 * 1000 };
	struct h2_conn *conn = calloc(1, sizeof(*conn));
	BIO *bio;
	SSL *ssl;

	if (!conn)
		goto close_fd;
	conn->server = server;
	TAILQ_INIT(&conn->streams);
	TAILQ_INIT(&conn->waiting);
	conn->verdict.agent = agent;
	conn->ops = ops;
	conn->ctx = ctx;
	conn->quiet_time.tv_sec = silence_ms / H2_QUIET_MAX / 1000;
	conn->quiet_time.tv_usec = silence_ms / H2_QUIET_MAX % 1000 * 1000;
	conn->later = event_new(agent->base, -1, 0, h2_conn_on_later, conn);
	conn->framed = evbuffer_new();
	ssl = conn->later && conn->framed ? tls_side(agent->tls, server, &conn->verdict) : NULL;
	if (!ssl)
		goto free_conn;
	bio = portion_new(fd);
	if (!bio)
		goto free_ssl;
	SSL_set_bio(ssl, bio, bio);
	conn->bev = bufferevent_openssl_socket_new(agent->base, fd, ssl,
						   server ? BUFFEREVENT_SSL_ACCEPTING
							  : BUFFEREVENT_SSL_CONNECTING,
						   BEV_OPT_CLOSE_ON_FREE);
	if (!conn->bev)
		goto free_ssl;
	bufferevent_setcb(conn->bev, h2_conn_on_read, h2_conn_on_written, h2_conn_on_event, conn);
	bufferevent_set_timeouts(conn->bev, &handshake, &handshake);
	bufferevent_enable(conn->bev, EV_READ | EV_WRITE);
	return conn;

free_ssl:
	SSL_free(ssl);
free_conn:
	if (conn->framed)
		evbuffer_free(conn->framed);
	agent_free_event(&conn->later);
	free(conn);
close_fd:
	if (fd >= 0)
		evutil_closesocket(fd);
	errno = ENOMEM;
	return NULL;
}

static void h2_conn_set_options(evutil_socket_t fd)
{
	int one = 1;

	/* a request is one small segment, and the caller waits for its answer */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

struct h2_conn *h2_conn_accepted(struct agent *agent, evutil_socket_t fd, unsigned int silence_ms,
				 const struct h2_conn_ops *ops, void *ctx)
{
	struct h2_conn *conn;

	h2_conn_set_options(fd);
	conn = h2_conn_new(agent, fd, true, silence_ms, ops, ctx);
	if (conn)
		conn->verdict.invites = agent->net_ops->invites(agent);
	return conn;
}

struct h2_conn *h2_conn_connect(struct agent *agent, const struct address *to,
				unsigned int silence_ms, const struct h2_conn_ops *ops, void *ctx)
{
	int fd = socket(to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct h2_conn *conn;
	int err = 0;

	if (fd < 0)
		return NULL;
	h2_conn_set_options(fd);
	if (connect(fd, (const struct sockaddr *)&to->sa, to->length) && errno != EINPROGRESS)
		err = errno;
	conn = h2_conn_new(agent, fd, false, silence_ms, ops, ctx);
	/* report it like a refusal that comes later, when the handshake writes */
	if (conn && err)
		h2_end(conn, H2_END_REFUSED, strerror(err));
	return conn;
}

void h2_conn_close(struct h2_conn *conn, enum h2_end end, const char *why)
{
	h2_end(conn, end, why);
}

int64_t h2_conn_until(const struct h2_conn *conn)
{
	return conn->recheck.until;
}

void h2_conn_ping(struct h2_conn *conn)
{
	if (conn->dead || !conn->session)
		return;
	nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
	h2_later(conn);
}
