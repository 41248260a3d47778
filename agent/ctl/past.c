// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/past.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/agent.h"
#include "base/clock.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "ctl/survey.h"
#include "ctl/survey_answer.h"
#include "executor/admit.h"
#include "home/history.h"
#include "net/peer.h"
#include "wire/wish.h"

/* Others wait for a disk, too. */
#define PAST_AT_A_TIME 4
#define PAST_PAGE 200 /* as helpers/ehhist/query.h has them */
#define PAST_GROUPS 1000

/* ---- history ---- */

static const struct {
	const char *name;
	json_type type;
} past_members[] = {
	{ "since", JSON_INTEGER },  { "until", JSON_INTEGER },	 { "uid", JSON_INTEGER },
	{ "before", JSON_INTEGER }, { "limit", JSON_INTEGER },	 { "reason", JSON_STRING },
	{ "session", JSON_STRING }, { "executor", JSON_STRING }, { "program", JSON_STRING },
	{ "failed", JSON_TRUE },    { "by", JSON_STRING },	 { "width", JSON_INTEGER },
	{ "offset", JSON_INTEGER }, { "events", JSON_TRUE },
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
	char name[SESSION_NAME];
	const char *session;
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
	session = json_string_value(json_object_get(ask, "session"));
	/* It may be a whole name, or as `ehctl run -n` was given it. */
	if (session) {
		wish_clean(name, session);
		json_object_set_new(ask, "wish", json_string(name));
	}
	return NULL;
}

bool past_check(struct ctl_conn *c, const json_t *request, json_t *ask)
{
	char why[96];
	const char *wrong = past_filter(request, ask, why);
	struct viewer viewer;

	viewer_local(&viewer, c);
	viewer = viewer_of_past(&viewer);

	if (wrong)
		ctl_reply(c, ctl_error(wrong, why, true));
	/* Events are of nodes, and nobody's. */
	else if (!json_object_get(ask, "events") && !viewer_limit(&viewer, ask))
		ctl_reply(c, ctl_error("history",
				       "the tasks of other users are shown to root and to the "
				       "members of `history-group` (ehagent.conf(5))",
				       false));
	else
		return true;
	return false;
}

void past_request(struct ctl_conn *c, const json_t *request)
{
	json_t *ask = json_object();

	if (past_check(c, request, ask))
		history_ask(ctl_agent(c), ctl_uid(c), ask, past_on_answer, c);
	else
		json_decref(ask);
}

/* ---- for a survey ---- */

struct past_survey {
	struct viewer viewer;
	json_t *ask;
	viewer_told_fn told;
	void *ctx;
};

static void past_survey_end(struct past_survey *s, json_t *items_stolen, bool more, const char *why)
{
	s->told(s->ctx, items_stolen, more, why);
	json_decref(s->ask);
	free(s);
}

static void past_on_survey(void *ctx, json_t *answer, const char *why)
{
	struct past_survey *s = ctx;
	static const char *const names[] = { "groups", "events", "tasks" };
	json_t *list = NULL, *one;
	size_t i;

	for (i = 0; !list && i < sizeof(names) / sizeof(*names); i++)
		list = json_object_get(answer, names[i]);

	json_array_foreach(list, i, one)
		viewer_add_user(one);
	past_survey_end(s, json_incref(list), json_is_true(json_object_get(answer, "more")), why);
}

/* Those of these users only: a page or a group has nothing of others. */
static void past_on_users(void *ctx, json_t *answer, const char *why)
{
	struct past_survey *s = ctx;
	json_t *uids = json_array(), *user;
	size_t i;

	json_array_foreach(json_object_get(answer, "groups"), i, user) {
		json_t *uid = json_object_get(user, "uid");

		if (viewer_may_see(&s->viewer, (uid_t)json_integer_value(uid)))
			json_array_append(uids, uid);
	}
	json_object_set_new(s->ask, "uids", uids);
	if (answer)
		history_ask((struct agent *)s->viewer.agent, viewer_turn(&s->viewer),
			    json_incref(s->ask), past_on_survey, s);
	else
		past_survey_end(s, NULL, false, why);
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
	    !admit_user_of(viewer->by, (uid_t)number, name, &uid, &no))
		return false;
	if (!viewer->all && (!viewer->known || (owner && uid != viewer->uid)))
		return false;
	if (owner || !viewer->all)
		json_object_set_new(ask, "uid", json_integer(owner ? uid : viewer->uid));
	return true;
}

/* An operator elsewhere sees those of users that a guest of that node can be: they are to be known first. */
static void past_survey_ask(struct agent *agent, struct past_survey *s)
{
	json_t *users;

	if (!s->viewer.all || s->viewer.from->self || json_object_get(s->ask, "uid") ||
	    json_object_get(s->ask, "events")) {
		history_ask(agent, viewer_turn(&s->viewer), json_incref(s->ask), past_on_survey, s);
		return;
	}
	users = json_copy(s->ask);
	json_object_set_new(users, "by", json_string("user"));
	history_ask(agent, viewer_turn(&s->viewer), users, past_on_users, s);
}

static void past_survey(struct agent *agent, const struct viewer *viewer, const json_t *question,
			viewer_told_fn told, void *ctx)
{
	const struct viewer past = viewer_of_past(viewer);
	struct past_survey *s = malloc(sizeof(*s));
	json_t *ask = json_object();
	char why[96];

	/* The viewer's own number is no filter. */
	if (!s || !ask || past_filter(question, ask, why)) {
		told(ctx, NULL, false, s && ask ? why : NULL);
		goto free_ask;
	}
	json_object_del(ask, "uid");
	if (!json_object_get(ask, "events") && !past_owner(&past, question, ask)) {
		told(ctx, json_array(), false, NULL);
		goto free_ask;
	}
	/* A wrong clock may have put some into the future: only these are not believed. */
	if (!json_object_get(ask, "until"))
		json_object_set_new(ask, "until",
				    json_integer(clock_wall_ms() + SURVEY_AHEAD_MS / 2));
	/* Pages of all homes go back in time. */
	json_object_set_new(ask, "by_time", json_true());
	*s = (struct past_survey){ past, ask, told, ctx };
	past_survey_ask(agent, s);
	return;

free_ask:
	json_decref(ask);
	free(s);
}

const struct survey_kind past_kind = { "history", past_survey, 200,
				       PAST_PAGE, SURVEY_TIME, PAST_AT_A_TIME };
const struct survey_kind past_groups_kind = { "groups",	   past_survey, 2000,
					      PAST_GROUPS, SURVEY_SUM,	PAST_AT_A_TIME };
const struct survey_kind past_hours_kind = { "hours",	  past_survey, 2000,
					     PAST_GROUPS, SURVEY_TIME, PAST_AT_A_TIME };
