// SPDX-License-Identifier: GPL-2.0-or-later
/* What this node's configuration and administrators say of a task before a place for it is sought. */

#include "home/placement_rules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/rule.h"
#include "cluster/drain.h"
#include "home/fit.h"
#include "home/outcome.h"
#include "home/record.h"
#include "home/serve.h"
#include "job/files.h"
#include "wire/reason.h"

/* The rules are about absolute paths, with links and without; the path of an exec may be relative. */
static const char *placement_full_path(const struct placement *p,
				       const struct files_identity *identity,
				       char full[2 * PATH_MAX])
{
	if (p->path[0] == '/')
		return p->path;
	if (!identity)
		return NULL; /* not known yet */
	snprintf(full, 2 * PATH_MAX, "%s/%s", identity->folder_path, p->path);
	return full;
}

static bool placement_excluded(const struct placement *p, const char *path,
			       const struct files_identity *identity)
{
	return !p->explicit_node &&
	       (config_excludes(p->agent->config, path) ||
		(identity && config_excludes(p->agent->config, identity->real)));
}

bool placement_may_leave(struct placement *p, const struct files_identity *identity)
{
	char full[2 * PATH_MAX], why[RULE_TEXT], text[RULE_TEXT + ADDRESS_HOST_MAX + 40];
	const char *path = placement_full_path(p, identity, full);
	int err;

	if (!path)
		return true;
	if (placement_excluded(p, path, identity)) {
		outcome_stays(p, EHS_REASON_EXCLUDED, NULL);
		return false;
	}
	if (rule_sends_program(p->agent->config, path, identity ? identity->real : NULL, why)) {
		err = fit_wish(p, path, identity ? identity->real : NULL);
		if (!err)
			return true;
		outcome_stays(p, err == -E2BIG ? REASON_LABELS : EHS_REASON_NO_MEMORY,
			      err == -E2BIG ? "its program needs more labels than a node can have"
					    : NULL);
		return false;
	}
	snprintf(text, sizeof(text), "node %s keeps its program: %s", p->agent->config->host, why);
	outcome_stays(p, REASON_AWAY_PROGRAM, text);
	return false;
}

bool placement_rules_programs(const struct config *c)
{
	return c->nexclude || c->naway_allow_programs || c->naway_deny_programs || c->nonly_on ||
	       c->nnever_on;
}

/* The command that drains it waits until none is away. */
bool placement_node_sends(struct placement *p)
{
	const struct agent *agent = p->agent;
	const char *reason = drain_reason(agent);
	char text[sizeof(p->text)];

	if (!agent->keeps)
		return true;
	snprintf(text, sizeof(text), "node %s keeps its tasks: it is draining%s%s",
		 agent->config->host, *reason ? ": " : "", reason);
	outcome_stays(p, EHS_REASON_DRAINING, text);
	return false;
}

bool placement_user_may_leave(struct placement *p)
{
	char why[RULE_TEXT], text[RULE_TEXT + ADDRESS_HOST_MAX + 40];

	if (rule_sends_user(p->agent->config, p->uid, why))
		return true;
	snprintf(text, sizeof(text), "node %s keeps tasks of its user: %s", p->agent->config->host,
		 why);
	outcome_stays(p, REASON_AWAY_USER, text);
	return false;
}

const char *placement_set_view(struct placement *p, enum view wish)
{
	const char *trouble;

	p->view = wish;
	if (p->view == VIEW_UNSET)
		p->view = p->agent->config->view;
	if (p->view == VIEW_SHARED)
		return NULL;
	trouble = serve_trouble();
	if (!trouble && !p->uid && !p->agent->config->allow_root)
		trouble = "view home serves files to root's tasks only if the home node sets "
			  "allow-root";
	if (!trouble || p->view == VIEW_HOME)
		return trouble;
	p->view = VIEW_SHARED;
	return NULL;
}
