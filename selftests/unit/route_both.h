/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A route for tests, with what is on both sides of it: the socket of an end, and a stream, which this plays.
 * job/route.c is compiled here under other names, so one file of a program includes this.
 */
#ifndef UNIT_ROUTE_BOTH_H
#define UNIT_ROUTE_BOTH_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>

#include "base/agent.h"

/* The stream's other side is the test: job/route.c calls these instead of net/'s. */
struct h2_stream {
	size_t consumed, kept;
	int resumed;
	bool aborted;
	const struct h2_stream_ops *ops;
	void *ctx;
};
#define evbuffer_write fake_write
#define h2_stream_consume fake_consume
#define h2_stream_resume fake_resume
#define h2_stream_keep fake_keep
#define h2_stream_unkeep fake_unkeep
#define h2_stream_abort fake_abort
#define h2_stream_accept fake_accept
#define route_stream_ops tested_stream_ops
#define route_open tested_open
#define route_set_end tested_set_end
#define route_make_end tested_make_end
#define route_begin tested_begin
#define route_take tested_take
#define route_use tested_use
#define route_hand_over tested_hand_over
#define route_drop_stream tested_drop_stream
#define route_leave_stream tested_leave_stream
#define route_tell_end tested_tell_end
#define route_tell_peer tested_tell_peer
#define route_tell_attached tested_tell_attached
#define route_finish tested_finish
#define route_close_end tested_close_end
#define route_close tested_close
#define route_close_clean tested_close_clean
#include "../../agent/job/route.c"

/* 0: it is the kernel's. */
static int write_fails;

int fake_write(struct evbuffer *b, evutil_socket_t fd)
{
	errno = write_fails;
	return write_fails ? -1 : evbuffer_write_atmost(b, fd, -1);
}

void fake_consume(struct h2_stream *s, size_t length)
{
	s->consumed += length;
}

void fake_resume(struct h2_stream *s)
{
	s->resumed++;
}

bool fake_keep(struct h2_stream *s, size_t length)
{
	s->kept += length;
	return true;
}

void fake_unkeep(struct h2_stream *s, size_t length)
{
	assert_true(length <= s->kept);
	s->kept -= length;
}

void fake_abort(struct h2_stream *s)
{
	s->aborted = true;
}

void fake_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx)
{
	s->ops = ops;
	s->ctx = ctx;
}

#define PAYLOAD 3000

struct both {
	struct agent agent;
	struct route route;
	struct h2_stream stream;
	int end; /* the end's side of the socket */
	int notes, told, ends_gone, streams_gone;
	int fail; /* what from_end() and from_peer() return */
};

static inline int on_end(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct both *b = ctx;

	assert_int_equal(type, FRAME_NOTE);
	b->notes++;
	return b->fail;
}

static inline int on_peer(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct both *b = ctx;

	assert_int_equal(type, FRAME_PAUSED);
	b->told++;
	return b->fail;
}

static inline void on_end_gone(void *ctx)
{
	((struct both *)ctx)->ends_gone++;
}

static inline void on_stream_gone(void *ctx, bool clean)
{
	((struct both *)ctx)->streams_gone++;
}

static const struct route_ops both_ops = {
	.peer_types = ROUTE_TAKES(FRAME_PAUSED),
	.from_end = on_end,
	.from_peer = on_peer,
	.end_gone = on_end_gone,
	.stream_gone = on_stream_gone,
};

static inline struct both *both_new(void)
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

static inline void both_free(struct both *b)
{
	route_close(&b->route);
	if (b->end >= 0)
		close(b->end);
	event_base_free(b->agent.base);
	free(b);
}

static inline void turn(struct both *b)
{
	event_base_loop(b->agent.base, EVLOOP_NONBLOCK);
}

/* The n-th frame: its number, then bytes that depend on it. Returns its length with the header. */
static inline size_t frame_make(uint8_t *out, uint32_t n)
{
	uint32_t length = 4 + n * 7919 % PAYLOAD;

	frame_header(out, FRAME_LINK, length);
	frame_put_u32(out + FRAME_HEADER, n);
	memset(out + FRAME_HEADER + 4, n & 0xff, length - 4);
	return FRAME_HEADER + length;
}

/* Takes whole frames off the front of what has come, and checks that they are the next ones. */
struct taker {
	uint8_t bytes[2 * PAYLOAD];
	size_t have;
	uint32_t next;
};

static inline void taker_take(struct taker *t, const uint8_t *data, size_t n)
{
	uint8_t want[FRAME_HEADER + 4 + PAYLOAD];

	while (n) {
		size_t part = n < sizeof(t->bytes) - t->have ? n : sizeof(t->bytes) - t->have, size;

		memcpy(t->bytes + t->have, data, part);
		t->have += part;
		data += part;
		n -= part;
		while (t->have >= (size = frame_make(want, t->next))) {
			assert_memory_equal(t->bytes, want, size);
			t->have -= size;
			memmove(t->bytes, t->bytes + size, t->have);
			t->next++;
		}
	}
}

/* What is between the frames of the ends, and goes to the owner. */
static inline size_t other_make(uint8_t *out, enum frame_type type)
{
	frame_header(out, type, 4);
	frame_put_u32(out + FRAME_HEADER, 1);
	return FRAME_HEADER + 4;
}

#endif
