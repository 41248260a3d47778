// SPDX-License-Identifier: GPL-2.0-or-later
/* How a job leaves home: with the request for its place, or to a place that it has. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/speech.h"
#include "cluster/versions.h"
#include "home/away_inside.h"
#include "home/placement.h"
#include "home/record.h"
#include "job/route.h"
#include "net/link.h"
#include "net/peer.h"
#include "wire/caller.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/view.h"

void away_answered(struct away *a, int status, json_t *reply)
{
	struct placement *p = a->asked;

	a->asked = NULL;
	a->admitted = status == 200 && json_object_get(reply, "token");
	placement_answered(p, status, reply);
	json_decref(reply);
}

int away_on_admission(struct away *a, const uint8_t *payload, uint32_t length)
{
	char why[SPEECH_WHY];
	json_t *reply;

	if (a->state != AWAY_ASKING || !a->asked)
		return -EPROTO;
	reply = speech_object((const char *)payload, length, why);
	if (!reply)
		return -EPROTO;
	if (!json_object_get(reply, "token"))
		route_leave_stream(&a->route);
	away_answered(a, 200, reply);
	return 0;
}

/* What follows the request for a place, or the token. 0 or -errno. */
static int away_tell_job(struct away *a, enum view view)
{
	const size_t size = caller_size(&a->caller);
	uint8_t *caller = malloc(size);
	int err = -ENOMEM;

	if (!caller)
		return err;
	caller_encode(&a->caller, caller);
	err = route_tell_peer_later(&a->route, FRAME_CALLER, caller, size);
	free(caller);
	if (!err)
		err = route_tell_peer_later(&a->route, FRAME_JOB, a->job, a->job_length);
	/* Where files may differ, the executor waits for the names, even if there are none. */
	if (!err && view != VIEW_HOME)
		err = route_tell_peer_later(&a->route, FRAME_NAMED, a->named, a->named_length);
	route_push(&a->route);
	return err;
}

static int away_start(struct away *a, struct peer *to, json_t *request_stolen, enum view view)
{
	char *text = json_dumps(request_stolen, JSON_COMPACT | JSON_REAL_PRECISION(9));
	struct h2_stream *s;
	int err = -ENOMEM;

	json_decref(request_stolen);
	if (!text)
		return err;
	s = link_open(to, "POST", "/v1/start", &route_stream_ops, &a->route);
	err = s ? 0 : -errno;
	if (s) {
		route_use(&a->route, s);
		err = route_tell_peer_later(&a->route, FRAME_START, text, strlen(text));
	}
	free(text);
	if (!err)
		err = away_tell_job(a, view);
	if (err)
		route_drop_stream(&a->route);
	return err;
}

int away_place(void *away, struct placement *p, struct peer *to, json_t *request_stolen)
{
	struct away *a = away;
	int err;

	if (a->state != AWAY_ASKING) {
		json_decref(request_stolen);
		return -ECANCELED;
	}
	err = away_start(a, to, request_stolen, p->view);
	if (err)
		return err;
	a->to = to;
	a->asked = p;
	return 0;
}

/* For an agent of protocol 2: the token and what is known of the caller are in the job. 0 or -errno. */
static int away_start_earlier(struct away *a, struct peer *to, const char *token, enum view view)
{
	uint8_t *job = NULL;
	struct job_spec spec;
	struct h2_stream *s;
	size_t size;
	int err = job_decode(&spec, a->job, a->job_length);

	if (err)
		return err;
	spec.token = token;
	spec.uid = a->caller.uid;
	spec.gid = a->caller.gid;
	spec.groups = a->caller.groups;
	spec.ngroups = a->caller.ngroups;
	spec.loginuid = a->caller.loginuid;
	spec.nice = a->caller.nice;
	for (int i = 0; i < JOB_RLIMITS; i++)
		for (int j = 0; j < 2; j++)
			if (spec.rlimit[i][j] > a->caller.hard[i])
				spec.rlimit[i][j] = a->caller.hard[i];
	memcpy(spec.traits, a->caller.traits, sizeof(spec.traits));
	spec.flags &= ~(JOB_RETRY | JOB_NO_NEW_PRIVS);
	if (a->caller.no_new_privs)
		spec.flags |= JOB_NO_NEW_PRIVS;
	size = job_encoded_size(&spec);
	job = size ? malloc(size) : NULL;
	err = !size ? -E2BIG : job ? 0 : -ENOMEM;
	if (!err) {
		job_encode(&spec, job);
		s = link_open(to, "POST", "/v1/job", &route_stream_ops, &a->route);
		err = s ? 0 : -ENOTCONN;
		if (s)
			route_use(&a->route, s);
	}
	if (!err)
		err = route_tell_peer(&a->route, FRAME_JOB, job, size);
	if (!err && view != VIEW_HOME)
		err = route_tell_peer(&a->route, FRAME_NAMED, a->named, a->named_length);
	free(job);
	job_free(&spec);
	return err;
}

void away_sent(struct away *a)
{
	snprintf(a->token, sizeof(a->token), "%s", a->placement->token);
	snprintf(a->id, sizeof(a->id), "%s", a->placement->id);
	a->view = a->placement->view;
	a->began_ms = clock_wall_ms();
	free(a->job);
	free(a->named);
	a->job = a->named = NULL;
	caller_free(&a->caller);
	a->state = AWAY_SENT;
	clock_arm(a->timer, a->agent->config->lease);
}

void away_send(struct away *a, struct peer *to)
{
	const enum view view = a->placement->view;
	const char *token = a->placement->token;
	int err;

	a->to = to;
	if (to->protocol >= VERSIONS_START)
		err = away_start(a, to, json_pack("{s:s}", "token", token), view);
	else
		err = away_start_earlier(a, to, token, view);
	if (!err) {
		record_time(a->placement, TIMING_JOB_SENT);
		away_sent(a);
	} else if (err == -ENOMEM || err == -E2BIG) {
		away_refuse(a, EHS_REASON_NO_MEMORY, 0, strerror(-err));
	} else {
		away_refuse(a, EHS_REASON_UNREACHABLE, 0, "no connection to the node");
	}
}
