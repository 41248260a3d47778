// SPDX-License-Identifier: GPL-2.0-or-later

#include "home/departure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "home/away_inside.h"
#include "home/eligible.h"
#include "home/learn.h"
#include "home/outcome.h"
#include "home/placement.h"
#include "home/record.h"
#include "job/attributes.h"
#include "net/peer.h"
#include "net/names.h"
#include "net/peers.h"
#include "node/cgroup.h"
#include "node/node.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/named.h"
#include "wire/reason.h"
#include "wire/view.h"

#define DEPARTURE_EXPLICIT_MS 60000 /* the user waits; the digest of a large program takes long */

static struct log_limit departure_log;

/* Whether the files that its arguments name, as the stub has found them, let it go. */
static int departure_name_files(struct away *a)
{
	const char *path;
	char text[256];
	int err = named_check(a->named, a->named_length, &path);

	if (err == -EXDEV) {
		snprintf(text, sizeof(text), "%s is a pipe or socket of this host", path);
		away_refuse(a, EHS_REASON_FILES_DIFFER, 0, text);
	} else if (err) {
		away_refuse(a, EHS_REASON_REFUSED, 0, "malformed names of files");
	}
	return err;
}

/* A job without a placement has been placed. */
static void departure_on_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
				 enum ehs_reason reason)
{
	struct away *a = ctx;

	a->asking = false;
	if (a->state >= AWAY_TOLD) {
		/* The stub did not wait for this. */
		if (to)
			outcome_failed(p, EHS_REASON_KILLED);
		a->placement = NULL;
		away_later(a);
		return;
	}
	if (!to) {
		learn_stays(p);
		away_refuse(a, reason, 0, p->text);
		return;
	}
	a->placement = p;
	if (a->admitted)
		away_sent(a);
	else
		away_send(a, to);
}

static void departure_ask(struct away *a, const struct job_spec *spec, const struct departure *d,
			  const struct cgroup_session *session)
{
	bool automatic = a->automatic;
	char why[NAMES_WHY];
	const struct eligible_who who = {
		.socket = a->route.socket, .pid = a->pid, .uid = a->uid, .came = d->came
	};
	struct placement_task task = {
		.exec = { .pid = a->pid,
			  .uid = a->uid,
			  .path = spec->path,
			  .time_ms = automatic ? node_settings(a->agent)->time_limit
					       : DEPARTURE_EXPLICIT_MS },
		.seen = d->has_seen ? &d->seen : NULL,
		.folder = spec->cwd,
		.argv = spec->argv,
		.came_us = a->came_us,
		.view = JOB_VIEW_OF(spec->flags) ?: session->view,
		.send = a->job_length <= FRAME_JOB_UNPLACED ? away_place : NULL,
		.node = automatic ? NULL : spec->token + 1,
		.leaves = a->leaves || session->leaves,
		.who = &who,
	};
	struct peer *to = automatic ? NULL : names_find(a->agent, spec->token + 1, why);
	int err;

	if (to && to == peers_self(a->agent)) {
		away_refuse(a, EHS_REASON_NONE, 0, "this node");
		return;
	}
	/* As with the module. A user who names a node wants that one. */
	if (automatic && session->guest) {
		away_refuse(a, EHS_REASON_GUEST, 0, reason_text(EHS_REASON_GUEST));
		return;
	}
	a->state = AWAY_ASKING;
	a->asking = true;
	err = placement_start(a->agent, &task, departure_on_decided, a);
	if (!err)
		return;
	a->asking = false;
	if (a->state != AWAY_OVER)
		away_refuse(a, EHS_REASON_NO_MEMORY, 0, strerror(-err));
}

/* 0 or -errno. */
static int departure_groups(int socket, struct caller *c)
{
	socklen_t size = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) && errno != ERANGE)
		return -errno;
	c->groups = malloc(size + 1);
	if (!c->groups)
		return -ENOMEM;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, c->groups, &size))
		return -errno;
	c->ngroups = size / sizeof(gid_t);
	return c->ngroups > JOB_GROUPS_MAX ? -E2BIG : 0;
}

/*
 * Reads what must be right or the task does not go: who it is, for audit, too, whether set-user-ID programs may give it
 * rights, and how much it may use. 0, -ESRCH: its process has ended, or another -errno.
 */
static int departure_identify(struct away *a, const struct job_spec *spec, const struct ucred *who)
{
	struct attributes_who is = { 0 };
	struct caller *c = &a->caller;

	memcpy(c->traits, spec->traits, sizeof(c->traits));
	if (attributes_read(a->pid, who->uid, &is, c->traits))
		return -ESRCH;
	c->uid = who->uid;
	c->gid = who->gid;
	c->loginuid = is.loginuid;
	c->nice = is.nice;
	c->no_new_privs = is.no_new_privs;
	memcpy(c->hard, is.hard, sizeof(c->hard));
	return departure_groups(a->route.socket, c);
}

static void departure_send(struct away *a, const struct departure *d)
{
	const uid_t uid = d->who.uid;
	enum ehs_reason reason;
	struct cgroup_session session;
	struct job_spec spec;
	int err;

	/* The stub is that of the disk, where an upgrade may have put a newer one. */
	if (job_version(a->job, a->job_length) > JOB_NEWEST) {
		if (log_allowed(&departure_log))
			log_warning(
				"process %d (uid %u): its stub is of a newer version: restart ehagent",
				(int)a->pid, (unsigned int)uid);
		away_refuse(
			a, EHS_REASON_REFUSED, 0,
			"the stub is of a newer version than this host's agent: restart ehagent");
		return;
	}
	err = job_decode(&spec, a->job, a->job_length);
	if (err) {
		if (log_allowed(&departure_log))
			log_warning("process %d (uid %u): malformed job", (int)a->pid,
				    (unsigned int)uid);
		away_refuse(a, EHS_REASON_REFUSED, 0, "malformed job");
		return;
	}
	a->leaves = !strcmp(spec.token, "@all");
	a->automatic = a->leaves || !strcmp(spec.token, "@auto");
	session = cgroup_session_of(a->agent, a->pid);
	a->retry = spec.flags & JOB_RETRY || session.retries;
	if (spec.token[0] != '@') {
		a->placement = placement_claim(a->agent, spec.token, a->pid, uid, &reason);
		if (!a->placement) {
			away_refuse(a, reason, 0,
				    reason == EHS_REASON_REFUSED
					    ? "the placement belongs to another process"
					    : reason_text(reason));
			goto free_spec;
		}
		record_arguments(a->placement, spec.argv);
		a->placement->timing.us[TIMING_JOB] = a->came_us;
	}
	err = departure_identify(a, &spec, &d->who);
	if (err) {
		away_refuse(a, err == -ESRCH ? EHS_REASON_KILLED : EHS_REASON_NO_MEMORY, 0,
			    err == -ESRCH ? "its process has ended" : strerror(-err));
		goto free_spec;
	}
	if (departure_name_files(a))
		goto free_spec;
	if (!a->placement)
		departure_ask(a, &spec, d, &session);
	else
		away_send(a, a->placement->to);
free_spec:
	job_free(&spec);
}

void departure_start(struct agent *agent, const struct departure *d)
{
	struct away *a = away_new(agent, d->socket, d->who.pid, d->who.uid);

	/* Without memory the stub sees the connection close and runs the task at home. */
	if (!a) {
		free(d->job);
		free(d->named);
		return;
	}
	a->came_us = clock_us();
	a->job = d->job;
	a->job_length = d->length;
	a->named = d->named;
	a->named_length = d->named_length;
	departure_send(a, d);
}
