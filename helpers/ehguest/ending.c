// SPDX-License-Identifier: GPL-2.0-or-later
/* From the exit of the program to that of the last of its children. */
#include "ending.h"

/* An agent that is stuck must not hold an exit forever. */
#define ENDING_NOTED_MS 5000

void ending_begin(struct ending *e)
{
	e->ended = true;
	e->noted_by = e->session->now + ENDING_NOTED_MS;
	flow_exited(e->flow);
	session_note(e->session, NOTE_ENDED);
}

static bool ending_waits(const struct ending *e)
{
	return e->session->attached.wait && !e->noted && e->session->hop.socket >= 0 &&
	       e->session->now < e->noted_by;
}

/* Whether somebody can still write, or at least runs. */
static bool ending_more(const struct ending *e, bool childless)
{
	return flow_is_open(e->flow) || !childless;
}

int64_t ending_look_at(const struct ending *e)
{
	return e->ended && e->session->end.state == JOB_RUNNING && ending_waits(e) ? e->noted_by
										   : SESSION_NEVER;
}

void ending_step(struct ending *e, bool childless)
{
	const struct job_message over = { .what = JOB_OVER };
	struct job_message m = { .what = JOB_EXIT };

	if (!e->ended || !job_end_writes(&e->session->end) || !session_can_say(e->session))
		return;
	if (e->session->end.state == JOB_ENDED) {
		if (ending_more(e, childless) || flow_owes(e->flow, true))
			return;
		real_tell(&e->flow->reals);
		job_end_say(&e->session->end, &over);
		return;
	}
	if (flow_owes(e->flow, childless) || ending_waits(e))
		return;
	real_tell(&e->flow->reals);
	m.exit.use = e->session->note.use;
	m.exit.more = ending_more(e, childless);
	job_end_say(&e->session->end, &m);
}
