// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stub tells of its task, for the records and the kernel's accounts. */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "home/away_inside.h"
#include "home/learn.h"
#include "home/outcome.h"
#include "home/record.h"
#include "home/stops.h"
#include "job/route.h"
#include "net/link.h"
#include "net/peer.h"
#include "node/kernel.h"
#include "node/local_task.h"
#include "wire/attach.h"
#include "wire/frame.h"

#define AWAY_ASK_MS 5000

/* The task was told to the executor, and will not be run there. */
static void away_stays(struct away *a, const struct note *n)
{
	if (a->automatic)
		local_task_add(a->agent, a->pid);
	if (!a->placement)
		return;
	if (*n->text)
		record_step(a->placement, "%s: %s", peer_host(a->to), n->text);
	/* A user says so: he may name what he has open as the reason, and none for which a node is avoided. */
	outcome_failed(a->placement, n->reason == EHS_REASON_FILES_DIFFER
					     ? EHS_REASON_FILES_DIFFER
					     : EHS_REASON_START_FAILED);
	a->placement = NULL;
}

/* Its stub may wait for this, to run it again if memory was short; else it ends. */
static void away_tell_killer(struct placement *p, bool starved)
{
	const struct agent *agent = p->agent;
	struct away *a = agent->aways->list;
	uint8_t payload[4];

	while (a && (a->placement != p || !a->killed))
		a = a->next;
	if (!a)
		return;
	a->killed = false;
	if (!starved) {
		outcome_ended(p, SIGKILL);
		a->placement = NULL;
	}
	frame_put_u32(payload, starved);
	route_tell_end(&a->route, FRAME_NOTED, payload, sizeof(payload));
}

static void away_on_guests(void *ctx, int status, const json_t *reply)
{
	const json_t *ids = json_object_get(reply, "starved"), *id;
	struct placement *p = ctx;
	bool starved = false;
	size_t i;

	/* One of an earlier version does not say. */
	json_array_foreach((json_t *)ids, i, id)
		starved |= status == 200 && !strcmp(json_string_value(id) ?: "", p->id);
	if (starved) {
		learn_starved(p);
		outcome_starved(p);
	}
	away_tell_killer(p, starved);
	record_release(p);
}

/* Only the executor may know who has sent the signal. False: it cannot be asked. */
static bool away_ask_killer(struct away *a, struct placement *p)
{
	record_hold(p);
	if (!link_request(a->to, "/v1/guests", NULL, AWAY_ASK_MS, away_on_guests, p))
		return true;
	record_release(p);
	return false;
}

/* The process of a user tells what this agent does not see. */
static void away_time_start(struct placement *p, const struct note *n)
{
	struct timing *t = &p->timing;
	const uint64_t now = clock_us();

	t->us[TIMING_STARTED] = now;
	if (n->begun_us <= t->us[TIMING_JOB])
		timing_told(t, TIMING_STUB, n->begun_us, TIMING_VERDICT, now);
	timing_told(t, TIMING_READY, n->ready_us, TIMING_LINKED, now);
	timing_told(t, TIMING_GO, n->go_us, TIMING_READY, now);
	timing_told(t, TIMING_STARTED, n->started_us, TIMING_GO, now);
}

static void away_time_end(struct placement *p, const struct note *n)
{
	record_time(p, TIMING_ENDED);
	timing_told(&p->timing, TIMING_EXIT, n->ended_us, TIMING_STARTED,
		    p->timing.us[TIMING_ENDED]);
}

/* Whether its stub waits for more than that. */
static bool away_ended(struct away *a, const struct note *n)
{
	int err;

	if (!a->placement || a->killed)
		return a->killed;
	away_time_end(a->placement, n);
	/* Before the stub ends, because its parent reads the account then. */
	err = kernel_account(a->agent, a->pid, &n->use);
	if (err && err != -ENOTCONN && err != -ESRCH)
		log_warning("cannot account the resources that a remote task used: %s",
			    strerror(-err));
	outcome_used(a->placement, &n->use);
	outcome_moved(a->placement, a->route.moved);
	learn_ended(a->placement, n->use.status);
	if (WIFSIGNALED(n->use.status) && WTERMSIG(n->use.status) == SIGKILL)
		a->killed = away_ask_killer(a, a->placement);
	if (a->killed)
		return true;
	outcome_ended(a->placement, n->use.status);
	a->placement = NULL;
	return false;
}

void away_tell_module(const struct away *a)
{
	int err = a->agent->module ? kernel_away(a->agent, a->pid) : 0;

	/*
	 * It is in no managed cgroup, has gone or calls exec, or the module is older. The module does
	 * not look at what the process runs: it takes the word of the agent that the stub is
	 * connected to.
	 */
	if (err && err != -ESRCH && err != -EBUSY && err != -EOPNOTSUPP && err != -ENOTCONN)
		log_warning("cannot tell the module that process %d is away: %s", (int)a->pid,
			    strerror(-err));
}

int away_on_note(struct away *a, const uint8_t *payload, uint32_t length)
{
	struct note n;

	if (note_decode(&n, payload, length))
		return -EPROTO;
	switch (n.what) {
	case NOTE_STARTED:
		if (a->placement && !a->started) {
			away_time_start(a->placement, &n);
			outcome_started(a->placement, a->pid, n.pid);
			learn_started(a->placement);
			if (!a->placement->kernel)
				away_tell_module(a);
		}
		a->started = true;
		break;
	case NOTE_STOPPED:
	case NOTE_CONTINUED:
		a->stopped_there = n.what == NOTE_STOPPED;
		stops_changed(a);
		break;
	case NOTE_ENDED:
		if (away_ended(a, &n))
			return 0;
		return route_tell_end(&a->route, FRAME_NOTED, NULL, 0) ? -EPIPE : 0;
	case NOTE_LOST:
		if (a->placement)
			outcome_lost(a->placement);
		a->placement = NULL;
		break;
	case NOTE_RERUN:
		if (a->automatic)
			local_task_add(a->agent, a->pid);
		if (a->placement)
			outcome_rerun(a->placement);
		a->placement = NULL;
		break;
	case NOTE_STAYS:
		away_stays(a, &n);
		break;
	default:
		return -EPROTO;
	}
	return 0;
}
