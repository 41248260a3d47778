// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds a place for a task: seeks a node (placement_seek.c), reserves there, gives the verdict. The
 * digest of the program is computed meanwhile. outcome.c has what becomes of it.
 */

#include "home/placement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/credits.h"
#include "cluster/idle_message.h"
#include "cluster/versions.h"
#include "home/choice.h"
#include "home/eligible.h"
#include "home/fit.h"
#include "home/history.h"
#include "home/learn.h"
#include "home/outcome.h"
#include "home/placement_rules.h"
#include "home/placement_seek.h"
#include "home/record.h"
#include "job/files.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/names.h"
#include "wire/reason.h"
#include "wire/view.h"

#define PLACEMENT_OPEN_MAX 256 /* undecided at a time, to limit the load of the agent */
#define PLACEMENT_OPEN_A_USER 128 /* of these, of one user but root: others get theirs */
#define PLACEMENT_SIZE 1000 /* load of one task, in thousandths */
#define PLACEMENT_TIME_MS 5000 /* for placements without a time limit */

/* ---- the verdict ---- */

static void placement_go(struct placement *p, const char *token, unsigned int lease_ms)
{
	placement_fn decided = p->decided;

	snprintf(p->token, sizeof(p->token), "%s", token);
	p->reason = p->explicit_node	      ? EHS_REASON_EXPLICIT
		    : p->by_credit	      ? REASON_CREDIT
		    : p->kernel && !p->leaves ? EHS_REASON_SENDER
					      : EHS_REASON_AUTO;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
	record_step(p, "reserved on %s", peer_host(p->to));
	p->decided = NULL;
	p->agent->placements_open--;
	p->to->avoid_ms = 0;
	p->phase = p->kernel ? PLACEMENT_RESERVED : PLACEMENT_CLAIMED;
	evtimer_del(p->timer);
	if (p->kernel)
		clock_arm(p->timer, lease_ms);
	outcome_tell(p);
	decided(p->ctx, p, p->to, p->token, p->reason);
}

static void placement_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct placement *p = arg;

	if (placement_is_open(p))
		outcome_stays(p, EHS_REASON_TIME_OUT, NULL);
	else if (p->phase == PLACEMENT_RESERVED)
		outcome_failed(p, EHS_REASON_LEASE_OVER);
}

/* ---- the executor ---- */

/* The node does not take it, or is not asked: seeks another, or the task stays. */
static void placement_refused(struct placement *p, enum ehs_reason reason, const char *text)
{
	record_step(p, reason == REASON_AWAY_NODE ? "%s gets nothing: %s" : "%s refuses: %s",
		    peer_host(p->to), reason_name(reason));
	if ((reason == EHS_REASON_NO_HEADROOM || reason == EHS_REASON_START_FAILED) && text &&
	    *text)
		record_step(p, "%s", text);
	if (p->explicit_node || !placement_seek_again(p, reason))
		outcome_stays(p, reason, text);
}

/* The executor has refused, or does not answer. */
static void placement_on_refusal(struct placement *p, int status, const json_t *reply)
{
	const char *name = json_string_value(json_object_get(reply, "reason"));
	const char *text = json_string_value(json_object_get(reply, "text"));
	enum ehs_reason reason = EHS_REASON_REFUSED;

	if (!status) {
		reason = EHS_REASON_UNREACHABLE;
		text = *p->to->trouble ? p->to->trouble : "no answer";
	} else if (name) {
		reason_parse(name, &reason);
	}
	/* One with memory left has none for this task only. One without a reason has failed. */
	if (p->to && (!name || choice_blames(reason)) &&
	    json_integer_value(json_object_get(reply, "memory_left")) <= 0)
		choice_avoid(p->to);
	placement_refused(p, reason, text);
}

static void placement_reserve(struct placement *p);

void placement_answered(struct placement *p, int status, const json_t *reply)
{
	const char *token = json_string_value(json_object_get(reply, "token"));
	const char *view = json_string_value(json_object_get(reply, "view"));
	const json_t *labels = json_object_get(reply, "labels");
	json_int_t lease = json_integer_value(json_object_get(reply, "lease"));

	record_time(p, TIMING_ANSWERED);
	if (status == 200 && p->to)
		fit_learn(p, p->to, labels);
	if (!placement_is_open(p)) {
		/* Too late: the reservation ends with its lease. */
		if (p->to)
			choice_undo(p);
	} else if (status == 200 && token && !fit_is_sure(p, labels)) {
		/* One of an earlier version does not look. The reservation ends with its lease. */
		placement_refused(p, REASON_LABELS,
				  "its agent is of an earlier version, and does not know labels");
	} else if (status == 200 && token && *token && strlen(token) <= EHS_TOKEN_MAX) {
		/* For VIEW_AUTO the answer says what was chosen. */
		if (view && view_parse(view) == VIEW_HOME && p->view == VIEW_AUTO)
			p->view = VIEW_HOME;
		if (p->view == VIEW_HOME)
			record_step(p, "sees the files of this node (view home)");
		placement_go(p, token,
			     lease > 0 && lease < 60000 ? lease : p->agent->config->lease);
	} else if (status == 404 && p->with_job && p->to && p->to->protocol < VERSIONS_START) {
		/* It has become an earlier version, as its hello said only then. */
		placement_reserve(p);
	} else {
		placement_on_refusal(p, status, reply);
	}
	record_release(p);
}

void placement_cancel(struct placement *p)
{
	/* Also while the task is told that it stays. */
	if (placement_is_open(p))
		outcome_stays(p, EHS_REASON_KILLED, NULL);
	record_release(p);
}

static void placement_on_reserved(void *ctx, int status, const json_t *reply)
{
	placement_answered(ctx, status, reply);
}

/* The executor and the program's identity are known. */
static void placement_reserve(struct placement *p)
{
	const char *user = user_name(p->uid);
	json_t *body;
	int err;

	body = json_pack("{s:s,s:s,s:s,s:I,s:s?,s:i,s:O,s:O,s:s,s:o*}", "id", p->id, "command",
			 p->command, "path", p->path, "uid", (json_int_t)p->uid, "user", user,
			 "size", PLACEMENT_SIZE, "program", p->program, "cwd", p->folder, "view",
			 view_name(p->view), "credit",
			 p->by_credit ? idle_credit_to_json(&p->credit) : NULL);
	if (!body) {
		outcome_stays(p, EHS_REASON_FILES_DIFFER, "cannot send its path: not UTF-8");
		return;
	}
	if (p->takes)
		json_object_set_new(body, "memory", json_integer((json_int_t)p->takes));
	if (fit_ask(p, body)) {
		json_decref(body);
		outcome_stays(p, EHS_REASON_NO_MEMORY, NULL);
		return;
	}
	record_time(p, TIMING_SENT);
	p->timing.us[TIMING_ANSWERED] = 0; /* that was another node's */
	record_hold(p);
	p->with_job = p->send && p->to->protocol >= VERSIONS_START;
	if (p->with_job)
		err = p->send(p->ctx, p, p->to, body);
	else
		err = link_request(p->to, "/v1/reserve", body, record_time_left(p),
				   placement_on_reserved, p);
	if (err == -ECANCELED) {
		placement_cancel(p);
	} else if (err) {
		choice_avoid(p->to);
		placement_refused(p, EHS_REASON_UNREACHABLE, p->to->trouble);
		record_release(p);
	}
}

static void placement_ready(struct placement *p)
{
	enum ehs_reason trouble;

	if (!placement_is_open(p) || p->judge || !p->program || !p->to)
		return;
	trouble = fit_trouble(p, p->to);
	/* A node that is named is asked for its labels, as they may have changed. */
	if (trouble == EHS_REASON_NONE || (p->explicit_node && trouble == REASON_LABELS))
		placement_reserve(p);
	else
		placement_refused(p, trouble, NULL);
}

static void placement_on_files(void *ctx, const struct files_identity *identity,
			       const char *trouble)
{
	struct placement *p = ctx;

	p->question = NULL;
	record_time(p, TIMING_LOOKED);
	if (!identity) {
		outcome_stays(p, EHS_REASON_FILES_DIFFER, trouble);
	} else if (placement_may_leave(p, identity)) {
		p->program = json_incref(identity->program);
		p->folder = json_incref(identity->folder);
		placement_ready(p);
	}
	record_release(p);
}

/*
 * Whether its process has said enough. It is not believed where a rule is about programs: all that a
 * user gains otherwise is another program of his own.
 */
static bool placement_seen(struct placement *p, const struct placement_task *task)
{
	return task->seen && !placement_rules_programs(p->agent->config) &&
	       files_identify_seen(p->agent, task->seen, p->uid, task->folder, &p->program,
				   &p->folder);
}

/* Asks for the identities of program and directory. False: it stays. */
static bool placement_look(struct placement *p, const struct placement_task *task)
{
	const struct look_question q = { .uid = p->uid, .pid = p->pid, .path = p->path };
	const char *trouble;

	if (placement_seen(p, task)) {
		placement_ready(p);
		return placement_is_open(p);
	}
	record_time(p, TIMING_LOOK);
	p->question = files_identify(p->agent, &q, placement_on_files, p, &trouble);
	if (p->question)
		record_hold(p);
	else
		outcome_stays(p, EHS_REASON_FILES_DIFFER, trouble);
	return p->question;
}

/* It may leave, or something confines it here that would not there. */
static void placement_on_judged(void *ctx, enum ehs_reason reason, const char *what)
{
	struct placement *p = ctx;
	char text[sizeof(p->text)];

	p->judge = NULL;
	if (reason == EHS_REASON_NONE) {
		placement_ready(p);
	} else {
		record_step(p, "may not leave: %s", what);
		snprintf(text, sizeof(text), "its process may not leave this node: %s", what);
		outcome_stays(p, reason, p->explicit_node ? text : NULL);
	}
	record_release(p);
}

/* While that is asked, a place is sought. False: it stays. */
static bool placement_judge(struct placement *p, const struct eligible_who *who)
{
	if (!who)
		return true;
	record_hold(p);
	p->judge = eligible_ask(p->agent, who, placement_on_judged, p);
	return placement_is_open(p);
}

/* ---- the start ---- */

int placement_start(struct agent *agent, const struct placement_task *task, placement_fn decided,
		    void *ctx)
{
	struct placement *p = record_new(agent, task, placement_on_timer);
	char why[NAMES_WHY];
	const char *trouble;

	if (!p)
		return -ENOMEM;
	if (!p->time_ms)
		p->time_ms = PLACEMENT_TIME_MS;
	history_begin(p);
	if (task->argv)
		record_arguments(p, task->argv);
	if (p->kernel)
		record_time(p, TIMING_ASKED);
	else
		p->timing.us[TIMING_JOB] = task->came_us;
	p->decided = decided;
	p->send = task->send;
	p->ctx = ctx;
	/* Hold it until this function ends: it may be decided at once. */
	record_hold(p);
	agent->placements_open++;
	p->leaves = !p->explicit_node && task->leaves;
	record_step(p, "%s of %s by process %d", p->kernel ? "exec" : "start", p->command,
		    (int)p->pid);
	if (p->leaves)
		record_step(p, "it is to leave whatever the load (--all)");
	if (agent->placements_open > PLACEMENT_OPEN_MAX ||
	    (agent->placements_open > PLACEMENT_OPEN_A_USER && p->uid &&
	     record_open(agent, p->uid) > PLACEMENT_OPEN_A_USER)) {
		outcome_stays(p, EHS_REASON_QUEUE_FULL, NULL);
		goto out;
	}
	if (!placement_node_sends(p) || !placement_user_may_leave(p) ||
	    !placement_may_leave(p, NULL))
		goto out;
	trouble = placement_set_view(p, task->view);
	if (trouble) {
		outcome_stays(p, EHS_REASON_REFUSED, trouble);
		goto out;
	}
	if (task->node) {
		p->to = names_find(agent, task->node, why);
		if (!p->to) {
			outcome_stays(p, EHS_REASON_UNREACHABLE, why);
			goto out;
		}
	}
	if (learn_keeps(p, task)) {
		outcome_stays(p, REASON_SHORT, NULL);
		goto out;
	}
	/* before anything of its process is looked at, which costs more than all this */
	if (placement_seek_stays(p))
		goto out;
	clock_arm(p->timer, p->time_ms);
	if (placement_judge(p, task->who) && placement_look(p, task) && !p->explicit_node)
		placement_seek(p, placement_ready);
out:
	record_release(p);
	return 0;
}

/* ---- the stub ---- */

struct placement *placement_claim(struct agent *agent, const char *handle, pid_t pid, uid_t uid,
				  enum ehs_reason *reason)
{
	static struct log_limit limit;
	struct placement *p;
	char *end;

	/* It was placed before it was to stay; the reservation ends with its lease. */
	if (agent->keeps) {
		*reason = EHS_REASON_DRAINING;
		return NULL;
	}
	*reason = EHS_REASON_LEASE_OVER;
	errno = 0;
	p = record_by_cookie(agent, strtoull(handle, &end, 10));
	if (errno || *end || !p || p->phase != PLACEMENT_RESERVED)
		return NULL;
	if (p->pid != pid || p->uid != uid) {
		if (log_allowed(&limit))
			log_warning("process %d of user %u presented the handle of %s, which "
				    "belongs to process %d of user %u",
				    (int)pid, uid, p->id, (int)p->pid, p->uid);
		*reason = EHS_REASON_REFUSED;
		return NULL;
	}
	p->phase = PLACEMENT_CLAIMED;
	evtimer_del(p->timer);
	return p;
}
