/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2.h
 * HTTP/2 over TLS 1.3 between agents (nghttp2, libevent's bufferevents,
 * OpenSSL). One connection is shared by all requests and jobs to a peer. Each
 * received byte is acknowledged to the sender only when its stream's owner has
 * consumed it, so that memory is bounded by the window (H2_WINDOW a stream).
 */
#ifndef AGENT_NET_H2_STREAM_H
#define AGENT_NET_H2_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <jansson.h>

#define H2_WINDOW 65536
#define H2_STREAMS 512 /**< at a time and connection */
#define H2_JSON_MAX (1u << 20) /**< largest JSON body */

struct peer; /* a node of the cluster, peer.h */
struct h2_stream;

/** What the owner of a stream is told. All calls come from the event loop. Each may be NULL. */
struct h2_stream_ops {
	/** Client only: the response has begun. */
	void (*response)(void *ctx, int status);
	/** Bytes came in; the owner calls h2_stream_consume() once it has disposed of them.
	 *  Non-zero: protocol error, the stream is reset. */
	int (*data)(void *ctx, const uint8_t *data, size_t length);
	/** The other side has ended its direction. */
	void (*end)(void *ctx);
	/** Fill up to `room` bytes. 0: nothing now, h2_stream_resume() will be called; -1: end. */
	ssize_t (*produce)(void *ctx, uint8_t *buf, size_t room);
	/** The stream is gone, cleanly or not; last call, the handle is dead after it. */
	void (*closed)(void *ctx, bool clean);
};

/** Opens a stream over the link to a peer, which is made if there is none: the stream goes out once
 *  the peer has answered our hello, and is closed (clean: false) if it does not. NULL (errno): ENOTCONN
 *  (not known, or failed just now: to->trouble), EAGAIN (too many wait for the link), ENOMEM. */
struct h2_stream *link_open(struct peer *to, const char *method, const char *path,
			    const struct h2_stream_ops *ops, void *ctx);
void h2_stream_resume(struct h2_stream *s);
void h2_stream_consume(struct h2_stream *s, size_t length);
/** Resets the stream; ops->closed is not called any more and the handle is dead. */
void h2_stream_abort(struct h2_stream *s);

/** JSON over POST (GET when there is no body), over a link made on demand. `done` is called exactly once,
 *  later: status 0 when there was no answer (no link: to->trouble says why, or the time was over);
 *  `reply` is borrowed and may be NULL. Returns 0, or -ENOMEM: `done` is not called. */
typedef void (*client_reply_fn)(void *ctx, int status, const json_t *reply);
int client_request(struct peer *to, const char *path, json_t *body_stolen, unsigned int timeout_ms,
		   client_reply_fn done, void *ctx);
/** The agent ends: requests that failed are told so, new ones are not taken (-ENOMEM). */
void client_exit(void);

/** Server side: a request that is answered later, by exactly one server_answer(). */
struct server_answer;
void server_answer(struct server_answer *to, int status, json_t *body_stolen);
/** CN of the caller's certificate; only within the handler. */
const char *server_answer_host(const struct server_answer *a);

/** Server side: a table of routes; exactly one of the handlers is set. */
struct server_route {
	const char *method, *path;
	bool open; /**< also for hosts of the authority that are not in the roster: `from` is NULL */
	/** JSON in, JSON out (new reference), *status preset to 200; NULL body is an empty reply. */
	json_t *(*json)(struct peer *from, const json_t *body, int *status);
	/** JSON in, answered later; `body` is borrowed. */
	void (*later)(struct peer *from, const json_t *body, struct server_answer *answer);
	/** Or: takes over the stream. 0, or an HTTP status to refuse with. */
	int (*stream)(struct peer *from, struct h2_stream *s, const struct h2_stream_ops **ops,
		      void **ctx);
};

#endif
