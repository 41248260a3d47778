/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file relay.h
 * Bytes between a task's descriptors and frames. Nothing is read from a
 * descriptor before it can be sent, and a descriptor that cannot be written to
 * now holds at most FRAME_WINDOW bytes, which its sender has credit for.
 *
 * O_NONBLOCK is never set on a description that others share. Pipes and
 * terminals are opened anew through /proc/self/fd, sockets are asked call by
 * call, files are read and written as they are (they do not block for long,
 * and their shared offset stays right), the rest is polled.
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
	RELAY_OWN, /**< our own description, non-blocking */
	RELAY_SOCKET,
	RELAY_FILE, /**< regular file, block device: always ready, cannot be waited for */
	RELAY_OTHER,
};

/** What a task has open at home, made fit for the loop. Takes over `fd`; returns the one to use. */
int relay_adopt(int fd, enum relay_kind *kind);
/** Fit for a program again: one of our own blocks, as programs expect. */
void relay_restore(int fd, enum relay_kind kind);

/** A descriptor that is read, for the other side's sink. */
struct relay_source {
	struct event_base *base;
	int fd; /**< -1: none, or its end was reached */
	enum relay_kind kind;
	enum frame_type type;
	uint32_t credit;
	uint64_t sent;
	bool over; /**< its end was reached; a file stays open, to be set back */
	bool end; /**< an empty frame is to be sent */
	bool waiting; /**< for its event */
	bool dry; /**< nothing more was there when it was last asked */
	/** NULL: read(); else instead of it, behind the header's room in buf: bytes read or -errno;
	 *  or, told by `*framed`, a whole frame of another type in buf. */
	ssize_t (*read)(void *ctx, uint8_t *buf, size_t most, bool *framed);
	void *ctx;
	struct event event;
	struct h2_stream *stream; /**< resumed when there is something */
};

/** A descriptor that is written, from the other side's source. */
struct relay_sink {
	struct event_base *base;
	int fd; /**< -1: none, closed or broken; bytes for it are dropped */
	enum relay_kind kind;
	bool end; /**< closed once all is written */
	bool pipe; /**< relay_sink_read() will be asked for */
	bool whole; /**< gets whole frames, by relay_sink_put_text() */
	uint32_t granted, taken; /**< credit out; bytes disposed of since the last grant */
	uint64_t done; /**< bytes disposed of in all */
	uint64_t written; /**< of those, not dropped */
	uint32_t unread; /**< a broken pipe's content */
	int probe; /**< reading end of a pipe that was ended: asked for its content */
	struct evbuffer *held; /**< NULL: nothing waits */
	struct event event;
	/** Bytes were written or dropped, or (broken) nobody reads any more. */
	void (*moved)(void *ctx, struct relay_sink *sink, bool broken);
	void *ctx;
};

void relay_source_init(struct relay_source *s, struct event_base *base, enum frame_type type);
/** Starts to read. The credit is the window's. */
void relay_source_open(struct relay_source *s, int fd, enum relay_kind kind,
		       struct h2_stream *stream);
/** Asks it anew: relay_source.dry then means that nothing from before is left in it. */
void relay_source_ask(struct relay_source *s);
/** The stream is gone: nothing resumes it any more. The descriptor stays open. */
void relay_source_stop(struct relay_source *s);
/** As if only `taken` bytes had been read: of a file, the rest goes back. 0, or -errno where that
 *  cannot be (-EPIPE: closed); relay_source.fd is then the next reader's. */
int relay_source_rewind(struct relay_source *s, uint64_t taken);
/** Reads no more; `tell`: as if its end had come. */
void relay_source_close(struct relay_source *s, bool tell);
/** 0, or -EPROTO: more than the window. */
int relay_source_grant(struct relay_source *s, uint32_t bytes);
/** One whole frame into buf (room > FRAME_HEADER), or 0: nothing now, the stream is resumed then. */
ssize_t relay_source_fill(struct relay_source *s, uint8_t *buf, size_t room);

void relay_sink_init(struct relay_sink *s, struct event_base *base,
		     void (*moved)(void *ctx, struct relay_sink *sink, bool broken), void *ctx);
void relay_sink_open(struct relay_sink *s, int fd, enum relay_kind kind);
/** 0, -EPROTO (more than was granted) or -ENOMEM. */
int relay_sink_put(struct relay_sink *s, const uint8_t *data, size_t length);
/** The same for a terminal that makes CR LF of LF: one CR in front of each LF is dropped. */
int relay_sink_put_text(struct relay_sink *s, uint8_t *data, size_t length);
void relay_sink_end(struct relay_sink *s);
void relay_sink_close(struct relay_sink *s);
/** Of a pipe: bytes that were read at the other end. */
uint64_t relay_sink_read(const struct relay_sink *s);
size_t relay_sink_held(const struct relay_sink *s);
/** Credit to be given with FRAME_WANT now, or 0. */
uint32_t relay_sink_want(struct relay_sink *s);

#endif
