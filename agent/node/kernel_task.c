// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests about tasks: list them, leave one alone, say that one is away, account for one. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "node/kernel.h"
#include "node/kernel_inside.h"
#include "wire/clean.h"
#include "wire/frame.h"

static struct nl_msg *kernel_about(struct agent *agent, uint8_t cmd, pid_t pid)
{
	struct nl_msg *msg = kernel_message(agent, cmd, NLM_F_REQUEST | NLM_F_ACK);

	if (msg && nla_put_u32(msg, EHS_A_TASK_PID, pid)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return msg;
}

int kernel_bypass(struct agent *agent, pid_t pid)
{
	return kernel_call(agent, kernel_about(agent, EHS_CMD_TASK_BYPASS, pid), NULL, NULL, NULL);
}

int kernel_away(struct agent *agent, pid_t pid)
{
	return kernel_call(agent, kernel_about(agent, EHS_CMD_TASK_AWAY, pid), NULL, NULL, NULL);
}

int kernel_account(struct agent *agent, pid_t pid, const struct frame_exit *used)
{
	const struct {
		int type;
		uint64_t value;
	} values[] = {
		{ EHS_A_TASK_USER_TIME, used->user_us * 1000 },
		{ EHS_A_TASK_SYSTEM_TIME, used->system_us * 1000 },
		{ EHS_A_TASK_MAX_RSS, used->maxrss_kib },
		{ EHS_A_TASK_MIN_FAULTS, used->minflt },
		{ EHS_A_TASK_MAJ_FAULTS, used->majflt },
		{ EHS_A_TASK_VOLUNTARY_SWITCHES, used->nvcsw },
		{ EHS_A_TASK_INVOLUNTARY_SWITCHES, used->nivcsw },
	};
	struct nl_msg *msg = kernel_about(agent, EHS_CMD_TASK_ACCOUNT, pid);

	for (size_t i = 0; msg && i < sizeof(values) / sizeof(*values); i++)
		if (nla_put_u64(msg, values[i].type, values[i].value)) {
			nlmsg_free(msg);
			msg = NULL;
		}
	return kernel_call(agent, msg, NULL, NULL, NULL);
}

struct kernel_judged {
	bool answered;
	enum ehs_reason reason;
	uint64_t started_ns;
};

static void kernel_on_judged(void *ctx, struct nlmsghdr *h)
{
	struct nlattr *a[EHS_A_TASK_MAX + 1];
	struct kernel_judged *judged = ctx;

	if (genlmsg_parse(h, 0, a, EHS_A_TASK_MAX, NULL) || !a[EHS_A_TASK_REASON] ||
	    !a[EHS_A_TASK_START_TIME])
		return;
	judged->answered = true;
	judged->reason = nla_get_u32(a[EHS_A_TASK_REASON]);
	judged->started_ns = nla_get_u64(a[EHS_A_TASK_START_TIME]);
}

int kernel_eligible(struct agent *agent, pid_t pid, enum ehs_reason *reason, uint64_t *started_ns)
{
	struct kernel_judged judged = { .answered = false };
	int err = kernel_call(agent, kernel_about(agent, EHS_CMD_TASK_ELIGIBLE, pid),
			      kernel_on_judged, &judged, NULL);

	if (!err && !judged.answered)
		err = -EBADMSG;
	*reason = judged.reason;
	*started_ns = judged.started_ns;
	return err;
}

struct kernel_dump {
	void (*each)(void *ctx, const struct kernel_task *task);
	void *ctx;
};

static void kernel_on_task(void *ctx, struct nlmsghdr *h)
{
	struct nlattr *a[EHS_A_TASK_MAX + 1];
	struct kernel_dump *dump = ctx;
	struct kernel_task task = { 0 };
	char command[64]; /* clean: names of programs need not be UTF-8 */

	if (genlmsg_parse(h, 0, a, EHS_A_TASK_MAX, NULL) || !a[EHS_A_TASK_ID] ||
	    !a[EHS_A_TASK_STATE] || !a[EHS_A_TASK_PID])
		return;
	task.id = nla_get_u64(a[EHS_A_TASK_ID]);
	task.pid = nla_get_u32(a[EHS_A_TASK_PID]);
	task.state = nla_get_u32(a[EHS_A_TASK_STATE]);
	task.uid = a[EHS_A_TASK_UID] ? nla_get_u32(a[EHS_A_TASK_UID]) : 0;
	task.reason = a[EHS_A_TASK_REASON] ? nla_get_u32(a[EHS_A_TASK_REASON]) : 0;
	task.started_ns = a[EHS_A_TASK_STARTED] ? nla_get_u64(a[EHS_A_TASK_STARTED]) : 0;
	task.command = a[EHS_A_TASK_COMMAND] ? nla_get_string(a[EHS_A_TASK_COMMAND]) : "";
	task.command = clean_text(command, sizeof(command), task.command);
	dump->each(dump->ctx, &task);
}

int kernel_tasks(struct agent *agent, void (*each)(void *ctx, const struct kernel_task *task),
		 void *ctx)
{
	struct kernel_dump dump = { each, ctx };

	return kernel_call(agent,
			   kernel_message(agent, EHS_CMD_TASK_GET, NLM_F_REQUEST | NLM_F_DUMP),
			   kernel_on_task, &dump, NULL);
}
