/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file stream.h  Messages of wire/files.h on a socket; both sides of a view. */
#ifndef EHFILES_STREAM_H
#define EHFILES_STREAM_H

#include <event2/event.h>
#include "wire/files.h"

struct stream {
	int fd;
	struct evbuffer *in, *out;
	struct event *readable, *writable;
	int (*message)(void *ctx, const struct files_message *m); /**< not 0: it is broken */
	void (*read)(void *ctx); /**< all that has come was told */
	void (*drained)(void *ctx); /**< nothing is stream_waiting() any more; or NULL */
	void (*broke)(void *ctx); /**< comes last */
	void *ctx;
	size_t most; /**< of stream_waiting(), with which it is read on; 0: no matter */
};

/** Takes over fd; the callbacks are filled in. 0 or -errno. */
int stream_open(struct stream *s, struct event_base *base, int fd);
/** Queues a message with its data, until stream_flush(). 0 or -ENOMEM. */
int stream_put(struct stream *s, const struct files_message *m);
void stream_flush(struct stream *s);
/** Bytes that the socket did not take yet. */
size_t stream_waiting(const struct stream *s);

#endif
