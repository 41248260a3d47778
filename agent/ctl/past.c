// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/past.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "cluster/address.h"
#include "cluster/shortid.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "ctl/timing.h"
#include "home/history.h"
#include "net/names.h"
#include "net/peer.h"
#include "wire/reason.h"

/* ---- who may see what ---- */

static bool past_sees_all(const struct ctl_conn *c)
{
	return ctl_is_operator(c) || ctl_in_group(c, ctl_agent(c)->config->history_group);
}

/* Others see their own. False: another user's are asked for. */
static bool past_limit(const struct ctl_conn *c, json_t *ask)
{
	const json_t *uid = json_object_get(ask, "uid");

	if (past_sees_all(c))
		return true;
	if (uid && json_integer_value(uid) != ctl_uid(c))
		return false;
	json_object_set_new(ask, "uid", json_integer(ctl_uid(c)));
	return true;
}

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

void past_request(struct ctl_conn *c, const json_t *request)
{
	json_t *ask = json_object(), *value;
	char why[96];

	for (size_t i = 0; i < sizeof(past_members) / sizeof(*past_members); i++) {
		value = json_object_get(request, past_members[i].name);
		if (!value || json_is_false(value))
			continue;
		if (json_typeof(value) != past_members[i].type) {
			snprintf(why, sizeof(why), "must be a %s",
				 past_members[i].type == JSON_INTEGER  ? "number"
				 : past_members[i].type == JSON_STRING ? "text"
								       : "true or false");
			ctl_reply(c, ctl_error(past_members[i].name, why, true));
			json_decref(ask);
			return;
		}
		json_object_set(ask, past_members[i].name, value);
	}
	if (past_limit(c, ask)) {
		history_ask(ctl_agent(c), ctl_uid(c), ask, past_on_answer, c);
		return;
	}
	json_decref(ask);
	ctl_reply(c, ctl_error("history",
			       "the tasks of other users are shown to root and to the members of "
			       "`history-group` (ehagent.conf(5))",
			       false));
}

/* ---- why ---- */

/* A question in two steps: an ID, or else one with fewer figures. */
struct past_why {
	struct ctl_conn *c;
	bool shortened; /* the second step */
	bool timing;
	char id[160];
};

static void past_unknown(struct past_why *w, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "not known on this node: it belongs to another node or user, or is too old "
		 "(`ehctl tasks` and `ehctl history` list ids)%s%s",
		 why ? "; no history: " : "", why ?: "");
	ctl_reply(w->c, ctl_error(w->id, text, false));
	free(w);
}

static void past_tell(struct past_why *w, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "reason"));
	const json_t *said = json_object_get(row, "text");
	enum ehs_reason reason = EHS_REASON_NONE;
	json_t *reply = json_object();
	const char *const members[] = { "id",	    "command",	     "home",	"home_host",
					"executor", "executor_host", "started", "ended",
					"exit",	    "signal",	     "state" };

	if (name)
		reason_parse(name, &reason);
	json_object_set_new(reply, "version", json_integer(1));
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_set(reply, members[i], json_object_get(row, members[i]));
	json_object_set_new(reply, "reason", json_string(name ?: "none"));
	json_object_set_new(reply, "text",
			    json_string(json_string_value(said) ?: reason_text(reason)));
	json_object_set(reply, "steps", json_object_get(row, "steps"));
	/* The steps say it; the figures are not kept. */
	json_object_set_new(reply, "expected", json_null());
	if (w->timing)
		timing_past(reply);
	ctl_reply(w->c, reply);
	free(w);
}

static void past_ambiguous(struct past_why *w, const json_t *tasks)
{
	char why[400];

	snprintf(why, sizeof(why),
		 "stands for several tasks, as %s and %s; `ehctl history --json` has their ids",
		 json_string_value(json_object_get(json_array_get(tasks, 0), "id")),
		 json_string_value(json_object_get(json_array_get(tasks, 1), "id")));
	ctl_reply(w->c, ctl_error(w->id, why, true));
	free(w);
}

static void past_ask_shortened(struct past_why *w);

static void past_on_why(void *ctx, json_t *answer, const char *why)
{
	const json_t *tasks = json_object_get(answer, "tasks");
	struct past_why *w = ctx;
	size_t n = json_array_size(tasks);

	if (n == 1 || (n && !w->shortened))
		past_tell(w, json_array_get(tasks, 0));
	else if (n)
		past_ambiguous(w, tasks);
	else if (answer && !w->shortened)
		past_ask_shortened(w);
	else
		past_unknown(w, why);
}

static void past_ask_shortened(struct past_why *w)
{
	struct agent *agent = ctl_agent(w->c);
	const char *colon = strrchr(w->id, ':');
	char home[sizeof(w->id)], trouble[NAMES_WHY];
	struct peer *at;
	json_t *ask;

	w->shortened = true;
	snprintf(home, sizeof(home), "%.*s", (int)(colon ? colon - w->id : 0), w->id);
	at = colon ? names_find(agent, home, trouble) : NULL;
	if (!at || strlen(colon + 1) < SHORTID_FIGURES ||
	    colon[1 + strspn(colon + 1, "0123456789")]) {
		past_unknown(w, NULL);
		return;
	}
	ask = json_pack("{s:s+,s:s,s:i}", "home", peer_code(at), ":", "figures", colon + 1, "limit",
			2);
	past_limit(w->c, ask);
	history_ask(agent, ctl_uid(w->c), ask, past_on_why, w);
}

void past_why(struct ctl_conn *c, const char *id, bool timing)
{
	struct past_why *w = malloc(sizeof(*w));
	json_t *ask;

	if (!w) {
		ctl_reply(c, NULL);
		return;
	}
	w->c = c;
	w->timing = timing;
	w->shortened = false;
	snprintf(w->id, sizeof(w->id), "%s", id);
	ask = json_pack("{s:s,s:i}", "id", w->id, "limit", 1);
	past_limit(c, ask);
	history_ask(ctl_agent(c), ctl_uid(c), ask, past_on_why, w);
}
