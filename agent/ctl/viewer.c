// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/viewer.h"

#include <errno.h>
#include <stdio.h>

#include "base/agent.h"
#include "base/user.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "executor/admit.h"
#include "net/peer.h"
#include "net/peers.h"

void viewer_local(struct viewer *v, const struct ctl_conn *c)
{
	*v = (struct viewer){ .agent = ctl_agent(c),
			      .from = peers_self(ctl_agent(c)),
			      .by = peers_self(ctl_agent(c)),
			      .all = ctl_is_operator(c),
			      .known = true,
			      .uid = ctl_uid(c) };
	v->all_past = v->all || ctl_in_group(c, v->agent->config->history_group);
}

void viewer_describe(const struct viewer *v, json_t *question)
{
	json_object_set_new(question, "from", json_string(v->agent->code));
	json_object_set_new(question, "uid", json_integer(v->uid));
	json_object_set_new(question, "user", json_string(user_name(v->uid) ?: ""));
	json_object_set_new(question, "all", json_boolean(v->all));
	json_object_set_new(question, "all_past", json_boolean(v->all_past));
}

static bool viewer_is_told(const struct agent *agent, const struct peer *node, char *why)
{
	struct admit_refusal no;

	if (admit_node(agent, node->host, &no))
		return true;
	snprintf(why, VIEWER_WHY, "%.*s", VIEWER_WHY - 1, no.text);
	return false;
}

int viewer_remote(struct viewer *v, const struct agent *agent, struct peer *by,
		  const json_t *question, char why[VIEWER_WHY])
{
	const char *from = json_string_value(json_object_get(question, "from"));
	const char *user = json_string_value(json_object_get(question, "user"));
	const json_t *number = json_object_get(question, "uid");
	const json_int_t uid = json_integer_value(number);
	struct admit_refusal no;

	*v = (struct viewer){ .agent = agent, .from = from ? peers_by_text(agent, from) : NULL };
	if (!v->from || !user || !json_is_integer(number) || uid < 0 || uid >= (uid_t)-1)
		return -EINVAL;
	if (!viewer_is_told(agent, by, why) || !viewer_is_told(agent, v->from, why))
		return -EPERM;
	v->all = json_is_true(json_object_get(question, "all"));
	v->all_past = json_is_true(json_object_get(question, "all_past"));
	v->by = by;
	v->known = admit_user_of(by, (uid_t)uid, user, &v->uid, &no);
	/* for want of time is not for want of a right */
	if (v->known || v->all || no.reason != EHS_REASON_REFUSED)
		return 0;
	snprintf(why, VIEWER_WHY, "%.*s", VIEWER_WHY - 1, no.text);
	return -EPERM;
}

struct viewer viewer_of_past(const struct viewer *v)
{
	struct viewer past = *v;

	past.all = v->all_past;
	return past;
}

bool viewer_may_see(const struct viewer *v, uid_t uid)
{
	struct admit_refusal no;
	const char *name;
	uid_t is;

	if (v->known && v->uid == uid)
		return true;
	if (!v->all || v->from->self)
		return v->all;
	name = user_name(uid);
	return name && admit_user(v->agent, uid, name, &is, &no) && is == uid;
}

bool viewer_limit(const struct viewer *v, json_t *ask)
{
	const json_t *uid = json_object_get(ask, "uid");

	if (v->all)
		return true;
	if (!v->known || (uid && json_integer_value(uid) != v->uid))
		return false;
	json_object_set_new(ask, "uid", json_integer(v->uid));
	return true;
}

uid_t viewer_turn(const struct viewer *v)
{
	return v->from->self ? v->uid : ~(uid_t)v->by->code.index;
}

void viewer_add_user(json_t *item)
{
	const json_int_t uid = json_integer_value(json_object_get(item, "uid"));
	const char *user;

	if (!json_object_get(item, "uid"))
		return;
	user = user_name((uid_t)uid);
	json_object_set_new(item, "user",
			    user ? json_string(user) : json_sprintf("%u", (uid_t)uid));
}
