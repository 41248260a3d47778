// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/exec.h"

#include <linux/ehsched.h>

#include "base/agent.h"
#include "home/learn.h"
#include "home/placement.h"
#include "home/record.h"
#include "net/peer.h"
#include "node/kernel.h"

static void exec_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
			 enum ehs_reason reason)
{
	if (!to)
		learn_stays(p);
	kernel_verdict(ctx, placement_cookie(p), to, reason);
}

void exec_place(struct agent *agent, const struct kernel_request *request)
{
	const struct placement_task task = {
		.cookie = request->cookie,
		.pid = request->pid,
		.uid = request->uid,
		.path = request->path,
		.cgroup_id = request->cgroup_id,
		.time_ms = request->time_ms,
	};

	if (placement_start(agent, &task, exec_decided, agent))
		kernel_verdict(agent, request->cookie, false, EHS_REASON_NONE);
}

void exec_too_late(struct agent *agent, uint64_t cookie)
{
	placement_too_late(agent, cookie);
}
