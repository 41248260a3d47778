/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file channel.h
 * Frames over a job's HTTP/2 stream, the same at both ends. Received bytes are always consumed at
 * once: data goes to its sink, which has its own limit.
 */
#ifndef AGENT_JOB_CHANNEL_H
#define AGENT_JOB_CHANNEL_H

#include "job/relay.h"

#define CHANNEL_SOURCES 3
#define CHANNEL_SINKS 4

struct channel {
	struct h2_stream *stream; /**< NULL: closed */
	/** A frame without data. Non-zero: not allowed now; the stream is reset. */
	int (*frame)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
	/** Data for a sink that gets whole frames. 0, -EPROTO or -ENOMEM. */
	int (*text)(void *ctx, struct relay_sink *sink, uint8_t *data, size_t length);
	void *ctx;
	struct relay_source *sources[CHANNEL_SOURCES]; /**< senders; NULL: none */
	/** receivers by descriptor, 3 for the terminal; NULL: such data is refused */
	struct relay_sink *sinks[CHANNEL_SINKS];
	bool finish; /**< end our direction when all is sent */
	/* private to channel.c */
	struct evbuffer *in, *out;
	uint8_t head[FRAME_HEADER];
	unsigned int have;
	enum frame_type type;
	uint32_t length, left;
	unsigned int turn;
};

int channel_init(struct channel *c); /**< 0 or -ENOMEM */
void channel_exit(struct channel *c); /**< leaves the stream alone */
/** Queues a frame and resumes the stream. 0 or -ENOMEM. */
int channel_send(struct channel *c, enum frame_type type, const void *payload, uint32_t length);
int channel_send_u32(struct channel *c, enum frame_type type, uint32_t a);
int channel_send_2u32(struct channel *c, enum frame_type type, uint32_t a, uint32_t b);
/** Bytes of channel_send() that the stream has not taken yet. */
size_t channel_queued(const struct channel *c);
/** Sends FRAME_WANT for what the sink has room for. 0 or -ENOMEM. */
int channel_grant(struct channel *c, struct relay_sink *sink);
/** The descriptor (3: the terminal) at the start of FRAME_WANT or FRAME_CLOSED, or -EPROTO. */
int channel_fd(const uint8_t *payload, uint32_t length, uint32_t want);

/** For h2_stream_ops.data and .produce. */
int channel_data(struct channel *c, const uint8_t *data, size_t length);
ssize_t channel_produce(struct channel *c, uint8_t *buf, size_t room);

#endif
