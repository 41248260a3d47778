// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/incidents.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "home/history.h"
#include "net/names.h"

#define INCIDENTS_MS 60000
#define INCIDENTS_MOST 100 /* of a minute: a peer that comes and goes leaves room for others */

struct incidents {
	struct agent *agent;
	uint64_t minute; /* clock_ms() when it began */
	unsigned int told, dropped; /* in it */
	bool stopped; /* peers go down with this agent, which is no news */
};

static bool incidents_keeps(const char *name)
{
	static const char *const names[] = { "peer",  "controller", "join",	   "leave",
					     "drain", "revoked",    "certificate", "start",
					     "stop",  "reload",	    "launcher",	   "module" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void incidents_put(struct incidents *in, json_t *event)
{
	struct agent *agent = in->agent;

	json_object_set_new(event, "self", json_string(agent->code));
	names_add(agent, event);
	history_event(agent, event);
}

/* False: this minute has had enough of them. */
static bool incidents_count(struct incidents *in, const char *time)
{
	const uint64_t now = clock_ms();

	if (now - in->minute >= INCIDENTS_MS) {
		if (in->dropped)
			incidents_put(in, json_pack("{s:s,s:s,s:i}", "time", time, "event",
						    "left-out", "events", (int)in->dropped));
		in->minute = now;
		in->told = in->dropped = 0;
	}
	if (in->told == INCIDENTS_MOST) {
		in->dropped++;
		return false;
	}
	in->told++;
	return true;
}

static void incidents_on_event(void *ctx, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "event"));
	const char *time = json_string_value(json_object_get(event, "time"));
	struct incidents *in = ctx;

	if (in->stopped || !incidents_keeps(name) || !incidents_count(in, time))
		return;
	incidents_put(in, json_copy((json_t *)event));
	in->stopped = !strcmp(name, "stop");
}

void incidents_init(struct agent *agent)
{
	struct incidents *in = agent->history ? calloc(1, sizeof(*in)) : NULL;

	if (!in)
		return;
	in->agent = agent;
	agent->incidents = in;
	event_keep(agent, incidents_on_event, in);
}

void incidents_exit(struct agent *agent)
{
	event_keep(agent, NULL, NULL);
	free(agent->incidents);
	agent->incidents = NULL;
}
