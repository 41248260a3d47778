/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file route.h
 * The way of a job, or of a file system of a view, through this agent: between the socket of its end
 * here (ehstub or ehguest, ehview or ehfiles) and the stream to the agent of its other end. Whole
 * frames are passed on. FRAME_LINK, which the ends send each other, is not looked into; other frames
 * go to the owner.
 *
 * The stream may break and be replaced while the end stays; what is held then is dropped, as the
 * ends send it again. ROUTE_HELD bytes are held in each direction, and those that one read brings
 * beyond them, or that an end which has gone has left in its socket. If memory is short the end's bytes
 * wait in its socket, frames for it wait here, and the stream is reset: no frame is lost or cut.
 */
#ifndef AGENT_JOB_ROUTE_H
#define AGENT_JOB_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "net/h2_stream.h"
#include "wire/attach.h"
#include "wire/frame.h"

#define ROUTE_HELD 65536
#define ROUTE_TAKES(type) (1u << (type)) /**< of route_ops.peer_types */

struct agent;
struct event;
struct evbuffer;
struct peer;

/** Callbacks to the owner of a route, from the event loop. In them it may close the end's socket and
 *  drop the stream, but close the route only in those that say so. */
struct route_ops {
	/** What from_peer() takes; FRAME_LINK aside, all else breaks the protocol. Of an end, only
	 *  FRAME_NOTE and FRAME_SEEN are taken, by from_end(). Without these two, nothing is. */
	unsigned int peer_types;
	/** A frame of the end here, or of the other agent. 0, or -errno: not allowed now; of the end,
	 *  -EAGAIN: it is taken after route_go_on(), and nothing before it. */
	int (*from_end)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
	int (*from_peer)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
	/** Before frames of the end are taken, or that it has gone. May be NULL. */
	void (*end_speaks)(void *ctx);
	/** While there is no end: what has come on the stream and was not taken. The owner may take of it
	 *  what is not for the end. All else is kept for the end, or -errno. NULL: frames for an end that is
	 *  not there are dropped. */
	int (*early)(void *ctx, struct evbuffer *in);
	/** The socket was closed, or the end broke the protocol. NULL: the stream is ended in order. */
	void (*end_gone)(void *ctx);
	/** The other side has ended its direction. May be NULL, and close the route. */
	void (*ended)(void *ctx);
	/** The stream is over. The route has none now. `clean`: both sides have ended it. May close the
	 *  route. */
	void (*stream_gone)(void *ctx, bool clean);
	/** The server refused the stream with this HTTP status; stream_gone() follows. May close the
	 *  route. */
	void (*refused)(void *ctx, int status);
};

struct route {
	struct agent *agent;
	const struct route_ops *ops;
	void *ctx;
	int socket; /**< of the end; -1: closed */
	struct event *readable, *writable;
	struct event *look; /**< whether it has gone, while it is not read */
	struct event *again; /**< reads, when there was no memory before */
	struct evbuffer *to_end, *to_peer; /**< whole frames */
	struct evbuffer *from_end, *from_peer; /**< perhaps part of a frame */
	struct h2_stream *stream; /**< NULL: none */
	uint64_t moved; /**< bytes that have come from the end and from the stream */
	size_t part; /**< bytes of an unfinished frame that were consumed, and count for the peer */
	size_t owed; /**< bytes of the stream to be consumed when to_end is written */
	bool paused; /**< the end is not read, as to_peer is full */
	bool hung; /**< the end has closed its socket */
	bool finish; /**< the stream ends when to_peer is sent */
	bool came; /**< the stream has brought something */
	bool taking; /**< frames of the stream: what is for the end is written when all are taken */
};

extern const struct h2_stream_ops route_stream_ops; /**< its ctx is a route */

/** Takes over the socket (-1: none yet), even on failure. 0 or -ENOMEM. */
int route_open(struct route *r, struct agent *agent, int socket, const struct route_ops *ops,
	       void *ctx);
/** The end is at this socket from now on, which is taken over even on failure. 0 or -ENOMEM. */
int route_set_end(struct route *r, int socket);
/** The end is the process that gets the socket that this returns, or -errno. */
int route_make_end(struct route *r);
/** Takes the frame of the end that was not taken before. */
void route_go_on(struct route *r);
/** Uses this stream from now on; what was held for an earlier one is dropped. */
void route_use(struct route *r, struct h2_stream *s);
/** What the stream begins with, before all frames. 0 or -ENOMEM. */
int route_begin(struct route *r, const void *bytes, size_t length);
/** The stream of `from`, with what has come on it and was not taken, becomes that of `to`. Not in a
 *  callback of `from`. */
void route_hand_over(struct route *from, struct route *to);
/** Takes what has come on the stream, now that there is an end. 0 or -errno: it breaks the protocol. */
int route_take(struct route *r);
/** Stops to read the stream's bytes and resets it; stream_gone() is not called. */
void route_drop_stream(struct route *r);
/** Ends the stream in order, and the route has none: for one that the other side ends, too. It does not
 *  call stream_gone(). Bytes that were not sent yet are dropped. */
void route_leave_stream(struct route *r);
/** Queues a frame. 0 or -errno (-EPIPE: no socket, no stream). */
int route_tell_end(struct route *r, enum frame_type type, const void *payload, uint32_t length);
int route_tell_peer(struct route *r, enum frame_type type, const void *payload, uint32_t length);
/** As route_tell_peer(), but it goes with the next frame, or when route_push() is called. */
int route_tell_peer_later(struct route *r, enum frame_type type, const void *payload,
			  uint32_t length);
void route_push(struct route *r);
/** Tells the end that its route to the end of that node is there: FRAME_ATTACHED. `more` has what only
 *  its owner knows: started_ms, retry, wait. 0 or -errno, as above. */
int route_tell_attached(struct route *r, const struct peer *other, const char *token,
			const char *id, const struct attached *more);
/** Ends the stream in order once all is sent. */
void route_finish(struct route *r);
/** Closes the end's socket, but not before what is queued for it is written, if it takes it now. */
void route_close_end(struct route *r);
/** Closes everything, as if the connection had broken. */
void route_close(struct route *r);
/** The same, and tells the other side that this is the end. Bytes that were not sent yet are dropped. */
void route_close_clean(struct route *r);

#endif
