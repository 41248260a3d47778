// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes between descriptors and frames, over pipes and sockets, with the stream's two calls stood in for. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include <event2/event.h>

#include "base/log.h"
#include "job/channel.h"
#include "random.h"

static struct event_base *base;

/* The stream: only counts. It is never looked into. */
static unsigned int resumed;
static size_t consumed;
static uint8_t stream_body;
#define STREAM ((struct h2_stream *)&stream_body)

void h2_stream_resume(struct h2_stream *s)
{
	assert_ptr_equal(s, STREAM);
	resumed++;
}

void h2_stream_consume(struct h2_stream *s, size_t length)
{
	assert_ptr_equal(s, STREAM);
	consumed += length;
}

void log_message(enum log_level level, const char *file, const char *format, ...)
{
}

static unsigned int broken_count;

static void moved(void *ctx, struct relay_sink *sink, bool broken)
{
	broken_count += broken;
}

static void turn(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static void fill_random(uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = random_64() >> 32;
}

static bool shares_nonblock(int fd)
{
	return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

/* A source's own read(): data, then a frame of another type, then nothing, then the end. */
static ssize_t read_by_turns(void *ctx, uint8_t *buf, size_t most)
{
	unsigned int *turns = ctx;

	switch ((*turns)++) {
	case 0:
		assert_int_equal(most, 100);
		memset(buf + FRAME_HEADER, 'x', 7);
		frame_header(buf, FRAME_SHOWN, 7);
		return FRAME_HEADER + 7;
	case 1:
		frame_header(buf, FRAME_TERMINAL, 44);
		return FRAME_HEADER + 44;
	case 2:
		return -EAGAIN;
	default:
		return 0;
	}
}

/* Only data of the source's own type takes credit and counts as sent. */
static void test_own_read(void **state)
{
	uint8_t buf[FRAME_HEADER + 100];
	unsigned int turns = 0;
	struct relay_source s;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	relay_source_init(&s, base, FRAME_SHOWN);
	s.read = read_by_turns;
	s.ctx = &turns;
	relay_source_open(&s, fds[0], RELAY_OWN, STREAM);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER + 7);
	assert_int_equal(s.credit, FRAME_WINDOW - 7);
	assert_int_equal(s.sent, 7);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER + 44);
	assert_int_equal(frame_get_u32(buf), FRAME_TERMINAL);
	assert_int_equal(s.credit, FRAME_WINDOW - 7);
	assert_int_equal(s.sent, 7);
	assert_false(s.dry);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	assert_true(s.dry && s.waiting);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	assert_int_equal(turns, 3);
	assert_int_equal(write(fds[1], "", 1), 1);
	turn();
	assert_false(s.waiting);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER);
	assert_int_equal(frame_get_u32(buf), FRAME_SHOWN);
	assert_int_equal(frame_get_u32(buf + 4), 0);
	assert_int_equal(s.fd, -1);
	close(fds[1]);
}

/* What the other side of a pipe reads comes out of frames, within credit, and EOF is an empty frame. */
static void test_source(void **state)
{
	uint8_t buf[FRAME_HEADER + FRAME_DATA_MAX], data[100];
	struct relay_source s;
	enum relay_kind kind;
	enum frame_type type;
	uint32_t length;
	int pair[2], shared, left, fd;
	ssize_t n;

	assert_int_equal(pipe(pair), 0);
	shared = dup(pair[0]);
	fd = relay_adopt(pair[0], &kind);
	assert_int_equal(kind, RELAY_OWN);
	assert_true(shares_nonblock(fd));
	assert_false(shares_nonblock(shared));

	relay_source_init(&s, base, FRAME_STDIN);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	relay_source_open(&s, fd, kind, STREAM);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	turn();
	resumed = 0;
	fill_random(data, sizeof(data));
	assert_int_equal(write(pair[1], data, sizeof(data)), sizeof(data));
	turn();
	assert_int_equal(resumed, 1);
	n = relay_source_fill(&s, buf, FRAME_HEADER + 60);
	assert_int_equal(n, FRAME_HEADER + 60);
	assert_int_equal(frame_parse(buf, &type, &length), 0);
	assert_int_equal(type, FRAME_STDIN);
	assert_int_equal(length, 60);
	assert_memory_equal(buf + FRAME_HEADER, data, 60);
	/* credit: nothing is read without it */
	s.credit = 10;
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER + 10);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	assert_int_equal(ioctl(shared, FIONREAD, &left), 0);
	assert_int_equal(left, 30);
	assert_int_equal(relay_source_grant(&s, FRAME_WINDOW), 0);
	assert_int_equal(relay_source_grant(&s, 1), -EPROTO);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER + 30);
	assert_int_equal(s.sent, 100);

	close(pair[1]);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER);
	assert_int_equal(frame_parse(buf, &type, &length), 0);
	assert_int_equal(length, 0);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	assert_int_equal(s.fd, -1);
	close(shared);
}

/* A file stays open at its end, so that it can be set back. */
static void test_file(void **state)
{
	uint8_t buf[FRAME_HEADER + 4096];
	struct relay_source s;
	enum relay_kind kind;
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	fd = dup(fileno(f));
	assert_int_equal(write(fd, "abcdef", 6), 6);
	lseek(fd, 0, SEEK_SET);
	fd = relay_adopt(fd, &kind);
	assert_int_equal(kind, RELAY_FILE);
	relay_source_init(&s, base, FRAME_STDIN);
	relay_source_open(&s, fd, kind, STREAM);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER + 6);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	assert_int_equal(s.fd, fd);
	relay_source_stop(&s);
	assert_int_equal(relay_source_rewind(&s, 7), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 6);
	assert_int_equal(relay_source_rewind(&s, 2), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
	relay_source_close(&s, false);
	assert_int_equal(relay_source_rewind(&s, 0), -EPIPE);
	fclose(f);
}

/* A pipe is given back only while nothing has come from it; then it blocks, as programs expect. */
static void test_restore(void **state)
{
	uint8_t buf[FRAME_HEADER + 16];
	struct relay_source s;
	enum relay_kind kind;
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	relay_source_init(&s, base, FRAME_STDIN);
	relay_source_open(&s, relay_adopt(pair[0], &kind), kind, STREAM);
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), 0);
	assert_true(s.waiting);
	relay_source_stop(&s);
	/* no event resumes a stream that is gone: h2_stream_resume() would see NULL */
	assert_int_equal(write(pair[1], "a", 1), 1);
	turn();
	assert_int_equal(relay_source_rewind(&s, 0), 0);
	assert_true(shares_nonblock(s.fd));
	relay_restore(s.fd, kind);
	assert_false(shares_nonblock(s.fd));
	assert_int_equal(relay_source_fill(&s, buf, sizeof(buf)), FRAME_HEADER + 1);
	assert_int_equal(relay_source_rewind(&s, 1), 0);
	assert_int_equal(relay_source_rewind(&s, 0), -ESPIPE);
	relay_source_close(&s, false);
	close(pair[1]);
}

/* A full pipe holds no more than the window, and gives credit only for what has left. */
static void test_sink(void **state)
{
	static uint8_t data[FRAME_WINDOW], got[2 * FRAME_WINDOW];
	struct relay_sink s;
	enum relay_kind kind;
	size_t have = 0;
	ssize_t n;
	int pair[2], fd, size;

	assert_int_equal(pipe(pair), 0);
	size = fcntl(pair[1], F_SETPIPE_SZ, 4096);
	assert_true(size >= 4096 && size < FRAME_WINDOW);
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	fd = relay_adopt(pair[1], &kind);
	relay_sink_init(&s, base, moved, NULL);
	s.pipe = true;
	relay_sink_open(&s, fd, kind);
	fill_random(data, sizeof(data));
	for (size_t at = 0; at < sizeof(data); at += 1024)
		assert_int_equal(relay_sink_put(&s, data + at, 1024), 0);
	assert_int_equal(relay_sink_put(&s, data, 1), -EPROTO);
	assert_int_equal(s.written, size);
	assert_int_equal(relay_sink_held(&s), sizeof(data) - size);
	assert_int_equal(relay_sink_read(&s), 0);
	assert_int_equal(relay_sink_want(&s), 0);
	relay_sink_end(&s);
	assert_int_not_equal(s.fd, -1);
	while ((n = read(pair[0], got + have, 1000)) > 0) {
		have += n;
		turn();
		assert_int_equal(relay_sink_read(&s), have);
	}
	assert_int_equal(n, 0);
	assert_int_equal(have, sizeof(data));
	assert_memory_equal(got, data, sizeof(data));
	assert_int_equal(s.fd, -1);
	assert_int_equal(relay_sink_want(&s), FRAME_WINDOW);
	relay_sink_close(&s);
	close(pair[0]);
}

/* What a reader leaves in the pipe is known, ended or broken. */
static void test_unread(void **state)
{
	char buf[4];
	int pair[2];

	for (int ended = 0; ended < 2; ended++) {
		struct relay_sink s;

		assert_int_equal(pipe2(pair, O_NONBLOCK), 0);
		relay_sink_init(&s, base, moved, NULL);
		s.pipe = true;
		relay_sink_open(&s, pair[1], RELAY_OWN);
		assert_int_equal(relay_sink_put(&s, (const uint8_t *)"0123456789", 10), 0);
		if (ended)
			relay_sink_end(&s);
		assert_int_equal(read(pair[0], buf, 4), 4);
		assert_int_equal(relay_sink_read(&s), 4);
		close(pair[0]);
		broken_count = 0;
		if (!ended) {
			assert_int_equal(relay_sink_put(&s, (const uint8_t *)"x", 1), 0);
			assert_int_equal(broken_count, 1);
			assert_int_equal(s.fd, -1);
			/* for it is dropped, with credit, so that the stream goes on */
			assert_int_equal(relay_sink_put(&s, (const uint8_t *)"x", 1), 0);
			assert_int_equal(s.done, 12);
		}
		assert_int_equal(relay_sink_read(&s), 4);
		relay_sink_close(&s);
	}
}

static int nothing(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	return -EPROTO;
}

/* Random data from one channel into the other, in pieces of random size, both descriptors at once. */
static void test_channels(void **state)
{
	static uint8_t data[2][300000], got[2][300000];
	struct relay_source out[2];
	struct relay_sink in[2];
	struct channel from = { .frame = nothing, .stream = STREAM };
	struct channel to = { .frame = nothing, .stream = STREAM };
	size_t put[2] = { 0, 0 }, have[2] = { 0, 0 }, all = 0;
	int write_end[2], read_end[2], pair[2];

	assert_int_equal(channel_init(&from), 0);
	assert_int_equal(channel_init(&to), 0);
	for (int i = 0; i < 2; i++) {
		fill_random(data[i], sizeof(data[i]));
		relay_source_init(&out[i], base, i ? FRAME_STDERR : FRAME_STDOUT);
		assert_int_equal(pipe2(pair, O_NONBLOCK), 0);
		relay_source_open(&out[i], pair[0], RELAY_OWN, STREAM);
		write_end[i] = pair[1];
		from.sources[i] = &out[i];
		/* one goes through a pipe, the other through a socket */
		if (i)
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
					 0);
		else
			assert_int_equal(pipe2(pair, O_NONBLOCK), 0);
		relay_sink_init(&in[i], base, moved, NULL);
		relay_sink_open(&in[i], pair[1], i ? RELAY_SOCKET : RELAY_OWN);
		read_end[i] = pair[0];
		to.sinks[i + 1] = &in[i];
	}
	consumed = 0;
	while (have[0] < sizeof(got[0]) || have[1] < sizeof(got[1])) {
		uint8_t buf[20000];
		ssize_t n;

		for (int i = 0; i < 2; i++) {
			size_t want = random_below(5000) + 1;

			if (want > sizeof(data[i]) - put[i])
				want = sizeof(data[i]) - put[i];
			n = want ? write(write_end[i], data[i] + put[i], want) : 0;
			put[i] += n > 0 ? n : 0;
		}
		turn();
		n = channel_produce(&from, buf, random_below(sizeof(buf)) + 1);
		assert_true(n >= 0);
		/* cut anywhere */
		for (ssize_t at = 0; at < n;) {
			size_t piece = random_below(3000) + 1;

			if (piece > (size_t)(n - at))
				piece = n - at;
			assert_int_equal(channel_data(&to, buf + at, piece), 0);
			at += piece;
			all += piece;
		}
		for (int i = 0; i < 2; i++) {
			uint32_t grant = relay_sink_want(&in[i]);

			assert_int_equal(relay_source_grant(&out[i], grant), 0);
			n = read(read_end[i], got[i] + have[i], sizeof(got[i]) - have[i]);
			have[i] += n > 0 ? n : 0;
		}
	}
	assert_memory_equal(got[0], data[0], sizeof(got[0]));
	assert_memory_equal(got[1], data[1], sizeof(got[1]));
	assert_int_equal(consumed, all);
	for (int i = 0; i < 2; i++) {
		relay_source_close(&out[i], false);
		relay_sink_close(&in[i]);
		close(write_end[i]);
		close(read_end[i]);
	}
	channel_exit(&from);
	channel_exit(&to);
}

static int text(void *ctx, struct relay_sink *sink, uint8_t *data, size_t length)
{
	return relay_sink_put_text(sink, data, length);
}

/* A terminal's output comes in whole frames, and one CR in front of each LF goes; all of it is credit. */
static void test_text(void **state)
{
	static const char shown[] = "one\r\n\r\r\n\n\rtwo\r", want[] = "one\n\r\n\n\rtwo\r";
	uint8_t frame[FRAME_HEADER + sizeof(shown) - 1];
	char got[100];
	struct relay_sink in;
	struct channel c = { .frame = nothing, .text = text, .stream = STREAM };
	int pair[2];

	assert_int_equal(pipe2(pair, O_NONBLOCK), 0);
	assert_int_equal(channel_init(&c), 0);
	relay_sink_init(&in, base, moved, NULL);
	relay_sink_open(&in, pair[1], RELAY_OWN);
	in.whole = true;
	c.sinks[3] = &in;
	frame_header(frame, FRAME_SHOWN, sizeof(shown) - 1);
	memcpy(frame + FRAME_HEADER, shown, sizeof(shown) - 1);
	/* cut into two anywhere */
	for (size_t at = 1; at < sizeof(frame); at++) {
		assert_int_equal(channel_data(&c, frame, at), 0);
		assert_int_equal(channel_data(&c, frame + at, sizeof(frame) - at), 0);
		assert_int_equal(read(pair[0], got, sizeof(got)), sizeof(want) - 1);
		assert_memory_equal(got, want, sizeof(want) - 1);
		assert_int_equal(in.done, at * (sizeof(shown) - 1));
	}
	/* its end leaves it open */
	frame_header(frame, FRAME_SHOWN, 0);
	assert_int_equal(channel_data(&c, frame, FRAME_HEADER), 0);
	assert_true(in.fd >= 0);
	in.granted = 1;
	frame_header(frame, FRAME_SHOWN, 2);
	assert_int_equal(channel_data(&c, frame, FRAME_HEADER + 2), -EPROTO);
	relay_sink_close(&in);
	close(pair[0]);
	channel_exit(&c);
}

/* What a stream may not carry ends it. */
static void test_refused(void **state)
{
	struct relay_sink in;
	struct channel c = { .frame = nothing, .stream = STREAM, .sinks = { &in } };
	uint8_t frame[FRAME_HEADER + 4] = { 0 };

	relay_sink_init(&in, base, moved, NULL);
	assert_int_equal(channel_init(&c), 0);
	frame_header(frame, FRAME_STDOUT, 1);
	assert_int_equal(channel_data(&c, frame, FRAME_HEADER + 1), -EPROTO);
	channel_exit(&c);
	memset(&c.have, 0, sizeof(c.have));
	assert_int_equal(channel_init(&c), 0);
	frame_header(frame, FRAME_STDIN, FRAME_DATA_MAX + 1);
	assert_int_equal(channel_data(&c, frame, FRAME_HEADER), -EMSGSIZE);
	channel_exit(&c);
	c.have = 0;
	assert_int_equal(channel_init(&c), 0);
	frame_header(frame, FRAME_GO, 0);
	assert_int_equal(channel_data(&c, frame, FRAME_HEADER), -EPROTO);
	channel_exit(&c);
	assert_int_equal(channel_fd((const uint8_t[]){ 4, 0, 0, 0 }, 4, 4), -EPROTO);
	assert_int_equal(channel_fd((const uint8_t[]){ 3, 0, 0, 0 }, 4, 4), 3);
	assert_int_equal(channel_fd((const uint8_t[]){ 2, 0, 0, 0 }, 4, 4), 2);
	assert_int_equal(channel_fd((const uint8_t[]){ 2, 0, 0, 0 }, 4, 8), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_read), cmocka_unit_test(test_source),
		cmocka_unit_test(test_file),	 cmocka_unit_test(test_restore),
		cmocka_unit_test(test_sink),	 cmocka_unit_test(test_unread),
		cmocka_unit_test(test_channels), cmocka_unit_test(test_text),
		cmocka_unit_test(test_refused),
	};
	int failed;

	base = event_base_new();
	if (!base)
		return 1;
	random_begin();
	signal(SIGPIPE, SIG_IGN); /* as the agent does */
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(base);
	return failed;
}
