// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest: its route, process and cgroup, from start to end. guest_state.c has its states, guest_job.c
 * what its home sends before the start, guest_start.c the start of its end, guest_resume.c how a route
 * is made again.
 */

#include "executor/guest.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/journal.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/hierarchy.h"
#include "executor/guest_inside.h"
#include "executor/launch.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/route.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/cgroup.h"
#include "node/memory.h"
#include "wire/attach.h"
#include "wire/frame.h"

#define GUEST_BEGINNING 256 /* jobs of one home that may wait for their place to be known */
#define GUEST_ORPHANS_S 10 /* between two looks for processes of guests that are not in the list */

/* ---- the two ends ---- */

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
	agent_free_event(&g->control);
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

static struct guest *guest_new(struct peer *from)
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
		agent_free_event(&g->timer);
		agent_free_event(&g->later);
		free(g);
		return NULL;
	}
	LL_PREPEND(agent->guests->list, g);
	return g;
}

/* Those of this home that have no place yet, or no job that names it. */
static unsigned int guest_beginning(const struct peer *from, bool places)
{
	unsigned int n = 0;

	for (const struct guest *g = from->agent->guests->list; g; g = g->next)
		n += g->from == from && g->state == GUEST_NEW && g->places == places;
	return n;
}

static int guest_open(struct peer *from, bool places, struct h2_stream *s,
		      const struct h2_stream_ops **ops, void **ctx)
{
	struct guest *g = guest_new(from);

	if (!g)
		return 503;
	g->places = places;
	if (guest_wait_lease(g)) {
		g->state = GUEST_OVER;
		guest_later(g);
		return 503;
	}
	route_use(&g->route, s);
	*ops = &route_stream_ops;
	*ctx = &g->route;
	return 0;
}

int guest_place(struct agent *agent, struct peer *from, struct h2_stream *s,
		const struct h2_stream_ops **ops, void **ctx)
{
	return guest_beginning(from, true) < GUEST_BEGINNING ? guest_open(from, true, s, ops, ctx)
							     : 503;
}

/* A job may have megabytes: a node that has reserved nothing gets no memory for one. */
int guest_job(struct agent *agent, struct peer *from, struct h2_stream *s,
	      const struct h2_stream_ops **ops, void **ctx)
{
	return guest_beginning(from, false) < reserve_waiting(from)
		       ? guest_open(from, false, s, ops, ctx)
		       : 409;
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

/*
 * Whether this process is the end of that job, and not one of a user who has read its ID somewhere
 * or made one up. A guest of an earlier agent is in the cgroup that only ehlaunch puts anybody into,
 * and older than this agent: a process with its number that came later is not.
 * After the limit the job is lost; an end that comes later is turned away.
 */
static bool guest_is_its(struct agent *agent, const struct reservation *place, pid_t pid)
{
	if (clock_ms() - agent->guests->began > agent->config->job_limit)
		return false;
	if (cgroup_guest_fd(agent) < 0)
		return reserve_guests(agent) <= agent->config->guests;
	return cgroup_guest_has(agent, place->id, pid, agent->guests->began_ticks);
}

void guest_attach(struct agent *agent, int socket, const uint8_t *payload, size_t length, pid_t pid,
		  uid_t uid)
{
	const char *why = "what it says is not understood";
	struct reservation *place = NULL;
	static struct log_limit limit;
	struct attach who;
	struct guest *g;
	struct peer *from;

	if (attach_decode(&who, payload, length) || !*who.token)
		goto close_socket;
	why = "its home node is not known";
	from = peers_by_text(agent, who.other);
	if (!from)
		goto close_socket;
	why = "its task is here already";
	if (guest_by_token(agent, who.token))
		goto close_socket;
	place = reserve_adopt(from, &who, cgroup_guest_user(agent, who.id, uid), uid);
	if (!place)
		goto close_socket;
	why = "it is not a guest of this host";
	if (!guest_is_its(agent, place, pid))
		goto close_socket;
	why = "no memory";
	g = guest_new(from);
	if (!g)
		goto close_socket;
	g->place = place;
	if (route_set_end(&g->route, socket)) {
		g->state = GUEST_OVER;
		guest_later(g);
		return;
	}
	g->pid = pid;
	g->program = who.pid;
	g->started = who.started_ms;
	/* ehguest tells of a stop by itself, and of its end; of one with its stub only home does. */
	g->paused = who.stopped;
	memcpy(g->token, who.token, sizeof(g->token));
	g->grouped = cgroup_guest_fd(agent) >= 0;
	/* Without cgroups nobody has noted whether it sees home's files. */
	g->view_ino = g->grouped ? cgroup_guest_view(agent, place->id) : GUEST_ANY_VIEW;
	guest_join_view(g);
	guest_broken(g);
	guest_take_stream(g);
	hierarchy_touch(agent);
	return;

close_socket:
	reserve_end(place);
	if (log_allowed(&limit))
		log_warning("process %d of user %u belongs to a task that cannot go on here: %s",
			    (int)pid, (unsigned int)uid, why);
	close(socket);
}

static void guest_free_all(struct guests *guests)
{
	agent_free_event(&guests->orphans);
	free(guests);
}

int guest_init(struct agent *agent)
{
	struct guests *guests = calloc(1, sizeof(*guests));

	if (!guests)
		return -ENOMEM;
	guests->began = clock_ms();
	guests->began_ticks = clock_ticks();
	guests->orphans = evtimer_new(agent->base, guest_on_orphans, agent);
	if (!guests->orphans || clock_arm(guests->orphans, agent->config->job_limit)) {
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
