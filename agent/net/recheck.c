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
	struct recheck_one *first;
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

	for (struct recheck_one *one = agent->recheck->first; one; one = one->next)
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
	/* Those that the event loop has not freed yet. */
	while (r->first)
		recheck_remove(r->first);
	if (r->timer)
		event_free(r->timer);
	free(r);
	agent->recheck = NULL;
}

void recheck_add(struct agent *agent, struct recheck_one *one)
{
	struct recheck *r = agent->recheck;

	if (!r)
		return;
	one->until = tls_peer_until(one->ssl);
	one->next = r->first;
	one->prev = &r->first;
	if (one->next)
		one->next->prev = &one->next;
	r->first = one;
}

void recheck_remove(struct recheck_one *one)
{
	if (!one->prev)
		return;
	if (one->next)
		one->next->prev = one->prev;
	*one->prev = one->next;
	one->prev = NULL;
}

void recheck_all(struct agent *agent)
{
	const char *why;

	for (struct recheck_one *one = agent->recheck ? agent->recheck->first : NULL; one;
	     one = one->next) {
		why = tls_peer_refusal(agent, one->ssl);
		if (why)
			recheck_refuse(one, why);
	}
}
