// SPDX-License-Identifier: GPL-2.0-or-later
/* When the steps of guests were, for their homes. */

#include "executor/guest.h"

#include <stdio.h>
#include <string.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/report.h"
#include "cluster/timing.h"
#include "executor/guest_inside.h"
#include "executor/reserve.h"
#include "net/peer.h"

void guest_time(struct guest *g, enum timing_step step)
{
	if (g->place)
		g->place->timing.us[step] = clock_us();
}

/* It is a user's process. If it does not say when, it was just now. */
void guest_time_note(struct guest *g, const struct note *n)
{
	struct timing *t = &g->place->timing;
	const uint64_t now = clock_us();

	if (n->what == NOTE_SAME) {
		t->us[TIMING_COMPARED] = now;
		timing_told(t, TIMING_COMPARED, n->ended_us, TIMING_LAUNCH, now);
	} else if (n->what == NOTE_ENDED && !t->us[TIMING_EXITED]) {
		t->us[TIMING_EXITED] = now;
		timing_told(t, TIMING_EXITED, n->ended_us, TIMING_EXECUTED, now);
	} else if (n->what == NOTE_STARTED) {
		t->us[TIMING_EXECUTED] = now;
		timing_told(t, TIMING_END, n->begun_us, TIMING_LAUNCH, now);
		timing_told(t, TIMING_READY_SAID, n->ready_us, TIMING_END, now);
		timing_told(t, TIMING_GO_CAME, n->go_us, TIMING_READY_SAID, now);
		timing_told(t, TIMING_EXECUTED, n->started_us, TIMING_GO_CAME, now);
	}
}

void guest_time_over(struct guest *g)
{
	struct guests *guests = g->agent->guests;
	struct guest_timed *timed;

	if (!g->place)
		return;
	timed = &guests->timed[guests->ntimed++ % GUEST_TIMED];
	snprintf(timed->id, sizeof(timed->id), "%s", g->place->id);
	timed->timing = g->place->timing;
}

bool guest_timing(const struct agent *agent, const char *id, struct timing *out)
{
	const struct guests *guests = agent->guests;

	for (const struct guest *g = guests->list; g; g = g->next) {
		if (!g->place || strcmp(g->place->id, id))
			continue;
		*out = g->place->timing;
		return true;
	}
	/* The last one first: a home without its records may use an ID again. */
	for (unsigned int i = 0; i < GUEST_TIMED && i < guests->ntimed; i++) {
		const struct guest_timed *timed =
			&guests->timed[(guests->ntimed - 1 - i) % GUEST_TIMED];

		if (strcmp(timed->id, id))
			continue;
		*out = timed->timing;
		return true;
	}
	return false;
}

json_t *guest_on_timing(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const char *id = json_string_value(json_object_get(body, "id")) ?: "";
	struct timing there;

	if (!report_id_is_of(id, peer_code(from)) || !guest_timing(agent, id, &there))
		return json_pack("{s:n}", "steps");
	return json_pack("{s:o}", "steps", timing_to_json(&there));
}
