// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest's home sends before the start: the job, and the files that its arguments name. */

#include "executor/guest_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/ehlaunch.h"
#include "base/log.h"
#include "cluster/speech.h"
#include "executor/reserve.h"
#include "executor/reserve_ask.h"
#include "executor/view.h"
#include "job/route.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/named.h"
#include "wire/seen.h"
#include "wire/view.h"

static void guest_start_viewing(struct guest *g)
{
	int err = guest_start(g);

	if (err)
		guest_refuse(g, EHS_REASON_START_FAILED, -err, "cannot start a process for it");
}

void guest_on_view(void *ctx, const char *trouble)
{
	struct guest *g = ctx;

	if (trouble)
		g->view_ino = 0;
	if (g->settling)
		guest_settled(g);
	if (!trouble && g->state == GUEST_VIEWING) {
		guest_time(g, TIMING_VIEW);
		guest_start_viewing(g);
	} else if (trouble && g->state <= GUEST_VIEWING) {
		guest_refuse(g, EHS_REASON_REFUSED, 0, trouble);
	} else if (trouble) {
		guest_kill(g); /* it has lost the files it uses */
	}
}

static void guest_view_home(struct guest *g)
{
	int err = view_hold(&g->view, g->from, g->place->uid, g->place->user);

	if (err)
		guest_refuse(g, EHS_REASON_REFUSED, -err, "cannot mount home's files");
}

/* All that home sends is here, or still comes; and its place is. */
static void guest_on_ready(struct guest *g)
{
	static struct log_limit limit;

	if (g->state != GUEST_NEW || !g->place || !g->caller.groups || !g->job)
		return;
	if (g->place->uid != g->caller.uid) {
		if (log_allowed(&limit))
			log_warning("%s: node %s reserved for user %u but sent a job of user %u",
				    g->place->id, peer_code(g->from), g->place->uid, g->caller.uid);
		guest_refuse(g, EHS_REASON_REFUSED, 0,
			     "its user is not the user of the reservation");
		return;
	}
	g->state = GUEST_VIEWING;
	if (g->place->view == VIEW_HOME) {
		/* As has turned out when its place was asked for. */
		free(g->named);
		g->named = NULL;
		guest_view_home(g);
	} else if (g->listed) {
		guest_start_viewing(g);
	}
}

static void guest_claim(struct guest *g, const char *token)
{
	g->place = reserve_claim(g->from, token);
	if (!g->place)
		guest_refuse(g, EHS_REASON_LEASE_OVER, 0, "its reservation has expired");
	else
		snprintf(g->token, sizeof(g->token), "%s", token);
	guest_time(g, TIMING_JOB_CAME);
}

/* Its end begins, and tells what it sees, before it is admitted. */
static void guest_on_place(void *ctx, struct reservation *place)
{
	struct guest *g = ctx;

	g->place = place;
	snprintf(g->token, sizeof(g->token), "%s", place->token);
}

/* The end that is there has compared in the executor's files. Another one begins in home's. */
static void guest_again_in_view(struct guest *g)
{
	route_close_end(&g->route);
	g->pid = 0;
	g->comparing = false;
	free(g->named);
	g->named = NULL;
	g->state = GUEST_VIEWING;
	guest_wait_lease(g);
	guest_view_home(g);
}

static void guest_admitted(struct guest *g)
{
	if (g->state == GUEST_NEW)
		guest_on_ready(g);
	else if (g->place->view == VIEW_HOME)
		guest_again_in_view(g);
	else
		guest_try_link(g);
	/* It goes with what the end says, if that is there. */
	if (g->state != GUEST_LINKED)
		route_push(&g->route);
	route_go_on(&g->route);
}

/* Whether it gets a place, or may keep it. */
static void guest_on_admission(void *ctx, int status, json_t *reply, struct reservation *granted)
{
	struct guest *g = ctx;
	char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	json_decref(reply);
	g->ask = NULL;
	if (!text || status >= 500) {
		guest_refuse(g, EHS_REASON_NO_MEMORY, ENOMEM, "cannot reserve a place for it");
		goto free_text;
	}
	if (granted && granted->state == RESERVE_WAITING)
		reserve_claim(g->from, granted->token);
	if (granted && !g->place)
		guest_on_place(g, granted);
	if (route_tell_peer_later(&g->route, FRAME_ADMISSION, text, strlen(text)))
		route_drop_stream(&g->route);
	else if (!granted)
		route_finish(&g->route);
	if (!granted || !g->route.stream)
		guest_give_up(g);
	else
		guest_admitted(g);
free_text:
	free(text);
}

int guest_on_seen(struct guest *g, const uint8_t *payload, uint32_t length)
{
	struct seen seen;

	if (seen_decode(&seen, payload, length))
		return -EPROTO;
	if (g->state != GUEST_STARTING)
		return 0;
	g->unread = false;
	if (!g->ask) {
		guest_try_link(g);
		return 0;
	}
	/* Its next frames are not passed on before that is decided. */
	g->looking = !reserve_ask_seen(g->ask, &seen);
	return g->looking ? -EAGAIN : 0;
}

/* Where its end cannot tell what it sees, ehlook is asked before there is one. */
static void guest_ask(struct guest *g, const json_t *body)
{
	const bool tells = ehlaunch_tells(g->agent);

	g->looking = !tells;
	g->ask = reserve_ask(g->from, body, tells ? guest_on_place : NULL, guest_on_admission, g);
}

int guest_on_start(struct guest *g, const uint8_t *payload, uint32_t length)
{
	char why[SPEECH_WHY];
	const char *token;
	json_t *body;

	if (g->state != GUEST_NEW || !g->places || g->begun)
		return -EPROTO;
	body = speech_object((const char *)payload, length, why);
	if (!body)
		return -EPROTO;
	g->begun = true;
	token = json_string_value(json_object_get(body, "token"));
	if (token)
		guest_claim(g, token);
	else
		guest_ask(g, body);
	json_decref(body);
	return 0;
}

int guest_on_caller(struct guest *g, const uint8_t *payload, uint32_t length)
{
	if (g->state != GUEST_NEW || !g->begun || g->caller.groups)
		return -EPROTO;
	if (caller_decode(&g->caller, payload, length) == -EBADMSG)
		return -EPROTO;
	if (!g->caller.groups)
		guest_refuse(g, EHS_REASON_NO_MEMORY, ENOMEM, "cannot keep its job");
	return 0;
}

/* Home's agent of an earlier version has put into the job what it knew of its process, and the token. */
static int guest_take_earlier(struct guest *g)
{
	struct caller *c = &g->caller;
	struct job_spec spec;
	int err = job_decode(&spec, g->job, g->job_length);

	if (err)
		return err;
	*c = (struct caller){ .uid = spec.uid,
			      .gid = spec.gid,
			      .loginuid = spec.loginuid,
			      .nice = spec.nice,
			      .no_new_privs = spec.flags & JOB_NO_NEW_PRIVS,
			      .ngroups = spec.ngroups,
			      .groups = malloc(spec.ngroups * sizeof(uint32_t) + 1) };
	for (int i = 0; i < JOB_RLIMITS; i++)
		c->hard[i] = spec.rlimit[i][1];
	memcpy(c->traits, spec.traits, sizeof(c->traits));
	if (c->groups && spec.ngroups)
		memcpy(c->groups, spec.groups, spec.ngroups * sizeof(uint32_t));
	if (c->groups)
		guest_claim(g, spec.token);
	job_free(&spec);
	return c->groups ? 0 : -ENOMEM;
}

int guest_on_job(struct guest *g, const uint8_t *payload, uint32_t length)
{
	char why[160];
	int err;

	if (g->state != GUEST_NEW || g->job || g->places != g->begun)
		return -EPROTO;
	g->job = length <= FRAME_JOB_UNPLACED || g->place || !g->begun ? malloc(length) : NULL;
	if (!g->job) {
		guest_refuse(g, EHS_REASON_NO_MEMORY, ENOMEM, "cannot keep its job");
		return 0;
	}
	memcpy(g->job, payload, length);
	g->job_length = length;
	if (!h2_stream_keep(g->route.stream, length)) {
		g->job_length = 0;
		guest_refuse(g, EHS_REASON_NO_MEMORY, ENOBUFS, "cannot keep its job");
		return 0;
	}
	if (job_version(payload, length) > JOB_NEWEST) {
		snprintf(why, sizeof(why),
			 "its job has version %u, and %.64s knows up to %u: upgrade ehsched there",
			 job_version(payload, length), g->agent->config->host, JOB_NEWEST);
		guest_refuse(g, EHS_REASON_REFUSED, 0, why);
		return 0;
	}
	err = g->begun ? 0 : guest_take_earlier(g);
	if (err)
		guest_refuse(g, EHS_REASON_REFUSED, -err, "invalid job");
	else
		guest_on_ready(g);
	return 0;
}

/* Its end compares them, as the user and in the executor's files. */
int guest_on_named(struct guest *g, const uint8_t *payload, uint32_t length)
{
	const char *path;

	if (g->state > GUEST_VIEWING || g->listed || !g->job)
		return -EPROTO;
	g->listed = true;
	if (g->state == GUEST_VIEWING && g->place->view == VIEW_HOME)
		return g->places ? 0 : -EPROTO;
	if (named_check(payload, length, &path) == -EBADMSG)
		return -EPROTO;
	if (length) {
		g->named = malloc(length);
		if (!g->named) {
			guest_refuse(g, EHS_REASON_NO_MEMORY, ENOMEM, "cannot keep its job");
			return 0;
		}
		memcpy(g->named, payload, length);
		g->named_length = length;
	}
	if (g->state == GUEST_VIEWING)
		guest_start_viewing(g);
	return 0;
}

void guest_on_compared(struct guest *g, const char *other)
{
	const char *trouble;
	char text[256];

	g->comparing = false;
	free(g->named);
	g->named = NULL;
	if (!other) {
		guest_try_link(g);
		return;
	}
	trouble = g->place->view == VIEW_AUTO ? view_trouble(g->agent) : NULL;
	if (g->place->view != VIEW_AUTO || trouble) {
		snprintf(text, sizeof(text), "%.200s is not the same file there", other);
		guest_refuse(g, EHS_REASON_FILES_DIFFER, 0, trouble ?: text);
	} else if (g->ask) {
		reserve_ask_differs(g->ask);
	} else {
		guest_again_in_view(g);
	}
}
