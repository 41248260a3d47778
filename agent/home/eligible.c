// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/eligible.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/launcher.h"
#include "base/process.h"
#include "helpers/common/pidfd.h"
#include "node/kernel.h"
#include "wire/launch.h"
#include "wire/reason.h"

#define ELIGIBLE_ANSWER_S 5 /* of ehlaunch, which answers at once */

struct eligible {
	struct event *event;
	int news;
	eligible_fn done;
	void *ctx;
};

void eligible_cancel(struct eligible *e)
{
	if (e->event)
		event_free(e->event);
	close(e->news);
	free(e);
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

static void eligible_on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct launch_judged told = { .reason = EHS_REASON_NONE };
	struct eligible *e = arg;
	const eligible_fn done = e->done;
	void *ctx = e->ctx;
	const ssize_t n = recv(fd, &told, sizeof(told), MSG_DONTWAIT);

	eligible_cancel(e);
	told.text[sizeof(told.text) - 1] = '\0';
	if (n < (ssize_t)sizeof(told.news))
		done(ctx, REASON_UNSEEN, "ehlaunch has ended, or does not answer");
	else if (told.news.stage == LAUNCH_REQUEST)
		done(ctx, REASON_UNSEEN,
		     "ehlaunch is too old to say what confines it: restart ehlaunch");
	else if (told.news.stage != LAUNCH_READY && told.news.error == E2BIG)
		done(ctx, REASON_UNSEEN, "it has more threads than are looked at");
	else if (told.news.stage != LAUNCH_READY || n < (ssize_t)sizeof(told))
		done(ctx, REASON_UNSEEN, strerror(told.news.error));
	else
		done(ctx, told.reason, told.text);
}

static int eligible_ask_launcher(struct agent *agent, const struct eligible_who *who,
				 struct eligible *e)
{
	const struct timeval limit = { ELIGIBLE_ANSWER_S, 0 };
	const struct launch_eligible ask = { .head.kind = LAUNCH_ELIGIBLE, .came = who->came };
	const struct launcher_request q = {
		.head = &ask.head, .size = sizeof(ask), .fds = &who->socket, .nfds = 1
	};

	e->news = launcher_ask(agent, &q);
	if (e->news < 0)
		return e->news;
	e->event = event_new(agent->base, e->news, EV_READ, eligible_on_answer, e);
	return e->event && !event_add(e->event, &limit) ? 0 : -ENOMEM;
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
	e = calloc(1, sizeof(*e));
	if (!e) {
		done(ctx, REASON_UNSEEN, strerror(ENOMEM));
		return NULL;
	}
	*e = (struct eligible){ .news = -1, .done = done, .ctx = ctx };
	err = eligible_ask_launcher(agent, who, e);
	if (!err)
		return e;
	if (e->news >= 0)
		eligible_cancel(e);
	else
		free(e);
	done(ctx, REASON_UNSEEN, "ehlaunch, which looks what confines it, is not there");
	return NULL;
}
