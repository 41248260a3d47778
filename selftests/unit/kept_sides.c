// SPDX-License-Identifier: GPL-2.0-or-later
#include "kept_sides.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>

#include "agent_socket.h"
#include "base/clock.h"
#include "built.h"
#include "frames.h"
#include "helpers/common/control.h"
#include "job/keeper.h"
#include "random.h"
#include "wire/descriptors.h"
#include "wire/frame.h"
#include "wire/launch.h"
#include "wire/view.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

struct kept_sides sides = { .listener = -1 };
static bool broke;
static uint32_t asked, answered; /* tags, which answers have in the same order */

uint8_t sides_pattern(uint64_t at)
{
	at = (at + 1) * 0x9e3779b97f4a7c15u;
	return at >> 37;
}

static int on_message(void *ctx, const struct files_message *m)
{
	if (m->op == FILES_NEWS)
		return 0;
	assert_true(m->op & FILES_ANSWER);
	assert_int_equal(m->tag, answered + 1);
	answered++;
	sides.last_error = m->error;
	if (m->op != (FILES_READ | FILES_ANSWER))
		return 0;
	assert_int_equal(m->error, 0);
	assert_int_equal(m->length, PIECE);
	for (size_t i = 0; i < m->length; i += 101)
		assert_int_equal(m->data[i], sides_pattern(sides.read_bytes + i));
	sides.read_bytes += m->length;
	return 0;
}

static void on_read(void *ctx)
{
}

static void on_broke(void *ctx)
{
	broke = true;
}

struct files_message *sides_message(enum files_op op)
{
	static struct files_message m;

	memset(&m, 0, sizeof(m));
	m.op = op;
	if (op != FILES_WRITE && op != FILES_CLOSE)
		m.tag = ++asked;
	return &m;
}

void sides_say(const struct files_message *m)
{
	assert_int_equal(stream_put(&sides.view, m), 0);
	stream_flush(&sides.view);
}

void sides_start_launcher(void)
{
	const char *path = built("ehlaunch");
	struct launch_news news;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	sides.ehlaunch_pid = fork();
	assert_true(sides.ehlaunch_pid >= 0);
	if (!sides.ehlaunch_pid) {
		if (pair[1] == LAUNCH_SOCKET ? fcntl(pair[1], F_SETFD, 0) < 0
					     : dup2(pair[1], LAUNCH_SOCKET) < 0)
			_exit(1);
		execl(path, "ehlaunch", "--allow-root", NULL);
		_exit(1);
	}
	close(pair[1]);
	sides.launcher = pair[0];
	assert_int_equal(recv(sides.launcher, &news, sizeof(news), 0), sizeof(news));
	assert_int_equal(news.stage, LAUNCH_READY);
}

int sides_hear(struct side *s)
{
	struct pollfd p = { s->news, POLLIN, 0 };
	struct launch_news news;
	int ret, control;

	do {
		assert_true(poll(&p, 1, WAIT_MS) > 0);
		ret = keeper_receive(s->news, &news, &control, 1);
	} while (!ret);
	if (ret > 0) {
		assert_int_equal(news.stage, LAUNCH_READY);
		assert_true(control >= 0);
		s->control = control;
	}
	return ret;
}

void sides_forget_view(void)
{
	if (!sides.view.in)
		return;
	if (sides.view.readable)
		event_free(sides.view.readable);
	if (sides.view.writable)
		event_free(sides.view.writable);
	evbuffer_free(sides.view.in);
	evbuffer_free(sides.view.out);
	evbuffer_free(sides.view.from);
	evbuffer_free(sides.view.to);
	free(sides.view.link.memory);
	if (sides.view.fd >= 0)
		close(sides.view.fd);
	memset(&sides.view, 0, sizeof(sides.view));
}

void sides_serve(struct side *s, uint32_t limit_ms)
{
	struct launch_files q = {
		.head = { LAUNCH_VERSION, LAUNCH_FILES },
		.uid = geteuid(),
		.stay = { .limit_ms = limit_ms, .number = 3, .token = TOKEN, .other = "0.1" },
	};
	struct iovec iov[] = { { &q, sizeof(q) }, { sides.folder, strlen(sides.folder) + 1 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	int news[2], pair[2];
	union descriptors room;

	strcpy(q.user, geteuid() ? "" : "root");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	descriptors_put(&msg, &room, (int[]){ news[1], pair[1] }, 2);
	assert_true(sendmsg(sides.launcher, &msg, 0) > 0);
	close(news[1]);
	close(pair[1]);
	s->news = news[0];
	assert_int_equal(sides_hear(s), 1);
	sides_forget_view();
	sides.view.message = on_message;
	sides.view.read = on_read;
	sides.view.broke = on_broke;
	asked = answered = 0;
	sides.read_bytes = 0;
	broke = false;
	assert_int_equal(stream_open(&sides.view, sides.base, pair[0]), 0);
}

void sides_reconnect(const struct side *s)
{
	int pair[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	err = control_ask(s->control, 0, VIEW_CONNECT, pair[1]);
	close(pair[1]);
	/* It has not taken the last ones yet. */
	assert_true(!err || err == -EAGAIN);
	if (err) {
		close(pair[0]);
		return;
	}
	sides.breaks++;
	assert_int_equal(stream_connect(&sides.view, pair[0]), 0);
}

void sides_listen(void)
{
	sides.listener = agent_socket_listen(0);
	assert_true(sides.listener >= 0);
}

void sides_listen_no_more(void)
{
	close(sides.listener);
	sides.listener = -1;
}

void sides_adopt(struct side *s)
{
	uint8_t payload[ATTACH_SIZE];
	uint32_t length;
	struct kept k;

	s->news = frames_accept(sides.listener, WAIT_MS, FRAME_KEPT, payload, &length);
	assert_int_equal(kept_decode(&k, payload, length), 0);
	assert_false(k.executor);
	assert_true(k.known);
	assert_int_equal(k.uid, geteuid());
	assert_int_equal(k.number, 3);
	assert_string_equal(k.token, TOKEN);
	assert_string_equal(k.other, "0.1");
	assert_int_equal(sides_hear(s), 1);
	keeper_say(s->news, LAUNCH_STAY);
}

void sides_agent_ends(struct side *s)
{
	close(s->news);
	close(s->control);
	s->news = s->control = -1;
}

void sides_run(const struct side *s, unsigned int one_in)
{
	event_base_loop(sides.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	if (s && !random_below(one_in))
		sides_reconnect(s);
	assert_false(broke);
}

void sides_run_all(const struct side *s, unsigned int one_in)
{
	const uint64_t end = clock_ms() + WAIT_MS;

	while (answered != asked) {
		sides_run(s, one_in);
		assert_true(clock_ms() < end);
	}
}
