// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/recheck.h"

#include <errno.h>
#include <stdlib.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "net/tls.h"

struct recheck {
	LIST_HEAD(, recheck_one) all;
	struct event *timer;
};

static struct log_limit recheck_log;

static void recheck_refuse(struct recheck_one *one, const char *why)
{
	if (log_allowed(&recheck_log))
		log_warning("ended the connection with %s: %s", one->cn, why);
	one->refuse(one->ctx, why);
}

/* The clock may be set, so the time of the end is looked at, not waited for. */
static void recheck_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	int64_t now = clock_wall_ms() / 1000;
	struct recheck_one *one;

	LIST_FOREACH(one, &agent->recheck->all, entry)
		if (now > one->until)
			recheck_refuse(one, "its certificate has expired");
}

int recheck_init(struct agent *agent)
{
	const unsigned int ms = agent->config->heartbeat;
	struct recheck *r = calloc(1, sizeof(*r));

	agent->recheck = r;
	if (!r)
		return -ENOMEM;
	r->timer = event_new(agent->base, -1, EV_PERSIST, recheck_on_timer, agent);
	return r->timer && !clock_arm(r->timer, ms) ? 0 : -ENOMEM;
}

void recheck_exit(struct agent *agent)
{
	struct recheck *r = agent->recheck;

	if (!r)
		return;
	/* The event loop has not freed all of them yet. */
	while (!LIST_EMPTY(&r->all))
		recheck_remove(LIST_FIRST(&r->all));
	agent_free_event(&r->timer);
	free(r);
	agent->recheck = NULL;
}

void recheck_add(struct agent *agent, struct recheck_one *one)
{
	struct recheck *r = agent->recheck;

	if (!r)
		return;
	one->until = tls_peer_until(one->ssl);
	LIST_INSERT_HEAD(&r->all, one, entry);
}

void recheck_remove(struct recheck_one *one)
{
	if (!one->entry.le_prev)
		return;
	LIST_REMOVE(one, entry);
	one->entry.le_prev = NULL;
}

void recheck_all(struct agent *agent)
{
	struct recheck_one *one;
	const char *why;

	if (!agent->recheck)
		return;
	LIST_FOREACH(one, &agent->recheck->all, entry) {
		why = tls_peer_refusal(agent, one->ssl);
		if (why)
			recheck_refuse(one, why);
	}
}
