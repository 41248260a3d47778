// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/agent.h"

void agent_end(struct agent *agent, int status)
{
	agent->status = status;
	event_base_loopbreak(agent->base);
}

struct event *agent_watch(struct agent *agent, evutil_socket_t fd, short what,
			  event_callback_fn call, void *ctx)
{
	struct event *event = event_new(agent->base, fd, what, call, ctx);

	if (event && event_add(event, NULL))
		agent_free_event(&event);
	return event;
}

void agent_free_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}
