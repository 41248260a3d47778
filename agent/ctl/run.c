// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/ehlaunch.h"
#include "base/log.h"
#include "ctl/rights.h"
#include "ctl/sessions.h"
#include "node/cgroup.h"
#include "node/kernel.h"
#include "wire/launch.h"
#include "wire/view.h"

#define RUN_ANSWER_S 5 /* of ehlaunch */

/* A caller that waits for its session. */
struct run {
	struct ctl_conn *of;
	int news;
	struct event *event;
};

static void run_free(struct run *r)
{
	agent_free_event(&r->event);
	if (r->news >= 0)
		close(r->news);
	free(r);
}

static void run_fail(struct run *r, const char *what, const char *why)
{
	ctl_reply(r->of, ctl_error(what, why, false));
	run_free(r);
}

static void run_on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct launch_managed made = { .name = "" };
	struct run *r = arg;
	struct ctl_conn *c = r->of;
	ssize_t n;
	int err;

	n = recv(fd, &made, sizeof(made), MSG_DONTWAIT);
	if (n != sizeof(made)) {
		run_fail(r, "session",
			 n < (ssize_t)sizeof(made.news) ? "ehlaunch has ended, or does not answer"
							: ehlaunch_trouble(&made.news));
		return;
	}
	made.name[sizeof(made.name) - 1] = '\0';
	if (made.news.stage != LAUNCH_READY) {
		run_fail(r, "session",
			 made.news.stage != LAUNCH_CGROUP ? ehlaunch_trouble(&made.news)
			 : made.news.error == EUSERS	  ? "this user has as many as one may have"
							  : strerror(made.news.error));
		return;
	}
	run_free(r);
	/* Its next exec is the program of `ehctl run`, which the user expects to see here. */
	err = kernel_bypass(ctl_agent(c), ctl_pid(c));
	if (err)
		log_warning("process %d: cannot exempt its first program from placement: %s",
			    (int)ctl_pid(c), strerror(-err));
	ctl_reply(c, json_pack("{s:i,s:s,s:b}", "version", 1, "session", made.name, "managed", 1));
}

static void run_ask(struct ctl_conn *c, const char *wish, struct launch_session *ask)
{
	const int fds[] = { ctl_socket(c) };
	const struct ehlaunch_request q = {
		.head = &ask->head, .size = sizeof(*ask), .fds = fds, .nfds = 1
	};
	struct run *r = calloc(1, sizeof(*r));

	if (!r) {
		ctl_reply(c, NULL);
		return;
	}
	r->of = c;
	snprintf(ask->wish, sizeof(ask->wish), "%s", wish);
	r->news = ehlaunch_ask(ctl_agent(c), &q);
	if (r->news < 0) {
		run_fail(r, "session", "ehlaunch is not there");
		return;
	}
	r->event = event_new(ctl_agent(c)->base, r->news, EV_READ, run_on_answer, r);
	if (!r->event || clock_arm(r->event, RUN_ANSWER_S * 1000))
		run_fail(r, "session", "out of memory");
}

/* Without the module its program is all of the session. */
static void run_alone(struct ctl_conn *c, const char *wish)
{
	static struct log_limit limit;
	char name[SESSION_NAME] = "";

	if (wish && *wish && ctl_pid(c) > 0 &&
	    sessions_enter(ctl_agent(c), ctl_pid(c), ctl_uid(c), wish, name) && log_allowed(&limit))
		log_warning("session %s of process %d is not kept", wish, (int)ctl_pid(c));
	ctl_reply(c, json_pack("{s:i,s:s,s:b}", "version", 1, "session", name, "managed", 0));
}

void run_start(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	const char *wish = json_string_value(json_object_get(request, "name"));
	const char *view = json_string_value(json_object_get(request, "view"));
	struct launch_session ask = {
		.head.kind = LAUNCH_SESSION,
		.retry = json_is_true(json_object_get(request, "retry")),
		.came = ctl_came(c),
		.leaves = json_is_true(json_object_get(request, "all")),
		.view = VIEW_UNSET,
	};

	if (view)
		ask.view = view_parse(view);
	if (view && ask.view == VIEW_UNSET)
		ctl_reply(c, ctl_error("view", "must be shared, home or auto", true));
	else if (!agent->module || cgroup_managed_fd(agent) < 0)
		run_alone(c, wish);
	else if (ctl_pid(c) <= 0)
		ctl_reply(c, ctl_error("run",
				       "the agent cannot see the calling process: it is in "
				       "another PID namespace",
				       false));
	else
		run_ask(c, wish ?: "", &ask);
}
