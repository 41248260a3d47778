// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/eligible.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/ehlaunch.h"
#include "base/process.h"
#include "helpers/common/pidfd.h"
#include "node/kernel.h"
#include "wire/launch.h"
#include "wire/reason.h"

#define ELIGIBLE_ANSWER_S 5 /* of ehlaunch, which answers at once */
/*
 * Questions of one user that are with ehlaunch, which looks at one process after the other, and has other work: the
 * next one, while it looks at one. More of them wait here.
 */
#define ELIGIBLE_A_USER 2

struct eligible {
	TAILQ_ENTRY(eligible) link;
	struct agent *agent;
	struct eligible_who who; /* the socket is a duplicate; -1: ehlaunch has it */
	struct event *event;
	int news; /* -1: its turn has not come */
	eligible_fn done; /* NULL: nobody waits for the answer */
	void *ctx;
};

struct eligibles {
	TAILQ_HEAD(, eligible) all; /* the oldest first */
};

static void eligible_free(struct eligible *e)
{
	TAILQ_REMOVE(&e->agent->eligibles->all, e, link);
	agent_free_event(&e->event);
	if (e->news >= 0)
		close(e->news);
	if (e->who.socket >= 0)
		close(e->who.socket);
	free(e);
}

void eligible_cancel(struct eligible *e)
{
	/* ehlaunch works for its user until it has answered. */
	if (e->news >= 0)
		e->done = NULL;
	else
		eligible_free(e);
}

void eligible_exit(struct agent *agent)
{
	struct eligible *e, *next;

	if (!agent->eligibles)
		return;
	for (e = TAILQ_FIRST(&agent->eligibles->all); e; e = next) {
		next = TAILQ_NEXT(e, link);
		eligible_free(e);
	}
	free(agent->eligibles);
	agent->eligibles = NULL;
}

/* ---- the module ---- */

/*
 * Its answer is about a process id. It is of the process that has connected if that lives after it, and was
 * started when the answer says. 0 or -errno.
 */
static int eligible_by_module(struct agent *agent, const struct eligible_who *who,
			      enum ehs_reason *reason)
{
	int pidfd = pidfd_of_peer(who->socket, who->pid), err;
	const uint64_t tick_ns = 1000000000u / sysconf(_SC_CLK_TCK);
	struct process now;
	uint64_t started;

	if (pidfd < 0)
		return pidfd;
	err = kernel_eligible(agent, who->pid, reason, &started);
	/* It lives, but not in the network namespace of this node. */
	if (err == -ESRCH && !pidfd_ended(pidfd)) {
		*reason = EHS_REASON_NAMESPACE;
		err = 0;
	} else if (!err && (process_look(who->pid, &now) || now.start != started / tick_ns ||
			    now.start > who->came || pidfd_ended(pidfd))) {
		err = -ESRCH;
	}
	close(pidfd);
	return err;
}

/* ---- ehlaunch ---- */

static void eligible_next(struct agent *agent, uid_t uid);

/* The end of a question. Others of its user are asked. */
static void eligible_tell(struct eligible *e, enum ehs_reason reason, const char *text)
{
	struct agent *agent = e->agent;
	const eligible_fn done = e->done;
	const uid_t uid = e->who.uid;
	void *ctx = e->ctx;

	eligible_free(e);
	if (done)
		done(ctx, reason, text);
	eligible_next(agent, uid);
}

static void eligible_on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct launch_judged told = { .reason = EHS_REASON_NONE };
	const ssize_t n = recv(fd, &told, sizeof(told), MSG_DONTWAIT);
	enum ehs_reason reason = REASON_UNSEEN;
	const char *text;

	told.text[sizeof(told.text) - 1] = '\0';
	if (n < (ssize_t)sizeof(told.news)) {
		text = "ehlaunch has ended, or does not answer";
	} else if (told.news.stage == LAUNCH_REQUEST) {
		text = "ehlaunch is too old to say what confines it: restart ehlaunch";
	} else if (told.news.stage != LAUNCH_READY && told.news.error == E2BIG) {
		text = "it has more threads than are looked at";
	} else if (told.news.stage != LAUNCH_READY || n < (ssize_t)sizeof(told)) {
		text = strerror(told.news.error);
	} else {
		reason = told.reason;
		text = told.text;
	}
	eligible_tell(arg, reason, text);
}

/* Its turn has come. 0 or -errno. */
static int eligible_send(struct eligible *e)
{
	const struct launch_eligible ask = { .head.kind = LAUNCH_ELIGIBLE, .came = e->who.came };
	const struct ehlaunch_request q = {
		.head = &ask.head, .size = sizeof(ask), .fds = &e->who.socket, .nfds = 1
	};

	e->news = ehlaunch_ask(e->agent, &q);
	if (e->news < 0)
		return e->news;
	close(e->who.socket);
	e->who.socket = -1;
	e->event = event_new(e->agent->base, e->news, EV_READ, eligible_on_answer, e);
	return e->event && !clock_arm(e->event, ELIGIBLE_ANSWER_S * 1000) ? 0 : -ENOMEM;
}

/* The user's oldest question that waits, if it has its turn. */
static struct eligible *eligible_due(struct agent *agent, uid_t uid)
{
	struct eligible *e, *due = NULL;
	unsigned int asked = 0;

	TAILQ_FOREACH(e, &agent->eligibles->all, link) {
		if (e->who.uid != uid)
			continue;
		asked += e->news >= 0;
		if (!due && e->news < 0)
			due = e;
	}
	return asked < ELIGIBLE_A_USER ? due : NULL;
}

static void eligible_next(struct agent *agent, uid_t uid)
{
	struct eligible *e = eligible_due(agent, uid);

	if (e && eligible_send(e))
		eligible_tell(e, REASON_UNSEEN,
			      "ehlaunch, which looks what confines it, is not there");
}

static struct eligible *eligible_new(struct agent *agent, const struct eligible_who *who)
{
	struct eligible *e;

	if (!agent->eligibles) {
		agent->eligibles = calloc(1, sizeof(*agent->eligibles));
		if (!agent->eligibles)
			return NULL;
		TAILQ_INIT(&agent->eligibles->all);
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	*e = (struct eligible){ .agent = agent, .who = *who, .news = -1 };
	/* The caller may go while it waits, and its number be another's. */
	e->who.socket = fcntl(who->socket, F_DUPFD_CLOEXEC, 0);
	if (e->who.socket < 0) {
		free(e);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&agent->eligibles->all, e, link);
	return e;
}

struct eligible *eligible_ask(struct agent *agent, const struct eligible_who *who, eligible_fn done,
			      void *ctx)
{
	enum ehs_reason reason = EHS_REASON_NONE;
	struct eligible *e;
	int err = agent->module ? eligible_by_module(agent, who, &reason) : -ENOTCONN;

	/* A module of an earlier version, or none that this agent is registered with: ehlaunch sees nearly as much. */
	if (err != -ENOTCONN && err != -EOPNOTSUPP) {
		if (err)
			done(ctx, REASON_UNSEEN,
			     err == -E2BIG ? "it has more threads than are looked at"
					   : strerror(-err));
		else
			done(ctx, reason, reason ? "the module keeps it" : "");
		return NULL;
	}
	e = eligible_new(agent, who);
	if (!e) {
		done(ctx, REASON_UNSEEN, strerror(errno));
		return NULL;
	}
	if (eligible_due(agent, who->uid) == e && eligible_send(e)) {
		eligible_free(e);
		done(ctx, REASON_UNSEEN, "ehlaunch, which looks what confines it, is not there");
		return NULL;
	}
	e->done = done;
	e->ctx = ctx;
	return e;
}
