// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's side of the history. ehhist has the database, in a process of its own: a commit waits
 * for the disk, and this loop, in which execs wait for their verdicts, must not. It is a child of the
 * agent, with the agent's user, from before the agent gives up to start programs: it needs no right
 * that the agent has not, so ehlaunch has no part in it. After confine() nothing could start another
 * one, which is why ehhist watches over itself (helpers/ehhist/main.c).
 */
#include "home/history.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/config_data.h"
#include "base/keep.h"
#include "base/log.h"
#include "helpers/common/companion.h"
#include "wire/clean.h"
#include "home/record.h"
#include "net/peer.h"
#include "wire/descriptors.h"
#include "wire/reason.h"

#define HISTORY_SOCKET 3 /* as helpers/ehhist/main.c expects it */
#define HISTORY_ROOM (1 << 20) /* bytes on the way to ehhist; the kernel may give less */
#define HISTORY_WATCHED 1024 /* tasks here, each with a descriptor */
#define HISTORY_ASKED 4 /* questions with ehhist */
#define HISTORY_ANSWER_S 10
#define HISTORY_ANSWER_MAX (8u << 20)

/* A task that runs here, and whose end only the kernel tells. */
struct history_task {
	struct history *of;
	LIST_ENTRY(history_task) link;
	struct event *ended;
	int pidfd;
	char id[sizeof(((struct placement *)0)->id)];
};

/*
 * ehhist answers one after the other. So that records get there in between, and all users have their turn,
 * few are with ehhist at a time, and one of a user; the others wait here, in their order.
 */
struct history_question {
	struct history *of;
	TAILQ_ENTRY(history_question) link;
	uid_t uid;
	json_t *message;
	int fd; /* -1: it waits */
	struct event *readable, *limit;
	struct evbuffer *got;
	history_fn
		call; /* NULL: who asked was told that it takes too long, and ehhist still has it */
	void *ctx;
};

struct history {
	struct agent *agent;
	pid_t pid;
	int socket;
	history_session_fn session;
	uint64_t dropped; /* since that was told */
	LIST_HEAD(, history_task) tasks;
	unsigned int count;
	TAILQ_HEAD(, history_question) questions;
	unsigned int asked; /* of these, with ehhist */
};

/* ---- ehhist ---- */

static void history_path(const struct agent *agent, char *out, size_t size)
{
	const char *state = agent->config->state, *slash = strrchr(state, '/');

	snprintf(out, size, "%.*s/history.db", (int)(slash ? slash - state : 0), state);
}

static int64_t history_bytes(const struct config *c)
{
	return (int64_t)c->history_size << 20;
}

static int64_t history_seconds(const struct config *c)
{
	return (int64_t)c->history_age * 86400;
}

static int history_fork(struct history *h)
{
	const struct config *c = h->agent->config;
	char path[4096], file[4096], rows[24], bytes[24], age[24];
	const char *argv[] = { "ehhist",  "--file", file,    "--rows", rows,
			       "--bytes", bytes,    "--age", age,      NULL };
	const int room = HISTORY_ROOM;
	int err;

	if (!companion("ehhist", path, sizeof(path)))
		return -ENOENT;
	history_path(h->agent, file, sizeof(file));
	/* there may be no other file to be written for minutes */
	keep_make(c);
	snprintf(rows, sizeof(rows), "%u", c->history_rows);
	snprintf(bytes, sizeof(bytes), "%lld", (long long)history_bytes(c));
	snprintf(age, sizeof(age), "%lld", (long long)history_seconds(c));
	err = child_start(path, (char **)argv, HISTORY_SOCKET, &h->pid, &h->socket);
	if (err)
		return err;
	setsockopt(h->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return 0;
}

static void history_gone(struct history *h)
{
	log_warning("ehhist has ended: what runs is not recorded until the agent starts again");
	close(h->socket);
	h->socket = -1;
	waitpid(h->pid, NULL, WNOHANG);
}

/* 0 or -errno. The descriptor is for an answer; -1: none. */
static int history_send(struct history *h, const json_t *message, int fd)
{
	char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
	struct iovec iov = { text, text ? strlen(text) : 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union descriptors room;
	int err = -ENOTCONN;

	if (!text)
		return -ENOMEM;
	if (fd >= 0)
		descriptors_put(&msg, &room, &fd, 1);
	if (h->socket >= 0)
		err = sendmsg(h->socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
	free(text);
	if (err == -EPIPE || err == -ECONNRESET)
		history_gone(h);
	return err;
}

/* Takes over the row. */
static void history_put(struct history *h, json_t *row)
{
	int err = row ? history_send(h, row, -1) : -ENOMEM;

	json_decref(row);
	if (h->socket < 0)
		return;
	if (err && !h->dropped++)
		log_warning("history: ehhist cannot keep up (%s): what ends now is not recorded",
			    strerror(-err));
	if (!err && h->dropped) {
		log_info("history: %llu records were not kept", (unsigned long long)h->dropped);
		h->dropped = 0;
	}
}

void history_init(struct agent *agent, history_session_fn session)
{
	struct history *h;
	int err;

	if (!agent->config->history)
		return;
	h = calloc(1, sizeof(*h));
	if (!h) {
		log_warning("no history is kept: %s", strerror(ENOMEM));
		return;
	}
	h->agent = agent;
	h->session = session;
	TAILQ_INIT(&h->questions);
	err = history_fork(h);
	if (err) {
		log_warning("no history is kept: cannot start ehhist, which is installed beside "
			    "this program: %s",
			    strerror(-err));
		free(h);
		return;
	}
	agent->history = h;
}

void history_reload(struct agent *agent)
{
	const struct config *c = agent->config;
	json_t *limits;

	if (!agent->history)
		return;
	limits = json_pack("{s:{s:I,s:I,s:I}}", "limits", "rows", (json_int_t)c->history_rows,
			   "bytes", (json_int_t)history_bytes(c), "age",
			   (json_int_t)history_seconds(c));
	if (!limits || history_send(agent->history, limits, -1))
		log_warning("history: its limits are still those of before");
	json_decref(limits);
}

/* ---- tasks ---- */

static json_t *history_row(const struct placement *p, const char *state)
{
	const struct agent *agent = p->agent;
	const char *host = p->to ? peer_host(p->to) : agent->config->host;
	char program[1024];
	json_t *row;

	row = json_pack("{s:s,s:i,s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I}", "id", p->id, "pid",
			(int)p->pid, "uid", (json_int_t)p->uid, "program",
			clean_text(program, sizeof(program), p->path), "command", p->command,
			"home", agent->code, "home_host", agent->config->host, "executor",
			p->to ? peer_code(p->to) : agent->code, "executor_host", host, "state",
			state, "started", (json_int_t)p->started);
	if (row && *p->session)
		json_object_set_new(row, "session", json_string(p->session));
	if (row && p->arguments)
		json_object_set_new(row, "arguments", json_string(p->arguments));
	/* An agent that took it over does not know why it went. */
	if (row && p->reason != EHS_REASON_NONE)
		json_object_set_new(row, "reason", json_string(reason_name(p->reason)));
	/* Its process says what it is: only a row that an agent before this one began is completed. */
	if (row && p->adopted)
		json_object_set_new(row, "known", json_true());
	return row;
}

/* What `ehctl why` says of it. */
static void history_add_why(json_t *row, const struct placement *p)
{
	json_t *why = record_why(p), *steps = json_object_get(why, "steps");
	char *text = steps ? json_dumps(steps, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

	if (*p->text)
		json_object_set(row, "text", json_object_get(why, "text"));
	if (text)
		json_object_set_new(row, "steps", json_string(text));
	free(text);
	json_decref(why);
}

static void history_task_free(struct history_task *t)
{
	LIST_REMOVE(t, link);
	t->of->count--;
	event_free(t->ended);
	close(t->pidfd);
	free(t);
}

static void history_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct history_task *t = arg;

	history_put(t->of, json_pack("{s:s,s:s,s:I,s:b}", "id", t->id, "state", "ended", "ended",
				     (json_int_t)clock_wall_ms(), "known", 1));
	history_task_free(t);
}

/* Its status is for its parent alone; that it has ended, and when, is for all. */
static void history_watch(struct history *h, const struct placement *p)
{
	struct history_task *t;

	if (h->count == HISTORY_WATCHED)
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		return;
	snprintf(t->id, sizeof(t->id), "%s", p->id);
	/* It waits for our answer, so the pid has not been used again. */
	t->pidfd = syscall(SYS_pidfd_open, p->pid, 0u);
	if (t->pidfd < 0)
		goto free_task;
	t->ended = event_new(h->agent->base, t->pidfd, EV_READ, history_on_end, t);
	if (!t->ended || event_add(t->ended, NULL))
		goto close_pidfd;
	t->of = h;
	LIST_INSERT_HEAD(&h->tasks, t, link);
	h->count++;
	return;

close_pidfd:
	agent_free_event(&t->ended);
	close(t->pidfd);
free_task:
	free(t);
}

void history_begin(struct placement *p)
{
	struct history *h = p->agent->history;

	if (h && !h->session(p->agent, p->pid, p->session))
		p->session[0] = '\0';
}

void history_away(struct placement *p)
{
	struct history *h = p->agent->history;
	json_t *row;

	if (!h)
		return;
	row = history_row(p, "away");
	if (!p->adopted)
		json_object_set_new(row, "new", json_true());
	history_put(h, row);
}

void history_stays(struct placement *p, bool runs)
{
	struct history *h = p->agent->history;
	json_t *row;

	if (!h)
		return;
	row = history_row(p, runs ? "here" : "refused");
	history_add_why(row, p);
	/* One that was away has its row. */
	if (p->phase != PLACEMENT_AWAY)
		json_object_set_new(row, "new", json_true());
	if (!runs)
		json_object_set_new(row, "ended", json_integer(clock_wall_ms()));
	history_put(h, row);
	if (runs)
		history_watch(h, p);
}

void history_ended(struct placement *p, int status, bool lost)
{
	struct history *h = p->agent->history;
	json_t *row;

	if (!h)
		return;
	row = history_row(p, lost ? "lost" : "ended");
	history_add_why(row, p);
	json_object_set_new(row, "ended", json_integer(clock_wall_ms()));
	json_object_set_new(row, "status", json_integer(status));
	json_object_set_new(row, "bytes", json_integer(p->bytes));
	if (p->used) {
		json_object_set_new(row, "cpu_user", json_real(p->cpu_user));
		json_object_set_new(row, "cpu_system", json_real(p->cpu_system));
		json_object_set_new(row, "memory", json_integer(p->memory));
	}
	history_put(h, row);
}

void history_event(struct agent *agent, json_t *event)
{
	if (agent->history)
		history_put(agent->history, json_pack("{s:o,s:I}", "event", event, "at",
						      (json_int_t)clock_wall_ms()));
	else
		json_decref(event);
}

/* ---- questions ---- */

static void history_question_free(struct history_question *q)
{
	TAILQ_REMOVE(&q->of->questions, q, link);
	agent_free_event(&q->readable);
	agent_free_event(&q->limit);
	if (q->got)
		evbuffer_free(q->got);
	if (q->fd >= 0) {
		close(q->fd);
		q->of->asked--;
	}
	json_decref(q->message);
	free(q);
}

static void history_answer(struct history_question *q, json_t *answer, const char *why)
{
	history_fn call = q->call;
	void *ctx = q->ctx;

	history_question_free(q);
	if (call)
		call(ctx, answer, why);
	json_decref(answer);
}

static void history_next(struct history *h);

static void history_on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct history_question *q = arg;
	int n = evbuffer_read(q->got, fd, -1);
	struct history *h = q->of;
	const char *error;
	size_t length;
	json_t *answer;

	if (n > 0 && !q->call)
		evbuffer_drain(q->got, n);
	if (n > 0 && evbuffer_get_length(q->got) <= HISTORY_ANSWER_MAX)
		return;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	length = evbuffer_get_length(q->got);
	answer = n || !length ? NULL
			      : json_loadb((char *)evbuffer_pullup(q->got, -1), length, 0, NULL);
	error = json_string_value(json_object_get(answer, "error"));
	if (error) {
		history_answer(q, NULL, error);
		json_decref(answer);
	} else {
		history_answer(q, answer, answer ? NULL : "ehhist gave no answer");
	}
	history_next(h);
}

static void history_on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct history_question *q = arg;
	history_fn call = q->call;

	if (q->fd < 0) {
		history_answer(q, NULL, "too many questions wait: try again");
		return;
	}
	/* It counts until ehhist has done with it. */
	q->call = NULL;
	call(q->ctx, NULL, "its disk is too slow");
}

/* The first that waits whose user has none with ehhist. */
static struct history_question *history_turn(struct history *h)
{
	struct history_question *q, *other;

	TAILQ_FOREACH(q, &h->questions, link) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): one that was freed took itself out */
		if (q->fd >= 0)
			continue;
		TAILQ_FOREACH(other, &h->questions, link)
			if (other->fd >= 0 && other->uid == q->uid)
				break;
		if (!other)
			return q;
	}
	return NULL;
}

/* 0 or -errno. */
static int history_question_send(struct history_question *q)
{
	struct history *h = q->of;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	err = history_send(h, q->message, pair[1]);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	q->fd = pair[0];
	h->asked++;
	json_decref(q->message);
	q->message = NULL;
	q->readable = event_new(h->agent->base, q->fd, EV_READ | EV_PERSIST, history_on_answer, q);
	return q->readable && !event_add(q->readable, NULL) ? 0 : -ENOMEM;
}

static void history_next(struct history *h)
{
	struct history_question *q;
	int err;

	while (h->asked < HISTORY_ASKED && (q = history_turn(h))) {
		err = history_question_send(q);
		if (err)
			history_answer(q, NULL,
				       err == -EAGAIN ? "its disk is too slow" : strerror(-err));
	}
}

/* Takes over the message. */
static struct history_question *history_question_new(struct history *h, json_t *message, uid_t uid)
{
	struct history_question *q = calloc(1, sizeof(*q));

	if (!q) {
		json_decref(message);
		return NULL;
	}
	q->of = h;
	q->fd = -1;
	q->uid = uid;
	q->message = message;
	TAILQ_INSERT_TAIL(&h->questions, q, link);
	q->got = evbuffer_new();
	q->limit = evtimer_new(h->agent->base, history_on_limit, q);
	if (q->message && q->got && q->limit && !clock_arm(q->limit, HISTORY_ANSWER_S * 1000))
		return q;
	history_question_free(q);
	return NULL;
}

void history_ask(struct agent *agent, uid_t uid, json_t *ask, history_fn call, void *ctx)
{
	struct history *h = agent->history;
	json_t *message = json_pack("{s:o}", "ask", ask);
	struct history_question *q;

	if (!h || h->socket < 0) {
		json_decref(message);
		call(ctx, NULL,
		     agent->config->history
			     ? "ehhist does not run; see the log of the agent"
			     : "this node keeps none (`history` in ehagent.conf(5))");
		return;
	}
	q = history_question_new(h, message, uid);
	if (!q) {
		call(ctx, NULL, strerror(ENOMEM));
		return;
	}
	q->call = call;
	q->ctx = ctx;
	history_next(h);
}

void history_end(struct agent *agent)
{
	struct history *h = agent->history;

	while (h && !TAILQ_EMPTY(&h->questions))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		history_answer(TAILQ_FIRST(&h->questions), NULL, "the agent ends");
}

void history_exit(struct agent *agent)
{
	struct history *h = agent->history;

	if (!h)
		return;
	while (!LIST_EMPTY(&h->tasks))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		history_task_free(LIST_FIRST(&h->tasks));
	/* It is not waited for: its disk may be slow. */
	if (h->socket >= 0)
		close(h->socket);
	free(h);
	agent->history = NULL;
}
