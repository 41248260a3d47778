/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file stream.h  Messages of wire/files.h on a socket, for both sides of a view. */
#ifndef COMMON_STREAM_H
#define COMMON_STREAM_H

#include <event2/event.h>
#include "wire/files.h"

struct stream {
	int fd;
	struct evbuffer *in, *out;
	struct event *readable, *writable;
	/** Not 0: the message was wrong, and broke() follows. */
	int (*message)(void *ctx, const struct files_message *m);
	void (*read)(void *ctx); /**< after message() was called for all that has come */
	void (*drained)(void *ctx); /**< everything was sent; or NULL */
	void (*broke)(void *ctx); /**< no call follows */
	void *ctx;
	size_t most; /**< stream_waiting() above which nothing is read; 0: no limit */
};

/** Starts to read from fd, with the callbacks that the caller has filled in. 0 or -errno. */
int stream_open(struct stream *s, struct event_base *base, int fd);
/** Queues a message with its data, until stream_flush(). 0 or -ENOMEM. */
int stream_put(struct stream *s, const struct files_message *m);
void stream_flush(struct stream *s);
/** Bytes that are not sent yet. */
size_t stream_waiting(const struct stream *s);

#endif
