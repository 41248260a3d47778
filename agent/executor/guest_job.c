// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames that a guest's home sends: job, named files, signals, credit. */

#include "executor/guest_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/log.h"
#include "executor/guest_inside.h"
#include "executor/launch.h"
#include "executor/pty.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/argfiles.h"
#include "job/channel.h"
#include "job/relay.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/view.h"

static void guest_try_start(struct guest *g, const struct job_spec *spec)
{
	int err = guest_start(g, spec);

	if (err)
		guest_refuse(g, EHS_REASON_START_FAILED, -err, "cannot start a process for it");
}

/* Starts the job that was put aside. */
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
	free(g->job);
	g->job = NULL;
}

static void guest_on_view(void *ctx, const char *trouble)
{
	struct guest *g = ctx;

	if (g->settling) {
		g->settling = false;
		if (g->channel.stream && !g->told)
			guest_tell_exit(g);
	}
	if (!trouble && g->state == GUEST_VIEWING)
		guest_start_viewing(g);
	else if (trouble && g->state < GUEST_RUNNING)
		guest_refuse(g, EHS_REASON_REFUSED, 0, trouble);
	else if (trouble)
		guest_kill(g); /* it has lost the files it uses */
}

static void guest_view_home(struct guest *g)
{
	int err = view_hold(&g->view, g->from, g->place->uid);

	if (err)
		guest_refuse(g, EHS_REASON_REFUSED, -err, "cannot mount home's files");
}

/* Keeps the job until its view is known or mounted. */
static void guest_put_aside(struct guest *g, const uint8_t *payload, uint32_t length)
{
	g->job = malloc(length);
	if (!g->job) {
		guest_refuse(g, EHS_REASON_NO_MEMORY, ENOMEM, "cannot keep its job");
		return;
	}
	memcpy(g->job, payload, length);
	g->job_length = length;
	g->state = GUEST_VIEWING;
	if (g->place->view == VIEW_HOME)
		guest_view_home(g);
}

static int guest_on_job(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;
	struct job_spec spec;
	int err;

	err = job_decode(&spec, payload, length);
	if (err) {
		guest_refuse(g, EHS_REASON_REFUSED, -err, "invalid job");
		return 0;
	}
	g->place = reserve_claim(g->from, spec.token);
	if (!g->place) {
		guest_refuse(g, EHS_REASON_LEASE_OVER, 0, "its reservation has expired");
	} else if (g->place->uid != spec.uid) {
		log_warning("%s: node %s reserved for user %u but sent a job of user %u",
			    g->place->id, peer_code(g->from), g->place->uid, spec.uid);
		guest_refuse(g, EHS_REASON_REFUSED, 0,
			     "its user is not the user of the "
			     "reservation");
	} else if (g->place->view == VIEW_HOME || g->place->view == VIEW_AUTO) {
		guest_put_aside(g, payload, length);
	} else {
		guest_try_start(g, &spec);
	}
	job_free(&spec);
	return 0;
}

static int guest_on_named(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;
	const char *path;
	char text[256];
	int err;

	if (g->place->view == VIEW_HOME)
		return -EPROTO;
	err = argfiles_check(payload, length, &path);
	if (g->place->view == VIEW_AUTO && (!err || err == -EXDEV)) {
		if (g->state != GUEST_VIEWING || !g->job || g->view.of)
			return -EPROTO;
		path = err ? view_trouble(g->from->agent) : NULL;
		if (path)
			guest_refuse(g, EHS_REASON_FILES_DIFFER, 0, path);
		else if (err)
			guest_view_home(g);
		else
			guest_start_viewing(g);
		return 0;
	}
	if (err != -EXDEV)
		return err;
	snprintf(text, sizeof(text), "%s is not the same file there", path);
	guest_refuse(g, EHS_REASON_FILES_DIFFER, 0, text);
	return 0;
}

static int guest_on_go(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;

	g->state = GUEST_STARTING;
	return launch_go(&g->launch);
}

static int guest_on_signal(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;
	uint32_t sig = frame_get_u32(payload);

	if (sig - 1 > 63)
		return -EPROTO;
	if (g->state != GUEST_RUNNING)
		return 0;
	if (frame_get_u32(payload + 4))
		pty_signal(&g->pty, sig);
	else
		launch_signal(&g->launch, sig, false);
	return 0;
}

static int guest_on_closed(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;
	int fd = channel_fd(payload, length, 4);

	if (fd == 3 || (fd == 0 && g->pty.given))
		pty_hangup(&g->pty);
	else if (fd < 1)
		return -EPROTO;
	else /* The task's next write to it raises SIGPIPE, as at home. */
		relay_source_close(&g->out[fd - 1], false);
	guest_check_end(g);
	return 0;
}

static int guest_on_want(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;
	int fd = channel_fd(payload, length, 8);

	if (fd == 3)
		return pty_frame(&g->pty, FRAME_WANT, payload, length);
	if (fd < 1)
		return -EPROTO;
	if (g->out[fd - 1].fd < 0)
		return 0;
	return relay_source_grant(&g->out[fd - 1], frame_get_u32(payload + 4));
}

static const struct frame_rule guest_rules[] = {
	{ FRAME_JOB, FRAME_IN(GUEST_NEW), 0, FRAME_JOB_MAX, guest_on_job },
	{ FRAME_NAMED, FRAME_IN(GUEST_VIEWING) | FRAME_IN(GUEST_PREPARING) | FRAME_IN(GUEST_READY),
	  0, FRAME_NAMED_MAX, guest_on_named },
	{ FRAME_GO, FRAME_IN(GUEST_READY), 0, 0, guest_on_go },
	{ FRAME_SIGNAL, FRAME_ANY_STATE, 8, 8, guest_on_signal },
	{ FRAME_CLOSED, FRAME_ANY_STATE, 4, 4, guest_on_closed },
	{ FRAME_WANT, FRAME_ANY_STATE, 8, 8, guest_on_want },
	{ 0 },
};

static int guest_frame(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct guest *g = ctx;

	/* Refused or ended: ignore frames that were still on their way. */
	if (g->state == GUEST_EXITED && type != FRAME_WANT && type != FRAME_CLOSED)
		return 0;
	if (!frame_rule_of(guest_rules, type))
		return pty_frame(&g->pty, type, payload, length);
	return frame_dispatch(guest_rules, g->state, type, g, payload, length);
}

static const struct guest_ops guest_job_ops = {
	.frame = guest_frame,
	.view = guest_on_view,
};

int guest_job(struct agent *agent, struct peer *from, struct h2_stream *s,
	      const struct h2_stream_ops **ops, void **ctx)
{
	struct guest *g = guest_new(from, s, &guest_job_ops);

	if (!g)
		return 503;
	*ops = &guest_stream_ops;
	*ctx = g;
	return 0;
}
