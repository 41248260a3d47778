// SPDX-License-Identifier: GPL-2.0-or-later
/* A route between the socket of an end and a stream, which this plays: whole frames, in order, bounded. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>

#include "base/agent.h"
#include "random.h"

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
#define FRAMES 2000
#define FRAMES_SIZE (FRAMES * (FRAME_HEADER + 4 + PAYLOAD))

struct both {
	struct agent agent;
	struct route route;
	struct h2_stream stream;
	int end; /* the end's side of the socket */
	int notes, told, ends_gone, streams_gone;
	int fail; /* what from_end() and from_peer() return */
};

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

static int on_job(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct both *b = ctx;

	assert_int_equal(type, FRAME_JOB);
	assert_int_equal(length, 4 * ROUTE_HELD);
	b->told++;
	return 0;
}

static void on_end_gone(void *ctx)
{
	((struct both *)ctx)->ends_gone++;
}

static void on_stream_gone(void *ctx, bool clean)
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

static struct both *both_new(void)
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

static void both_free(struct both *b)
{
	route_close(&b->route);
	if (b->end >= 0)
		close(b->end);
	event_base_free(b->agent.base);
	free(b);
}

static void turn(struct both *b)
{
	event_base_loop(b->agent.base, EVLOOP_NONBLOCK);
}

/* The n-th frame: its number, then bytes that depend on it. Returns its length with the header. */
static size_t frame_make(uint8_t *out, uint32_t n)
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

static void taker_take(struct taker *t, const uint8_t *data, size_t n)
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
static size_t other_make(uint8_t *out, enum frame_type type)
{
	frame_header(out, type, 4);
	frame_put_u32(out + FRAME_HEADER, 1);
	return FRAME_HEADER + 4;
}

/* All frames of the ends, some of the owner between them. Returns the size. */
static size_t frames_make(uint8_t all[FRAMES_SIZE], enum frame_type other, int *others)
{
	size_t size = 0;

	for (uint32_t n = 0; n < FRAMES; n++) {
		size += frame_make(all + size, n);
		if (!random_below(10) && size + 12 < FRAMES_SIZE) {
			size += other_make(all + size, other);
			(*others)++;
		}
	}
	return size;
}

/* From the end to the stream: pieces of any size, frames of the owner between them. */
static void test_out(void **state)
{
	static uint8_t all[FRAMES_SIZE];
	struct both *b = both_new();
	size_t size = 0, at = 0, most = 0;
	struct taker t = { .have = 0 };
	uint8_t out[5000];
	int notes = 0;

	size = frames_make(all, FRAME_NOTE, &notes);
	while (t.next < FRAMES) {
		size_t piece = 1 + random_below(random_below(4) ? 20000 : 10);
		ssize_t n = piece < size - at ? piece : size - at;

		n = n ? send(b->end, all + at, n, MSG_DONTWAIT) : 0;
		at += n > 0 ? n : 0;
		turn(b);
		if (evbuffer_get_length(b->route.to_peer) > most)
			most = evbuffer_get_length(b->route.to_peer);
		/* The peer takes some now and then. */
		if (random_below(3) || at == size) {
			n = tested_stream_ops.produce(&b->route, out,
						      1 + random_below(sizeof(out)));
			if (n > 0)
				taker_take(&t, out, n);
		}
	}
	assert_int_equal(b->notes, notes);
	assert_int_equal(b->ends_gone, 0);
	/* One read beyond the bound, which may end a frame that had begun. */
	assert_true(most <= ROUTE_HELD + ROUTE_READ + FRAME_HEADER + FRAME_LINK_MAX);
	assert_true(most >= ROUTE_HELD / 2);
	both_free(b);
}

/* From the stream to the end; the stream may send as much again as the end has read. */
static void test_in(void **state)
{
	static uint8_t all[FRAMES_SIZE];
	struct both *b = both_new();
	struct taker t = { .have = 0 };
	size_t size = 0, at = 0;
	uint8_t in[20000];
	int others = 0;
	ssize_t n;

	size = frames_make(all, FRAME_PAUSED, &others);
	while (t.next < FRAMES) {
		size_t window = ROUTE_HELD - (at - b->stream.consumed);
		size_t piece = random_below(random_below(4) ? 16384 : 10) + 1;

		if (piece > window)
			piece = window;
		if (piece > size - at)
			piece = size - at;
		if (piece) {
			assert_int_equal(tested_stream_ops.data(&b->route, all + at, piece), 0);
			at += piece;
		}
		if (random_below(3) || !piece) {
			n = recv(b->end, in, 1 + random_below(sizeof(in)), MSG_DONTWAIT);
			if (n > 0)
				taker_take(&t, in, n);
		}
		turn(b);
		assert_true(b->stream.consumed <= at);
	}
	turn(b);
	assert_int_equal(b->told, others);
	assert_int_equal(b->stream.consumed, size);
	both_free(b);
}

/* A frame of the owner that is longer than the window: what has come of it is consumed. */
static void test_long(void **state)
{
	static uint8_t frame[FRAME_HEADER + 4 * ROUTE_HELD];
	struct route_ops ops = both_ops;
	struct both *b = both_new();

	ops.peer_types = ROUTE_TAKES(FRAME_JOB);
	ops.from_peer = on_job;
	b->route.ops = &ops;
	frame_header(frame, FRAME_JOB, sizeof(frame) - FRAME_HEADER);
	for (size_t at = 0, n; at < sizeof(frame); at += n) {
		n = 1 + random_below(16384);
		if (n > sizeof(frame) - at)
			n = sizeof(frame) - at;
		assert_int_equal(tested_stream_ops.data(&b->route, frame + at, n), 0);
		if (at + n >= FRAME_HEADER)
			assert_int_equal(b->stream.consumed, at + n);
	}
	assert_int_equal(b->told, 1);
	assert_int_equal(b->stream.kept, 0);
	both_free(b);
}

/* A frame that may not be: refused by its header, not when it is whole. */
static void test_refused(void **state)
{
	struct both *b = both_new();
	uint8_t head[FRAME_HEADER];

	frame_header(head, FRAME_JOB, 1 << 20);
	assert_int_equal(tested_stream_ops.data(&b->route, head, sizeof(head)), -EPROTO);
	assert_int_equal(send(b->end, head, sizeof(head), 0), sizeof(head));
	turn(b);
	assert_int_equal(b->ends_gone, 1);
	both_free(b);
}

/* The stream breaks in the middle of a frame, in both directions: the next one begins with whole frames. */
static void test_broken(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], out[10000];
	struct both *b = both_new();
	struct h2_stream next = { 0 };
	struct taker t = { .next = 3 };
	size_t size = frame_make(frame, 1);
	ssize_t n;

	assert_int_equal(tested_stream_ops.data(&b->route, frame, size / 2), 0);
	assert_int_equal(send(b->end, frame, size / 2, 0), size / 2);
	turn(b);
	tested_stream_ops.closed(&b->route, false);
	assert_int_equal(b->streams_gone, 1);
	/* The end's frame goes on; without a stream nobody needs it, as the end sends it again. */
	assert_int_equal(send(b->end, frame + size / 2, size - size / 2, 0), size - size / 2);
	turn(b);
	route_use(&b->route, &next);
	size = frame_make(frame, 3);
	assert_int_equal(send(b->end, frame, size, 0), size);
	turn(b);
	n = tested_stream_ops.produce(&b->route, out, sizeof(out));
	assert_int_equal(n, size);
	taker_take(&t, out, n);
	t.next = 3;
	assert_int_equal(tested_stream_ops.data(&b->route, frame, size), 0);
	turn(b);
	n = recv(b->end, out, sizeof(out), 0);
	assert_int_equal(n, size);
	taker_take(&t, out, n);
	both_free(b);
}

/* A stream that waited for its guest is handed over with what has come on it, part of a frame too. */
static void test_hand_over(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], in[10000];
	struct both *from = both_new(), *to = both_new();
	struct taker t = { .next = 5 };
	size_t size = frame_make(frame, 5), cut = 1 + random_below(size - 1);
	ssize_t n;

	assert_int_equal(tested_stream_ops.data(&from->route, frame, cut), 0);
	route_hand_over(&from->route, &to->route);
	assert_ptr_equal(from->stream.ctx, &to->route);
	assert_true(to->stream.aborted);
	assert_null(from->route.stream);
	assert_int_equal(tested_stream_ops.data(&to->route, frame + cut, size - cut), 0);
	turn(to);
	n = recv(to->end, in, sizeof(in), 0);
	assert_int_equal(n, size);
	taker_take(&t, in, n);
	assert_int_equal(from->stream.consumed, size);
	/* whose stream is part of the other */
	both_free(to);
	both_free(from);
}

/* What a stream begins with is the owner's, who has no end yet: the rest waits, and is not consumed. */
static int on_early(void *ctx, struct evbuffer *in)
{
	struct both *b = ctx;
	uint8_t head[4];

	if (b->told || evbuffer_get_length(in) < sizeof(head))
		return b->fail;
	evbuffer_remove(in, head, sizeof(head));
	assert_memory_equal(head, "head", sizeof(head));
	b->told++;
	return b->fail;
}

static const struct route_ops view_ops = {
	.early = on_early,
	.stream_gone = on_stream_gone,
};

static struct both *both_early(void)
{
	struct both *b = both_new();

	route_close_end(&b->route);
	b->route.ops = &view_ops;
	assert_int_equal(tested_stream_ops.data(&b->route, (const uint8_t *)"he", 2), 0);
	assert_int_equal(b->told, 0);
	return b;
}

/* The end of `to` gets 50 frames that have come on the stream of `from`. */
static void early_taken(struct both *from, struct both *to, size_t size)
{
	struct taker t = { .have = 0 };
	uint8_t in[5000];
	ssize_t n;

	assert_int_equal(from->stream.consumed, 4);
	assert_int_equal(from->stream.kept, 0);
	if (from != to) {
		to->route.ops = &view_ops;
		route_close_end(&to->route);
		route_hand_over(&from->route, &to->route);
	}
	close(to->end);
	to->end = route_make_end(&to->route);
	assert_true(to->end >= 0);
	assert_int_equal(route_take(&to->route), 0);
	turn(to);
	while ((n = recv(to->end, in, sizeof(in), MSG_DONTWAIT)) > 0) {
		taker_take(&t, in, n);
		turn(to);
	}
	assert_int_equal(t.next, 50);
	assert_int_equal(from->stream.consumed, 4 + size);
}

static void test_early(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD];

	for (int other = 0; other < 2; other++) {
		struct both *from = both_early(), *to = other ? both_new() : from;
		size_t size = 0;

		assert_int_equal(tested_stream_ops.data(&from->route, (const uint8_t *)"ad", 2), 0);
		assert_int_equal(from->told, 1);
		for (uint32_t i = 0; i < 50; i++) {
			size_t n = frame_make(frame, i);

			assert_int_equal(tested_stream_ops.data(&from->route, frame, n), 0);
			size += n;
		}
		early_taken(from, to, size);
		if (other)
			both_free(to);
		both_free(from);
	}
}

/* The owner does not want it; or what waited is not for an end. */
static void test_early_bad(void **state)
{
	struct both *b = both_early();

	b->fail = -EPERM;
	assert_int_equal(tested_stream_ops.data(&b->route, (const uint8_t *)"ad", 2), -EPERM);
	b->fail = 0;
	assert_int_equal(tested_stream_ops.data(&b->route, (const uint8_t *)"12345678", 8), 0);
	close(b->end);
	b->end = route_make_end(&b->route);
	assert_int_equal(route_take(&b->route), -EPROTO);
	both_free(b);
}

/* The end of a view says what is its own: after its last frame the stream ends. No frame is for the agent. */
static void test_end_ends(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], out[10000];
	size_t size = frame_make(frame, 0);

	for (int bad = 0; bad < 2; bad++) {
		struct both *b = both_new();

		b->route.ops = &view_ops;
		assert_int_equal(route_begin(&b->route, "head", 4), 0);
		assert_int_equal(send(b->end, frame, size, 0), size);
		if (bad)
			assert_int_equal(send(b->end, out, other_make(out, FRAME_NOTE), 0), 12);
		close(b->end);
		b->end = -1;
		for (int i = 0; i < 3; i++)
			turn(b);
		assert_int_equal(b->route.socket, -1);
		assert_int_equal(tested_stream_ops.produce(&b->route, out, sizeof(out)), 4 + size);
		assert_memory_equal(out, "head", 4);
		assert_memory_equal(out + 4, frame, size);
		assert_int_equal(tested_stream_ops.produce(&b->route, out, sizeof(out)), -1);
		tested_stream_ops.closed(&b->route, true);
		assert_int_equal(b->streams_gone, 1);
		both_free(b);
	}
}

/* Closed in order: the stream goes on by itself, and only ends. */
static void test_close_clean(void **state)
{
	struct both *b = both_new();
	uint8_t out[10];

	assert_int_equal(route_tell_peer(&b->route, FRAME_GONE, NULL, 0), 0);
	b->stream.resumed = 0;
	route_close_clean(&b->route);
	assert_false(b->stream.aborted);
	assert_int_equal(b->stream.resumed, 1);
	assert_int_equal(b->stream.ops->produce(b->stream.ctx, out, sizeof(out)), -1);
	assert_null(b->stream.ops->data);
	assert_null(b->stream.ops->closed);
	both_free(b);
}

/* An end that closes its socket: what comes for it is taken and dropped, so that the rest gets through. */
static void test_end_gone(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD];
	struct both *b = both_new();
	size_t size = 0;

	close(b->end);
	b->end = -1;
	turn(b);
	assert_int_equal(b->ends_gone, 1);
	assert_int_equal(b->route.socket, -1);
	for (uint32_t i = 0; i < 100; i++) {
		size_t n = frame_make(frame, i);

		assert_int_equal(tested_stream_ops.data(&b->route, frame, n), 0);
		size += n;
	}
	assert_int_equal(b->stream.consumed, size);
	size = other_make(frame, FRAME_PAUSED);
	assert_int_equal(tested_stream_ops.data(&b->route, frame, size), 0);
	assert_int_equal(b->told, 1);
	both_free(b);
}

static void on_bound(evutil_socket_t fd, short what, void *arg)
{
}

/* Waits for it, in a loop that sleeps. */
static void until_end_gone(struct both *b)
{
	const struct timeval bound = { 0, 100000 };
	struct event *timer = event_new(b->agent.base, -1, EV_PERSIST, on_bound, NULL);
	const clock_t began = clock();

	assert_non_null(timer);
	event_add(timer, &bound);
	for (int i = 0; i < 100 && !b->ends_gone; i++)
		event_base_loop(b->agent.base, EVLOOP_ONCE);
	event_free(timer);
	assert_int_equal(b->ends_gone, 1);
	assert_true(clock() - began < CLOCKS_PER_SEC);
}

/*
 * It is noticed also while the end is not read, because the peer takes nothing; and what it has said is taken,
 * whether it has read all or not.
 */
static void test_end_gone_full(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], out[5000];

	for (int unread = 0; unread < 2; unread++) {
		struct taker t = { .have = 0 };
		struct both *b = both_new();
		uint32_t sent = 0;
		ssize_t n;

		if (unread)
			assert_int_equal(route_tell_end(&b->route, FRAME_PAUSED, frame, 4), 0);
		while ((n = send(b->end, frame, frame_make(frame, sent), MSG_DONTWAIT)) > 0) {
			if (n < (ssize_t)frame_make(frame, sent))
				break;
			sent++;
			turn(b);
		}
		assert_true(b->route.paused);
		for (int i = 0; i < 10; i++)
			turn(b);
		assert_int_equal(b->ends_gone, 0);
		close(b->end);
		b->end = -1;
		until_end_gone(b);
		while ((n = tested_stream_ops.produce(&b->route, out, sizeof(out))) > 0)
			taker_take(&t, out, n);
		assert_int_equal(t.next, sent);
		both_free(b);
	}
}

/* What an end has said before it went is taken, also if it is written to first. */
static void test_last_words(void **state)
{
	uint8_t payload[1000] = { 0 }, note[20];
	size_t n = other_make(note, FRAME_NOTE);

	for (int waits = 0; waits < 2; waits++) {
		struct both *b = both_new();

		/* More than it reads: the rest waits until it can be written. */
		for (int i = 0; waits && i < 300; i++)
			assert_int_equal(
				route_tell_end(&b->route, FRAME_ATTACHED, payload, sizeof(payload)),
				0);
		assert_int_equal(send(b->end, note, n, 0), n);
		close(b->end);
		b->end = -1;
		assert_int_equal(
			route_tell_end(&b->route, FRAME_ATTACHED, payload, sizeof(payload)), 0);
		assert_int_equal(b->ends_gone, 0);
		turn(b);
		assert_int_equal(b->notes, 1);
		assert_int_equal(b->ends_gone, 1);
		both_free(b);
	}
}

/* The kernel has no memory for a while: what was not written stays, and nothing is cut. */
static void test_scarce_write(void **state)
{
	struct both *b = both_new();
	struct taker t = { .have = 0 };
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], in[5000];
	ssize_t n;

	for (uint32_t i = 0; i < 20; i++) {
		size_t size = frame_make(frame, i);

		write_fails = i % 4 == 1 ? ENOBUFS : 0;
		assert_int_equal(tested_stream_ops.data(&b->route, frame, size), 0);
		turn(b);
		write_fails = 0;
	}
	write_fails = ENOMEM;
	n = frame_make(frame, 20);
	assert_int_equal(tested_stream_ops.data(&b->route, frame, n), 0);
	turn(b);
	write_fails = 0;
	while (evbuffer_get_length(b->route.to_end))
		event_base_loop(b->agent.base, EVLOOP_ONCE);
	while ((n = recv(b->end, in, sizeof(in), MSG_DONTWAIT)) > 0)
		taker_take(&t, in, n);
	assert_int_equal(t.next, 21);
	assert_int_equal(b->ends_gone, 0);
	both_free(b);
}

/* An end that asks and never reads is cut off. */
static void test_deaf(void **state)
{
	struct both *b = both_new();
	uint8_t payload[1000] = { 0 }, note[20];
	size_t n = other_make(note, FRAME_NOTE);

	while (evbuffer_get_length(b->route.to_end) <= H2_WINDOW + ROUTE_HELD)
		assert_int_equal(
			route_tell_end(&b->route, FRAME_ATTACHED, payload, sizeof(payload)), 0);
	assert_int_equal(send(b->end, note, n, 0), n);
	turn(b);
	assert_int_equal(b->ends_gone, 1);
	both_free(b);
}

/* libevent's memory: one in so many requests fails, while there is none. */
static unsigned int scarce;

static void *scarce_malloc(size_t size)
{
	return scarce && !random_below(scarce) ? NULL : malloc(size);
}

static void *scarce_realloc(void *old, size_t size)
{
	return scarce && !random_below(scarce) ? NULL : realloc(old, size);
}

/* Memory is short now and then: the end's frames come late, all of them and whole. */
static void test_scarce_out(void **state)
{
	static uint8_t all[FRAMES_SIZE];
	struct both *b = both_new();
	struct taker t = { .have = 0 };
	size_t size = 0, at = 0;
	uint8_t out[5000];
	int notes = 0;

	size = frames_make(all, FRAME_NOTE, &notes);
	/* An agent always has timers, and so room for one. */
	event_add(b->route.again, &(struct timeval){ 1000, 0 });
	event_del(b->route.again);
	for (int round = 0; t.next < FRAMES; round++) {
		size_t piece = 1 + random_below(random_below(4) ? 20000 : 10);
		ssize_t n = piece < size - at ? piece : size - at;

		n = n ? send(b->end, all + at, n, MSG_DONTWAIT) : 0;
		at += n > 0 ? n : 0;
		scarce = round / 50 % 2 ? 1 + random_below(3) : 0;
		turn(b);
		scarce = 0;
		/* not its time, but what it is for */
		if (evtimer_pending(b->route.again, NULL))
			event_active(b->route.again, EV_TIMEOUT, 0);
		n = tested_stream_ops.produce(&b->route, out, 1 + random_below(sizeof(out)));
		if (n > 0)
			taker_take(&t, out, n);
		assert_int_equal(b->ends_gone, 0);
	}
	assert_int_equal(b->notes, notes);
	both_free(b);
}

/* What cannot be kept of a stream breaks it, and what the end has got is whole and in order. */
static void test_scarce_in(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], in[20000];
	struct both *b = both_new();
	struct taker t = { .have = 0 };
	int broken = 0;

	for (uint32_t next = 0; next < FRAMES;) {
		size_t size = frame_make(frame, next), cut = random_below(size);
		int err;
		ssize_t n;

		scarce = 1 + random_below(5);
		err = tested_stream_ops.data(&b->route, frame, cut)
			      ?: tested_stream_ops.data(&b->route, frame + cut, size - cut);
		if (!random_below(10))
			err = err ?: route_tell_end(&b->route, FRAME_LINK, frame + FRAME_HEADER, 4);
		scarce = 0;
		assert_true(!err || err == -ENOMEM);
		if (err) {
			tested_stream_ops.closed(&b->route, false);
			route_use(&b->route, &b->stream);
			broken++;
		}
		/* The ends number their frames: all that counts here is that each is whole. */
		while ((n = recv(b->end, in, sizeof(in), MSG_DONTWAIT)) > 0)
			for (ssize_t at = 0; at < n;) {
				uint32_t length = frame_get_u32(in + at + 4);

				assert_int_equal(frame_get_u32(in + at), FRAME_LINK);
				assert_true(at + FRAME_HEADER + (ssize_t)length <= n);
				assert_in_range(frame_get_u32(in + at + FRAME_HEADER), t.next,
						next);
				t.next = frame_get_u32(in + at + FRAME_HEADER);
				if (length > 4)
					assert_int_equal(frame_make(frame, t.next),
							 FRAME_HEADER + length);
				if (length > 4)
					assert_memory_equal(in + at, frame, FRAME_HEADER + length);
				at += FRAME_HEADER + length;
			}
		turn(b);
		next++;
	}
	assert_true(broken > 10);
	assert_int_equal(b->ends_gone, 0);
	both_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out),	      cmocka_unit_test(test_in),
		cmocka_unit_test(test_long),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_broken),	      cmocka_unit_test(test_hand_over),
		cmocka_unit_test(test_end_gone),      cmocka_unit_test(test_deaf),
		cmocka_unit_test(test_scarce_out),    cmocka_unit_test(test_scarce_in),
		cmocka_unit_test(test_end_gone_full), cmocka_unit_test(test_last_words),
		cmocka_unit_test(test_early),	      cmocka_unit_test(test_early_bad),
		cmocka_unit_test(test_scarce_write),  cmocka_unit_test(test_end_ends),
		cmocka_unit_test(test_close_clean),
	};

	random_begin();
	signal(SIGPIPE, SIG_IGN); /* as in an agent */
	event_set_mem_functions(scarce_malloc, scarce_realloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
