// SPDX-License-Identifier: GPL-2.0-or-later
/* The start of a guest's end, until it has told what it sees of files. */

#include "executor/guest_inside.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "executor/launch.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/looks.h"
#include "job/route.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "wire/frame.h"

static void guest_failed(struct guest *g, const struct launch_result *news)
{
	static struct log_limit limit;

	if (news->view_unknown)
		view_forsake(&g->view);
	if (log_allowed(&limit))
		log_info("%s of node %s does not start here: %s%s%s", g->place->id,
			 peer_code(g->from), news->what, news->error ? ": " : "",
			 news->error ? strerror(news->error) : "");
	guest_refuse(g, news->reason, news->error, news->what);
}

static void guest_on_control(evutil_socket_t fd, short what, void *arg)
{
	struct guest *g = arg;
	struct launch_result news;

	if (!launch_read(&g->launch, &news))
		return;
	event_free(g->control);
	g->control = NULL;
	launch_close(&g->launch);
	if (g->state != GUEST_STARTING)
		return;
	if (!news.what) {
		g->pid = news.pid;
		guest_time(g, TIMING_LAUNCHED);
		guest_try_link(g);
		return;
	}
	guest_failed(g, &news);
}

void guest_look_started(struct guest *g)
{
	if (g->state == GUEST_STARTING && g->control)
		guest_on_control(-1, 0, g);
}

void guest_died_early(struct guest *g)
{
	struct launch_result news = { 0 };

	if (g->state != GUEST_STARTING)
		return;
	/* It may have told why, since it was listened to. */
	if (!g->control || !launch_read(&g->launch, &news) || !news.what)
		news = (struct launch_result){ .what = "its process died before the start",
					       .reason = EHS_REASON_START_FAILED };
	guest_failed(g, &news);
}

/* ---- files ---- */

void guest_late(struct guest *g)
{
	if (g->comparing)
		looks_note_silent(g->agent, g->place->here);
	guest_refuse(g, g->comparing ? EHS_REASON_FILES_DIFFER : EHS_REASON_START_FAILED, 0,
		     g->comparing ? "the files that its arguments name do not answer there"
				  : "its process did not begin in time");
}

/* A file system that does not answer holds up the end only, and home before its own limit. */
static int guest_wait_files(struct guest *g)
{
	return guest_is_open(g) ? clock_arm(g->timer, g->agent->config->lease / 2) : 0;
}

/* ---- the start ---- */

/* The identities that it compares with come before its job. */
static int guest_tell_job(struct guest *g)
{
	return (g->comparing &&
		route_tell_end(&g->route, FRAME_NAMED, g->named, g->named_length)) ||
	       route_tell_end(&g->route, FRAME_JOB, g->job, g->job_length);
}

int guest_start(struct guest *g)
{
	struct agent *agent = g->agent;
	int socket = route_make_end(&g->route), err;

	if (socket < 0)
		return socket;
	guest_time(g, TIMING_LAUNCH);
	err = launch_start(agent, &g->launch, &g->caller, g->place->id, g->place->user,
			   view_namespace(&g->view), socket, g->ask != NULL);
	if (err)
		goto close_its;
	guest_starved_begin(agent);
	g->grouped = cgroup_guest_fd(agent) >= 0;
	g->started = clock_wall_ms();
	g->state = GUEST_STARTING;
	evtimer_del(g->timer);
	g->control =
		event_new(agent->base, g->launch.news, EV_READ | EV_PERSIST, guest_on_control, g);
	g->comparing = g->named;
	g->unread = g->launch.tells;
	if (!g->control || event_add(g->control, NULL) || guest_wait_files(g) ||
	    guest_tell_job(g) || guest_tell_attached(g))
		err = -ENOMEM;
	/* If a file differs it may begin again, in a view. */
	if (!g->comparing && !g->ask)
		guest_drop_job(g);
close_its:
	close(socket);
	return err;
}
