// SPDX-License-Identifier: GPL-2.0-or-later

#include "home/departure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/log.h"
#include "home/away_inside.h"
#include "home/eligible.h"
#include "home/learn.h"
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

/* Encodes the job to send, with what only the agent knows. 0 or -errno. */
static int departure_encode(struct away *a, struct job_spec *spec, const char *token)
{
	size_t size;

	spec->token = token;
	size = job_encoded_size(spec);
	if (!size)
		return -E2BIG;
	a->job_length = size;
	a->job = malloc(size);
	if (!a->job)
		return -ENOMEM;
	job_encode(spec, a->job);
	return 0;
}

/* A job without a placement has been placed: gives it the token. */
static void departure_on_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
				 enum ehs_reason reason)
{
	struct away *a = ctx;
	struct job_spec spec;
	uint8_t *old = a->job;
	int err;

	a->asking = false;
	if (a->state == AWAY_OVER) {
		/* The stub did not wait for this. */
		if (to)
			placement_failed(p, EHS_REASON_KILLED);
		a->placement = NULL;
		away_later(a);
		return;
	}
	if (!to) {
		learn_stays(p);
		away_refuse(a, reason, 0, placement_text(p));
		return;
	}
	a->placement = p;
	err = job_decode(&spec, old, a->job_length);
	if (!err) {
		err = departure_encode(a, &spec, token);
		job_free(&spec);
	}
	if (a->job != old)
		free(old);
	if (err)
		away_refuse(a, EHS_REASON_NO_MEMORY, 0, strerror(-err));
	else
		away_send(a, to);
}

static void departure_ask(struct away *a, const struct job_spec *spec, uid_t uid, uint64_t came)
{
	bool automatic = a->automatic;
	char why[NAMES_WHY];
	const struct eligible_who who = {
		.socket = a->route.socket, .pid = a->pid, .uid = uid, .came = came
	};
	struct placement_task task = {
		.pid = a->pid,
		.uid = uid,
		.path = spec->path,
		.argv = spec->argv,
		.time_ms = automatic ? node_settings(a->agent)->time_limit : DEPARTURE_EXPLICIT_MS,
		.view = JOB_VIEW_OF(spec->flags),
		.node = automatic ? NULL : spec->token + 1,
		.leaves = a->leaves,
		.who = &who,
	};
	struct peer *to = automatic ? NULL : names_find(a->agent, spec->token + 1, why);
	int err;

	if (to && to == peers_self(a->agent)) {
		away_refuse(a, EHS_REASON_NONE, 0, "this node");
		return;
	}
	/* As with the module. A user who names a node wants that one. */
	if (automatic && cgroup_is_guest(a->agent, a->pid)) {
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

static gid_t *departure_groups(int socket, uint32_t *n)
{
	socklen_t size = 0;
	gid_t *groups;

	*n = 0;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) && errno != ERANGE)
		return NULL;
	groups = malloc(size + sizeof(gid_t));
	if (!groups || getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size)) {
		free(groups);
		return NULL;
	}
	*n = size / sizeof(gid_t);
	return groups;
}

/*
 * Adds what must be right or the task does not go: who it is for audit, whether set-user-ID programs may give it
 * rights, and how much it may use. 0 or -errno.
 */
static int departure_identify(struct away *a, struct job_spec *spec, uid_t uid)
{
	struct attributes_who who = { 0 };
	int err = attributes_read(a->pid, uid, &who, spec->traits);

	spec->loginuid = who.loginuid;
	spec->nice = who.nice;
	/* Soft limits are the stub's to say: its own may differ, as it needs descriptors. */
	for (int i = 0; i < JOB_RLIMITS; i++)
		for (int j = 0; j < 2; j++)
			if (spec->rlimit[i][j] > who.hard[i])
				spec->rlimit[i][j] = who.hard[i];
	spec->flags &= ~JOB_NO_NEW_PRIVS;
	if (who.no_new_privs)
		spec->flags |= JOB_NO_NEW_PRIVS;
	return err;
}

/* Adds the caller's ids and attributes as the kernel knows them. 0 or -errno. */
static int departure_fill(struct away *a, struct job_spec *spec, uid_t uid, gid_t gid)
{
	gid_t *groups = departure_groups(a->route.socket, &spec->ngroups);
	int err;

	if (!groups)
		return -ENOMEM;
	spec->uid = uid;
	spec->gid = gid;
	spec->groups = groups;
	spec->flags &= ~JOB_RETRY;
	err = spec->ngroups > JOB_GROUPS_MAX ? -E2BIG : departure_encode(a, spec, spec->token);
	free(groups);
	spec->groups = NULL;
	spec->ngroups = 0;
	return err;
}

static void departure_send(struct away *a, const struct departure *d)
{
	const uid_t uid = d->who.uid;
	enum ehs_reason reason;
	struct job_spec spec;
	struct peer *to;
	int err;

	/* The stub is that of the disk, where an upgrade may have put a newer one. */
	if (job_version(d->job, d->length) > JOB_NEWEST) {
		if (log_allowed(&departure_log))
			log_warning(
				"process %d (uid %u): its stub is of a newer version: restart ehagent",
				(int)a->pid, (unsigned int)uid);
		away_refuse(
			a, EHS_REASON_REFUSED, 0,
			"the stub is of a newer version than this host's agent: restart ehagent");
		return;
	}
	err = job_decode(&spec, d->job, d->length);
	if (err) {
		if (log_allowed(&departure_log))
			log_warning("process %d (uid %u): malformed job", (int)a->pid,
				    (unsigned int)uid);
		away_refuse(a, EHS_REASON_REFUSED, 0, "malformed job");
		return;
	}
	a->leaves = !strcmp(spec.token, "@all");
	a->automatic = a->leaves || !strcmp(spec.token, "@auto");
	a->retry = spec.flags & JOB_RETRY || cgroup_session_retries(a->agent, a->pid);
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
		spec.token = placement_token(a->placement);
	}
	err = departure_identify(a, &spec, uid);
	if (err) {
		away_refuse(a, EHS_REASON_KILLED, 0, "its process has ended");
		goto free_spec;
	}
	err = departure_fill(a, &spec, uid, d->who.gid);
	if (err) {
		away_refuse(a, EHS_REASON_NO_MEMORY, 0, strerror(-err));
		goto free_spec;
	}
	if (departure_name_files(a))
		goto free_spec;
	if (!a->placement) {
		departure_ask(a, &spec, uid, d->came);
	} else {
		to = placement_executor(a->placement);
		away_send(a, to);
	}
free_spec:
	job_free(&spec);
}

void departure_start(struct agent *agent, const struct departure *d)
{
	struct away *a = away_new(agent, d->socket, d->who.pid, d->who.uid);

	/* Without memory the stub sees the connection close and runs the task at home. */
	if (!a) {
		free(d->named);
		return;
	}
	a->named = d->named;
	a->named_length = d->named_length;
	departure_send(a, d);
}
