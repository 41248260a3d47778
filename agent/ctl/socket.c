// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The local socket. The first frame of a connection says who calls: the job of a stub, and the names
 * of files before it, are read exactly to their end, and ends.c hands on the socket; requests of
 * ehctl are handled here.
 * Everything has a limit: connections in total and for each user, bytes of jobs that are incomplete or
 * not sent yet, and of replies that are not read, and the time for the first frame, for a reply to be
 * read, and without a request.
 */

#include "ctl/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/speech.h"
#include "ctl/callers.h"
#include "ctl/ends.h"
#include "ctl/listener.h"
#include "home/away.h"
#include "home/departure.h"
#include "wire/frame.h"

#define CTL_BYTES_MAX (64u << 20) /* of jobs that are not sent yet; root may exceed it */
#define CTL_BYTES_A_USER (32u << 20)
#define CTL_REQUEST_MAX (64u << 10)
#define CTL_OUTPUT_MAX (20u << 20)
#define CTL_EVENTS_MAX (1u << 20) /* waiting for a watcher that does not read */
#define CTL_FIRST_S 20 /* a stub of policy IDLE waits long for a processor */
#define CTL_IDLE_S 60 /* without a request, or without reading */

struct ctl_conn {
	struct agent *agent;
	LIST_ENTRY(ctl_conn) entry;
	int fd;
	struct event *reading, *writing;
	struct departure stub; /* the caller, and what a stub has sent so far */
	struct caller *caller;
	uint8_t header[FRAME_HEADER];
	size_t got; /* bytes of header and payload */
	enum frame_type type;
	uint32_t length;
	uint8_t *payload;
	bool busy, gone, watching, greeted;
	bool again; /* only what the agent knows already may come back here */
	void *held; /* what its owner keeps for it; NULL: nothing */
	void (*held_gone)(void *held);
	uint64_t came_at; /* clock_ms() */
	struct evbuffer *out;
};

struct ctl {
	LIST_HEAD(, ctl_conn) conns; /* the latest first */
	struct callers callers;
	ctl_request_fn request;
};

static struct log_limit ctl_log;

static void ctl_drop_payload(struct ctl_conn *c)
{
	free(c->payload);
	c->payload = NULL;
	c->got = 0;
}

static void ctl_free(struct ctl_conn *c)
{
	if (c->held)
		c->held_gone(c->held);
	LIST_REMOVE(c, entry);
	c->caller->waiting -= evbuffer_get_length(c->out);
	callers_leave(&c->agent->ctl->callers, c->caller);
	ctl_drop_payload(c);
	free(c->stub.named);
	event_free(c->reading);
	event_free(c->writing);
	evbuffer_free(c->out);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

/* If a request is in progress, ctl_reply() frees it later. */
static void ctl_close(struct ctl_conn *c, const char *why)
{
	if (why && log_allowed(&ctl_log))
		log_warning("closed the connection of process %d (uid %u): %s",
			    (int)c->stub.who.pid, (unsigned int)c->stub.who.uid, why);
	if (!c->busy) {
		ctl_free(c);
		return;
	}
	c->gone = true;
	event_del(c->reading);
	event_del(c->writing);
}

/* ---- sending ---- */

static int ctl_send(struct ctl_conn *c, enum frame_type type, const json_t *json, size_t most)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
	uint8_t header[FRAME_HEADER];
	size_t length, before;
	int err = -ENOMEM;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	if (length > FRAME_JSON_MAX || evbuffer_get_length(c->out) + length > most ||
	    (c->stub.who.uid && c->caller->waiting + length > CALLERS_WAITING))
		goto free_text;
	frame_header(header, type, length);
	before = evbuffer_get_length(c->out);
	if (!evbuffer_add(c->out, header, sizeof(header)) && !evbuffer_add(c->out, text, length))
		err = 0;
	c->caller->waiting += evbuffer_get_length(c->out) - before;
	clock_arm(c->writing, CTL_IDLE_S * 1000);
free_text:
	free(text);
	return err;
}

/* Waits for the next request; not forever, because others may need the place. */
static void ctl_await(struct ctl_conn *c)
{
	if (c->watching || c->held)
		event_add(c->reading, NULL);
	else
		clock_arm(c->reading, CTL_IDLE_S * 1000);
}

static void ctl_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct ctl_conn *c = arg;
	int n = evbuffer_write(c->out, fd);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		ctl_close(c, NULL);
		return;
	}
	if (n > 0)
		c->caller->waiting -= n;
	if (n <= 0 && what & EV_TIMEOUT) {
		ctl_close(c, "the client does not read its replies");
		return;
	}
	if (evbuffer_get_length(c->out))
		return;
	event_del(c->writing);
	if (!c->busy && !c->watching)
		ctl_await(c);
}

void ctl_reply(struct ctl_conn *c, json_t *reply)
{
	c->busy = false;
	if (c->gone) {
		ctl_free(c);
	} else {
		if (!reply)
			reply = ctl_error("the agent", "out of memory", false);
		/* The next request is read when this has been. */
		if (ctl_send(c, FRAME_REPLY, reply, CTL_OUTPUT_MAX))
			ctl_close(c, "the client does not read its replies");
	}
	json_decref(reply);
}

void ctl_watch(struct ctl_conn *c)
{
	c->busy = false;
	c->watching = true;
	if (c->gone)
		ctl_free(c);
	else
		ctl_await(c);
}

void ctl_hold(struct ctl_conn *c, void *held, void (*gone)(void *held))
{
	c->held = held;
	c->held_gone = gone;
}

void *ctl_held(const struct ctl_conn *c)
{
	return c->held;
}

void ctl_tell(struct ctl_conn *c, json_t *event)
{
	/* a caller that does not hear of it is told by the end of its connection */
	if (!c->gone && (!event || ctl_send(c, FRAME_EVENT, event, CTL_EVENTS_MAX)))
		ctl_close(c, "the client does not read its events");
	json_decref(event);
}

struct ctl_conn *ctl_next_watcher(const struct agent *agent, const struct ctl_conn *after)
{
	struct ctl_conn *c = after ? LIST_NEXT(after, entry) : LIST_FIRST(&agent->ctl->conns);

	while (c && !c->watching)
		c = LIST_NEXT(c, entry);
	return c;
}

const struct ucred *ctl_who(const struct ctl_conn *c)
{
	return &c->stub.who;
}

uint64_t ctl_came(const struct ctl_conn *c)
{
	return c->stub.came;
}

int ctl_socket(const struct ctl_conn *c)
{
	return c->fd;
}

/* ---- receiving ---- */

/* Reads into the current frame, never beyond it. Returns bytes, 0 at the end, or -errno. */
static ssize_t ctl_receive(struct ctl_conn *c)
{
	bool in_header = c->got < FRAME_HEADER;
	ssize_t n;

	if (in_header)
		n = recv(c->fd, c->header + c->got, FRAME_HEADER - c->got, MSG_DONTWAIT);
	else
		n = recv(c->fd, c->payload + c->got - FRAME_HEADER,
			 FRAME_HEADER + c->length - c->got, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	c->got += n;
	return n;
}

/*
 * Counts jobs and names only, those that are whole and not sent yet, too: requests are small, and the
 * number of connections limits them.
 */
static bool ctl_has_room(const struct ctl_conn *for_whom)
{
	size_t same, all = away_waiting(for_whom->agent, for_whom->stub.who.uid, &same), n;
	const struct ctl_conn *c;

	LIST_FOREACH(c, &for_whom->agent->ctl->conns, entry) {
		n = c->stub.named ? c->stub.named_length : 0;
		if (c->payload && (c->type == FRAME_JOB || c->type == FRAME_NAMED))
			n += c->length;
		all += n;
		if (c->stub.who.uid == for_whom->stub.who.uid)
			same += n;
	}
	return same + for_whom->length <= CTL_BYTES_A_USER &&
	       (!for_whom->stub.who.uid || all + for_whom->length <= CTL_BYTES_MAX);
}

static bool ctl_is_job(const struct ctl_conn *c)
{
	return c->type == FRAME_JOB || c->type == FRAME_NAMED || c->type == FRAME_SEEN ||
	       c->type == FRAME_ATTACH || c->type == FRAME_KEPT;
}

static const char *ctl_check_header(struct ctl_conn *c)
{
	int err = frame_parse(c->header, &c->type, &c->length);

	if (err)
		return err == -EMSGSIZE ? "frame longer than its type permits"
					: "frame of unknown type";
	if (c->type != FRAME_REQUEST && (!ctl_is_job(c) || c->greeted))
		return "frame type not allowed here";
	if (c->again && c->type != FRAME_ATTACH && c->type != FRAME_KEPT)
		return "only tasks that have begun may come by the name of before";
	if ((c->stub.named && c->type != FRAME_SEEN && c->type != FRAME_JOB) ||
	    (c->stub.has_seen && c->type != FRAME_JOB))
		return "what a job needs without the job";
	if (c->type == FRAME_REQUEST && c->length > CTL_REQUEST_MAX)
		return "request longer than 64 KiB";
	if (!c->length)
		return "empty frame";
	if ((c->type == FRAME_JOB || c->type == FRAME_NAMED) && !ctl_has_room(c))
		return "jobs that wait use too much memory";
	c->payload = malloc(c->length);
	if (!c->payload)
		return "out of memory";
	return NULL;
}

/* Other parts of the agent take over the socket. */
static void ctl_take_job(struct ctl_conn *c)
{
	struct departure came = c->stub;

	came.socket = c->fd;
	came.job = c->payload;
	came.length = c->length;
	c->fd = -1;
	event_del(c->reading);
	c->payload = c->stub.named = NULL;
	ends_take(c->agent, c->type, &came);
	ctl_free(c);
}

static void ctl_take_request(struct ctl_conn *c)
{
	char why[SPEECH_WHY];
	json_t *request = speech_object((char *)c->payload, c->length, why);

	ctl_drop_payload(c);
	c->greeted = true;
	if (c->watching) {
		json_decref(request);
		ctl_close(c, "request during watch");
		return;
	}
	/* one request at a time */
	c->busy = true;
	event_del(c->reading);
	if (request)
		c->agent->ctl->request(c, request);
	else
		ctl_reply(c, ctl_error("the request", why, true));
	json_decref(request);
}

static void ctl_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct ctl_conn *c = arg;
	const char *why;
	ssize_t n;

	for (;;) {
		n = ctl_receive(c);
		if (n == -EAGAIN || n == -EINTR) {
			/*
			 * Data that is there counts, however late it is read. The event's own
			 * time-out starts again with each byte.
			 */
			if (c->greeted && !c->watching && !c->held && what & EV_TIMEOUT)
				ctl_close(c, "no request for a minute");
			else if (!c->greeted && (what & EV_TIMEOUT ||
						 clock_ms() - c->came_at > CTL_FIRST_S * 1000))
				ctl_close(c, "no first frame in time");
			return;
		}
		if (n <= 0) {
			ctl_close(c, c->got ? "truncated frame" : NULL);
			return;
		}
		if (c->got < FRAME_HEADER)
			continue;
		if (c->got == FRAME_HEADER) {
			why = ctl_check_header(c);
			if (why) {
				ctl_close(c, why);
				return;
			}
			continue;
		}
		if (c->got < FRAME_HEADER + c->length)
			continue;
		if (c->type == FRAME_NAMED) {
			c->stub.named = c->payload;
			c->stub.named_length = c->length;
			c->payload = NULL;
			c->got = 0;
			continue;
		}
		if (c->type == FRAME_SEEN) {
			if (seen_decode(&c->stub.seen, c->payload, c->length)) {
				ctl_close(c, "malformed FRAME_SEEN");
				return;
			}
			c->stub.has_seen = true;
			ctl_drop_payload(c);
			continue;
		}
		if (ctl_is_job(c) && !c->agent->member)
			ctl_close(c, "received a job, but this host has not joined the cluster "
				     "yet");
		else if (ctl_is_job(c))
			ctl_take_job(c);
		else
			ctl_take_request(c);
		return;
	}
}

/* ---- who comes ---- */

static struct ctl_conn *ctl_new(struct agent *agent, int fd, const struct ucred *who, bool again)
{
	struct ctl_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->agent = agent;
	c->fd = fd;
	c->stub.who = *who;
	c->again = again;
	c->reading = event_new(c->agent->base, fd, EV_READ | EV_PERSIST, ctl_on_readable, c);
	c->writing = event_new(c->agent->base, fd, EV_WRITE | EV_PERSIST, ctl_on_writable, c);
	c->out = evbuffer_new();
	if (c->reading && c->writing && c->out)
		c->caller = callers_enter(&agent->ctl->callers, who->uid);
	if (c->caller)
		return c;
	agent_free_event(&c->reading);
	agent_free_event(&c->writing);
	if (c->out)
		evbuffer_free(c->out);
	free(c);
	return NULL;
}

/* The longest open of a user's connections that can be closed at once. */
static struct ctl_conn *ctl_oldest(const struct ctl *ctl, const struct caller *caller)
{
	struct ctl_conn *c, *oldest = NULL;

	LIST_FOREACH(c, &ctl->conns, entry)
		if (c->caller == caller && !c->busy)
			oldest = c;
	return oldest;
}

static bool ctl_make_room(struct ctl *ctl, uid_t uid)
{
	struct ctl_conn *oldest;
	struct caller *rich;

	switch (callers_admit(&ctl->callers, uid, &rich)) {
	case CALLERS_WELCOME:
		return true;
	case CALLERS_REFUSED:
		return false;
	case CALLERS_SHARE:
		break;
	}
	oldest = ctl_oldest(ctl, rich);
	if (!oldest)
		return false;
	ctl_close(oldest, "another user came, and this one has the most connections");
	return true;
}

static void ctl_on_caller(struct agent *agent, int fd, const struct ucred *who, bool again)
{
	struct ctl *ctl = agent->ctl;
	struct ctl_conn *c;

	if (!ctl_make_room(ctl, who->uid)) {
		if (log_allowed(&ctl_log))
			log_warning("closed a local connection: too many are open");
		close(fd);
		return;
	}
	c = ctl_new(agent, fd, who, again);
	if (!c) {
		close(fd);
		return;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): one that was freed took itself out of the list */
	LIST_INSERT_HEAD(&ctl->conns, c, entry);
	c->came_at = clock_ms();
	c->stub.came = clock_ticks();
	clock_arm(c->reading, CTL_FIRST_S * 1000);
	/* Most callers send their frame at once, which saves a round of the loop. */
	ctl_on_readable(fd, EV_READ, c);
}

json_t *ctl_error(const char *what, const char *why, bool usage)
{
	return json_pack("{s:{s:s,s:s,s:b}}", "error", "what", what, "why", why, "usage",
			 (int)usage);
}

int ctl_init(struct agent *agent, ctl_request_fn request)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	int err;

	if (!ctl)
		return -ENOMEM;
	ctl->request = request;
	agent->ctl = ctl;
	err = listener_begin(agent, ctl_on_caller);
	if (err)
		log_error("local socket: %s", strerror(-err));
	return err;
}

void ctl_exit(struct agent *agent)
{
	struct ctl *ctl = agent->ctl;

	listener_exit(agent);
	if (!ctl)
		return;
	while (!LIST_EMPTY(&ctl->conns))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		ctl_free(LIST_FIRST(&ctl->conns));
	free(ctl);
	agent->ctl = NULL;
}

struct agent *ctl_agent(const struct ctl_conn *c)
{
	return c->agent;
}
