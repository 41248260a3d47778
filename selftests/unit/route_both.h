/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A route for tests, with what is on both sides of it: the socket of an end, and a stream, which this plays.
 * For programs linked with --wrap for what job/route.c calls of the stream.
 */
#ifndef UNIT_ROUTE_BOTH_H
#define UNIT_ROUTE_BOTH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <event2/buffer.h>

#include "base/agent.h"
#include "job/route.h"
#include "net/h2_stream.h"

#define PAYLOAD 3000

/* The stream's other side is the test: job/route.c has this one instead of net/'s. */
struct h2_stream {
	size_t consumed, kept;
	int resumed;
	bool aborted;
	const struct h2_stream_ops *ops;
	void *ctx;
};

/* What evbuffer_write() fails with; 0: it is the kernel's. */
extern int both_write_fails;

struct both {
	struct agent agent;
	struct route route;
	struct h2_stream stream;
	int end; /* the end's side of the socket */
	int notes, told, ends_gone, streams_gone;
	int fail; /* what from_end() and from_peer() return */
};

extern const struct route_ops both_ops;

void both_stream_gone(void *ctx, bool clean);
struct both *both_new(void);
void both_free(struct both *b);
void both_turn(struct both *b);

/* The n-th frame: its number, then bytes that depend on it. Returns its length with the header. */
size_t both_frame(uint8_t *out, uint32_t n);

/* Takes whole frames off the front of what has come, and checks that they are the next ones. */
struct taker {
	uint8_t bytes[2 * PAYLOAD];
	size_t have;
	uint32_t next;
};

void both_take(struct taker *t, const uint8_t *data, size_t n);

/* What is between the frames of the ends, and goes to the owner. */
size_t both_other(uint8_t *out, enum frame_type type);

#endif
