// SPDX-License-Identifier: GPL-2.0-or-later
/* The states of a guest: how it goes from one to the next, and who is told. */

#include "executor/guest_inside.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "executor/reserve.h"
#include "executor/reserve_ask.h"
#include "executor/view.h"
#include "job/route.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "wire/attach.h"
#include "wire/frame.h"

/* ehguest kills what it has started for five seconds; the rest is killed with its cgroup. */
#define GUEST_ENDS_MS 8000
#define GUEST_SAYS_MS 20 /* home is told that its end is there, with what that says or after this */

void guest_kill(struct guest *g)
{
	if (g->grouped)
		cgroup_guest_kill(g->agent, g->place->id);
	if (g->pid > 0 && g->route.socket >= 0)
		kill(g->pid, SIGKILL);
}

void guest_unask(struct guest *g)
{
	if (g->ask)
		reserve_cancel(g->ask);
	g->ask = NULL;
}

void guest_over(struct guest *g)
{
	g->state = GUEST_OVER;
	clock_arm(g->timer, GUEST_ENDS_MS);
	guest_later(g);
}

void guest_give_up(struct guest *g)
{
	guest_kill(g);
	guest_unask(g);
	route_close_end(&g->route);
	if (g->place)
		g->place->state = RESERVE_ENDED;
	guest_over(g);
}

void guest_refuse(struct guest *g, enum ehs_reason reason, int error, const char *what)
{
	uint8_t payload[8 + 256];
	int n;

	frame_put_u32(payload, reason);
	frame_put_u32(payload + 4, error);
	n = snprintf((char *)payload + 8, 256, error ? "%s: %s" : "%s", what, strerror(error));
	if (n > 255)
		n = 255;
	route_tell_peer(&g->route, FRAME_REFUSED, payload, 8 + n);
	route_finish(&g->route);
	guest_give_up(g);
}

int guest_tell_attached(struct guest *g)
{
	const struct attached told = {
		.started_ms = g->started,
		.wait = g->view.of || g->view_ino,
	};

	return route_tell_attached(&g->route, g->from, g->token, g->place->id, &told);
}

/* Home is told that the end is there. */
static void guest_linked(struct guest *g)
{
	const bool first = g->state == GUEST_STARTING;

	g->state = GUEST_LINKED;
	if (route_tell_peer_later(&g->route, FRAME_ATTACHED, NULL, 0)) {
		/* Memory is short: home runs the task, or tries again on another stream. */
		route_drop_stream(&g->route);
		if (first)
			guest_give_up(g);
		else
			guest_broken(g);
	} else if (g->home_gone || clock_arm(g->timer, GUEST_SAYS_MS)) {
		/* The timer is for the time that it has to end. */
		route_push(&g->route);
	}
}

void guest_drop_job(struct guest *g)
{
	if (g->route.stream)
		h2_stream_unkeep(g->route.stream, g->job_length);
	free(g->job);
	g->job = NULL;
	g->job_length = 0;
}

void guest_try_link(struct guest *g)
{
	if (guest_is_open(g))
		return;
	evtimer_del(g->timer);
	guest_drop_job(g);
	if (g->state == GUEST_STARTING && !g->control)
		guest_linked(g);
}

void guest_joined(struct guest *g)
{
	if (!guest_tell_attached(g))
		guest_linked(g);
	else
		route_drop_stream(&g->route);
}

/* ehguest ends at its limit; this is for one that does not. */
static void guest_wait(struct guest *g, unsigned int limit_ms)
{
	clock_arm(g->timer, limit_ms + GUEST_ENDS_MS);
}

/* As ehguest does: of one whose stub is stopped output may be left after its end. */
void guest_wait_home(struct guest *g)
{
	const bool stands = g->paused || (g->stopped && g->place->state != RESERVE_ENDED);

	guest_wait(g, stands ? ATTACH_STOPPED_MS : g->agent->config->job_limit);
}

void guest_broken(struct guest *g)
{
	if (g->state == GUEST_LINKED) {
		log_info("%s: the connection to its home node %s broke; it waits for a new one",
			 g->place->id, peer_code(g->from));
		route_tell_end(&g->route, FRAME_DETACHED, NULL, 0);
	}
	if (g->state != GUEST_BROKEN && !g->home_gone)
		guest_wait_home(g);
	g->state = GUEST_BROKEN;
}

void guest_settled(struct guest *g)
{
	g->settling = false;
	route_tell_end(&g->route, FRAME_NOTED, NULL, 0);
}

void guest_settle(struct guest *g)
{
	g->settling = view_settle(&g->view);
	/* Its view comes, or is given up with it. */
	if (!g->view.of && g->view_ino && g->view_ino != GUEST_ANY_VIEW)
		g->settling = true;
	if (!g->settling)
		guest_settled(g);
}

void guest_home_gone(struct guest *g, const uint8_t *payload, uint32_t length)
{
	const bool again = g->home_gone;

	g->home_gone = true;
	route_tell_end(&g->route, FRAME_GONE, payload, length);
	route_finish(&g->route);
	if (g->state < GUEST_LINKED) {
		guest_give_up(g);
		return;
	}
	/* Its user may have stopped it, or it waits for a device. */
	if (g->state != GUEST_OVER && !again)
		guest_wait(g, 0);
}

int guest_wait_lease(struct guest *g)
{
	return clock_arm(g->timer, g->agent->config->lease);
}
