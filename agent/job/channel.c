// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames over a job's stream. */

#include "job/channel.h"

#include <errno.h>
#include <string.h>

#include "job/relay.h"
#include "net/h2_stream.h"
#include "wire/frame.h"

int channel_init(struct channel *c)
{
	c->in = evbuffer_new();
	c->out = evbuffer_new();
	if (c->in && c->out)
		return 0;
	channel_exit(c);
	return -ENOMEM;
}

void channel_exit(struct channel *c)
{
	if (c->in)
		evbuffer_free(c->in);
	if (c->out)
		evbuffer_free(c->out);
	c->in = c->out = NULL;
}

int channel_send(struct channel *c, enum frame_type type, const void *payload, uint32_t length)
{
	uint8_t head[FRAME_HEADER];

	frame_header(head, type, length);
	if (evbuffer_add(c->out, head, sizeof(head)) ||
	    (length && evbuffer_add(c->out, payload, length)))
		return -ENOMEM;
	if (c->stream)
		h2_stream_resume(c->stream);
	return 0;
}

int channel_send_u32(struct channel *c, enum frame_type type, uint32_t a)
{
	uint8_t payload[4];

	frame_put_u32(payload, a);
	return channel_send(c, type, payload, sizeof(payload));
}

int channel_send_2u32(struct channel *c, enum frame_type type, uint32_t a, uint32_t b)
{
	uint8_t payload[8];

	frame_put_u32(payload, a);
	frame_put_u32(payload + 4, b);
	return channel_send(c, type, payload, sizeof(payload));
}

size_t channel_queued(const struct channel *c)
{
	return evbuffer_get_length(c->out);
}

int channel_grant(struct channel *c, struct relay_sink *sink)
{
	uint32_t n = relay_sink_want(sink);

	for (uint32_t fd = 0; n && fd < CHANNEL_SINKS; fd++)
		if (c->sinks[fd] == sink)
			return channel_send_2u32(c, FRAME_WANT, fd, n);
	return 0;
}

int channel_fd(const uint8_t *payload, uint32_t length, uint32_t want)
{
	uint32_t fd = length == want ? frame_get_u32(payload) : CHANNEL_SINKS;

	return fd < CHANNEL_SINKS ? (int)fd : -EPROTO;
}

static struct relay_sink *channel_sink(struct channel *c, enum frame_type type)
{
	switch (type) {
	case FRAME_STDIN:
		return c->sinks[0];
	case FRAME_STDOUT:
		return c->sinks[1];
	case FRAME_STDERR:
		return c->sinks[2];
	case FRAME_SHOWN:
		return c->sinks[3];
	default:
		return NULL;
	}
}

static bool channel_is_data(enum frame_type type)
{
	return type == FRAME_STDIN || type == FRAME_STDOUT || type == FRAME_STDERR ||
	       type == FRAME_SHOWN;
}

static int channel_control(struct channel *c)
{
	uint8_t *payload;
	int err;

	payload = evbuffer_pullup(c->in, -1);
	if (c->length && !payload)
		return -ENOMEM;
	err = channel_is_data(c->type)
		      ? c->text(c->ctx, channel_sink(c, c->type), payload, c->length)
		      : c->frame(c->ctx, c->type, payload, c->length);
	evbuffer_drain(c->in, c->length);
	return err;
}

/* Takes a part of a payload as it arrives. */
static int channel_part(struct channel *c, const uint8_t *data, size_t length)
{
	struct relay_sink *sink = channel_sink(c, c->type);

	c->left -= length;
	if (!channel_is_data(c->type) || (sink && sink->whole && c->length)) {
		if (length && evbuffer_add(c->in, data, length))
			return -ENOMEM;
		return c->left ? 0 : channel_control(c);
	}
	if (!sink)
		return -EPROTO;
	if (!c->length) {
		/* A terminal's sink stays open, because unread input must go back. */
		if (!sink->whole)
			relay_sink_end(sink);
		return 0;
	}
	return relay_sink_put(sink, data, length);
}

static int channel_parse(struct channel *c, const uint8_t *data, size_t length)
{
	int err = 0;

	while (length && !err) {
		size_t n = FRAME_HEADER - c->have;

		if (n) {
			n = n < length ? n : length;
			memcpy(c->head + c->have, data, n);
			c->have += n;
			data += n;
			length -= n;
			if (c->have < FRAME_HEADER)
				break;
			err = frame_parse(c->head, &c->type, &c->length);
			if (err)
				break;
			c->left = c->length;
			if (c->left)
				continue;
		}
		n = c->left < length ? c->left : length;
		err = channel_part(c, data, n);
		data += n;
		length -= n;
		if (!c->left)
			c->have = 0;
		if (!c->stream)
			break; /* the owner has dropped the stream */
	}
	return err;
}

int channel_data(struct channel *c, const uint8_t *data, size_t length)
{
	int err;

	err = channel_parse(c, data, length);
	if (c->stream)
		h2_stream_consume(c->stream, length);
	return err;
}

ssize_t channel_produce(struct channel *c, uint8_t *buf, size_t room)
{
	uint8_t small[FRAME_HEADER + 512];
	ssize_t n;

	if (evbuffer_get_length(c->out))
		return evbuffer_remove(c->out, buf, room);
	/* Round robin, so that no descriptor starves another. */
	c->turn++;
	for (unsigned int i = 0; i < CHANNEL_SOURCES; i++) {
		struct relay_source *s = c->sources[(i + c->turn) % CHANNEL_SOURCES];

		if (!s)
			continue;
		if (room >= sizeof(small)) {
			n = relay_source_fill(s, buf, room);
			if (n > 0)
				return n;
			continue;
		}
		/* The window is nearly used up: send a frame in two parts. */
		n = relay_source_fill(s, small, sizeof(small));
		if (n <= 0)
			continue;
		if (evbuffer_add(c->out, small, n))
			return -1;
		return evbuffer_remove(c->out, buf, room);
	}
	return c->finish ? -1 : 0;
}
