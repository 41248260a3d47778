// SPDX-License-Identifier: GPL-2.0-or-later
/* A route of a view: the head of its stream, an end that comes later, and a stream that is ended in order. */
#include <signal.h>

#include "route_both.h"

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
	.stream_gone = both_stream_gone,
};

static struct both *both_early(void)
{
	struct both *b = both_new();

	route_close_end(&b->route);
	b->route.ops = &view_ops;
	assert_int_equal(route_stream_ops.data(&b->route, (const uint8_t *)"he", 2), 0);
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
	both_turn(to);
	while ((n = recv(to->end, in, sizeof(in), MSG_DONTWAIT)) > 0) {
		both_take(&t, in, n);
		both_turn(to);
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

		assert_int_equal(route_stream_ops.data(&from->route, (const uint8_t *)"ad", 2), 0);
		assert_int_equal(from->told, 1);
		for (uint32_t i = 0; i < 50; i++) {
			size_t n = both_frame(frame, i);

			assert_int_equal(route_stream_ops.data(&from->route, frame, n), 0);
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
	assert_int_equal(route_stream_ops.data(&b->route, (const uint8_t *)"ad", 2), -EPERM);
	b->fail = 0;
	assert_int_equal(route_stream_ops.data(&b->route, (const uint8_t *)"12345678", 8), 0);
	close(b->end);
	b->end = route_make_end(&b->route);
	assert_int_equal(route_take(&b->route), -EPROTO);
	both_free(b);
}

/* The end of a view says what is its own: after its last frame the stream ends. No frame is for the agent. */
static void test_end_ends(void **state)
{
	uint8_t frame[FRAME_HEADER + 4 + PAYLOAD], out[10000];
	size_t size = both_frame(frame, 0);

	for (int bad = 0; bad < 2; bad++) {
		struct both *b = both_new();

		b->route.ops = &view_ops;
		assert_int_equal(route_begin(&b->route, "head", 4), 0);
		assert_int_equal(send(b->end, frame, size, 0), size);
		if (bad)
			assert_int_equal(send(b->end, out, both_other(out, FRAME_NOTE), 0), 12);
		close(b->end);
		b->end = -1;
		for (int i = 0; i < 3; i++)
			both_turn(b);
		assert_int_equal(b->route.socket, -1);
		assert_int_equal(route_stream_ops.produce(&b->route, out, sizeof(out)), 4 + size);
		assert_memory_equal(out, "head", 4);
		assert_memory_equal(out + 4, frame, size);
		assert_int_equal(route_stream_ops.produce(&b->route, out, sizeof(out)), -1);
		route_stream_ops.closed(&b->route, true);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_early_bad),
		cmocka_unit_test(test_end_ends),
		cmocka_unit_test(test_close_clean),
	};

	signal(SIGPIPE, SIG_IGN); /* as in an agent */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
