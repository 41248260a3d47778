// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Routes that are made again, after a link broke or an agent ended. The home node says which job it
 * wants to go on with (POST /v1/resume), ehguest which one it belongs to (FRAME_ATTACH). Whoever
 * comes first waits for the other.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "executor/guest.h"
#include "executor/guest_inside.h"
#include "executor/reserve.h"
#include "job/route.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "wire/attach.h"
#include "wire/frame.h"

/* A stream of a home that wants to go on with a job, until it is known which. */
struct resume {
	struct agent *agent;
	struct peer *from;
	struct route route; /* without an end */
	struct event *timer; /* until ehguest must be here */
	struct event *later; /* joins or frees it, from the event loop */
	char token[ATTACH_TOKEN], id[ATTACH_ID];
	uid_t uid; /* of the job, says home */
	bool over;
	bool home_gone; /* its stub has ended meanwhile */
	bool told; /* home knows that the job has gone */
	struct resume *next;
};

struct guest *guest_by_token(struct agent *agent, const char *token)
{
	for (struct guest *g = agent->guests->list; g; g = g->next)
		if (*g->token && !strcmp(g->token, token) && g->state >= GUEST_STARTING &&
		    g->state != GUEST_OVER)
			return g;
	return NULL;
}

static void resume_over(struct resume *r)
{
	r->over = true;
	event_active(r->later, 0, 0);
}

static void resume_gone(struct resume *r)
{
	r->told = true;
	route_tell_peer(&r->route, FRAME_GONE, NULL, 0);
	route_finish(&r->route);
}

/* The stream becomes that of the guest. */
static void resume_join(struct resume *r, struct guest *g)
{
	if (g->state == GUEST_LINKED)
		guest_broken(g); /* the old stream is dead, and we have not noticed yet */
	route_hand_over(&r->route, &g->route);
	if (g->route.socket >= 0)
		guest_joined(g);
	if (r->home_gone)
		guest_home_gone(g, NULL, 0);
	resume_over(r);
}

/* Tokens are secret. This is for one that has become known all the same. */
static bool resume_is_its(const struct resume *r, const struct guest *g)
{
	return r->from == g->from && r->uid == g->place->uid && !strcmp(r->id, g->place->id);
}

/* IDs begin with home's code. A node learns nothing of the tasks of others. */
static bool resume_is_empty(const struct resume *r)
{
	const char *code = peer_code(r->from);
	size_t length = strlen(code);

	return !strncmp(r->id, code, length) && r->id[length] == ':' &&
	       cgroup_guest_empty(r->agent, r->id);
}

static void resume_try(struct resume *r)
{
	/* Just started: its ehguest may still come, if it lives. */
	uint64_t age = clock_ms() - r->agent->guests->began;
	const unsigned int limit = r->agent->config->job_limit;
	struct guest *g = guest_by_token(r->agent, r->token);

	if (g && resume_is_its(r, g)) {
		resume_join(r, g);
	} else if (g || age >= limit || resume_is_empty(r)) {
		resume_gone(r);
	} else {
		clock_arm(r->timer, limit - age);
	}
}

static int resume_from_peer(void *ctx, enum frame_type type, const uint8_t *payload,
			    uint32_t length)
{
	struct resume *r = ctx;
	struct attach who;

	if (type == FRAME_GONE) {
		r->home_gone = true;
		return 0;
	}
	if (type != FRAME_ATTACH || *r->token || attach_decode(&who, payload, length) ||
	    !*who.token)
		return -EPROTO;
	memcpy(r->token, who.token, sizeof(r->token));
	memcpy(r->id, who.id, sizeof(r->id));
	r->uid = who.uid;
	/* Not from here: the rest of what has come may be the guest's. */
	event_active(r->later, 0, 0);
	return 0;
}

static void resume_stream_gone(void *ctx, bool clean)
{
	resume_over(ctx);
}

static const struct route_ops resume_ops = {
	.peer_types = ROUTE_TAKES(FRAME_ATTACH) | ROUTE_TAKES(FRAME_GONE),
	.from_peer = resume_from_peer,
	.stream_gone = resume_stream_gone,
};

static void resume_free(struct resume *r)
{
	LL_DELETE(r->agent->guests->resumes, r);
	route_close(&r->route);
	event_free(r->timer);
	event_free(r->later);
	free(r);
}

static void resume_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct resume *r = arg;

	if (r->over)
		resume_free(r);
	else if (!r->told)
		resume_try(r);
}

static void resume_on_timer(evutil_socket_t fd, short what, void *arg)
{
	static struct log_limit limit;
	struct resume *r = arg;

	if (r->over || r->told)
		return;
	if (!*r->token) {
		if (log_allowed(&limit))
			log_warning(
				"node %s opened a stream for a job and did not say which: closed",
				peer_code(r->from));
		resume_over(r);
		return;
	}
	resume_gone(r);
}

int guest_resume(struct agent *agent, struct peer *from, struct h2_stream *s,
		 const struct h2_stream_ops **ops, void **ctx)
{
	struct resume *r = calloc(1, sizeof(*r));

	if (!r)
		return 503;
	r->agent = agent;
	r->from = from;
	r->timer = evtimer_new(agent->base, resume_on_timer, r);
	r->later = event_new(agent->base, -1, 0, resume_on_later, r);
	if (!r->timer || !r->later || route_open(&r->route, agent, -1, &resume_ops, r)) {
		agent_free_event(&r->timer);
		agent_free_event(&r->later);
		free(r);
		return 503;
	}
	clock_arm(r->timer, H2_FIRST_MS);
	route_use(&r->route, s);
	LL_PREPEND(agent->guests->resumes, r);
	*ops = &route_stream_ops;
	*ctx = &r->route;
	return 0;
}

void guest_resumes_exit(struct guests *guests)
{
	while (guests->resumes)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		resume_free(guests->resumes);
}

void guest_take_stream(struct guest *g)
{
	for (struct resume *r = g->agent->guests->resumes; r; r = r->next)
		if (!r->over && !r->told && r->route.stream && resume_is_its(r, g) &&
		    !strcmp(r->token, g->token)) {
			evtimer_del(r->timer);
			resume_join(r, g);
			return;
		}
}

/* ---- views ---- */

void guest_join_view(struct guest *g)
{
	if (!g->view_ino || g->view.of ||
	    !view_join(&g->view, g->from, g->place->uid,
		       g->view_ino == GUEST_ANY_VIEW ? 0 : g->view_ino))
		return;
	g->view_ino = 0;
	if (g->settling)
		guest_settle(g);
}

void guest_join_views(struct agent *agent)
{
	for (struct guest *g = agent->guests->list; g; g = g->next)
		guest_join_view(g);
}
