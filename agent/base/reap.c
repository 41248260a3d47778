// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/reap.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <event2/event.h>

#include "base/agent.h"

#define REAP_MS 10 /* the first wait; doubled up to the next */
#define REAP_MAX_MS 5000

struct reap_child {
	struct reap_child *next;
	pid_t pid;
};

struct reaper {
	struct reap_child *list;
	struct event *timer;
	unsigned int ms;
};

static void reap_wait(struct reaper *r)
{
	const struct timeval wait = { r->ms / 1000, r->ms % 1000 * 1000 };

	evtimer_add(r->timer, &wait);
	r->ms = 2 * r->ms < REAP_MAX_MS ? 2 * r->ms : REAP_MAX_MS;
}

static void reap_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct reaper *r = arg;
	struct reap_child **at = &r->list, *c;

	while ((c = *at)) {
		if (!waitpid(c->pid, NULL, WNOHANG)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
	if (r->list)
		reap_wait(r);
}

static struct reaper *reap_begin(struct agent *agent)
{
	struct reaper *r = agent->reaper ?: calloc(1, sizeof(*r));

	if (!r || agent->reaper)
		return r;
	r->timer = evtimer_new(agent->base, reap_on_timer, r);
	if (!r->timer) {
		free(r);
		return NULL;
	}
	agent->reaper = r;
	return r;
}

void reap(struct agent *agent, pid_t pid)
{
	struct reap_child *c;
	struct reaper *r;

	if (waitpid(pid, NULL, WNOHANG))
		return;
	r = reap_begin(agent);
	c = r ? malloc(sizeof(*c)) : NULL;
	if (!c)
		return; /* a zombie until we end */
	c->pid = pid;
	c->next = r->list;
	r->list = c;
	r->ms = REAP_MS;
	reap_wait(r);
}

void reap_exit(struct agent *agent)
{
	struct reaper *r = agent->reaper;
	struct reap_child *c;

	if (!r)
		return;
	while ((c = r->list)) {
		r->list = c->next;
		free(c);
	}
	event_free(r->timer);
	free(r);
	agent->reaper = NULL;
}
