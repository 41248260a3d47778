// SPDX-License-Identifier: GPL-2.0-or-later
/* Leaving the cluster for good: drain, wait, tell the cluster, end. */

#include "cluster/leave.h"

#include <stdlib.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/drain.h"
#include "cluster/own_roster.h"
#include "node/node.h"

#define LEAVE_LOOK_MS 100 /* between checks for remaining tasks */
#define LEAVE_RETRY_MS 1000

struct leave {
	struct event *timer;
	bool now;
};

static struct log_limit leave_log;

static void leave_on_told(struct agent *agent, const char *why)
{
	struct leave *l = agent->leave;

	if (!why) {
		log_info("left the cluster");
		agent_end(agent, 0);
		return;
	}
	if (log_allowed(&leave_log))
		log_warning("cannot tell the cluster that this host leaves: %s%s", why,
			    l->now ? "; its code is not released" : "; trying again");
	if (l->now)
		agent_end(agent, 0);
	else
		clock_arm(l->timer, LEAVE_RETRY_MS);
}

static void leave_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct leave *l = agent->leave;

	/* Someone may have ended the drain, or lets tasks go. */
	if (!agent->drained || !agent->keeps)
		drain_set(agent, DRAIN_ALL, NULL, "it leaves the cluster");
	if (l->now || node_guests(agent) + node_away(agent) == 0)
		own_roster_leave(agent, leave_on_told);
	else
		clock_arm(l->timer, LEAVE_LOOK_MS);
}

static struct leave *leave_new(struct agent *agent)
{
	struct leave *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->timer = evtimer_new(agent->base, leave_on_timer, agent);
	if (l->timer)
		return l;
	free(l);
	return NULL;
}

void leave_start(struct agent *agent, bool now)
{
	if (!agent->leave) {
		agent->leave = leave_new(agent);
		log_info("leaving the cluster%s: %u guests here, %u tasks away", now ? " now" : "",
			 node_guests(agent), node_away(agent));
	}
	if (!agent->leave) {
		log_error("out of memory: cannot leave the cluster");
		return;
	}
	agent->leave->now |= now;
	drain_set(agent, DRAIN_ALL, NULL, "it leaves the cluster");
	clock_arm(agent->leave->timer, 0);
}

void leave_exit(struct agent *agent)
{
	if (!agent->leave)
		return;
	event_free(agent->leave->timer);
	free(agent->leave);
	agent->leave = NULL;
}
