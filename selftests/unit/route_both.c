// SPDX-License-Identifier: GPL-2.0-or-later
#include "route_both.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>

int both_write_fails;

int __wrap_evbuffer_write(struct evbuffer *b, evutil_socket_t fd);
void __wrap_h2_stream_consume(struct h2_stream *s, size_t length);
void __wrap_h2_stream_resume(struct h2_stream *s);
bool __wrap_h2_stream_keep(struct h2_stream *s, size_t length);
void __wrap_h2_stream_unkeep(struct h2_stream *s, size_t length);
void __wrap_h2_stream_abort(struct h2_stream *s);
void __wrap_h2_stream_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx);

int __wrap_evbuffer_write(struct evbuffer *b, evutil_socket_t fd)
{
	errno = both_write_fails;
	return both_write_fails ? -1 : evbuffer_write_atmost(b, fd, -1);
}

void __wrap_h2_stream_consume(struct h2_stream *s, size_t length)
{
	s->consumed += length;
}

void __wrap_h2_stream_resume(struct h2_stream *s)
{
	s->resumed++;
}

bool __wrap_h2_stream_keep(struct h2_stream *s, size_t length)
{
	s->kept += length;
	return true;
}

void __wrap_h2_stream_unkeep(struct h2_stream *s, size_t length)
{
	assert_true(length <= s->kept);
	s->kept -= length;
}

void __wrap_h2_stream_abort(struct h2_stream *s)
{
	s->aborted = true;
}

void __wrap_h2_stream_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx)
{
	s->ops = ops;
	s->ctx = ctx;
}

static int on_end(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct both *b = ctx;

	assert_int_equal(type, FRAME_NOTE);
	b->notes++;
	return b->fail;
}

static int on_peer(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct both *b = ctx;

	assert_int_equal(type, FRAME_PAUSED);
	b->told++;
	return b->fail;
}

static void on_end_gone(void *ctx)
{
	((struct both *)ctx)->ends_gone++;
}

void both_stream_gone(void *ctx, bool clean)
{
	((struct both *)ctx)->streams_gone++;
}

const struct route_ops both_ops = {
	.peer_types = ROUTE_TAKES(FRAME_PAUSED),
	.from_end = on_end,
	.from_peer = on_peer,
	.end_gone = on_end_gone,
	.stream_gone = both_stream_gone,
};

struct both *both_new(void)
{
	struct both *b = calloc(1, sizeof(*b));
	int pair[2];

	assert_non_null(b);
	b->agent.base = event_base_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	b->end = pair[1];
	assert_int_equal(route_open(&b->route, &b->agent, pair[0], &both_ops, b), 0);
	route_use(&b->route, &b->stream);
	return b;
}

void both_free(struct both *b)
{
	route_close(&b->route);
	if (b->end >= 0)
		close(b->end);
	event_base_free(b->agent.base);
	free(b);
}

void both_turn(struct both *b)
{
	event_base_loop(b->agent.base, EVLOOP_NONBLOCK);
}

size_t both_frame(uint8_t *out, uint32_t n)
{
	uint32_t length = 4 + n * 7919 % PAYLOAD;

	frame_header(out, FRAME_LINK, length);
	frame_put_u32(out + FRAME_HEADER, n);
	memset(out + FRAME_HEADER + 4, n & 0xff, length - 4);
	return FRAME_HEADER + length;
}

void both_take(struct taker *t, const uint8_t *data, size_t n)
{
	uint8_t want[FRAME_HEADER + 4 + PAYLOAD];

	while (n) {
		size_t part = n < sizeof(t->bytes) - t->have ? n : sizeof(t->bytes) - t->have, size;

		memcpy(t->bytes + t->have, data, part);
		t->have += part;
		data += part;
		n -= part;
		while (t->have >= (size = both_frame(want, t->next))) {
			assert_memory_equal(t->bytes, want, size);
			t->have -= size;
			memmove(t->bytes, t->bytes + size, t->have);
			t->next++;
		}
	}
}

size_t both_other(uint8_t *out, enum frame_type type)
{
	frame_header(out, type, 4);
	frame_put_u32(out + FRAME_HEADER, 1);
	return FRAME_HEADER + 4;
}
