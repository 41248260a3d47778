// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest: its route, process and cgroup, from start to end. guest_job.c has what its home sends
 * before the start, guest_start.c the start of its end, guest_resume.c how a route is made again.
 */

#include "executor/guest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/journal.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/hierarchy.h"
#include "executor/guest_inside.h"
#include "executor/guest_job.h"
#include "executor/launch.h"
#include "executor/reserve.h"
#include "executor/reserve_ask.h"
#include "executor/view.h"
#include "job/route.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "node/memory.h"
#include "wire/attach.h"
#include "wire/frame.h"
#include "wire/job.h"

/* ehguest kills what it has started for five seconds; the rest is killed with its cgroup. */
#define GUEST_ENDS_MS 8000
#define GUEST_SAYS_MS 20 /* home is told that its end is there, with what that says or after this */
#define GUEST_ORPHANS_S 10 /* between two looks for processes of guests that are not in the list */

void guest_kill(struct guest *g)
{
	if (g->grouped)
		cgroup_guest_kill(g->agent, g->place->id);
	if (g->pid > 0 && g->route.socket >= 0)
		kill(g->pid, SIGKILL);
}

/* Nobody waits for its place any more. */
static void guest_unask(struct guest *g)
{
	if (g->ask)
		reserve_cancel(g->ask);
	g->ask = NULL;
}

/* Home ends the stream, or has so long to do it. */
static void guest_over(struct guest *g)
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

/* ---- the two ends ---- */

int guest_tell_attached(struct guest *g)
{
	const struct attached told = {
		.started_ms = g->started,
		.wait = g->view.of || g->view_ino,
	};

	return route_tell_attached(&g->route, g->from, g->token, g->place->id, &told);
}

/* Home is told that the end is there. */
void guest_linked(struct guest *g)
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
	const unsigned int ms = limit_ms + GUEST_ENDS_MS;

	clock_arm(g->timer, ms);
}

/* As ehguest does: of one whose stub is stopped output may be left after its end. */
static void guest_wait_home(struct guest *g)
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

static void guest_audit(const struct guest *g, enum journal_what what, int status)
{
	const struct reservation *r = g->place;

	journal_task(g->agent, what,
		     &(struct journal_task){
			     .id = r->id,
			     .user = r->here == r->uid ? r->user : user_name(r->here) ?: "",
			     .uid = r->here,
			     .program = r->command,
			     .home = peer_code(g->from),
			     .executor = g->agent->code,
			     .status = status,
			     .ended = what == JOURNAL_GUEST_ENDED,
		     });
}

static int guest_on_note(struct guest *g, const uint8_t *payload, uint32_t length)
{
	struct note n;

	if (note_decode(&n, payload, length))
		return -EPROTO;
	switch (n.what) {
	case NOTE_SAME:
	case NOTE_DIFFERS:
		if (g->state != GUEST_STARTING || g->control || !g->comparing)
			return -EPROTO;
		guest_time_note(g, &n);
		guest_on_compared(g, n.what == NOTE_SAME ? NULL : n.text);
		return 0;
	case NOTE_STARTED:
		guest_time_note(g, &n);
		g->program = n.pid;
		g->place->claim.pid = n.pid;
		g->place->state = RESERVE_RUNNING;
		guest_audit(g, JOURNAL_GUEST, 0);
		break;
	case NOTE_STOPPED:
	case NOTE_CONTINUED:
		g->stopped = n.what == NOTE_STOPPED;
		if (g->state == GUEST_BROKEN && !g->home_gone)
			guest_wait_home(g);
		return 0;
	case NOTE_ENDED:
		guest_time_note(g, &n);
		g->place->state = RESERVE_ENDED;
		memory_unclaim(&g->place->claim);
		guest_starved_look(g, (int)n.use.status);
		guest_audit(g, JOURNAL_GUEST_ENDED, (int)n.use.status);
		guest_settle(g);
		break;
	default:
		return -EPROTO;
	}
	hierarchy_touch(g->agent);
	return 0;
}

/* ehlaunch has said before what has become of it, or that it is there. */
static void guest_end_speaks(void *ctx)
{
	struct guest *g = ctx;

	guest_look_started(g);
}

static int guest_from_end(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	return type == FRAME_NOTE ? guest_on_note(ctx, payload, length)
				  : guest_on_seen(ctx, payload, length);
}

/* Nothing of it is left to run on. */
static void guest_killed(struct guest *g)
{
	guest_kill(g);
	/* Its end has not told how. */
	if (g->place && g->place->state == RESERVE_RUNNING)
		guest_audit(g, JOURNAL_GUEST_ENDED, SIGKILL);
	if (g->place)
		g->place->state = RESERVE_ENDED;
}

/* ehguest has ended: in order, after home had acknowledged the end of the task, or it was killed. */
static void guest_end_gone(void *ctx)
{
	struct guest *g = ctx;

	guest_died_early(g);
	if (g->state == GUEST_OVER)
		return;
	if (g->route.stream) {
		route_tell_peer(&g->route, FRAME_GONE, NULL, 0);
		route_finish(&g->route);
	}
	guest_time(g, TIMING_GONE);
	guest_killed(g);
	guest_over(g);
}

void guest_end_all(struct agent *agent, const char *why)
{
	for (struct guest *g = agent->guests->list; g; g = g->next) {
		if (g->state < GUEST_STARTING) {
			guest_refuse(g, EHS_REASON_DRAINING, 0, why);
			continue;
		}
		route_close_end(&g->route);
		if (g->state != GUEST_OVER)
			guest_end_gone(g);
	}
}

int guest_cancel(struct agent *agent, const char *id)
{
	struct guest *g = agent->guests->list;

	while (g && (g->state == GUEST_OVER || !g->place || strcmp(g->place->id, id)))
		g = g->next;
	if (!g)
		return -ENOENT;
	if (g->state <= GUEST_STARTING)
		return -EAGAIN;
	route_close_end(&g->route);
	guest_end_gone(g);
	return 0;
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

static int guest_from_peer(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;

	/* Refused: ignore what was still on its way. */
	if (g->state == GUEST_OVER)
		return 0;
	switch (type) {
	case FRAME_START:
		return guest_on_start(g, payload, length);
	case FRAME_CALLER:
		return guest_on_caller(g, payload, length);
	case FRAME_JOB:
		return guest_on_job(g, payload, length);
	case FRAME_NAMED:
		return guest_on_named(g, payload, length);
	case FRAME_PAUSED:
		g->paused = length == 4 && frame_get_u32(payload);
		return route_tell_end(&g->route, type, payload, length) ? -EPIPE : 0;
	case FRAME_GONE:
		guest_home_gone(g, payload, length);
		return 0;
	default:
		return -EPROTO;
	}
}

static void guest_stream_gone(void *ctx, bool clean)
{
	struct guest *g = ctx;

	switch (g->state) {
	case GUEST_NEW:
	case GUEST_VIEWING:
	case GUEST_STARTING:
		/* Nothing has started, and home runs the task. */
		guest_give_up(g);
		break;
	case GUEST_LINKED:
	case GUEST_BROKEN:
		if (!g->home_gone)
			guest_broken(g);
		break;
	case GUEST_OVER:
		guest_later(g);
		break;
	}
}

static const struct route_ops guest_route_ops = {
	.peer_types = ROUTE_TAKES(FRAME_START) | ROUTE_TAKES(FRAME_CALLER) |
		      ROUTE_TAKES(FRAME_JOB) | ROUTE_TAKES(FRAME_NAMED) |
		      ROUTE_TAKES(FRAME_PAUSED) | ROUTE_TAKES(FRAME_GONE),
	.from_end = guest_from_end,
	.from_peer = guest_from_peer,
	.end_speaks = guest_end_speaks,
	.end_gone = guest_end_gone,
	.stream_gone = guest_stream_gone,
};

/* ---- its life ---- */

static void guest_free(struct guest *g)
{
	struct agent *agent = g->agent;
	LL_DELETE(agent->guests->list, g);
	if (g->grouped)
		cgroup_guest_kill(agent, g->place->id);
	route_close(&g->route);
	if (g->control)
		event_free(g->control);
	event_free(g->later);
	event_free(g->timer);
	view_release(&g->view);
	guest_unask(g);
	caller_free(&g->caller);
	free(g->job);
	free(g->named);
	launch_close(&g->launch);
	guest_time_over(g);
	reserve_end(g->place);
	free(g);
}

static void guest_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct guest *g = arg;
	struct agent *agent = g->agent;

	if (g->state != GUEST_OVER || g->route.stream || g->route.socket >= 0)
		return;
	guest_free(g);
	hierarchy_touch(agent);
}

int guest_wait_lease(struct guest *g)
{
	const unsigned int lease = g->agent->config->lease;

	return clock_arm(g->timer, lease);
}

static void guest_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct guest *g = arg;

	if (g->state == GUEST_LINKED && !g->home_gone) {
		route_push(&g->route);
		return;
	}
	/* ehlook has a time limit of its own. */
	if (g->looking && g->ask) {
		guest_wait_lease(g);
		return;
	}
	if (g->state < GUEST_STARTING) {
		guest_refuse(g, EHS_REASON_LEASE_OVER, 0, "its home did not start it in time");
		return;
	}
	/* Home has been told, and does not end the stream. */
	if (g->state == GUEST_OVER) {
		route_drop_stream(&g->route);
		guest_later(g);
		return;
	}
	if (g->state == GUEST_STARTING) {
		guest_late(g);
		return;
	}
	log_warning("%s: its end did not come back to this agent, or did not end in time",
		    g->place->id);
	guest_killed(g);
	route_drop_stream(&g->route);
	route_close_end(&g->route);
	g->state = GUEST_OVER;
	guest_later(g);
}

struct guest *guest_new(struct peer *from)
{
	struct agent *agent = from->agent;
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->agent = agent;
	g->from = from;
	g->launch.news = -1;
	g->view.news = guest_on_view;
	g->view.ctx = g;
	g->timer = evtimer_new(agent->base, guest_on_timer, g);
	g->later = event_new(agent->base, -1, 0, guest_on_later, g);
	if (!g->timer || !g->later || route_open(&g->route, agent, -1, &guest_route_ops, g)) {
		if (g->timer)
			event_free(g->timer);
		if (g->later)
			event_free(g->later);
		free(g);
		return NULL;
	}
	LL_PREPEND(agent->guests->list, g);
	return g;
}

/* ---- of an earlier agent ---- */

/* ehlaunch removes a directory when it is empty, so there is somebody in it. */
static void guest_end_orphan(void *ctx, const char *id)
{
	static struct log_limit limit;
	struct agent *agent = ctx;

	for (const struct guest *g = agent->guests->list; g; g = g->next)
		if (g->place && !strcmp(g->place->id, id))
			return;
	if (log_allowed(&limit))
		log_info("guest %s did not come back to this agent, or is over: killing what is "
			 "left of it",
			 id);
	cgroup_guest_kill(agent, id);
}

/* Again and again: ehlaunch may have ended before it did what it was asked for. */
static void guest_on_orphans(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;

	cgroup_guest_each(agent, guest_end_orphan, agent);
	for (struct guest *g = agent->guests->list; g; g = g->next) {
		if (!g->view_ino || g->view_ino == GUEST_ANY_VIEW)
			continue;
		log_info("%s: its view of home's files did not come back: killing it",
			 g->place->id);
		g->view_ino = 0;
		guest_kill(g);
	}
	clock_arm(agent->guests->orphans, GUEST_ORPHANS_S * 1000);
}

static void guest_free_all(struct guests *guests)
{
	if (guests->orphans)
		event_free(guests->orphans);
	free(guests);
}

int guest_init(struct agent *agent)
{
	const unsigned int ms = agent->config->job_limit;
	struct guests *guests = calloc(1, sizeof(*guests));

	if (!guests)
		return -ENOMEM;
	guests->began = clock_ms();
	guests->began_ticks = clock_ticks();
	guests->orphans = evtimer_new(agent->base, guest_on_orphans, agent);
	if (!guests->orphans || clock_arm(guests->orphans, ms)) {
		guest_free_all(guests);
		return -ENOMEM;
	}
	agent->guests = guests;
	return 0;
}

void guest_exit(struct agent *agent)
{
	struct guests *guests = agent->guests;
	struct guest *g;

	if (!guests)
		return;
	while ((g = guests->list)) {
		/* It lives on, and its cgroup is kept, unless home's files end with this agent. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		if ((g->state == GUEST_LINKED || g->state == GUEST_BROKEN) && view_leave(&g->view))
			g->grouped = false;
		else
			guest_kill(g);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		guest_free(g);
	}
	guest_resumes_exit(guests);
	guest_free_all(guests);
	agent->guests = NULL;
}
