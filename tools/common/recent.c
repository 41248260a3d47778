// SPDX-License-Identifier: GPL-2.0-or-later
#include "recent.h"

#include <stdio.h>
#include <time.h>

#include "progress.h"
#include "writer.h"

#define RECENT_LATE_S \
	2 /* what is looked at again: a look takes time, and nodes answer one after the other */
#define RECENT_MOST_S \
	60 /* a node that has not answered for longer has lost what it would have told */

bool recent_begin(struct recent *r)
{
	const double now = progress_seconds(CLOCK_BOOTTIME);

	*r = (struct recent){ now, now, json_object() };
	return r->told;
}

void recent_end(struct recent *r)
{
	json_decref(r->told);
}

json_t *recent_question(struct recent *r)
{
	double since;

	r->begun = progress_seconds(CLOCK_BOOTTIME);
	since = r->begun - r->complete + RECENT_LATE_S;
	if (since > RECENT_MOST_S)
		since = RECENT_MOST_S;
	return json_pack("{s:s,s:I}", "command", "events", "since_ms", (json_int_t)(since * 1000));
}

/* Whether no look has told it yet. */
static bool recent_is_new(struct recent *r, const json_t *event)
{
	bool new;
	char key[160];

	/* an agent that was started again counts from 1 */
	snprintf(key, sizeof(key), "%s %s %s", text_of(event, "self"), integer_of(event, "number"),
		 text_of(event, "time"));
	new = !json_object_get(r->told, key);
	json_object_set_new(r->told, key, json_real(r->begun));
	return new;
}

/* A node that did not answer may tell what it has told before: the next look begins where all had answered. */
static void recent_forget(struct recent *r)
{
	const char *key;
	json_t *last;
	void *next;

	json_object_foreach_safe(r->told, next, key, last)
		if (r->begun - json_real_value(last) > RECENT_MOST_S + RECENT_LATE_S)
			json_object_del(r->told, key);
}

void recent_take(struct recent *r, const json_t *answer, recent_fn tell, void *ctx)
{
	const json_t *events = json_object_get(answer, "events");
	bool wanted = true;
	json_t *event;

	if (!json_array_size(json_object_get(answer, "silent")))
		r->complete = r->begun;
	recent_forget(r);
	/* the newest is the first */
	for (size_t i = json_array_size(events); wanted && i--;) {
		event = json_array_get(events, i);
		if (!recent_is_new(r, event))
			continue;
		event = json_copy(event);
		json_object_del(event, "number");
		json_object_del(event, "at");
		wanted = tell(ctx, event);
		json_decref(event);
	}
}
