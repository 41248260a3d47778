/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file channel.h
 * Frames over a job's HTTP/2 stream, the same at both ends. Every received byte is
 * disposed of at once: data goes to its sink, which has a bound of its own.
 */
#ifndef AGENT_JOB_CHANNEL_H
#define AGENT_JOB_CHANNEL_H

#include "job/relay.h"

#define CHANNEL_SOURCES 3
#define CHANNEL_SINKS 4

struct channel {
	struct h2_stream *stream; /**< NULL: gone */
	/** A frame other than data. Non-zero: not allowed now, the stream is reset. */
	int (*frame)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
	/** Of a sink that gets whole frames. 0, -EPROTO or -ENOMEM. */
	int (*text)(void *ctx, struct relay_sink *sink, uint8_t *data, size_t length);
	void *ctx;
	struct relay_source *sources[CHANNEL_SOURCES]; /**< sent from; NULL: none */
	struct relay_sink *sinks
		[CHANNEL_SINKS]; /**< by descriptor, 3: the terminal; NULL: no such data may come */
	bool finish; /**< end our direction when all has been sent */
	/* private */
	struct evbuffer *in, *out;
	uint8_t head[FRAME_HEADER];
	unsigned int have;
	enum frame_type type;
	uint32_t length, left;
	unsigned int turn;
};

int channel_init(struct channel *c); /**< 0 or -ENOMEM */
void channel_exit(struct channel *c); /**< the stream is not touched */
/** Queues a frame and resumes the stream. 0 or -ENOMEM. */
int channel_send(struct channel *c, enum frame_type type, const void *payload, uint32_t length);
int channel_send_u32(struct channel *c, enum frame_type type, uint32_t a);
int channel_send_2u32(struct channel *c, enum frame_type type, uint32_t a, uint32_t b);
/** Bytes queued by channel_send() that the stream has not taken yet. */
size_t channel_queued(const struct channel *c);
/** Grants what the sink has room for. 0 or -ENOMEM. */
int channel_grant(struct channel *c, struct relay_sink *sink);
/** FRAME_WANT and FRAME_CLOSED's common form: a descriptor, or 3 for the terminal, first. 0 or -EPROTO. */
int channel_fd(const uint8_t *payload, uint32_t length, uint32_t want);

/** h2_stream_ops.data and .produce. */
int channel_data(struct channel *c, const uint8_t *data, size_t length);
ssize_t channel_produce(struct channel *c, uint8_t *buf, size_t room);

#endif
