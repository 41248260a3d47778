// SPDX-License-Identifier: GPL-2.0-or-later

#include "home/departure.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/log.h"
#include "home/handoff_inside.h"
#include "home/placement.h"
#include "home/record.h"
#include "job/argfiles.h"
#include "job/attributes.h"
#include "job/channel.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/cgroup.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/reason.h"
#include "wire/view.h"

#define DEPARTURE_EXPLICIT_MS 60000 /* the user waits; the digest of a large program takes long */

static bool departure_is_null(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* Whether 1 and 2 are the same open file, so that the order of output matters. */
static bool departure_is_merged(const int fds[3])
{
	pid_t me = getpid();

	return fds[1] >= 0 && fds[2] >= 0 &&
	       syscall(SYS_kcmp, me, me, KCMP_FILE, (unsigned long)fds[1], (unsigned long)fds[2]) ==
		       0;
}

static void departure_send_job(struct handoff *h, struct peer *to)
{
	const unsigned int lease = h->agent->config->lease;
	const struct timeval limit = { lease / 1000, lease % 1000 * 1000 };

	h->to = to;
	h->view = placement_view(h->placement);
	h->channel.stream = link_open(to, "POST", "/v1/job", &handoff_ops, h);
	if (!h->channel.stream) {
		handoff_refuse(h, EHS_REASON_UNREACHABLE, 0, "no connection to the node");
		return;
	}
	/* With VIEW_AUTO the executor waits for it even if nothing is named. */
	if ((h->view == VIEW_AUTO || (h->view != VIEW_HOME && h->named_length)) &&
	    channel_send(&h->channel, FRAME_NAMED, h->named, h->named_length)) {
		handoff_refuse(h, EHS_REASON_NO_MEMORY, 0, strerror(ENOMEM));
		return;
	}
	free(h->named);
	h->named = NULL;
	h->state = HANDOFF_SENT;
	evtimer_add(h->limit, &limit);
}

/* A user who names the node knows best. Otherwise files in the arguments must exist there. */
static int departure_name_files(struct handoff *h, const struct job_spec *spec)
{
	const char *path;
	char text[256];
	int err;

	if (spec->flags & JOB_EXPLICIT)
		return 0;
	err = argfiles_encode(spec, &h->named, &h->named_length, &path);
	if (err == -EXDEV) {
		snprintf(text, sizeof(text), "%s is a pipe or socket of this host", path);
		handoff_refuse(h, EHS_REASON_FILES_DIFFER, 0, text);
	} else if (err) {
		handoff_refuse(h, EHS_REASON_NO_MEMORY, 0, strerror(-err));
	}
	return err;
}

/* Encodes the frame to send, with what only the agent knows. 0 or -errno. */
static int departure_encode(struct handoff *h, struct job_spec *spec, const char *token)
{
	size_t size;

	spec->token = token;
	size = job_encoded_size(spec);
	if (!size)
		return -E2BIG;
	h->job_length = FRAME_HEADER + size;
	h->job = malloc(h->job_length);
	if (!h->job)
		return -ENOMEM;
	frame_header(h->job, FRAME_JOB, size);
	job_encode(spec, h->job + FRAME_HEADER);
	return 0;
}

/* A job without a placement has been placed: gives it the token. */
static void departure_on_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
				 enum ehs_reason reason)
{
	struct handoff *h = ctx;
	struct job_spec spec;
	uint8_t *old = h->job;
	int err;

	h->asking = false;
	if (h->state == HANDOFF_OVER) {
		/* The stub did not wait for this. */
		if (to)
			placement_failed(p, EHS_REASON_KILLED);
		h->placement = NULL;
		handoff_later(h);
		return;
	}
	if (!to) {
		handoff_refuse(h, reason, 0, placement_text(p));
		return;
	}
	h->placement = p;
	err = job_decode(&spec, old + FRAME_HEADER, h->job_length - FRAME_HEADER);
	if (!err) {
		err = departure_encode(h, &spec, token);
		job_free(&spec);
	}
	if (h->job != old)
		free(old);
	if (err)
		handoff_refuse(h, EHS_REASON_NO_MEMORY, 0, strerror(-err));
	else
		departure_send_job(h, to);
}

static void departure_ask(struct handoff *h, const struct job_spec *spec, uid_t uid)
{
	bool automatic = h->automatic;
	struct placement_task task = {
		.pid = h->pid,
		.uid = uid,
		.path = spec->path,
		.time_ms = automatic ? h->agent->config->time_limit : DEPARTURE_EXPLICIT_MS,
		.view = JOB_VIEW_OF(spec->flags),
		.node = automatic ? NULL : spec->token + 1,
	};
	struct peer *to = automatic ? NULL : peers_by_text(h->agent, spec->token + 1);
	int err;

	if (to && to == peers_self(h->agent)) {
		handoff_refuse(h, EHS_REASON_NONE, 0, "this node");
		return;
	}
	h->state = HANDOFF_ASKING;
	h->asking = true;
	err = placement_start(h->agent, &task, departure_on_decided, h);
	if (!err)
		return;
	h->asking = false;
	if (h->state != HANDOFF_OVER)
		handoff_refuse(h, EHS_REASON_NO_MEMORY, 0, strerror(-err));
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
 * Adds what must be right or the task does not go: who it is for audit, and whether set-user-ID
 * programs may give it rights. 0 or -errno.
 */
static int departure_identify(struct handoff *h, struct job_spec *spec, uid_t uid)
{
	bool no_new_privs = false;
	int err = attributes_identify(h->pid, uid, &spec->loginuid, &no_new_privs);

	spec->flags &= ~JOB_NO_NEW_PRIVS;
	if (no_new_privs)
		spec->flags |= JOB_NO_NEW_PRIVS;
	return err;
}

/* Adds the caller's ids as the kernel knows them, and what its descriptors are. 0 or -errno. */
static int departure_fill(struct handoff *h, struct job_spec *spec, uid_t uid, gid_t gid)
{
	gid_t *groups = departure_groups(h->stub, &spec->ngroups);
	int err;

	if (!groups)
		return -ENOMEM;
	spec->uid = uid;
	spec->gid = gid;
	spec->groups = groups;
	attributes_read(h->pid, uid, spec->traits);
	spec->flags &= ~(JOB_RETRY | JOB_MERGED | JOB_NULL(0) | JOB_NULL(1) | JOB_NULL(2));
	for (int i = 0; i < 3; i++)
		if (h->fds[i] >= 0 && departure_is_null(h->fds[i]))
			spec->flags |= JOB_NULL(i);
	if (departure_is_merged(h->fds))
		spec->flags |= JOB_MERGED;
	h->flags = spec->flags;
	h->terminal.given = spec->flags & JOB_TTYS;
	h->terminal.typing = spec->flags & JOB_TTY(0);
	h->terminal.foreground = !(spec->flags & JOB_BACKGROUND);
	h->terminal.first = h->terminal.last = spec->terminal;
	err = spec->ngroups > JOB_GROUPS_MAX ? -E2BIG : departure_encode(h, spec, spec->token);
	free(groups);
	spec->groups = NULL;
	spec->ngroups = 0;
	return err;
}

static void departure_send(struct handoff *h, const uint8_t *job, size_t length, uid_t uid,
			   gid_t gid)
{
	enum ehs_reason reason;
	struct job_spec spec;
	struct peer *to;
	int err;

	err = job_decode(&spec, job, length);
	if (err) {
		handoff_refuse(h, EHS_REASON_REFUSED, 0, "malformed job");
		return;
	}
	h->uid = uid;
	h->automatic = !strcmp(spec.token, "@auto");
	h->retry = spec.flags & JOB_RETRY || cgroup_session_retries(h->agent, h->pid);
	if (spec.token[0] != '@') {
		h->placement = placement_claim(h->agent, spec.token, h->pid, uid, &reason);
		if (!h->placement) {
			handoff_refuse(h, reason, 0,
				       reason == EHS_REASON_REFUSED
					       ? "the placement belongs to another process"
					       : reason_text(reason));
			goto free_spec;
		}
		spec.token = placement_token(h->placement);
	}
	err = departure_identify(h, &spec, uid);
	if (err) {
		handoff_refuse(h, EHS_REASON_KILLED, 0, "its process has ended");
		goto free_spec;
	}
	err = departure_fill(h, &spec, uid, gid);
	if (err) {
		handoff_refuse(h, EHS_REASON_NO_MEMORY, 0, strerror(-err));
		goto free_spec;
	}
	if (departure_name_files(h, &spec))
		goto free_spec;
	if (!h->placement) {
		departure_ask(h, &spec, uid);
	} else {
		to = placement_executor(h->placement);
		departure_send_job(h, to);
	}
free_spec:
	job_free(&spec);
}

void departure_start(struct agent *agent, int socket, const uint8_t *job, size_t length, int fds[3],
		     pid_t pid, uid_t uid, gid_t gid)
{
	struct handoff *h = handoff_new(agent, socket, fds, pid);

	if (!h) {
		/* The stub sees the connection close and runs the task at home. */
		close(socket);
		for (int i = 0; i < 3; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		return;
	}
	departure_send(h, job, length, uid, gid);
}
