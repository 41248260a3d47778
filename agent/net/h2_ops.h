/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file h2_ops.h  What a connection tells its owner, and how it ended. */
#ifndef AGENT_NET_H2_OPS_H
#define AGENT_NET_H2_OPS_H

enum h2_end {
	H2_END_BROKEN, /**< error of the socket or of the protocol */
	H2_END_REFUSED, /**< no listener, or one side rejects the other */
	H2_END_SILENT, /**< nothing received for `silence_ms`, or no handshake */
	H2_END_GOODBYE, /**< closed by the other side, in order */
};

struct evbuffer;
struct h2_stream;

struct h2_conn_ops {
	/** The handshake is done; `cn` is that of the other side. NULL to accept it, else the reason. */
	const char *(*identified)(void *ctx, const char *cn);
	/**
	 * Server: it has no certificate and asks to be admitted (TOKEN_ALPN); all that it has sent so
	 * far. The answer is h2_conn_answer(). It is not identified.
	 */
	void (*visited)(void *ctx, struct evbuffer *said);
	/** The session can be used. May be NULL. */
	void (*ready)(void *ctx);
	/** Server: a request arrived; answer with h2_stream_accept() and h2_stream_respond(). */
	void (*request)(void *ctx, struct h2_stream *s, const char *method, const char *path);
	/** The connection ended; the last call. Its streams are closed afterwards. `cn` may be "". */
	void (*closed)(void *ctx, enum h2_end end, const char *why, const char *cn);
};

#endif
