// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/hello.h"

#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/user.h"
#include "net/ops.h"

json_t *hello_new(struct agent *agent)
{
	return json_pack("{s:s,s:s,s:s,s:i,s:s,s:I,s:I,s:s,s:I}", "cluster", agent->config->cluster,
			 "node", agent->code, "address", agent->config->address.text, "version", 1,
			 "boot_id", clock_boot_id(), "capacity",
			 (json_int_t)agent->config->capacity, "time", (json_int_t)clock_wall_ms(),
			 "users", user_digest(), "roster",
			 (json_int_t)agent->net_ops->version(agent));
}
