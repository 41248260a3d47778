// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/exec.h"

#include <linux/ehsched.h>

#include "base/agent.h"
#include "home/counters.h"
#include "home/learn.h"
#include "home/outcome.h"
#include "home/placement.h"
#include "home/record.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "node/kernel.h"

static void exec_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
			 enum ehs_reason reason)
{
	if (!to) {
		learn_stays(p);
		counters_stays(ctx, reason);
	}
	record_time(p, TIMING_VERDICT);
	kernel_verdict(ctx, p->cookie, to, reason);
}

/*
 * An exec that waits asks again when another socket has been registered: this agent after a reload. Its
 * task is placed already, or will be: the answer goes to the present socket, and a verdict that the
 * module did not take from the last one is given once more. True: it was asked before.
 */
static bool exec_asks_again(struct agent *agent, const struct kernel_request *request)
{
	struct placement *p = record_by_cookie(agent, request->cookie);

	/* A module that was loaded again may give the numbers of another one to other tasks. */
	if (!p || !p->kernel || p->pid != (pid_t)request->pid)
		return false;
	switch (p->phase) {
	case PLACEMENT_OPEN:
		return true;
	case PLACEMENT_RESERVED:
	case PLACEMENT_OVER:
		kernel_verdict(agent, p->cookie, p->phase == PLACEMENT_RESERVED, p->reason);
		return true;
	default:
		return false;
	}
}

void exec_place(struct agent *agent, const struct kernel_request *request)
{
	struct placement_task task = { .exec = *request };
	struct cgroup_session session;

	if (exec_asks_again(agent, request))
		return;
	session = cgroup_session_of(agent, request->pid);
	task.view = session.view;
	task.leaves = session.leaves;
	if (placement_start(agent, &task, exec_decided, agent))
		kernel_verdict(agent, request->cookie, false, EHS_REASON_NONE);
}

void exec_too_late(struct agent *agent, uint64_t cookie)
{
	struct placement *p = record_by_cookie(agent, cookie);

	if (p && p->phase == PLACEMENT_RESERVED)
		outcome_failed(p, EHS_REASON_TIME_OUT);
}
