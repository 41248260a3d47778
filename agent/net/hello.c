// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/hello.h"

#include <stdio.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/user.h"
#include "net/ops.h"
#include "net/peer.h"
#include "net/revoked.h"

json_t *hello_new(struct agent *agent)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:i,s:s,s:I,s:I,s:I,s:s,s:I,s:I,s:o*,s:s*}", "cluster",
			      agent->config->cluster, "node", agent->code, "address",
			      agent->config->address.text, "version", 1, "boot_id", clock_boot_id(),
			      "capacity", (json_int_t)agent->config->capacity, "time",
			      (json_int_t)clock_wall_ms(), "uptime",
			      (json_int_t)(clock_ms() - agent->began), "users", user_digest(),
			      "roster", (json_int_t)agent->net_ops->version(agent), "revoked",
			      (json_int_t)revoked_number(agent), "entry",
			      agent->net_ops->entry(agent), "release", agent->release);

	if (!o || !versions_put(o, &agent->protocol))
		return o;
	json_decref(o);
	return NULL;
}

bool hello_fits(struct peer *p, const json_t *said, char why[VERSIONS_TEXT])
{
	const struct versions *ours = &p->agent->protocol;
	const char *release = json_string_value(json_object_get(said, "release"));
	const json_int_t uptime = json_integer_value(json_object_get(said, "uptime"));

	p->speaks = versions_of(said);
	p->fit = versions_agree(ours, &p->speaks, &p->protocol);
	p->began = 0;
	if (uptime > 0 && (uint64_t)uptime < clock_ms())
		p->began = clock_ms() - uptime;
	snprintf(p->release, sizeof(p->release), "%s", release ?: "");
	versions_say(why, "protocol", p->agent->config->host, ours, p->host, &p->speaks);
	return p->fit == VERSIONS_FIT;
}

json_t *hello_refusal(struct agent *agent, const char *why)
{
	json_t *o = json_pack("{s:s}", "error", why);

	if (!o || !versions_put(o, &agent->protocol))
		return o;
	json_decref(o);
	return NULL;
}
