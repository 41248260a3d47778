// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of the rooms, for the local connections that watch them. */
#include "ctl/watchers.h"

#include "base/agent.h"
#include "base/event.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "net/names.h"

static void watchers_on_event(void *ctx, const json_t *event)
{
	const json_t *uid = json_object_get(event, "uid"); /* of a task */
	struct agent *agent = ctx;
	struct ctl_conn *c, *next;
	json_t *named = NULL;

	for (c = ctl_next_watcher(agent, NULL); c; c = next) {
		next = ctl_next_watcher(agent, c);
		if (uid && !ctl_may_see(c, json_integer_value(uid)))
			continue;
		if (!named) {
			named = json_copy((json_t *)event);
			names_add(agent, named);
		}
		ctl_tell(c, json_incref(named));
	}
	json_decref(named);
}

void watchers_init(struct agent *agent)
{
	event_listen(agent, watchers_on_event, agent);
}

void watchers_exit(struct agent *agent)
{
	event_listen(agent, NULL, NULL);
}
