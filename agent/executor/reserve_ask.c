// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor decides whether it takes a task. */

#include "executor/reserve_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/label.h"
#include "base/log.h"
#include "cluster/credits.h"
#include "cluster/drain.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "executor/admit.h"
#include "executor/reserve.h"
#include "executor/reserve_request.h"
#include "executor/view.h"
#include "job/files.h"
#include "job/keeper.h"
#include "job/looks.h"
#include "net/peer.h"
#include "net/server_answer.h"
#include "wire/reason.h"
#include "wire/view.h"

/* What a user can do about files that differ. */
#define RESERVE_HINT "with --view home it sees home's files"

/* A request while program and directory are compared. */
struct reserve_ask {
	struct reservation *r;
	reserve_begin_fn begin; /* its end says what it sees; NULL: ehlook does */
	reserve_fn done;
	void *ctx;
	bool begun; /* the place is there already */
	struct files_question *question;
	json_t *program, *cwd; /* as home has them */
	char *path, *folder;
	bool labels; /* home wishes to know this node's */
};

/* This node's labels; NULL: nobody asked for them. */
static json_t *reserve_labels(struct agent *agent, bool asked)
{
	struct site_labels own;

	if (!asked)
		return NULL;
	label_own(agent->config, &own);
	return label_to_json(&own);
}

static void reserve_refuse(const struct reserve_ask *ask, const struct admit_refusal *no,
			   json_t *labels)
{
	log_debug("refuses a task: %s", no->text);
	ask->done(ask->ctx, 200,
		  json_pack("{s:s,s:s,s:o*,s:o*}", "reason", reason_name(no->reason), "text",
			    no->text, "labels", labels, "memory_left",
			    no->memory_left ? json_integer((json_int_t)no->memory_left) : NULL),
		  NULL);
}

/* Counts the places of its user from all homes, and those of its home for all users. */
static bool reserve_admits_more(const struct reservation *asking, struct admit_refusal *no)
{
	const struct peer *from = asking->from;
	unsigned int users = 0, homes = 0;

	for (const struct reservation *r = reserve_next(from->agent, NULL); r;
	     r = reserve_next(from->agent, r)) {
		if (r->state > RESERVE_RUNNING)
			continue;
		users += r->here == asking->here;
		homes += r->from == from;
	}
	return admit_more(from->agent, users, asking->user, no) &&
	       (from->self || admit_more_of(from->agent, homes, peer_host(from), no));
}

/* Checks everything except files and labels. */
static bool reserve_admits(struct reservation *r, struct admit_refusal *no)
{
	struct agent *agent = r->from->agent;

	if (agent->draining) {
		admit_refuse(no, drain_is_owned(agent) ? REASON_OWNER : EHS_REASON_DRAINING,
			     "node %s is draining%s%s", agent->config->host,
			     *drain_reason(agent) ? ": " : "", drain_reason(agent));
		return false;
	}
	if (!reserve_has_room(r->from)) {
		admit_refuse(no, EHS_REASON_GUEST_LIMIT,
			     "node %s accepts at most %u guests and reservations",
			     agent->config->host, agent->config->guests);
		return false;
	}
	if (!r->from->self && !admit_node(agent, peer_host(r->from), no))
		return false;
	return admit_user_of(r->from, r->uid, r->user, &r->here, no) &&
	       reserve_admits_more(r, no) && reserve_memory_admits(r, no);
}

/* Chooses whose files the task sees, once it is known whether its own are the same here. */
static bool reserve_settle_view(struct reserve_ask *ask, enum files_result result,
				const char *trouble, struct admit_refusal *no)
{
	const char *here = ask->r->from->agent->config->host;
	struct reservation *r = ask->r;

	if (result != FILES_SAME && r->view != VIEW_AUTO) {
		if (trouble)
			admit_refuse(no, EHS_REASON_FILES_DIFFER, "%s: %s, on node %s", ask->path,
				     trouble, here);
		else if (result == FILES_FOLDER_DIFFERS)
			admit_refuse(
				no, EHS_REASON_FILES_DIFFER,
				"the directory %s is missing or not the same on node %s; " RESERVE_HINT,
				ask->folder, here);
		else
			admit_refuse(no, EHS_REASON_FILES_DIFFER,
				     "%s is missing or not the same on node %s; " RESERVE_HINT,
				     ask->path, here);
		return false;
	}
	if (result != FILES_SAME)
		r->view = VIEW_HOME;
	trouble = r->view == VIEW_HOME ? view_trouble(r->from->agent) : NULL;
	if (trouble)
		admit_refuse(no, EHS_REASON_REFUSED, "node %s cannot mount home's files: %s", here,
			     trouble);
	return !trouble;
}

/* A task that comes with a credit finds the processor that it stands for, or none. */
static bool reserve_takes_credit(const struct reservation *r, struct admit_refusal *no)
{
	struct agent *agent = r->from->agent;

	if (!r->by_credit || credits_accept(agent, &r->credit))
		return true;
	admit_refuse(no, REASON_CREDIT_USED, "node %s has no processor free for it any more",
		     agent->config->host);
	return false;
}

static void reserve_ask_free(struct reserve_ask *ask)
{
	json_decref(ask->program);
	json_decref(ask->cwd);
	free(ask->path);
	free(ask->folder);
	free(ask);
}

/* The end of the request: there is a place. */
static void reserve_granted(struct reserve_ask *ask)
{
	const struct reservation *r = ask->r;
	struct agent *agent = r->from->agent;

	ask->done(ask->ctx, 200,
		  json_pack("{s:s,s:i,s:s,s:o*}", "token", r->token, "lease",
			    (int)agent->config->lease, "view", view_name(r->view), "labels",
			    reserve_labels(agent, ask->labels)),
		  ask->r);
	reserve_ask_free(ask);
}

/* There is none. One that is there already is its guest's, who ends it. */
static void reserve_denied(struct reserve_ask *ask, const struct admit_refusal *no)
{
	struct agent *agent = ask->r->from->agent;

	if (!ask->begun)
		reserve_free(ask->r);
	reserve_refuse(ask, no, reserve_labels(agent, ask->labels));
	reserve_ask_free(ask);
}

static void reserve_failed(struct reserve_ask *ask)
{
	if (!ask->begun)
		reserve_free(ask->r);
	ask->done(ask->ctx, 500, NULL, NULL);
	reserve_ask_free(ask);
}

/* Takes the place; without a guest that waits, until the lease is over. 0 or -ENOMEM. */
static int reserve_place(struct reserve_ask *ask)
{
	struct reservation *r = ask->r;
	struct agent *agent = r->from->agent;

	if (keeper_token(r->token) || (!ask->begin && clock_arm(r->lease, agent->config->lease)))
		return -ENOMEM;
	if (ask->begin)
		r->state = RESERVE_CLAIMED;
	r->timing.us[TIMING_ADMITTED] = clock_us();
	reserve_enter(r);
	hierarchy_guest_seen(agent, report_id(r->id));
	hierarchy_touch(agent);
	return 0;
}

/* Decides by the known identities of program and directory. */
static void reserve_decide(struct reserve_ask *ask, enum files_result result, const char *trouble)
{
	struct admit_refusal no;

	/* Others of the user may have got a place while files were compared. */
	if ((!ask->begun &&
	     (!reserve_admits_more(ask->r, &no) || !reserve_memory_admits(ask->r, &no))) ||
	    !reserve_settle_view(ask, result, trouble, &no) ||
	    (!ask->begun && !reserve_takes_credit(ask->r, &no)))
		reserve_denied(ask, &no);
	else if (!ask->begun && reserve_place(ask))
		reserve_failed(ask);
	else
		reserve_granted(ask);
}

static void reserve_on_compared(void *ctx, enum files_result result, const char *trouble)
{
	struct reserve_ask *ask = ctx;

	ask->question = NULL;
	ask->r->timing.us[TIMING_LOOKED_THERE] = clock_us();
	if (!ask->begun)
		ask->r->from->agent->reservations->checking--;
	reserve_decide(ask, result, trouble);
}

void reserve_cancel(struct reserve_ask *ask)
{
	if (ask->question)
		files_cancel(ask->question);
	if (!ask->begun) {
		ask->r->from->agent->reservations->checking--;
		reserve_free(ask->r);
	}
	reserve_ask_free(ask);
}

/* Asks ehlook. False: it is decided. */
static bool reserve_compare(struct reserve_ask *ask)
{
	struct agent *agent = ask->r->from->agent;
	const struct look_question q = {
		.uid = ask->r->here,
		.folder = ask->folder,
		.path = ask->path,
	};
	const char *trouble;

	ask->r->timing.us[TIMING_LOOK_THERE] = clock_us();
	ask->question = files_compare(agent, &q, ask->program, ask->cwd, reserve_on_compared, ask,
				      &trouble);
	if (!ask->question) {
		reserve_decide(ask, FILES_PROGRAM_DIFFERS, trouble);
		return false;
	}
	if (!ask->begun)
		agent->reservations->checking++;
	return true;
}

/* The place is taken before it is known whether files are the same: its end tells. False: it is decided. */
static bool reserve_begin(struct reserve_ask *ask)
{
	const char *trouble = looks_silent(ask->r->from->agent, ask->r->here);
	struct admit_refusal no;

	if (trouble) {
		reserve_decide(ask, FILES_PROGRAM_DIFFERS, trouble);
		return false;
	}
	if (!reserve_takes_credit(ask->r, &no)) {
		reserve_denied(ask, &no);
		return false;
	}
	if (reserve_place(ask)) {
		reserve_failed(ask);
		return false;
	}
	ask->begun = true;
	ask->begin(ask->ctx, ask->r);
	return true;
}

/* Unless the task sees home's files, its program and directory must be the same here. False: it is decided. */
static bool reserve_look(struct reserve_ask *ask)
{
	if (ask->r->view == VIEW_HOME) {
		reserve_decide(ask, FILES_SAME, NULL);
		return false;
	}
	return ask->begin ? reserve_begin(ask) : reserve_compare(ask);
}

bool reserve_ask_seen(struct reserve_ask *ask, const struct seen *said)
{
	enum files_result result;

	if (ask->question)
		return false;
	result =
		files_compare_seen(ask->r->from->agent, said, ask->r->here, ask->program, ask->cwd);
	if (result == FILES_UNKNOWN)
		return !reserve_compare(ask);
	reserve_decide(ask, result, NULL);
	return true;
}

void reserve_ask_differs(struct reserve_ask *ask)
{
	if (ask->question)
		files_cancel(ask->question);
	ask->question = NULL;
	reserve_decide(ask, FILES_PROGRAM_DIFFERS, NULL);
}

struct reserve_ask *reserve_ask(struct peer *from, const json_t *body, reserve_begin_fn begin,
				reserve_fn done, void *ctx)
{
	static struct log_limit limit;
	struct agent *agent = from->agent;
	struct reserve_request q;
	const char *wrong = reserve_request_read(&q, from, body);
	struct admit_refusal no;
	struct reserve_ask *ask;

	if (!wrong && reserve_runs(agent, q.id))
		wrong = "this placement already runs here";
	if (wrong) {
		if (log_allowed(&limit))
			log_warning("invalid reservation request from node %s: %s", peer_code(from),
				    wrong);
		done(ctx, 400, json_pack("{s:s}", "error", wrong), NULL);
		return NULL;
	}
	ask = calloc(1, sizeof(*ask));
	if (!ask)
		goto no_memory;
	ask->done = done;
	ask->ctx = ctx;
	ask->begin = begin;
	ask->program = json_incref(q.program);
	ask->cwd = json_incref(q.cwd);
	ask->path = strdup(q.path);
	ask->folder = strdup(q.cwd_path);
	ask->r = ask->path && ask->folder ? reserve_new(from, &q) : NULL;
	if (!ask->r)
		goto free_ask;
	ask->r->timing.us[TIMING_CAME] = clock_us();
	ask->labels = label_is_wished(&q.wish);
	if (admit_labels(agent, &q.wish, &no) && reserve_admits(ask->r, &no))
		return reserve_look(ask) ? ask : NULL;
	reserve_denied(ask, &no);
	return NULL;

free_ask:
	reserve_ask_free(ask);
no_memory:
	done(ctx, 500, NULL, NULL);
	return NULL;
}

static void reserve_on_decided(void *ctx, int status, json_t *reply, struct reservation *granted)
{
	struct server_answer *answer = ctx;

	server_answer_watch(answer, NULL, NULL);
	server_answer(answer, status, reply);
}

/* Home does not wait any more. */
static void reserve_on_gone(void *ctx)
{
	struct reserve_ask *ask = ctx;
	struct server_answer *answer = ask->ctx;

	reserve_cancel(ask);
	server_answer(answer, 500, NULL);
}

void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer)
{
	struct reserve_ask *ask = reserve_ask(from, body, NULL, reserve_on_decided, answer);

	if (ask)
		server_answer_watch(answer, reserve_on_gone, ask);
}
