// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of the rooms, for the local connections that watch them, and the last ones for surveys. */
#include "ctl/watchers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "ctl/survey.h"
#include "net/names.h"

#define WATCHERS_KEPT 256

struct watchers {
	json_t *kept[WATCHERS_KEPT]; /* a ring, with names of hosts */
	uint64_t at[WATCHERS_KEPT]; /* clock_ms() */
	uint64_t count; /* events so far: the number of the last one */
};

/* The last ones again, for those who ask for them later. */
static void watchers_keep(struct watchers *w, json_t *event)
{
	const size_t i = w->count++ % WATCHERS_KEPT;

	json_decref(w->kept[i]);
	w->kept[i] = json_incref(event);
	w->at[i] = clock_ms();
}

static void watchers_on_event(void *ctx, const json_t *event)
{
	const json_t *uid = json_object_get(event, "uid"); /* of a task */
	json_t *named = json_copy((json_t *)event);
	struct agent *agent = ctx;
	struct ctl_conn *c, *next;

	if (!named)
		return;
	names_add(agent, named);
	watchers_keep(agent->watchers, named);
	for (c = ctl_next_watcher(agent, NULL); c; c = next) {
		next = ctl_next_watcher(agent, c);
		if (!uid || ctl_may_see(c, json_integer_value(uid)))
			ctl_tell(c, json_incref(named));
	}
	json_decref(named);
}

static void watchers_survey(struct agent *agent, const struct viewer *viewer,
			    const json_t *question, viewer_told_fn told, void *ctx)
{
	const struct watchers *w = agent->watchers;
	const json_int_t since = json_integer_value(json_object_get(question, "since_ms"));
	const uint64_t now = clock_ms();
	json_t *events = json_array(), *event;
	uint64_t n;

	for (n = w->count; n && w->count - n < WATCHERS_KEPT; n--) {
		const size_t i = (n - 1) % WATCHERS_KEPT;
		const json_t *uid = json_object_get(w->kept[i], "uid");

		if (now - w->at[i] > (uint64_t)since)
			break;
		if (uid && !viewer_may_see(viewer, json_integer_value(uid)))
			continue;
		event = json_copy(w->kept[i]);
		viewer_add_user(event);
		json_object_set_new(event, "number", json_integer((json_int_t)n));
		/* clocks of nodes differ, so it is how long ago */
		json_object_set_new(event, "at", json_integer(-(json_int_t)(now - w->at[i])));
		json_array_append_new(events, event);
	}
	/* Those that are not kept any more are not there. */
	told(ctx, events, w->count - n == WATCHERS_KEPT, NULL);
}

const struct survey_kind watchers_kind = { "events", watchers_survey, 1000, 0, SURVEY_AGO, 0 };

int watchers_init(struct agent *agent)
{
	agent->watchers = calloc(1, sizeof(*agent->watchers));
	if (!agent->watchers)
		return -ENOMEM;
	event_listen(agent, watchers_on_event, agent);
	return 0;
}

void watchers_exit(struct agent *agent)
{
	if (!agent->watchers)
		return;
	event_listen(agent, NULL, NULL);
	for (size_t i = 0; i < WATCHERS_KEPT; i++)
		json_decref(agent->watchers->kept[i]);
	free(agent->watchers);
	agent->watchers = NULL;
}
