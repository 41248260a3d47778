// SPDX-License-Identifier: GPL-2.0-or-later
/* Leaving the cluster for good: drain, wait, tell, end. */

#include "cluster/leave.h"

#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "cluster/enrol.h"
#include "cluster/hierarchy.h"
#include "executor/guest.h"
#include "home/handoff.h"

#define LEAVE_LOOK_MS 100 /* between looks whether tasks are left */
#define LEAVE_RETRY_MS 1000

static struct event *leave_timer;
static struct log_limit leave_log;
static bool leave_now;

static void leave_schedule(unsigned int ms)
{
	const struct timeval in = { ms / 1000, ms % 1000 * 1000 };

	evtimer_add(leave_timer, &in);
}

static void leave_on_told(const char *why)
{
	if (!why) {
		log_info("left the cluster");
		agent_end(&the_agent, 0);
		return;
	}
	if (log_allowed(&leave_log))
		log_warning("the cluster could not be told that this host leaves: %s%s", why,
			    leave_now ? "; its code stays taken" : "; trying again");
	if (leave_now)
		agent_end(&the_agent, 0);
	else
		leave_schedule(LEAVE_RETRY_MS);
}

static void leave_on_timer(evutil_socket_t fd, short what, void *arg)
{
	/* a drain's end by somebody else would keep us here */
	the_agent.draining = true;
	if (leave_now || guest_count() + handoff_count() == 0)
		enrol_leave(leave_on_told);
	else
		leave_schedule(LEAVE_LOOK_MS);
}

void leave_start(bool now)
{
	leave_now |= now;
	if (!leave_timer) {
		leave_timer = evtimer_new(the_agent.base, leave_on_timer, NULL);
		log_info("leaving the cluster%s: %u guests, %u tasks away", leave_now ? " now" : "",
			 guest_count(), handoff_count());
	}
	if (!leave_timer) {
		log_error("no memory to leave");
		return;
	}
	the_agent.draining = true;
	hierarchy_touch();
	leave_schedule(0);
}

void leave_exit(void)
{
	if (leave_timer)
		event_free(leave_timer);
	leave_timer = NULL;
}
