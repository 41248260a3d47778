// SPDX-License-Identifier: GPL-2.0-or-later
/* This node's load, threshold and state, from the module or from /proc. */

#include "node/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "eh/credit.h"
#include "eh/rule.h"
#include "node/kernel.h"
#include "node/procload.h"
#include "node/local_task.h"
#include "node/usage.h"
#include "wire/view.h"

#define NODE_FRESH_MS 5 /* newer readings are reused */
/* between readings of an idle node; the module reports changes of its state */
#define NODE_IDLE_MS 500

struct node {
	struct node_settings now;
	struct node_view last;
	uint64_t read_at, read_reserved, low_since;
	unsigned int read_local;
	struct event *timer;
	const struct node_ops *ops;
};

static struct node_tasks node_tasks(struct agent *agent)
{
	struct node_tasks tasks;

	agent->node->ops->tasks(agent, &tasks);
	return tasks;
}

unsigned int node_processors(const struct agent *agent)
{
	uint64_t n = eh_credit_tasks(agent->config->capacity);

	return n ? (unsigned int)n : 1;
}

/* Of as many the module asks for an exec only if none is free. */
static unsigned int node_asks(const struct agent *agent)
{
	return agent->config->policy == CONFIG_IDLE ? node_processors(agent) : 0;
}

/* Without the module the agent keeps the dwell time. */
static void node_judge(struct agent *agent)
{
	enum eh_state state = eh_state(agent->node->last.load, agent->node->now.threshold,
				       agent->node->now.length);
	uint64_t now = clock_ms();

	if (state != EH_RECEIVER)
		agent->node->low_since = 0;
	else if (!agent->node->low_since)
		agent->node->low_since = now;
	if (state == EH_RECEIVER && now - agent->node->low_since < agent->node->now.dwell)
		state = EH_OK;
	agent->node->last.state = state;
}

/* Guests that no longer count as reserved. */
static unsigned int node_started_guests(struct agent *agent)
{
	struct node_tasks tasks = node_tasks(agent);
	unsigned int all = tasks.guests, starting = tasks.starting / EH_TASK;

	return all > starting ? all - starting : 0;
}

static void node_read_proc(struct agent *agent)
{
	unsigned int guests = node_started_guests(agent);

	if (guests > agent->node->last.guest)
		procload_boost(agent, guests - agent->node->last.guest);
	memset(&agent->node->last, 0, sizeof(agent->node->last));
	agent->node->last.guest = guests;
	agent->node->last.local = agent->node->read_local;
	agent->node->last.away = node_tasks(agent).away;
	if (agent->node->now.index == EHS_INDEX_TASKS)
		agent->node->last.load =
			(guests + agent->node->read_local) * agent->node->now.weight;
	else
		agent->node->last.load = procload_get(agent, agent->node->now.index);
	node_judge(agent);
}

static void node_read(struct agent *agent)
{
	agent->node->read_at = clock_ms();
	agent->node->read_reserved = node_tasks(agent).reserved;
	agent->node->read_local = local_task_count(agent);
	if (!agent->module || kernel_get(agent, &agent->node->last))
		node_read_proc(agent);
}

static void node_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	bool idle = agent->module && !agent->node->last.load && !node_tasks(agent).guests;
	unsigned int ms = idle ? NODE_IDLE_MS : PROCLOAD_MS;

	if (!agent->module)
		procload_sample(agent);
	usage_sample(agent);
	node_read(agent);
	agent->node->ops->changed(agent);
	clock_arm(agent->node->timer, ms);
}

int node_init(struct agent *agent, const struct node_ops *ops)
{
	int err;

	agent->node = calloc(1, sizeof(*agent->node));
	if (!agent->node)
		return -ENOMEM;
	agent->node->ops = ops;
	agent->node->now = (struct node_settings){
		.threshold = agent->config->threshold,
		.length = agent->config->threshold_length,
		.index = agent->config->load_index,
		.weight = 1000,
		.time_limit = agent->config->time_limit,
		.dwell = agent->config->dwell,
		.processors = node_asks(agent),
	};
	err = procload_init(agent);
	if (err) {
		log_error("cannot read the load from /proc: %s; is it mounted?", strerror(-err));
		return err;
	}
	err = usage_init(agent);
	if (err)
		return err;
	agent->node->timer = evtimer_new(agent->base, node_on_timer, agent);
	if (!agent->node->timer)
		return -ENOMEM;
	clock_arm(agent->node->timer, PROCLOAD_MS);
	return 0;
}

void node_exit(struct agent *agent)
{
	if (!agent->node)
		return;
	agent_free_event(&agent->node->timer);
	free(agent->node);
	agent->node = NULL;
	usage_exit(agent);
	procload_exit(agent);
}

void node_reload(struct agent *agent, const struct config *old)
{
	const struct config *now = agent->config;
	struct node_settings set = agent->node->now;
	char why[160];

	if (now->threshold != old->threshold)
		set.threshold = now->threshold;
	if (now->threshold_length != old->threshold_length)
		set.length = now->threshold_length;
	if (now->load_index != old->load_index)
		set.index = now->load_index;
	if (now->time_limit != old->time_limit)
		set.time_limit = now->time_limit;
	if (now->dwell != old->dwell)
		set.dwell = now->dwell;
	set.processors = node_asks(agent);
	if (memcmp(&set, &agent->node->now, sizeof(set)) && node_set(agent, &set, why))
		log_error("reload: the module rejected the new settings: %s", why);
}

const struct node_settings *node_settings(struct agent *agent)
{
	return &agent->node->now;
}

int node_set(struct agent *agent, const struct node_settings *to, char why[160])
{
	bool moved = to->threshold != agent->node->now.threshold ||
		     to->length != agent->node->now.length;
	int err;

	err = kernel_set(agent, to, why);
	if (err)
		return err;
	agent->node->now = *to;
	node_read(agent);
	if (moved)
		agent->node->ops->threshold(agent);
	agent->node->ops->changed(agent);
	return 0;
}

const struct node_view *node_view(struct agent *agent)
{
	return &agent->node->last;
}

uint64_t node_load(struct agent *agent)
{
	return agent->node->last.load + node_tasks(agent).reserved;
}

bool node_dwells(struct agent *agent)
{
	const struct node *node = agent->node;

	return node->last.state != EH_RECEIVER &&
	       eh_state(node_load(agent), node->now.threshold, node->now.length) == EH_RECEIVER;
}

void node_refresh(struct agent *agent)
{
	/*
	 * When a reservation becomes a guest, it moves into the load. An older reading lacks it, so
	 * the node would look idle to the controller in the middle of a burst.
	 */
	if (clock_ms() - agent->node->read_at >= NODE_FRESH_MS ||
	    local_task_count(agent) != agent->node->read_local ||
	    node_tasks(agent).reserved != agent->node->read_reserved)
		node_read(agent);
}

void node_module_changed(struct agent *agent)
{
	agent->node->low_since = 0;
	node_read(agent);
	agent->node->ops->changed(agent);
}

void node_seen(struct agent *agent, const struct node_view *view)
{
	agent->node->last = *view;
	agent->node->read_at = clock_ms();
	agent->node->read_reserved = node_tasks(agent).reserved;
	agent->node->read_local = local_task_count(agent);
	agent->node->ops->changed(agent);
}

void node_loaded(struct agent *agent, uint32_t load)
{
	struct node_view view = agent->node->last;

	view.load = load;
	node_seen(agent, &view);
}

void node_touch(struct agent *agent)
{
	agent->node->ops->changed(agent);
}

unsigned int node_guests(struct agent *agent)
{
	return node_tasks(agent).guests;
}

unsigned int node_away(struct agent *agent)
{
	return node_tasks(agent).away;
}
