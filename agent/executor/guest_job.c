// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest's home sends before the start: the job, and the files that its arguments name. */

#include "executor/guest_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/log.h"
#include "executor/guest_inside.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/route.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/named.h"
#include "wire/view.h"

static void guest_try_start(struct guest *g, const struct job_spec *spec)
{
	int err = guest_start(g, spec);

	if (err)
		guest_refuse(g, EHS_REASON_START_FAILED, -err, "cannot start a process for it");
}

/* Starts the job, which was kept. */
static void guest_start_viewing(struct guest *g)
{
	struct job_spec spec;
	int err = job_decode(&spec, g->job, g->job_length);

	if (err) {
		guest_refuse(g, EHS_REASON_REFUSED, -err, "invalid job");
	} else {
		guest_try_start(g, &spec);
		job_free(&spec);
	}
}

void guest_on_view(void *ctx, const char *trouble)
{
	struct guest *g = ctx;

	if (trouble)
		g->view_ino = 0;
	if (g->settling)
		guest_settled(g);
	if (!trouble && g->state == GUEST_VIEWING)
		guest_start_viewing(g);
	else if (trouble && g->state <= GUEST_VIEWING)
		guest_refuse(g, EHS_REASON_REFUSED, 0, trouble);
	else if (trouble)
		guest_kill(g); /* it has lost the files it uses */
}

static void guest_view_home(struct guest *g)
{
	int err = view_hold(&g->view, g->from, g->place->uid, g->place->user);

	if (err)
		guest_refuse(g, EHS_REASON_REFUSED, -err, "cannot mount home's files");
}

/* It waits for home's files, or for the names of files that may differ. */
static void guest_wait_view(struct guest *g)
{
	g->state = GUEST_VIEWING;
	if (g->place->view == VIEW_HOME)
		guest_view_home(g);
}

void guest_drop_job(struct guest *g)
{
	if (g->route.stream)
		h2_stream_unkeep(g->route.stream, g->job_length);
	free(g->job);
	g->job = NULL;
	g->job_length = 0;
}

int guest_on_job(struct guest *g, const uint8_t *payload, uint32_t length)
{
	static struct log_limit limit;
	struct job_spec spec;
	char why[160];
	int err;

	if (g->state != GUEST_NEW || g->job)
		return -EPROTO;
	g->job = malloc(length);
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
	err = job_decode(&spec, payload, length);
	if (err) {
		guest_refuse(g, EHS_REASON_REFUSED, -err, "invalid job");
		return 0;
	}
	g->place = reserve_claim(g->from, spec.token);
	snprintf(g->token, sizeof(g->token), "%s", spec.token);
	if (!g->place) {
		guest_refuse(g, EHS_REASON_LEASE_OVER, 0, "its reservation has expired");
	} else if (g->place->uid != spec.uid) {
		if (log_allowed(&limit))
			log_warning("%s: node %s reserved for user %u but sent a job of user %u",
				    g->place->id, peer_code(g->from), g->place->uid, spec.uid);
		guest_refuse(g, EHS_REASON_REFUSED, 0,
			     "its user is not the user of the "
			     "reservation");
	} else {
		guest_wait_view(g);
	}
	job_free(&spec);
	return 0;
}

/* Its end compares them, as the user and in the executor's files. */
int guest_on_named(struct guest *g, const uint8_t *payload, uint32_t length)
{
	const char *path;

	if (g->state != GUEST_VIEWING || g->place->view == VIEW_HOME || g->view.of)
		return -EPROTO;
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
	guest_start_viewing(g);
	return 0;
}

void guest_on_compared(struct guest *g, const char *other)
{
	const unsigned int lease = g->agent->config->lease;
	const struct timeval limit = { lease / 1000, lease % 1000 * 1000 };
	const char *trouble;
	char text[256];

	g->comparing = false;
	evtimer_del(g->timer);
	free(g->named);
	g->named = NULL;
	if (!other) {
		guest_drop_job(g);
		guest_linked(g);
		return;
	}
	trouble = g->place->view == VIEW_AUTO ? view_trouble(g->agent) : NULL;
	if (g->place->view != VIEW_AUTO || trouble) {
		snprintf(text, sizeof(text), "%.200s is not the same file there", other);
		guest_refuse(g, EHS_REASON_FILES_DIFFER, 0, trouble ?: text);
		return;
	}
	/* This end has ended; another one begins in the view. */
	route_close_end(&g->route);
	g->pid = 0;
	g->state = GUEST_VIEWING;
	evtimer_add(g->timer, &limit);
	guest_view_home(g);
}

/* A job may have megabytes: a node that has reserved nothing gets no memory for one. */
static bool guest_is_reserved(struct agent *agent, const struct peer *from)
{
	unsigned int n = 0;

	for (const struct guest *g = agent->guests->list; g; g = g->next)
		n += g->from == from && g->state == GUEST_NEW;
	return n < reserve_waiting(from);
}

int guest_job(struct agent *agent, struct peer *from, struct h2_stream *s,
	      const struct h2_stream_ops **ops, void **ctx)
{
	const unsigned int lease = agent->config->lease;
	const struct timeval limit = { lease / 1000, lease % 1000 * 1000 };
	struct guest *g;

	if (!guest_is_reserved(agent, from))
		return 409;
	g = guest_new(from);
	if (!g)
		return 503;
	if (evtimer_add(g->timer, &limit)) {
		g->state = GUEST_OVER;
		guest_later(g);
		return 503;
	}
	route_use(&g->route, s);
	*ops = &route_stream_ops;
	*ctx = &g->route;
	return 0;
}
