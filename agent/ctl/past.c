// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/past.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "ctl/survey.h"
#include "executor/admit.h"
#include "home/history.h"
#include "net/peer.h"

/* ---- history ---- */

static const struct {
	const char *name;
	json_type type;
} past_members[] = {
	{ "since", JSON_INTEGER },  { "until", JSON_INTEGER },	 { "uid", JSON_INTEGER },
	{ "before", JSON_INTEGER }, { "limit", JSON_INTEGER },	 { "reason", JSON_STRING },
	{ "session", JSON_STRING }, { "executor", JSON_STRING }, { "program", JSON_STRING },
	{ "failed", JSON_TRUE },
};

static void past_on_answer(void *ctx, json_t *answer, const char *why)
{
	if (!answer) {
		ctl_reply(ctx, ctl_error("history", why, false));
		return;
	}
	json_object_set_new(answer, "version", json_integer(1));
	ctl_reply(ctx, json_incref(answer));
}

/* Adds the filters of a request to the question for ehhist. NULL, or the member that is wrong; why[] says how. */
static const char *past_filter(const json_t *request, json_t *ask, char why[96])
{
	json_t *value;

	for (size_t i = 0; i < sizeof(past_members) / sizeof(*past_members); i++) {
		value = json_object_get(request, past_members[i].name);
		if (!value || json_is_false(value))
			continue;
		if (json_typeof(value) != past_members[i].type) {
			snprintf(why, 96, "must be a %s",
				 past_members[i].type == JSON_INTEGER  ? "number"
				 : past_members[i].type == JSON_STRING ? "text"
								       : "true or false");
			return past_members[i].name;
		}
		json_object_set(ask, past_members[i].name, value);
	}
	return NULL;
}

void past_request(struct ctl_conn *c, const json_t *request)
{
	json_t *ask = json_object();
	struct viewer viewer;
	const char *wrong;
	char why[96];

	viewer_local(&viewer, c);
	viewer = viewer_of_past(&viewer);
	wrong = past_filter(request, ask, why);
	if (wrong) {
		ctl_reply(c, ctl_error(wrong, why, true));
		json_decref(ask);
		return;
	}
	if (viewer_limit(&viewer, ask)) {
		history_ask(ctl_agent(c), ctl_uid(c), ask, past_on_answer, c);
		return;
	}
	json_decref(ask);
	ctl_reply(c, ctl_error("history",
			       "the tasks of other users are shown to root and to the members of "
			       "`history-group` (ehagent.conf(5))",
			       false));
}

/* ---- for a survey ---- */

struct past_survey {
	struct viewer viewer;
	viewer_told_fn told;
	void *ctx;
};

static void past_on_survey(void *ctx, json_t *answer, const char *why)
{
	struct past_survey *s = ctx;
	json_t *rows = json_object_get(answer, "tasks"), *row, *seen = NULL;
	size_t i;
	uid_t uid;

	if (answer)
		seen = json_array();
	json_array_foreach(rows, i, row) {
		uid = json_integer_value(json_object_get(row, "uid"));
		if (!viewer_may_see(&s->viewer, uid))
			continue;
		viewer_add_user(row);
		json_array_append(seen, row);
	}
	s->told(s->ctx, seen, json_is_true(json_object_get(answer, "more")), why);
	free(s);
}

/* The number here of the user whose tasks are asked for. False: there is none. */
static bool past_owner(const struct viewer *viewer, const json_t *question, json_t *ask)
{
	const json_t *owner = json_object_get(question, "owner");
	const char *name = json_string_value(json_object_get(question, "owner_name")) ?: "";
	const json_int_t number = json_integer_value(owner);
	struct admit_refusal no;
	uid_t uid = (uid_t)number;

	if (owner && (number < 0 || number >= (uid_t)-1))
		return false;
	if (owner && !viewer->from->self &&
	    !admit_user(viewer->agent, (uid_t)number, name, &uid, &no))
		return false;
	if (!viewer->all && (!viewer->known || (owner && uid != viewer->uid)))
		return false;
	if (owner || !viewer->all)
		json_object_set_new(ask, "uid", json_integer(owner ? uid : viewer->uid));
	return true;
}

static void past_survey(struct agent *agent, const struct viewer *viewer, const json_t *question,
			viewer_told_fn told, void *ctx)
{
	struct past_survey *s = malloc(sizeof(*s));
	json_t *ask = json_object();
	char why[96];

	/* The viewer's own number is no filter. */
	if (!s || !ask || past_filter(question, ask, why)) {
		told(ctx, NULL, false, s && ask ? why : NULL);
		goto free_ask;
	}
	json_object_del(ask, "uid");
	if (!past_owner(viewer, question, ask)) {
		told(ctx, json_array(), false, NULL);
		goto free_ask;
	}
	*s = (struct past_survey){ *viewer, told, ctx };
	history_ask(agent, viewer_turn(viewer), ask, past_on_survey, s);
	return;

free_ask:
	json_decref(ask);
	free(s);
}

const struct survey_kind past_kind = { "history", past_survey, 200 };
