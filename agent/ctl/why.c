// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/why.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "cluster/report.h"
#include "cluster/shortid.h"
#include "ctl/socket.h"
#include "ctl/survey.h"
#include "ctl/tasks.h"
#include "ctl/timing.h"
#include "home/history.h"
#include "home/record.h"
#include "net/names.h"
#include "net/peer.h"
#include "wire/reason.h"

#define WHY_TEXT 640

/* A question: here, in the history, there by fewer figures, and at the home; of a guest, there at once. */
struct why {
	struct agent *agent;
	struct viewer viewer;
	bool timing;
	bool shortened; /* the history is asked by fewer figures */
	char id[TASKS_ID];
	json_t *known; /* of one that runs: who decided it may know more */
	bool guest; /* its home does */
	const struct peer *home; /* that was asked */
	struct ctl_conn *c; /* NULL: another node asks */
	viewer_told_fn told;
	void *ctx;
};

/* ---- how it ends ---- */

static void why_reply(void *ctx, json_t *reply)
{
	struct why *w = ctx;

	json_decref(w->known);
	if (w->c) {
		ctl_reply(w->c, reply);
	} else {
		json_object_set_new(reply, "at", json_integer(0));
		w->told(w->ctx, json_pack("[o]", reply), false, NULL);
	}
	free(w);
}

static void why_found(struct why *w, json_t *reply)
{
	names_add(w->agent, reply);
	if (w->timing)
		timing_find(w->agent, reply, why_reply, w);
	else
		why_reply(w, reply);
}

static void why_unknown(struct why *w, const char *trouble)
{
	char text[WHY_TEXT];

	snprintf(text, sizeof(text), "not known on this node%s%s%s",
		 w->home ? ""
			 : ": it belongs to another node or user, or is too old (`ehctl tasks` and "
			   "`ehctl history` list ids)",
		 trouble ? "; " : "", trouble ?: "");
	why_reply(w, ctl_error(w->id, text, false));
}

/* ---- at its home ---- */

/* The end of a question to the home that was in vain. */
static void why_without_home(struct why *w, const char *trouble)
{
	char text[WHY_TEXT];

	if (!w->known) {
		why_unknown(w, trouble);
		return;
	}
	snprintf(text, sizeof(text), "%s Why it left its home is not known here; %s.",
		 json_string_value(json_object_get(w->known, "text")), trouble);
	json_object_set_new(w->known, "text", json_string(text));
	why_found(w, json_incref(w->known));
}

/* This node knows better than its home what it runs. */
static void why_correct(const struct why *w, json_t *reply)
{
	static const char *const members[] = { "id", "command", "executor" };

	json_object_set_new(reply, "home", json_string(peer_code(w->home)));
	json_object_del(reply, "home_host");
	if (!w->guest)
		return;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_set(reply, members[i], json_object_get(w->known, members[i]));
	json_object_del(reply, "executor_host");
}

/* Whether its home speaks of the task that it was asked for, perhaps by its last figures. */
static bool why_is_of(const struct why *w, const json_t *reply)
{
	const char *id = json_string_value(json_object_get(reply, "id"));
	const char *figures = strrchr(w->id, ':') + 1;
	const size_t n = strlen(figures);

	return id && report_id_is_of(id, peer_code(w->home)) && strlen(id) > n &&
	       !strcmp(id + strlen(id) - n, figures);
}

static void why_on_home(void *ctx, json_t *nodes, const char *trouble)
{
	const json_t *node = json_array_get(nodes, 0);
	const char *refused = json_string_value(json_object_get(node, "refused"));
	json_t *reply = json_array_get(json_object_get(node, "items"), 0);
	struct why *w = ctx;
	char text[WHY_TEXT];

	if (why_is_of(w, reply)) {
		json_object_del(reply, "at");
		json_object_set_new(reply, "version", json_integer(1));
		why_correct(w, reply);
		names_add(w->agent, reply);
		why_reply(w, json_incref(reply));
	} else {
		snprintf(text, sizeof(text), "its home %s %s%s", peer_host(w->home),
			 refused			? "tells nothing: "
			 : json_object_get(reply, "id") ? "says what is of no use"
			 : node ? "tells nothing of it: it is another user's, or too old"
				: "does not answer",
			 refused ?: "");
		why_without_home(w, trouble ?: text);
	}
	json_decref(nodes);
}

/* The node that an ID names; NULL: none. */
static struct peer *why_home(const struct why *w)
{
	const char *colon = strrchr(w->id, ':');
	char home[sizeof(w->id)], trouble[NAMES_WHY];

	if (!colon)
		return NULL;
	snprintf(home, sizeof(home), "%.*s", (int)(colon - w->id), w->id);
	return names_find(w->agent, home, trouble);
}

/* Nothing here knows it. */
static void why_ask_home(struct why *w, const char *trouble)
{
	struct peer *home = w->c ? why_home(w) : NULL;

	if (home && !home->self) {
		w->home = home;
		survey_node(w->agent, home, &w->viewer, &why_kind,
			    json_pack("{s:s,s:b}", "id", w->id, "timing", (int)w->timing),
			    why_on_home, w);
	} else {
		why_without_home(w, trouble);
	}
}

/* ---- in the history ---- */

/* Why it was placed, as its row says. */
static void why_add_reason(json_t *reply, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "reason"));
	const char *said = json_string_value(json_object_get(row, "text"));
	enum ehs_reason reason = EHS_REASON_NONE;

	if (name)
		reason_parse(name, &reason);
	json_object_set_new(reply, "reason", json_string(name ?: "none"));
	json_object_set_new(reply, "text", json_string(said ?: reason_text(reason)));
}

static void why_tell_past(struct why *w, const json_t *row)
{
	json_t *reply = json_object();
	const char *const members[] = { "id",	    "command",	     "home",	"home_host",
					"executor", "executor_host", "started", "ended",
					"exit",	    "signal",	     "state" };

	json_object_set_new(reply, "version", json_integer(1));
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_set(reply, members[i], json_object_get(row, members[i]));
	why_add_reason(reply, row);
	json_object_set(reply, "steps", json_object_get(row, "steps"));
	/* The steps say it; the figures are not kept. */
	json_object_set_new(reply, "expected", json_null());
	if (w->timing)
		timing_past(reply);
	why_reply(w, reply);
}

static void why_ambiguous(struct why *w, const json_t *tasks)
{
	char why[400];

	snprintf(why, sizeof(why),
		 "stands for several tasks, as %s and %s; `ehctl history --json` has their ids",
		 json_string_value(json_object_get(json_array_get(tasks, 0), "id")),
		 json_string_value(json_object_get(json_array_get(tasks, 1), "id")));
	why_reply(w, ctl_error(w->id, why, true));
}

static void why_ask_past(struct why *w, json_t *ask);
static void why_ask_shortened(struct why *w);

/* Those that the viewer may see. */
static json_t *why_seen(const struct why *w, const json_t *tasks)
{
	const struct viewer past = viewer_of_past(&w->viewer);
	json_t *seen = json_array(), *task;
	size_t i;

	json_array_foreach((json_t *)tasks, i, task)
		if (viewer_may_see(&past, json_integer_value(json_object_get(task, "uid"))))
			json_array_append(seen, task);
	return seen;
}

/* This node knows the task, which runs; the row says why it was placed. */
static void why_complete(struct why *w, const json_t *row)
{
	if (json_is_string(json_object_get(row, "reason")))
		why_add_reason(w->known, row);
	why_found(w, json_incref(w->known));
}

static void why_on_past(void *ctx, json_t *answer, const char *trouble)
{
	struct why *w = ctx;
	json_t *tasks = why_seen(w, json_object_get(answer, "tasks"));
	const size_t n = json_array_size(tasks);
	char text[256];

	if (w->known) {
		why_complete(w, json_array_get(tasks, 0));
	} else if (n == 1 || (n && !w->shortened)) {
		why_tell_past(w, json_array_get(tasks, 0));
	} else if (n) {
		why_ambiguous(w, tasks);
	} else if (answer && !w->shortened) {
		why_ask_shortened(w);
	} else {
		snprintf(text, sizeof(text), "no history: %s", trouble ?: "");
		why_ask_home(w, trouble ? text : NULL);
	}
	json_decref(tasks);
}

static void why_ask_shortened(struct why *w)
{
	const struct peer *home = why_home(w);
	const char *colon = strrchr(w->id, ':');

	w->shortened = true;
	if (!home || strlen(colon + 1) < SHORTID_FIGURES ||
	    colon[1 + strspn(colon + 1, "0123456789")])
		why_ask_home(w, NULL);
	else
		why_ask_past(w, json_pack("{s:s+,s:s,s:i}", "home", home->text, ":", "figures",
					  colon + 1, "limit", 2));
}

static void why_ask_past(struct why *w, json_t *ask)
{
	const struct viewer past = viewer_of_past(&w->viewer);

	if (viewer_limit(&past, ask)) {
		history_ask(w->agent, viewer_turn(&w->viewer), ask, why_on_past, w);
		return;
	}
	json_decref(ask);
	if (w->known)
		why_found(w, json_incref(w->known));
	else
		why_unknown(w, NULL);
}

/* ---- here ---- */

/* NULL: there is none, or it is nothing for the viewer. */
static json_t *why_record(const struct why *w, const struct placement *p)
{
	return p && viewer_may_see(&w->viewer, p->uid) ? record_why(p) : NULL;
}

static bool why_is_task(const json_t *task, const char *id, long pid)
{
	return pid ? json_integer_value(json_object_get(task, "pid")) == pid
		   : !strcmp(json_string_value(json_object_get(task, "id")) ?: "", id);
}

/* A current task. If the module alone decided it has a reason but no steps. */
static json_t *why_task(const struct why *w, long pid)
{
	json_t *tasks = tasks_list(w->agent, &w->viewer), *task, *found = NULL;
	enum ehs_reason reason = EHS_REASON_NONE;
	const char *name, *id;
	size_t i;

	json_array_foreach(tasks, i, task) {
		if (!why_is_task(task, w->id, pid))
			continue;
		id = json_string_value(json_object_get(task, "id")) ?: "";
		found = why_record(w, record_by_id(w->agent, id));
		if (found)
			break;
		name = json_string_value(json_object_get(task, "reason"));
		if (name)
			reason_parse(name, &reason);
		found = json_pack("{s:i,s:O,s:O,s:O,s:O,s:s,s:s,s:[]}", "version", 1, "id",
				  json_object_get(task, "id"), "command",
				  json_object_get(task, "command"), "home",
				  json_object_get(task, "home"), "executor",
				  json_object_get(task, "executor"), "reason", name ?: "none",
				  "text", reason_text(reason), "steps");
		break;
	}
	json_decref(tasks);
	return found;
}

/* Whether its home is another node, which knows why it left. */
static bool why_is_guest(const struct why *w, const json_t *task)
{
	const char *home = json_string_value(json_object_get(task, "home"));

	return w->c && home && strcmp(home, w->agent->code) != 0;
}

/* Whether an agent before this one placed it, and had the history keep why. */
static bool why_is_adopted(const struct why *w, const json_t *task)
{
	const struct placement *p =
		record_by_id(w->agent, json_string_value(json_object_get(task, "id")) ?: "");

	return p && p->adopted && p->reason == EHS_REASON_NONE;
}

/* Takes over `known`, and asks for its whole ID. */
static void why_keep(struct why *w, json_t *known)
{
	w->known = known;
	snprintf(w->id, sizeof(w->id), "%s", json_string_value(json_object_get(known, "id")) ?: "");
}

/* Takes over `w`. */
static void why_find(struct why *w, const char *id)
{
	char *end, found[TASKS_ID], why[TASKS_WHY];
	/* A bare number is a pid. */
	long pid = strtol(id, &end, 10);
	json_t *reply;

	if (*end)
		pid = 0;
	/* Half a character is no text. */
	snprintf(w->id, sizeof(w->id), "%s", strlen(id) < sizeof(w->id) ? id : "");
	switch (pid ? -ENOENT : tasks_find(w->agent, id, found, why)) {
	case 0:
		snprintf(w->id, sizeof(w->id), "%s", found);
		break;
	case -ENOTUNIQ:
		why_reply(w, ctl_error(id, why, true));
		return;
	}
	reply = why_record(w, record_by_id(w->agent, w->id));
	if (!reply)
		reply = why_task(w, pid);
	if (reply && why_is_guest(w, reply)) {
		w->guest = true;
		why_keep(w, reply);
		why_ask_home(w, "its home is no node of this cluster");
		return;
	}
	if (reply && why_is_adopted(w, reply)) {
		why_keep(w, reply);
		why_ask_past(w, json_pack("{s:s,s:i}", "id", w->id, "limit", 1));
		return;
	}
	if (!reply && pid)
		reply = why_record(w, record_by_pid(w->agent, pid));
	if (reply)
		why_found(w, reply);
	else
		why_ask_past(w, json_pack("{s:s,s:i}", "id", w->id, "limit", 1));
}

void why_request(struct ctl_conn *c, const json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "id"));
	struct why *w;

	if (!id || strlen(id) >= TASKS_ID) {
		ctl_reply(c, ctl_error("id", id ? "longer than an ID can be" : "missing", true));
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		ctl_reply(c, NULL);
		return;
	}
	w->agent = ctl_agent(c);
	w->c = c;
	w->timing = json_is_true(json_object_get(request, "timing"));
	viewer_local(&w->viewer, c);
	why_find(w, id);
}

static void why_survey(struct agent *agent, const struct viewer *viewer, const json_t *question,
		       viewer_told_fn told, void *ctx)
{
	const char *id = json_string_value(json_object_get(question, "id")) ?: "";
	struct why *w = calloc(1, sizeof(*w));

	/* A process has no number of the cluster. */
	if (!w || !strchr(id, ':')) {
		told(ctx, w ? json_array() : NULL, false, NULL);
		free(w);
		return;
	}
	w->agent = agent;
	w->viewer = *viewer;
	w->timing = json_is_true(json_object_get(question, "timing"));
	w->told = told;
	w->ctx = ctx;
	why_find(w, id);
}

const struct survey_kind why_kind = { "why", why_survey, 1, 1, SURVEY_AGO, 0 };
