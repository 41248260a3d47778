// SPDX-License-Identifier: GPL-2.0-or-later
/* What others want to know of guests. */

#include "executor/guest.h"

#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/process.h"
#include "cluster/drain.h"
#include "executor/guest_inside.h"
#include "executor/reserve.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/cgroup.h"
#include "node/node.h"

static const char *guest_state_name(const struct guest *g)
{
	return !g->program		  ? "starting"
	       : g->state == GUEST_BROKEN ? "reconnecting"
	       : g->stopped || g->paused  ? "stopped"
					  : "running";
}

/* Of all its processes, where it has a cgroup; else of its program. */
static void guest_add_usage(const struct guest *g, json_t *task)
{
	struct process now;
	int64_t memory;
	double cpu;

	if (g->program && !process_look(g->program, &now)) {
		json_object_set_new(task, "cpu", json_real(now.cpu));
		json_object_set_new(task, "memory", json_integer(now.memory));
	}
	if (!g->grouped || cgroup_guest_usage(g->agent, g->place->id, &cpu, &memory))
		return;
	json_object_set_new(task, "cpu", json_real(cpu));
	if (memory >= 0)
		json_object_set_new(task, "memory", json_integer(memory));
}

void guest_list(struct agent *agent, json_t *tasks)
{
	char when[32];

	for (const struct guest *g = agent->guests->list; g; g = g->next) {
		json_t *task;

		if (g->state < GUEST_STARTING || g->state == GUEST_OVER ||
		    g->place->state == RESERVE_ENDED)
			continue;
		task = json_pack("{s:s,s:i,s:s,s:s,s:s,s:I,s:s,s:s,s:s,s:f}", "id", g->place->id,
				 "pid", (int)(g->program ? g->program : g->pid), "home",
				 peer_code(g->from), "executor", agent->code, "command",
				 g->place->command, "uid", (json_int_t)g->place->here, "state",
				 guest_state_name(g), "reason", "guest", "started",
				 clock_text(g->started, when), "elapsed",
				 clock_elapsed(g->started));
		guest_add_usage(g, task);
		json_array_append_new(tasks, task);
	}
}

static const struct guest *guest_oldest(const struct agent *agent)
{
	const struct guest *oldest = NULL;

	for (const struct guest *g = agent->guests->list; g; g = g->next)
		if (g->state >= GUEST_STARTING && g->state != GUEST_OVER &&
		    g->place->state != RESERVE_ENDED && (!oldest || g->started < oldest->started))
			oldest = g;
	return oldest;
}

/* What the tasks of this home use, which it cannot see itself. */
static json_t *guest_usage_of(const struct agent *agent, const struct peer *home)
{
	json_t *list = json_array(), *task;

	for (const struct guest *g = agent->guests->list; g; g = g->next) {
		if (g->from != home || g->state < GUEST_STARTING || g->state == GUEST_OVER)
			continue;
		task = json_pack("{s:s}", "id", g->place->id);
		guest_add_usage(g, task);
		json_array_append_new(list, task);
	}
	return list;
}

json_t *guest_on_ask(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const struct guest *g = guest_oldest(agent);
	unsigned int guests = reserve_guests(agent);
	json_t *oldest = json_null();

	for (const struct peer *p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		guests += reserve_waiting(p);
	if (g)
		oldest = json_pack("{s:s,s:s,s:I,s:s,s:s,s:f}", "id", g->place->id, "command",
				   g->place->command, "uid", (json_int_t)g->place->here, "user",
				   g->place->user, "home", peer_code(g->from), "elapsed",
				   clock_elapsed(g->started));
	return json_pack("{s:b,s:o,s:i,s:i,s:o,s:o,s:o}", "draining", (int)agent->draining, "drain",
			 drain_json(agent), "guests", (int)guests, "away", (int)node_away(agent),
			 "oldest", oldest, "tasks", guest_usage_of(agent, from), "starved",
			 guest_starved_of(agent, from));
}
