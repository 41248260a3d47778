// SPDX-License-Identifier: GPL-2.0-or-later
/* A route of a job, between the socket of an end and a stream: whole frames, in order, bounded. */
#include <signal.h>
#include <time.h>

#include "random.h"
#include "route_both.h"

#define FRAMES 2000
#define READ_MAX (65536 - 256) /* of job/route.c: what one read brings at most */
#define FRAMES_SIZE (FRAMES * (FRAME_HEADER + 4 + PAYLOAD))

/* All frames of the ends, some of the owner between them. Returns the size. */
static size_t frames_make(uint8_t all[FRAMES_SIZE], enum frame_type other, int *others)
{
	size_t size = 0;

	for (uint32_t n = 0; n < FRAMES; n++) {
		size += both_frame(all + size, n);
		if (!random_below(10) && size + 12 < FRAMES_SIZE) {
			size += both_other(all + size, other);
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
		both_turn(b);
		if (evbuffer_get_length(b->route.to_peer) > most)
			most = evbuffer_get_length(b->route.to_peer);
		/* The peer takes some now and then. */
		if (random_below(3) || at == size) {
			n = route_stream_ops.produce(&b->route, out, 1 + random_below(sizeof(out)));
			if (n > 0)
				both_take(&t, out, n);
		}
	}
	assert_int_equal(b->notes, notes);
	assert_int_equal(b->ends_gone, 0);
	/* One read beyond the bound, which may end a frame that had begun. */
	assert_true(most <= ROUTE_HELD + READ_MAX + FRAME_HEADER + FRAME_LINK_MAX);
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
			assert_int_equal(route_stream_ops.data(&b->route, all + at, piece), 0);
			at += piece;
		}
		if (random_below(3) || !piece) {
			n = recv(b->end, in, 1 + random_below(sizeof(in)), MSG_DONTWAIT);
			if (n > 0)
				both_take(&t, in, n);
		}
		both_turn(b);
		assert_true(b->stream.consumed <= at);
	}
	both_turn(b);
	assert_int_equal(b->told, others);
	assert_int_equal(b->stream.consumed, size);
	both_free(b);
}

static int on_job(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct both *b = ctx;

	assert_int_equal(type, FRAME_JOB);
	assert_int_equal(length, 4 * ROUTE_HELD);
	b->told++;
	return 0;
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
		assert_int_equal(route_stream_ops.data(&b->route, frame + at, n), 0);
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
	assert_int_equal(route_stream_ops.data(&b->route, head, sizeof(head)), -EPROTO);
	assert_int_equal(send(b->end, head, sizeof(head), 0), sizeof(head));
	both_turn(b);
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
	size_t size = both_frame(frame, 1);
	ssize_t n;

	assert_int_equal(route_stream_ops.data(&b->route, frame, size / 2), 0);
	assert_int_equal(send(b->end, frame, size / 2, 0), size / 2);
	both_turn(b);
	route_stream_ops.closed(&b->route, false);
	assert_int_equal(b->streams_gone, 1);
	/* The end's frame goes on; without a stream nobody needs it, as the end sends it again. */
	assert_int_equal(send(b->end, frame + size / 2, size - size / 2, 0), size - size / 2);
	both_turn(b);
	route_use(&b->route, &next);
	size = both_frame(frame, 3);
	assert_int_equal(send(b->end, frame, size, 0), size);
	both_turn(b);
	n = route_stream_ops.produce(&b->route, out, sizeof(out));
	assert_int_equal(n, size);
	both_take(&t, out, n);
	t.next = 3;
	assert_int_equal(route_stream_ops.data(&b->route, frame, size), 0);
	both_turn(b);
	n = recv(b->end, out, sizeof(out), 0);
	assert_int_equal(n, size);
	both_take(&t, out, n);
	both_free(b);
}

/* A stream that waited for its guest is handed over with what has come on it, part of a frame too. */
static void test_hand_over(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], in[10000];
	struct both *from = both_new(), *to = both_new();
	struct taker t = { .next = 5 };
	size_t size = both_frame(frame, 5), cut = 1 + random_below(size - 1);
	ssize_t n;

	assert_int_equal(route_stream_ops.data(&from->route, frame, cut), 0);
	route_hand_over(&from->route, &to->route);
	assert_ptr_equal(from->stream.ctx, &to->route);
	assert_true(to->stream.aborted);
	assert_null(from->route.stream);
	assert_int_equal(route_stream_ops.data(&to->route, frame + cut, size - cut), 0);
	both_turn(to);
	n = recv(to->end, in, sizeof(in), 0);
	assert_int_equal(n, size);
	both_take(&t, in, n);
	assert_int_equal(from->stream.consumed, size);
	/* whose stream is part of the other */
	both_free(to);
	both_free(from);
}

/* An end that closes its socket: what comes for it is taken and dropped, so that the rest gets through. */
static void test_end_gone(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD];
	struct both *b = both_new();
	size_t size = 0;

	close(b->end);
	b->end = -1;
	both_turn(b);
	assert_int_equal(b->ends_gone, 1);
	assert_int_equal(b->route.socket, -1);
	for (uint32_t i = 0; i < 100; i++) {
		size_t n = both_frame(frame, i);

		assert_int_equal(route_stream_ops.data(&b->route, frame, n), 0);
		size += n;
	}
	assert_int_equal(b->stream.consumed, size);
	size = both_other(frame, FRAME_PAUSED);
	assert_int_equal(route_stream_ops.data(&b->route, frame, size), 0);
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
		while ((n = send(b->end, frame, both_frame(frame, sent), MSG_DONTWAIT)) > 0) {
			if (n < (ssize_t)both_frame(frame, sent))
				break;
			sent++;
			both_turn(b);
		}
		assert_true(b->route.paused);
		for (int i = 0; i < 10; i++)
			both_turn(b);
		assert_int_equal(b->ends_gone, 0);
		close(b->end);
		b->end = -1;
		until_end_gone(b);
		while ((n = route_stream_ops.produce(&b->route, out, sizeof(out))) > 0)
			both_take(&t, out, n);
		assert_int_equal(t.next, sent);
		both_free(b);
	}
}

/* What an end has said before it went is taken, also if it is written to first. */
static void test_last_words(void **state)
{
	uint8_t payload[1000] = { 0 }, note[20];
	size_t n = both_other(note, FRAME_NOTE);

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
		both_turn(b);
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
		size_t size = both_frame(frame, i);

		both_write_fails = i % 4 == 1 ? ENOBUFS : 0;
		assert_int_equal(route_stream_ops.data(&b->route, frame, size), 0);
		both_turn(b);
		both_write_fails = 0;
	}
	both_write_fails = ENOMEM;
	n = both_frame(frame, 20);
	assert_int_equal(route_stream_ops.data(&b->route, frame, n), 0);
	both_turn(b);
	both_write_fails = 0;
	while (evbuffer_get_length(b->route.to_end))
		event_base_loop(b->agent.base, EVLOOP_ONCE);
	while ((n = recv(b->end, in, sizeof(in), MSG_DONTWAIT)) > 0)
		both_take(&t, in, n);
	assert_int_equal(t.next, 21);
	assert_int_equal(b->ends_gone, 0);
	both_free(b);
}

/* An end that asks and never reads is cut off. */
static void test_deaf(void **state)
{
	struct both *b = both_new();
	uint8_t payload[1000] = { 0 }, note[20];
	size_t n = both_other(note, FRAME_NOTE);

	while (evbuffer_get_length(b->route.to_end) <= H2_WINDOW + ROUTE_HELD)
		assert_int_equal(
			route_tell_end(&b->route, FRAME_ATTACHED, payload, sizeof(payload)), 0);
	assert_int_equal(send(b->end, note, n, 0), n);
	both_turn(b);
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
		both_turn(b);
		scarce = 0;
		/* not its time, but what it is for */
		if (evtimer_pending(b->route.again, NULL))
			event_active(b->route.again, EV_TIMEOUT, 0);
		n = route_stream_ops.produce(&b->route, out, 1 + random_below(sizeof(out)));
		if (n > 0)
			both_take(&t, out, n);
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
		size_t size = both_frame(frame, next), cut = random_below(size);
		int err;
		ssize_t n;

		scarce = 1 + random_below(5);
		err = route_stream_ops.data(&b->route, frame, cut)
			      ?: route_stream_ops.data(&b->route, frame + cut, size - cut);
		if (!random_below(10))
			err = err ?: route_tell_end(&b->route, FRAME_LINK, frame + FRAME_HEADER, 4);
		scarce = 0;
		assert_true(!err || err == -ENOMEM);
		if (err) {
			route_stream_ops.closed(&b->route, false);
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
					assert_int_equal(both_frame(frame, t.next),
							 FRAME_HEADER + length);
				if (length > 4)
					assert_memory_equal(in + at, frame, FRAME_HEADER + length);
				at += FRAME_HEADER + length;
			}
		both_turn(b);
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
		cmocka_unit_test(test_scarce_write),
	};

	random_begin();
	signal(SIGPIPE, SIG_IGN); /* as in an agent */
	event_set_mem_functions(scarce_malloc, scarce_realloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
