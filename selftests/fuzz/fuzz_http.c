// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehctl metrics with visitors who say anything, in pieces, at once, and go away whenever they like; and an agent that
 * answers late, with any JSON, or not at all. All but the socket is the program's own; tasks are told to nobody who
 * does not have the key.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/listener.h>

#include "input.h"
/* Its routes are its own. */
int metrics_main(int argc, char **argv);
#define main metrics_main
#include "tools/ehmetrics/main.c"
#undef main
#include "tools/ehmetrics/ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VISITORS 8
#define ASKS 64
#define KEY "0123456789abcdef0123456789abcdef"
#define SECRET "of-a-task"

struct ask {
	json_t *request;
	ask_fn done;
	void *ctx;
	bool events;
};

static struct play {
	evconnlistener_cb accept;
	void *server;
	struct metrics m;
	int visitors[VISITORS]; /* -1: none */
	struct ask *asks[ASKS];
	size_t n;
} play;

/* ---- the socket: a visitor is one end of a pair ---- */

struct evconnlistener *evconnlistener_new_bind(struct event_base *base, evconnlistener_cb cb,
					       void *arg, unsigned int flags, int backlog,
					       const struct sockaddr *to, int length)
{
	return evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, 0,
				  eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

int getsockname(int fd, struct sockaddr *name, socklen_t *length)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memcpy(name, &in, sizeof(in));
	*length = sizeof(in);
	return 0;
}

void evconnlistener_set_cb(struct evconnlistener *listener, evconnlistener_cb cb, void *arg)
{
	play.accept = cb;
	play.server = arg;
}

int confine(const char **what)
{
	return 0;
}

int confine_user(const char **what)
{
	return 0;
}

/* ---- the agent ---- */

static struct ask *ask(json_t *request, bool events, ask_fn done, void *ctx)
{
	struct ask *a = play.n < ASKS ? malloc(sizeof(*a)) : NULL;

	if (!a) {
		json_decref(request);
		return NULL;
	}
	*a = (struct ask){ request, done, ctx, events };
	play.asks[play.n++] = a;
	return a;
}

void ask_once(struct event_base *base, json_t *request, ask_fn done, void *ctx)
{
	if (!ask(request, false, done, ctx))
		done(ctx, NULL, "out of memory");
}

struct ask *ask_events(struct event_base *base, json_t *request, ask_fn done, void *ctx)
{
	return ask(request, true, done, ctx);
}

void ask_end(struct ask *a)
{
	for (size_t i = 0; i < play.n; i++) {
		if (play.asks[i] != a)
			continue;
		memmove(&play.asks[i], &play.asks[i + 1], (play.n - i - 1) * sizeof(a));
		play.n--;
		json_decref(a->request);
		free(a);
		return;
	}
}

static void answer(size_t which, const json_t *reply)
{
	struct ask *a = play.asks[which], is = *a;

	if (!is.events || !reply) {
		json_incref(is.request);
		ask_end(a);
		json_decref(is.request);
	}
	is.done(is.ctx, reply, reply ? NULL : "the agent does not answer");
}

/* ---- visitors ---- */

static void turn(void)
{
	char bytes[65536];

	for (int i = 0; i < 2; i++)
		event_base_loop(play.m.base, EVLOOP_NONBLOCK);
	for (int i = 0; i < VISITORS; i++) {
		ssize_t n;

		while (play.visitors[i] >= 0 &&
		       (n = recv(play.visitors[i], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			must(i & 1 || !memmem(bytes, n, SECRET, strlen(SECRET)));
	}
}

static void go(int i)
{
	if (play.visitors[i] >= 0)
		close(play.visitors[i]);
	play.visitors[i] = -1;
}

static void come(int i)
{
	const struct sockaddr_in from = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int pair[2];

	go(i);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		exit(1);
	play.visitors[i] = pair[1];
	play.accept(NULL, pair[0], (struct sockaddr *)&from, sizeof(from), play.server);
}

static void say(int i, const void *bytes, size_t n)
{
	/* Those with an even number do not know the key. */
	if (play.visitors[i] >= 0 && (i & 1 || !memmem(bytes, n, KEY, 8)))
		send(play.visitors[i], bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A request in the right form. */
static void request(struct input *in, int i)
{
	static const char *const paths[] = { "/metrics",     "/",
					     "/api/status",  "/api/events?after=",
					     "/api/tasks",   "/api/history?before=",
					     "/api/why?id=", "/none" };
	const uint8_t how = input_byte(in);
	char more[33] = "", text[512];
	size_t n;
	const uint8_t *bytes = input_bytes(in, &n);

	snprintf(more, sizeof(more), "%.*s", (int)(n < 32 ? n : 32), (const char *)bytes);
	n = snprintf(text, sizeof(text), "%s %s%s HTTP/1.%u\r\nHost: %s\r\n%s%s\r\n",
		     how & 8 ? "HEAD" : "GET", paths[how & 7], how & 2 ? more : "", !(how & 16),
		     how & 32  ? "127.0.0.1:1"
		     : more[0] ? more
			       : "localhost",
		     how & 64 ? "Accept: text/event-stream\r\n" : "",
		     i & 1 ? "X-Ehsched-Key: " KEY "\r\n" : "");
	say(i, text, n);
}

/* What the agent knows of tasks is for those who have the key. */
static bool is_of_tasks(const struct ask *a)
{
	const char *command = json_string_value(json_object_get(a->request, "command"));

	return strcmp(command, "status") && strcmp(command, "watch");
}

static void hear(struct input *in, uint8_t which)
{
	size_t n;
	const char *text = (const char *)input_bytes(in, &n);
	json_t *reply = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

	if (!play.n) {
		json_decref(reply);
		return;
	}
	which %= play.n;
	if (is_of_tasks(play.asks[which])) {
		json_decref(reply);
		reply = json_pack("{s:s}", "tasks", SECRET);
	}
	answer(which, json_is_object(reply) ? reply : NULL);
	json_decref(reply);
}

static void step(struct input *in)
{
	const uint8_t what = input_byte(in), i = what >> 4 & (VISITORS - 1);
	size_t n;
	const uint8_t *bytes;

	switch (what & 7) {
	case 0:
		come(i);
		break;
	case 1:
		go(i);
		break;
	case 2:
		if (play.visitors[i] >= 0)
			shutdown(play.visitors[i], SHUT_WR);
		break;
	case 3:
	case 4:
		bytes = input_bytes(in, &n);
		say(i, bytes, n);
		break;
	case 5:
		request(in, i);
		break;
	default:
		hear(in, i);
	}
}

static bool answer_all(void)
{
	bool any = false;

	for (size_t i = play.n; i-- > 0;) {
		if (play.asks[i]->events)
			continue;
		answer(i, NULL);
		any = true;
	}
	return any;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct sockaddr_storage at;
	char why[256];

	signal(SIGPIPE, SIG_IGN);
	play.m = (struct metrics){ .base = event_base_new(), .own = size & 1 };
	play.m.status = look_new(play.m.base, json_pack("{s:s}", "command", "status"));
	play.m.tasks = look_new(play.m.base, json_pack("{s:s}", "command", "tasks"));
	must(!http_parse("127.0.0.1:0", &at));
	play.m.http = http_new(play.m.base, &at, routes, &play.m, why, sizeof(why));
	must(play.m.http && http_is_local(play.m.http) && play.accept);
	strcpy(play.m.key.text, KEY);
	play.m.streams = streams_new(play.m.base);
	play.m.events = events_new(play.m.base, streams_on_news, play.m.streams);
	for (int i = 0; i < VISITORS; i++)
		play.visitors[i] = -1;
	turn();
	while (in.left) {
		step(&in);
		turn();
	}
	/* Each that is answered may have said its next request already. */
	while (answer_all())
		turn();
	for (int i = 0; i < VISITORS; i++)
		go(i);
	turn();
	streams_free(play.m.streams);
	events_free(play.m.events);
	http_free(play.m.http);
	look_free(play.m.status);
	look_free(play.m.tasks);
	event_base_free(play.m.base);
	while (play.n)
		ask_end(play.asks[0]);
	return 0;
}
