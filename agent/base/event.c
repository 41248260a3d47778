// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/event.h"

#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"

void event_listen(struct agent *agent, event_fn told, void *ctx)
{
	agent->told = told;
	agent->told_ctx = ctx;
}

void event_keep(struct agent *agent, event_fn kept, void *ctx)
{
	agent->kept = kept;
	agent->kept_ctx = ctx;
}

void event_tell(struct agent *agent, const char *name, json_t *members)
{
	char when[32];

	if (!members)
		return;
	json_object_set_new(members, "time", json_string(clock_text(clock_wall_ms(), when)));
	json_object_set_new(members, "event", json_string(name));
	if (agent->told)
		agent->told(agent->told_ctx, members);
	if (agent->kept)
		agent->kept(agent->kept_ctx, members);
	json_decref(members);
}
