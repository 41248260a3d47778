// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of the module's family, and requests that take the rights of the agent. */

#include "node/kernel_inside.h"

#include <errno.h>
#include <stdio.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <linux/ehsched.h>
#include <event2/event.h>

#include "base/agent.h"
#include "node/netlink.h"

struct nl_msg *kernel_message(struct agent *agent, uint8_t cmd, int flags)
{
	struct nl_msg *msg = agent->kernel ? nlmsg_alloc() : NULL;

	if (!msg)
		return NULL;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, agent->kernel->family, 0, flags, cmd,
			 EHS_FAMILY_VERSION)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

void kernel_wake(struct agent *agent)
{
	if (agent->kernel->late.first && agent->kernel->agent_event)
		event_active(agent->kernel->agent_event, EV_READ, 0);
}

int kernel_call(struct agent *agent, struct nl_msg *msg,
		void (*each)(void *ctx, struct nlmsghdr *h), void *ctx, char why[160])
{
	struct kernel *k = agent->kernel;
	int err;

	if (k && k->agent) {
		err = netlink_call(k->agent, &k->late, msg, each, ctx, why);
		kernel_wake(agent);
		return err;
	}
	nlmsg_free(msg);
	if (why)
		snprintf(why, 160, "this agent is not registered with the module");
	return -ENOTCONN;
}
