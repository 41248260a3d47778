/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stream.h
 * Messages of wire/files.h between the two sides of a view, each once and in order: as bytes of
 * job/bytes.h on a socket, which may be replaced. Agents pass these bytes on unread.
 */
#ifndef COMMON_STREAM_H
#define COMMON_STREAM_H

#include <event2/event.h>
#include <stdbool.h>
#include "job/link.h"
#include "wire/files.h"

typedef struct files_message message;

struct stream {
	/* to be filled in by the owner */
	/** Not 0: the message was wrong, and broke() follows. */
	int (*message)(void *ctx, const struct files_message *m);
	void (*read)(void *ctx); /**< after message() was called for all that has come */
	void (*broke)(void *ctx); /**< no call follows */
	void *ctx;
	size_t most; /**< stream_waiting() above which no message is taken; 0: no limit */
	/* its own */
	struct event_base *base;
	int fd; /**< -1: no connection */
	struct job_link link;
	struct evbuffer *in, *out; /**< messages; of `out` nothing has a number yet */
	struct evbuffer *from, *to; /**< frames of this connection */
	struct event *readable, *writable;
};

/** Starts with this connection; -1: with none. When it has gone, stream_connect() follows. 0 or -errno. */
int stream_open(struct stream *s, struct event_base *base, int fd);
/** Goes on with another connection, and closes the earlier one. 0 or -errno. */
int stream_connect(struct stream *s, int fd);
/** Queues a message with its data, until stream_flush(). 0 or -ENOMEM. */
int stream_put(struct stream *s, const struct files_message *m);
void stream_flush(struct stream *s);
/** Bytes that are not on their way yet. */
size_t stream_waiting(const struct stream *s);

#endif
