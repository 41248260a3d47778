// SPDX-License-Identifier: GPL-2.0-or-later
/* The routes of tasks that are away, at home: stub and stream. */

#include "home/away.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "home/away_inside.h"
#include "home/history.h"
#include "home/outcome.h"
#include "home/record.h"
#include "home/stops.h"
#include "job/backoff.h"
#include "job/route.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/local_task.h"
#include "wire/attach.h"
#include "wire/caller.h"
#include "wire/clean.h"
#include "wire/frame.h"
#include "wire/reason.h"
#include "wire/view.h"

/* A stub has one. More, because children of a task keep that of a process whose number is used again. */
#define AWAY_A_PROCESS 8

unsigned int away_count(const struct agent *agent)
{
	return agent->aways->count;
}

size_t away_waiting(const struct agent *agent, uid_t uid, size_t *same)
{
	size_t all = 0, n;

	*same = 0;
	for (const struct away *a = agent->aways->list; a; a = a->next) {
		n = (a->job ? a->job_length : 0) + (a->named ? a->named_length : 0);
		if (a->state <= AWAY_SENT)
			n += evbuffer_get_length(a->route.to_peer);
		all += n;
		if (a->uid == uid)
			*same += n;
	}
	return all;
}

bool away_shows_home(const struct peer *to, uid_t uid)
{
	for (const struct away *a = to->agent->aways->list; a; a = a->next)
		if ((a->route.stream || a->state == AWAY_BROKEN) && a->to == to && a->uid == uid &&
		    a->view != VIEW_SHARED)
			return true;
	return false;
}

/* ---- what becomes of it ---- */

/* ---- the stub ---- */

static int away_from_end(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct away *a = ctx;

	return type == FRAME_NOTE ? away_on_note(a, payload, length) : -EPROTO;
}

/* The stub has ended, or was killed: the executor must end its task. */
static void away_end_gone(void *ctx)
{
	struct away *a = ctx;
	struct placement *p = record_by_id(a->agent, a->id);

	if (p)
		record_time(p, TIMING_OVER);
	if (a->placement) {
		outcome_moved(a->placement, a->route.moved);
		if (a->started)
			outcome_ended(a->placement, SIGKILL);
		else
			outcome_failed(a->placement, EHS_REASON_KILLED);
	}
	a->placement = NULL;
	/* Without a stream, or one that is not yet the job's, it is told when there is one again. */
	if (a->state != AWAY_BROKEN)
		away_leave(a);
}

static int away_tell_linked(struct away *a)
{
	struct attached told = {
		.started_ms = a->began_ms,
		.retry = a->retry,
		.wait = a->agent->module,
	};

	return route_tell_attached(&a->route, a->to, a->token, a->id, &told);
}

/* ---- the executor ---- */

static int away_on_refused(struct away *a, const uint8_t *payload, uint32_t length)
{
	enum ehs_reason reason;
	char said[257], text[sizeof(said)];
	uint32_t error;

	if ((a->state != AWAY_SENT && !a->asked) || length < 8)
		return -EPROTO;
	reason = frame_get_u32(payload);
	error = frame_get_u32(payload + 4);
	snprintf(said, sizeof(said), "%.*s", (int)length - 8, (const char *)payload + 8);
	clean_text(text, sizeof(text), said);
	route_leave_stream(&a->route);
	if (a->asked) {
		away_answered(a, 200,
			      json_pack("{s:s,s:s}", "reason",
					reason_name(reason ? reason : EHS_REASON_REFUSED), "text",
					text));
		return 0;
	}
	if (a->placement && *text)
		record_step(a->placement, "%s: %s", peer_host(a->to), text);
	away_refuse(a, reason ? reason : EHS_REASON_REFUSED, error, text);
	return 0;
}

static int away_from_peer(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct away *a = ctx;

	/* It crossed with FRAME_GONE. */
	if (a->state == AWAY_TOLD && (type == FRAME_ADMISSION || type == FRAME_ATTACHED))
		return 0;
	switch (type) {
	case FRAME_ADMISSION:
		return away_on_admission(a, payload, length);
	case FRAME_REFUSED:
		if (a->state != AWAY_TOLD)
			return away_on_refused(a, payload, length);
		a->state = AWAY_OVER;
		return 0;
	case FRAME_ATTACHED:
		if (a->state != AWAY_SENT && a->state != AWAY_BROKEN)
			return -EPROTO;
		evtimer_del(a->timer);
		if (a->placement && a->state == AWAY_SENT)
			record_time(a->placement, TIMING_LINKED);
		/* The stream may have lost what was told last, or an earlier agent said it. */
		a->told_stopped = a->state == AWAY_SENT;
		a->state = AWAY_LINKED;
		a->wait_ms = 0;
		if (a->placement)
			record_broken(a->placement, false);
		if (a->route.socket < 0) /* the stub has gone meanwhile */
			away_tell_gone(a);
		else if (away_tell_linked(a))
			away_unsaid(a);
		return 0;
	case FRAME_GONE:
		route_tell_end(&a->route, FRAME_GONE, payload, length);
		route_leave_stream(&a->route);
		away_over(a);
		return 0;
	default:
		return -EPROTO;
	}
}

static void away_stream_gone(void *ctx, bool clean)
{
	struct away *a = ctx;

	switch (a->state) {
	case AWAY_ASKING:
		if (a->asked)
			away_answered(a, 0, NULL);
		break;
	case AWAY_SENT:
		away_refuse(a, EHS_REASON_UNREACHABLE, 0, "the connection to the node was lost");
		/* The executor's end may be there, and wait. */
		a->state = AWAY_TOLD;
		away_broken(a);
		break;
	case AWAY_LINKED:
	case AWAY_BROKEN:
		away_broken(a);
		break;
	case AWAY_TOLD:
		if (clean)
			away_over(a);
		else
			away_broken(a);
		break;
	case AWAY_OVER:
		away_later(a);
		break;
	}
}

static void away_stream_refused(void *ctx, int status)
{
	struct away *a = ctx;

	/* Nothing of it is there. */
	if (a->asked || a->state == AWAY_SENT)
		route_drop_stream(&a->route);
	if (a->asked)
		away_answered(a, status, NULL);
	else if (a->state == AWAY_SENT && status == 409)
		away_refuse(a, EHS_REASON_LEASE_OVER, 0, "its reservation has expired");
	else if (a->state == AWAY_SENT)
		away_refuse(a, EHS_REASON_REFUSED, 0, "the node rejected the job");
}

static const struct route_ops away_route_ops = {
	.peer_types = ROUTE_TAKES(FRAME_ADMISSION) | ROUTE_TAKES(FRAME_REFUSED) |
		      ROUTE_TAKES(FRAME_ATTACHED) | ROUTE_TAKES(FRAME_GONE),
	.from_end = away_from_end,
	.from_peer = away_from_peer,
	.end_gone = away_end_gone,
	.stream_gone = away_stream_gone,
	.refused = away_stream_refused,
};

void away_end_all(struct agent *agent)
{
	for (struct away *a = agent->aways->list; a; a = a->next) {
		if (a->state == AWAY_ASKING || a->state == AWAY_SENT)
			away_refuse(a, EHS_REASON_DRAINING, 0, "this node leaves the cluster");
		else
			away_give_up(a);
	}
}

int away_cancel(struct agent *agent, const char *id)
{
	struct away *a = agent->aways->list;

	while (a && (a->state == AWAY_OVER || strcmp(a->id, id)))
		a = a->next;
	if (!a)
		return -ENOENT;
	if (a->state == AWAY_ASKING || a->state == AWAY_SENT)
		return -EAGAIN;
	away_give_up(a);
	return 0;
}

/* ---- resuming ---- */

static void away_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct away *a = arg;

	if (a->state == AWAY_SENT) {
		away_refuse(a, EHS_REASON_UNREACHABLE, 0, "the node did not answer in time");
		return;
	}
	/* It is behind what an end that stands still does not take: on another stream, then. */
	if (a->state == AWAY_TOLD) {
		away_unsaid(a);
		return;
	}
	if (a->state != AWAY_BROKEN || a->route.stream)
		return;
	/* The executor's end waits no longer, and nobody is left to be told. */
	if (a->route.socket < 0 &&
	    clock_ms() - a->broken_at >
		    (a->was_stopped ? ATTACH_STOPPED_MS : a->agent->config->job_limit)) {
		away_over(a);
		return;
	}
	away_resume(a);
}

/* ---- its life ---- */

static void away_free(struct away *a)
{
	struct aways *all = a->agent->aways;
	LL_DELETE(all->list, a);
	stops_over(a);
	if (!--all->count)
		stops_watch(a->agent, false);
	route_close(&a->route);
	event_free(a->later);
	event_free(a->timer);
	caller_free(&a->caller);
	free(a->job);
	free(a->named);
	free(a);
}

static void away_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct away *a = arg;

	if (a->state == AWAY_OVER && !a->asking && !a->route.stream && a->route.socket < 0)
		away_free(a);
}

/* One user must not take the agent's descriptors, nor one process what is for all of its user's. */
static bool away_welcome(const struct agent *agent, pid_t pid, uid_t uid)
{
	unsigned int same = 0, its = 0;
	struct rlimit files;

	for (const struct away *a = agent->aways->list; a; a = a->next) {
		same += a->uid == uid;
		its += a->uid == uid && a->pid == pid;
	}
	if (its >= AWAY_A_PROCESS)
		return false;
	return !uid || getrlimit(RLIMIT_NOFILE, &files) || same < files.rlim_cur / 2;
}

struct away *away_new(struct agent *agent, int socket, pid_t pid, uid_t uid)
{
	static struct log_limit limit;
	struct aways *all = agent->aways;
	struct away *a;

	a = away_welcome(agent, pid, uid) ? calloc(1, sizeof(*a)) : NULL;
	if (!a) {
		if (log_allowed(&limit))
			log_warning("process %d of user %u has too many tasks away", (int)pid,
				    (unsigned int)uid);
		close(socket);
		return NULL;
	}
	a->agent = agent;
	a->pid = pid;
	a->uid = uid;
	a->later = event_new(agent->base, -1, 0, away_on_later, a);
	a->timer = evtimer_new(agent->base, away_on_timer, a);
	if (!a->later || !a->timer || (!all->count && stops_watch(agent, true))) {
		close(socket);
		goto free_away;
	}
	if (route_open(&a->route, agent, socket, &away_route_ops, a))
		goto free_away;
	all->count++;
	LL_PREPEND(all->list, a);
	return a;

free_away:
	agent_free_event(&a->later);
	agent_free_event(&a->timer);
	free(a);
	return NULL;
}

/* The task whose stub, having lost its socket to the agent, comes again. NULL: none that is known. */
static struct away *away_find(struct agent *agent, const struct attach *who, uid_t uid)
{
	struct away *a;

	for (a = agent->aways->list; a; a = a->next)
		if (a->uid == uid && *a->token && !strcmp(a->token, who->token))
			return a;
	return NULL;
}

void away_attach(struct agent *agent, int socket, const uint8_t *payload, size_t length, pid_t pid,
		 uid_t uid)
{
	static struct log_limit limit;
	struct attach who;
	struct away *a;
	struct peer *to;

	if (attach_decode(&who, payload, length) || who.executor || !*who.token ||
	    !record_id_is_ours(agent, who.id) || !(to = peers_by_text(agent, who.other)) ||
	    away_find(agent, &who, uid)) {
		if (log_allowed(&limit))
			log_warning("process %d of user %u belongs to a task that cannot go on "
				    "here",
				    (int)pid, (unsigned int)uid);
		close(socket);
		return;
	}
	a = away_new(agent, socket, pid, uid);
	if (!a)
		return;
	/* A user says so. */
	if (!who.started_ms || who.started_ms > (uint64_t)clock_wall_ms())
		who.started_ms = clock_wall_ms();
	a->to = to;
	a->began_ms = who.started_ms;
	a->started = who.pid != 0;
	a->broken_at = clock_ms();
	memcpy(a->token, who.token, sizeof(a->token));
	memcpy(a->id, who.id, sizeof(a->id));
	if (!who.over)
		a->placement = record_adopt(agent, &who, to, pid, uid);
	a->state = AWAY_BROKEN;
	stops_come(a);
	if (a->started && !who.over)
		away_tell_module(a);
	if (a->started && a->placement)
		history_away(a->placement);
	/* There is an agent again: what is missing now is the executor. */
	route_tell_end(&a->route, FRAME_DETACHED, NULL, 0);
	away_resume(a);
}

/* Its stub ended while no agent was here: its executor is told by a task without a stub. */
static bool away_tell_ended(struct agent *agent, const struct stop *s)
{
	struct peer *to = peers_by_text(agent, s->node);
	struct away *a = to ? away_new(agent, -1, s->pid, s->uid) : NULL;

	/* Its executor may not be known yet. */
	if (!a)
		return false;
	log_info("%s: its stub ended while it was stopped, and no agent was here: telling %s",
		 s->id, peer_host(to));
	a->to = to;
	a->began_ms = s->began_ms;
	a->stub_start = s->start;
	a->started = a->was_stopped = true;
	a->broken_at = s->broken_at;
	memcpy(a->token, s->token, sizeof(a->token));
	memcpy(a->id, s->id, sizeof(a->id));
	a->state = AWAY_BROKEN;
	away_resume(a);
	return true;
}

void away_module_changed(struct agent *agent)
{
	if (!agent->aways)
		return;
	for (const struct away *a = agent->aways->list; a; a = a->next)
		if (a->started && a->route.socket >= 0)
			away_tell_module(a);
}

int away_init(struct agent *agent)
{
	agent->aways = calloc(1, sizeof(*agent->aways));
	return agent->aways ? stops_init(agent, away_tell_ended) : -ENOMEM;
}

void away_exit(struct agent *agent)
{
	struct aways *all = agent->aways;

	if (!all)
		return;
	if (all->stops)
		stops_keep(agent);
	while (all->list)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		away_free(all->list);
	stops_exit(agent);
	free(all);
	agent->aways = NULL;
}
