// SPDX-License-Identifier: GPL-2.0-or-later
/* From the exit of the program to that of the last of its children. */

#include "guest.h"

/* An agent that is stuck must not hold an exit forever. */
#define ENDING_NOTED_MS 5000

void ending_begin(struct guest *g)
{
	g->ended = true;
	g->noted_by = g->session.now + ENDING_NOTED_MS;
	for (unsigned int i = 0; i < g->nouts; i++)
		outlet_exited(&g->out[i]);
	for (unsigned int i = 0; i < g->nins; i++)
		intake_exited(g, &g->in[i]);
	tokens_exited(g);
	real_exited(g);
	pty_exited(g);
	session_note(&g->session, NOTE_ENDED);
}

/* Whether something that was written before the exit is still here. */
static bool ending_owes(const struct guest *g)
{
	for (unsigned int i = 0; i < g->nouts; i++)
		if (g->out[i].fd >= 0 && g->out[i].sent < g->out[i].owed)
			return true;
	return tokens_owes(g) || (g->pty.master >= 0 && !g->pty.dry);
}

static bool ending_waits(const struct guest *g)
{
	return g->session.attached.wait && !g->noted && g->session.hop.socket >= 0 &&
	       g->session.now < g->noted_by;
}

/* Whether somebody can still write, or at least runs. */
static bool ending_more(const struct guest *g)
{
	for (unsigned int i = 0; i < g->nouts; i++)
		if (g->out[i].fd >= 0)
			return true;
	return g->pty.master >= 0 || !g->program.childless;
}

void ending_step(struct guest *g)
{
	const struct job_message over = { .what = JOB_OVER };
	struct job_message m = { .what = JOB_EXIT };

	if (!g->ended || !job_end_writes(&g->session.end) || !session_can_say(&g->session))
		return;
	if (g->session.end.state == JOB_ENDED) {
		if (ending_more(g) || tokens_owes(g))
			return;
		real_tell(g);
		job_end_say(&g->session.end, &over);
		return;
	}
	if (ending_owes(g) || ending_waits(g))
		return;
	real_tell(g);
	m.exit.use = g->session.note.use;
	m.exit.more = ending_more(g);
	job_end_say(&g->session.end, &m);
}
