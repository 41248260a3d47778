/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Home's side of a view for tests, as ehlaunch starts it: this process is its agent, and the executor's side at
 * once. Its connections can break at any moment, and its agent can be replaced.
 */
#ifndef UNIT_KEPT_SIDES_H
#define UNIT_KEPT_SIDES_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/buffer.h>

#include "agent_socket.h"
#include "helpers/common/control.h"
#include "helpers/common/stream.h"
#include "job/keeper.h"
#include "random.h"
#include "wire/descriptors.h"
#include "wire/frame.h"
#include "wire/launch.h"
#include "wire/view.h"

#define WAIT_MS 60000 /* a loaded machine is slow, and nothing here waits for it */
#define PIECE (96 << 10)
#define PIECES 60
#define TOKEN "0123456789abcdef0123456789abcdef"

static struct event_base *base;
static char folder[64];
static int launcher, listener = -1;
static pid_t ehlaunch_pid;
static unsigned long breaks;

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* ---- the executor's side ---- */

static struct stream view;
static bool broke;
static uint32_t asked, answered; /* tags, which answers have in the same order */
static int32_t last_error;
static uint64_t read_bytes;

static inline uint8_t pattern(uint64_t at)
{
	at = (at + 1) * 0x9e3779b97f4a7c15u;
	return at >> 37;
}

static inline int on_message(void *ctx, const struct files_message *m)
{
	if (m->op == FILES_NEWS)
		return 0;
	assert_true(m->op & FILES_ANSWER);
	assert_int_equal(m->tag, answered + 1);
	answered++;
	last_error = m->error;
	if (m->op != (FILES_READ | FILES_ANSWER))
		return 0;
	assert_int_equal(m->error, 0);
	assert_int_equal(m->length, PIECE);
	for (size_t i = 0; i < m->length; i += 101)
		assert_int_equal(m->data[i], pattern(read_bytes + i));
	read_bytes += m->length;
	return 0;
}

static inline void on_read(void *ctx)
{
}

static inline void on_broke(void *ctx)
{
	broke = true;
}

static inline struct files_message *message_of(enum files_op op)
{
	static struct files_message m;

	memset(&m, 0, sizeof(m));
	m.op = op;
	if (op != FILES_WRITE && op != FILES_CLOSE)
		m.tag = ++asked;
	return &m;
}

static inline void say(const struct files_message *m)
{
	assert_int_equal(stream_put(&view, m), 0);
	stream_flush(&view);
}

/* ---- its agent ---- */

struct side {
	int news, control;
};

static inline void start_launcher(void)
{
	char path[PATH_MAX];
	struct launch_news news;
	int pair[2];
	ssize_t n;

	/* We are BUILD/selftests/unit/NAME. */
	n = readlink("/proc/self/exe", path, sizeof(path) - 20);
	assert_true(n > 0);
	path[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/bin/ehlaunch");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ehlaunch_pid = fork();
	assert_true(ehlaunch_pid >= 0);
	if (!ehlaunch_pid) {
		if (pair[1] == LAUNCH_SOCKET ? fcntl(pair[1], F_SETFD, 0) < 0
					     : dup2(pair[1], LAUNCH_SOCKET) < 0)
			_exit(1);
		execl(path, "ehlaunch", "--allow-root", NULL);
		_exit(1);
	}
	close(pair[1]);
	launcher = pair[0];
	assert_int_equal(recv(launcher, &news, sizeof(news), 0), sizeof(news));
	assert_int_equal(news.stage, LAUNCH_READY);
}

/* What the keeper says next. */
static inline int hear(struct side *s)
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

/* An executor's side ends with its process: this one has several. */
static inline void forget_view(void)
{
	if (!view.in)
		return;
	if (view.readable)
		event_free(view.readable);
	if (view.writable)
		event_free(view.writable);
	evbuffer_free(view.in);
	evbuffer_free(view.out);
	evbuffer_free(view.from);
	evbuffer_free(view.to);
	free(view.link.memory);
	if (view.fd >= 0)
		close(view.fd);
	memset(&view, 0, sizeof(view));
}

/* Has the directory served; the executor's side has the other end of the connection. */
static inline void serve(struct side *s, uint32_t limit_ms)
{
	struct launch_files q = {
		.head = { LAUNCH_VERSION, LAUNCH_FILES },
		.uid = geteuid(),
		.stay = { .limit_ms = limit_ms, .number = 3, .token = TOKEN, .other = "0.1" },
	};
	struct iovec iov[] = { { &q, sizeof(q) }, { folder, strlen(folder) + 1 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	int news[2], pair[2];
	union descriptors room;

	strcpy(q.user, geteuid() ? "" : "root");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	descriptors_put(&msg, &room, (int[]){ news[1], pair[1] }, 2);
	assert_true(sendmsg(launcher, &msg, 0) > 0);
	close(news[1]);
	close(pair[1]);
	s->news = news[0];
	assert_int_equal(hear(s), 1);
	forget_view();
	view.message = on_message;
	view.read = on_read;
	view.broke = on_broke;
	asked = answered = 0;
	read_bytes = 0;
	broke = false;
	assert_int_equal(stream_open(&view, base, pair[0]), 0);
}

/* All that is on its way is lost. */
static inline void reconnect(const struct side *s)
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
	breaks++;
	assert_int_equal(stream_connect(&view, pair[0]), 0);
}

static inline void agent_listens(void)
{
	listener = agent_socket_listen(0);
	assert_true(listener >= 0);
}

static inline void agent_listens_no_more(void)
{
	close(listener);
	listener = -1;
}

/* Another agent: the keeper comes to it. */
static inline void adopt(struct side *s)
{
	uint8_t head[FRAME_HEADER], payload[ATTACH_SIZE];
	struct pollfd p = { listener, POLLIN, 0 };
	enum frame_type type;
	uint32_t length;
	struct kept k;

	assert_true(poll(&p, 1, WAIT_MS) > 0);
	s->news = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(s->news >= 0);
	assert_int_equal(recv(s->news, head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_int_equal(frame_parse(head, &type, &length), 0);
	assert_int_equal(type, FRAME_KEPT);
	assert_int_equal(recv(s->news, payload, length, MSG_WAITALL), length);
	assert_int_equal(kept_decode(&k, payload, length), 0);
	assert_false(k.executor);
	assert_true(k.known);
	assert_int_equal(k.uid, geteuid());
	assert_int_equal(k.number, 3);
	assert_string_equal(k.token, TOKEN);
	assert_string_equal(k.other, "0.1");
	assert_int_equal(hear(s), 1);
	keeper_say(s->news, LAUNCH_STAY);
}

static inline void agent_ends(struct side *s)
{
	close(s->news);
	close(s->control);
	s->news = s->control = -1;
}

/* A round of the loop, perhaps with a break after a part of what is there. */
static inline void run(const struct side *s, unsigned int one_in)
{
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	if (s && !random_below(one_in))
		reconnect(s);
	assert_false(broke);
}

static inline void run_all(const struct side *s, unsigned int one_in)
{
	const int64_t end = now_ms() + WAIT_MS;

	while (answered != asked) {
		run(s, one_in);
		assert_true(now_ms() < end);
	}
}

#endif
