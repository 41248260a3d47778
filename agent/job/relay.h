/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file relay.h
 * Moves bytes between a task's descriptors and frames. Nothing is read from a descriptor before it
 * can be sent. A descriptor that cannot be written now holds at most FRAME_WINDOW bytes, for which
 * its sender has credit.
 *
 * O_NONBLOCK is never set on a file description that others share. Pipes and terminals are opened
 * again through /proc/self/fd, sockets use MSG_DONTWAIT, files are read and written directly (they
 * do not block for long, and the shared offset stays right), everything else is polled.
 */
#ifndef AGENT_JOB_RELAY_H
#define AGENT_JOB_RELAY_H

#include <event2/buffer.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include "net/h2_stream.h"
#include "wire/frame.h"

enum relay_kind {
	RELAY_OWN, /**< our own file description, non-blocking */
	RELAY_SOCKET,
	RELAY_FILE, /**< regular file or block device: always ready, cannot be waited for */
	RELAY_OTHER,
};

/** Prepares a descriptor of a task for the event loop. Takes over `fd`; returns the one to use. */
int relay_adopt(int fd, enum relay_kind *kind);
/** Prepares it for a program again: our own description blocks, as programs expect. */
void relay_restore(int fd, enum relay_kind kind);

/** A descriptor that is read for the sink at the other end. */
struct relay_source {
	struct event_base *base;
	int fd; /**< -1: none, or closed at its end */
	enum relay_kind kind;
	enum frame_type type;
	uint32_t credit;
	uint64_t sent;
	bool over; /**< its end was reached; a file stays open, because it may be rewound */
	bool end; /**< an empty frame must be sent */
	bool waiting; /**< for its event */
	bool dry; /**< nothing was left at the last read */
	/**
	 * NULL: read(2). Otherwise called instead; puts one frame into buf: of `type` with at most
	 * `most` bytes of data, or a whole one of another type. Returns the bytes of the frame with
	 * its header, 0 at the end, or -errno (-EAGAIN: nothing now).
	 */
	ssize_t (*read)(void *ctx, uint8_t *buf, size_t most);
	void *ctx;
	struct event event;
	struct h2_stream *stream; /**< resumed when there is data */
};

/** A descriptor that is written with data from the source at the other end. */
struct relay_sink {
	struct event_base *base;
	int fd; /**< -1: none, closed or broken; data is dropped */
	enum relay_kind kind;
	bool end; /**< close it when all is written */
	bool pipe; /**< relay_sink_read() will be called */
	bool whole; /**< gets whole frames through relay_sink_put_text() */
	uint32_t granted, taken; /**< bytes: credit given; consumed since the last grant */
	uint64_t done; /**< bytes written or dropped */
	uint64_t written; /**< bytes written */
	uint32_t unread; /**< bytes left in a broken pipe */
	int probe; /**< reading end of a pipe that was closed here: shows its content */
	struct evbuffer *held; /**< NULL: nothing waits */
	struct event event;
	/** Bytes were written or dropped. broken: there is no reader any more. */
	void (*moved)(void *ctx, struct relay_sink *sink, bool broken);
	void *ctx;
};

void relay_source_init(struct relay_source *s, struct event_base *base, enum frame_type type);
/** Starts reading with a full window of credit. Takes over `fd`. */
void relay_source_open(struct relay_source *s, int fd, enum relay_kind kind,
		       struct h2_stream *stream);
/** Makes it read again: relay_source.dry then says that nothing older is left in it. */
void relay_source_ask(struct relay_source *s);
/** The stream is gone and is not resumed any more. The descriptor stays open. */
void relay_source_stop(struct relay_source *s);
/**
 * Rewinds to where only `taken` bytes were read; works for files, and if all bytes were taken. 0;
 * -ESPIPE: not a file; -EPIPE: closed; or another -errno. relay_source.fd can then be given to
 * another reader.
 */
int relay_source_rewind(struct relay_source *s, uint64_t taken);
/** Closes it. `tell`: sends an end of file. */
void relay_source_close(struct relay_source *s, bool tell);
/** Adds credit. 0, or -EPROTO: more than the window. */
int relay_source_grant(struct relay_source *s, uint32_t bytes);
/**
 * Puts one whole frame into buf (room > FRAME_HEADER) and returns its length. 0: nothing now; the
 * stream is resumed when there is.
 */
ssize_t relay_source_fill(struct relay_source *s, uint8_t *buf, size_t room);

void relay_sink_init(struct relay_sink *s, struct event_base *base,
		     void (*moved)(void *ctx, struct relay_sink *sink, bool broken), void *ctx);
void relay_sink_open(struct relay_sink *s, int fd, enum relay_kind kind);
/** Writes or holds data. 0, -EPROTO (more than was granted) or -ENOMEM. */
int relay_sink_put(struct relay_sink *s, const uint8_t *data, size_t length);
/** The same for a terminal that turns LF into CR LF: drops one CR before each LF. */
int relay_sink_put_text(struct relay_sink *s, uint8_t *data, size_t length);
void relay_sink_end(struct relay_sink *s);
void relay_sink_close(struct relay_sink *s);
/** Of a pipe: how many bytes were read at the other end. */
uint64_t relay_sink_read(const struct relay_sink *s);
size_t relay_sink_held(const struct relay_sink *s);
/** Bytes to grant with FRAME_WANT now, or 0. */
uint32_t relay_sink_want(struct relay_sink *s);

#endif
