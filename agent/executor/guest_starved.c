// SPDX-License-Identifier: GPL-2.0-or-later
/* Guests that were killed because memory was short, of which their homes ask. */

#include "executor/guest_inside.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/agent.h"
#include "base/log.h"
#include "cluster/report.h"
#include "executor/reserve.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "node/memory.h"

void guest_starved_begin(struct agent *agent)
{
	for (const struct guest *g = agent->guests->list; g; g = g->next)
		if (g->pid)
			return;
	agent->guests->kills = memory_kills(agent);
}

/*
 * Its cgroup says so, if it has that controller. Else the node does: one of its processes was killed,
 * and this guest was killed by nobody knows whom.
 */
static bool guest_starved(const struct guest *g)
{
	struct guests *guests = g->agent->guests;
	const int64_t own = g->grouped ? cgroup_guest_starved(g->agent, g->place->id) : -1;

	if (own >= 0)
		return own > 0;
	if (memory_kills(g->agent) <= guests->kills)
		return false;
	guests->kills++;
	return true;
}

void guest_starved_look(struct guest *g, int status)
{
	struct guests *guests = g->agent->guests;

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL || !guest_starved(g))
		return;
	log_warning("%s of node %s (%s) was killed because memory was short", g->place->id,
		    peer_code(g->from), g->place->command);
	snprintf(guests->starved[guests->nstarved++ % GUEST_STARVED], RESERVE_ID_MAX, "%s",
		 g->place->id);
}

json_t *guest_starved_of(const struct agent *agent, const struct peer *home)
{
	json_t *list = json_array();

	for (int i = 0; i < GUEST_STARVED; i++) {
		const char *id = agent->guests->starved[i];

		if (report_id_is_of(id, peer_code(home)))
			json_array_append_new(list, json_string(id));
	}
	return list;
}
