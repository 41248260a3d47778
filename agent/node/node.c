// SPDX-License-Identifier: GPL-2.0-or-later
/* This node's load, threshold and state, from the module or from /proc. */

#include "node/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/ehsched.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/hierarchy.h"
#include "eh/rule.h"
#include "executor/guest.h"
#include "executor/reserve.h"
#include "home/handoff.h"
#include "node/kernel.h"
#include "node/procload.h"
#include "node/stayed.h"
#include "wire/view.h"

#define NODE_FRESH_MS 5 /* younger readings are not repeated */
#define NODE_IDLE_MS 500 /* between readings of a node without load; its state is notified */

static struct node_settings node_now;
static struct node_view node_last;
static uint64_t node_read_at, node_read_reserved, node_low_since;
static unsigned int node_read_stayed;
static struct event *node_timer;

/* Without the module the dwell is ours to keep. */
static void node_judge(void)
{
	enum eh_state state = eh_state(node_last.load, node_now.threshold, node_now.length);
	uint64_t now = clock_ms();

	if (state != EH_RECEIVER)
		node_low_since = 0;
	else if (!node_low_since)
		node_low_since = now;
	if (state == EH_RECEIVER && now - node_low_since < node_now.dwell)
		state = EH_OK;
	node_last.state = state;
}

/* Guests that are not counted as reserved any more. */
static unsigned int node_started_guests(void)
{
	unsigned int all = guest_count(), starting = guest_starting_load() / EH_TASK;

	return all > starting ? all - starting : 0;
}

static void node_read_proc(void)
{
	unsigned int guests = node_started_guests();

	if (guests > node_last.guest)
		procload_boost(guests - node_last.guest);
	memset(&node_last, 0, sizeof(node_last));
	node_last.guest = guests;
	node_last.local = node_read_stayed;
	node_last.away = handoff_count();
	if (node_now.index == EHS_INDEX_TASKS)
		node_last.load = (guests + node_read_stayed) * node_now.weight;
	else
		node_last.load = procload_get(node_now.index);
	node_judge();
}

static void node_read(void)
{
	node_read_at = clock_ms();
	node_read_reserved = reserve_load();
	node_read_stayed = stayed_count();
	if (!the_agent.module || kernel_get(&node_last))
		node_read_proc();
}

static void node_on_timer(evutil_socket_t fd, short what, void *arg)
{
	bool idle = the_agent.module && !node_last.load && !guest_count();
	unsigned int ms = idle ? NODE_IDLE_MS : PROCLOAD_MS;
	const struct timeval next = { 0, ms * 1000 };

	if (!the_agent.module)
		procload_sample();
	node_read();
	hierarchy_touch();
	evtimer_add(node_timer, &next);
}

int node_init(void)
{
	const struct timeval soon = { 0, PROCLOAD_MS * 1000 };
	int err;

	node_now = (struct node_settings){
		.threshold = the_agent.config->threshold,
		.length = the_agent.config->threshold_length,
		.index = the_agent.config->load_index,
		.weight = 1000,
		.time_limit = the_agent.config->time_limit,
		.dwell = the_agent.config->dwell,
	};
	err = procload_init();
	if (err) {
		log_error("cannot read the load from /proc: %s; is it mounted?", strerror(-err));
		return err;
	}
	node_timer = evtimer_new(the_agent.base, node_on_timer, NULL);
	if (!node_timer)
		return -ENOMEM;
	evtimer_add(node_timer, &soon);
	return 0;
}

void node_exit(void)
{
	if (node_timer)
		event_free(node_timer);
	procload_exit();
}

void node_reload(const struct config *old)
{
	const struct config *now = the_agent.config;
	struct node_settings set = node_now;
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
	if (memcmp(&set, &node_now, sizeof(set)) && node_set(&set, why))
		log_error("reload: the module refuses the new settings: %s", why);
}

const struct node_settings *node_settings(void)
{
	return &node_now;
}

int node_set(const struct node_settings *to, char why[160])
{
	int err;

	why[0] = '\0';
	if (the_agent.module) {
		err = kernel_set(to, why);
		if (err)
			return err;
	}
	node_now = *to;
	node_read();
	return 0;
}

const struct node_view *node_view(void)
{
	return &node_last;
}

uint64_t node_load(void)
{
	return node_last.load + reserve_load();
}

enum eh_state node_state(void)
{
	enum eh_state state = eh_state(node_load(), node_now.threshold, node_now.length);

	return state == EH_RECEIVER && node_last.state != EH_RECEIVER ? EH_OK : state;
}

void node_refresh(void)
{
	/* A reservation that became a guest has moved into the load: an older reading lacks it,
	 * and the node would look idle to the controller in the middle of a burst. */
	if (clock_ms() - node_read_at >= NODE_FRESH_MS || stayed_count() != node_read_stayed ||
	    reserve_load() != node_read_reserved)
		node_read();
}

void node_module_changed(void)
{
	node_low_since = 0;
	node_read();
	hierarchy_touch();
}

void node_seen(const struct node_view *view)
{
	node_last = *view;
	node_read_at = clock_ms();
	node_read_reserved = reserve_load();
	node_read_stayed = stayed_count();
	hierarchy_touch();
}
